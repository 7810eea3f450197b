// SPDX-License-Identifier: GPL-2.0
/*
 * The life cycle of one connection. Every failure, in any context, calls rchar_lane_fail(), which
 * records the first reason and queues the teardown. Only the teardown frees resources. cm.c moves
 * a connecting lane from state to state. flow.c chooses the frames to send. lane_events.c reports
 * events to the link.
 */
#include "lane_priv.h"
#include <linux/sizes.h>
#include <linux/slab.h>
#include "base/inject.h"
#include "base/ledger.h"
#include "base/trace.h"

/* Teardown waits for the CM and the device. Teardown must not share a work queue with work that
 * waits for teardown (destroy_work() in link_life.c).
 */
struct workqueue_struct *rchar_lane_wq;
/* Sealing must not wait behind teardown. */
struct workqueue_struct *rchar_seal_wq;

/* So many bytes of READs, or of WRITEs, keep any device busy for a moment. */
#define ENOUGH_BYTES_MIN SZ_64K

static const struct rchar_lane_ops *lane_ops;

static void free_onesided(struct rchar_lane *lane)
{
	struct rchar_onesided_wr *r, *tmp;

	list_for_each_entry_safe(r, tmp, &lane->onesided.idle, entry)
		kfree(r);
}

static void lane_release(struct kref *ref)
{
	struct rchar_lane *lane = container_of(ref, struct rchar_lane, ref);

	rchar_lane_tx_free(lane);
	rchar_lane_rx_free(lane);
	free_onesided(lane);
	lane->ops->release(lane->link);
	rchar_ledger_del(RCHAR_OBJ_LANE);
	kfree_sensitive(lane);
}

/**
 * rchar_lane_put() - drop a reference
 * @lane: the lane
 */
void rchar_lane_put(struct rchar_lane *lane)
{
	kref_put(&lane->ref, lane_release);
}

/**
 * rchar_lane_move() - change the state of a lane, except to CLOSING
 * @lane: the lane
 * @to: the new state
 *
 * Context: any but hard interrupt.
 * Return: false when the lane is already closing: the caller must stop.
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
 * rchar_lane_fail() - end a lane; no other function does
 * @lane: the lane
 * @reason: why; the lane keeps the first reason
 *
 * Idempotent. The teardown runs on a work queue of its own and finally notifies the link.
 *
 * Context: any but hard interrupt, with any lock held but @lane->lock.
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
	queue_work(rchar_lane_wq, &lane->teardown);
	spin_unlock_bh(&lane->lock);
	trace_rchar_lane_state(lane, from, RCHAR_LANE_CLOSING);
}

static void timer_work(struct work_struct *work)
{
	struct rchar_lane *lane = container_of(to_delayed_work(work), struct rchar_lane, timer);

	if (READ_ONCE(lane->state) < RCHAR_LANE_UP)
		rchar_lane_fail(lane, RCHAR_REASON_TIMEOUT);
}

/* For tests: behave as if the device had found an error. */
static void break_work(struct work_struct *work)
{
	struct rchar_lane *lane = container_of(work, struct rchar_lane, break_work);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	ib_modify_qp(lane->cm_id->qp, &attr, IB_QP_STATE);
}

/* ---- set-up ---- */

static int alloc_onesided(struct rchar_lane *lane)
{
	struct rchar_onesided_wr *r = kzalloc(sizeof(*r), GFP_KERNEL);

	if (!r)
		return -ENOMEM;
	list_add(&r->entry, &lane->onesided.idle);
	return 0;
}

static void init_onesided(struct rchar_lane_onesided *o)
{
	int i;

	INIT_LIST_HEAD(&o->idle);
	INIT_LIST_HEAD(&o->busy);
	for (i = 0; i < ARRAY_SIZE(o->inflight); i++)
		rchar_inflight_init(&o->inflight[i], ENOUGH_BYTES_MIN);
}

static void teardown_work(struct work_struct *work);

static void lane_connect_work(struct work_struct *work)
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

static void device_port_down(struct rchar_ibdev_user *user, u32 port)
{
	struct rchar_lane *lane = container_of(user, struct rchar_lane, ibdev_user);

	if (lane->port == port)
		rchar_lane_fail(lane, RCHAR_REASON_PORT_DOWN);
}

static void lane_sq_fail(struct rchar_sq *sq, enum rchar_reason reason)
{
	rchar_lane_fail(container_of(sq, struct rchar_lane, sq), reason);
}

static void sinks_ready(struct rchar_sinks *sinks)
{
	struct rchar_lane *lane = container_of(sinks, struct rchar_lane, onesided.sinks);

	lane->ops->sinks_ready(lane);
}

/**
 * rchar_lane_create() - create a lane without a connection
 * @link: the link of the lane. The lane takes over a reference, which &rchar_lane_ops.release
 *	  drops, also when this function fails.
 * @flow: the flow that the lane will carry
 * @flow_lock: lock of @flow; protects the send queue
 * @index: index of the lane in the link
 * @depth: the most receive buffers, and frames in the send queue
 * @initiator: this host sends the connection request
 *
 * Context: process.
 * Return: the lane in state INIT, with one reference, or NULL. The caller sets @cm_id and calls
 * rchar_lane_start(). Before that, rchar_lane_put() frees the lane.
 */
struct rchar_lane *rchar_lane_create(struct rchar_link *link, struct rchar_flow *flow,
				     spinlock_t *flow_lock, u8 index, u16 depth, bool initiator)
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
	lane->depth = depth;
	lane->initiator = initiator;
	lane->state = RCHAR_LANE_INIT;
	lane->last_rx = jiffies;
	spin_lock_init(&lane->lock);
	lane->ibdev_user.removed = device_removed;
	lane->ibdev_user.port_down = device_port_down;
	INIT_LIST_HEAD(&lane->accepting_entry);
	init_onesided(&lane->onesided);
	init_completion(&lane->started);
	lane->sq.lock = flow_lock;
	lane->sq.fail = lane_sq_fail;
	for (i = 0; i < RCHAR_MRS_KINDS; i++)
		rchar_mrs_init(&lane->mrs[i], &lane->sq);
	rchar_sinks_init(&lane->onesided.sinks, &lane->sq, rchar_lane_wq, sinks_ready);
	INIT_WORK(&lane->teardown, teardown_work);
	INIT_WORK(&lane->connect_work, lane_connect_work);
	INIT_WORK(&lane->adopt_work, adopt_work);
	INIT_WORK(&lane->break_work, break_work);
	INIT_DELAYED_WORK(&lane->timer, timer_work);
	if (rchar_lane_tx_init(lane) || rchar_lane_rx_init(lane) || alloc_onesided(lane)) {
		rchar_lane_put(lane);
		return NULL;
	}
	return lane;
}

/**
 * rchar_lane_start() - start the timer; from now on only rchar_lane_fail() ends the lane
 * @lane: a lane with its cm_id. The caller's reference becomes that of the cm_id.
 *
 * The caller finally calls complete(&lane->started) and must not use the lane after that.
 */
void rchar_lane_start(struct rchar_lane *lane)
{
	queue_delayed_work(rchar_lane_wq, &lane->timer, msecs_to_jiffies(RCHAR_LANE_TIMEOUT_MS));
}

/**
 * rchar_lane_connect() - let &rchar_lane.connect_work go on
 * @lane: a lane whose route is resolved, or of a request that is not refused
 *
 * Context: CM event handler of @lane->cm_id.
 */
void rchar_lane_connect(struct rchar_lane *lane)
{
	queue_work(rchar_lane_wq, &lane->connect_work);
}

/* The log says what the device refused: "device-limits" alone helps nobody. */
static int verb_failed(struct rchar_lane *lane, const char *verb, int error,
		       const struct ib_qp_cap *cap)
{
	pr_warn_ratelimited(
		"%s: %s() failed with %d: max_send_wr %u, max_recv_wr %u, max_send_sge %u, max_recv_sge %u\n",
		lane->device, verb, error, cap->max_send_wr, cap->max_recv_wr, cap->max_send_sge,
		cap->max_recv_sge);
	return error;
}

/*
 * The frames of an encrypted lane are decrypted where completions are processed: not in a soft
 * interrupt. The core has no pool of completion queues for its unbound work queue.
 */
static bool has_own_cq(const struct rchar_lane *lane)
{
	return lane->encrypted || lane->limits.own_cq;
}

/*
 * Get a completion queue with room for a completion of every request of both queues: an overflow
 * is silent. The core shares completion queues among lanes, and takes the device's completion
 * vectors in turns, so lanes do not all complete on one CPU.
 */
static int get_cq(struct rchar_lane *lane, struct ib_device *dev, unsigned int nr_cqe)
{
	struct ib_cq *cq;

	if (has_own_cq(lane))
		cq = ib_alloc_cq_any(dev, NULL, nr_cqe, IB_POLL_UNBOUND_WORKQUEUE);
	else
		cq = ib_cq_pool_get(dev, nr_cqe, -1, IB_POLL_SOFTIRQ);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	lane->cq = cq;
	lane->nr_cqe = nr_cqe;
	lane->vector = cq->comp_vector;
	return 0;
}

static void put_cq(struct rchar_lane *lane)
{
	if (!lane->cq)
		return;
	if (has_own_cq(lane))
		ib_free_cq(lane->cq);
	else
		ib_cq_pool_put(lane->cq, lane->nr_cqe);
	lane->cq = NULL;
}

static int create_qp(struct rchar_lane *lane, struct ib_device *dev)
{
	const struct rchar_limits *limits = &lane->limits;
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_context = lane,
		.cap = {
			.max_send_wr = rchar_limits_send_wr(limits),
			.max_recv_wr = limits->depth + 1, /* one for the drain */
			.max_send_sge = limits->send_sge,
			.max_recv_sge = limits->chunks + !limits->joined,
		},
	};
	int ret;

	lane->pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(lane->pd)) {
		ret = PTR_ERR(lane->pd);
		lane->pd = NULL;
		return verb_failed(lane, "ib_alloc_pd", ret, &attr.cap);
	}
	rchar_mrs_setup(&lane->mrs[RCHAR_MRS_MANY], lane->pd, 0);
	rchar_mrs_setup(&lane->mrs[RCHAR_MRS_ONE], lane->pd, limits->rndv_pages);
	rchar_sinks_setup(&lane->onesided.sinks, lane->pd, limits);
	ret = rchar_inject_verbs();
	if (ret)
		return ret;
	ret = get_cq(lane, dev, attr.cap.max_send_wr + attr.cap.max_recv_wr);
	if (ret)
		return verb_failed(lane, has_own_cq(lane) ? "ib_alloc_cq" : "ib_cq_pool_get", ret,
				   &attr.cap);
	attr.send_cq = lane->cq;
	attr.recv_cq = lane->cq;
	ret = rchar_inject_verbs();
	if (ret)
		return ret;
	ret = rdma_create_qp(lane->cm_id, lane->pd, &attr);
	if (ret)
		return verb_failed(lane, "rdma_create_qp", ret, &attr.cap);
	lane->sq.qp = lane->cm_id->qp;
	lane->qpn = lane->sq.qp->qp_num;
	return 0;
}

/**
 * rchar_lane_setup() - create the verbs objects and fill the receive buffers of an idle lane
 * @lane: a lane whose cm_id is bound to a device
 *
 * Context: process. The teardown of the lane waits for the caller. On failure the caller calls
 * rchar_lane_fail(), and teardown frees what has been created.
 * Return: 0; -ENODEV when the device is being removed; the error of rchar_limits_get() or of a
 * verb, which the log explains.
 */
int rchar_lane_setup(struct rchar_lane *lane)
{
	struct ib_device *dev = lane->cm_id->device;
	int ret;

	strscpy(lane->device, dev_name(&dev->dev), sizeof(lane->device));
	lane->port = lane->cm_id->port_num;
	ret = rchar_limits_get(&lane->limits, dev, lane->port, lane->depth);
	if (ret)
		return ret;
	lane->ibdev = rchar_ibdev_attach(dev, &lane->ibdev_user);
	if (!lane->ibdev)
		return -ENODEV;
	ret = create_qp(lane, dev);
	if (ret)
		return ret;
	return rchar_lane_rx_open(lane);
}

/* ---- teardown ---- */

/*
 * Has the queue pair left INIT? Over iWARP its driver does not say so before the CM does: a
 * connection that is on its way has to be ended by the drain.
 */
static bool was_connected(struct rchar_lane *lane)
{
	return lane->accepted || lane->limits.iwarp || READ_ONCE(lane->cm_connected);
}

/*
 * End all work requests. A queue pair that was never connected has none (rchar_lane_rx_start()). It
 * is not drained: qedr completes nothing of it (qed_roce_modify_qp() tells the adapter nothing of a
 * queue pair in INIT that goes to ERR), so ib_drain_qp() would wait for ever.
 */
static void end_qp(struct rchar_lane *lane)
{
	if (!was_connected(lane))
		return;
	rdma_disconnect(lane->cm_id);
	ib_drain_qp(lane->cm_id->qp);
}

/* Nothing is posted any more: drain both queues, then release their frames and buffers. */
static void lane_drain(struct rchar_lane *lane)
{
	rchar_lane_rx_close(lane);
	cancel_work_sync(&lane->break_work);
	cancel_work_sync(&lane->tx.seal_work);
	cancel_delayed_work_sync(&lane->tx.retry_work);
	rchar_sinks_stop(&lane->onesided.sinks);
	if (lane->cm_id->qp)
		end_qp(lane);
	rchar_lane_tx_drained(lane);
	lane->ops->drained(lane);
	rchar_lane_rx_drained(lane);
	memzero_explicit(&lane->seal, sizeof(lane->seal));
}

static void teardown_work(struct work_struct *work)
{
	struct rchar_lane *lane = container_of(work, struct rchar_lane, teardown);
	struct rdma_cm_id *id;
	int i;

	lane->ops->detach(lane);
	/* The lane may have failed while being started: let the start finish. */
	wait_for_completion(&lane->started);
	id = lane->cm_id;
	cancel_delayed_work_sync(&lane->timer);
	/* A handler that was running when the lane failed has finished once this lock is acquired.
	 * Later handlers see the state and do nothing.
	 */
	rdma_lock_handler(id);
	rdma_unlock_handler(id);
	cancel_work_sync(&lane->connect_work);
	cancel_work_sync(&lane->adopt_work);
	/* One of the above may have attached the lane after the first detach. */
	lane->ops->detach(lane);
	if (lane->ibdev)
		lane_drain(lane);
	for (i = 0; lane->pd && i < RCHAR_MRS_KINDS; i++)
		rchar_mrs_gone(&lane->mrs[i]);
	rchar_sinks_gone(&lane->onesided.sinks);
	if (id->qp)
		rdma_destroy_qp(id);
	/* Let the link reconnect now; the rest may take longer. */
	lane->ops->gone(lane);
	put_cq(lane);
	if (lane->pd)
		ib_dealloc_pd(lane->pd);
	/* Waits for a running handler; afterwards no handler runs. */
	rdma_destroy_id(id);
	if (lane->ibdev)
		rchar_ibdev_detach(lane->ibdev, &lane->ibdev_user);
	rchar_lane_move(lane, RCHAR_LANE_DEAD);
	rchar_lane_put(lane); /* for the cm_id */
}

/**
 * rchar_lane_init() - initialize at module load
 * @ops: callbacks for events of all lanes
 *
 * Return: 0 or -ENOMEM.
 */
int rchar_lane_init(const struct rchar_lane_ops *ops)
{
	lane_ops = ops;
	rchar_lane_wq = alloc_workqueue("rchar_lane", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rchar_lane_wq)
		return -ENOMEM;
	rchar_seal_wq = alloc_workqueue("rchar_seal", WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	if (rchar_seal_wq)
		return 0;
	destroy_workqueue(rchar_lane_wq);
	return -ENOMEM;
}

/**
 * rchar_lane_exit() - clean up at module unload, when no lane is left
 */
void rchar_lane_exit(void)
{
	destroy_workqueue(rchar_seal_wq);
	destroy_workqueue(rchar_lane_wq);
}
