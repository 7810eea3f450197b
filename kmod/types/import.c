// SPDX-License-Identifier: GPL-2.0
#include "import.h"
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include "base/seq.h"
#include "compat/compat.h"
#include "link/rxbuf.h"
#include "link/txbuf.h"
#include "region.h"
#include "session/channel.h"
#include "session/chardev.h"
#include "session/session_priv.h"
#include "session/type.h"
#include "transfer.h"

/* Synchronous requests pin memory for at least this many bytes. Fewer bytes are copied. */
#define PIN_MIN	       PAGE_SIZE
/* Most bytes of one copied transfer. */
#define BOUNCE_MAX     (64u << 10)
/* Most asynchronous reads and writes of a session that threads of the kernel execute at once. */
#define RUN_OF_SESSION 32
/* Most bytes of one transfer of a program's memory. */
#define TRANSFER_MAX   ((RCHAR_TRANSFER_PAGES - 1) * PAGE_SIZE)

/* ---- session state ---- */

static struct rchar_import *import_of(const struct rchar_session *s)
{
	return rchar_session_priv(s);
}

/* Does the exporter's kernel execute this session's reads, or writes? */
static bool by_call(const struct rchar_session *s, bool write)
{
	return import_of(s)->by_call & (write ? RCHAR_BY_CALL_WRITE : RCHAR_BY_CALL_READ);
}

static int import_create(struct rchar_session *s)
{
	struct rchar_import *import = import_of(s);

	import->mm = current->mm;
	if (import->mm)
		mmgrab(import->mm);
	rchar_calls_init(&import->calls);
	rchar_keys_init(&import->keys, 0, &s->channel->config.priority);
	return 0;
}

static void import_free(struct rchar_session *s)
{
	struct rchar_import *import = import_of(s);

	rchar_keys_destroy(&import->keys, s->link ? s->link->account : NULL);
	if (import->mm)
		mmdrop(import->mm);
}

/* Stop posting operations. import_bury() runs later, in process context. */
static void import_dead(struct rchar_session *s)
{
	lockdep_assert_held(&s->lock);
	if (s->flow)
		rchar_onesided_stop(s->flow, &import_of(s)->keys, s->error ?: -ECONNRESET);
}

static void import_bury(struct rchar_session *session)
{
	struct rchar_import *import = import_of(session);
	int error = session->error ?: -ECONNRESET;

	rchar_calls_fail(session, &import->calls, error);
	if (session->flow)
		rchar_onesided_cancel(session->flow, &import->keys, error);
}

/* No operation may be posted after FIN. */
static void import_closed(struct rchar_session *s)
{
	lockdep_assert_held(&s->lock);
	rchar_onesided_stop(s->flow, &import_of(s)->keys, -EINTR);
}

/* Operations that wait in a closed session belong to killed programs. */
static void import_cancel(struct rchar_session *s)
{
	rchar_onesided_cancel(s->flow, &import_of(s)->keys, -EINTR);
}

static enum rchar_frame_error import_opened(struct rchar_session *s, const void *payload)
{
	struct rchar_import *import = import_of(s);
	struct rchar_wire_region region;
	enum rchar_frame_error err;

	memcpy(&region, payload, sizeof(region));
	err = rchar_region_check(&region);
	if (err)
		return err;
	/* On an encrypted link nobody uses a key of memory. */
	if (s->link->encrypted && region.by_call != RCHAR_BY_CALL_FLAGS)
		return RCHAR_FRAME_BAD_PAYLOAD;
	import->access = region.access;
	import->atomics = region.atomics;
	import->by_call = region.by_call;
	WRITE_ONCE(import->keys.size, le64_to_cpu(region.size));
	return RCHAR_FRAME_OK;
}

static void import_fill_info(const struct rchar_session *s, struct rchar_info *info)
{
	info->size = import_of(s)->keys.size;
	info->access = import_of(s)->access;
}

/* ---- frames from the peer ---- */

static int receive_map(struct rchar_session *s, const struct rchar_hdr *hdr,
		       struct rchar_rxbuf *rxb, enum rchar_frame_error *err)
{
	const struct rchar_wire_map *map = rchar_rxbuf_payload(rxb);
	struct rchar_import *import = import_of(s);
	int ret;

	BUILD_BUG_ON(sizeof(*map) + RCHAR_WIRE_MAP_KEYS * sizeof(map->keys[0]) > RCHAR_CHUNK_SIZE);
	*err = rchar_map_check(map, hdr->len, import->keys.size);
	if (*err)
		return 0;
	ret = rchar_onesided_add_keys(&import->keys, s->flow, map, map->keys);
	if (ret == -EPROTO) {
		*err = RCHAR_FRAME_BAD_PAYLOAD;
		return 0;
	}
	if (ret != -ENOBUFS)
		return ret;
	rchar_session_fail_locked(s, RCHAR_REASON_PEER_LIMIT);
	return 0;
}

static int import_receive(struct rchar_session *s, const struct rchar_hdr *hdr,
			  struct rchar_rxbuf *rxb, enum rchar_frame_error *err)
{
	if (s->state == RCHAR_SESSION_OPENING)
		*err = RCHAR_FRAME_BAD_STATE;
	else if (hdr->op == RCHAR_OP_MAP && !by_call(s, true))
		return receive_map(s, hdr, rxb, err);
	else if (hdr->op == RCHAR_OP_RESULT)
		*err = rchar_calls_result(&import_of(s)->calls, hdr, rxb);
	else
		*err = RCHAR_FRAME_BAD_STATE;
	return 0;
}

/* Let the exporter's kernel execute a call once, however often the link breaks. */
static int import_do_call(struct rchar_session *s, struct rchar_wire_call *wire, u64 *old)
{
	return rchar_calls_execute(s, &import_of(s)->calls, wire, old);
}

/* ---- read and write ---- */

/* Wait until the session is open. Return 0 or a negative errno. */
static int import_ready(struct rchar_session *s, bool nowait)
{
	int ret = 0;

	if (rchar_session_opening(s)) {
		if (nowait)
			return -EAGAIN;
		ret = wait_event_interruptible(s->rx.wait, !rchar_session_opening(s));
	}
	/* The error is stored before the state. */
	if (!ret && smp_load_acquire(&s->state) == RCHAR_SESSION_DEAD)
		ret = s->error ?: -ECONNRESET;
	return ret;
}

/*
 * Limit a request at @pos to the region, as for a file that cannot grow. Return the bytes, 0 at the
 * end of the region, or a negative errno.
 */
static ssize_t import_limit(struct rchar_session *s, loff_t pos, size_t len, bool write)
{
	u64 size = import_of(s)->keys.size;

	if (write && import_of(s)->access != RCHAR_ACCESS_RW)
		return -EROFS;
	if (pos >= size)
		return write && len ? -ENOSPC : 0;
	return min_t(u64, len, size - pos);
}

static struct rchar_transfer *pinned_transfer(struct rchar_session *s, struct kiocb *iocb,
					      struct iov_iter *iter, size_t len, bool write)
{
	struct rchar_import *import = import_of(s);
	struct rchar_transfer *t;

	t = rchar_transfer_pin(s, &import->keys, iocb->ki_pos, write, iter,
			       min_t(size_t, len, TRANSFER_MAX), import->mm,
			       rchar_chardev_gfp(iocb));
	if (!IS_ERR(t))
		t->counted = true;
	return t;
}

/* Transfer through bounce pages. Return the bytes or a negative errno. */
static ssize_t copy_some(struct rchar_session *s, struct kiocb *iocb, struct iov_iter *iter,
			 size_t len, bool write)
{
	size_t want = min_t(size_t, len, BOUNCE_MAX);
	struct rchar_transfer *t;
	ssize_t ret;

	t = rchar_transfer_create(s, &import_of(s)->keys, iocb->ki_pos, write,
				  DIV_ROUND_UP(want, PAGE_SIZE), RCHAR_GFP_PROGRAM);
	if (!t)
		return -ENOMEM;
	t->counted = true;
	ret = rchar_transfer_bounce(t, want);
	if (ret)
		goto out;
	if (write) {
		want = rchar_transfer_copy(t, iter);
		t->io.len = want;
		ret = -EFAULT;
		if (!want)
			goto out;
	}
	rchar_transfer_start(t, NULL);
	ret = rchar_transfer_wait(t);
	if (!ret && !write)
		want = rchar_transfer_copy(t, iter);
	if (!ret)
		ret = want ?: -EFAULT;
out:
	rchar_transfer_put(t);
	return ret;
}

static ssize_t import_pin_some(struct rchar_session *s, struct kiocb *iocb, struct iov_iter *iter,
			       size_t len, bool write)
{
	struct rchar_transfer *t = pinned_transfer(s, iocb, iter, len, write);
	ssize_t ret;

	if (IS_ERR(t))
		return PTR_ERR(t);
	rchar_transfer_start(t, NULL);
	ret = rchar_transfer_wait(t);
	/* A failed transfer counts as no bytes: a retry begins at the same position. */
	if (ret)
		iov_iter_revert(iter, t->io.len);
	else
		ret = t->io.len;
	rchar_transfer_put(t);
	return ret;
}

static ssize_t import_sync_rw(struct rchar_session *s, struct kiocb *iocb, struct iov_iter *iter,
			      size_t len, bool write)
{
	bool pin = user_backed_iter(iter);
	ssize_t done = 0, ret = 0;

	while (done < len) {
		ret = -ENOMEM;
		if (pin && len - done >= PIN_MIN)
			ret = import_pin_some(s, iocb, iter, len - done, write);
		/* Memory of this kind, or of this size, cannot be pinned: copy instead. */
		if (ret < 0 && ret != -EINTR && READ_ONCE(s->state) != RCHAR_SESSION_DEAD)
			ret = copy_some(s, iocb, iter, len - done, write);
		if (ret <= 0)
			break;
		done += ret;
		iocb->ki_pos += ret;
	}
	return done ?: ret;
}

static ssize_t move_by_calls(struct rchar_transfer *t, struct iov_iter *iter)
{
	struct rchar_import *import = import_of(t->session);
	ssize_t ret = rchar_calls_transfer(t->session, &import->calls, t->io.offset, iter,
					   t->io.len, t->io.write);

	atomic_dec(&import->running);
	return ret;
}

/* Submit an asynchronous transfer. Return -EAGAIN if the request cannot be asynchronous. */
static ssize_t async_pinned(struct rchar_session *s, struct kiocb *iocb, struct iov_iter *iter,
			    size_t len, bool write, bool call)
{
	size_t before = iov_iter_count(iter);
	struct rchar_transfer *t;

	t = pinned_transfer(s, iocb, iter, len, write);
	if (IS_ERR(t))
		return -EAGAIN;
	/* Submit all or nothing: a part would complete as a short transfer inside the region. */
	if (t->io.len < len)
		goto err_put;
	if (!call) {
		rchar_transfer_start(t, iocb);
		rchar_transfer_put(t);
		return -EIOCBQUEUED;
	}
	if (rchar_transfer_run(t, iocb, move_by_calls))
		return -EIOCBQUEUED;
err_put:
	iov_iter_revert(iter, before - iov_iter_count(iter));
	rchar_transfer_put(t);
	return -EAGAIN;
}

static ssize_t async_rw(struct rchar_session *s, struct kiocb *iocb, struct iov_iter *iter,
			size_t len, bool write)
{
	struct rchar_import *import = import_of(s);
	bool call = by_call(s, write);
	ssize_t ret;

	if (!user_backed_iter(iter) || len > TRANSFER_MAX)
		return -EAGAIN;
	/*
	 * By calls: a thread of ours sends them and copies. Look for room before the memory is
	 * pinned: io_uring tries many times (APOLL_MAX_RETRY) before it takes a thread of its own.
	 */
	if (call && atomic_inc_return(&import->running) > RUN_OF_SESSION)
		ret = -EAGAIN;
	else
		ret = async_pinned(s, iocb, iter, len, write, call);
	if (call && ret != -EIOCBQUEUED)
		atomic_dec(&import->running);
	return ret;
}

/* By calls: no memory is registered, and the exporter's kernel moves the bytes. */
static ssize_t import_call_rw(struct rchar_session *s, struct kiocb *iocb, struct iov_iter *iter,
			      size_t len, bool write)
{
	struct rchar_stats *stats = &s->channel->stats;
	ssize_t ret = rchar_calls_transfer(s, &import_of(s)->calls, iocb->ki_pos, iter, len, write);

	if (ret <= 0)
		return ret;
	iocb->ki_pos += ret;
	rchar_stats_inc(write ? &stats->writes : &stats->reads);
	rchar_session_count(s, ret, write);
	return ret;
}

static ssize_t memory_rw(struct kiocb *iocb, struct iov_iter *iter, bool write)
{
	struct rchar_session *s = iocb->ki_filp->private_data;
	bool nowait = iocb->ki_flags & IOCB_NOWAIT;
	ssize_t len, ret;

	ret = import_ready(s, rchar_chardev_nowait(iocb));
	if (ret)
		return ret;
	if (write && iocb->ki_flags & IOCB_APPEND)
		iocb->ki_pos = import_of(s)->keys.size;
	len = import_limit(s, iocb->ki_pos, iov_iter_count(iter), write);
	if (len <= 0)
		return len;
	if (!is_sync_kiocb(iocb)) {
		ret = async_rw(s, iocb, iter, len, write);
		if (ret != -EAGAIN)
			return ret;
	}
	/* What must not wait is left to a thread of io_uring. */
	if (nowait)
		return -EAGAIN;
	if (by_call(s, write))
		return import_call_rw(s, iocb, iter, len, write);
	return import_sync_rw(s, iocb, iter, len, write);
}

static ssize_t import_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	return memory_rw(iocb, to, false);
}

static ssize_t import_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	return memory_rw(iocb, from, true);
}

/* ---- the rest of the file ---- */

static loff_t import_llseek(struct file *file, loff_t offset, int whence)
{
	struct rchar_session *s = file->private_data;
	int ret = import_ready(s, file->f_flags & O_NONBLOCK);

	return ret ?: fixed_size_llseek(file, offset, whence, import_of(s)->keys.size);
}

static __poll_t import_poll(struct file *file, poll_table *wait)
{
	struct rchar_session *s = file->private_data;

	poll_wait(file, &s->rx.wait, wait);
	if (rchar_session_opening(s))
		return 0;
	if (READ_ONCE(s->state) == RCHAR_SESSION_DEAD)
		return EPOLLIN | EPOLLRDNORM | EPOLLOUT | EPOLLWRNORM | EPOLLERR | EPOLLHUP;
	return EPOLLIN | EPOLLRDNORM | EPOLLOUT | EPOLLWRNORM;
}

/*
 * The fence follows all completed writes on the same queue pair. When the exporter's CPU has
 * processed the fence, these writes are visible to the exporter (IBTA vol 1, 9.5, o9-20).
 */
static int import_fsync(struct file *file, loff_t start, loff_t end, int datasync)
{
	struct rchar_wire_call call = { .call = RCHAR_CALL_FENCE };
	struct rchar_session *s = file->private_data;
	struct rchar_onesided_fence begun;
	u64 old;
	int ret;

	if (rchar_chardev_is_libaio())
		return -EINVAL;
	ret = import_ready(s, false);
	if (ret)
		return ret;
	begun = rchar_onesided_fence_begin(s->flow, &import_of(s)->keys);
	ret = import_do_call(s, &call, &old);
	return ret ?: rchar_onesided_fence_end(s->flow, &import_of(s)->keys, begun);
}

/* Let the exporter's device execute an atomic operation. */
static int device_atomic(struct rchar_session *s, const struct rchar_atomic *a, u64 *old)
{
	struct rchar_import *import = import_of(s);
	struct rchar_transfer *t;
	int ret;

	if (import->keys.size < 8 || a->offset > import->keys.size - 8)
		return -EINVAL;
	if (import->access != RCHAR_ACCESS_RW)
		return -EROFS;
	t = rchar_transfer_create(s, &import_of(s)->keys, a->offset, false, 1, RCHAR_GFP_PROGRAM);
	if (!t)
		return -ENOMEM;
	t->counted = true;
	t->io.atomic = a->op;
	t->io.operand = a->operand;
	t->io.compare = a->compare;
	ret = rchar_transfer_bounce(t, sizeof(*old));
	if (!ret) {
		rchar_transfer_start(t, NULL);
		ret = rchar_transfer_wait(t);
	}
	if (!ret)
		memcpy(old, page_address(t->pages[0]), sizeof(*old));
	rchar_transfer_put(t);
	return ret;
}

static int import_execute(struct file *file, const struct rchar_atomic *a, u64 *old)
{
	struct rchar_session *s = file->private_data;
	struct rchar_wire_call call;
	int ret = import_ready(s, file->f_flags & O_NONBLOCK);

	if (ret)
		return ret;
	if (import_of(s)->atomics == RCHAR_ATOMICS_HW)
		return device_atomic(s, a, old);
	rchar_region_atomic_call(a, &call);
	return import_do_call(s, &call, old);
}

static long import_notify(struct file *file, unsigned long value)
{
	struct rchar_wire_call call = {
		.call = RCHAR_CALL_RING,
		.operand = cpu_to_le64((u32)value),
	};
	struct rchar_session *s = file->private_data;
	u64 old;

	if (!(file->f_mode & FMODE_WRITE))
		return -EBADF;
	return import_ready(s, file->f_flags & O_NONBLOCK) ?: import_do_call(s, &call, &old);
}

static long import_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case RCHAR_IOC_ATOMIC:
		return rchar_region_atomic_ioctl(file, (void __user *)arg, import_execute);
	case RCHAR_IOC_NOTIFY:
		return import_notify(file, arg);
	default:
		return rchar_chardev_info_ioctl(file, cmd, arg);
	}
}

static const struct file_operations import_fops = {
	.owner = THIS_MODULE,
	.open = rchar_chardev_open,
	.release = rchar_chardev_release,
	.read_iter = import_read_iter,
	.write_iter = import_write_iter,
	.llseek = import_llseek,
	.poll = import_poll,
	.fsync = import_fsync,
	.splice_read = rchar_compat_splice_read,
	.splice_write = iter_file_splice_write,
	.unlocked_ioctl = import_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.show_fdinfo = rchar_chardev_fdinfo,
};

const struct rchar_type rchar_import_type = {
	.fops = &import_fops,
	.priv_size = sizeof(struct rchar_import),
	.create = import_create,
	.free = import_free,
	.opened_len = sizeof(struct rchar_wire_region),
	.opened = import_opened,
	.receive = import_receive,
	.closed = import_closed,
	.cancel = import_cancel,
	.dead = import_dead,
	.bury = import_bury,
	.fill_info = import_fill_info,
};
