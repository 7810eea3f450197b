// SPDX-License-Identifier: GPL-2.0
/* Frames in the send queue of a lane. Callers hold &rchar_sq.lock unless stated otherwise. */
#include "lane_priv.h"
#include "base/inject.h"
#include "base/trace.h"

/**
 * rchar_lane_tx_room() - check whether one more frame may be staged
 * @lane: the lane
 *
 * Return: true when the lane is open, and the send queue and the credits allow a frame.
 */
bool rchar_lane_tx_room(struct rchar_lane *lane)
{
	lockdep_assert_held(lane->sq.lock);
	return lane->sq.open && lane->tx.used < RCHAR_LANE_SQ &&
	       rchar_credit_may_send(&lane->tx.credit);
}

/**
 * rchar_lane_tx_control() - get an idle control frame
 * @lane: the lane
 *
 * Return: the frame, or NULL when all control frames are in the send queue. A later completion
 * then frees one.
 */
struct rchar_txbuf *rchar_lane_tx_control(struct rchar_lane *lane)
{
	int i;

	lockdep_assert_held(lane->sq.lock);
	for (i = 0; i < RCHAR_LANE_CONTROLS; i++) {
		struct rchar_txbuf *txb = lane->tx.controls[i];

		if (txb->busy)
			continue;
		txb->busy = true;
		memset(&txb->hdr, 0, sizeof(txb->hdr));
		return txb;
	}
	return NULL;
}

static void stage_failed(struct rchar_lane *lane)
{
	lane->sq.open = false;
	rchar_lane_fail(lane, RCHAR_REASON_NO_MEMORY);
}

/**
 * rchar_lane_tx_stage() - add a frame to the chain that rchar_lane_tx_post() posts
 * @lane: the lane; rchar_lane_tx_room() returned true
 * @txb: the frame
 * @ack: next sequence number expected from the peer
 *
 * On iWARP every frame is signaled. For a large unsignaled request, soft-iWARP passes the pages
 * themselves to TCP (siw_tx_hdt() in drivers/infiniband/sw/siw/siw_qp_tx.c). The frame headers of
 * this module are not whole pages.
 */
void rchar_lane_tx_stage(struct rchar_lane *lane, struct rchar_txbuf *txb, u32 ack)
{
	struct rchar_lane_tx *tx = &lane->tx;

	lockdep_assert_held(lane->sq.lock);
	txb->hdr.credits = rchar_credit_send(&tx->credit);
	txb->hdr.ack = ack;
	rchar_hdr_encode(&txb->wire, &txb->hdr);
	rchar_txbuf_get(txb);
	rchar_sq_begin(&lane->sq);
	list_add_tail(&txb->posted, &tx->posted);
	tx->used++;
	if (rchar_txbuf_map(txb, lane->cm_id->device, lane->pd->local_dma_lkey)) {
		stage_failed(lane);
		return;
	}
	txb->cqe.done = lane->ops->send_done;
	txb->wr = (struct ib_send_wr){
		.wr_cqe = &txb->cqe,
		.sg_list = txb->sge,
		.num_sge = txb->nr_mapped,
		.opcode = IB_WR_SEND,
		.send_flags = lane->signal_all ? IB_SEND_SIGNALED : 0,
	};
	if (tx->last)
		tx->last->wr.next = &txb->wr;
	else
		tx->first = txb;
	tx->last = txb;
	trace_rchar_frame_tx(lane, &txb->hdr);
}

/**
 * rchar_lane_tx_stuck_ms() - get the time since the send queue last made progress
 * @lane: the lane
 *
 * A peer may send frames and nevertheless accept none, by answering receiver-not-ready for ever.
 *
 * Context: any but hard interrupt, without &rchar_sq.lock.
 * Return: milliseconds; 0 when the send queue is empty.
 */
unsigned int rchar_lane_tx_stuck_ms(struct rchar_lane *lane)
{
	unsigned int ms = 0;

	spin_lock_bh(lane->sq.lock);
	if (lane->sq.used)
		ms = jiffies_to_msecs(jiffies - lane->sq.moved_at);
	spin_unlock_bh(lane->sq.lock);
	return ms;
}

/**
 * rchar_lane_tx_post() - post the staged chain
 * @lane: the lane
 *
 * The last frame of a chain is signaled. Earlier frames complete with the last frame (IBTA vol 1,
 * 10.8.6: in order). Every slot of the send queue is thus freed by a completion, and no sender
 * waits for room for ever.
 */
void rchar_lane_tx_post(struct rchar_lane *lane)
{
	struct rchar_lane_tx *tx = &lane->tx;
	const struct ib_send_wr *bad;
	struct rchar_txbuf *first = tx->first;

	lockdep_assert_held(lane->sq.lock);
	if (!first)
		return;
	tx->last->wr.send_flags = IB_SEND_SIGNALED;
	tx->first = NULL;
	tx->last = NULL;
	if (!lane->sq.open)
		return;
	/*
	 * The device may have accepted a prefix of the chain. All frames of the chain are on the
	 * list, and are released only after the drain.
	 */
	if (rchar_inject(RCHAR_FAULT_POST_SEND) ||
	    ib_post_send(lane->cm_id->qp, &first->wr, &bad)) {
		lane->sq.open = false;
		rchar_lane_fail(lane, RCHAR_REASON_QP_ERROR);
	} else if (rchar_inject(RCHAR_FAULT_QP)) {
		queue_work(rchar_lane_wq, &lane->break_work);
	}
}

/**
 * rchar_lane_tx_reap() - remove completed frames from the send queue
 * @lane: the lane
 * @upto: the last completed frame; NULL for all frames, after a drain
 * @reaped: collects frames for rchar_lane_tx_put(), which is called without the lock
 */
void rchar_lane_tx_reap(struct rchar_lane *lane, struct rchar_txbuf *upto, struct list_head *reaped)
{
	struct rchar_txbuf *txb, *tmp;

	lockdep_assert_held(lane->sq.lock);
	list_for_each_entry_safe(txb, tmp, &lane->tx.posted, posted) {
		rchar_txbuf_unmap(txb, lane->cm_id->device);
		lane->tx.used--;
		rchar_sq_end(&lane->sq);
		if (txb->reserved) {
			list_del_init(&txb->posted);
			txb->busy = false;
			rchar_txbuf_put(txb); /* never the last reference */
		} else {
			list_move_tail(&txb->posted, reaped);
		}
		if (txb == upto)
			break;
	}
}

/**
 * rchar_lane_tx_put() - drop the references of the send queue, without &rchar_sq.lock
 * @reaped: from rchar_lane_tx_reap()
 */
void rchar_lane_tx_put(struct list_head *reaped)
{
	struct rchar_txbuf *txb;

	while ((txb = list_first_entry_or_null(reaped, struct rchar_txbuf, posted))) {
		list_del_init(&txb->posted);
		rchar_txbuf_put(txb);
	}
}

/* ---- set-up and teardown, without &rchar_sq.lock ---- */

/**
 * rchar_lane_tx_init() - allocate memory for the sending side
 * @lane: a new lane
 *
 * Return: 0 or -ENOMEM; in both cases rchar_lane_tx_free() frees the memory.
 */
int rchar_lane_tx_init(struct rchar_lane *lane)
{
	int i;

	INIT_LIST_HEAD(&lane->tx.posted);
	for (i = 0; i < RCHAR_LANE_CONTROLS; i++) {
		struct rchar_txbuf *txb;

		txb = rchar_txbuf_alloc(RCHAR_OP_CREDIT, sizeof(struct rchar_wire_hello),
					GFP_KERNEL);
		if (!txb)
			return -ENOMEM;
		txb->reserved = true;
		lane->tx.controls[i] = txb;
	}
	return 0;
}

/**
 * rchar_lane_tx_free() - undo rchar_lane_tx_init()
 * @lane: a lane without references
 */
void rchar_lane_tx_free(struct rchar_lane *lane)
{
	int i;

	for (i = 0; i < RCHAR_LANE_CONTROLS; i++)
		if (lane->tx.controls[i])
			rchar_txbuf_put(lane->tx.controls[i]);
}

/**
 * rchar_lane_tx_drained() - unmap the frames in the send queue and drop their references
 * @lane: the lane, drained
 *
 * Context: process.
 */
void rchar_lane_tx_drained(struct rchar_lane *lane)
{
	LIST_HEAD(reaped);

	spin_lock_bh(lane->sq.lock);
	rchar_lane_tx_reap(lane, NULL, &reaped);
	spin_unlock_bh(lane->sq.lock);
	rchar_lane_tx_put(&reaped);
}
