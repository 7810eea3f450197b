// SPDX-License-Identifier: GPL-2.0
/*
 * The handshake of a lane. Each side says in private data of the CM who it is and which frame
 * it expects, and proves by HELLO and READY that it received what the other said.
 */
#include "handshake.h"
#include <linux/random.h>
#include "flow.h"
#include "lane.h"
#include "link.h"
#include "onesided.h"

/* ---- private data ---- */

/* What this side says of itself. */
static void fill_self(struct rchar_lane *lane, u32 attempt, u32 epoch, u32 resume)
{
	struct rchar_privdata *self = &lane->self;

	self->link_id = lane->link->id;
	self->epoch = epoch;
	self->attempt = attempt;
	self->caps = RCHAR_CAP_NONE;
	self->frame_size = lane->frame_size;
	self->resume = resume;
	self->depth = RCHAR_LANE_DEPTH;
	self->lane = lane->index;
	self->lanes = lane->link->nr_lanes;
	get_random_bytes(self->nonce, sizeof(self->nonce));
}

/*
 * What the reply says, should the handshake end well. It changes nothing of the link: nobody
 * knows yet who sent the request.
 */
static void handshake_propose(struct rchar_link *link, struct rchar_lane *lane, u32 *epoch,
			      u32 *resume)
{
	mutex_lock(&rchar_links_lock);
	lane->continues = rchar_link_continues(link, lane);
	*epoch = lane->continues || lane->index ? link->epoch : rchar_link_new_epoch(link->epoch);
	*resume = lane->continues ? rchar_flow_expects(lane->flow) : 0;
	mutex_unlock(&rchar_links_lock);
}

/**
 * rchar_handshake_introduce() - fill in what the peer is told
 * @lane: the lane; of an acceptor with @peer filled in
 *
 * Context: with the handler lock of the cm_id.
 */
void rchar_handshake_introduce(struct rchar_lane *lane)
{
	struct rchar_link *link = lane->link;
	u32 epoch, resume;

	if (lane->initiator) {
		fill_self(lane, link->attempt, READ_ONCE(link->epoch),
			  rchar_flow_expects(lane->flow));
		return;
	}
	rchar_flow_prepare(lane->flow, lane);
	handshake_propose(link, lane, &epoch, &resume);
	fill_self(lane, lane->peer.attempt, epoch, resume);
}

/*
 * The reply came: does this go on where the last lane left? A lane other than the first has to
 * find what that one found. False: the peer contradicts itself, and the next attempt starts
 * afresh.
 */
static bool handshake_adopt(struct rchar_link *link, struct rchar_lane *lane)
{
	const struct rchar_privdata *peer = &lane->peer;
	bool same = rchar_link_continues(link, lane), fresh;

	if (!same && lane->index) {
		WRITE_ONCE(link->epoch, 0);
		return false;
	}
	if (!same) {
		fresh = peer->epoch && peer->epoch != READ_ONCE(link->epoch) && !peer->resume;
		rchar_link_forget(link, fresh ? peer->epoch : 0, RCHAR_REASON_PEER_RESTARTED);
		if (!fresh)
			return false;
	}
	rchar_link_take_over(link, lane, same);
	return true;
}

/**
 * rchar_handshake_established() - initiator: the reply came
 * @lane: the lane, with @peer filled in; nothing is sent on it yet
 *
 * Context: CM event handler.
 */
void rchar_handshake_established(struct rchar_lane *lane)
{
	rchar_flow_prepare(lane->flow, lane);
	if (!rchar_lane_move(lane, RCHAR_LANE_GREETING))
		return;
	if (!handshake_adopt(lane->link, lane)) {
		rchar_lane_fail(lane, RCHAR_REASON_PROTOCOL);
		return;
	}
	rchar_flow_control(lane->flow, lane, RCHAR_OP_HELLO);
}

/* ---- HELLO and READY ---- */

/**
 * rchar_handshake_done() - the handshake is over: frames may be sent
 * @lane: the lane, in its slot
 *
 * Context: any but hard interrupt.
 */
void rchar_handshake_done(struct rchar_lane *lane)
{
	lane->up_at = jiffies;
	if (!rchar_lane_move(lane, RCHAR_LANE_UP))
		return;
	/* Not before: the answer to READY may come at once. */
	if (!lane->initiator)
		rchar_flow_control(lane->flow, lane, RCHAR_OP_READY);
	rchar_link_lane_up(lane->link, lane);
	rchar_flow_ready(lane->flow, lane);
	rchar_onesided_pump(lane->flow);
}

/* HELLO came, so the peer is where it says it is. */
static void handshake_greeted(struct rchar_link *link, struct rchar_lane *lane)
{
	/* On the list the lane is not freed; whoever takes it off cancels the work. */
	spin_lock_bh(&link->lock);
	if (!list_empty(&lane->accepting_entry))
		queue_work(rchar_link_wq, &lane->adopt_work);
	spin_unlock_bh(&link->lock);
}

static bool nonce_matches(struct rchar_lane *lane, struct rchar_rxbuf *rxb)
{
	struct rchar_wire_hello hello;
	static const u8 no_mac[RCHAR_WIRE_MAC_LEN];

	rchar_rxbuf_copy(rxb, &hello, sizeof(hello));
	return !memcmp(hello.nonce, lane->self.nonce, sizeof(hello.nonce)) &&
	       !memcmp(hello.mac, no_mac, sizeof(no_mac));
}

/**
 * rchar_handshake_receive() - a frame arrived on a lane that is not up
 * @lane: where it arrived
 * @hdr: its header, well formed by itself
 * @rxb: the buffer with its payload
 *
 * Nothing of a frame counts before the handshake is over, but for HELLO and READY.
 *
 * Context: the completion queue's.
 * Return: what is wrong with it: the lane must fail.
 */
enum rchar_frame_error rchar_handshake_receive(struct rchar_lane *lane,
					       const struct rchar_hdr *hdr,
					       struct rchar_rxbuf *rxb)
{
	u8 expected = lane->initiator ? RCHAR_OP_READY : RCHAR_OP_HELLO;
	enum rchar_frame_error err;

	if (hdr->op != expected)
		return RCHAR_FRAME_BAD_STATE;
	if (READ_ONCE(lane->state) != (lane->initiator ? RCHAR_LANE_GREETING :
							 RCHAR_LANE_ACCEPTING))
		return RCHAR_FRAME_BAD_STATE;
	if (!nonce_matches(lane, rxb))
		return RCHAR_FRAME_BAD_PAYLOAD;
	if (lane->initiator) {
		if (rchar_flow_receive_header(lane->flow, lane, hdr, &err))
			rchar_handshake_done(lane);
		return err;
	}
	/* It has received nothing yet. */
	if (hdr->credits)
		return RCHAR_FRAME_BAD_CREDITS;
	if (rchar_lane_move(lane, RCHAR_LANE_GREETING))
		handshake_greeted(lane->link, lane);
	return RCHAR_FRAME_OK;
}
