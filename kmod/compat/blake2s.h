/* SPDX-License-Identifier: GPL-2.0 */
/* Differences of the kernels' BLAKE2s. Apart from compat.h, as proto/ includes nothing else. */
#ifndef RCHAR_COMPAT_BLAKE2S_H
#define RCHAR_COMPAT_BLAKE2S_H

/* The state was renamed after 6.12. The functions take their arguments in the same order. */
#ifdef RCHAR_HAVE_BLAKE2S_CTX
#define rchar_compat_blake2s blake2s_ctx
#else
#define rchar_compat_blake2s blake2s_state
#endif

#endif /* RCHAR_COMPAT_BLAKE2S_H */
