// SPDX-License-Identifier: GPL-2.0
/* The receive queue of a lane: post receive buffers, refill them, take them back. */
#include "lane_priv.h"
#include <linux/slab.h>
#include "base/inject.h"
#include "dma.h"
#include "pressure.h"

/* Call with rx_lock held. */
static int lane_rx_post_one(struct rchar_lane *lane, struct rchar_rxbuf *rxb)
{
	struct ib_sge sge[1 + RCHAR_FRAME_CHUNKS];
	struct ib_recv_wr wr = { .wr_cqe = &rxb->cqe, .sg_list = sge };
	u32 lkey = lane->pd->local_dma_lkey;
	int i;

	if (rchar_inject(RCHAR_FAULT_POST_RECV))
		return -ENOMEM;
	rchar_rxbuf_sync_for_device(rxb, lane->cm_id->device);
	if (!rxb->joined)
		sge[wr.num_sge++] = (struct ib_sge){ rxb->hdr_dma, rxb->hdr_len, lkey };
	for (i = 0; i < rxb->nr_chunks; i++)
		sge[wr.num_sge++] = (struct ib_sge){ rxb->dma[i], rxb->chunk_len, lkey };
	return ib_post_recv(lane->cm_id->qp, &wr, NULL);
}

/* Post a buffer that is filled, and count it. Call with rx_lock held. */
static int post_counted(struct rchar_lane *lane, struct rchar_rxbuf *rxb)
{
	int ret = lane_rx_post_one(lane, rxb);

	if (ret)
		return ret;
	lane->rx.posted[rxb->large]++;
	/* Never fails: see may_resize(). */
	WARN_ON_ONCE(!rchar_credits_add(&lane->rx.fresh, 1, rxb->large));
	return 0;
}

/* Memory or mappings may come back. A mapping does not wait for that, as an allocation does. */
#define REFILL_RETRY_MS 10

/* Returns false if the size has changed meanwhile. */
static bool try_post(struct rchar_lane *lane, struct rchar_rxbuf *rxb, gfp_t gfp)
{
	struct ib_device *dev = lane->cm_id->device;
	bool filled, same, open;

	rchar_rxbuf_resize(rxb, dev, READ_ONCE(lane->rx.large), lane->limits.chunks);
	filled = !rchar_rxbuf_fill(rxb, dev, gfp);
	spin_lock_bh(&lane->rx_lock);
	same = rxb->large == lane->rx.large;
	open = lane->rx_open;
	if (open && !filled) {
		list_add_tail(&rxb->entry, &lane->refill);
		queue_delayed_work(rchar_lane_wq, &lane->refill_work,
				   gfpflags_allow_blocking(gfp) ?
					   msecs_to_jiffies(REFILL_RETRY_MS) :
					   0);
	} else if (open && same && post_counted(lane, rxb)) {
		rchar_lane_fail(lane, RCHAR_REASON_QP_ERROR);
	}
	spin_unlock_bh(&lane->rx_lock);
	return same || !open || !filled;
}

static void post_rxbuf(struct rchar_lane *lane, struct rchar_rxbuf *rxb, gfp_t gfp)
{
	while (!try_post(lane, rxb, gfp))
		;
}

static void refill_work(struct work_struct *work)
{
	struct rchar_lane *lane = container_of(to_delayed_work(work), struct rchar_lane,
					       refill_work);
	struct rchar_rxbuf *rxb;
	LIST_HEAD(todo);

	spin_lock_bh(&lane->rx_lock);
	list_splice_init(&lane->refill, &todo);
	spin_unlock_bh(&lane->rx_lock);
	while ((rxb = list_first_entry_or_null(&todo, struct rchar_rxbuf, entry))) {
		list_del(&rxb->entry);
		post_rxbuf(lane, rxb, GFP_KERNEL);
		lane->ops->reposted(lane);
	}
}

/* ---- how many, and how large ---- */

/* A lane that receives more frames than this between two looks is busy. */
#define BUSY_FRAMES 256

/* The credits of the peer tell the size of its next buffer if the size changes but once. */
static bool may_resize(const struct rchar_lane_rx *rx)
{
	return !rx->posted[!rx->large];
}

static void rx_set(struct rchar_lane_rx *rx, bool large, u16 most)
{
	rchar_pressure_count((large ? most : 0) - (rx->large ? rx->most : 0));
	WRITE_ONCE(rx->large, large);
	rx->most = most;
}

/* The peer has use for more or for larger buffers than the one in which it says so. */
static void rx_grow(struct rchar_lane *lane, bool large)
{
	struct rchar_lane_rx *rx = &lane->rx;

	lockdep_assert_held(&lane->rx_lock);
	if (!rx->large && may_resize(rx))
		rx_set(rx, true, rx->most);
	else if (rx->large && large)
		rx_set(rx, true, min_t(u16, 2 * rx->most, lane->limits.depth));
}

/* Take a buffer that is not in use, if one more may be; or NULL. */
static struct rchar_rxbuf *rx_take_idle(struct rchar_lane *lane)
{
	struct rchar_lane_rx *rx = &lane->rx;
	struct rchar_rxbuf *rxb = NULL;

	spin_lock_bh(&lane->rx_lock);
	if (rx->nr < rx->most && lane->rx_open)
		rxb = list_first_entry_or_null(&rx->idle, struct rchar_rxbuf, entry);
	if (rxb) {
		list_del(&rxb->entry);
		rx->nr++;
	}
	spin_unlock_bh(&lane->rx_lock);
	return rxb;
}

/* What a frame tells of the peer's use for buffers. */
static void rx_note(struct rchar_lane *lane, const struct rchar_hdr *hdr, bool large)
{
	struct rchar_lane_rx *rx = &lane->rx;
	bool want = hdr->flags & RCHAR_FRAME_WANT;

	rx->frames += rchar_op_sequenced(hdr->op);
	if (want || hdr->len > RCHAR_WIRE_SMALL)
		rx->used_at = jiffies;
	if (want)
		rx_grow(lane, large);
}

/* A buffer has been used. Returns false if there are enough without it. */
static bool rx_used(struct rchar_lane *lane, const struct rchar_rxbuf *rxb,
		    const struct rchar_hdr *hdr)
{
	struct rchar_lane_rx *rx = &lane->rx;
	bool keep;

	spin_lock_bh(&lane->rx_lock);
	rx->posted[rxb->large]--;
	if (hdr)
		rx_note(lane, hdr, rxb->large);
	keep = rx->nr <= rx->most;
	spin_unlock_bh(&lane->rx_lock);
	return keep;
}

static void rx_retire(struct rchar_lane *lane, struct rchar_rxbuf *rxb)
{
	rchar_rxbuf_empty(rxb, lane->cm_id->device);
	spin_lock_bh(&lane->rx_lock);
	lane->rx.nr--;
	list_add(&rxb->entry, &lane->rx.idle);
	spin_unlock_bh(&lane->rx_lock);
}

/**
 * rchar_lane_repost() - return a buffer to the queue pair, with new chunks for those taken
 * @lane: the lane
 * @rxb: the buffer
 * @hdr: header of the frame that was in the buffer: the peer may ask for more buffers there; NULL
 *	 if it has no right to
 *
 * Posts one more buffer while the peer has use for it, or none if there are too many.
 *
 * Context: any but hard interrupt. If there is no memory, the buffer is posted later, and
 * rchar_lane_ops.reposted() is called then.
 */
void rchar_lane_repost(struct rchar_lane *lane, struct rchar_rxbuf *rxb,
		       const struct rchar_hdr *hdr)
{
	struct rchar_rxbuf *more;

	if (!rx_used(lane, rxb, hdr)) {
		rx_retire(lane, rxb);
		return;
	}
	post_rxbuf(lane, rxb, GFP_NOWAIT | __GFP_NOWARN);
	more = rx_take_idle(lane);
	if (more)
		post_rxbuf(lane, more, GFP_NOWAIT | __GFP_NOWARN);
}

/**
 * rchar_lane_rx_fresh() - take account of the buffers that were posted since the last call
 * @lane: the lane
 * @fresh: set to the credits to grant for these buffers
 *
 * Context: any but hard interrupt, with the flow's lock held.
 * Return: the number of receive buffers that are posted, of those that may stay. A peer without
 * credits waits for a part of these, so buffers that wait for memory do not count.
 */
u16 rchar_lane_rx_fresh(struct rchar_lane *lane, struct rchar_credits *fresh)
{
	u16 now;

	spin_lock_bh(&lane->rx_lock);
	*fresh = lane->rx.fresh;
	lane->rx.fresh = (struct rchar_credits){};
	now = min_t(u16, lane->rx.posted[0] + lane->rx.posted[1], lane->rx.most);
	spin_unlock_bh(&lane->rx_lock);
	return now;
}

/**
 * rchar_lane_rx_trim() - go back to few small buffers if the lane is idle
 * @lane: the lane
 * @idle_ms: it is idle if the peer has had no use for large buffers for so long
 *
 * A receive queue gives no buffer back but by a frame. So the peer has to use the large ones up.
 *
 * Context: any but hard interrupt.
 * Return: true if the peer should be asked to do so.
 */
bool rchar_lane_rx_trim(struct rchar_lane *lane, unsigned int idle_ms)
{
	struct rchar_lane_rx *rx = &lane->rx;
	bool trim;

	spin_lock_bh(&lane->rx_lock);
	if (rx->frames > BUSY_FRAMES)
		rx->used_at = jiffies;
	rx->frames = 0;
	if (rx->large && may_resize(rx) &&
	    time_after(jiffies, rx->used_at + msecs_to_jiffies(idle_ms)))
		rx_set(rx, false, min_t(u16, RCHAR_LANE_IDLE, lane->limits.depth));
	trim = !rx->large && rx->posted[1];
	spin_unlock_bh(&lane->rx_lock);
	return trim;
}

/* ---- set-up and teardown ---- */

/**
 * rchar_lane_rx_init() - allocate memory for the receiving side
 * @lane: a new lane
 *
 * Return: 0 or -ENOMEM; in both cases rchar_lane_rx_free() frees the memory.
 */
int rchar_lane_rx_init(struct rchar_lane *lane)
{
	int i;

	spin_lock_init(&lane->rx_lock);
	INIT_LIST_HEAD(&lane->refill);
	INIT_LIST_HEAD(&lane->rx.idle);
	INIT_DELAYED_WORK(&lane->refill_work, refill_work);
	lane->rxbufs = kcalloc(lane->depth, sizeof(*lane->rxbufs), GFP_KERNEL);
	lane->hdrs = kcalloc(lane->depth, sizeof(*lane->hdrs), GFP_KERNEL);
	if (!lane->rxbufs || !lane->hdrs)
		return -ENOMEM;
	for (i = 0; i < lane->depth; i++) {
		lane->rxbufs[i].cqe.done = lane->ops->receive_done;
		lane->rxbufs[i].hdr = &lane->hdrs[i];
	}
	return 0;
}

/**
 * rchar_lane_rx_free() - undo rchar_lane_rx_init()
 * @lane: a lane without references
 */
void rchar_lane_rx_free(struct rchar_lane *lane)
{
	kfree(lane->rxbufs);
	kfree(lane->hdrs);
}

/* Fill a buffer for rchar_lane_rx_start(). */
static int open_one(struct rchar_lane *lane, struct rchar_rxbuf *rxb)
{
	struct ib_device *dev = lane->cm_id->device;
	int ret;

	rchar_rxbuf_resize(rxb, dev, false, lane->limits.chunks);
	ret = rchar_rxbuf_fill(rxb, dev, GFP_KERNEL);
	if (!ret)
		list_add_tail(&rxb->entry, &lane->refill);
	return ret;
}

/**
 * rchar_lane_rx_open() - fill the receive buffers of an idle lane
 * @lane: a lane with its queue pair
 *
 * Context: process.
 * Return: 0 or -ENOMEM. In both cases teardown frees the buffers.
 */
int rchar_lane_rx_open(struct rchar_lane *lane)
{
	struct ib_device *dev = lane->cm_id->device;
	struct rchar_rxbuf *rxb;
	int i, ret;

	ret = rchar_dma_map(dev, lane->hdrs, lane->depth * sizeof(*lane->hdrs), DMA_FROM_DEVICE,
			    &lane->hdrs_dma);
	if (ret)
		return ret;
	lane->hdrs_mapped = true;
	lane->rx_open = true;
	lane->rx.most = min_t(u16, RCHAR_LANE_IDLE, lane->limits.depth);
	lane->rx.used_at = jiffies;
	for (i = 0; i < lane->limits.depth; i++) {
		rxb = &lane->rxbufs[i];
		rxb->dev = dev;
		rxb->joined = lane->limits.joined;
		rxb->hdr_len = lane->encrypted ? sizeof(*rxb->hdr) : sizeof(rxb->hdr->hdr);
		rxb->hdr_dma = lane->hdrs_dma + i * sizeof(*lane->hdrs);
		list_add_tail(&rxb->entry, &lane->rx.idle);
	}
	while ((rxb = rx_take_idle(lane))) {
		ret = open_one(lane, rxb);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * rchar_lane_rx_start() - post the receive buffers
 * @lane: a lane after rchar_lane_rx_open(), to which the peer can send nothing yet
 *
 * When a peer refuses a connection, the CM moves the queue pair to ERR before it says so. What is
 * posted completes then, and only a drain waits for that. So an initiator, whose queue pair is not
 * drained without a connection, posts nothing before it has one. The acceptor sends nothing before
 * HELLO.
 *
 * Context: with the handler lock of @lane->cm_id held.
 * Return: 0, or the error of ib_post_recv().
 */
int rchar_lane_rx_start(struct rchar_lane *lane)
{
	struct rchar_rxbuf *rxb, *tmp;
	int ret = 0;

	spin_lock_bh(&lane->rx_lock);
	list_for_each_entry_safe(rxb, tmp, &lane->refill, entry) {
		list_del(&rxb->entry);
		ret = post_counted(lane, rxb);
		if (ret)
			break;
	}
	/* Private data tells the peer of these. */
	lane->rx.fresh = (struct rchar_credits){};
	spin_unlock_bh(&lane->rx_lock);
	if (ret)
		pr_warn_ratelimited("%s: ib_post_recv() failed with %d\n", lane->device, ret);
	return ret;
}

/**
 * rchar_lane_rx_close() - post no more receives
 * @lane: the lane
 *
 * Context: process.
 */
void rchar_lane_rx_close(struct rchar_lane *lane)
{
	spin_lock_bh(&lane->rx_lock);
	lane->rx_open = false;
	spin_unlock_bh(&lane->rx_lock);
	cancel_delayed_work_sync(&lane->refill_work);
}

/**
 * rchar_lane_rx_drained() - unmap and free the contents of the receive buffers
 * @lane: the lane, drained
 *
 * Context: process.
 */
void rchar_lane_rx_drained(struct rchar_lane *lane)
{
	struct ib_device *dev = lane->cm_id->device;
	int i;

	spin_lock_bh(&lane->rx_lock);
	rx_set(&lane->rx, false, 0);
	spin_unlock_bh(&lane->rx_lock);
	for (i = 0; i < lane->depth; i++)
		rchar_rxbuf_empty(&lane->rxbufs[i], dev);
	if (lane->hdrs_mapped)
		rchar_dma_unmap(dev, lane->hdrs_dma, lane->depth * sizeof(*lane->hdrs),
				DMA_FROM_DEVICE);
}
