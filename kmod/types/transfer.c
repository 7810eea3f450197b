// SPDX-License-Identifier: GPL-2.0
#include "transfer.h"
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/nodemask.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include "base/chunk.h"
#include "base/ledger.h"
#include "base/pin.h"
#include "compat/compat.h"
#include "session/channel.h"
#include "session/session.h"

/*
 * Runs the end of transfers that a soft interrupt must not finish. Marking the pages of a file
 * dirty may sleep. The last mmdrop() must not run in a soft interrupt (mmdrop_async() in
 * kernel/fork.c).
 */
static struct workqueue_struct *transfer_wq;

/*
 * Runs transfers that a function moves, and that may so wait for the peer. No work on this queue
 * may wait for another. Since 6.9 a node has a share of the queue, by its processors
 * (wq_update_node_max_active() in kernel/workqueue.c). If all nodes have as many, there are never
 * more works than such a share.
 */
#define RUN_MAX 128
static struct workqueue_struct *run_wq;
static int run_max;
static atomic_t running;

/* May sleep if @dirty is set. Must not run in a soft interrupt if @t->mm_held is set. */
static void release_pages_of(struct rchar_transfer *t, bool dirty)
{
	unsigned int i;

	if (t->mm) {
		rchar_unpin(t->mm, t->pages, t->nr_pages, dirty);
		atomic64_sub((u64)t->nr_pages << PAGE_SHIFT, &t->session->channel->pinned);
		if (t->mm_held)
			mmdrop(t->mm);
	} else {
		for (i = 0; i < t->nr_pages; i++)
			put_page(t->pages[i]);
	}
	t->nr_pages = 0;
	t->mm = NULL;
}

static void transfer_release(struct kref *ref)
{
	struct rchar_transfer *t = container_of(ref, struct rchar_transfer, ref);

	if (t->nr_pages)
		release_pages_of(t, false);
	rchar_session_put(t->session);
	rchar_ledger_del(RCHAR_OBJ_TRANSFER);
	kfree(t);
}

/**
 * rchar_transfer_put() - drop a reference to a transfer
 * @t: the transfer
 */
void rchar_transfer_put(struct rchar_transfer *t)
{
	kref_put(&t->ref, transfer_release);
}

static void transfer_count(const struct rchar_transfer *t)
{
	struct rchar_stats *stats = &t->session->channel->stats;

	if (t->io.atomic) {
		rchar_stats_inc(&stats->calls);
	} else {
		rchar_stats_inc(t->io.write ? &stats->writes : &stats->reads);
		rchar_session_count(t->session, t->io.len, t->io.write);
	}
}

/* Finish a transfer after onesided.c has ended its operation. */
static void transfer_finish(struct rchar_transfer *t, bool dirty)
{
	struct kiocb *iocb = t->iocb;
	long ret = t->io.error ?: (long)t->io.len;

	if (!t->io.error && t->counted)
		transfer_count(t);
	/* The program may access its memory once the request completes: release the pages first. */
	if (t->mm)
		release_pages_of(t, dirty);
	if (iocb)
		iocb->ki_complete(iocb, ret);
	complete(&t->done);
	rchar_transfer_put(t);
}

static void finish_work(struct work_struct *work)
{
	struct rchar_transfer *t = container_of(work, struct rchar_transfer, work);

	transfer_finish(t, !t->io.write);
}

/* transfer_pin() marked the pages dirty. Pages cleaned since then must be marked again. */
static bool all_dirty(const struct rchar_transfer *t)
{
	unsigned int i;

	for (i = 0; i < t->nr_pages; i++)
		if (!PageDirty(compound_head(t->pages[i])))
			return false;
	return true;
}

static void transfer_io_end(struct rchar_io *io)
{
	struct rchar_transfer *t = container_of(io, struct rchar_transfer, io);

	if (t->mm_held || (t->mm && !io->write && !all_dirty(t)))
		queue_work(transfer_wq, &t->work);
	else
		transfer_finish(t, false);
}

/**
 * rchar_transfer_create() - allocate a transfer without pages
 * @session: the session
 * @keys: keys of the peer's memory; the caller keeps the keys until the transfer has ended
 * @offset: offset in the peer's memory
 * @write: true to write to the peer, false to read
 * @pages: capacity in pages, at most RCHAR_TRANSFER_PAGES
 * @gfp: allocation flags
 *
 * Return: the transfer, with one reference, or NULL.
 */
struct rchar_transfer *rchar_transfer_create(struct rchar_session *session, struct rchar_keys *keys,
					     u64 offset, bool write, unsigned int pages, gfp_t gfp)
{
	struct rchar_transfer *t;

	t = kmalloc(struct_size(t, vecs, pages) + pages * sizeof(*t->pages), gfp | __GFP_ACCOUNT);
	if (!t)
		return NULL;
	memset(t, 0, sizeof(*t));
	rchar_ledger_add(RCHAR_OBJ_TRANSFER);
	kref_init(&t->ref);
	rchar_session_get(session);
	t->session = session;
	init_completion(&t->done);
	INIT_WORK(&t->work, finish_work);
	INIT_LIST_HEAD(&t->io.entry);
	t->max_pages = pages;
	t->pages = (struct page **)(t->vecs + pages);
	t->io.keys = keys;
	t->io.offset = offset;
	t->io.write = write;
	t->io.vecs = t->vecs;
	t->io.end = transfer_io_end;
	return t;
}

/* Add memory within one page. Extend the last vector if the new memory directly follows. */
static void transfer_add_vec(struct rchar_transfer *t, struct page *page, u32 at, u32 len)
{
	struct bio_vec *last = t->nr_vecs ? &t->vecs[t->nr_vecs - 1] : NULL;

	t->io.len += len;
	if (last && page_to_phys(last->bv_page) + last->bv_offset + last->bv_len ==
			    page_to_phys(page) + at) {
		last->bv_len += len;
		return;
	}
	t->vecs[t->nr_vecs++] = (struct bio_vec){ page, len, at };
}

static int transfer_pin_some(struct rchar_transfer *t, struct iov_iter *iter, size_t len)
{
	unsigned long addr = rchar_compat_iter_addr(iter);
	u32 at = offset_in_page(addr);
	int n, i, got,
		want = min_t(size_t, DIV_ROUND_UP(at + len, PAGE_SIZE), t->max_pages - t->nr_pages);
	size_t done = 0;

	got = rchar_pin(addr, want, !t->io.write, t->pages + t->nr_pages);
	if (got <= 0)
		return got;
	for (i = 0; i < got; i++, at = 0) {
		n = min_t(size_t, len - done, PAGE_SIZE - at);
		transfer_add_vec(t, t->pages[t->nr_pages++], at, n);
		done += n;
	}
	iov_iter_advance(iter, done);
	return got < want ? -EFAULT : 0;
}

/*
 * Pin memory until @len bytes are pinned, the transfer is full, or pinning fails. Succeed if any
 * page is pinned; @t->io.len is the number of bytes.
 */
static int transfer_pin(struct rchar_transfer *t, struct iov_iter *iter, size_t len,
			const struct mm_struct *kept)
{
	struct mm_struct *mm = current->mm;
	int ret = 0, i;

	while (!ret && t->io.len < len && t->nr_pages < t->max_pages) {
		size_t n = min(len - t->io.len, rchar_compat_iter_len(iter));

		if (n)
			ret = transfer_pin_some(t, iter, n);
		else
			iov_iter_advance(iter, 0); /* past an empty segment */
	}
	if (!t->nr_pages)
		return ret ?: -EFAULT;
	t->mm = mm;
	t->mm_held = mm != kept;
	if (t->mm_held)
		mmgrab(mm);
	atomic64_add((u64)t->nr_pages << PAGE_SHIFT, &t->session->channel->pinned);
	for (i = 0; !t->io.write && i < t->nr_pages; i++)
		if (!PageDirty(compound_head(t->pages[i])))
			set_page_dirty_lock(t->pages[i]);
	return 0;
}

/**
 * rchar_transfer_pin() - allocate a transfer on pinned memory of the program
 * @session: the session
 * @keys: keys of the peer's memory; the caller keeps the keys until the transfer has ended
 * @offset: offset in the peer's memory
 * @write: true to write to the peer, false to read
 * @iter: user memory; advanced past the pinned bytes
 * @len: bytes wanted; the transfer takes fewer if pinning stops early or the page limit is reached
 * @kept: an mm to which the caller keeps a reference until the transfer has ended, or NULL
 * @gfp: allocation flags
 *
 * Context: process; may sleep to fault pages in.
 * Return: the transfer, with one reference; ERR_PTR(-EFAULT) when @iter refers to no memory;
 * ERR_PTR(-ENOMEM), also when RLIMIT_MEMLOCK forbids the pages; or the ERR_PTR() of another
 * error of rchar_pin().
 */
struct rchar_transfer *rchar_transfer_pin(struct rchar_session *session, struct rchar_keys *keys,
					  u64 offset, bool write, struct iov_iter *iter, size_t len,
					  const struct mm_struct *kept, gfp_t gfp)
{
	unsigned int pages = iov_iter_npages(iter, RCHAR_TRANSFER_PAGES);
	struct rchar_transfer *t;
	int ret;

	t = rchar_transfer_create(session, keys, offset, write, pages, gfp);
	if (!t)
		return ERR_PTR(-ENOMEM);
	ret = transfer_pin(t, iter, len, kept);
	if (!ret)
		return t;
	rchar_transfer_put(t);
	return ERR_PTR(ret);
}

/**
 * rchar_transfer_bounce() - allocate bounce pages for a transfer
 * @t: a transfer without pages
 * @len: bytes, at most the capacity of the transfer
 *
 * Return: 0 or -ENOMEM.
 */
int rchar_transfer_bounce(struct rchar_transfer *t, size_t len)
{
	while (t->io.len < len) {
		struct page *page = alloc_page(RCHAR_GFP_PROGRAM);

		if (!page)
			return -ENOMEM;
		t->pages[t->nr_pages++] = page;
		transfer_add_vec(t, page, 0, min_t(size_t, len - t->io.len, PAGE_SIZE));
	}
	return 0;
}

/**
 * rchar_transfer_copy() - copy between bounce pages and the program's memory
 * @t: a transfer after rchar_transfer_bounce(); a read must have completed
 * @iter: the program's memory
 *
 * Return: bytes copied; fewer than @t->io.len when user memory faults.
 */
size_t rchar_transfer_copy(struct rchar_transfer *t, struct iov_iter *iter)
{
	size_t done = 0;

	while (done < t->io.len) {
		void *page = page_address(t->pages[done >> PAGE_SHIFT]);
		size_t n = min_t(size_t, t->io.len - done, PAGE_SIZE);
		size_t got = t->io.write ? copy_from_iter(page, n, iter) :
					   copy_to_iter(page, n, iter);

		done += got;
		if (got < n)
			break;
	}
	return done;
}

/**
 * rchar_transfer_start() - submit a transfer
 * @t: the transfer, with pages; the caller keeps its reference
 * @iocb: request to complete at the end of the transfer, or NULL for rchar_transfer_wait()
 */
void rchar_transfer_start(struct rchar_transfer *t, struct kiocb *iocb)
{
	t->iocb = iocb;
	kref_get(&t->ref); /* held by @t->io */
	rchar_onesided_submit(t->session->flow, &t->io);
}

/**
 * rchar_transfer_wait() - wait until a transfer has ended or the program is killed
 * @t: a transfer after rchar_transfer_start() without an iocb
 *
 * Context: process; sleeps.
 * Return: 0; -EINTR when the program is killed, while the device may still execute what it has of
 * the transfer; or the error of the transfer.
 */
int rchar_transfer_wait(struct rchar_transfer *t)
{
	if (!wait_for_completion_state(&t->done, RCHAR_PROGRAM_WAITS))
		return t->io.error;
	/* Others may keep the session, and it would keep the memory of any number of the killed. */
	rchar_onesided_withdraw(t->session->flow, &t->io);
	return -EINTR;
}

static void run_work(struct work_struct *work)
{
	struct rchar_transfer *t = container_of(work, struct rchar_transfer, work);
	struct iov_iter iter;
	ssize_t ret;

	iov_iter_bvec(&iter, t->io.write ? WRITE : READ, t->vecs, t->nr_vecs, t->io.len);
	ret = t->move(t, &iter);
	if (ret < 0)
		t->io.error = ret;
	else
		t->io.len = ret;
	atomic_dec(&running);
	transfer_finish(t, !t->io.write);
}

/**
 * rchar_transfer_run() - let a thread of the kernel execute a transfer
 * @t: the transfer, with pages; on success the caller's reference is the thread's
 * @iocb: request to complete at the end of the transfer
 * @move: moves the bytes; may sleep
 *
 * Return: false when too many transfers run this way.
 */
bool rchar_transfer_run(struct rchar_transfer *t, struct kiocb *iocb, rchar_transfer_move *move)
{
	if (atomic_inc_return(&running) > run_max) {
		atomic_dec(&running);
		return false;
	}
	t->iocb = iocb;
	t->move = move;
	INIT_WORK(&t->work, run_work);
	queue_work(run_wq, &t->work);
	return true;
}

/**
 * rchar_transfer_init() - create the workqueues at module load
 *
 * Return: 0 or -ENOMEM.
 */
int rchar_transfer_init(void)
{
	int nodes = max(1, num_node_state(N_CPU));

	transfer_wq = alloc_workqueue("rchar_transfer", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	run_max = min_t(int, RUN_MAX, WQ_MAX_ACTIVE / nodes);
	run_wq = alloc_workqueue("rchar_run", WQ_UNBOUND, run_max * nodes);
	if (transfer_wq && run_wq)
		return 0;
	rchar_transfer_exit();
	return -ENOMEM;
}

/**
 * rchar_transfer_exit() - destroy the workqueues at module unload, after the last session
 */
void rchar_transfer_exit(void)
{
	if (run_wq)
		destroy_workqueue(run_wq);
	if (transfer_wq)
		destroy_workqueue(transfer_wq);
}
