/* SPDX-License-Identifier: GPL-2.0 */
/* X25519 as the kernel has it, by nettle, which is not the kernel's code. */
#ifndef UNIT_CRYPTO_CURVE25519_H
#define UNIT_CRYPTO_CURVE25519_H
#include <linux/types.h>
#include <nettle/curve25519.h>

static inline bool curve25519_not_null(const u8 *point)
{
	u8 any = 0;

	for (int i = 0; i < CURVE25519_SIZE; i++)
		any |= point[i];
	return any;
}

static inline bool curve25519(u8 *out, const u8 *secret, const u8 *point)
{
	curve25519_mul(out, secret, point);
	return curve25519_not_null(out);
}

static inline bool curve25519_generate_public(u8 *public, const u8 *secret)
{
	curve25519_mul_g(public, secret);
	return curve25519_not_null(public);
}

static inline void curve25519_clamp_secret(u8 *secret)
{
	secret[0] &= 248;
	secret[31] = (secret[31] & 127) | 64;
}

#endif
