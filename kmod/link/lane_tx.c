// SPDX-License-Identifier: GPL-2.0
/* Frames in the send queue of a lane. Callers hold &rchar_sq.lock unless stated otherwise. */
#include "lane_priv.h"
#include <linux/jiffies.h>
#include <linux/sizes.h>
#include "base/inject.h"
#include "base/trace.h"
#include "sealbuf.h"

/*
 * A lane that yields puts nothing behind two large frames in its send queue, unless the path needs
 * more: one is sent while the completion of the other makes room.
 */
#define YIELD_BYTES (2 * SZ_64K)

/* A frame that brings so many bytes together has a completion, so that the bytes are known soon. */
#define SIGNAL_BYTES SZ_32K

/**
 * rchar_lane_tx_room() - check whether one more frame may be staged
 * @lane: the lane
 *
 * Return: true when the lane is open, and the send queue and the credits allow a frame. On an
 * encrypted lane also no frame may be waiting for its seal, and on no lane for a DMA mapping.
 */
bool rchar_lane_tx_room(struct rchar_lane *lane)
{
	lockdep_assert_held(lane->sq.lock);
	return lane->sq.open && !lane->tx.sealing && !lane->tx.unmapped &&
	       lane->tx.used < lane->limits.frames && rchar_credit_may_send(&lane->tx.credit);
}

/**
 * rchar_lane_tx_full() - check whether the send queue has enough bytes
 * @lane: the lane
 *
 * While the lock is held, the answer changes only by what the caller does.
 *
 * Return: true when frames with a sequence number should wait in their flow.
 */
bool rchar_lane_tx_full(struct rchar_lane *lane)
{
	const struct rchar_lane_tx *tx = &lane->tx;

	lockdep_assert_held(lane->sq.lock);
	return rchar_inflight_full(&tx->inflight) ||
	       (tx->yields && rchar_inflight_enough(&tx->inflight, YIELD_BYTES));
}

static struct rchar_txbuf *idle_control(struct rchar_lane *lane)
{
	int i;

	lockdep_assert_held(lane->sq.lock);
	for (i = 0; i < RCHAR_LANE_CONTROLS; i++)
		if (!smp_load_acquire(&lane->tx.controls[i]->busy)) /* rchar_lane_tx_put() */
			return lane->tx.controls[i];
	return NULL;
}

/**
 * rchar_lane_tx_control_idle() - check whether rchar_lane_tx_control() finds a frame
 * @lane: the lane
 *
 * Return: true when at least one control frame is not in the send queue.
 */
bool rchar_lane_tx_control_idle(struct rchar_lane *lane)
{
	return idle_control(lane);
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
	struct rchar_txbuf *txb = idle_control(lane);

	if (!txb)
		return NULL;
	txb->busy = true;
	memset(&txb->hdr, 0, sizeof(txb->hdr));
	return txb;
}

/*
 * Frames up to this size are sealed with the lock of the flow held: a few microseconds. Larger ones
 * are sealed by &rchar_lane_tx.seal_work. A page of a region is among the small ones.
 */
#define SEAL_NOW_MAX (SZ_4K + sizeof(struct rchar_wire_call))

static bool tx_may_seal(struct rchar_lane *lane, u32 len)
{
	struct rchar_lane_tx *tx = &lane->tx;

	if (len > SEAL_NOW_MAX)
		return false;
	if (tx->spare && tx->spare->capacity < len) {
		rchar_sealbuf_free(tx->spare);
		tx->spare = NULL;
	}
	if (!tx->spare)
		tx->spare = rchar_sealbuf_alloc(len, GFP_NOWAIT | __GFP_NOWARN);
	return tx->spare;
}

/**
 * rchar_lane_tx_seal_later() - let &rchar_lane_tx.seal_work send the frames that wait
 * @lane: an encrypted lane
 */
void rchar_lane_tx_seal_later(struct rchar_lane *lane)
{
	lockdep_assert_held(lane->sq.lock);
	lane->tx.seal_wanted = true;
	queue_work(rchar_seal_wq, &lane->tx.seal_work);
}

/**
 * rchar_lane_tx_may_stage() - may the next frame be staged with the lock held?
 * @lane: an encrypted lane
 * @len: payload bytes of the frame, or an upper bound
 *
 * Return: true; false when the frame is large, or when there is no memory at the moment:
 * &rchar_lane_tx.seal_work, which is queued, sends the frame.
 */
bool rchar_lane_tx_may_stage(struct rchar_lane *lane, u32 len)
{
	lockdep_assert_held(lane->sq.lock);
	if (tx_may_seal(lane, len))
		return true;
	rchar_lane_tx_seal_later(lane);
	return false;
}

static u32 bytes_of(const struct rchar_txbuf *txb)
{
	return sizeof(txb->wire) + txb->hdr.len;
}

/* Is there memory to register on this lane before the frame? */
static bool registers(const struct rchar_lane *lane, const struct rchar_txbuf *txb)
{
	return txb->reg && txb->reg->lane == lane;
}

/**
 * rchar_lane_tx_begin() - give a frame its credits, its ack and its place in the send queue
 * @lane: the lane; rchar_lane_tx_room() returned true
 * @txb: the frame
 * @ack: next sequence number expected from the peer
 */
void rchar_lane_tx_begin(struct rchar_lane *lane, struct rchar_txbuf *txb, u32 ack)
{
	struct rchar_lane_tx *tx = &lane->tx;
	bool large;

	lockdep_assert_held(lane->sq.lock);
	if (tx->trim && rchar_credit_large(&tx->credit))
		tx->trim--;
	txb->hdr.credits = rchar_credit_send(&tx->credit, &large);
	txb->hdr.flags &= ~RCHAR_FRAME_LANE;
	if (txb->hdr.credits && large)
		txb->hdr.flags |= RCHAR_FRAME_LARGE;
	if (tx->want)
		txb->hdr.flags |= RCHAR_FRAME_WANT;
	txb->hdr.ack = ack;
	rchar_hdr_encode(&txb->wire, &txb->hdr);
	rchar_txbuf_get(txb);
	if (txb->hdr.op == RCHAR_OP_PING) {
		rchar_inflight_ping(&tx->inflight, !lane->sq.used);
		tx->ping_late = lane->onesided.used;
	}
	rchar_sq_begin(&lane->sq);
	list_add_tail(&txb->posted, &tx->posted);
	rchar_inflight_queued(&tx->inflight, bytes_of(txb));
	txb->nr_wrs = registers(lane, txb) ? 2 : 1;
	tx->used += txb->nr_wrs;
}

/**
 * rchar_lane_tx_seal() - seal a frame of an encrypted lane
 * @lane: the lane
 * @txb: the frame, after rchar_lane_tx_begin()
 * @buf: memory for the sealed frame; taken over
 *
 * Context: with the flow's lock, or while &rchar_lane_tx.sealing is set.
 * Return: false if the frame is not sealed; rchar_lane_tx_finish() must not be called.
 */
bool rchar_lane_tx_seal(struct rchar_lane *lane, struct rchar_txbuf *txb, struct rchar_sealbuf *buf)
{
	bool plain = txb->hdr.op == RCHAR_OP_HELLO;

	return rchar_txbuf_seal(txb, buf, plain ? NULL : &lane->seal.tx);
}

/**
 * rchar_lane_tx_map() - map a frame, unless it is mapped
 * @lane: the lane
 * @txb: the frame, after rchar_lane_tx_begin(), and sealed if the lane is encrypted
 *
 * If there is no DMA mapping, rchar_lane_tx_finish() tries again.
 *
 * Context: with the flow's lock, or while &rchar_lane_tx.sealing is set.
 * Return: true if the frame is mapped.
 */
bool rchar_lane_tx_map(struct rchar_lane *lane, struct rchar_txbuf *txb)
{
	return txb->nr_mapped ||
	       !rchar_txbuf_map(txb, lane->cm_id->device, lane->pd->local_dma_lkey);
}

/**
 * rchar_lane_tx_fail() - a frame could not be prepared: post nothing more
 * @lane: the lane
 * @reason: why
 */
void rchar_lane_tx_fail(struct rchar_lane *lane, enum rchar_reason reason)
{
	lockdep_assert_held(lane->sq.lock);
	lane->sq.open = false;
	rchar_lane_fail(lane, reason);
}

/* Does the frame get a completion of its own? The last one of a chain always does. */
static bool signaled(struct rchar_lane *lane, const struct rchar_txbuf *txb)
{
	struct rchar_lane_tx *tx = &lane->tx;

	tx->unsignaled += bytes_of(txb);
	if (!lane->limits.iwarp && tx->unsignaled < SIGNAL_BYTES)
		return false;
	tx->unsignaled = 0;
	return true;
}

static void fill_wr(struct rchar_lane *lane, struct rchar_txbuf *txb)
{
	txb->cqe.done = lane->ops->send_done;
	txb->wr = (struct ib_send_wr){
		.wr_cqe = &txb->cqe,
		.sg_list = txb->sge,
		.num_sge = txb->nr_mapped,
		.opcode = IB_WR_SEND,
		.send_flags = signaled(lane, txb) ? IB_SEND_SIGNALED : 0,
	};
	/* On another connection the key is void, and may be another region's. */
	if (txb->invalidates && lane->peer.caps & RCHAR_CAP_INVALIDATE && lane->limits.reg_pages &&
	    txb->invalidate_attempt == lane->self.attempt) {
		txb->wr.opcode = IB_WR_SEND_WITH_INV;
		txb->wr.ex.invalidate_rkey = txb->invalidate_key;
	}
}

/* The work requests of a frame: first the registration of the memory that the frame announces. */
static struct ib_send_wr *first_wr(struct rchar_lane *lane, struct rchar_txbuf *txb)
{
	struct rchar_txbuf_reg *reg = txb->reg;

	if (!registers(lane, txb))
		return &txb->wr;
	txb->reg = NULL;
	reg->posted = true;
	reg->wr.wr.next = &txb->wr;
	return &reg->wr.wr;
}

/**
 * rchar_lane_tx_finish() - add a frame to the chain that rchar_lane_tx_post() posts
 * @lane: the lane
 * @txb: the frame, after rchar_lane_tx_begin(), and sealed if the lane is encrypted
 *
 * On iWARP every frame is signaled. For a large unsignaled request, soft-iWARP passes the pages
 * themselves to TCP (siw_tx_hdt() in drivers/infiniband/sw/siw/siw_qp_tx.c). The frame headers of
 * this module are not whole pages.
 *
 * Without a DMA mapping, as with a full swiotlb, the frame waits for rchar_lane_tx_resume().
 */
void rchar_lane_tx_finish(struct rchar_lane *lane, struct rchar_txbuf *txb)
{
	struct rchar_lane_tx *tx = &lane->tx;
	struct ib_send_wr *wr;

	lockdep_assert_held(lane->sq.lock);
	if (!rchar_lane_tx_map(lane, txb)) {
		WRITE_ONCE(tx->unmapped, txb);
		rchar_lane_tx_retry_later(lane);
		return;
	}
	WRITE_ONCE(tx->unmapped, NULL);
	fill_wr(lane, txb);
	wr = first_wr(lane, txb);
	if (tx->last)
		tx->last->wr.next = wr;
	else
		tx->first = wr;
	tx->last = txb;
	trace_rchar_frame_tx(lane, &txb->hdr);
}

/**
 * rchar_lane_tx_resume() - stage the frame that waits for a DMA mapping, if there is one now
 * @lane: the lane
 */
void rchar_lane_tx_resume(struct rchar_lane *lane)
{
	lockdep_assert_held(lane->sq.lock);
	if (lane->tx.unmapped && lane->sq.open)
		rchar_lane_tx_finish(lane, lane->tx.unmapped);
}

/* Mappings come back with completions of this lane, but other users of the host may have them. */
#define RETRY_MS 10

/**
 * rchar_lane_tx_retry_later() - let &rchar_lane_tx.retry_work post what finds no DMA mapping now
 * @lane: the lane
 *
 * A frame that finds none for long fails the lane, since the send queue makes no progress.
 */
void rchar_lane_tx_retry_later(struct rchar_lane *lane)
{
	lockdep_assert_held(lane->sq.lock);
	if (lane->sq.open)
		queue_delayed_work(rchar_lane_wq, &lane->tx.retry_work, msecs_to_jiffies(RETRY_MS));
}

/**
 * rchar_lane_tx_stage() - begin and finish a frame, and seal it in between if necessary
 * @lane: the lane; rchar_lane_tx_room() and rchar_lane_tx_may_stage() returned true
 * @txb: the frame
 * @ack: next sequence number expected from the peer
 */
void rchar_lane_tx_stage(struct rchar_lane *lane, struct rchar_txbuf *txb, u32 ack)
{
	rchar_lane_tx_begin(lane, txb, ack);
	if (lane->encrypted) {
		bool sealed = rchar_lane_tx_seal(lane, txb, lane->tx.spare);

		lane->tx.spare = NULL;
		if (!sealed) {
			rchar_lane_tx_fail(lane, RCHAR_REASON_ENCRYPTION);
			return;
		}
	}
	rchar_lane_tx_finish(lane, txb);
}

/**
 * rchar_lane_tx_stuck_ms() - get the time since the send queue last made progress
 * @lane: the lane
 *
 * A peer may send frames and nevertheless accept none, by answering receiver-not-ready for ever. Or
 * the peer accepts frames and answers no READ: on iWARP, what is sent after a READ may complete
 * before it. Elsewhere all completes in order.
 *
 * Context: any but hard interrupt, without &rchar_sq.lock.
 * Return: milliseconds without a completion, or on iWARP without one of a READ, whichever is
 * longer; 0 when the send queue is empty.
 */
unsigned int rchar_lane_tx_stuck_ms(struct rchar_lane *lane)
{
	unsigned int ms = 0;

	spin_lock_bh(lane->sq.lock);
	if (lane->sq.used)
		ms = jiffies_to_msecs(jiffies - lane->sq.moved_at);
	if (lane->limits.iwarp && lane->onesided.reads)
		ms = max(ms, jiffies_to_msecs(jiffies - lane->onesided.reads_moved_at));
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
	struct ib_send_wr *first = tx->first;

	lockdep_assert_held(lane->sq.lock);
	if (!first)
		return;
	tx->last->wr.send_flags |= IB_SEND_SIGNALED;
	tx->unsignaled = 0;
	tx->first = NULL;
	tx->last = NULL;
	if (!lane->sq.open)
		return;
	/*
	 * The device may have accepted a prefix of the chain. All frames of the chain are on the
	 * list, and are released only after the drain.
	 */
	if (rchar_inject(RCHAR_FAULT_POST_SEND) || ib_post_send(lane->cm_id->qp, first, &bad)) {
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
 * @reaped: collects frames for rchar_lane_tx_put(), which is called without the lock. No frame is
 *	    posted again before: another lane attaches after this one has been drained.
 */
void rchar_lane_tx_reap(struct rchar_lane *lane, struct rchar_txbuf *upto, struct list_head *reaped)
{
	struct rchar_txbuf *txb, *tmp;
	u32 bytes = 0;

	lockdep_assert_held(lane->sq.lock);
	list_for_each_entry_safe(txb, tmp, &lane->tx.posted, posted) {
		bytes += bytes_of(txb);
		lane->tx.used -= txb->nr_wrs;
		rchar_sq_end(&lane->sq);
		list_move_tail(&txb->posted, reaped);
		if (txb == upto)
			break;
	}
	rchar_inflight_done(&lane->tx.inflight, bytes);
	if (lane->tx.yields)
		lane->tx.yields = time_before64(get_jiffies_64(), lane->tx.yield_until);
}

/**
 * rchar_lane_tx_put() - unmap frames and drop the references of the send queue
 * @lane: the lane
 * @reaped: from rchar_lane_tx_reap()
 *
 * With an IOMMU, to unmap takes long.
 *
 * Context: any but hard interrupt, without &rchar_sq.lock.
 * Return: true if a control frame is idle now: the flow may have waited for it.
 */
bool rchar_lane_tx_put(struct rchar_lane *lane, struct list_head *reaped)
{
	struct rchar_txbuf *txb;
	bool control = false;

	while ((txb = list_first_entry_or_null(reaped, struct rchar_txbuf, posted))) {
		list_del_init(&txb->posted);
		rchar_txbuf_unmap(txb, lane->cm_id->device);
		if (txb->reserved) {
			control = true;
			smp_store_release(&txb->busy, false); /* pairs with idle_control() */
		}
		rchar_txbuf_put(txb); /* of a control frame, never the last reference */
	}
	return control;
}

/* ---- set-up and teardown, without &rchar_sq.lock ---- */

static void seal_work(struct work_struct *work)
{
	struct rchar_lane *lane = container_of(work, struct rchar_lane, tx.seal_work);

	lane->ops->seal(lane);
}

static void retry_work(struct work_struct *work)
{
	struct rchar_lane *lane = container_of(to_delayed_work(work), struct rchar_lane,
					       tx.retry_work);

	lane->ops->retry(lane);
}

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
	rchar_inflight_init(&lane->tx.inflight, 0);
	INIT_WORK(&lane->tx.seal_work, seal_work);
	INIT_DELAYED_WORK(&lane->tx.retry_work, retry_work);
	for (i = 0; i < RCHAR_LANE_CONTROLS; i++) {
		struct rchar_txbuf *txb;

		txb = rchar_txbuf_alloc(RCHAR_OP_CREDIT, sizeof(struct rchar_wire_hello_public),
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

	rchar_sealbuf_free(lane->tx.spare);
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
	WRITE_ONCE(lane->tx.unmapped, NULL);
	rchar_lane_tx_reap(lane, NULL, &reaped);
	spin_unlock_bh(lane->sq.lock);
	rchar_lane_tx_put(lane, &reaped);
}
