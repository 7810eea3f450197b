// SPDX-License-Identifier: GPL-2.0
#include "transfer.h"
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include "base/chunk.h"
#include "base/ledger.h"
#include "base/pin.h"
#include "compat/compat.h"
#include "session/channel.h"
#include "session/session.h"

/* Unpinning pages of a file that must be marked dirty may sleep; and the last mmdrop() is
 * not for soft interrupts (mmdrop_async() in kernel/fork.c).
 */
static struct workqueue_struct *transfer_wq;

/* With @dirty it may sleep, with @t->mm_held it must not be a soft interrupt. */
static void release_pages_of(struct rchar_transfer *t, bool dirty)
{
	unsigned int i;

	if (t->mm) {
		rchar_unpin(t->mm, t->pages, t->nr_pages, dirty);
		atomic64_sub((u64)t->nr_pages << PAGE_SHIFT,
			     &t->session->channel->pinned);
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
 * rchar_transfer_put() - drop a reference
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
		rchar_stats_add(t->io.write ? &stats->tx_bytes : &stats->rx_bytes, t->io.len);
	}
}

/* Everything but what rdma.c does. */
static void transfer_finish(struct rchar_transfer *t, bool dirty)
{
	struct kiocb *iocb = t->iocb;
	long ret = t->io.error ?: (long)t->io.len;

	if (!t->io.error && t->counted)
		transfer_count(t);
	/* The program may look at its memory as soon as it is told. */
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

/* They were made dirty before; who cleaned them since has to be told again. */
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
 * rchar_transfer_create() - a transfer without memory
 * @session: the session
 * @keys: of the peer's memory; the caller keeps them until it is over
 * @offset: in that
 * @write: to the peer
 * @pages: how many it has room for, at most RCHAR_TRANSFER_PAGES
 * @gfp: how to allocate
 *
 * Return: the transfer, with one reference, or NULL.
 */
struct rchar_transfer *rchar_transfer_create(struct rchar_session *session,
					     struct rchar_keys *keys, u64 offset,
					     bool write, unsigned int pages, gfp_t gfp)
{
	struct rchar_transfer *t;

	t = kmalloc(struct_size(t, vecs, pages) + pages * sizeof(*t->pages),
		    gfp | __GFP_ACCOUNT);
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

/* A piece of memory within one page; joined to the last one when it follows on it. */
static void transfer_add_vec(struct rchar_transfer *t, unsigned int *nr, struct page *page, u32 at,
		    u32 len)
{
	struct bio_vec *last = *nr ? &t->vecs[*nr - 1] : NULL;

	t->io.len += len;
	if (last && page_to_phys(last->bv_page) + last->bv_offset + last->bv_len ==
		    page_to_phys(page) + at) {
		last->bv_len += len;
		return;
	}
	t->vecs[(*nr)++] = (struct bio_vec){ page, len, at };
}

static int transfer_pin_some(struct rchar_transfer *t, unsigned int *nr, struct iov_iter *iter,
		    size_t len)
{
	unsigned long addr = rchar_compat_iter_addr(iter);
	u32 at = offset_in_page(addr);
	int n, i, got, want = min_t(size_t, DIV_ROUND_UP(at + len, PAGE_SIZE),
				    t->max_pages - t->nr_pages);
	size_t done = 0;

	got = rchar_pin(addr, want, !t->io.write, t->pages + t->nr_pages);
	if (got <= 0)
		return got;
	for (i = 0; i < got; i++, at = 0) {
		n = min_t(size_t, len - done, PAGE_SIZE - at);
		transfer_add_vec(t, nr, t->pages[t->nr_pages++], at, n);
		done += n;
	}
	iov_iter_advance(iter, done);
	return got < want ? -EFAULT : 0;
}

/* As much as there is, and as the transfer has room for: see @t->io.len. */
static int transfer_pin(struct rchar_transfer *t, struct iov_iter *iter, size_t len,
	       const struct mm_struct *kept)
{
	struct mm_struct *mm = current->mm;
	unsigned int nr = 0;
	int ret = 0, i;

	while (!ret && t->io.len < len && t->nr_pages < t->max_pages) {
		size_t n = min(len - t->io.len, rchar_compat_iter_len(iter));

		if (n)
			ret = transfer_pin_some(t, &nr, iter, n);
		else
			iov_iter_advance(iter, 0);	/* behind an empty segment */
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
 * rchar_transfer_pin() - a transfer with the program's own memory
 * @session: the session
 * @keys: of the peer's memory; the caller keeps them until it is over
 * @offset: in that
 * @write: to the peer
 * @iter: user memory; advanced behind what is taken
 * @len: bytes wanted; fewer are taken when no more can be pinned, or are in too many pages
 * @kept: an mm of which the caller keeps a reference until the transfer is over, or NULL
 * @gfp: how to allocate
 *
 * Context: process; may sleep to fault pages in.
 * Return: the transfer, with one reference; -EFAULT when there is no memory there; -ENOMEM,
 * also when RLIMIT_MEMLOCK is in the way.
 */
struct rchar_transfer *rchar_transfer_pin(struct rchar_session *session,
					  struct rchar_keys *keys, u64 offset, bool write,
					  struct iov_iter *iter, size_t len,
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
 * rchar_transfer_bounce() - use memory of our own
 * @t: a transfer without memory
 * @len: bytes, at most the pages there is room for
 *
 * Return: 0 or -ENOMEM.
 */
int rchar_transfer_bounce(struct rchar_transfer *t, size_t len)
{
	unsigned int nr = 0;

	while (t->io.len < len) {
		struct page *page = alloc_page(RCHAR_GFP_PROGRAM);

		if (!page)
			return -ENOMEM;
		t->pages[t->nr_pages++] = page;
		transfer_add_vec(t, &nr, page, 0, min_t(size_t, len - t->io.len, PAGE_SIZE));
	}
	return 0;
}

/**
 * rchar_transfer_copy() - between memory of our own and the program's
 * @t: after rchar_transfer_bounce(); when it reads, after it has completed
 * @iter: the program's memory
 *
 * Return: bytes; fewer than all when user memory faults.
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
 * rchar_transfer_start() - let it go
 * @t: with memory; the reference of the caller stays
 * @iocb: to complete when it is over, or NULL for rchar_transfer_wait()
 */
void rchar_transfer_start(struct rchar_transfer *t, struct kiocb *iocb)
{
	t->iocb = iocb;
	kref_get(&t->ref);	/* the io's */
	rchar_onesided_submit(t->session->flow, &t->io);
}

/**
 * rchar_transfer_wait() - until it is over, or the program is killed
 * @t: after rchar_transfer_start() without an iocb
 *
 * Return: 0, -EINTR, or why it failed.
 */
int rchar_transfer_wait(struct rchar_transfer *t)
{
	if (wait_for_completion_killable(&t->done))
		return -EINTR;
	return t->io.error;
}

/**
 * rchar_transfer_init() - at module load
 */
int rchar_transfer_init(void)
{
	transfer_wq = alloc_workqueue("rchar_transfer", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return transfer_wq ? 0 : -ENOMEM;
}

/**
 * rchar_transfer_exit() - at module unload, when no session is left
 */
void rchar_transfer_exit(void)
{
	destroy_workqueue(transfer_wq);
}
