// SPDX-License-Identifier: GPL-2.0
#include "message.h"
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>
#include "link/rxbuf.h"
#include "link/txbuf.h"
#include "session/channel.h"
#include "session/chardev.h"
#include "session/session_priv.h"
#include "session/type.h"

/**
 * struct rchar_message - received messages of a session: the private data of the type
 * @complete: complete messages in the receive queue
 * @partial: bytes received of the incomplete message, including bytes that were dropped
 * @partial_memory: bytes of memory that the incomplete message occupies in the receive queue
 * @first: first segment of the incomplete message in the receive queue, or NULL
 *
 * The session's lock protects all fields.
 */
struct rchar_message {
	u32 complete;
	u32 partial;
	u32 partial_memory;
	struct rchar_seg *first;
};

/* ---- read ---- */

/* Length of the next message; 0 when the queue has no complete message. */
static u32 message_next(const struct rchar_session *s)
{
	const struct rchar_message *m = rchar_session_priv(s);

	lockdep_assert_held(&s->lock);
	if (!m->complete)
		return 0;
	return list_first_entry(&s->rx.queue, struct rchar_seg, entry)->message;
}

/*
 * Walk the queue without the session's lock. The receive path only appends segments after the
 * complete messages. Only a reader removes segments of complete messages.
 */
static int copy_message(struct rchar_session *s, struct iov_iter *to)
{
	struct rchar_seg *seg;

	list_for_each_entry(seg, &s->rx.queue, entry) {
		if (rchar_seg_copy(seg, 0, seg->end, to) < seg->end)
			return -EFAULT;
		if (seg->last)
			break;
	}
	return 0;
}

static void drop_message(struct rchar_session *s, u32 len)
{
	struct rchar_message *m = rchar_session_priv(s);
	struct rchar_seg *seg;
	LIST_HEAD(done);
	bool last;

	spin_lock_bh(&s->lock);
	do {
		seg = list_first_entry(&s->rx.queue, struct rchar_seg, entry);
		last = seg->last;
		s->rx.memory -= rchar_seg_memory(seg);
		list_move_tail(&seg->entry, &done);
	} while (!last);
	WRITE_ONCE(m->complete, m->complete - 1);
	spin_unlock_bh(&s->lock);
	rchar_seg_free_list(&done);
	rchar_session_consume(s, len + RCHAR_WIRE_MESSAGE_COST);
}

/* Copy the whole next message or nothing. */
static ssize_t message_take(struct rchar_session *s, struct iov_iter *to)
{
	u32 len;
	int ret;

	lockdep_assert_held(&s->rx.mutex);
	spin_lock_bh(&s->lock);
	len = message_next(s);
	spin_unlock_bh(&s->lock);
	if (!len)
		return 0;
	if (iov_iter_count(to) < len)
		return -EMSGSIZE;
	ret = copy_message(s, to);
	if (ret)
		return ret;
	drop_message(s, len);
	return len;
}

static ssize_t message_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	return rchar_chardev_read(iocb, to, message_take, rchar_chardev_wait_readable);
}

/* ---- write ---- */

/* Copy the message into frames without queuing any of the frames. */
static int message_build(struct rchar_session *s, struct iov_iter *from, gfp_t gfp,
			 struct list_head *frames)
{
	u8 flags = RCHAR_FRAME_FIRST;
	size_t left;

	while ((left = iov_iter_count(from))) {
		u32 len = min_t(size_t, left, rchar_session_data_max(s));
		struct rchar_txbuf *txb = rchar_txbuf_alloc(RCHAR_OP_MSG, len, gfp);

		if (!txb)
			return rchar_chardev_nomem(gfp);
		/* A killed program does not need the rest of a large message. */
		if (fatal_signal_pending(current)) {
			rchar_txbuf_put(txb);
			return -EINTR;
		}
		list_add_tail(&txb->queue, frames);
		if (rchar_txbuf_copy(txb, len, from) < len)
			return -EFAULT;
		txb->hdr.flags = flags | (len == left ? RCHAR_FRAME_LAST : 0);
		flags = 0;
	}
	return 0;
}

static ssize_t send_message(struct rchar_session *s, struct iov_iter *from, gfp_t gfp)
{
	size_t len = iov_iter_count(from);
	LIST_HEAD(frames);
	int ret;

	ret = message_build(s, from, gfp, &frames);
	if (!ret)
		ret = rchar_session_submit(s, &frames);
	if (!ret)
		return len;
	rchar_txbuf_put_list(&frames);
	iov_iter_revert(from, len - iov_iter_count(from));
	return ret == -ENOMEM ? rchar_chardev_nomem(gfp) : ret;
}

/* Return bytes, a negative errno, or 0 when the caller must try again. */
static ssize_t write_once(struct rchar_session *s, struct kiocb *iocb, struct iov_iter *from)
{
	size_t len = iov_iter_count(from);
	int ret;

	lockdep_assert_held(&s->tx.mutex);
	ret = rchar_session_write_error(s);
	/* The limit may shrink once, when the session opens. The limit is final after that. */
	if (len > READ_ONCE(s->max_message))
		return -EMSGSIZE;
	rchar_session_need_room(s, len + RCHAR_WIRE_MESSAGE_COST);
	if (!ret && rchar_session_write_room(s) >= len + RCHAR_WIRE_MESSAGE_COST)
		return send_message(s, from, rchar_chardev_gfp(iocb));
	return rchar_chardev_wait_writable(s, rchar_chardev_nowait(iocb));
}

static ssize_t message_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	struct rchar_session *s = iocb->ki_filp->private_data;
	ssize_t ret;

	if (!iov_iter_count(from))
		return 0;
	ret = rchar_chardev_lock(&s->tx.mutex, rchar_chardev_nowait(iocb));
	if (ret)
		goto out;
	do {
		ret = write_once(s, iocb, from);
	} while (!ret);
	if (ret > 0)
		rchar_session_count(s, ret, true);
	/* After -EAGAIN poll() waits for the room that this message needs. */
	if (ret != -EAGAIN)
		rchar_session_need_room(s, 0);
	mutex_unlock(&s->tx.mutex);
	if (ret < 0 && ret != -EAGAIN) {
		spin_lock_bh(&s->lock);
		rchar_session_wake_writers(s);
		spin_unlock_bh(&s->lock);
	}
out:
	if (ret == -EAGAIN)
		rchar_session_ask_again(s);
	return ret;
}

/* ---- frames from the peer ---- */

/* Receive one fragment. Readers see a message only after its last fragment has arrived. */
static enum rchar_frame_error receive_msg(struct rchar_session *s, const struct rchar_hdr *hdr,
					  struct rchar_rxbuf *rxb)
{
	bool first = hdr->flags & RCHAR_FRAME_FIRST, last = hdr->flags & RCHAR_FRAME_LAST;
	struct rchar_message *m = rchar_session_priv(s);
	struct rchar_seg *seg;
	u32 len;

	if (!rchar_session_data_expected(s) || first != !m->partial)
		return RCHAR_FRAME_BAD_STATE;
	/*
	 * Only the last fragment is charged RCHAR_WIRE_MESSAGE_COST. Many small fragments would
	 * use memory that the window does not count.
	 */
	if (!last && hdr->len < RCHAR_WIRE_FRAME_MIN)
		return RCHAR_FRAME_BAD_LENGTH;
	if (hdr->len > s->max_message - m->partial) {
		rchar_session_fail_locked(s, RCHAR_REASON_WINDOW);
		return RCHAR_FRAME_OK;
	}
	if (!rchar_session_take_window(s, hdr->len, last ? RCHAR_WIRE_MESSAGE_COST : 0))
		return RCHAR_FRAME_OK;
	len = m->partial + hdr->len;
	m->partial = last ? 0 : len;
	if (rchar_session_data_unwanted(s))
		return RCHAR_FRAME_OK;
	seg = hdr->len <= RCHAR_COPY_BREAK ? rchar_rxbuf_take_copy(rxb, hdr->len, hdr->len) :
					     rchar_rxbuf_take(rxb, hdr->len);
	seg->last = last;
	rchar_session_queue_seg(s, seg);
	if (first)
		m->first = seg;
	m->partial_memory = last ? 0 : m->partial_memory + rchar_seg_memory(seg);
	if (last) {
		m->first->message = len;
		m->first = NULL;
		WRITE_ONCE(m->complete, m->complete + 1);
		rchar_session_tell_reader(s);
	}
	return RCHAR_FRAME_OK;
}

static int message_receive(struct rchar_session *s, const struct rchar_hdr *hdr,
			   struct rchar_rxbuf *rxb, enum rchar_frame_error *err)
{
	*err = hdr->op == RCHAR_OP_MSG ? receive_msg(s, hdr, rxb) : RCHAR_FRAME_BAD_STATE;
	return 0;
}

static enum rchar_frame_error message_fin(struct rchar_session *s)
{
	const struct rchar_message *m = rchar_session_priv(s);

	return m->partial ? RCHAR_FRAME_BAD_STATE : RCHAR_FRAME_OK;
}

static void message_dropped(struct rchar_session *s)
{
	struct rchar_message *m = rchar_session_priv(s);

	WRITE_ONCE(m->complete, 0);
	m->partial_memory = 0;
	m->first = NULL;
}

/*
 * The rest of the incomplete message will not arrive: move its segments to the list of dropped
 * segments. A reader may be copying the complete message before these segments.
 */
static void message_dead(struct rchar_session *s)
{
	struct rchar_message *m = rchar_session_priv(s);

	if (!m->first)
		return;
	list_bulk_move_tail(&s->rx.dropped, &m->first->entry, s->rx.queue.prev);
	s->rx.memory -= m->partial_memory;
	m->partial_memory = 0;
	m->first = NULL;
}

static bool message_readable(const struct rchar_session *s)
{
	const struct rchar_message *m = rchar_session_priv(s);

	return READ_ONCE(m->complete);
}

static u32 message_rx_missing(const struct rchar_session *s)
{
	const struct rchar_message *m = rchar_session_priv(s);

	return m->complete * RCHAR_WIRE_MESSAGE_COST;
}

static const struct file_operations message_fops = {
	.owner = THIS_MODULE,
	.open = rchar_chardev_open,
	.release = rchar_chardev_release,
	.read_iter = message_read_iter,
	.write_iter = message_write_iter,
	.poll = rchar_chardev_poll,
	.fsync = rchar_chardev_fsync,
	.fasync = rchar_chardev_fasync,
	.unlocked_ioctl = rchar_chardev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.show_fdinfo = rchar_chardev_fdinfo,
};

const struct rchar_type rchar_message_type = {
	.fops = &message_fops,
	.halves = true,
	.priv_size = sizeof(struct rchar_message),
	.receive = message_receive,
	.fin = message_fin,
	.dead = message_dead,
	.readable = message_readable,
	.readable_bytes = message_next,
	.rx_missing = message_rx_missing,
	.dropped = message_dropped,
};
