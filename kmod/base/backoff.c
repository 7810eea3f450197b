// SPDX-License-Identifier: GPL-2.0
#include "backoff.h"

/**
 * rchar_backoff_ms() - wait before the next attempt
 * @failures: attempts that failed in a row, at least 1
 * @random: any 32 random bits
 *
 * 100 ms doubling to 5 s, of which the last quarter is random: hosts that lost the
 * same switch do not come back in step.
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
