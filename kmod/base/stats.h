/* SPDX-License-Identifier: GPL-2.0 */
/* Counters that never decrease. */
#ifndef RCHAR_STATS_H
#define RCHAR_STATS_H

#include <linux/atomic.h>
#include <linux/types.h>

/**
 * struct rchar_stats - counters of a channel or a link
 *
 * The fields match enum rchar_stats_attr. Channels and links both count bytes. A channel also
 * counts sessions and their operations; a link also counts frames and connections.
 */
struct rchar_stats {
	atomic64_t rx_bytes;
	atomic64_t tx_bytes;
	atomic64_t rx_frames;
	atomic64_t tx_frames;
	atomic64_t sessions;
	atomic64_t open_errors;
	atomic64_t resets;
	atomic64_t connects;
	atomic64_t failures;
	atomic64_t replayed;
	atomic64_t duplicates;
	atomic64_t bad_frames;
	atomic64_t credit_stalls;
	atomic64_t stray_frames;
	atomic64_t reads;
	atomic64_t writes;
	atomic64_t calls;
	atomic64_t rndv_sent;
	atomic64_t rndv_placed;
};

static inline void rchar_stats_add(atomic64_t *counter, u64 n)
{
	atomic64_add(n, counter);
}

static inline void rchar_stats_inc(atomic64_t *counter)
{
	atomic64_inc(counter);
}

#endif /* RCHAR_STATS_H */
