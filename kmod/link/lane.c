// SPDX-License-Identifier: GPL-2.0
/*
 * The life of one connection. Everything that goes wrong, in any context, ends in
 * rchar_lane_fail(): it records the first reason and queues the teardown, which is the
 * only place that frees. cm.c moves a lane along while it connects, flow.c decides
 * what it sends, and lane_events.c tells the link what becomes of it.
 */
#include "lane.h"
#include <linux/slab.h>
#include "base/inject.h"
#include "base/ledger.h"
#include "base/trace.h"

#define RTU_MS		1000	/* the RTU may come so long after the first frame */
#define STOP_REP_MS	2000	/* a CM that was notified gets so long to stop its REP */

/* Teardown waits for the CM and the device; it must not share a queue with what waits
 * for teardown (link.c).
 */
static struct workqueue_struct *lane_wq;
static const struct rchar_lane_ops *lane_ops;

static void release(struct kref *ref)
{
	struct rchar_lane *lane = container_of(ref, struct rchar_lane, ref);
	int i;

	for (i = 0; i < RCHAR_LANE_CONTROLS; i++)
		if (lane->tx.controls[i])
			rchar_txbuf_put(lane->tx.controls[i]);
	kfree(lane->rxbufs);
	kfree(lane->hdrs);
	kfree(lane->onesided.slots);
	lane->ops->release(lane->link);
	rchar_ledger_del(RCHAR_OBJ_LANE);
	kfree(lane);
}

/**
 * rchar_lane_put() - drop a reference
 * @lane: the lane
 */
void rchar_lane_put(struct rchar_lane *lane)
{
	kref_put(&lane->ref, release);
}

/**
 * rchar_lane_move() - the one place where a lane changes state
 * @lane: the lane
 * @to: the new state
 *
 * Context: any but hard interrupt.
 * Return: false when the lane is already closing: the caller stops what it does.
 */
bool rchar_lane_move(struct rchar_lane *lane, enum rchar_lane_state to)
{
	enum rchar_lane_state from;
	bool ok;

	spin_lock_bh(&lane->lock);
	from = lane->state;
	ok = rchar_lane_move_legal(from, to);
	if (ok)
		WRITE_ONCE(lane->state, to);
	spin_unlock_bh(&lane->lock);
	if (ok)
		trace_rchar_lane_state(lane, from, to);
	else
		WARN_ONCE(from < RCHAR_LANE_CLOSING, "lane: illegal move %s to %s\n",
			  rchar_lane_state_name(from), rchar_lane_state_name(to));
	return ok;
}

/**
 * rchar_lane_fail() - the one way for a lane to end
 * @lane: the lane
 * @reason: why; the first one stays
 *
 * Idempotent. The teardown runs on a work queue of its own; when it is done the link
 * hears of it.
 *
 * Context: any but hard interrupt, any locks but @lane->lock.
 */
void rchar_lane_fail(struct rchar_lane *lane, enum rchar_reason reason)
{
	enum rchar_lane_state from;

	spin_lock_bh(&lane->lock);
	from = lane->state;
	if (from >= RCHAR_LANE_CLOSING) {
		spin_unlock_bh(&lane->lock);
		return;
	}
	WRITE_ONCE(lane->reason, reason);
	WRITE_ONCE(lane->state, RCHAR_LANE_CLOSING);
	queue_work(lane_wq, &lane->teardown);
	spin_unlock_bh(&lane->lock);
	trace_rchar_lane_state(lane, from, RCHAR_LANE_CLOSING);
}

static void timer_work(struct work_struct *work)
{
	struct rchar_lane *lane = container_of(to_delayed_work(work),
					       struct rchar_lane, timer);

	if (READ_ONCE(lane->state) < RCHAR_LANE_UP)
		rchar_lane_fail(lane, RCHAR_REASON_TIMEOUT);
}

/* ---- receive ---- */

/* Under rx_lock. */
static int post_one(struct rchar_lane *lane, struct rchar_rxbuf *rxb)
{
	struct ib_sge sge[1 + RCHAR_FRAME_CHUNKS];
	struct ib_recv_wr wr = { .wr_cqe = &rxb->cqe, .sg_list = sge };
	u32 lkey = lane->pd->local_dma_lkey;
	int i;

	if (rchar_inject(RCHAR_FAULT_POST_RECV))
		return -ENOMEM;
	rchar_rxbuf_sync_for_device(rxb, lane->cm_id->device);
	sge[0] = (struct ib_sge){ rxb->hdr_dma, sizeof(*rxb->hdr), lkey };
	for (i = 0; i < RCHAR_FRAME_CHUNKS; i++)
		sge[i + 1] = (struct ib_sge){ rxb->dma[i], RCHAR_CHUNK_SIZE, lkey };
	wr.num_sge = i + 1;
	return ib_post_recv(lane->cm_id->qp, &wr, NULL);
}

static bool post_rxbuf(struct rchar_lane *lane, struct rchar_rxbuf *rxb, gfp_t gfp)
{
	bool filled = !rchar_rxbuf_fill(rxb, lane->cm_id->device, gfp);
	bool posted = false;

	spin_lock_bh(&lane->rx_lock);
	if (lane->rx_open && filled) {
		posted = !post_one(lane, rxb);
		if (!posted)
			rchar_lane_fail(lane, RCHAR_REASON_QP_ERROR);
	} else if (lane->rx_open) {
		list_add_tail(&rxb->entry, &lane->refill);
		queue_work(lane_wq, &lane->refill_work);
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
 * rchar_lane_repost() - give a buffer back to the queue pair, with fresh pages for those taken
 * @lane: the lane
 * @rxb: the buffer
 *
 * Context: any but hard interrupt.
 * Return: true when it was posted, that is, when the peer earns a credit. Otherwise the lane
 * is going, or rchar_lane_ops.reposted() will be called.
 */
bool rchar_lane_repost(struct rchar_lane *lane, struct rchar_rxbuf *rxb)
{
	return post_rxbuf(lane, rxb, GFP_NOWAIT | __GFP_NOWARN);
}

/*
 * The CM takes the connection for established without the RTU (IBTA vol 1, 12.9.7;
 * soft-RoCE raises no event for it). Until then it sends its REP again and again, and gives
 * up in the end. The CM's locks are not for soft interrupts.
 */
static void notify_work(struct work_struct *work)
{
	struct rchar_lane *lane = container_of(to_delayed_work(work), struct rchar_lane,
					       notify_work);

	if (READ_ONCE(lane->state) < RCHAR_LANE_CLOSING &&
	    !completion_done(&lane->cm_connected))
		lane->notified = !rdma_notify(lane->cm_id, IB_EVENT_COMM_EST);
}

/**
 * rchar_lane_notify_cm() - a frame came before the CM's RTU, which may be lost
 * @lane: an acceptor's
 */
void rchar_lane_notify_cm(struct rchar_lane *lane)
{
	queue_delayed_work(lane_wq, &lane->notify_work, msecs_to_jiffies(RTU_MS));
}

/* ---- send; all of it with &rchar_sq.lock ---- */

/**
 * rchar_lane_tx_room() - may one more frame be staged?
 * @lane: the lane
 */
bool rchar_lane_tx_room(struct rchar_lane *lane)
{
	lockdep_assert_held(lane->sq.lock);
	return lane->sq.open && lane->tx.used < RCHAR_LANE_SQ &&
	       rchar_credit_may_send(&lane->tx.credit);
}

/**
 * rchar_lane_tx_control() - a frame for one of the lane's own ops
 * @lane: the lane
 *
 * Return: an idle one, or NULL when all are in the send queue: a completion will
 * come.
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
 * rchar_lane_tx_stage() - add a frame to the chain that the next post sends
 * @lane: the lane; rchar_lane_tx_room() said yes
 * @txb: the frame
 * @ack: next sequence number expected from the peer
 *
 * On iWARP all are signaled: of a large unsignaled request soft-iWARP hands the pages
 * themselves to TCP (siw_tx_hdt() in drivers/infiniband/sw/siw/siw_qp_tx.c), and our
 * headers are not pages.
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
 * rchar_lane_tx_stuck_ms() - how long the send queue has stood still
 * @lane: the lane
 *
 * A peer may answer and all the same not take what we send, with receiver-not-ready for
 * ever.
 *
 * Return: milliseconds; 0 when there is nothing in it.
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
 * The last of a chain is signaled, and so a completion always comes that frees every
 * slot of the send queue: nothing can wait for room for ever. Earlier frames complete
 * with it (IBTA vol 1, 10.8.6: in order).
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
	/* A prefix may have been accepted: they are all on the list, and freed only
	 * after the drain.
	 */
	if (rchar_inject(RCHAR_FAULT_POST_SEND) ||
	    ib_post_send(lane->cm_id->qp, &first->wr, &bad)) {
		lane->sq.open = false;
		rchar_lane_fail(lane, RCHAR_REASON_QP_ERROR);
	} else if (rchar_inject(RCHAR_FAULT_QP)) {
		queue_work(lane_wq, &lane->break_work);
	}
}

/* For tests: as if the device had found an error. */
static void break_work(struct work_struct *work)
{
	struct rchar_lane *lane = container_of(work, struct rchar_lane, break_work);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	ib_modify_qp(lane->cm_id->qp, &attr, IB_QP_STATE);
}

/**
 * rchar_lane_tx_reap() - take frames that are sent off the send queue
 * @lane: the lane
 * @upto: the last one that completed, or NULL for all, after a drain
 * @reaped: collects those to put, which is done without the lock
 */
void rchar_lane_tx_reap(struct rchar_lane *lane, struct rchar_txbuf *upto,
			struct list_head *reaped)
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
			rchar_txbuf_put(txb);	/* never the last */
		} else {
			list_move_tail(&txb->posted, reaped);
		}
		if (txb == upto)
			break;
	}
}

/**
 * rchar_lane_tx_put() - drop the send queue's references, without the lock
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

/* ---- set-up ---- */

static int alloc_controls(struct rchar_lane *lane)
{
	int i;

	for (i = 0; i < RCHAR_LANE_CONTROLS; i++) {
		struct rchar_txbuf *txb;

		txb = rchar_txbuf_alloc(RCHAR_OP_CREDIT,
					sizeof(struct rchar_wire_hello), GFP_KERNEL);
		if (!txb)
			return -ENOMEM;
		txb->reserved = true;
		lane->tx.controls[i] = txb;
	}
	return 0;
}

static int alloc_rxbufs(struct rchar_lane *lane)
{
	int i;

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

static int alloc_rdma(struct rchar_lane *lane)
{
	int i;

	INIT_LIST_HEAD(&lane->onesided.idle);
	lane->onesided.slots = kcalloc(RCHAR_LANE_ONESIDED, sizeof(*lane->onesided.slots), GFP_KERNEL);
	if (!lane->onesided.slots)
		return -ENOMEM;
	for (i = 0; i < RCHAR_LANE_ONESIDED; i++)
		list_add_tail(&lane->onesided.slots[i].entry, &lane->onesided.idle);
	return 0;
}

static void teardown_work(struct work_struct *work);

static void connect_work(struct work_struct *work)
{
	struct rchar_lane *lane = container_of(work, struct rchar_lane, connect_work);

	lane->ops->connect(lane);
}

static void adopt_work(struct work_struct *work)
{
	struct rchar_lane *lane = container_of(work, struct rchar_lane, adopt_work);

	lane->ops->adopt(lane);
}

static void device_removed(struct rchar_ibdev_user *user)
{
	rchar_lane_fail(container_of(user, struct rchar_lane, ibdev_user),
			RCHAR_REASON_DEVICE_REMOVED);
}

static void sq_fail(struct rchar_sq *sq, enum rchar_reason reason)
{
	rchar_lane_fail(container_of(sq, struct rchar_lane, sq), reason);
}

/**
 * rchar_lane_create() - a lane without a connection
 * @link: whose lane it will be; &rchar_lane_ops.release gets it back in the end, also when
 *	  this fails
 * @flow: what it will carry
 * @flow_lock: of @flow, protects the send queue
 * @index: which lane of the link
 * @initiator: this side calls
 *
 * Context: process.
 * Return: the lane in state INIT, with one reference, or NULL. The caller sets @cm_id
 * and calls rchar_lane_start(); before that, rchar_lane_put() undoes.
 */
struct rchar_lane *rchar_lane_create(struct rchar_link *link, struct rchar_flow *flow,
				     spinlock_t *flow_lock, u8 index, bool initiator)
{
	struct rchar_lane *lane = kzalloc(sizeof(*lane), GFP_KERNEL);
	int i;

	if (!lane) {
		lane_ops->release(link);
		return NULL;
	}
	rchar_ledger_add(RCHAR_OBJ_LANE);
	kref_init(&lane->ref);
	lane->ops = lane_ops;
	lane->link = link;
	lane->flow = flow;
	lane->index = index;
	lane->initiator = initiator;
	lane->state = RCHAR_LANE_INIT;
	lane->frame_size = RCHAR_FRAME_SIZE;
	lane->last_rx = jiffies;
	spin_lock_init(&lane->lock);
	spin_lock_init(&lane->rx_lock);
	lane->ibdev_user.removed = device_removed;
	INIT_LIST_HEAD(&lane->accepting_entry);
	INIT_LIST_HEAD(&lane->tx.posted);
	INIT_LIST_HEAD(&lane->refill);
	init_completion(&lane->started);
	init_completion(&lane->cm_connected);
	lane->sq.lock = flow_lock;
	lane->sq.fail = sq_fail;
	for (i = 0; i < RCHAR_MRS_KINDS; i++)
		rchar_mrs_init(&lane->mrs[i], &lane->sq);
	INIT_WORK(&lane->teardown, teardown_work);
	INIT_WORK(&lane->connect_work, connect_work);
	INIT_WORK(&lane->adopt_work, adopt_work);
	INIT_WORK(&lane->refill_work, refill_work);
	INIT_WORK(&lane->break_work, break_work);
	INIT_DELAYED_WORK(&lane->notify_work, notify_work);
	INIT_DELAYED_WORK(&lane->timer, timer_work);
	if (alloc_controls(lane) || alloc_rxbufs(lane) || alloc_rdma(lane)) {
		rchar_lane_put(lane);
		return NULL;
	}
	return lane;
}

/**
 * rchar_lane_start() - from here on the lane ends only by rchar_lane_fail()
 * @lane: a lane with its cm_id; the caller's reference becomes the cm_id's
 *
 * The caller ends with complete(&lane->started) and touches the lane no more.
 */
void rchar_lane_start(struct rchar_lane *lane)
{
	queue_delayed_work(lane_wq, &lane->timer,
			   msecs_to_jiffies(RCHAR_LANE_TIMEOUT_MS));
}

/**
 * rchar_lane_connect() - go on in process context of our own
 * @lane: an initiator's lane whose route is resolved
 *
 * Context: CM event handler of @lane->cm_id.
 */
void rchar_lane_connect(struct rchar_lane *lane)
{
	queue_work(lane_wq, &lane->connect_work);
}

/* Of registrations a batch of the one kind, and one of the other. */
#define SQ_SIZE	(RCHAR_LANE_SQ + RCHAR_LANE_ONESIDED + RCHAR_MR_BATCH + 1)

static int create_qp(struct rchar_lane *lane, struct ib_device *dev)
{
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = {
			/* one more of each for the drain */
			.max_send_wr = SQ_SIZE + 1,
			.max_recv_wr = RCHAR_LANE_DEPTH + 1,
			.max_send_sge = max_t(u32, 1 + RCHAR_FRAME_CHUNKS, lane->rdma_sge),
			.max_recv_sge = 1 + RCHAR_FRAME_CHUNKS,
		},
	};
	int vector = lane->index % dev->num_comp_vectors;
	int ret;

	lane->pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(lane->pd)) {
		ret = PTR_ERR(lane->pd);
		lane->pd = NULL;
		return ret;
	}
	rchar_mrs_setup(&lane->mrs[RCHAR_MRS_MANY], lane->pd, 0);
	rchar_mrs_setup(&lane->mrs[RCHAR_MRS_ONE], lane->pd, RCHAR_MR_PAGES);
	ret = rchar_inject_verbs();
	if (ret)
		return ret;
	/* Every request of both queues may complete: an overflow would be silent. */
	lane->cq = ib_alloc_cq(dev, lane, SQ_SIZE + RCHAR_LANE_DEPTH + 2, vector,
			       IB_POLL_SOFTIRQ);
	if (IS_ERR(lane->cq)) {
		ret = PTR_ERR(lane->cq);
		lane->cq = NULL;
		return ret;
	}
	attr.send_cq = lane->cq;
	attr.recv_cq = lane->cq;
	ret = rchar_inject_verbs() ?: rdma_create_qp(lane->cm_id, lane->pd, &attr);
	if (ret)
		return ret;
	lane->sq.qp = lane->cm_id->qp;
	lane->qpn = lane->sq.qp->qp_num;
	return 0;
}

static int post_all(struct rchar_lane *lane, struct ib_device *dev)
{
	int i, ret;

	lane->hdrs_dma = ib_dma_map_single(dev, lane->hdrs,
					   RCHAR_LANE_DEPTH * sizeof(*lane->hdrs),
					   DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(dev, lane->hdrs_dma)) {
		lane->hdrs_dma = 0;
		return -ENOMEM;
	}
	lane->rx_open = true;
	for (i = 0; i < RCHAR_LANE_DEPTH; i++) {
		struct rchar_rxbuf *rxb = &lane->rxbufs[i];

		rxb->dev = dev;
		rxb->hdr_dma = lane->hdrs_dma + i * sizeof(*lane->hdrs);
		ret = rchar_rxbuf_fill(rxb, dev, GFP_KERNEL);
		if (ret)
			return ret;
		spin_lock_bh(&lane->rx_lock);
		ret = post_one(lane, rxb);
		spin_unlock_bh(&lane->rx_lock);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * rchar_lane_setup() - create the verbs objects and post all receive buffers
 * @lane: a lane whose cm_id is bound to a device
 *
 * Before connect and accept, so that no frame can arrive without a buffer.
 *
 * Context: with the handler lock of @lane->cm_id. On failure the caller calls
 * rchar_lane_fail(), and teardown frees what exists.
 * Return: 0, -ENODEV when the device is being removed, or what verbs said.
 */
int rchar_lane_setup(struct rchar_lane *lane)
{
	struct ib_device *dev = lane->cm_id->device;
	int ret;

	lane->signal_all = rdma_protocol_iwarp(dev, lane->cm_id->port_num);
	strscpy(lane->device, dev_name(&dev->dev), sizeof(lane->device));
	lane->port = lane->cm_id->port_num;
	lane->atomics = dev->attrs.atomic_cap != IB_ATOMIC_NONE && !lane->signal_all;
	lane->rdma_sge = min_t(int, dev->attrs.max_send_sge, RCHAR_ONESIDED_SGE);
	lane->rdma_sge_rd = clamp_t(int, dev->attrs.max_sge_rd, 1, lane->rdma_sge);
	lane->ibdev = rchar_ibdev_attach(dev, &lane->ibdev_user);
	if (!lane->ibdev)
		return -ENODEV;
	ret = create_qp(lane, dev);
	if (ret)
		return ret;
	return post_all(lane, dev);
}

/* ---- teardown ---- */

/*
 * The CM that was notified stops its REP a little later, and only of a connection that still
 * is one (cm_establish_handler() in drivers/infiniband/core/cm.c). Disconnected before, it
 * would send the REP for a minute, and rdma_destroy_id(), and the removal of the device,
 * would wait for that. Without either, rdma_destroy_id() refuses, and stops it.
 */
static void stop_rep(struct rchar_lane *lane)
{
	if (lane->notified)
		wait_for_completion_timeout(&lane->cm_connected,
					    msecs_to_jiffies(STOP_REP_MS));
}

/* Nobody posts any more: what the queues hold comes out, then belongs to us. */
static void drain(struct rchar_lane *lane)
{
	struct ib_device *dev = lane->cm_id->device;
	LIST_HEAD(reaped);
	int i;

	spin_lock_bh(&lane->rx_lock);
	lane->rx_open = false;
	spin_unlock_bh(&lane->rx_lock);
	cancel_work_sync(&lane->refill_work);
	cancel_work_sync(&lane->break_work);
	cancel_delayed_work_sync(&lane->notify_work);
	if (lane->cm_id->qp) {
		stop_rep(lane);
		rdma_disconnect(lane->cm_id);
		ib_drain_qp(lane->cm_id->qp);
	}
	/* A completion may have queued it again. */
	cancel_delayed_work_sync(&lane->notify_work);
	spin_lock_bh(lane->sq.lock);
	rchar_lane_tx_reap(lane, NULL, &reaped);
	spin_unlock_bh(lane->sq.lock);
	rchar_lane_tx_put(&reaped);
	lane->ops->drained(lane);
	for (i = 0; i < RCHAR_LANE_DEPTH; i++)
		rchar_rxbuf_empty(&lane->rxbufs[i], dev);
	if (lane->hdrs_dma)
		ib_dma_unmap_single(dev, lane->hdrs_dma,
				    RCHAR_LANE_DEPTH * sizeof(*lane->hdrs),
				    DMA_FROM_DEVICE);
}

static void teardown_work(struct work_struct *work)
{
	struct rchar_lane *lane = container_of(work, struct rchar_lane, teardown);
	struct rdma_cm_id *id;
	int i;

	lane->ops->detach(lane);
	/* Failed while it was being started: that comes to its end first. */
	wait_for_completion(&lane->started);
	id = lane->cm_id;
	cancel_delayed_work_sync(&lane->timer);
	/* A handler that was creating the queue pair when the lane failed is done
	 * when this lock is ours; later ones see the state and do nothing.
	 */
	rdma_lock_handler(id);
	rdma_unlock_handler(id);
	cancel_work_sync(&lane->connect_work);
	cancel_work_sync(&lane->adopt_work);
	/* It may have attached the lane after all. */
	lane->ops->detach(lane);
	if (lane->ibdev)
		drain(lane);
	for (i = 0; lane->pd && i < RCHAR_MRS_KINDS; i++)
		rchar_mrs_gone(&lane->mrs[i]);
	if (id->qp)
		rdma_destroy_qp(id);
	if (lane->cq)
		ib_free_cq(lane->cq);
	if (lane->pd)
		ib_dealloc_pd(lane->pd);
	/* The link may connect again; the CM can take longer. */
	lane->ops->gone(lane);
	/* Waits for a running handler; none comes after it. */
	rdma_destroy_id(id);
	if (lane->ibdev)
		rchar_ibdev_detach(lane->ibdev, &lane->ibdev_user);
	rchar_lane_move(lane, RCHAR_LANE_DEAD);
	rchar_lane_put(lane);	/* the cm_id's */
}

/**
 * rchar_lane_init() - at module load
 * @ops: who is told of the lives of lanes
 */
int rchar_lane_init(const struct rchar_lane_ops *ops)
{
	lane_ops = ops;
	lane_wq = alloc_workqueue("rchar_lane", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return lane_wq ? 0 : -ENOMEM;
}

/**
 * rchar_lane_exit() - at module unload, when no lane is left
 */
void rchar_lane_exit(void)
{
	destroy_workqueue(lane_wq);
}
