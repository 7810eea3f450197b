/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The bytes in the send queue of a lane: how many keep the device and the path busy? A lane counts
 * those of its frames, READs and WRITEs separately.
 *
 * A frame leaves the send queue when the peer's device has acknowledged it, one round trip after it
 * was sent. What waits in the send queue delays all other senders of the flow, so the limit is
 * either what keeps the device busy (lib/dynamic_queue_limits.c), or twice what the path delivers
 * in a round trip: once for the bytes on their way, and once more so that a rate that has room to
 * grow doubles with each round trip (the start of TCP BBR, draft-cardwell-iccrg-bbr-congestion-
 * control, 4.3.1.1). The larger of the two counts.
 *
 * The round trip is the shortest time between PING and PONG. A PING follows the first frames, and
 * later at times a frame that is alone in the send queue: of a thousand links, most are idle, and
 * need none. When the path becomes longer, an idle link notices: a PING that nothing delays begins
 * anew, a minute after the shortest round trip.
 *
 * READs and WRITEs take over that round trip. What keeps the device busy with them is a fixed
 * number of bytes: each request completes alone, so their completions do not tell.
 */
#ifndef RCHAR_INFLIGHT_H
#define RCHAR_INFLIGHT_H

#include <linux/jiffies.h> /* which the next one needs from Linux 6.10 on */
#include <linux/dynamic_queue_limits.h>
#include <linux/types.h>

/**
 * struct rchar_inflight - the bytes in the send queue of a lane
 * @device: the bytes, and how many keep the device busy
 * @path: bytes that keep the path busy; 0 until that is known
 * @since: nanoseconds: when the measurement of the rate began
 * @delivered: bytes delivered since then
 * @ping_at: nanoseconds: when the PING that has no answer yet was sent; 0: there is none. No other
 *	     PING is sent meanwhile, so it is clear which one a PONG answers.
 * @pinged_at: jiffies: when the last PING was sent
 * @rtt_ns: the shortest round trip on this connection; 0 until that is known. May be read without
 *	    the lock.
 * @rtt_at: nanoseconds: when that was measured
 * @rtts: round trips measured in a row, as far as inflight.c counts them
 * @alone: the send queue was empty when the PING was sent
 *
 * The owner serializes all calls.
 */
struct rchar_inflight {
	struct dql device;
	u64 path;
	u64 since;
	u64 delivered;
	u64 ping_at;
	u64 pinged_at;
	u32 rtt_ns;
	u64 rtt_at;
	u8 rtts;
	bool alone;
};

void rchar_inflight_init(struct rchar_inflight *inflight, u32 device);
u32 rchar_inflight_limit(const struct rchar_inflight *inflight);
bool rchar_inflight_full(const struct rchar_inflight *inflight);
bool rchar_inflight_enough(const struct rchar_inflight *inflight, u32 bytes);
void rchar_inflight_queued(struct rchar_inflight *inflight, u32 bytes);
void rchar_inflight_done(struct rchar_inflight *inflight, u32 bytes);
bool rchar_inflight_wants_ping(const struct rchar_inflight *inflight);
void rchar_inflight_ping(struct rchar_inflight *inflight, bool alone);
void rchar_inflight_pong(struct rchar_inflight *inflight);
void rchar_inflight_set_rtt(struct rchar_inflight *inflight, u32 rtt_ns);

#endif /* RCHAR_INFLIGHT_H */
