/* SPDX-License-Identifier: GPL-2.0 */
/* ChaCha20-Poly1305 as the kernel has it, by nettle, which is not the kernel's code. */
#ifndef UNIT_CRYPTO_CHACHA20POLY1305_H
#define UNIT_CRYPTO_CHACHA20POLY1305_H
#include <linux/scatterlist.h>
#include <endian.h>
#include <nettle/chacha-poly1305.h>
#include <stdlib.h>
#include <string.h>

/* The tag is in the entry after @len bytes. Returns the bytes in one piece, which are freed. */
static inline u8 *sg_gather(const struct scatterlist *sg, size_t len, u8 **tag)
{
	u8 *all = malloc(len ?: 1);
	size_t at;

	for (at = 0; at < len; at += sg++->length)
		memcpy(all + at, sg->buf, sg->length);
	*tag = sg->buf;
	return all;
}

static inline void sg_scatter(const struct scatterlist *sg, u8 *all, size_t len)
{
	size_t at;

	for (at = 0; at < len; at += sg++->length)
		memcpy(sg->buf, all + at, sg->length);
	free(all);
}

static inline void chacha20poly1305_begin(struct chacha_poly1305_ctx *ctx, const u8 *ad,
					  size_t ad_len, u64 nonce, const u8 *key)
{
	u64 wire[2] = { 0, htole64(nonce) };

	chacha_poly1305_set_key(ctx, key);
	chacha_poly1305_set_nonce(ctx, (u8 *)wire + 4);
	chacha_poly1305_update(ctx, ad_len, ad);
}

static inline bool chacha20poly1305_encrypt_sg_inplace(struct scatterlist *sg, size_t len,
						       const u8 *ad, size_t ad_len, u64 nonce,
						       const u8 *key)
{
	struct chacha_poly1305_ctx ctx;
	u8 *tag, *all = sg_gather(sg, len, &tag);

	chacha20poly1305_begin(&ctx, ad, ad_len, nonce, key);
	chacha_poly1305_encrypt(&ctx, len, all, all);
	chacha_poly1305_digest(&ctx, CHACHA_POLY1305_DIGEST_SIZE, tag);
	sg_scatter(sg, all, len);
	return true;
}

static inline bool chacha20poly1305_decrypt_sg_inplace(struct scatterlist *sg, size_t len,
						       const u8 *ad, size_t ad_len, u64 nonce,
						       const u8 *key)
{
	struct chacha_poly1305_ctx ctx;
	u8 *tag, *all, digest[CHACHA_POLY1305_DIGEST_SIZE];

	len -= sizeof(digest);
	all = sg_gather(sg, len, &tag);
	chacha20poly1305_begin(&ctx, ad, ad_len, nonce, key);
	chacha_poly1305_decrypt(&ctx, len, all, all);
	chacha_poly1305_digest(&ctx, sizeof(digest), digest);
	sg_scatter(sg, all, len);
	return !memcmp(digest, tag, sizeof(digest));
}

#endif
