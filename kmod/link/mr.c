// SPDX-License-Identifier: GPL-2.0
#include "mr.h"
#include <linux/dma-mapping.h>
#include "base/inject.h"
#include "base/trace.h"

/* Memory regions of a lane that wait for the next use. */
#define POOL_MAX	16

/* A registration takes so long at most, with all that was posted before it: as for the
 * keepalive, 8 MiB are on their way in this time on any network worth RDMA.
 */
#define REG_MS		15000

/**
 * rchar_mrs_init() - nothing registered yet
 * @mrs: the registrations
 * @sq: the send queue of the lane
 */
void rchar_mrs_init(struct rchar_mrs *mrs, struct rchar_sq *sq)
{
	mutex_init(&mrs->lock);
	init_completion(&mrs->done);
	INIT_LIST_HEAD(&mrs->owners);
	INIT_LIST_HEAD(&mrs->pool);
	mrs->sq = sq;
}

/**
 * rchar_mrs_setup() - the lane has its protection domain
 * @mrs: the registrations
 * @pd: of the lane
 * @pool_pages: pages of a memory region that is used again and again; 0: none is
 */
void rchar_mrs_setup(struct rchar_mrs *mrs, struct ib_pd *pd, u32 pool_pages)
{
	mrs->pd = pd;
	/* One more than is used: at the end of a full memory region soft-RoCE in 6.1 looks
	 * for the next page (rxe_mr_copy()).
	 */
	mrs->pool_pages = min(pool_pages ? pool_pages + 1 : 0,
			      pd->device->attrs.max_fast_reg_page_list_len);
}

/**
 * rchar_mrs_pages() - pages that a memory region of the pool may have
 * @mrs: the registrations
 *
 * Return: pages; 0 when there is no pool.
 */
u32 rchar_mrs_pages(const struct rchar_mrs *mrs)
{
	return mrs->pool_pages ? mrs->pool_pages - 1 : 0;
}

/**
 * rchar_mrs_gone() - teardown of a lane: nobody reads or writes by it any more
 * @mrs: the registrations; the lane is drained
 *
 * Context: process.
 */
void rchar_mrs_gone(struct rchar_mrs *mrs)
{
	struct rchar_mr_owner *owner, *tmp;
	struct ib_mr *mr, *next;

	mutex_lock(&mrs->lock);
	list_for_each_entry_safe(owner, tmp, &mrs->owners, entry)
		owner->gone(owner);
	list_for_each_entry_safe(mr, next, &mrs->pool, qp_entry) {
		list_del(&mr->qp_entry);
		ib_dereg_mr(mr);
	}
	mrs->nr_pool = 0;
	mutex_unlock(&mrs->lock);
}

/* ---- one region ---- */

/* To make one may be a command to the device: those of the pool wait for the next use. */
static struct ib_mr *mr_get(struct rchar_mrs *mrs, unsigned int pages)
{
	u32 max = mrs->pd->device->attrs.max_fast_reg_page_list_len;
	struct ib_mr *mr = list_first_entry_or_null(&mrs->pool, struct ib_mr, qp_entry);

	if (mr) {
		list_del(&mr->qp_entry);
		mrs->nr_pool--;
		return mr;
	}
	if (rchar_inject_verbs())
		return ERR_PTR(-ENOMEM);
	/* One more than is used, as in rchar_mrs_setup(). */
	return ib_alloc_mr(mrs->pd, IB_MR_TYPE_MEM_REG,
			   mrs->pool_pages ?: min_t(u32, pages + 1, max));
}

static void mr_unmap_pages(struct rchar_mrs *mrs, struct rchar_mr *m)
{
	if (m->mapped)
		ib_dma_unmap_sg(mrs->pd->device, m->sgt.sgl, m->sgt.orig_nents, m->dir);
	m->mapped = 0;
	sg_free_table(&m->sgt);
}

/**
 * rchar_mr_map() - map pages for the device, and make them a memory region
 * @mrs: the registrations; the lock is held
 * @m: the region; on failure the caller calls rchar_mr_put() all the same
 * @pages: the pages
 * @n: how many
 * @offset: of the first byte in the first page
 * @len: bytes
 * @dir: what the device does
 *
 * The peer's offsets begin at @offset: soft devices would tell it kernel addresses.
 *
 * Context: process.
 * Return: 0, -ENOMEM, -EINVAL, or what verbs said.
 */
int rchar_mr_map(struct rchar_mrs *mrs, struct rchar_mr *m, struct page **pages, unsigned int n,
		 u32 offset, size_t len, enum dma_data_direction dir)
{
	struct ib_device *dev = mrs->pd->device;
	int ret;

	lockdep_assert_held(&mrs->lock);
	m->dir = dir;
	ret = sg_alloc_table_from_pages(&m->sgt, pages, n, offset, len,
					GFP_KERNEL | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	if (ret)
		return ret;
	m->mapped = ib_dma_map_sg(dev, m->sgt.sgl, m->sgt.orig_nents, dir);
	if (!m->mapped)
		return -ENOMEM;
	m->mr = mr_get(mrs, n);
	if (IS_ERR(m->mr)) {
		ret = PTR_ERR(m->mr);
		m->mr = NULL;
		return ret;
	}
	ret = ib_map_mr_sg(m->mr, m->sgt.sgl, m->mapped, NULL, PAGE_SIZE);
	if (ret != m->mapped)
		return ret < 0 ? ret : -EINVAL;
	/* Of a bounce buffer (swiotlb) it may be another. */
	if (offset_in_page(m->mr->iova) != offset)
		return -EINVAL;
	m->mr->iova = offset;
	ib_update_fast_reg_key(m->mr, ib_inc_rkey(m->mr->rkey));
	return 0;
}

/**
 * rchar_mr_put() - undo rchar_mr_map()
 * @mrs: the registrations; the lock is held
 * @m: a region that was never registered, or rchar_mr_invalidate() succeeded
 *
 * Context: process.
 */
void rchar_mr_put(struct rchar_mrs *mrs, struct rchar_mr *m)
{
	lockdep_assert_held(&mrs->lock);
	if (!m->mr || !mrs->pool_pages || mrs->nr_pool == POOL_MAX) {
		rchar_mr_free(mrs, m);
		return;
	}
	list_add(&m->mr->qp_entry, &mrs->pool);
	mrs->nr_pool++;
	m->mr = NULL;
	mr_unmap_pages(mrs, m);
}

/**
 * rchar_mr_free() - take a region away, registered or not
 * @mrs: the registrations; the lock is held
 * @m: the region; nothing about it is in the send queue
 *
 * Context: process.
 */
void rchar_mr_free(struct rchar_mrs *mrs, struct rchar_mr *m)
{
	lockdep_assert_held(&mrs->lock);
	/* First the key: from here on nothing comes in. */
	if (m->mr)
		ib_dereg_mr(m->mr);
	m->mr = NULL;
	mr_unmap_pages(mrs, m);
}

/**
 * rchar_mr_bounced() - does the device see copies of the pages?
 * @mrs: the registrations
 * @m: the region, mapped
 *
 * Memory that peers and programs look at at any time has no moment to synchronize a bounce
 * buffer (swiotlb) or a cache that the device does not see.
 */
bool rchar_mr_bounced(const struct rchar_mrs *mrs, const struct rchar_mr *m)
{
	struct ib_device *dev = mrs->pd->device;
	struct scatterlist *sg;
	int i;

	if (ib_uses_virt_dma(dev))
		return false;
	for_each_sg(m->sgt.sgl, sg, m->mapped, i)
		if (dma_need_sync(dev->dma_device, sg_dma_address(sg)))
			return true;
	return false;
}

/* ---- registering ---- */

static void mr_reg_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rchar_mrs *mrs = container_of(wc->wr_cqe, struct rchar_mrs, cqe);

	if (wc->status != IB_WC_SUCCESS) {
		trace_rchar_wc_error(cq->cq_context, "reg", wc->status);
		mrs->sq->fail(mrs->sq, RCHAR_REASON_QP_ERROR);
	}
	WRITE_ONCE(mrs->status, wc->status);
	complete(&mrs->done);
}

/* Post, and wait until the last one has completed; that one is signaled. */
static int post_and_wait(struct rchar_mrs *mrs, struct ib_send_wr *first)
{
	struct rchar_sq *sq = mrs->sq;
	const struct ib_send_wr *bad;
	int ret = -ENOTCONN;

	lockdep_assert_held(&mrs->lock);
	mrs->cqe.done = mr_reg_done;
	reinit_completion(&mrs->done);
	spin_lock_bh(sq->lock);
	if (sq->open) {
		rchar_sq_begin(sq);
		ret = ib_post_send(sq->qp, first, &bad);
		if (ret)
			rchar_sq_end(sq);
	}
	spin_unlock_bh(sq->lock);
	if (ret) {
		sq->fail(sq, RCHAR_REASON_QP_ERROR);
		return ret;
	}
	/* After frames that a peer takes one by one this could take for ever. The drain of a
	 * dying lane brings it back, too.
	 */
	if (!wait_for_completion_timeout(&mrs->done, msecs_to_jiffies(REG_MS))) {
		sq->fail(sq, RCHAR_REASON_TIMEOUT);
		wait_for_completion(&mrs->done);
	}
	spin_lock_bh(sq->lock);
	rchar_sq_end(sq);
	spin_unlock_bh(sq->lock);
	return READ_ONCE(mrs->status) == IB_WC_SUCCESS ? 0 : -EIO;
}

/**
 * rchar_mr_register() - from here on the peer can use memory regions
 * @mrs: the registrations; the lock is held
 * @m: regions, mapped
 * @n: how many, at most RCHAR_MR_BATCH
 * @access: IB_ACCESS_*
 *
 * Context: process; waits until the device has registered them, at most 15 s.
 * Return: 0; -ENOTCONN when the lane is going; -EIO. Unless it is 0 the lane fails, and the
 * regions stay until &rchar_mr_owner.gone.
 */
int rchar_mr_register(struct rchar_mrs *mrs, struct rchar_mr *m, unsigned int n, int access)
{
	struct ib_reg_wr wrs[RCHAR_MR_BATCH];
	unsigned int i;

	for (i = 0; i < n; i++)
		wrs[i] = (struct ib_reg_wr){
			.wr.opcode = IB_WR_REG_MR,
			.wr.wr_cqe = &mrs->cqe,
			.wr.next = i + 1 < n ? &wrs[i + 1].wr : NULL,
			.wr.send_flags = i + 1 < n ? 0 : IB_SEND_SIGNALED,
			.mr = m[i].mr,
			.key = m[i].mr->rkey,
			.access = access,
		};
	return post_and_wait(mrs, &wrs[0].wr);
}

/**
 * rchar_mr_invalidate() - from here on the peer cannot use a memory region any more
 * @mrs: the registrations; the lock is held
 * @m: the region
 *
 * Context: process; waits, as rchar_mr_register().
 * Return: as rchar_mr_register().
 */
int rchar_mr_invalidate(struct rchar_mrs *mrs, struct rchar_mr *m)
{
	struct ib_send_wr wr = {
		.wr_cqe = &mrs->cqe,
		.opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_SIGNALED,
		.ex.invalidate_rkey = m->mr->rkey,
	};

	return post_and_wait(mrs, &wr);
}
