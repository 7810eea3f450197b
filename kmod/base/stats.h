/* SPDX-License-Identifier: GPL-2.0 */
/* Counters that never decrease. */
#ifndef RCHAR_STATS_H
#define RCHAR_STATS_H

#include <linux/atomic.h>
#include <linux/types.h>

/**
 * struct rchar_stats - counters of a channel or a link
 * @rx_bytes: payload received
 * @tx_bytes: payload sent; of a channel, written by programs
 *
 * @sessions: channels: opened so far
 * @open_errors: channels: open() that failed
 * @resets: channels: sessions that ended by RESET
 * @reads: memory channels: read operations
 * @writes: memory channels: write operations
 * @calls: memory channels: atomic operations, rings and fences
 * @rndv_sent: stream channels: pieces that the peer read from the writer's memory
 * @rndv_placed: stream channels: pieces that went to a reader's memory without a copy
 *
 * @rx_frames: links: frames received
 * @tx_frames: links: frames posted for sending, replayed ones included
 * @connects: links: times the link came up
 * @failures: links: attempts and connections that failed
 * @replayed: links: frames sent again after a reconnect
 * @duplicates: links: frames received again and dropped
 * @bad_frames: links: frames refused
 * @credit_stalls: links: times a frame had to wait for a credit
 * @stray_frames: links: frames for sessions that are gone
 * @map_stalls: links: times something waited because there was no DMA mapping
 *
 * Netlink reports them as enum rchar_stats_attr.
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
	atomic64_t map_stalls;
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
