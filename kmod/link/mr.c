// SPDX-License-Identifier: GPL-2.0
#include "mr.h"
#include "base/inject.h"
#include "base/trace.h"
#include "dma.h"

/* Unused memory regions that the pool of a lane holds at most. */
#define POOL_MAX 16

/* Time limit for a registration, including everything posted before. As for the keepalive: on any
 * network worth RDMA, what a send queue holds is transferred in this time.
 */
#define REG_MS 15000

/*
 * A registration completes behind the frames that were posted before it, and a peer that accepts
 * those one by one delays it. A batch that takes longer than EACH_MS while others wait for the lock
 * is late: on a long path an honest peer has none in less. The lane fails when its batches are late
 * by more than LATE_MS in all. This is forgotten when a batch ends and nobody waits.
 */
#define EACH_MS 200
#define LATE_MS 15000

static void check_status(struct rchar_mrs *mrs, const struct ib_wc *wc)
{
	if (wc->status == IB_WC_SUCCESS)
		return;
	trace_rchar_wc_error(wc->qp->qp_context, "reg", wc->status);
	mrs->sq->fail(mrs->sq, RCHAR_REASON_QP_ERROR);
}

/* The registration before a frame is not signaled: it completes with the frame, or it fails. */
static void mr_announced(struct ib_cq *cq, struct ib_wc *wc)
{
	check_status(container_of(wc->wr_cqe, struct rchar_mrs, announced_cqe), wc);
}

/**
 * rchar_mrs_init() - initialize an empty set of registrations
 * @mrs: the registrations
 * @sq: the send queue of the lane
 */
void rchar_mrs_init(struct rchar_mrs *mrs, struct rchar_sq *sq)
{
	mutex_init(&mrs->lock);
	init_completion(&mrs->done);
	INIT_LIST_HEAD(&mrs->owners);
	INIT_LIST_HEAD(&mrs->pool);
	mrs->announced_cqe.done = mr_announced;
	mrs->sq = sq;
}

/**
 * rchar_mrs_setup() - set the protection domain and the pool size
 * @mrs: the registrations
 * @pd: protection domain of the lane
 * @pool_pages: usable pages of a memory region of the pool; 0: no pool
 */
void rchar_mrs_setup(struct rchar_mrs *mrs, struct ib_pd *pd, u32 pool_pages)
{
	mrs->pd = pd;
	/* One page more than is used: at the end of a full memory region, soft-RoCE in Linux 6.1
	 * looks for the next page (rxe_mr_copy()).
	 */
	mrs->pool_pages = min(pool_pages ? pool_pages + 1 : 0,
			      pd->device->attrs.max_fast_reg_page_list_len);
}

/**
 * rchar_mrs_pages() - get the maximum number of pages of a memory region of the pool
 * @mrs: the registrations
 *
 * Return: pages; 0 without a pool.
 */
u32 rchar_mrs_pages(const struct rchar_mrs *mrs)
{
	return mrs->pool_pages ? mrs->pool_pages - 1 : 0;
}

/**
 * rchar_mrs_gone() - free all registrations during teardown of a lane
 * @mrs: the registrations; the lane is drained, so no peer uses them any more
 *
 * Context: process.
 */
void rchar_mrs_gone(struct rchar_mrs *mrs)
{
	struct rchar_mr_owner *owner, *tmp;
	struct ib_mr *mr, *next;

	mutex_lock(&mrs->lock);
	mrs->torn = false;
	list_for_each_entry_safe(owner, tmp, &mrs->owners, entry)
		owner->gone(owner);
	list_for_each_entry_safe(mr, next, &mrs->pool, qp_entry) {
		list_del(&mr->qp_entry);
		ib_dereg_mr(mr);
	}
	mrs->nr_pool = 0;
	mutex_unlock(&mrs->lock);
}

/**
 * rchar_mrs_lock() - take &rchar_mrs.lock, and let its holder know that somebody waits
 * @mrs: the registrations; the caller releases the lock with mutex_unlock()
 *
 * See LATE_MS: a peer that delays many registrations, each of them a little, would else delay for
 * long that its access to other memory ends.
 *
 * Context: process.
 */
void rchar_mrs_lock(struct rchar_mrs *mrs)
{
	atomic_inc(&mrs->waiting);
	mutex_lock(&mrs->lock);
	atomic_dec(&mrs->waiting);
}

/* ---- one region ---- */

/**
 * rchar_mr_alloc() - allocate a memory region that work requests register
 * @pd: protection domain
 * @pages: pages that the region will have at most; the device has as many
 *
 * Context: process.
 * Return: the region, or the ERR_PTR() of ib_alloc_mr().
 */
struct ib_mr *rchar_mr_alloc(struct ib_pd *pd, u32 pages)
{
	u32 max = pd->device->attrs.max_fast_reg_page_list_len;

	if (rchar_inject_verbs())
		return ERR_PTR(-ENOMEM);
	/* One page more than is used, as in rchar_mrs_setup(). */
	return ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, min_t(u32, pages + 1, max));
}

/* Allocating a region may require a command to the device, so the pool keeps unused regions. */
static struct ib_mr *mr_get(struct rchar_mrs *mrs, unsigned int pages)
{
	struct ib_mr *mr = list_first_entry_or_null(&mrs->pool, struct ib_mr, qp_entry);

	if (mr) {
		list_del(&mr->qp_entry);
		mrs->nr_pool--;
		return mr;
	}
	return rchar_mr_alloc(mrs->pd, rchar_mrs_pages(mrs) ?: pages);
}

static void mr_unmap_pages(struct rchar_mrs *mrs, struct rchar_mr *m)
{
	/* After the teardown of the lane nothing is mapped, and the protection domain is gone. */
	if (m->sgt.sgl)
		rchar_dma_unmap_table(mrs->pd->device, &m->sgt, m->dir);
}

/**
 * rchar_mr_map() - map pages for the device, and assign them to a memory region
 * @mrs: the registrations; the lock is held
 * @m: the region; the caller must call rchar_mr_put() even on failure
 * @pages: the pages
 * @n: number of pages
 * @offset: offset of the first byte in the first page
 * @len: bytes
 * @dir: DMA direction
 *
 * The peer's offsets start at @offset. With soft devices, the original I/O virtual address would
 * reveal a kernel address to the peer.
 *
 * Context: process.
 * Return: 0, -ENOMEM, -EINVAL, or the error of a verb.
 */
int rchar_mr_map(struct rchar_mrs *mrs, struct rchar_mr *m, struct page **pages, unsigned int n,
		 u32 offset, size_t len, enum dma_data_direction dir)
{
	int ret;

	lockdep_assert_held(&mrs->lock);
	m->dir = dir;
	ret = rchar_dma_map_table(mrs->pd->device, &m->sgt, pages, n, offset, len, dir);
	if (ret)
		return ret;
	m->mr = mr_get(mrs, n);
	if (IS_ERR(m->mr)) {
		ret = PTR_ERR(m->mr);
		m->mr = NULL;
		return ret;
	}
	ret = ib_map_mr_sg(m->mr, m->sgt.sgl, m->sgt.nents, NULL, PAGE_SIZE);
	if (ret != m->sgt.nents)
		return ret < 0 ? ret : -EINVAL;
	/* A bounce buffer (swiotlb) may have another offset in its page. */
	if (offset_in_page(m->mr->iova) != offset)
		return -EINVAL;
	m->mr->iova = offset;
	ib_update_fast_reg_key(m->mr, ib_inc_rkey(m->mr->rkey));
	m->key = m->mr->rkey;
	return 0;
}

/**
 * rchar_mr_put() - undo rchar_mr_map()
 * @mrs: the registrations; the lock is held
 * @m: a region that was never registered, or that rchar_mr_invalidate() has invalidated
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
 * rchar_mr_free() - free a region, registered or not
 * @mrs: the registrations; the lock is held
 * @m: the region; no work request for the region is in the send queue
 *
 * Context: process.
 */
void rchar_mr_free(struct rchar_mrs *mrs, struct rchar_mr *m)
{
	lockdep_assert_held(&mrs->lock);
	WARN_ON_ONCE(mrs->torn);
	/* Free the key first: after that the peer has no access to the pages. */
	if (m->mr)
		ib_dereg_mr(m->mr);
	m->mr = NULL;
	mr_unmap_pages(mrs, m);
}

/* ---- registering ---- */

static void mr_reg_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rchar_mrs *mrs = container_of(wc->wr_cqe, struct rchar_mrs, cqe);

	check_status(mrs, wc);
	WRITE_ONCE(mrs->status, wc->status);
	complete(&mrs->done);
}

/* As a driver whose send queue is full, or that does not like the second request. */
static int post_part(struct rchar_sq *sq, struct ib_send_wr *first, const struct ib_send_wr **bad)
{
	struct ib_send_wr *rest = first->next;
	int ret;

	first->next = NULL;
	ret = ib_post_send(sq->qp, first, bad);
	if (!ret)
		*bad = rest;
	return ret ?: -ENOMEM;
}

static int post(struct rchar_sq *sq, struct ib_send_wr *first, const struct ib_send_wr **bad)
{
	if (first->opcode == IB_WR_REG_MR && reg_wr(first)->access & IB_ACCESS_REMOTE_ATOMIC &&
	    !rchar_inject_limit(RCHAR_LIMIT_REG_ATOMIC)) {
		*bad = first;
		return -EINVAL;
	}
	if (first->next && rchar_inject(RCHAR_FAULT_POST_PART))
		return post_part(sq, first, bad);
	return ib_post_send(sq->qp, first, bad);
}

/*
 * Does the device refuse the registration itself, as mlx5 does for memory with atomic operations on
 * some functions (set_reg_wr() in drivers/infiniband/hw/mlx5/wr.c)? It has taken nothing then,
 * and would refuse again on the next connection.
 */
static bool refused(int ret, const struct ib_send_wr *first, const struct ib_send_wr *bad)
{
	return (ret == -EINVAL || ret == -EOPNOTSUPP) && first->opcode == IB_WR_REG_MR &&
	       bad == first;
}

/* Post a chain of requests, the last one signaled, and wait for that last one to complete. */
static int post_and_wait(struct rchar_mrs *mrs, struct ib_send_wr *first)
{
	struct rchar_sq *sq = mrs->sq;
	const struct ib_send_wr *bad = NULL;
	int ret = -ENOTCONN;

	lockdep_assert_held(&mrs->lock);
	mrs->cqe.done = mr_reg_done;
	reinit_completion(&mrs->done);
	spin_lock_bh(sq->lock);
	if (sq->open) {
		rchar_sq_begin(sq);
		ret = post(sq, first, &bad);
		if (ret)
			rchar_sq_end(sq);
	}
	spin_unlock_bh(sq->lock);
	if (refused(ret, first, bad)) {
		pr_warn_ratelimited("%s: refuses to register memory with access 0x%x: %d\n",
				    dev_name(&mrs->pd->device->dev), reg_wr(first)->access, ret);
		return -EOPNOTSUPP;
	}
	if (ret) {
		if (bad && bad != first)
			mrs->torn = true;
		sq->fail(sq, RCHAR_REASON_QP_ERROR);
		return ret;
	}
	/* A peer that accepts the earlier frames very slowly could delay the completion for ever.
	 * After a timeout the lane fails, and the drain of its teardown completes the request.
	 */
	if (!wait_for_completion_timeout(&mrs->done, msecs_to_jiffies(REG_MS))) {
		sq->fail(sq, RCHAR_REASON_TIMEOUT);
		wait_for_completion(&mrs->done);
	}
	spin_lock_bh(sq->lock);
	rchar_sq_end(sq);
	spin_unlock_bh(sq->lock);
	if (READ_ONCE(mrs->status) == IB_WC_SUCCESS)
		return 0;
	/* That may be the completion of the first one: any request completes on an error. */
	if (first->next)
		mrs->torn = true;
	return -EIO;
}

static struct ib_reg_wr make_reg(const struct rchar_mr *m, int access, struct ib_cqe *cqe)
{
	return (struct ib_reg_wr){
		.wr.opcode = IB_WR_REG_MR,
		.wr.wr_cqe = cqe,
		.mr = m->mr,
		.key = m->key,
		.access = access,
	};
}

/**
 * rchar_mr_fill_reg() - fill in a registration that is posted together with a frame
 * @mrs: the registrations; the lock is held
 * @m: the region, mapped
 * @access: IB_ACCESS_*
 * @wr: set. The device registers the region before it sends what is posted next. If that fails,
 *	the lane fails.
 */
void rchar_mr_fill_reg(struct rchar_mrs *mrs, const struct rchar_mr *m, int access,
		       struct ib_reg_wr *wr)
{
	lockdep_assert_held(&mrs->lock);
	*wr = make_reg(m, access, &mrs->announced_cqe);
}

/* Count by how much a batch of registrations was late. Returns 0, or fails the lane. */
static int check_late(struct rchar_mrs *mrs, unsigned long begun)
{
	unsigned int ms = jiffies_to_msecs(jiffies - begun);
	bool waited = atomic_read(&mrs->waiting);

	if (waited && ms > EACH_MS)
		mrs->late_ms += ms - EACH_MS;
	else if (!waited)
		mrs->late_ms = 0;
	if (mrs->late_ms <= LATE_MS)
		return 0;
	mrs->sq->fail(mrs->sq, RCHAR_REASON_TIMEOUT);
	return -ETIMEDOUT;
}

/**
 * rchar_mr_register() - register memory regions, and so give the peer access
 * @mrs: the registrations; the lock is held
 * @m: array of regions, mapped
 * @n: length of @m, at most RCHAR_MR_BATCH
 * @access: IB_ACCESS_*
 *
 * Context: process. Waits until the device has registered the regions. After 15 s the lane fails,
 * and this function waits for its drain. It also fails when batches that others waited for are late
 * by 15 s in all: see check_late().
 * Return: 0; -EOPNOTSUPP when the device refuses the registration: nothing was registered, and the
 * lane goes on; -ENOTCONN when the lane is not open; the error of ib_post_send(); -ETIMEDOUT; or
 * -EIO. On another error than -EOPNOTSUPP the lane fails, and the regions stay until
 * &rchar_mr_owner.gone.
 */
int rchar_mr_register(struct rchar_mrs *mrs, struct rchar_mr *m, unsigned int n, int access)
{
	struct ib_reg_wr wrs[RCHAR_MR_BATCH];
	unsigned long begun = jiffies;
	unsigned int i;

	for (i = 0; i < n; i++) {
		wrs[i] = make_reg(&m[i], access, &mrs->cqe);
		if (i)
			wrs[i - 1].wr.next = &wrs[i].wr;
	}
	wrs[n - 1].wr.send_flags = IB_SEND_SIGNALED;
	rchar_inject_delay(RCHAR_DELAY_REGISTER);
	return post_and_wait(mrs, &wrs[0].wr) ?: check_late(mrs, begun);
}

/**
 * rchar_mr_invalidate() - invalidate a memory region, and so end the access of the peer
 * @mrs: the registrations; the lock is held
 * @m: the region
 *
 * Context: process; waits like rchar_mr_register().
 * Return: as rchar_mr_register(), but never -EOPNOTSUPP.
 */
int rchar_mr_invalidate(struct rchar_mrs *mrs, struct rchar_mr *m)
{
	struct ib_send_wr wr = {
		.wr_cqe = &mrs->cqe,
		.opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_SIGNALED,
		.ex.invalidate_rkey = m->key,
	};

	return post_and_wait(mrs, &wr);
}
