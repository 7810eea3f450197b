// SPDX-License-Identifier: GPL-2.0
/* What a flow makes of frames that arrive: credits, acks, order. */
#include "flow_priv.h"
#include "base/seq.h"
#include "lane.h"

static enum rchar_frame_error take_header(struct rchar_flow *flow,
					  struct rchar_lane *lane,
					  const struct rchar_hdr *hdr,
					  struct list_head *acked)
{
	u32 sent = flow->next && flow->next->sent ? flow->next->hdr.seq : flow->tx_next;

	lockdep_assert_held(&flow->lock);
	if (!rchar_credit_receive(&lane->tx.credit, hdr->credits))
		return RCHAR_FRAME_BAD_CREDITS;
	if (!rchar_seq_between(flow->tx_una, hdr->ack, sent))
		return RCHAR_FRAME_BAD_ACK;
	/* A buffer is granted again only when its frame has been taken: credits
	 * without acks would make the queue grow without bound.
	 */
	if (sent - hdr->ack > lane->tx.credit.tx_max)
		return RCHAR_FRAME_BAD_ACK;
	rchar_flow_collect_acked(flow, hdr->ack, acked);
	return RCHAR_FRAME_OK;
}

/**
 * rchar_flow_receive_header() - take the credits and the ack of a frame
 * @flow: the flow
 * @lane: where it arrived
 * @hdr: its header, well formed by itself
 * @err: set to what is wrong with it
 *
 * Context: as rchar_flow_receive().
 * Return: false when nothing more is to be done with the frame.
 */
bool rchar_flow_receive_header(struct rchar_flow *flow, struct rchar_lane *lane,
			       const struct rchar_hdr *hdr, enum rchar_frame_error *err)
{
	bool attached;
	LIST_HEAD(acked);

	*err = RCHAR_FRAME_OK;
	spin_lock_bh(&flow->lock);
	/* What a lane that has failed still receives is sent again on the next one. */
	attached = flow->lane == lane && READ_ONCE(lane->state) < RCHAR_LANE_CLOSING;
	if (attached)
		*err = take_header(flow, lane, hdr, &acked);
	spin_unlock_bh(&flow->lock);
	rchar_flow_finish_acked(flow, &acked);
	return attached && !*err;
}

/* The frame is processed: it counts as received only now. */
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

static enum rchar_frame_error receive_sequenced(struct rchar_flow *flow,
						struct rchar_lane *lane,
						const struct rchar_hdr *hdr,
						struct rchar_rxbuf *rxb)
{
	enum rchar_frame_error err;
	int ret;

	/* One context at a time for each session, too. */
	if (rchar_traffic_flow(flow->traffic, hdr->session) != flow)
		return RCHAR_FRAME_BAD_SESSION;
	/* Only this context moves rx_next, one lane at a time. */
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
		/* Out of memory: the peer sends it again after the reconnect. */
		rchar_lane_fail(lane, ret == -ENOBUFS ? RCHAR_REASON_PEER_LIMIT :
							RCHAR_REASON_NO_MEMORY);
		return RCHAR_FRAME_OK;
	}
	accept_sequenced(flow, hdr);
	return RCHAR_FRAME_OK;
}

static enum rchar_frame_error receive_control(struct rchar_flow *flow,
					      struct rchar_lane *lane,
					      const struct rchar_hdr *hdr)
{
	if (hdr->op == RCHAR_OP_HELLO || hdr->op == RCHAR_OP_READY)
		return RCHAR_FRAME_BAD_STATE;
	if (hdr->op == RCHAR_OP_PING)
		rchar_flow_control(flow, lane, RCHAR_OP_PONG);
	return RCHAR_FRAME_OK;
}

/**
 * rchar_flow_receive() - a frame arrived
 * @flow: the flow
 * @lane: where it arrived, UP or on its way out
 * @hdr: its header, well formed by itself
 * @rxb: the buffer with its payload
 *
 * Context: the completion queue's, so one at a time for a lane; and a flow has no
 * other lane until this one is drained.
 * Return: what is wrong with it, in which case nothing of it was taken but perhaps
 * credits and ack, and the lane must fail.
 */
enum rchar_frame_error rchar_flow_receive(struct rchar_flow *flow,
					  struct rchar_lane *lane,
					  const struct rchar_hdr *hdr,
					  struct rchar_rxbuf *rxb)
{
	enum rchar_frame_error err;

	if (!rchar_flow_receive_header(flow, lane, hdr, &err))
		return err;
	if (rchar_op_sequenced(hdr->op))
		return receive_sequenced(flow, lane, hdr, rxb);
	return receive_control(flow, lane, hdr);
}

/**
 * rchar_flow_receive_done() - after a frame: grant its buffer, send what is due
 * @flow: the flow
 * @lane: where it arrived
 * @posted: its buffer is posted again
 */
void rchar_flow_receive_done(struct rchar_flow *flow, struct rchar_lane *lane,
			     bool posted)
{
	spin_lock_bh(&flow->lock);
	if (posted)
		rchar_credit_posted(&lane->tx.credit);
	if (flow->lane == lane)
		rchar_flow_pump(flow);
	spin_unlock_bh(&flow->lock);
}
