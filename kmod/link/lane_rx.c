// SPDX-License-Identifier: GPL-2.0
/* The receive queue of a lane: post receive buffers, refill them, take them back. */
#include "lane_priv.h"
#include <linux/slab.h>
#include "base/inject.h"
#include "dma.h"

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
		sge[wr.num_sge++] = (struct ib_sge){ rxb->dma[i], RCHAR_CHUNK_SIZE, lkey };
	return ib_post_recv(lane->cm_id->qp, &wr, NULL);
}

static bool post_rxbuf(struct rchar_lane *lane, struct rchar_rxbuf *rxb, gfp_t gfp)
{
	bool filled = !rchar_rxbuf_fill(rxb, lane->cm_id->device, gfp);
	bool posted = false;

	spin_lock_bh(&lane->rx_lock);
	if (lane->rx_open && filled) {
		posted = !lane_rx_post_one(lane, rxb);
		if (!posted)
			rchar_lane_fail(lane, RCHAR_REASON_QP_ERROR);
	} else if (lane->rx_open) {
		list_add_tail(&rxb->entry, &lane->refill);
		queue_work(rchar_lane_wq, &lane->refill_work);
	}
	spin_unlock_bh(&lane->rx_lock);
	return posted;
}

static void refill_work(struct work_struct *work)
{
	struct rchar_lane *lane = container_of(work, struct rchar_lane, refill_work);
	struct rchar_rxbuf *rxb;
	LIST_HEAD(todo);

	spin_lock_bh(&lane->rx_lock);
	list_splice_init(&lane->refill, &todo);
	spin_unlock_bh(&lane->rx_lock);
	while ((rxb = list_first_entry_or_null(&todo, struct rchar_rxbuf, entry))) {
		list_del(&rxb->entry);
		lane->ops->reposted(lane, post_rxbuf(lane, rxb, GFP_KERNEL));
	}
}

/**
 * rchar_lane_repost() - return a buffer to the queue pair, with new chunks for those taken
 * @lane: the lane
 * @rxb: the buffer
 *
 * Context: any but hard interrupt.
 * Return: true when the buffer is posted, so that the peer earns a credit. Otherwise the lane is
 * being torn down, or rchar_lane_ops.reposted() is called later.
 */
bool rchar_lane_repost(struct rchar_lane *lane, struct rchar_rxbuf *rxb)
{
	return post_rxbuf(lane, rxb, GFP_NOWAIT | __GFP_NOWARN);
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
	INIT_WORK(&lane->refill_work, refill_work);
	lane->rxbufs = kcalloc(RCHAR_LANE_DEPTH, sizeof(*lane->rxbufs), GFP_KERNEL);
	lane->hdrs = kcalloc(RCHAR_LANE_DEPTH, sizeof(*lane->hdrs), GFP_KERNEL);
	if (!lane->rxbufs || !lane->hdrs)
		return -ENOMEM;
	for (i = 0; i < RCHAR_LANE_DEPTH; i++) {
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

/**
 * rchar_lane_rx_open() - post all receive buffers
 * @lane: a lane with its queue pair
 *
 * Context: process.
 * Return: 0, -ENOMEM, or the error of a verb. In all cases teardown frees the buffers.
 */
int rchar_lane_rx_open(struct rchar_lane *lane)
{
	struct ib_device *dev = lane->cm_id->device;
	int i, ret;

	ret = rchar_dma_map(dev, lane->hdrs, RCHAR_LANE_DEPTH * sizeof(*lane->hdrs),
			    DMA_FROM_DEVICE, &lane->hdrs_dma);
	if (ret)
		return ret;
	lane->hdrs_mapped = true;
	lane->rx_open = true;
	for (i = 0; i < lane->limits.depth; i++) {
		struct rchar_rxbuf *rxb = &lane->rxbufs[i];

		rxb->dev = dev;
		rxb->nr_chunks = lane->limits.chunks;
		rxb->joined = lane->limits.joined;
		rxb->hdr_len = lane->encrypted ? sizeof(*rxb->hdr) : sizeof(rxb->hdr->hdr);
		rxb->hdr_dma = lane->hdrs_dma + i * sizeof(*lane->hdrs);
		ret = rchar_rxbuf_fill(rxb, dev, GFP_KERNEL);
		if (ret)
			return ret;
		spin_lock_bh(&lane->rx_lock);
		ret = lane_rx_post_one(lane, rxb);
		spin_unlock_bh(&lane->rx_lock);
		if (ret) {
			pr_warn_ratelimited("%s: ib_post_recv() failed with %d\n", lane->device,
					    ret);
			return ret;
		}
	}
	return 0;
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
	cancel_work_sync(&lane->refill_work);
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

	for (i = 0; i < RCHAR_LANE_DEPTH; i++)
		rchar_rxbuf_empty(&lane->rxbufs[i], dev);
	if (lane->hdrs_mapped)
		rchar_dma_unmap(dev, lane->hdrs_dma, RCHAR_LANE_DEPTH * sizeof(*lane->hdrs),
				DMA_FROM_DEVICE);
}
