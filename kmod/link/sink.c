// SPDX-License-Identifier: GPL-2.0
#include "sink.h"
#include <linux/slab.h>
#include "base/chunk.h"
#include "base/ledger.h"
#include "base/trace.h"
#include "dma.h"
#include "mr.h"

/* ---- one sink ---- */

static void sink_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rchar_sink *sink = container_of(wc->wr_cqe, struct rchar_sink, cqe);

	if (wc->status == IB_WC_SUCCESS)
		return;
	trace_rchar_wc_error(wc->qp->qp_context, "sink", wc->status);
	sink->sq->fail(sink->sq, RCHAR_REASON_QP_ERROR);
}

static void sink_free(struct rchar_sink *sink)
{
	ib_dereg_mr(sink->mr);
	kfree(sink);
	rchar_ledger_del(RCHAR_OBJ_SINK);
}

static struct rchar_sink *sink_alloc(const struct rchar_sinks *sinks)
{
	u32 pages = sinks->limits->sink_pages;
	struct rchar_sink *sink;

	sink = kzalloc(struct_size(sink, sg, pages), GFP_KERNEL | __GFP_NOWARN);
	if (!sink)
		return NULL;
	sink->mr = rchar_mr_alloc(sinks->pd, pages);
	if (IS_ERR(sink->mr)) {
		kfree(sink);
		return NULL;
	}
	rchar_ledger_add(RCHAR_OBJ_SINK);
	sg_init_table(sink->sg, pages);
	sink->cqe.done = sink_done;
	sink->sq = sinks->sq;
	return sink;
}

static void unmap_from(struct rchar_sink *sink, struct ib_device *dev, unsigned int from)
{
	while (sink->nr > from) {
		struct scatterlist *sg = &sink->sg[--sink->nr];

		rchar_dma_unmap(dev, sg_dma_address(sg), sg_dma_len(sg), DMA_FROM_DEVICE);
	}
}

/* Does more memory fit behind what is mapped? ib_sg_to_pages() ends where there is a gap. */
static bool may_follow(const struct rchar_sink *sink, u32 offset)
{
	const struct scatterlist *last;

	if (!sink->nr)
		return true;
	last = &sink->sg[sink->nr - 1];
	return !offset_in_page(offset) && !offset_in_page(last->offset + last->length);
}

/* Map up to @len bytes. A device that bounces has no large pieces contiguous. */
static void map_pieces(struct rchar_sinks *sinks, struct rchar_sink *sink,
		       const struct bio_vec *vecs, struct bvec_iter iter, u32 len)
{
	u32 max = sinks->limits->direct_dma ? U32_MAX : RCHAR_CHUNK_SIZE;

	while (len && sink->nr < sinks->limits->sink_pages) {
		struct bio_vec v = mp_bvec_iter_bvec(vecs, iter);
		u32 n = min3(len, v.bv_len, max - offset_in_page(v.bv_offset));
		struct scatterlist *sg = &sink->sg[sink->nr];
		u64 addr;

		if (!may_follow(sink, v.bv_offset) ||
		    rchar_dma_map_page(sinks->pd->device, v.bv_page, v.bv_offset, n,
				       DMA_FROM_DEVICE, &addr))
			break;
		sg_set_page(sg, v.bv_page, n, v.bv_offset);
		sg_dma_address(sg) = addr;
		sg_dma_len(sg) = n;
		sink->nr++;
		len -= n;
		bvec_iter_advance_single(vecs, &iter, n);
	}
}

/**
 * rchar_sink_map() - map memory for a READ, and assign it to the memory region of a sink
 * @sinks: the sinks of the lane
 * @sink: the sink, from rchar_sink_get()
 * @vecs: the memory; the pages of each vector are contiguous
 * @iter: where to begin
 * @len: bytes wanted, at most what @iter has
 *
 * The region has no gaps: the bytes end where the memory has one within a page.
 *
 * Context: any but hard interrupt.
 * Return: bytes mapped, maybe fewer than @len; 0 when mappings are exhausted.
 */
u32 rchar_sink_map(struct rchar_sinks *sinks, struct rchar_sink *sink, const struct bio_vec *vecs,
		   struct bvec_iter iter, u32 len)
{
	struct ib_device *dev = sinks->pd->device;
	struct ib_mr *mr = sink->mr;
	u32 done = 0;
	int i, nr;

	/* What begins within a page ends in one page more. */
	len = min_t(u32, len, (sinks->limits->sink_pages - 1) * PAGE_SIZE);
	map_pieces(sinks, sink, vecs, iter, len);
	if (!sink->nr)
		return 0;
	nr = ib_map_mr_sg(mr, sink->sg, sink->nr, NULL, PAGE_SIZE);
	/* Bounce buffers (swiotlb) may have gaps where the memory has none. */
	unmap_from(sink, dev, max(nr, 0));
	for (i = 0; i < nr; i++)
		done += sg_dma_len(&sink->sg[i]);
	/* With soft devices, the I/O virtual address is one of the kernel, and iWARP sends it. */
	mr->iova = offset_in_page(mr->iova);
	return done;
}

/**
 * rchar_sink_unmap() - undo rchar_sink_map(); without effect when it has been done
 * @sinks: the sinks of the lane
 * @sink: the sink, whose READ has completed or was not posted
 *
 * Context: any but hard interrupt.
 */
void rchar_sink_unmap(struct rchar_sinks *sinks, struct rchar_sink *sink)
{
	unmap_from(sink, sinks->pd->device, 0);
}

/**
 * rchar_sink_chain() - begin the chain of a READ with the registration of its sink
 * @sinks: the sinks of the lane
 * @sink: the sink, mapped
 * @read: the READ, filled in but for its SGE's address and key
 *
 * The peer of an iWARP connection knows the key, so the device invalidates it together with the
 * READ. Elsewhere the key is known to nobody and gives no remote access, so the next chain may
 * invalidate it.
 *
 * Return: the first request of the chain; @read is the last.
 */
struct ib_send_wr *rchar_sink_chain(struct rchar_sinks *sinks, struct rchar_sink *sink,
				    struct ib_rdma_wr *read)
{
	struct ib_mr *mr = sink->mr;
	u32 last_key = mr->rkey;
	bool known = sinks->limits->iwarp;
	struct ib_send_wr *first = &sink->reg.wr;

	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	sink->reg = (struct ib_reg_wr){
		.wr.opcode = IB_WR_REG_MR,
		.wr.wr_cqe = &sink->cqe,
		.wr.next = &read->wr,
		.mr = mr,
		.key = mr->rkey,
		.access = IB_ACCESS_LOCAL_WRITE | (known ? IB_ACCESS_REMOTE_WRITE : 0),
	};
	if (sink->registered) {
		sink->inv = (struct ib_send_wr){
			.opcode = IB_WR_LOCAL_INV,
			.wr_cqe = &sink->cqe,
			.next = first,
			.ex.invalidate_rkey = last_key,
		};
		first = &sink->inv;
	}
	sink->registered = !known;
	if (known) {
		read->wr.opcode = IB_WR_RDMA_READ_WITH_INV;
		read->wr.ex.invalidate_rkey = mr->lkey;
	}
	read->wr.sg_list->addr = mr->iova;
	read->wr.sg_list->lkey = mr->lkey;
	return first;
}

/* ---- the sinks of a lane ---- */

/* A sink that no READ has wanted for so long is freed. */
#define IDLE_MS 5000

/* After a failure the next attempt comes so much later. */
#define RETRY_MS 10

/* A lane without any sink for so long ends the operations that need one, as without mappings. */
#define FAILED_MS 10000

/* May the work item allocate one more? */
static bool take_wish(struct rchar_sinks *sinks)
{
	bool more;

	spin_lock_bh(sinks->sq->lock);
	more = sinks->wanted && sinks->nr < sinks->limits->sinks;
	sinks->wanted = false;
	spin_unlock_bh(sinks->sq->lock);
	return more;
}

static void allocate(struct rchar_sinks *sinks)
{
	struct rchar_sink *sink = sink_alloc(sinks);

	spin_lock_bh(sinks->sq->lock);
	if (sink) {
		list_add(&sink->entry, &sinks->idle);
		sinks->nr++;
	} else {
		if (!sinks->failed)
			sinks->failed_since = jiffies;
		/* A READ has waited for this, however long it took. */
		sinks->used_at = jiffies;
	}
	sinks->failed = !sink;
	spin_unlock_bh(sinks->sq->lock);
	sinks->ready(sinks);
}

static bool long_idle(const struct rchar_sinks *sinks)
{
	return time_after(jiffies, sinks->used_at + msecs_to_jiffies(IDLE_MS));
}

static void free_list(struct list_head *list)
{
	struct rchar_sink *sink, *tmp;

	list_for_each_entry_safe(sink, tmp, list, entry)
		sink_free(sink);
}

static void take_idle(struct rchar_sinks *sinks, struct list_head *idle)
{
	struct rchar_sink *sink;

	list_splice_init(&sinks->idle, idle);
	list_for_each_entry(sink, idle, entry)
		sinks->nr--;
}

static void sinks_work(struct work_struct *work)
{
	struct rchar_sinks *sinks = container_of(to_delayed_work(work), struct rchar_sinks, work);
	LIST_HEAD(idle);

	if (take_wish(sinks)) {
		allocate(sinks);
		return;
	}
	spin_lock_bh(sinks->sq->lock);
	if (long_idle(sinks))
		take_idle(sinks, &idle);
	spin_unlock_bh(sinks->sq->lock);
	free_list(&idle);
}

/**
 * rchar_sink_get() - take a sink for a READ
 * @sinks: the sinks
 *
 * Without an idle sink, a work item allocates one, up to as many as READs may be in flight.
 *
 * Context: any but hard interrupt.
 * Return: a sink that has nothing mapped; or NULL: @sinks->ready is called when there is one, or
 * the completion of another READ returns one.
 */
struct rchar_sink *rchar_sink_get(struct rchar_sinks *sinks)
{
	struct rchar_sink *sink;

	lockdep_assert_held(sinks->sq->lock);
	/* A READ that waits tries every RETRY_MS. Nobody has waited since the last failure. */
	if (sinks->failed && time_after(jiffies, sinks->used_at + HZ))
		sinks->failed_since = jiffies;
	sinks->used_at = jiffies;
	sink = list_first_entry_or_null(&sinks->idle, struct rchar_sink, entry);
	if (sink) {
		list_del(&sink->entry);
	} else if (sinks->nr < sinks->limits->sinks) {
		sinks->wanted = true;
		queue_delayed_work(sinks->wq, &sinks->work,
				   sinks->failed ? msecs_to_jiffies(RETRY_MS) : 0);
	}
	return sink;
}

/**
 * rchar_sinks_hopeless() - check whether no sink could be allocated for long
 * @sinks: the sinks; the lock of the send queue is held
 *
 * Return: true if a READ that waits for a sink should fail.
 */
bool rchar_sinks_hopeless(const struct rchar_sinks *sinks)
{
	return !sinks->nr && sinks->failed &&
	       time_after(jiffies, sinks->failed_since + msecs_to_jiffies(FAILED_MS));
}

/**
 * rchar_sink_put() - return a sink
 * @sinks: the sinks
 * @sink: the sink, which has nothing mapped
 *
 * Context: any but hard interrupt.
 */
void rchar_sink_put(struct rchar_sinks *sinks, struct rchar_sink *sink)
{
	lockdep_assert_held(sinks->sq->lock);
	list_add(&sink->entry, &sinks->idle);
}

/**
 * rchar_sinks_trim() - free the sinks of a lane that no READ has wanted for long
 * @sinks: the sinks
 *
 * Context: any but hard interrupt.
 */
void rchar_sinks_trim(struct rchar_sinks *sinks)
{
	spin_lock_bh(sinks->sq->lock);
	if (sinks->sq->open && !list_empty(&sinks->idle) && long_idle(sinks))
		queue_delayed_work(sinks->wq, &sinks->work, 0);
	spin_unlock_bh(sinks->sq->lock);
}

/**
 * rchar_sinks_init() - initialize the sinks of a new lane, which has none yet
 * @sinks: the sinks
 * @sq: the send queue of the lane
 * @wq: work queue that allocates and frees sinks
 * @ready: see &struct rchar_sinks
 */
void rchar_sinks_init(struct rchar_sinks *sinks, struct rchar_sq *sq, struct workqueue_struct *wq,
		      void (*ready)(struct rchar_sinks *sinks))
{
	sinks->sq = sq;
	sinks->wq = wq;
	sinks->ready = ready;
	INIT_LIST_HEAD(&sinks->idle);
	INIT_DELAYED_WORK(&sinks->work, sinks_work);
}

/**
 * rchar_sinks_setup() - set the protection domain and the limits, before the first READ
 * @sinks: the sinks
 * @pd: protection domain of the lane
 * @limits: limits of the lane
 */
void rchar_sinks_setup(struct rchar_sinks *sinks, struct ib_pd *pd,
		       const struct rchar_limits *limits)
{
	sinks->pd = pd;
	sinks->limits = limits;
}

/**
 * rchar_sinks_stop() - wait for the work item, in the teardown of a lane
 * @sinks: the sinks; the lane posts nothing any more
 *
 * Context: process.
 */
void rchar_sinks_stop(struct rchar_sinks *sinks)
{
	cancel_delayed_work_sync(&sinks->work);
}

/**
 * rchar_sinks_gone() - free all sinks, in the teardown of a lane
 * @sinks: the sinks; the lane is drained
 *
 * Context: process.
 */
void rchar_sinks_gone(struct rchar_sinks *sinks)
{
	LIST_HEAD(idle);

	/* Of a drained lane, all are idle. */
	spin_lock_bh(sinks->sq->lock);
	take_idle(sinks, &idle);
	spin_unlock_bh(sinks->sq->lock);
	free_list(&idle);
}
