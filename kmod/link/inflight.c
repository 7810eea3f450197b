// SPDX-License-Identifier: GPL-2.0
#include "inflight.h"
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sizes.h>

/* The rate is measured for at least so long, or one round trip: completions come in groups. */
#define RATE_NS_MIN    NSEC_PER_MSEC
/* Bytes that the send queue takes at most; the number of its frames is another limit. */
#define PATH_BYTES_MAX SZ_64M
/* A longer round trip counts as this one. */
#define RTT_NS_MAX     NSEC_PER_SEC
/* A round trip that was measured before that many nanoseconds may be that of another path. */
#define RTT_AGE_MAX    (60ull * NSEC_PER_SEC)
/* Round trips measured while the first frames cross. */
#define RTTS	       4
/* Later ones are measured so often, with a frame that is alone in the send queue. */
#define RTT_AGAIN      (HZ / 10)
/* The rate is measured until what may be in the send queue has been delivered, or for so long. */
#define RATE_RTTS_MAX  8

/**
 * rchar_inflight_init() - initialize an empty send queue
 * @inflight: the bytes in the send queue, zeroed
 * @device: bytes that keep the device busy; 0: find out from the completions
 */
void rchar_inflight_init(struct rchar_inflight *inflight, u32 device)
{
	struct dql *dql = &inflight->device;

	dql_init(dql, HZ);
	if (!device)
		return;
	dql->min_limit = device;
	dql->max_limit = device;
	dql->limit = device;
	dql->adj_limit = device;
}

static unsigned int queued_bytes(const struct rchar_inflight *inflight)
{
	return inflight->device.num_queued - inflight->device.num_completed;
}

/**
 * rchar_inflight_full() - are there enough bytes in the send queue?
 * @inflight: the bytes in the send queue
 *
 * Return: true when more bytes would only wait behind those.
 */
bool rchar_inflight_full(const struct rchar_inflight *inflight)
{
	return dql_avail(&inflight->device) < 0 && queued_bytes(inflight) >= inflight->path;
}

/**
 * rchar_inflight_enough() - are there as many bytes in the send queue as keep the path busy?
 * @inflight: the bytes in the send queue
 * @bytes: at least so many
 *
 * Return: true when there are, whatever the device might make of more.
 */
bool rchar_inflight_enough(const struct rchar_inflight *inflight, u32 bytes)
{
	return queued_bytes(inflight) >= max_t(u64, bytes, inflight->path);
}

/**
 * rchar_inflight_limit() - how many bytes in the send queue are enough?
 * @inflight: the bytes in the send queue
 *
 * Return: bytes, at most PATH_BYTES_MAX, or what keeps the device busy.
 */
u32 rchar_inflight_limit(const struct rchar_inflight *inflight)
{
	return max_t(u64, inflight->device.limit, inflight->path);
}

/**
 * rchar_inflight_queued() - count the bytes of a frame or request that is posted
 * @inflight: the bytes in the send queue
 * @bytes: its bytes, at least 1
 */
void rchar_inflight_queued(struct rchar_inflight *inflight, u32 bytes)
{
	/* Do not count the time in which there was nothing to send. */
	if (!queued_bytes(inflight)) {
		inflight->since = ktime_get_ns();
		inflight->delivered = 0;
	}
	dql_queued(&inflight->device, bytes);
}

/*
 * One round trip is enough for a rate that grows: it brings what the send queue may hold. Measured
 * over so few frames, any other rate would be that of a group of completions.
 */
static bool rate_is_measured(const struct rchar_inflight *inflight, u64 elapsed)
{
	u64 rtt = max_t(u64, inflight->rtt_ns, RATE_NS_MIN);
	u64 enough = max_t(u64, 2 * inflight->device.limit, inflight->path);

	return elapsed >= rtt && (inflight->delivered >= enough || elapsed >= RATE_RTTS_MAX * rtt);
}

static void measure_rate(struct rchar_inflight *inflight, u32 bytes)
{
	u64 now, elapsed;

	inflight->delivered += bytes;
	if (!inflight->rtt_ns)
		return;
	now = ktime_get_ns();
	elapsed = now - inflight->since;
	if (!rate_is_measured(inflight, elapsed))
		return;
	/* In units of 64 ns, to fit into 64 bits. */
	inflight->path = min_t(u64, PATH_BYTES_MAX,
			       div64_u64(2 * inflight->delivered * (inflight->rtt_ns >> 6),
					 elapsed >> 6));
	inflight->since = now;
	inflight->delivered = 0;
}

/**
 * rchar_inflight_done() - uncount bytes that have left the send queue
 * @inflight: the bytes in the send queue
 * @bytes: bytes of what has completed; may be 0
 */
void rchar_inflight_done(struct rchar_inflight *inflight, u32 bytes)
{
	measure_rate(inflight, bytes);
	dql_completed(&inflight->device, bytes);
}

/**
 * rchar_inflight_wants_ping() - check whether a round trip should be measured
 * @inflight: the bytes in the send queue
 *
 * The first frames are slow: nothing of their way through both hosts is in a cache. Later, a busy
 * send queue would delay the PING, so it follows a frame that nothing is in front of.
 *
 * Return: true when a PING should follow the next frame.
 */
bool rchar_inflight_wants_ping(const struct rchar_inflight *inflight)
{
	if (inflight->ping_at)
		return false;
	return inflight->rtts < RTTS ||
	       (!queued_bytes(inflight) &&
		time_after64(get_jiffies_64(), inflight->pinged_at + RTT_AGAIN));
}

/**
 * rchar_inflight_ping() - a PING is sent
 * @inflight: the bytes in the send queue; no other PING is unanswered
 * @alone: nothing else is in the send queue
 */
void rchar_inflight_ping(struct rchar_inflight *inflight, bool alone)
{
	inflight->ping_at = ktime_get_ns();
	inflight->pinged_at = get_jiffies_64();
	inflight->alone = alone;
}

/**
 * rchar_inflight_pong() - a PONG has arrived
 * @inflight: the bytes in the send queue
 *
 * A peer that sends PONG without being asked changes nothing; one that sends it early only makes
 * the frames to itself wait longer in their flow.
 */
void rchar_inflight_pong(struct rchar_inflight *inflight)
{
	u64 now = ktime_get_ns(), rtt;

	if (!inflight->ping_at)
		return;
	rtt = clamp_t(u64, now - inflight->ping_at, 1, RTT_NS_MAX);
	inflight->ping_at = 0;
	if (inflight->alone && now - inflight->rtt_at > RTT_AGE_MAX)
		inflight->rtts = 0;
	if (!inflight->rtts || rtt < inflight->rtt_ns) {
		WRITE_ONCE(inflight->rtt_ns, rtt);
		inflight->rtt_at = now;
	}
	inflight->rtts = min(inflight->rtts + 1, RTTS);
}

/**
 * rchar_inflight_set_rtt() - take over a round trip that other bytes of the lane have measured
 * @inflight: bytes for which nobody calls rchar_inflight_ping()
 * @rtt_ns: nanoseconds; 0: not known yet
 */
void rchar_inflight_set_rtt(struct rchar_inflight *inflight, u32 rtt_ns)
{
	inflight->rtt_ns = rtt_ns;
}
