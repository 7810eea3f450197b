// SPDX-License-Identifier: GPL-2.0
#include "stream.h"
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>
#include "rndv.h"
#include "compat/compat.h"
#include "link/rxbuf.h"
#include "link/txbuf.h"
#include "session/channel.h"
#include "session/chardev.h"
#include "session/session_priv.h"
#include "session/type.h"

/* ---- read ---- */

static struct rchar_seg *first_seg(struct rchar_session *s, u32 *len)
{
	struct rchar_seg *seg;

	spin_lock_bh(&s->lock);
	seg = list_first_entry_or_null(&s->rx.queue, struct rchar_seg, entry);
	if (seg)
		*len = seg->end - seg->start;
	spin_unlock_bh(&s->lock);
	return seg;
}

/* Free the segment only if no bytes remain: the receive path may have appended more bytes. */
static void advance_seg(struct rchar_session *s, struct rchar_seg *seg, u32 bytes)
{
	bool done;

	spin_lock_bh(&s->lock);
	seg->start += bytes;
	done = seg->start == seg->end;
	if (done) {
		list_del(&seg->entry);
		s->rx.memory -= rchar_seg_memory(seg);
	}
	spin_unlock_bh(&s->lock);
	if (done)
		rchar_seg_free(seg);
}

/* Return the bytes moved, or -EFAULT if user memory faulted before the first byte. */
static ssize_t stream_drain(struct rchar_session *s, struct iov_iter *to)
{
	struct rchar_seg *seg;
	ssize_t done = 0;
	u32 len;

	lockdep_assert_held(&s->rx.mutex);
	while (iov_iter_count(to) && (seg = first_seg(s, &len))) {
		size_t want = min_t(size_t, len, iov_iter_count(to));
		size_t got = rchar_seg_copy(seg, seg->start, want, to);

		advance_seg(s, seg, got);
		rchar_session_consume(s, got);
		done += got;
		if (got < want)
			return done ?: -EFAULT;
	}
	return done;
}

/* Wait for bytes. Meanwhile, a rendezvous of the peer can be read directly into @to. */
static ssize_t wait_for_bytes(struct rchar_session *s, struct iov_iter *to)
{
	struct rchar_rndv_reader reader;
	ssize_t done;
	int ret;

	if (!rchar_rndv_expect(s, &reader, to))
		return rchar_chardev_wait_readable(s, to);
	ret = wait_event_interruptible(s->rx.wait,
				       READ_ONCE(reader.in) || rchar_chardev_may_read(s));
	done = rchar_rndv_place(s, &reader, to);
	return done ?: ret;
}

static ssize_t stream_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	return rchar_chardev_read(iocb, to, stream_drain, wait_for_bytes);
}

/* ---- write ---- */

/*
 * Send the bytes of one frame. If the frame has to wait in the queue, allocate room for later
 * small writes: these writes are appended to the frame, and the queue stays short.
 */
static ssize_t write_frame(struct rchar_session *s, struct iov_iter *from, u32 room, gfp_t gfp)
{
	u32 len = min3((size_t)room, iov_iter_count(from), (size_t)rchar_session_data_max(s));
	u32 capacity = rchar_flow_busy(s->flow) ? max_t(u32, len, RCHAR_WIRE_FRAME_MIN) : len;
	struct rchar_txbuf *txb;
	LIST_HEAD(frames);
	size_t got;
	int ret;

	txb = rchar_txbuf_alloc(RCHAR_OP_DATA, capacity, gfp);
	if (!txb)
		return rchar_chardev_nomem(gfp);
	got = rchar_txbuf_copy(txb, len, from);
	if (!got) {
		rchar_txbuf_put(txb);
		return -EFAULT;
	}
	if (txb->nr_chunks) {
		list_add(&txb->queue, &frames);
		ret = rchar_session_submit(s, &frames);
	} else {
		ret = rchar_session_submit_small(s, txb);
	}
	if (ret) {
		rchar_txbuf_put(txb);
		iov_iter_revert(from, got);
		return ret == -ENOMEM ? rchar_chardev_nomem(gfp) : ret;
	}
	return got;
}

/* Copy if the caller may not sleep or has a signal pending: copying returns sooner. */
static bool may_rndv(struct kiocb *iocb, struct iov_iter *from)
{
	return user_backed_iter(from) && !rchar_chardev_nowait(iocb) && !signal_pending(current);
}

/*
 * State and room are hints here. The room only grows while this writer holds the write mutex.
 * The functions that submit frames check the state again with the session's lock held.
 */
static ssize_t write_some(struct rchar_session *s, struct kiocb *iocb, struct iov_iter *from)
{
	bool open = smp_load_acquire(&s->state) == RCHAR_SESSION_OPEN; /* rchar_session_move() */
	u32 room = rchar_session_write_room(s);

	if (!room || !open ||
	    READ_ONCE(s->shut) & (RCHAR_SESSION_FIN_SENT | RCHAR_SESSION_STOP_RECEIVED))
		return rchar_chardev_wait_writable(s, rchar_chardev_nowait(iocb));
	if (may_rndv(iocb, from)) {
		ssize_t done = rchar_rndv_write(s, from, room);

		if (done)
			return done;
	}
	return write_frame(s, from, room, rchar_chardev_gfp(iocb));
}

static ssize_t stream_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	struct rchar_session *s = iocb->ki_filp->private_data;
	size_t len = iov_iter_count(from);
	ssize_t done = 0, ret;

	if (!len)
		return 0;
	ret = rchar_chardev_lock(&s->tx.mutex, rchar_chardev_nowait(iocb));
	if (ret)
		goto out;
	while (done < len) {
		ret = write_some(s, iocb, from);
		if (ret < 0)
			break;
		done += ret;
		/* While the reader keeps up, this loop might not sleep. Notice a kill here. */
		if (done && fatal_signal_pending(current))
			break;
	}
	mutex_unlock(&s->tx.mutex);
	rchar_session_count(s, done, true);
out:
	if (ret == -EAGAIN)
		rchar_session_ask_again(s);
	return done ?: ret;
}

/* ---- frames from the peer ---- */

static enum rchar_frame_error receive_data(struct rchar_session *s, const struct rchar_hdr *hdr,
					   struct rchar_rxbuf *rxb)
{
	struct rchar_rndv *rndv = rchar_session_priv(s);
	bool instead = hdr->flags & RCHAR_FRAME_INSTEAD;

	if (!rchar_session_data_expected(s) ||
	    (instead ? hdr->len > rndv->left : rchar_rndv_open(s)))
		return RCHAR_FRAME_BAD_STATE;
	if (instead) {
		rchar_rndv_in_over(s);
		rndv->left -= hdr->len;
		if (rndv->got || rchar_session_data_unwanted(s))
			return RCHAR_FRAME_OK;
	} else {
		rndv->left = 0;
		if (!rchar_session_take_window(s, hdr->len, 0) || rchar_session_data_unwanted(s))
			return RCHAR_FRAME_OK;
	}
	rchar_session_queue_payload(s, rxb, hdr->len);
	rchar_session_tell_reader(s);
	return RCHAR_FRAME_OK;
}

static enum rchar_frame_error receive_rndv(struct rchar_session *s, struct rchar_rxbuf *rxb,
					   int *ret)
{
	/* On an encrypted link, this host reads no memory of the peer. */
	if (!rchar_session_data_expected(s) || rchar_rndv_open(s) || s->link->encrypted)
		return RCHAR_FRAME_BAD_STATE;
	/* Every RNDV queues an answer: bound the number of answers. */
	if (rchar_session_too_many_replies(s->flow)) {
		*ret = -ENOBUFS;
		return RCHAR_FRAME_OK;
	}
	return rchar_rndv_receive(s, rxb, ret);
}

static int stream_receive(struct rchar_session *s, const struct rchar_hdr *hdr,
			  struct rchar_rxbuf *rxb, enum rchar_frame_error *err)
{
	int ret = 0;

	if (hdr->op == RCHAR_OP_DATA)
		*err = receive_data(s, hdr, rxb);
	else if (hdr->op == RCHAR_OP_RNDV)
		*err = receive_rndv(s, rxb, &ret);
	else if (hdr->op == RCHAR_OP_RNDV_DONE)
		*err = rchar_rndv_done(s, rxb);
	else
		*err = RCHAR_FRAME_BAD_STATE;
	return ret;
}

static enum rchar_frame_error stream_fin(struct rchar_session *s)
{
	return rchar_rndv_open(s) ? RCHAR_FRAME_BAD_STATE : RCHAR_FRAME_OK;
}

static bool stream_readable(const struct rchar_session *s)
{
	/*
	 * A hint without the lock. After true, the reader checks again with the session's lock.
	 * After false, the receive path wakes the reader when bytes arrive.
	 */
	return data_race(!list_empty_careful(&s->rx.queue));
}

static u32 stream_rx_missing(const struct rchar_session *s)
{
	const struct rchar_rndv *rndv = rchar_session_priv(s);

	return rndv->got || rchar_session_data_unwanted(s) ? 0 : rndv->left;
}

static const struct file_operations stream_fops = {
	.owner = THIS_MODULE,
	.open = rchar_chardev_open,
	.release = rchar_chardev_release,
	.read_iter = stream_read_iter,
	.write_iter = stream_write_iter,
	.splice_read = rchar_compat_splice_read,
	.splice_write = iter_file_splice_write,
	.poll = rchar_chardev_poll,
	.fsync = rchar_chardev_fsync,
	.fasync = rchar_chardev_fasync,
	.unlocked_ioctl = rchar_chardev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.show_fdinfo = rchar_chardev_fdinfo,
};

const struct rchar_type rchar_stream_type = {
	.fops = &stream_fops,
	.halves = true,
	.priv_size = sizeof(struct rchar_rndv),
	.receive = stream_receive,
	.fin = stream_fin,
	.stopped = rchar_rndv_in_stop,
	.dead = rchar_rndv_in_over,
	.readable = stream_readable,
	.rx_missing = stream_rx_missing,
};
