// SPDX-License-Identifier: GPL-2.0
/*
 * The handshake of a lane. In private data of the CM, each side identifies itself and states the
 * next sequence number expected. With HELLO and READY, each side proves that it received the
 * private data of the other side. On a link with a key, a tag in the private data and a MAC in
 * HELLO and READY also prove that the sender has the key: proto/auth.c. On an encrypted link the
 * reply and HELLO bring the public keys of an exchange, from which come the keys that seal all
 * frames after HELLO: proto/seal.c.
 */
#include "handshake.h"
#include <linux/random.h>
#include "flow.h"
#include "lane.h"
#include "link.h"
#include "onesided.h"
#include "psk.h"

/* ---- private data ---- */

/* Fill in the private data for the peer. */
static void fill_self(struct rchar_lane *lane, u32 attempt, u32 epoch, u32 resume)
{
	struct rchar_privdata *self = &lane->self;

	self->link_id = lane->link->id;
	self->epoch = epoch;
	self->attempt = attempt;
	self->caps = RCHAR_CAP_GROWS;
	if (lane->encrypted)
		self->caps |= RCHAR_CAP_ENCRYPTED;
	else if (lane->limits.reg_pages)
		self->caps |= RCHAR_CAP_INVALIDATE;
	self->frame_size = lane->limits.frame_size;
	self->resume = resume;
	self->depth = lane->rx.most;
	self->key = lane->link->psk ? lane->link->psk->key.id : 0;
	self->lane = lane->index;
	self->lanes = lane->link->nr_lanes;
	self->keepalive = lane->link->keepalive;
	get_random_bytes(self->nonce, sizeof(self->nonce));
}

/*
 * Choose the epoch and the resume number for the reply, for the case that the handshake succeeds.
 * The link does not change: the origin of the request is not proven yet.
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

/* The transcript is complete: compute the MACs of both greetings. */
static void expect_greetings(struct rchar_lane *lane)
{
	const struct rchar_psk *psk = lane->link->psk;

	if (psk)
		rchar_auth_greetings(lane->auth.hello, lane->auth.ready, &lane->auth.transcript,
				     &psk->key);
}

/* Encrypted lane: make the key pair of this host. Returns the public key in @public. */
static bool exchange_begin(struct rchar_lane *lane, u8 *public)
{
	u8 random[RCHAR_WIRE_PUBLIC_LEN];
	bool ok;

	get_random_bytes(random, sizeof(random));
	ok = rchar_seal_begin(&lane->seal, public, random);
	memzero_explicit(random, sizeof(random));
	return ok;
}

/* Encrypted lane: the transcript is complete, so all frames of the peer are sealed from now on. */
static bool exchange_end(struct rchar_lane *lane)
{
	if (!rchar_seal_derive(&lane->seal, &lane->auth.transcript, &lane->link->psk->key,
			       lane->initiator))
		return false;
	/* Pairs with lane_take(), as the peer may have sent something before. */
	smp_store_release(&lane->sealed_rx, true);
	return true;
}

/* Initiator: does the reply come from a holder of the link's key? Without a key, does it say so? */
static bool reply_authentic(const struct rchar_lane *lane)
{
	const struct rchar_psk *psk = lane->link->psk;

	if (lane->peer.key != lane->self.key)
		return false;
	return !psk || rchar_auth_check_reply(&lane->auth.transcript, &psk->key);
}

/**
 * rchar_handshake_introduce() - fill in the private data for the peer
 * @lane: the lane; on the acceptor with @peer filled in
 *
 * Context: process. The teardown of the lane waits for the caller.
 */
void rchar_handshake_introduce(struct rchar_lane *lane)
{
	struct rchar_auth_transcript *t = &lane->auth.transcript;
	struct rchar_link *link = lane->link;
	u32 epoch, resume;

	if (lane->initiator) {
		epoch = rchar_link_resumable_epoch(link, lane);
		fill_self(lane, link->attempt, epoch, epoch ? rchar_flow_expects(lane->flow) : 0);
		rchar_privdata_encode(&t->request, &lane->self);
		if (link->psk)
			rchar_auth_sign_request(t, &link->psk->key);
		memcpy(lane->self.nonce, t->request.nonce, sizeof(lane->self.nonce));
		return;
	}
	rchar_flow_prepare(lane->flow, lane);
	handshake_propose(link, lane, &epoch, &resume);
	fill_self(lane, lane->peer.attempt, epoch, resume);
	rchar_privdata_encode(&t->reply, &lane->self);
	if (lane->encrypted && !exchange_begin(lane, t->acceptor_public))
		rchar_lane_fail(lane, RCHAR_REASON_ENCRYPTION);
	if (link->psk)
		rchar_auth_sign_reply(t, &link->psk->key);
	memcpy(lane->self.nonce, t->reply.nonce, sizeof(lane->self.nonce));
	/* On an encrypted lane the greetings depend on HELLO, too: hello_public(). */
	if (!lane->encrypted)
		expect_greetings(lane);
}

/*
 * The reply arrived: continue the flow of the last lane, or start afresh. A lane other than the
 * first must reach the same result as the first lane. Returns false when the peer contradicts
 * itself; the next attempt then starts afresh.
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

/* Does the peer agree to encrypt, or not to? If so, compute the keys. */
static bool handshake_encrypt(struct rchar_lane *lane)
{
	bool encrypted = lane->peer.caps & RCHAR_CAP_ENCRYPTED;

	if (lane->encrypted != encrypted)
		return false;
	return !encrypted ||
	       (exchange_begin(lane, lane->auth.transcript.initiator_public) && exchange_end(lane));
}

/**
 * rchar_handshake_established() - initiator: process the reply
 * @lane: the lane, with @peer filled in; nothing has been sent on the lane yet
 *
 * Context: CM event handler.
 */
void rchar_handshake_established(struct rchar_lane *lane)
{
	/* Before anything in the reply is believed. */
	if (!reply_authentic(lane)) {
		rchar_lane_fail(lane, RCHAR_REASON_NOT_AUTHORISED);
		return;
	}
	if (!handshake_encrypt(lane)) {
		rchar_lane_fail(lane, RCHAR_REASON_ENCRYPTION);
		return;
	}
	expect_greetings(lane);
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
 * rchar_handshake_done() - complete the handshake: all frames may be sent
 * @lane: the lane, in its slot
 *
 * Context: any but hard interrupt.
 */
void rchar_handshake_done(struct rchar_lane *lane)
{
	lane->up_at = jiffies;
	if (!rchar_lane_move(lane, RCHAR_LANE_UP))
		return;
	/* Only after the move to UP: the answer to READY may arrive at once. */
	if (!lane->initiator)
		rchar_flow_control(lane->flow, lane, RCHAR_OP_READY);
	rchar_link_lane_up(lane->link, lane);
	rchar_flow_ready(lane->flow, lane);
	rchar_onesided_pump(lane->flow);
}

/* HELLO arrived, which proves that the peer receives at the claimed address. */
static void handshake_greeted(struct rchar_link *link, struct rchar_lane *lane)
{
	/* A lane on the list is not freed. Teardown removes the lane from the list, and cancels the
	 * work afterwards.
	 */
	spin_lock_bh(&link->lock);
	if (!list_empty(&lane->accepting_entry))
		queue_work(rchar_link_wq, &lane->adopt_work);
	spin_unlock_bh(&link->lock);
}

/* Acceptor of an encrypted lane: HELLO, which is not sealed, brings the initiator's public key. */
static bool hello_public(struct rchar_lane *lane, const struct rchar_wire_hello_public *in,
			 const struct rchar_rxbuf *rxb)
{
	struct rchar_auth_transcript *t = &lane->auth.transcript;

	memcpy(t->initiator_public, in->public, sizeof(t->initiator_public));
	expect_greetings(lane);
	return !memchr_inv(rxb->hdr->tag, 0, sizeof(rxb->hdr->tag));
}

/* Does the greeting repeat our nonce, and carry the MAC of the handshake? No key, no MAC: zeros. */
static enum rchar_frame_error check_greeting(struct rchar_lane *lane, const struct rchar_hdr *hdr,
					     struct rchar_rxbuf *rxb)
{
	const u8 *mac = lane->initiator ? lane->auth.ready : lane->auth.hello;
	bool exchange = lane->encrypted && !lane->initiator;
	struct rchar_wire_hello_public in = {};

	if (hdr->len != (exchange ? sizeof(in) : sizeof(in.hello)))
		return RCHAR_FRAME_BAD_LENGTH;
	rchar_rxbuf_copy(rxb, &in, hdr->len);
	if (exchange && !hello_public(lane, &in, rxb))
		return RCHAR_FRAME_BAD_TAG;
	if (memcmp(in.hello.nonce, lane->self.nonce, sizeof(in.hello.nonce)) ||
	    !rchar_auth_same(in.hello.mac, mac, sizeof(in.hello.mac)))
		return RCHAR_FRAME_BAD_PAYLOAD;
	if (exchange && !exchange_end(lane))
		return RCHAR_FRAME_BAD_PAYLOAD;
	return RCHAR_FRAME_OK;
}

/**
 * rchar_handshake_receive() - process a frame that arrived on a lane that is not UP
 * @lane: the lane on which the frame arrived
 * @hdr: header of the frame, well formed by itself
 * @rxb: the buffer with the payload
 *
 * Until the handshake is complete, only HELLO and READY are accepted.
 *
 * Context: that of the completion queue.
 * Return: what is wrong with the frame. The lane must then fail.
 */
enum rchar_frame_error rchar_handshake_receive(struct rchar_lane *lane, const struct rchar_hdr *hdr,
					       struct rchar_rxbuf *rxb)
{
	u8 expected = lane->initiator ? RCHAR_OP_READY : RCHAR_OP_HELLO;
	enum rchar_frame_error err;

	if (hdr->op != expected)
		return RCHAR_FRAME_BAD_STATE;
	if (READ_ONCE(lane->state) !=
	    (lane->initiator ? RCHAR_LANE_GREETING : RCHAR_LANE_ACCEPTING))
		return RCHAR_FRAME_BAD_STATE;
	err = check_greeting(lane, hdr, rxb);
	if (err)
		return err;
	if (lane->initiator) {
		if (rchar_flow_receive_header(lane->flow, lane, hdr, &err))
			rchar_handshake_done(lane);
		return err;
	}
	/* The initiator has received no frame yet, and thus has no buffer to grant again. */
	if (hdr->credits)
		return RCHAR_FRAME_BAD_CREDITS;
	if (rchar_lane_move(lane, RCHAR_LANE_GREETING))
		handshake_greeted(lane->link, lane);
	return RCHAR_FRAME_OK;
}
