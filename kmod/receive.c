// SPDX-License-Identifier: GPL-2.0
/* What the peer sends to a session, and what happens to its link. */
#include "session_priv.h"
#include <linux/fs.h>
#include <linux/poll.h>
#include "bulk.h"
#include "channel.h"
#include "export.h"
#include "memory.h"
#include "region.h"
#include "rxbuf.h"
#include "seq.h"
#include "txbuf.h"

/* The peer's backlog was full: try again. */
#define BACKLOG_RETRY_MS	50
/* Small frames behind each other that nobody reads yet share this much. */
#define SHARED_SEG		(PAGE_SIZE - sizeof(struct rchar_seg))

static enum rchar_frame_error receive_opened(struct rchar_session *s,
					     const struct rchar_hdr *hdr,
					     struct rchar_rxbuf *rxb)
{
	struct {
		struct rchar_wire_opened opened;
		struct rchar_wire_region region;
	} payload;
	u32 max_message, len = s->import ? sizeof(payload) : sizeof(payload.opened);
	enum rchar_frame_error err;

	if (hdr->len != len)
		return RCHAR_FRAME_BAD_LENGTH;
	if (s->state != RCHAR_SESSION_OPENING)
		return RCHAR_FRAME_OK;
	rchar_rxbuf_copy(rxb, &payload, len);
	max_message = le32_to_cpu(payload.opened.max_message);
	err = rchar_opened_check(&payload.opened, s->channel->config.type);
	if (!err && s->import)
		err = rchar_import_opened(s, &payload.region);
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

static bool data_expected(const struct rchar_session *s)
{
	return s->state != RCHAR_SESSION_OPENING &&
	       !(s->shut & RCHAR_SESSION_FIN_RECEIVED);
}

/* Its bytes are not there yet: nothing else can come before them. */
static bool bulk_open(const struct rchar_session *s)
{
	return s->bulk_left && !s->bulk_got;
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

static void tell_reader(struct rchar_session *s)
{
	if (wq_has_sleeper(&s->read_wait))
		wake_up_interruptible_poll(&s->read_wait, EPOLLIN | EPOLLRDNORM);
	kill_fasync(&s->async, SIGIO, POLL_IN);
}

static void queue_seg(struct rchar_session *s, struct rchar_seg *seg)
{
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
		queue_seg(s, seg);
	}
	tell_reader(s);
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
	queue_seg(s, rchar_rxbuf_take_copy(rxb, len, capacity));
}

static enum rchar_frame_error receive_data(struct rchar_session *s,
					   const struct rchar_hdr *hdr,
					   struct rchar_rxbuf *rxb)
{
	bool instead = hdr->flags & RCHAR_FRAME_INSTEAD;

	if (s->channel->config.type != RCHAR_TYPE_STREAM || !data_expected(s) ||
	    (instead ? hdr->len > s->bulk_left : bulk_open(s)))
		return RCHAR_FRAME_BAD_STATE;
	if (instead) {
		rchar_bulk_in_over(s);
		s->bulk_left -= hdr->len;
		if (s->bulk_got || rchar_session_data_unwanted(s))
			return RCHAR_FRAME_OK;
	} else {
		s->bulk_left = 0;
		if (!rchar_session_take_window(s, hdr->len, 0) || rchar_session_data_unwanted(s))
			return RCHAR_FRAME_OK;
	}
	if (hdr->len <= RCHAR_COPY_BREAK)
		queue_small(s, rxb, hdr->len);
	else
		queue_seg(s, rchar_rxbuf_take(rxb, hdr->len));
	tell_reader(s);
	return RCHAR_FRAME_OK;
}

static enum rchar_frame_error receive_bulk(struct rchar_session *s,
					   struct rchar_rxbuf *rxb, int *ret)
{
	if (s->channel->config.type != RCHAR_TYPE_STREAM || !data_expected(s) ||
	    bulk_open(s))
		return RCHAR_FRAME_BAD_STATE;
	/* Each is answered. */
	if (rchar_session_too_many_replies(s->flow)) {
		*ret = -ENOBUFS;
		return RCHAR_FRAME_OK;
	}
	return rchar_bulk_receive(s, rxb, ret);
}

/* A fragment. Readers see a message when its last one is there. */
static enum rchar_frame_error receive_msg(struct rchar_session *s,
					  const struct rchar_hdr *hdr,
					  struct rchar_rxbuf *rxb)
{
	bool first = hdr->flags & RCHAR_FRAME_FIRST, last = hdr->flags & RCHAR_FRAME_LAST;
	struct rchar_seg *seg;
	u32 len;

	if (s->channel->config.type != RCHAR_TYPE_MESSAGE || !data_expected(s) ||
	    first != !s->rx_partial)
		return RCHAR_FRAME_BAD_STATE;
	/* Only the last one costs more than its bytes: many small ones would be free. */
	if (!last && hdr->len < RCHAR_WIRE_FRAME_MIN)
		return RCHAR_FRAME_BAD_LENGTH;
	if (hdr->len > s->max_message - s->rx_partial) {
		rchar_session_fail_locked(s, RCHAR_REASON_WINDOW);
		return RCHAR_FRAME_OK;
	}
	if (!rchar_session_take_window(s, hdr->len, last ? RCHAR_WIRE_MESSAGE_COST : 0))
		return RCHAR_FRAME_OK;
	len = s->rx_partial + hdr->len;
	s->rx_partial = last ? 0 : len;
	if (rchar_session_data_unwanted(s))
		return RCHAR_FRAME_OK;
	seg = hdr->len <= RCHAR_COPY_BREAK ?
	      rchar_rxbuf_take_copy(rxb, hdr->len, hdr->len) :
	      rchar_rxbuf_take(rxb, hdr->len);
	seg->last = last;
	queue_seg(s, seg);
	if (first)
		s->rx_first = seg;
	s->rx_partial_memory = last ? 0 : s->rx_partial_memory + rchar_seg_memory(seg);
	if (last) {
		s->rx_first->message = len;
		s->rx_first = NULL;
		WRITE_ONCE(s->rx_messages, s->rx_messages + 1);
		tell_reader(s);
	}
	return RCHAR_FRAME_OK;
}

static enum rchar_frame_error receive_fin(struct rchar_session *s)
{
	if (s->rx_partial || bulk_open(s))
		return RCHAR_FRAME_BAD_STATE;
	if (s->export) {
		rchar_session_die(s, RCHAR_REASON_NONE, 0);
		return RCHAR_FRAME_OK;
	}
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

static int receive_map(struct rchar_session *s, const struct rchar_hdr *hdr,
		       struct rchar_rxbuf *rxb, enum rchar_frame_error *err)
{
	int ret = rchar_import_map(s, hdr, rxb, err);

	if (ret != -ENOBUFS)
		return ret;
	rchar_session_fail_locked(s, RCHAR_REASON_PEER_LIMIT);
	return 0;
}

/* Executed once, as frames are: memory for the answer comes first. */
static int receive_call(struct rchar_session *s, struct rchar_rxbuf *rxb,
			enum rchar_frame_error *err)
{
	struct rchar_wire_result result;
	struct rchar_wire_call call;
	struct rchar_txbuf *txb;
	LIST_HEAD(frames);
	u64 old;

	rchar_rxbuf_copy(rxb, &call, sizeof(call));
	if (!s->export || !call.call || call.call >= __RCHAR_CALL_MAX) {
		*err = s->export ? RCHAR_FRAME_BAD_PAYLOAD : RCHAR_FRAME_BAD_STATE;
		return 0;
	}
	/* A peer that calls and does not listen to the answers. */
	if (rchar_session_too_many_replies(s->flow))
		return -ENOBUFS;
	txb = rchar_txbuf_alloc_reply(RCHAR_OP_RESULT, sizeof(result), s->link->account);
	if (!txb)
		return -ENOBUFS;
	result.id = call.id;
	result.status = cpu_to_le32(rchar_region_call(s->export->region, &call, true, &old));
	result.old = cpu_to_le64(old);
	rchar_txbuf_append(txb, &result, sizeof(result));
	list_add(&txb->queue, &frames);
	rchar_session_queue_locked(s, &frames);
	rchar_stats_inc(&s->channel->stats.calls);
	return 0;
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
	case RCHAR_OP_DATA:
		return receive_data(s, hdr, rxb);
	case RCHAR_OP_MSG:
		return receive_msg(s, hdr, rxb);
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
	case RCHAR_OP_MAP:
		*ret = receive_map(s, hdr, rxb, &err);
		break;
	case RCHAR_OP_CALL:
		*ret = receive_call(s, rxb, &err);
		break;
	case RCHAR_OP_RESULT:
		return rchar_import_result(s, rxb);
	case RCHAR_OP_BULK:
		return receive_bulk(s, rxb, ret);
	case RCHAR_OP_TAKEN:
		return rchar_bulk_taken(s, rxb);
	default:
		return RCHAR_FRAME_BAD_OP;
	}
	return err;
}

static int session_receive(struct rchar_link *link, const struct rchar_hdr *hdr,
			   struct rchar_rxbuf *rxb, enum rchar_frame_error *err)
{
	struct rchar_session *s;
	int ret = 0;

	if (hdr->op == RCHAR_OP_OPEN)
		return rchar_session_receive_open(link, hdr, rxb, err);
	s = rchar_session_find(link, hdr->session);
	if (!s) {
		/* It ended here while this was on its way. */
		rchar_stats_inc(&link->stats.stray_frames);
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
	struct rchar_session *s = txb->session;

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
	struct rchar_session *s = txb->session;

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

static void export_one(struct rchar_session *s, unsigned long arg)
{
	if (s->export)
		rchar_export_update(s->export);
}

static void session_up(struct rchar_link *link)
{
	for_each(link, link->initiator ? up_one : export_one, 0);
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

const struct rchar_link_ops rchar_session_link_ops = {
	.up = session_up,
	.lost = session_lost,
	.expire = session_expire,
	.receive = session_receive,
	.acked = session_acked,
	.dropped = session_dropped,
	.state_changed = rchar_channel_link_changed,
};
