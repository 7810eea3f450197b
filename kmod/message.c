// SPDX-License-Identifier: GPL-2.0
#include "message.h"
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>
#include "channel.h"
#include "chardev.h"
#include "rxbuf.h"
#include "session.h"
#include "txbuf.h"

/* ---- read ---- */

/* Only the receive path adds, behind what is complete; only we remove. */
static int copy_message(struct rchar_session *s, struct iov_iter *to)
{
	struct rchar_seg *seg;

	list_for_each_entry(seg, &s->rx_queue, entry) {
		if (rchar_seg_copy(seg, 0, seg->end, to) < seg->end)
			return -EFAULT;
		if (seg->last)
			break;
	}
	return 0;
}

static void drop_message(struct rchar_session *s, u32 len)
{
	struct rchar_seg *seg;
	LIST_HEAD(done);
	bool last;

	spin_lock_bh(&s->lock);
	do {
		seg = list_first_entry(&s->rx_queue, struct rchar_seg, entry);
		last = seg->last;
		s->rx_memory -= rchar_seg_memory(seg);
		list_move_tail(&seg->entry, &done);
	} while (!last);
	WRITE_ONCE(s->rx_messages, s->rx_messages - 1);
	spin_unlock_bh(&s->lock);
	rchar_seg_free_list(&done);
	rchar_session_consume(s, len + RCHAR_WIRE_MESSAGE_COST);
}

/* All of the next message or nothing of it. */
static ssize_t take(struct rchar_session *s, struct iov_iter *to)
{
	u32 len;
	int ret;

	lockdep_assert_held(&s->read_mutex);
	spin_lock_bh(&s->lock);
	len = rchar_session_next_message(s);
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

static ssize_t read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	return rchar_chardev_read(iocb, to, take, rchar_chardev_wait_readable);
}

/* ---- write ---- */

/* Copy the message into frames, none of them queued yet. */
static int build(struct rchar_session *s, struct iov_iter *from, gfp_t gfp,
		 struct list_head *frames)
{
	u8 flags = RCHAR_FRAME_FIRST;
	size_t left;

	while ((left = iov_iter_count(from))) {
		u32 len = min_t(size_t, left, rchar_session_frame_max(s));
		struct rchar_txbuf *txb = rchar_txbuf_alloc(RCHAR_OP_MSG, len, gfp);

		if (!txb)
			return gfpflags_allow_blocking(gfp) ? -ENOMEM : -EAGAIN;
		/* Nobody waits for the rest of a large one. */
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

	ret = build(s, from, gfp, &frames);
	if (!ret)
		ret = rchar_session_send(s, &frames);
	if (!ret)
		return len;
	rchar_txbuf_put_list(&frames);
	iov_iter_revert(from, len - iov_iter_count(from));
	return ret;
}

/* Returns 0 to be called again. */
static ssize_t write_once(struct rchar_session *s, struct kiocb *iocb,
			  struct iov_iter *from)
{
	size_t len = iov_iter_count(from);
	int ret;

	lockdep_assert_held(&s->write_mutex);
	ret = rchar_session_write_error(s);
	/* The limit may shrink once, when the session opens: it is final behind that. */
	if (len > READ_ONCE(s->max_message))
		return -EMSGSIZE;
	rchar_session_need_room(s, len + RCHAR_WIRE_MESSAGE_COST);
	if (!ret && rchar_session_write_room(s) >= len + RCHAR_WIRE_MESSAGE_COST)
		return send_message(s, from, rchar_chardev_gfp(iocb));
	return rchar_chardev_wait_writable(s, rchar_chardev_nowait(iocb));
}

static ssize_t write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	struct rchar_session *s = iocb->ki_filp->private_data;
	ssize_t ret;

	if (!iov_iter_count(from))
		return 0;
	ret = rchar_chardev_lock(&s->write_mutex, rchar_chardev_nowait(iocb));
	if (ret)
		return ret;
	do {
		ret = write_once(s, iocb, from);
	} while (!ret);
	if (ret > 0)
		rchar_stats_add(&s->channel->stats.tx_bytes, ret);
	/* A message that did not fit is what poll() waits for. */
	if (ret != -EAGAIN)
		rchar_session_need_room(s, 0);
	mutex_unlock(&s->write_mutex);
	if (ret < 0 && ret != -EAGAIN)
		rchar_session_wake_writers(s);
	return ret;
}

const struct file_operations rchar_message_fops = {
	.owner = THIS_MODULE,
	.open = rchar_chardev_open,
	.release = rchar_chardev_release,
	.read_iter = read_iter,
	.write_iter = write_iter,
	.poll = rchar_chardev_poll,
	.fsync = rchar_chardev_fsync,
	.fasync = rchar_chardev_fasync,
	.unlocked_ioctl = rchar_chardev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.show_fdinfo = rchar_chardev_fdinfo,
};
