// SPDX-License-Identifier: GPL-2.0
/* What the peer sends to a session, and what happens to its link. */
#include "session_priv.h"
#include <linux/fs.h>
#include <linux/poll.h>
#include "base/seq.h"
#include "channel.h"
#include "link/rxbuf.h"
#include "link/txbuf.h"
#include "type.h"

/* The peer's backlog was full: try again. */
#define BACKLOG_RETRY_MS	50
/* Small frames behind each other that nobody reads yet share this much. */
#define SHARED_SEG		(PAGE_SIZE - sizeof(struct rchar_seg))

static enum rchar_frame_error receive_opened(struct rchar_session *s,
					     const struct rchar_hdr *hdr,
					     struct rchar_rxbuf *rxb)
{
	const struct rchar_type *type = s->type;
	struct rchar_wire_opened opened;
	enum rchar_frame_error err;
	u32 max_message;

	if (hdr->len != sizeof(opened) + type->opened_len)
		return RCHAR_FRAME_BAD_LENGTH;
	if (s->state != RCHAR_SESSION_OPENING)
		return RCHAR_FRAME_OK;
	rchar_rxbuf_copy(rxb, &opened, sizeof(opened));
	max_message = le32_to_cpu(opened.max_message);
	err = rchar_opened_check(&opened, s->channel->config.type);
	if (!err && type->opened)
		err = type->opened(s, rchar_rxbuf_payload(rxb) + sizeof(opened));
	if (err)
		return err;
	/* Until a program opens there the window may be smaller than a message. */
	if (!rchar_window_valid(hdr->window, 0))
		return RCHAR_FRAME_BAD_PAYLOAD;
	rchar_session_set_opened(s, hdr->window, max_message);
	rchar_session_move(s, RCHAR_SESSION_OPEN);
	return RCHAR_FRAME_OK;
}

static enum rchar_reason wire_reason(struct rchar_rxbuf *rxb)
{
	struct rchar_wire_status status;
	u32 reason;

	rchar_rxbuf_copy(rxb, &status, sizeof(status));
	reason = le32_to_cpu(status.reason);
	return reason && reason < __RCHAR_REASON_MAX ? reason : RCHAR_REASON_REJECTED;
}

/*
 * Why the other side may refuse a session. Whatever else a peer says must not give a program
 * an error that is about something of this host.
 */
static enum rchar_reason refusal(enum rchar_reason reason)
{
	switch (reason) {
	case RCHAR_REASON_NO_CHANNEL:
	case RCHAR_REASON_WRONG_TYPE:
	case RCHAR_REASON_BACKLOG:
	case RCHAR_REASON_NO_ATOMICS:
	case RCHAR_REASON_PEER_LIMIT:
		return reason;
	default:
		return RCHAR_REASON_REJECTED;
	}
}

static void receive_refused(struct rchar_session *s, struct rchar_rxbuf *rxb)
{
	enum rchar_reason reason = refusal(wire_reason(rxb));

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

/**
 * rchar_session_take_window() - count what arrives
 * @s: the session; its lock is held
 * @len: bytes
 * @cost: what they count more than their length
 *
 * Return: false when the peer sent more than its window: the session is over.
 */
bool rchar_session_take_window(struct rchar_session *s, u32 len, u32 cost)
{
	lockdep_assert_held(&s->lock);
	if (rchar_seq_before(s->rx_edge, s->rx_next + len + cost)) {
		rchar_session_fail_locked(s, RCHAR_REASON_WINDOW);
		return false;
	}
	s->rx_next += len + cost;
	rchar_stats_add(&s->channel->stats.rx_bytes, len);
	if (rchar_session_data_unwanted(s))
		s->rx_read += len + cost;
	return true;
}

/**
 * rchar_session_tell_reader() - wake readers: there is something to read
 * @s: the session; its lock is held
 */
void rchar_session_tell_reader(struct rchar_session *s)
{
	lockdep_assert_held(&s->lock);
	if (wq_has_sleeper(&s->read_wait))
		wake_up_interruptible_poll(&s->read_wait, EPOLLIN | EPOLLRDNORM);
	kill_fasync(&s->async, SIGIO, POLL_IN);
}

/**
 * rchar_session_queue_seg() - queue a segment for readers, which are not told
 * @s: the session; its lock is held
 * @seg: the segment; taken over
 */
void rchar_session_queue_seg(struct rchar_session *s, struct rchar_seg *seg)
{
	lockdep_assert_held(&s->lock);
	s->rx_memory += rchar_seg_memory(seg);
	list_add_tail(&seg->entry, &s->rx_queue);
}

/**
 * rchar_session_deliver() - bytes of a stream are there
 * @s: the session; its lock is held
 * @segs: the bytes; left to the caller when nobody wants them
 */
void rchar_session_deliver(struct rchar_session *s, struct list_head *segs)
{
	struct rchar_seg *seg, *tmp;

	lockdep_assert_held(&s->lock);
	if (rchar_session_data_unwanted(s))
		return;
	list_for_each_entry_safe(seg, tmp, segs, entry) {
		list_del(&seg->entry);
		rchar_session_queue_seg(s, seg);
	}
	rchar_session_tell_reader(s);
}

/* A small payload shares memory with those before it, or after it. */
static void queue_small(struct rchar_session *s, struct rchar_rxbuf *rxb, u32 len)
{
	u32 capacity = len;
	struct rchar_seg *seg;

	BUILD_BUG_ON(SHARED_SEG > RCHAR_COPY_BREAK);
	if (!list_empty(&s->rx_queue)) {
		seg = list_last_entry(&s->rx_queue, struct rchar_seg, entry);
		if (rchar_seg_room(seg) >= len) {
			rchar_seg_append(seg, rxb, len);
			return;
		}
		/* No slab is left half empty, whatever comes next. */
		capacity = len <= SHARED_SEG ? SHARED_SEG : RCHAR_COPY_BREAK;
	}
	rchar_session_queue_seg(s, rchar_rxbuf_take_copy(rxb, len, capacity));
}

/**
 * rchar_session_queue_payload() - queue the bytes of a frame for readers, which are not told
 * @s: the session, of a stream; its lock is held
 * @rxb: the buffer with the payload
 * @len: payload bytes
 */
void rchar_session_queue_payload(struct rchar_session *s, struct rchar_rxbuf *rxb, u32 len)
{
	lockdep_assert_held(&s->lock);
	if (len <= RCHAR_COPY_BREAK)
		queue_small(s, rxb, len);
	else
		rchar_session_queue_seg(s, rchar_rxbuf_take(rxb, len));
}

static enum rchar_frame_error receive_fin(struct rchar_session *s)
{
	enum rchar_frame_error err = s->type->fin ? s->type->fin(s) : RCHAR_FRAME_OK;

	if (err || s->state == RCHAR_SESSION_DEAD)
		return err;
	WRITE_ONCE(s->shut, s->shut | RCHAR_SESSION_FIN_RECEIVED);
	rchar_session_wake(s);
	rchar_session_maybe_finish(s);
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
	rchar_session_wake_writers(s);
}

/* With the session's lock held and a reference. */
static enum rchar_frame_error dispatch(struct rchar_session *s,
				       const struct rchar_hdr *hdr,
				       struct rchar_rxbuf *rxb, int *ret)
{
	enum rchar_frame_error err = RCHAR_FRAME_OK;

	if (s->state == RCHAR_SESSION_DEAD)
		return RCHAR_FRAME_OK;
	if (hdr->op != RCHAR_OP_REFUSED && hdr->op != RCHAR_OP_RESET)
		receive_window(s, hdr->window);
	if (s->state == RCHAR_SESSION_DEAD)
		return RCHAR_FRAME_OK;
	switch (hdr->op) {
	case RCHAR_OP_OPENED:
		return receive_opened(s, hdr, rxb);
	case RCHAR_OP_REFUSED:
		receive_refused(s, rxb);
		break;
	case RCHAR_OP_FIN:
		return receive_fin(s);
	case RCHAR_OP_STOP:
		WRITE_ONCE(s->shut, s->shut | RCHAR_SESSION_STOP_RECEIVED);
		rchar_session_wake(s);
		break;
	case RCHAR_OP_RESET:
		receive_reset(s, rxb);
		break;
	case RCHAR_OP_WINDOW:
		break;
	default:
		if (!s->type->receive)
			return RCHAR_FRAME_BAD_STATE;
		*ret = s->type->receive(s, hdr, rxb, &err);
	}
	return err;
}

static int session_receive(struct rchar_traffic *traffic, const struct rchar_hdr *hdr,
			   struct rchar_rxbuf *rxb, enum rchar_frame_error *err)
{
	struct rchar_link *link = container_of(traffic, struct rchar_link, traffic);
	struct rchar_session *s;
	int ret = 0;

	if (hdr->op == RCHAR_OP_OPEN)
		return rchar_session_receive_open(link, hdr, rxb, err);
	s = rchar_session_find(link, hdr->session);
	if (!s) {
		/* It ended here while this was on its way. */
		rchar_stats_inc(&traffic->stats.stray_frames);
		return 0;
	}
	spin_lock_bh(&s->lock);
	*err = dispatch(s, hdr, rxb, &ret);
	spin_unlock_bh(&s->lock);
	rchar_session_put(s);
	return ret;
}

static void session_acked(struct rchar_txbuf *txb)
{
	struct rchar_session *s = rchar_session_of(txb);

	if (!s)
		return;
	spin_lock_bh(&s->lock);
	rchar_session_frame_gone(s, txb);
	WRITE_ONCE(s->tx_acked, rchar_seq_max(s->tx_acked, txb->end));
	if (wq_has_sleeper(&s->ack_wait))
		wake_up_interruptible(&s->ack_wait);
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
	/* Sent between lost_one() and here, by who did not know that the link was lost. One that
	 * was sent after rchar_flow_reset() took the frames stays: two would break the next link.
	 */
	if (txb->hdr.op == RCHAR_OP_OPEN && s->state == RCHAR_SESSION_OPENING && !s->tx_frames)
		s->open_sent = false;
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

static void accepted_up_one(struct rchar_session *s, unsigned long arg)
{
	if (s->type->up)
		s->type->up(s);
}

static void session_up(struct rchar_link *link)
{
	for_each(link, link->initiator ? up_one : accepted_up_one, 0);
}

static void lost_one(struct rchar_session *s, unsigned long reason)
{
	if (s->state == RCHAR_SESSION_OPENING) {
		/* It will be opened afresh. */
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

static const struct rchar_traffic_ops session_traffic_ops = {
	.receive = session_receive,
	.acked = session_acked,
	.dropped = session_dropped,
};

const struct rchar_link_ops rchar_session_link_ops = {
	.up = session_up,
	.lost = session_lost,
	.expire = session_expire,
	.traffic = &session_traffic_ops,
	.state_changed = rchar_channel_link_changed,
};
