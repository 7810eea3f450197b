// SPDX-License-Identifier: GPL-2.0
/*
 * Large frames of an encrypted lane are sealed without the flow's lock: sealing 64 KiB takes some
 * tens of microseconds, and everybody who sends or receives on the flow needs the lock. The frame
 * already has its place in the send queue then, and &rchar_lane_tx.sealing keeps others from
 * staging frames, so that the device gets the frames in the order in which they are sealed.
 */
#include "flow_seal.h"
#include "flow_priv.h"
#include "lane.h"
#include "sealbuf.h"

/* Upper bound of the payload of the frame to seal next; 0 when there is none. */
static u32 sealable(struct rchar_flow *flow, struct rchar_lane *lane)
{
	lockdep_assert_held(&flow->lock);
	if (flow->lane != lane || !rchar_lane_tx_room(lane))
		return 0;
	return rchar_flow_next_len(flow, lane);
}

static u32 seal_len(struct rchar_flow *flow, struct rchar_lane *lane)
{
	u32 len;

	spin_lock_bh(&flow->lock);
	len = sealable(flow, lane);
	if (!len)
		lane->tx.seal_wanted = false;
	spin_unlock_bh(&flow->lock);
	return len;
}

/* Take a frame that fits in @max bytes; NULL if the next one is another by now. */
static struct rchar_txbuf *seal_begin(struct rchar_flow *flow, struct rchar_lane *lane, u32 max)
{
	struct rchar_txbuf *txb = NULL;
	u32 len;

	spin_lock_bh(&flow->lock);
	len = sealable(flow, lane);
	if (len && len <= max)
		txb = rchar_flow_next(flow, lane);
	if (txb) {
		rchar_lane_tx_begin(lane, txb, flow->rx_next);
		rchar_flow_staged(flow, txb);
		lane->tx.sealing = true;
	}
	spin_unlock_bh(&flow->lock);
	return txb;
}

/* Send the sealed frame, and the small ones after it. */
static void seal_end(struct rchar_flow *flow, struct rchar_lane *lane, struct rchar_txbuf *txb,
		     bool sealed)
{
	if (sealed)
		rchar_lane_tx_map(lane, txb);
	spin_lock_bh(&flow->lock);
	lane->tx.sealing = false;
	if (sealed)
		rchar_lane_tx_finish(lane, txb);
	else
		rchar_lane_tx_fail(lane, RCHAR_REASON_ENCRYPTION);
	rchar_lane_tx_post(lane);
	if (flow->lane == lane)
		rchar_flow_pump(flow);
	spin_unlock_bh(&flow->lock);
}

/* Returns false when no frame is left that can be sent. */
static bool seal_one(struct rchar_flow *flow, struct rchar_lane *lane)
{
	u32 len = seal_len(flow, lane);
	struct rchar_sealbuf *buf;
	struct rchar_txbuf *txb;

	if (!len)
		return false;
	buf = rchar_sealbuf_alloc(len, GFP_KERNEL | __GFP_NOWARN);
	if (!buf) {
		rchar_lane_fail(lane, RCHAR_REASON_NO_MEMORY);
		return false;
	}
	txb = seal_begin(flow, lane, buf->capacity);
	if (!txb) {
		rchar_sealbuf_free(buf);
		return true;
	}
	seal_end(flow, lane, txb, rchar_lane_tx_seal(lane, txb, buf));
	return true;
}

/**
 * rchar_flow_seal() - seal and send the frames that wait: &rchar_lane_ops.seal
 * @lane: an encrypted lane; its teardown waits for this function
 *
 * Context: process.
 */
void rchar_flow_seal(struct rchar_lane *lane)
{
	while (seal_one(lane->flow, lane))
		cond_resched();
	rchar_flow_wake_flusher(lane->flow->traffic);
}
