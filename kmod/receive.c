// SPDX-License-Identifier: GPL-2.0
/* What the peer sends to a session, and what happens to its link. */
#include "session_priv.h"
#include <linux/fs.h>
#include <linux/poll.h>
#include "channel.h"
#include "rxbuf.h"
#include "seq.h"
#include "txbuf.h"

/* The peer's backlog was full: try again. */
#define BACKLOG_RETRY_MS	50
/* Payloads up to this share a page; larger ones keep the pages they arrived in. */
#define COPY_BREAK		2048

static void receive_opened(struct rchar_session *s, u32 window)
{
	if (s->state != RCHAR_SESSION_OPENING)
		return;
	rchar_session_set_opened(s, window);
	rchar_session_move(s, RCHAR_SESSION_OPEN);
}

static enum rchar_reason wire_reason(struct rchar_rxbuf *rxb)
{
	struct rchar_wire_status status;
	u32 reason;

	rchar_rxbuf_copy(rxb, &status, sizeof(status));
	reason = le32_to_cpu(status.reason);
	return reason && reason < __RCHAR_REASON_MAX ? reason : RCHAR_REASON_REJECTED;
}

static void receive_refused(struct rchar_session *s, struct rchar_rxbuf *rxb)
{
	enum rchar_reason reason = wire_reason(rxb);

	if (s->state != RCHAR_SESSION_OPENING)
		return;
	s->open_sent = false;
	if (reason == RCHAR_REASON_BACKLOG) {
		s->retry_at = (jiffies + msecs_to_jiffies(BACKLOG_RETRY_MS)) ?: 1;
		rchar_session_rearm(s);
		return;
	}
	rchar_session_fail_locked(s, reason);
}

static void receive_reset(struct rchar_session *s, struct rchar_rxbuf *rxb)
{
	rchar_stats_inc(&s->channel->stats.resets);
	rchar_session_die(s, wire_reason(rxb), -ECONNRESET);
}

static enum rchar_frame_error receive_data(struct rchar_session *s,
					   const struct rchar_hdr *hdr,
					   struct rchar_rxbuf *rxb)
{
	struct rchar_seg *seg;

	if (s->state == RCHAR_SESSION_OPENING || s->shut & RCHAR_SESSION_FIN_RECEIVED)
		return RCHAR_FRAME_BAD_STATE;
	if (rchar_seq_before(s->rx_edge, s->rx_next + hdr->len)) {
		rchar_session_fail_locked(s, RCHAR_REASON_WINDOW);
		return RCHAR_FRAME_OK;
	}
	s->rx_next += hdr->len;
	rchar_stats_add(&s->channel->stats.rx_bytes, hdr->len);
	if (s->state == RCHAR_SESSION_CLOSING || s->shut & RCHAR_SESSION_STOP_SENT) {
		s->rx_read = s->rx_next;
		return RCHAR_FRAME_OK;
	}
	if (hdr->len <= COPY_BREAK && !list_empty(&s->rx_queue)) {
		seg = list_last_entry(&s->rx_queue, struct rchar_seg, entry);
		if (rchar_seg_room(seg) >= hdr->len) {
			rchar_seg_append(seg, rxb, hdr->len);
			goto out;
		}
	}
	seg = rchar_rxbuf_take(rxb, hdr->len);
	s->rx_memory += seg->nr_pages * PAGE_SIZE;
	list_add_tail(&seg->entry, &s->rx_queue);
out:
	if (wq_has_sleeper(&s->read_wait))
		wake_up_interruptible_poll(&s->read_wait, EPOLLIN | EPOLLRDNORM);
	kill_fasync(&s->async, SIGIO, POLL_IN);
	return RCHAR_FRAME_OK;
}

static void receive_window(struct rchar_session *s, u32 window)
{
	if (!rchar_seq_before(s->tx_edge, window))
		return;
	if (window - s->tx_acked > RCHAR_WIRE_WINDOW_MAX) {
		rchar_session_fail_locked(s, RCHAR_REASON_WINDOW);
		return;
	}
	WRITE_ONCE(s->tx_edge, window);
	if (rchar_session_writable(s) && wq_has_sleeper(&s->write_wait))
		wake_up_interruptible_poll(&s->write_wait, EPOLLOUT | EPOLLWRNORM);
}

/* With the session's lock held and a reference. */
static enum rchar_frame_error dispatch(struct rchar_session *s,
				       const struct rchar_hdr *hdr,
				       struct rchar_rxbuf *rxb)
{
	if (s->state == RCHAR_SESSION_DEAD)
		return RCHAR_FRAME_OK;
	if (hdr->op != RCHAR_OP_REFUSED && hdr->op != RCHAR_OP_RESET)
		receive_window(s, hdr->window);
	if (s->state == RCHAR_SESSION_DEAD)
		return RCHAR_FRAME_OK;
	switch (hdr->op) {
	case RCHAR_OP_OPENED:
		receive_opened(s, hdr->window);
		break;
	case RCHAR_OP_REFUSED:
		receive_refused(s, rxb);
		break;
	case RCHAR_OP_DATA:
		return receive_data(s, hdr, rxb);
	case RCHAR_OP_FIN:
		s->shut |= RCHAR_SESSION_FIN_RECEIVED;
		rchar_session_wake(s);
		rchar_session_maybe_finish(s);
		break;
	case RCHAR_OP_STOP:
		s->shut |= RCHAR_SESSION_STOP_RECEIVED;
		rchar_session_wake(s);
		break;
	case RCHAR_OP_RESET:
		receive_reset(s, rxb);
		break;
	case RCHAR_OP_WINDOW:
		break;
	default:
		return RCHAR_FRAME_BAD_OP;
	}
	return RCHAR_FRAME_OK;
}

static int session_receive(struct rchar_link *link, const struct rchar_hdr *hdr,
			   struct rchar_rxbuf *rxb, enum rchar_frame_error *err)
{
	struct rchar_session *s;

	if (hdr->op == RCHAR_OP_OPEN)
		return rchar_session_receive_open(link, hdr, rxb, err);
	s = rchar_session_find(link, hdr->session);
	if (!s) {
		/* It ended here while this was on its way. */
		rchar_stats_inc(&link->stats.stray_frames);
		return 0;
	}
	spin_lock_bh(&s->lock);
	*err = dispatch(s, hdr, rxb);
	spin_unlock_bh(&s->lock);
	rchar_session_put(s);
	return 0;
}

static void session_acked(struct rchar_txbuf *txb)
{
	struct rchar_session *s = txb->session;

	if (!s)
		return;
	spin_lock_bh(&s->lock);
	s->tx_frames--;
	WRITE_ONCE(s->tx_acked, rchar_seq_max(s->tx_acked, txb->end));
	if (wq_has_sleeper(&s->ack_wait))
		wake_up_interruptible(&s->ack_wait);
	if (rchar_session_writable(s) && wq_has_sleeper(&s->write_wait))
		wake_up_interruptible_poll(&s->write_wait, EPOLLOUT | EPOLLWRNORM);
	rchar_session_maybe_finish(s);
	spin_unlock_bh(&s->lock);
}

/* ---- what happens to the link ---- */

static void for_each(struct rchar_link *link,
		     void (*fn)(struct rchar_session *s, unsigned long arg),
		     unsigned long arg)
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

static void up_one(struct rchar_session *s, unsigned long arg)
{
	if (s->state == RCHAR_SESSION_OPENING && !s->open_sent && !s->retry_at)
		s->wanted |= BIT(RCHAR_OP_OPEN);
	rchar_session_send_wanted(s);
}

static void session_up(struct rchar_link *link)
{
	if (link->initiator)
		for_each(link, up_one, 0);
}

static void lost_one(struct rchar_session *s, unsigned long reason)
{
	if (s->state == RCHAR_SESSION_OPENING) {
		/* It will be opened afresh. */
		s->open_sent = false;
		s->wanted = 0;
		s->tx_frames = 0;
	} else if (s->state != RCHAR_SESSION_DEAD) {
		rchar_session_die(s, reason, -ECONNRESET);
	}
}

static void session_lost(struct rchar_link *link, enum rchar_reason reason)
{
	for_each(link, lost_one, reason);
}

static void expire_one(struct rchar_session *s, unsigned long down_ms)
{
	unsigned long age_ms = jiffies_to_msecs(jiffies - s->opened_at);

	if (s->state != RCHAR_SESSION_OPENING &&
	    min(down_ms, age_ms) >= READ_ONCE(s->channel->config.recovery_timeout_ms))
		rchar_session_fail_locked(s, RCHAR_REASON_RECOVERY_TIMEOUT);
}

static void session_expire(struct rchar_link *link, unsigned int down_ms)
{
	for_each(link, expire_one, down_ms);
}

const struct rchar_link_ops rchar_session_link_ops = {
	.up = session_up,
	.lost = session_lost,
	.expire = session_expire,
	.receive = session_receive,
	.acked = session_acked,
	.state_changed = rchar_channel_link_changed,
};
