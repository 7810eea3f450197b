// SPDX-License-Identifier: GPL-2.0
/* Receive side of a session: frames of the peer. */
#include "session_priv.h"
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/sizes.h>
#include "channel.h"
#include "link/rxbuf.h"
#include "link/txbuf.h"
#include "type.h"

/* Delay before OPEN is sent again to a peer whose backlog was full. */
#define BACKLOG_RETRY_MS 50
/* Capacity of a segment that consecutive small frames share until a program reads them. */
#define SHARED_SEG	 (SZ_4K - sizeof(struct rchar_seg))

static enum rchar_frame_error receive_opened(struct rchar_session *s, const struct rchar_hdr *hdr,
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
	/* The window may be smaller than a message until a program of the peer opens. */
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
 * Limit a peer's reason to those for which a peer may refuse a session. With another reason, a
 * program would get an error that describes a failure of this host.
 */
static enum rchar_reason session_refusal(enum rchar_reason reason)
{
	switch (reason) {
	case RCHAR_REASON_NO_CHANNEL:
	case RCHAR_REASON_WRONG_TYPE:
	case RCHAR_REASON_BACKLOG:
	case RCHAR_REASON_NO_ATOMICS:
	case RCHAR_REASON_PEER_LIMIT:
	case RCHAR_REASON_NOT_AUTHORISED:
	case RCHAR_REASON_ENCRYPTION:
		return reason;
	default:
		return RCHAR_REASON_REJECTED;
	}
}

static void receive_refused(struct rchar_session *s, struct rchar_rxbuf *rxb)
{
	enum rchar_reason reason = session_refusal(wire_reason(rxb));

	if (s->state != RCHAR_SESSION_OPENING)
		return;
	s->open_sent = false;
	if (reason == RCHAR_REASON_BACKLOG) {
		s->timer.retry_at = (jiffies + msecs_to_jiffies(BACKLOG_RETRY_MS)) ?: 1;
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
 * rchar_session_take_window() - count received bytes against the receive window
 * @s: the session; its lock is held
 * @len: bytes received
 * @cost: bytes that the window counts in addition to @len
 *
 * Return: true; or false when the bytes exceed the window. The session is DEAD then.
 */
bool rchar_session_take_window(struct rchar_session *s, u32 len, u32 cost)
{
	lockdep_assert_held(&s->lock);
	if (!rchar_rx_window_receive(&s->rx.window, len + cost)) {
		rchar_session_fail_locked(s, RCHAR_REASON_WINDOW);
		return false;
	}
	rchar_session_count(s, len, false);
	if (rchar_session_data_unwanted(s))
		s->rx.window.read += len + cost;
	return true;
}

/**
 * rchar_session_tell_reader() - wake readers and send SIGIO: the session is readable
 * @s: the session; its lock is held
 */
void rchar_session_tell_reader(struct rchar_session *s)
{
	lockdep_assert_held(&s->lock);
	if (wq_has_sleeper(&s->rx.wait))
		wake_up_interruptible_poll(&s->rx.wait, EPOLLIN | EPOLLRDNORM);
	kill_fasync(&s->async, SIGIO, POLL_IN);
}

/**
 * rchar_session_queue_seg() - queue a segment for readers, without waking them
 * @s: the session; its lock is held
 * @seg: the segment; taken over
 */
void rchar_session_queue_seg(struct rchar_session *s, struct rchar_seg *seg)
{
	lockdep_assert_held(&s->lock);
	s->rx.memory += rchar_seg_memory(seg);
	list_add_tail(&seg->entry, &s->rx.queue);
}

/**
 * rchar_session_deliver() - queue bytes of a stream and wake readers
 * @s: the session; its lock is held
 * @segs: segments with the bytes; left to the caller when the program wants no more data
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

/* Queue a small payload, in one segment with the small payloads before or after it. */
static void queue_small(struct rchar_session *s, struct rchar_rxbuf *rxb, u32 len)
{
	u32 capacity = len;
	struct rchar_seg *seg;

	BUILD_BUG_ON(SHARED_SEG > RCHAR_COPY_BREAK);
	if (!list_empty(&s->rx.queue)) {
		seg = list_last_entry(&s->rx.queue, struct rchar_seg, entry);
		if (rchar_seg_room(seg) >= len) {
			rchar_seg_append(seg, rxb, len);
			return;
		}
		/* Choose a capacity that leaves no slab object half empty. */
		capacity = len <= SHARED_SEG ? SHARED_SEG : RCHAR_COPY_BREAK;
	}
	rchar_session_queue_seg(s, rchar_rxbuf_take_copy(rxb, len, capacity));
}

/**
 * rchar_session_queue_payload() - queue the bytes of a frame for readers, without waking them
 * @s: the session, of a stream channel; its lock is held
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
	bool more;

	if (!rchar_tx_window_grant(&s->tx.window, window, &more))
		rchar_session_fail_locked(s, RCHAR_REASON_WINDOW);
	else if (more)
		rchar_session_wake_writers(s);
}

/* Handle a frame. The caller holds the session's lock and a reference. */
static enum rchar_frame_error dispatch(struct rchar_session *s, const struct rchar_hdr *hdr,
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

/**
 * rchar_session_receive() - handle a sequenced frame: &rchar_traffic_ops.receive
 * @traffic: traffic of the link
 * @hdr: header of the frame
 * @rxb: buffer with the payload
 * @err: set when the frame violates the protocol
 *
 * Return: 0; -ENOMEM or -ENOBUFS to get the frame again after a reconnect.
 */
int rchar_session_receive(struct rchar_traffic *traffic, const struct rchar_hdr *hdr,
			  struct rchar_rxbuf *rxb, enum rchar_frame_error *err)
{
	struct rchar_link *link = container_of(traffic, struct rchar_link, traffic);
	struct rchar_session *s;
	int ret = 0;

	if (hdr->op == RCHAR_OP_OPEN)
		return rchar_session_receive_open(link, hdr, rxb, err);
	s = rchar_session_find(link, hdr->session);
	if (!s) {
		/* The session ended on this host while the frame was in flight. */
		rchar_stats_inc(&traffic->stats.stray_frames);
		return 0;
	}
	spin_lock_bh(&s->lock);
	*err = dispatch(s, hdr, rxb, &ret);
	spin_unlock_bh(&s->lock);
	rchar_session_put(s);
	return ret;
}
