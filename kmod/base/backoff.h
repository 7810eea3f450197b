/* SPDX-License-Identifier: GPL-2.0 */
/* The delay before the next attempt to connect. Pure functions. */
#ifndef RCHAR_BACKOFF_H
#define RCHAR_BACKOFF_H

#include <linux/types.h>

#define RCHAR_BACKOFF_MIN_MS 100
#define RCHAR_BACKOFF_MAX_MS 5000

u32 rchar_backoff_ms(u32 failures, u32 random);

#endif /* RCHAR_BACKOFF_H */
