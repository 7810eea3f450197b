// SPDX-License-Identifier: GPL-2.0
/* The life cycle of a link: connect, watch the lanes, reconnect, destroy. */
#include "link_life.h"
#include <linux/random.h>
#include "accept.h"
#include "base/account.h"
#include "base/backoff.h"
#include "base/inject.h"
#include "base/ledger.h"
#include "base/notify.h"
#include "cm.h"
#include "evict.h"
#include "flows.h"
#include "lane.h"
#include "link.h"
#include "links.h"
#include "psk.h"

/* Time limit for sending the last acks. */
#define FLUSH_MS 200

/* ---- connecting, initiator only ---- */

static void connect_failed(struct rchar_link *link, enum rchar_reason reason)
{
	u32 delay, failures;

	rchar_stats_inc(&link->traffic.stats.failures);
	spin_lock_bh(&link->lock);
	failures = ++link->failures;
	spin_unlock_bh(&link->lock);
	/* A busy peer will soon be ready: do not back off. A denial needs an administrator. */
	if (reason == RCHAR_REASON_BUSY && failures < 10)
		delay = RCHAR_BACKOFF_MIN_MS;
	else if (rchar_reason_denies(reason))
		delay = RCHAR_BACKOFF_MAX_MS;
	else
		delay = rchar_backoff_ms(failures, get_random_u32());
	if (link->initiator)
		rchar_link_schedule_connect(link, delay);
}

/*
 * Start one lane of an attempt. On success the lane is in its slot, and reports any later failure
 * itself.
 */
static enum rchar_reason connect_lane(struct rchar_link *link, int index)
{
	struct rchar_lane *lane = rchar_link_new_lane(link, index);

	if (!lane)
		return RCHAR_REASON_NO_MEMORY;
	if (rchar_cm_create_id(lane, link->net, link->settings.tos, link->keepalive)) {
		rchar_lane_put(lane);
		return RCHAR_REASON_NO_MEMORY;
	}
	if (!rchar_link_lane_add(link, lane)) {
		rdma_destroy_id(lane->cm_id);
		rchar_lane_put(lane);
		return RCHAR_REASON_CLOSED;
	}
	rchar_lane_move(lane, RCHAR_LANE_RESOLVING_ADDR);
	rchar_lane_start(lane);
	rchar_cm_resolve(lane, &link->local, &link->peer);
	complete(&lane->started);
	return RCHAR_REASON_NONE;
}

/* The end of a connection that was up is the first failure. */
static bool failed_again(struct rchar_link *link)
{
	bool again;

	spin_lock_bh(&link->lock);
	again = link->failures > 1;
	spin_unlock_bh(&link->lock);
	return again;
}

static void link_connect_work(struct work_struct *work)
{
	struct rchar_link *link = container_of(to_delayed_work(work), struct rchar_link,
					       connect_work);
	enum rchar_reason reason;
	bool ok;

	/*
	 * Before the turn: destroy_work() moves the link to DYING before it unlists the link for
	 * the last time, and a work that is armed twice must not end the turn of a running attempt.
	 */
	if (READ_ONCE(link->state) != RCHAR_LINK_DOWN ||
	    !rchar_gate_enter(&link->account->connecting, &link->turn, failed_again(link)))
		return;
	/* The lock excludes tick_down(), which may reset the flows of the link. */
	mutex_lock(&rchar_links_lock);
	ok = !rchar_links_closed && !rchar_psk_deleted(link->psk) && rchar_link_no_lanes(link) &&
	     READ_ONCE(link->state) == RCHAR_LINK_DOWN &&
	     rchar_link_move(link, RCHAR_LINK_CONNECTING, RCHAR_REASON_NONE);
	mutex_unlock(&rchar_links_lock);
	if (!ok) {
		rchar_gate_leave(&link->account->connecting, &link->turn);
		return;
	}
	link->attempt++;
	/* Of the attempt before, it would find no slot free, and fail the lanes of this one. */
	cancel_work_sync(&link->lanes_work);
	reason = connect_lane(link, 0);
	if (reason && rchar_link_move(link, RCHAR_LINK_DOWN, reason))
		connect_failed(link, reason);
}

/* The first lane is UP, so the epoch is known: connect the other lanes. */
static void lanes_work(struct work_struct *work)
{
	struct rchar_link *link = container_of(work, struct rchar_link, lanes_work);
	enum rchar_reason reason = RCHAR_REASON_NONE;
	int i;

	for (i = 1; !reason && i < link->nr_lanes; i++)
		reason = connect_lane(link, i);
	if (reason)
		rchar_link_for_each_lane(link, rchar_lane_fail, reason);
}

/* ---- up and down ---- */

static void link_up_work(struct work_struct *work)
{
	struct rchar_link *link = container_of(work, struct rchar_link, up_work);

	link->ops->up(link);
}

/**
 * rchar_link_lane_gone() - process the teardown of a lane; all other lanes fail too
 * @link: the link
 * @lane: the lane. The reference of the slot, or of the list of lanes being accepted, is dropped.
 */
void rchar_link_lane_gone(struct rchar_link *link, struct rchar_lane *lane)
{
	enum rchar_reason reason;
	bool down, last;

	if (rchar_link_stop_accepting(link, lane))
		return;
	down = rchar_link_move(link, RCHAR_LINK_DOWN, lane->reason);
	/* Before the slot is emptied: destroy_work() waits for empty slots before its final
	 * cancels.
	 */
	rchar_link_for_each_lane(link, rchar_lane_fail, lane->reason);
	/* Failed attempts must not postpone the tick. */
	if (down && link->was_up)
		mod_delayed_work(rchar_link_wq, &link->tick_work, HZ);
	else if (down)
		queue_delayed_work(rchar_link_wq, &link->tick_work, HZ);
	if (down && rchar_reason_denies(lane->reason))
		link->ops->denied(link, lane->reason);
	spin_lock_bh(&link->lock);
	link->lanes[lane->index] = NULL;
	last = rchar_link_no_lanes_locked(link) && link->state == RCHAR_LINK_DOWN;
	reason = link->reason;
	/* With the lock: destroy_work() moves the link to DYING before it cancels. */
	if (last && READ_ONCE(link->evict))
		mod_delayed_work(rchar_link_wq, &link->evict_work, 0);
	spin_unlock_bh(&link->lock);
	if (last) {
		connect_failed(link, reason);
		rchar_link_admit_greeted(link);
	}
	wake_up_all(&link->wait);
	if (!link->initiator)
		rchar_link_unuse(link);
	rchar_lane_put(lane);
}

/* ---- timers ---- */

/* Large receive buffers that the peer has had no use for, after so long become small ones. */
#define IDLE_MS		 5000
#define IDLE_PRESSURE_MS 100

static void trim_lane(struct rchar_lane *lane, unsigned int idle_ms)
{
	if (READ_ONCE(lane->state) == RCHAR_LANE_UP && rchar_lane_rx_trim(lane, idle_ms))
		rchar_flow_control(lane->flow, lane, RCHAR_OP_TRIM);
}

static void keepalive(struct rchar_lane *lane, enum rchar_reason reason)
{
	/* Read last_rx before jiffies: a frame that arrives meanwhile must not make the
	 * difference negative.
	 */
	unsigned long last_rx = READ_ONCE(lane->last_rx), now = jiffies;
	unsigned int silent = time_after(now, last_rx) ? jiffies_to_msecs(now - last_rx) : 0;
	unsigned int interval = READ_ONCE(lane->link->keepalive_ms);

	if (silent >= 3 * interval || rchar_lane_tx_stuck_ms(lane) >= 3 * interval)
		rchar_lane_fail(lane, reason);
	else if (silent >= interval * 3 / 4)
		rchar_flow_control(lane->flow, lane, RCHAR_OP_PING);
	trim_lane(lane, IDLE_MS);
	rchar_sinks_trim(&lane->onesided.sinks);
}

/* Fail a lane that is UP while the other lanes have not come up in time. */
static void link_overdue(struct rchar_lane *lane, enum rchar_reason reason)
{
	if (READ_ONCE(lane->state) == RCHAR_LANE_UP &&
	    time_after(jiffies, lane->up_at + msecs_to_jiffies(RCHAR_LANE_TIMEOUT_MS)))
		rchar_lane_fail(lane, reason);
}

/*
 * While the link is not UP: sessions end when their time limit expires. After the last session
 * the frames are dropped too, because no session needs them any more. rchar_links_lock excludes an
 * incoming connection.
 */
static void tick_down(struct rchar_link *link)
{
	u64 down_ms;
	bool up;

	/* Both at once: by the time of an earlier outage, sessions would end as this one begins. */
	spin_lock_bh(&link->lock);
	up = link->state == RCHAR_LINK_UP;
	down_ms = jiffies64_to_msecs(jiffies - link->down_at);
	spin_unlock_bh(&link->lock);
	if (!up)
		link->ops->expire(link, down_ms);
	rchar_link_for_each_lane(link, link_overdue, RCHAR_REASON_TIMEOUT);
	mutex_lock(&rchar_links_lock);
	if (xa_empty(&link->sessions) && rchar_link_no_lanes(link) &&
	    READ_ONCE(link->state) == RCHAR_LINK_DOWN)
		rchar_link_forget(link, 0, RCHAR_REASON_RECOVERY_TIMEOUT);
	else
		queue_delayed_work(rchar_link_wq, &link->tick_work, HZ);
	mutex_unlock(&rchar_links_lock);
}

static void tick_work(struct work_struct *work)
{
	struct rchar_link *link = container_of(to_delayed_work(work), struct rchar_link, tick_work);

	if (READ_ONCE(link->state) == RCHAR_LINK_UP) {
		rchar_link_for_each_lane(link, keepalive, RCHAR_REASON_KEEPALIVE);
		mod_delayed_work(rchar_link_wq, &link->tick_work,
				 msecs_to_jiffies(READ_ONCE(link->keepalive_ms)));
	} else if (READ_ONCE(link->state) != RCHAR_LINK_DYING) {
		tick_down(link);
	}
}

/* ---- destruction ---- */

static bool all_gone(struct rchar_link *link)
{
	bool gone;

	spin_lock_bh(&link->lock);
	gone = rchar_link_no_lanes_locked(link) && list_empty(&link->accepting);
	spin_unlock_bh(&link->lock);
	return gone;
}

static void destroy_work(struct work_struct *work)
{
	struct rchar_link *link = container_of(work, struct rchar_link, destroy_work);

	rchar_inject_delay(RCHAR_DELAY_DESTROY);
	/* The peer waits for the last ack: let the device send the ack before the disconnect. */
	rchar_flows_flush(&link->traffic, msecs_to_jiffies(FLUSH_MS));
	rchar_link_move(link, RCHAR_LINK_DYING, RCHAR_REASON_NONE);
	cancel_delayed_work_sync(&link->connect_work);
	rchar_gate_leave(&link->account->connecting, &link->turn);
	cancel_work_sync(&link->lanes_work);
	cancel_delayed_work_sync(&link->tick_work);
	rchar_link_for_each_lane(link, rchar_lane_fail, RCHAR_REASON_CLOSED);
	rchar_link_fail_accepting(link, RCHAR_REASON_CLOSED);
	wait_event(link->wait, all_gone(link));
	/* Not earlier: who deletes a key waits for the lanes of all links in the table. Not later:
	 * who walks the table may arm works, which the final cancels end.
	 */
	mutex_lock(&rchar_links_lock);
	rchar_links_del(link);
	mutex_unlock(&rchar_links_lock);
	cancel_delayed_work_sync(&link->connect_work);
	cancel_work_sync(&link->lanes_work);
	cancel_work_sync(&link->up_work);
	cancel_delayed_work_sync(&link->evict_work);
	cancel_delayed_work_sync(&link->tick_work);
	rchar_flows_stop(&link->traffic);
	rchar_flows_reset(&link->traffic);
	rchar_link_put(link);
}

/**
 * rchar_link_retry_all() - connect all links that are DOWN at once, for example for a new device
 *			    or for a port that came up
 */
void rchar_link_retry_all(void)
{
	struct rchar_link *link;
	unsigned long serial;

	mutex_lock(&rchar_links_lock);
	rchar_links_for_each(link, serial)
		if (link->initiator)
			rchar_link_schedule_connect(link, 0);
	mutex_unlock(&rchar_links_lock);
}

static void trim_under_pressure(struct rchar_lane *lane, enum rchar_reason reason)
{
	trim_lane(lane, IDLE_PRESSURE_MS);
}

/**
 * rchar_link_trim_all() - take the large receive buffers of all idle links back: the host needs
 *			   memory
 */
void rchar_link_trim_all(void)
{
	struct rchar_link *link;
	unsigned long serial;

	mutex_lock(&rchar_links_lock);
	rchar_links_for_each(link, serial)
		rchar_link_for_each_lane(link, trim_under_pressure, RCHAR_REASON_NONE);
	mutex_unlock(&rchar_links_lock);
}

/**
 * rchar_link_reset() - break all connections; sessions continue after the reconnect
 * @link: the link
 */
void rchar_link_reset(struct rchar_link *link)
{
	spin_lock_bh(&link->lock);
	link->failures = 0;
	spin_unlock_bh(&link->lock);
	rchar_link_for_each_lane(link, rchar_lane_fail, RCHAR_REASON_ADMIN);
	if (link->initiator)
		rchar_link_schedule_connect(link, 0);
}

/* The next link that uses a key, with a reference, or NULL. @serial as rchar_link_next(). */
static struct rchar_link *next_of_psk(u32 *serial, const struct rchar_psk *psk)
{
	struct rchar_link *link;

	while ((link = rchar_link_next(*serial))) {
		*serial = link->serial;
		if (link->psk == psk)
			return link;
		rchar_link_put(link);
	}
	return NULL;
}

/* Break the connections of a link whose key is deleted, and end its sessions, without waiting. */
static void link_cut(struct rchar_link *link)
{
	cancel_delayed_work(&link->connect_work);
	/* In this order: a lane that completes its handshake now moves to its slot. */
	rchar_link_fail_accepting(link, RCHAR_REASON_KEY_DELETED);
	rchar_link_for_each_lane(link, rchar_lane_fail, RCHAR_REASON_KEY_DELETED);
	link->ops->cut(link, RCHAR_REASON_KEY_DELETED);
}

/* An attempt that began before link_cut() may have put its lane into the slot afterwards. */
static void link_cut_attempt(struct rchar_link *link)
{
	cancel_delayed_work_sync(&link->connect_work);
	rchar_gate_leave(&link->account->connecting, &link->turn);
	rchar_link_for_each_lane(link, rchar_lane_fail, RCHAR_REASON_KEY_DELETED);
}

/* Wait until a link that was cut has no connection. Returns 0 or -EINTR. */
static int link_cut_wait(struct rchar_link *link)
{
	bool dying;

	if (wait_event_killable(link->wait, all_gone(link)))
		return -EINTR;
	/* Sessions that the walk of link_cut() has missed. */
	link->ops->cut(link, RCHAR_REASON_KEY_DELETED);
	/* A link that was down tells its channels why it stays down. */
	spin_lock_bh(&link->lock);
	dying = link->state == RCHAR_LINK_DYING;
	if (!dying) {
		link->reason = RCHAR_REASON_KEY_DELETED;
		link->reason_at = jiffies;
	}
	spin_unlock_bh(&link->lock);
	/* Its end has been told. */
	if (dying)
		return 0;
	rchar_notify_link(link);
	if (link->initiator)
		link->ops->state_changed(link);
	return 0;
}

/**
 * rchar_link_psk_deleted() - break the links that use a deleted key
 * @psk: the key, with &rchar_psk.deleted set
 *
 * All links break at once, so that a slow one does not keep another one alive.
 *
 * Context: process; waits for the teardown of lanes, and so until all memory regions of the
 * connections are deregistered.
 * Return: 0; -EINTR when the task was killed.
 */
int rchar_link_psk_deleted(struct rchar_psk *psk)
{
	struct rchar_link *link;
	u32 serial = 0;
	int ret = 0;

	/* From here on no link is made or admitted that uses the key. */
	mutex_lock(&rchar_links_lock);
	mutex_unlock(&rchar_links_lock);
	while ((link = next_of_psk(&serial, psk))) {
		link_cut(link);
		rchar_link_put(link);
	}
	serial = 0;
	while ((link = next_of_psk(&serial, psk))) {
		link_cut_attempt(link);
		rchar_link_put(link);
	}
	/* All lanes fail now, even when nobody waits for that. */
	serial = 0;
	while (!ret && (link = next_of_psk(&serial, psk))) {
		ret = link_cut_wait(link);
		rchar_link_put(link);
	}
	return ret;
}

/**
 * rchar_link_shutdown() - destroy all links, and prevent new ones
 *
 * For module unload, when no channel is left. The links that are left have lingering sessions or
 * connected peers.
 */
void rchar_link_shutdown(void)
{
	struct rchar_link *link;
	unsigned long index;
	u32 serial = 0;

	mutex_lock(&rchar_links_lock);
	rchar_links_closed = true;
	/* Links that are already down: let tick_work() drop the frames of dead sessions. */
	rchar_links_for_each(link, index)
		mod_delayed_work(rchar_link_wq, &link->tick_work, 0);
	mutex_unlock(&rchar_links_lock);
	while ((link = rchar_link_next(serial))) {
		serial = link->serial;
		cancel_delayed_work_sync(&link->connect_work);
		rchar_gate_leave(&link->account->connecting, &link->turn);
		link->ops->lost(link, RCHAR_REASON_UNLOAD);
		/* In this order: a lane that completes its handshake now moves to its slot. */
		rchar_link_fail_accepting(link, RCHAR_REASON_UNLOAD);
		rchar_link_for_each_lane(link, rchar_lane_fail, RCHAR_REASON_UNLOAD);
		rchar_link_put(link);
	}
	rchar_ledger_wait(RCHAR_OBJ_LINK);
}

static const struct rchar_link_works works = {
	.connect = link_connect_work,
	.lanes = lanes_work,
	.up = link_up_work,
	.tick = tick_work,
	.evict = rchar_link_evict_work,
	.destroy = destroy_work,
};

/**
 * rchar_link_life_init() - initialize at module load
 * @ops: callbacks to the sessions
 *
 * Return: 0 or -ENOMEM.
 */
int rchar_link_life_init(const struct rchar_link_ops *ops)
{
	return rchar_link_init(ops, &works);
}
