/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Serial number arithmetic (RFC 1982) on 32 bits, for frame sequence numbers and
 * for byte offsets of windows. Pure functions.
 */
#ifndef RCHAR_SEQ_H
#define RCHAR_SEQ_H

#include <linux/types.h>

static inline bool rchar_seq_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

/* Return whether lo <= x <= hi. @hi - @lo must be less than half the number space. */
static inline bool rchar_seq_between(u32 lo, u32 x, u32 hi)
{
	return x - lo <= hi - lo;
}

/* Return the later of two numbers. */
static inline u32 rchar_seq_max(u32 a, u32 b)
{
	return rchar_seq_before(a, b) ? b : a;
}

#endif /* RCHAR_SEQ_H */
