/* SPDX-License-Identifier: GPL-2.0 */
/* BLAKE2s as the kernel has it, by libb2, which is not the kernel's code. */
#ifndef UNIT_CRYPTO_BLAKE2S_H
#define UNIT_CRYPTO_BLAKE2S_H
#include <blake2.h>

#define blake2s_state __blake2s_state

/* Like the kernel's, without the length that the state knows already. */
#define blake2s_final(state, out) blake2s_final(state, out, BLAKE2S_OUTBYTES)

#endif
