// SPDX-License-Identifier: GPL-2.0
/* Events of a lane, passed on to its flow and its link. */
#include "lane_events.h"
#include "accept.h"
#include "base/trace.h"
#include "cm.h"
#include "flow.h"
#include "flow_seal.h"
#include "handshake.h"
#include "lane.h"
#include "link.h"
#include "link_life.h"
#include "onesided.h"

/* ---- completions ---- */

static enum rchar_frame_error lane_receive(struct rchar_lane *lane, const struct rchar_hdr *hdr,
					   struct rchar_rxbuf *rxb)
{
	enum rchar_lane_state state = READ_ONCE(lane->state);
	struct rchar_stats *stats = &lane->flow->traffic->stats;

	if (state >= RCHAR_LANE_CLOSING)
		return RCHAR_FRAME_OK;
	trace_rchar_frame_rx(lane, hdr);
	rchar_stats_inc(&stats->rx_frames);
	rchar_stats_add(&stats->rx_bytes, hdr->len);
	return state < RCHAR_LANE_UP ? rchar_handshake_receive(lane, hdr, rxb) :
				       rchar_flow_receive(lane->flow, lane, hdr, rxb);
}

/* Check a header, and make the payload readable. */
static enum rchar_frame_error lane_take(struct rchar_lane *lane, struct rchar_rxbuf *rxb,
					u32 byte_len, struct rchar_hdr *hdr)
{
	enum rchar_frame_error err;

	rchar_rxbuf_arrived(rxb, byte_len);
	rchar_hdr_decode(hdr, &rxb->hdr->hdr);
	if (lane->encrypted)
		byte_len -= min_t(u32, byte_len, RCHAR_WIRE_TAG_LEN);
	err = rchar_hdr_check(hdr, byte_len, lane->limits.frame_size);
	if (err)
		return err;
	/* Pairs with exchange_end(): the key is there when the flag is. */
	if (smp_load_acquire(&lane->sealed_rx))
		return rchar_rxbuf_open(rxb, &lane->seal.rx, hdr->len) ? RCHAR_FRAME_OK :
									 RCHAR_FRAME_BAD_TAG;
	rchar_rxbuf_sync(rxb, hdr->len);
	return RCHAR_FRAME_OK;
}

static void lane_receive_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rchar_rxbuf *rxb = container_of(wc->wr_cqe, struct rchar_rxbuf, cqe);
	struct rchar_lane *lane = wc->qp->qp_context;
	enum rchar_frame_error err;
	struct rchar_hdr hdr;

	if (wc->status != IB_WC_SUCCESS) {
		trace_rchar_wc_error(lane, "recv", wc->status);
		rchar_lane_fail(lane, RCHAR_REASON_QP_ERROR);
		return;
	}
	/* The peer sent a WRITE with immediate data: the receive buffer is empty. */
	if (wc->opcode != IB_WC_RECV) {
		rchar_lane_fail(lane, RCHAR_REASON_PROTOCOL);
		return;
	}
	rxb->invalidated = wc->wc_flags & IB_WC_WITH_INVALIDATE;
	rxb->invalidated_key = rxb->invalidated ? wc->ex.invalidate_rkey : 0;
	WRITE_ONCE(lane->last_rx, jiffies);
	err = lane_take(lane, rxb, wc->byte_len, &hdr);
	if (!err)
		err = lane_receive(lane, &hdr, rxb);
	if (err) {
		trace_rchar_bad_frame(lane, &hdr, err);
		rchar_link_bad_frame(lane->link, &hdr, err);
		rchar_lane_fail(lane, RCHAR_REASON_PROTOCOL);
	}
	/* Before the handshake has ended, nobody gets more memory here. */
	rchar_lane_repost(lane, rxb, !err && READ_ONCE(lane->state) == RCHAR_LANE_UP ? &hdr : NULL);
	rchar_flow_receive_done(lane->flow, lane);
	/* ib_cq_poll_work() processes up to 64K completions, and each is some work here. */
	if (lane->encrypted)
		cond_resched();
}

static void lane_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rchar_txbuf *txb = container_of(wc->wr_cqe, struct rchar_txbuf, cqe);
	struct rchar_lane *lane = wc->qp->qp_context;

	/* A flushed request stays on the list; teardown empties the list after the drain. */
	if (wc->status != IB_WC_SUCCESS) {
		trace_rchar_wc_error(lane, "send", wc->status);
		rchar_lane_fail(lane, RCHAR_REASON_QP_ERROR);
		return;
	}
	rchar_flow_send_done(lane->flow, lane, txb);
}

static void lane_reposted(struct rchar_lane *lane)
{
	rchar_flow_receive_done(lane->flow, lane);
}

static void lane_retry(struct rchar_lane *lane)
{
	/* Not for operations that fail together, some at a time. */
	if (READ_ONCE(lane->tx.unmapped) || data_race(lane->onesided.unmapped))
		rchar_stats_inc(&lane->flow->traffic->stats.map_stalls);
	rchar_flow_retry(lane->flow, lane);
	rchar_onesided_pump(lane->flow);
}

static void lane_sinks_ready(struct rchar_lane *lane)
{
	rchar_onesided_pump(lane->flow);
}

/* ---- teardown ---- */

static void lane_detach(struct rchar_lane *lane)
{
	rchar_flow_detach(lane->flow, lane);
}

static void lane_gone(struct rchar_lane *lane)
{
	rchar_link_lane_gone(lane->link, lane);
}

const struct rchar_lane_ops rchar_lane_events = {
	.receive_done = lane_receive_done,
	.send_done = lane_send_done,
	.reposted = lane_reposted,
	.introduce = rchar_handshake_introduce,
	.seal = rchar_flow_seal,
	.retry = lane_retry,
	.sinks_ready = lane_sinks_ready,
	.established = rchar_handshake_established,
	.connect = rchar_cm_connect,
	.adopt = rchar_link_admit,
	.detach = lane_detach,
	.drained = rchar_onesided_reap,
	.gone = lane_gone,
	.release = rchar_link_put,
};
