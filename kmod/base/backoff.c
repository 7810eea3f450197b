// SPDX-License-Identifier: GPL-2.0
#include "backoff.h"

/**
 * rchar_backoff_ms() - return the delay before the next attempt to connect
 * @failures: attempts that failed in a row, at least 1
 * @random: 32 random bits
 *
 * The delay doubles with each failure, from 100 ms up to 5 s. The last quarter of the delay is
 * random, so that hosts that lost the same switch do not reconnect at the same moment.
 *
 * Return: milliseconds, RCHAR_BACKOFF_MIN_MS * 3/4 to RCHAR_BACKOFF_MAX_MS.
 */
u32 rchar_backoff_ms(u32 failures, u32 random)
{
	u32 ms = RCHAR_BACKOFF_MIN_MS;

	while (failures-- > 1 && ms < RCHAR_BACKOFF_MAX_MS)
		ms *= 2;
	if (ms > RCHAR_BACKOFF_MAX_MS)
		ms = RCHAR_BACKOFF_MAX_MS;
	return ms - random % (ms / 4 + 1);
}
