// SPDX-License-Identifier: GPL-2.0
/* Received frames in a flow: credits, acks and sequence order. */
#include "flow_priv.h"
#include "base/seq.h"
#include "lane.h"

/* All buffers of a peer without RCHAR_CAP_GROWS are large. */
static bool take_credits(struct rchar_lane *lane, const struct rchar_hdr *hdr)
{
	bool grows = lane->peer.caps & RCHAR_CAP_GROWS, large = hdr->flags & RCHAR_FRAME_LARGE;

	if (large && !grows)
		return false;
	if (large && hdr->credits)
		lane->tx.pads = 0;
	return rchar_credit_receive(&lane->tx.credit, hdr->credits, large || !grows);
}

static enum rchar_frame_error take_header(struct rchar_flow *flow, struct rchar_lane *lane,
					  const struct rchar_hdr *hdr, struct list_head *acked)
{
	u32 sent = flow->next ? flow->next->hdr.seq : flow->tx_next;

	lockdep_assert_held(&flow->lock);
	if (!take_credits(lane, hdr))
		return RCHAR_FRAME_BAD_CREDITS;
	if (!rchar_seq_between(flow->tx_una, hdr->ack, sent))
		return RCHAR_FRAME_BAD_ACK;
	/* The peer grants a buffer again only after taking the frame. A peer that sends
	 * credits without acks would make the queue grow without bound.
	 */
	if (sent - hdr->ack > lane->tx.credit.tx_max)
		return RCHAR_FRAME_BAD_ACK;
	rchar_flow_collect_acked(flow, hdr->ack, acked);
	return RCHAR_FRAME_OK;
}

/**
 * rchar_flow_receive_header() - process the credits and the ack of a frame
 * @flow: the flow
 * @lane: the lane on which the frame arrived
 * @hdr: header of the frame, well formed by itself
 * @err: set to what is wrong with the header
 *
 * Context: as rchar_flow_receive().
 * Return: false when the caller must ignore the rest of the frame.
 */
bool rchar_flow_receive_header(struct rchar_flow *flow, struct rchar_lane *lane,
			       const struct rchar_hdr *hdr, enum rchar_frame_error *err)
{
	bool attached;
	LIST_HEAD(acked);

	*err = RCHAR_FRAME_OK;
	spin_lock_bh(&flow->lock);
	/* The peer replays on the next lane all frames that a failed lane still receives. */
	attached = flow->lane == lane && READ_ONCE(lane->state) < RCHAR_LANE_CLOSING;
	if (attached)
		*err = take_header(flow, lane, hdr, &acked);
	spin_unlock_bh(&flow->lock);
	rchar_flow_finish_acked(flow, &acked);
	return attached && !*err;
}

/* Only a processed frame counts as received. */
static void accept_sequenced(struct rchar_flow *flow, const struct rchar_hdr *hdr)
{
	spin_lock_bh(&flow->lock);
	flow->rx_next++;
	WRITE_ONCE(flow->traffic->progress_at, jiffies);
	if (hdr->flags & RCHAR_FRAME_ACK)
		flow->ack_now = true;
	spin_unlock_bh(&flow->lock);
	rchar_traffic_ack_later(flow->traffic);
}

static enum rchar_frame_error receive_sequenced(struct rchar_flow *flow, struct rchar_lane *lane,
						const struct rchar_hdr *hdr,
						struct rchar_rxbuf *rxb)
{
	enum rchar_frame_error err;
	int ret;

	/* A fixed flow for each session also keeps each session's frames in one context. */
	if (rchar_traffic_flow(flow->traffic, hdr->session) != flow)
		return RCHAR_FRAME_BAD_SESSION;
	/* Only this context changes rx_next, and only one lane at a time is attached. */
	if (hdr->seq != flow->rx_next) {
		if (!rchar_seq_before(hdr->seq, flow->rx_next))
			return RCHAR_FRAME_BAD_SEQ;
		rchar_stats_inc(&flow->traffic->stats.duplicates);
		return RCHAR_FRAME_OK;
	}
	err = RCHAR_FRAME_OK;
	ret = flow->traffic->ops->receive(flow->traffic, hdr, rxb, &err);
	if (err)
		return err;
	if (ret) {
		/* Not enough memory: the peer replays the frame after the reconnect. */
		rchar_lane_fail(lane,
				ret == -ENOBUFS ? RCHAR_REASON_PEER_LIMIT : RCHAR_REASON_NO_MEMORY);
		return RCHAR_FRAME_OK;
	}
	accept_sequenced(flow, hdr);
	return RCHAR_FRAME_OK;
}

/*
 * The peer wants back the large buffers that it has now. It counts: those that it grants later, it
 * grants because it was asked for them.
 */
static void trim(struct rchar_flow *flow, struct rchar_lane *lane)
{
	spin_lock_bh(&flow->lock);
	if (lane->peer.caps & RCHAR_CAP_GROWS)
		lane->tx.trim = rchar_credits_large(&lane->tx.credit.tx);
	spin_unlock_bh(&flow->lock);
}

/* On an idle link only one end finds the other silent, but both may want to know the round trip. */
static void ping(struct rchar_flow *flow, struct rchar_lane *lane)
{
	rchar_flow_control(flow, lane, RCHAR_OP_PONG);
	if (!READ_ONCE(lane->tx.inflight.rtt_ns))
		rchar_flow_control(flow, lane, RCHAR_OP_PING);
}

static void pong(struct rchar_flow *flow, struct rchar_lane *lane)
{
	spin_lock_bh(&flow->lock);
	rchar_inflight_pong(&lane->tx.inflight);
	WRITE_ONCE(flow->rtt_ns, lane->tx.inflight.rtt_ns);
	/* Late: it waited for READs or WRITEs, and says nothing of theirs. */
	if (!lane->tx.ping_late)
		rchar_flow_share_rtt(lane, lane->tx.inflight.rtt_ns);
	spin_unlock_bh(&flow->lock);
}

static enum rchar_frame_error receive_control(struct rchar_flow *flow, struct rchar_lane *lane,
					      const struct rchar_hdr *hdr)
{
	if (hdr->op == RCHAR_OP_HELLO || hdr->op == RCHAR_OP_READY)
		return RCHAR_FRAME_BAD_STATE;
	if (hdr->op == RCHAR_OP_PING)
		ping(flow, lane);
	if (hdr->op == RCHAR_OP_PONG)
		pong(flow, lane);
	if (hdr->op == RCHAR_OP_TRIM)
		trim(flow, lane);
	return RCHAR_FRAME_OK;
}

/**
 * rchar_flow_receive() - process a frame that arrived
 * @flow: the flow
 * @lane: the lane on which the frame arrived, UP or closing
 * @hdr: header of the frame, well formed by itself
 * @rxb: the buffer with the payload
 *
 * Context: that of the completion queue, so one call at a time for a lane. The flow gets no other
 * lane until this lane is drained.
 * Return: what is wrong with the frame. The lane must then fail. Of a wrong frame at most the
 * credits and the ack have been taken.
 */
enum rchar_frame_error rchar_flow_receive(struct rchar_flow *flow, struct rchar_lane *lane,
					  const struct rchar_hdr *hdr, struct rchar_rxbuf *rxb)
{
	enum rchar_frame_error err;

	if (!rchar_flow_receive_header(flow, lane, hdr, &err))
		return err;
	if (rchar_op_sequenced(hdr->op))
		return receive_sequenced(flow, lane, hdr, rxb);
	return receive_control(flow, lane, hdr);
}

/**
 * rchar_flow_receive_done() - after a frame: grant what was posted to the peer, send what is due
 * @flow: the flow
 * @lane: the lane on which the frame arrived
 */
void rchar_flow_receive_done(struct rchar_flow *flow, struct rchar_lane *lane)
{
	struct rchar_credits fresh;

	spin_lock_bh(&flow->lock);
	lane->tx.credit.rx_now = rchar_lane_rx_fresh(lane, &fresh);
	rchar_credit_posted(&lane->tx.credit, fresh.front, fresh.large);
	rchar_credit_posted(&lane->tx.credit, fresh.back, !fresh.large);
	if (flow->lane == lane)
		rchar_flow_pump(flow);
	spin_unlock_bh(&flow->lock);
}
