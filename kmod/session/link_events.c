// SPDX-License-Identifier: GPL-2.0
/* Events of a link for its sessions: the operations that the link layer calls. */
#include "acl.h"
#include "channel.h"
#include "link/txbuf.h"
#include "session_priv.h"
#include "type.h"

/* ---- frames ---- */

static void session_acked(struct rchar_txbuf *txb)
{
	struct rchar_session *s = rchar_session_of(txb);

	if (!s)
		return;
	spin_lock_bh(&s->lock);
	rchar_session_frame_gone(s, txb);
	if (txb->hdr.flags & RCHAR_FRAME_LAST)
		s->tx.messages--;
	rchar_tx_window_ack(&s->tx.window, txb->end);
	if (wq_has_sleeper(&s->tx.ack_wait))
		wake_up_interruptible(&s->tx.ack_wait);
	rchar_session_wake_writers(s);
	rchar_session_maybe_finish(s);
	spin_unlock_bh(&s->lock);
}

static void session_dropped(struct rchar_txbuf *txb)
{
	struct rchar_session *s = rchar_session_of(txb);

	if (!s)
		return;
	spin_lock_bh(&s->lock);
	rchar_session_frame_gone(s, txb);
	/*
	 * A task that did not see the loss of the link may have queued this OPEN after lost_one().
	 * Clear open_sent, so that session_up() sends another OPEN. If frames are left, an OPEN was
	 * queued after rchar_flow_reset() emptied the queue: a second OPEN would break the next
	 * link.
	 */
	if (txb->hdr.op == RCHAR_OP_OPEN && s->state == RCHAR_SESSION_OPENING && !s->tx.frames)
		s->open_sent = false;
	spin_unlock_bh(&s->lock);
}

/* ---- up and down ---- */

static void for_each(struct rchar_link *link,
		     void (*fn)(struct rchar_session *s, unsigned long arg), unsigned long arg)
{
	struct rchar_session *s;
	u32 id = 0;

	while ((s = rchar_session_next(link, &id))) {
		spin_lock_bh(&s->lock);
		fn(s, arg);
		spin_unlock_bh(&s->lock);
		rchar_session_put(s);
	}
}

static void session_up_one(struct rchar_session *s, unsigned long arg)
{
	if (s->state == RCHAR_SESSION_OPENING && !s->open_sent && !s->timer.retry_at)
		s->wanted |= BIT(RCHAR_OP_OPEN);
	rchar_session_send_wanted(s);
}

static void accepted_up_one(struct rchar_session *s, unsigned long arg)
{
	if (s->type->up)
		s->type->up(s);
}

static void session_up(struct rchar_link *link)
{
	for_each(link, link->initiator ? session_up_one : accepted_up_one, 0);
}

static void lost_one(struct rchar_session *s, unsigned long reason)
{
	if (s->state == RCHAR_SESSION_OPENING) {
		/* session_up() sends OPEN again. */
		s->open_sent = false;
		s->wanted = 0;
	} else {
		rchar_session_die(s, reason, -ECONNRESET);
	}
}

static void session_lost(struct rchar_link *link, enum rchar_reason reason)
{
	for_each(link, lost_one, reason);
}

static void denied_one(struct rchar_session *s, unsigned long reason)
{
	if (s->state == RCHAR_SESSION_OPENING)
		rchar_session_fail_locked(s, reason);
}

static void session_denied(struct rchar_link *link, enum rchar_reason reason)
{
	for_each(link, denied_one, reason);
}

static void session_cut(struct rchar_link *link, enum rchar_reason reason)
{
	struct rchar_session *s;
	u32 id = 0;

	while ((s = rchar_session_next(link, &id))) {
		rchar_session_cut(s, reason);
		rchar_session_put(s);
	}
}

static void session_moved(struct rchar_link *link)
{
	struct rchar_session *s;
	bool permitted;
	u32 id = 0;

	while ((s = rchar_session_next(link, &id))) {
		rcu_read_lock();
		permitted = rchar_acl_permits_link(rcu_dereference(s->channel->acl), link);
		rcu_read_unlock();
		if (!permitted)
			rchar_session_delete(s, RCHAR_REASON_NOT_AUTHORISED);
		rchar_session_put(s);
	}
}

static void expire_one(struct rchar_session *s, unsigned long down_ms)
{
	unsigned long age_ms = jiffies64_to_msecs(jiffies - s->opened_at);

	if (s->state != RCHAR_SESSION_OPENING &&
	    min(down_ms, age_ms) >= READ_ONCE(s->channel->config.recovery_timeout_ms))
		rchar_session_fail_locked(s, RCHAR_REASON_RECOVERY_TIMEOUT);
}

static void session_expire(struct rchar_link *link, unsigned long down_ms)
{
	for_each(link, expire_one, down_ms);
}

static const struct rchar_traffic_ops session_traffic_ops = {
	.receive = rchar_session_receive,
	.acked = session_acked,
	.dropped = session_dropped,
};

const struct rchar_link_ops rchar_session_link_ops = {
	.up = session_up,
	.lost = session_lost,
	.denied = session_denied,
	.cut = session_cut,
	.moved = session_moved,
	.admits = rchar_channel_admits,
	.expire = session_expire,
	.traffic = &session_traffic_ops,
	.state_changed = rchar_channel_link_changed,
};
