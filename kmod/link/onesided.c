// SPDX-License-Identifier: GPL-2.0
#include "onesided.h"
#include <linux/slab.h>
#include "base/inject.h"
#include "base/trace.h"
#include "dma.h"
#include "flow.h"
#include "lane.h"
#include "uapi/linux/rdma_char.h"

/*
 * Bytes that a queue posts in its turn, and the maximum of one work request. Queues thus share the
 * lane by bytes, even if some have contiguous memory and others need many small requests.
 */
#define TURN_BYTES SZ_256K

/* At the lowest priorities: so many bytes are worth a work request. */
#define TURN_BYTES_MIN SZ_4K

/* A lane that yields cuts what is enough into so many requests, none below PIECE_BYTES_MIN. */
#define ENOUGH_PIECES	4u
#define PIECE_BYTES_MIN SZ_32K

/* ---- queues ---- */

static struct rchar_io_queue *queue_of(const struct rchar_io *io)
{
	return &io->keys->queues[io->write];
}

/* The length of a turn is the share of the lane. */
static u32 turn_bytes(const struct rchar_keys *keys)
{
	return max_t(u32, TURN_BYTES_MIN,
		     TURN_BYTES * rchar_turns_priority(keys->priority) / RCHAR_TURNS_PRIORITY);
}

/* Is no other queue ready for a turn? */
static bool nobody_waits(const struct rchar_flow *flow, const struct rchar_io *io)
{
	return list_is_singular(&flow->ready[io->write]);
}

/*
 * A frame waits for the requests before it: for WRITEs in the send queue; for READs at the peer,
 * whose device answers in order (but for iWARP). A lane that carries nothing but large operations
 * does not care, and many large requests cost the least. Where frames of programs follow requests,
 * most of the operations wait in their queues, where they delay no frame.
 */
static bool yields(const struct rchar_lane *lane)
{
	return time_before64(get_jiffies_64(), lane->onesided.yield_until);
}

static bool enough(const struct rchar_lane *lane, bool write)
{
	return yields(lane) && rchar_inflight_full(&lane->onesided.inflight[write]);
}

/*
 * The maximum of a request. Few bytes are in several requests, so that the device of the peer has
 * the next one when it ends one. If the peer answers only one READ at a time, that one is large.
 */
static u32 piece_bytes(const struct rchar_lane *lane, bool write)
{
	const struct rchar_lane_onesided *o = &lane->onesided;
	u32 pieces = write ? ENOUGH_PIECES : min(o->reads_max, ENOUGH_PIECES);

	if (!yields(lane) || pieces == 1)
		return TURN_BYTES;
	return clamp_t(u32, rchar_inflight_limit(&o->inflight[write]) / pieces, PIECE_BYTES_MIN,
		       TURN_BYTES);
}

static u32 request_max(const struct rchar_lane *lane, const struct rchar_io *io)
{
	u32 max = piece_bytes(lane, io->write);

	return nobody_waits(lane->flow, io) ? max : min(max, turn_bytes(io->keys));
}

static bool onesided_usable(const struct rchar_keys *keys, const struct rchar_lane *lane)
{
	return rchar_keys_complete(keys, lane->self.attempt);
}

/*
 * Add a queue to the flow's ready list, at the tail. The queue is off the list while the keys are
 * not complete for the current connection: rchar_onesided_add_keys() calls this function for each
 * part of them.
 */
static void make_ready(struct rchar_flow *flow, struct rchar_keys *keys, bool write)
{
	struct rchar_io_queue *q = &keys->queues[write];

	lockdep_assert_held(&flow->lock);
	if (!flow->lane || list_empty(&q->ios) || keys->error)
		return;
	if (!onesided_usable(keys, flow->lane)) {
		/* The peer has begun to send new keys. */
		list_del_init(&q->entry);
		return;
	}
	if (!list_empty(&q->entry) && q->attempt == keys->attempt)
		return;
	q->attempt = keys->attempt;
	list_move_tail(&q->entry, &flow->ready[write]);
}

static void onesided_enqueue(struct rchar_io *io, bool head)
{
	struct list_head *ios = &queue_of(io)->ios;

	io->queued = true;
	if (head)
		list_add(&io->entry, ios);
	else
		list_add_tail(&io->entry, ios);
}

/*
 * Remove an operation from its queue. An empty queue must not be ready, because the keys may be
 * freed with their last operation.
 */
static void onesided_unqueue(struct rchar_io *io)
{
	struct rchar_io_queue *q = queue_of(io);

	io->queued = false;
	list_del_init(&io->entry);
	if (!list_empty(&q->ios))
		return;
	list_del_init(&q->entry);
	q->left = 0;
}

/* Give up an operation that is queued. Returns false if it ends when its work requests complete. */
static bool onesided_give_up(struct rchar_io *io, int error)
{
	onesided_unqueue(io);
	if (io->outstanding)
		return false;
	io->error = error;
	return true;
}

/**
 * rchar_onesided_add_keys() - add keys that arrived, and post operations that waited for them
 * @keys: the keys
 * @flow: the flow on which the keys arrived
 * @map: payload of the MAP frame; rchar_map_check() found it well formed
 * @values: the keys in @map
 *
 * Keys for another connection than the current one are late and useless: this function ignores
 * them.
 *
 * Return: 0; -ENOMEM to receive the keys again later; -ENOBUFS when the peer's account is full;
 * -EPROTO when the keys do not follow the last ones.
 */
int rchar_onesided_add_keys(struct rchar_keys *keys, struct rchar_flow *flow,
			    const struct rchar_wire_map *map, const __le32 *values)
{
	int ret = 0;

	spin_lock_bh(&flow->lock);
	if (flow->lane && flow->lane->self.attempt == le32_to_cpu(map->attempt))
		ret = rchar_keys_add(keys, map, values, flow->traffic->account);
	make_ready(flow, keys, false);
	make_ready(flow, keys, true);
	spin_unlock_bh(&flow->lock);
	if (!ret)
		rchar_onesided_pump(flow);
	return ret;
}

/* Failures, as counted in &rchar_io.tries, after which an operation ends with an error. */
#define TRIES_MAX 3

/* Failures, as counted there, in one hold of the lock; the others come a little later. */
#define FAILED_BATCH 64

/* ---- posting ---- */

static void onesided_restart(struct rchar_io *io)
{
	io->iter = (struct bvec_iter){ .bi_size = io->len };
	io->failed = false;
}

static enum dma_data_direction direction(const struct rchar_io *io)
{
	return io->write ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
}

/* Without effect when it has been done. */
static void onesided_unmap(struct rchar_onesided_wr *r, struct rchar_lane *lane)
{
	struct ib_device *dev = lane->cm_id->device;

	if (r->sink)
		rchar_sink_unmap(&lane->onesided.sinks, r->sink);
	while (r->nr--)
		rchar_dma_unmap(dev, r->sge[r->nr].addr, r->sge[r->nr].length, direction(r->io));
	r->nr = 0;
}

/* Map up to @len bytes, as SGEs. A device that bounces has no large pieces contiguous. */
static u32 map_sges(struct rchar_onesided_wr *r, struct rchar_lane *lane, u32 len)
{
	struct ib_device *dev = lane->cm_id->device;
	int max = r->io->write ? lane->limits.write_sge : lane->limits.read_sge;
	u32 piece = lane->limits.direct_dma ? U32_MAX : RCHAR_CHUNK_SIZE;
	struct bvec_iter iter = r->io->iter;
	u32 done = 0;

	for (r->nr = 0; done < len && r->nr < max; r->nr++) {
		struct bio_vec v = mp_bvec_iter_bvec(r->io->vecs, iter);
		struct ib_sge *sge = &r->sge[r->nr];

		sge->length = min3(len - done, v.bv_len, piece);
		sge->lkey = lane->pd->local_dma_lkey;
		if (rchar_dma_map_page(dev, v.bv_page, v.bv_offset, sge->length, direction(r->io),
				       &sge->addr))
			break;
		done += sge->length;
		bvec_iter_advance_single(r->io->vecs, &iter, sge->length);
	}
	return done;
}

/*
 * Map the next part of the operation, up to @len bytes. Returns the bytes mapped, fewer if the
 * mappings are exhausted; 0 on failure.
 */
static u32 onesided_map(struct rchar_onesided_wr *r, struct rchar_lane *lane, u32 len)
{
	const struct rchar_io *io = r->io;

	if (!r->sink)
		return map_sges(r, lane, len);
	r->sge[0].length = rchar_sink_map(&lane->onesided.sinks, r->sink, io->vecs, io->iter, len);
	return r->sge[0].length;
}

static void rdma_done(struct ib_cq *cq, struct ib_wc *wc);

/* Returns the first request of the chain that ends with the operation's. */
static const struct ib_send_wr *onesided_fill_wr(struct rchar_onesided_wr *r,
						 struct rchar_lane *lane, u64 addr, u32 key)
{
	const struct rchar_io *io = r->io;
	struct ib_send_wr wr = {
		.wr_cqe = &r->cqe,
		.sg_list = r->sge,
		.num_sge = r->sink ? 1 : r->nr,
		.opcode = io->write ? IB_WR_RDMA_WRITE : IB_WR_RDMA_READ,
		.send_flags = IB_SEND_SIGNALED,
	};

	if (!io->atomic) {
		r->rdma = (struct ib_rdma_wr){ .wr = wr, .remote_addr = addr, .rkey = key };
		if (!r->sink)
			return &r->rdma.wr;
		return rchar_sink_chain(&lane->onesided.sinks, r->sink, &r->rdma);
	}
	wr.opcode = io->atomic == RCHAR_ATOMIC_ADD ? IB_WR_ATOMIC_FETCH_AND_ADD :
						     IB_WR_ATOMIC_CMP_AND_SWP;
	r->atomic = (struct ib_atomic_wr){
		.wr = wr,
		.remote_addr = addr,
		.rkey = key,
		.compare_add = io->atomic == RCHAR_ATOMIC_ADD ? io->operand : io->compare,
		.swap = io->operand,
	};
	return &r->atomic.wr;
}

/* A lane that gets no DMA mapping for so long ends the operations that need one. */
#define UNMAPPED_MAX (10 * HZ)

/*
 * Mappings come back with completions of this lane, or with those of other users of the host, which
 * may have all of them.
 */
static void onesided_unmapped(struct rchar_lane *lane, struct rchar_io *io)
{
	struct rchar_lane_onesided *o = &lane->onesided;

	if (o->used)
		return;
	/* While something waits, there is a try every few milliseconds. */
	if (!o->unmapped || time_after(jiffies, o->tried_at + HZ))
		o->unmapped_at = jiffies;
	o->unmapped = true;
	o->tried_at = jiffies;
	if (time_before(jiffies, o->unmapped_at + UNMAPPED_MAX)) {
		rchar_lane_tx_retry_later(lane);
		return;
	}
	io->failed = true;
	io->tries = TRIES_MAX;
}

/*
 * Take a sink for a READ, where READs need one. Returns false if it must wait for that. If none can
 * be had for long, its operation fails.
 */
static bool take_sink(struct rchar_lane *lane, struct rchar_onesided_wr *r)
{
	if (r->io->write || r->io->atomic || !lane->limits.sinks)
		return true;
	r->sink = rchar_sink_get(&lane->onesided.sinks);
	if (!r->sink && rchar_sinks_hopeless(&lane->onesided.sinks)) {
		r->io->failed = true;
		r->io->tries = TRIES_MAX;
	}
	return r->sink;
}

static void onesided_put_wr(struct rchar_lane *lane, struct rchar_onesided_wr *r)
{
	if (r->sink)
		rchar_sink_put(&lane->onesided.sinks, r->sink);
	r->sink = NULL;
	r->io = NULL;
	list_move(&r->entry, &lane->onesided.idle);
}

/* A request has left the send queue, or the device has not taken it. */
static void onesided_unpost(struct rchar_lane *lane, struct rchar_onesided_wr *r)
{
	struct rchar_io *io = r->io;

	onesided_unmap(r, lane);
	onesided_put_wr(lane, r);
	lane->onesided.used--;
	if (!io->write) {
		lane->onesided.reads--;
		lane->onesided.reads_moved_at = jiffies;
	}
	rchar_inflight_done(&lane->onesided.inflight[io->write], r->bytes);
	rchar_sq_end(&lane->sq);
	io->outstanding--;
}

/*
 * Post one work request of an operation. Returns its bytes; 0 if the lane or operation failed, or
 * if mappings or sinks are exhausted.
 */
static u32 onesided_post_one(struct rchar_lane *lane, struct rchar_io *io)
{
	struct rchar_onesided_wr *r = list_first_entry(&lane->onesided.idle,
						       struct rchar_onesided_wr, entry);
	u64 offset = io->offset + io->len - io->iter.bi_size, block = 1ULL << io->keys->shift;
	u32 len = min3((u64)request_max(lane, io), (u64)io->iter.bi_size,
		       block - (offset & (block - 1)));
	const struct ib_send_wr *wr, *bad;

	r->io = io;
	if (!take_sink(lane, r)) {
		r->io = NULL;
		return 0;
	}
	len = onesided_map(r, lane, len);
	if (!len) {
		onesided_put_wr(lane, r);
		onesided_unmapped(lane, io);
		return 0;
	}
	lane->onesided.unmapped = false;
	r->cqe.done = rdma_done;
	wr = onesided_fill_wr(r, lane, offset & (block - 1), rchar_keys_at(io->keys, offset));
	bad = wr;
	rchar_sq_begin(&lane->sq);
	list_move_tail(&r->entry, &lane->onesided.busy);
	lane->onesided.used++;
	if (!io->write && !lane->onesided.reads++)
		lane->onesided.reads_moved_at = jiffies;
	r->bytes = len;
	rchar_inflight_queued(&lane->onesided.inflight[io->write], len);
	io->outstanding++;
	bvec_iter_advance(io->vecs, &io->iter, len);
	if (!rchar_inject(RCHAR_FAULT_POST_SEND) && !ib_post_send(lane->sq.qp, wr, &bad))
		return len;
	io->failed = true;
	lane->sq.open = false;
	rchar_lane_fail(lane, RCHAR_REASON_QP_ERROR);
	/* When the device has taken the registration only, rchar_onesided_reap() ends the rest. */
	if (bad == wr)
		onesided_unpost(lane, r);
	return 0;
}

/*
 * Is there a work request that is not in use? If there is no memory for another one, a later
 * completion frees one: a lane has at least one.
 */
static bool have_wr(struct rchar_lane *lane)
{
	struct rchar_onesided_wr *r;

	if (!list_empty(&lane->onesided.idle))
		return true;
	r = kzalloc(sizeof(*r), GFP_NOWAIT | __GFP_NOWARN);
	if (r)
		list_add(&r->entry, &lane->onesided.idle);
	return r;
}

static bool may_post(struct rchar_lane *lane, bool write)
{
	const struct rchar_lane_onesided *o = &lane->onesided;

	return lane->sq.ready && lane->sq.open && o->used < lane->limits.onesided &&
	       (write || o->reads < o->reads_max) && !enough(lane, write) && have_wr(lane);
}

/* The operation has failed too often, and none of its work requests is in a send queue. */
static bool hopeless(const struct rchar_io *io)
{
	return !io->outstanding && io->failed && io->tries >= TRIES_MAX;
}

/* Returns the error that ends an operation before posting, or 0. */
static int end_early(const struct rchar_io *io, const struct rchar_lane *lane)
{
	if (hopeless(io))
		return -EIO;
	if (io->atomic)
		return lane->limits.atomics_out ? 0 : -EOPNOTSUPP;
	return io->write || lane->limits.reads ? 0 : -EOPNOTSUPP;
}

/*
 * Post the next part of an operation. Returns its bytes. A completely posted or ended operation
 * leaves its queue. A failed operation leaves too, if complete_one() will queue the operation
 * again.
 */
static u32 post_next(struct rchar_lane *lane, struct rchar_io *io, struct list_head *ended)
{
	u32 bytes = 0;

	io->error = end_early(io, lane);
	if (io->error) {
		onesided_unqueue(io);
		list_add_tail(&io->entry, ended);
		return 0;
	}
	/* Restart only after all requests of the failed try have completed. */
	if (io->failed && !io->outstanding)
		onesided_restart(io);
	if (!io->failed)
		bytes = onesided_post_one(lane, io);
	if (io->failed ? io->outstanding : !io->iter.bi_size)
		onesided_unqueue(io);
	return bytes;
}

/*
 * The queue of an operation has posted so many bytes, and has more. Is its turn over? What it
 * posted beyond its turn is missing in its next one.
 */
static bool turn_over(struct rchar_flow *flow, const struct rchar_io *io, u32 bytes)
{
	struct rchar_io_queue *q = queue_of(io);

	if (nobody_waits(flow, io)) {
		q->left = 0;
		return false;
	}
	if (q->left <= 0)
		q->left += turn_bytes(io->keys);
	q->left -= bytes;
	return q->left <= 0;
}

/* Post operations of one kind. Operations that have ended are moved to @ended. */
static void pump_kind(struct rchar_flow *flow, bool write, struct list_head *ended)
{
	struct list_head *ready = &flow->ready[write];
	struct rchar_lane *lane = flow->lane;
	struct rchar_io_queue *q;
	unsigned int failed = 0;

	lockdep_assert_held(&flow->lock);
	while (may_post(lane, write) &&
	       (q = list_first_entry_or_null(ready, struct rchar_io_queue, entry))) {
		struct rchar_io *io = list_first_entry(&q->ios, struct rchar_io, entry);
		u32 bytes;

		if (WARN_ON_ONCE(!onesided_usable(io->keys, lane))) {
			list_del_init(&q->entry);
			continue;
		}
		bytes = post_next(lane, io, ended);
		if (!bytes && !io->failed && !io->error)
			break;
		/* Programs choose how many operations fail together. */
		if (!bytes && ++failed == FAILED_BATCH) {
			rchar_lane_tx_retry_later(lane);
			break;
		}
		if (bytes && !list_empty(&q->entry) && turn_over(flow, io, bytes))
			list_move_tail(&q->entry, ready);
	}
}

static void onesided_pump(struct rchar_flow *flow, struct list_head *ended)
{
	/* A frame needs several mappings at once: it comes first, and then retry_work() pumps. */
	if (!flow->lane || flow->lane->tx.unmapped)
		return;
	pump_kind(flow, false, ended);
	pump_kind(flow, true, ended);
}

static void onesided_end_all(struct list_head *ended)
{
	struct rchar_io *io, *tmp;

	list_for_each_entry_safe(io, tmp, ended, entry) {
		list_del_init(&io->entry);
		io->end(io);
	}
}

/**
 * rchar_onesided_pump() - post all operations that can be posted now
 * @flow: the flow
 */
void rchar_onesided_pump(struct rchar_flow *flow)
{
	LIST_HEAD(ended);

	spin_lock_bh(&flow->lock);
	onesided_pump(flow, &ended);
	spin_unlock_bh(&flow->lock);
	onesided_end_all(&ended);
}

/*
 * On iWARP a WRITE completes when TCP has accepted the data (RFC 5040, 8.2). If the connection
 * then breaks, the data may not have arrived. A fence that the peer answers on the same connection
 * proves that the data has arrived.
 */
static void note_write(struct rchar_keys *keys, const struct rchar_lane *lane)
{
	if (keys->write_attempt && keys->write_attempt != lane->self.attempt)
		keys->write_lost = true;
	keys->write_attempt = lane->self.attempt;
	keys->writes++;
}

/**
 * rchar_onesided_fence_begin() - prepare to send a fence
 * @flow: the flow of the session
 * @keys: keys of the session
 *
 * Return: value to pass to rchar_onesided_fence_end().
 */
struct rchar_onesided_fence rchar_onesided_fence_begin(struct rchar_flow *flow,
						       const struct rchar_keys *keys)
{
	struct rchar_onesided_fence begun;

	spin_lock_bh(&flow->lock);
	begun.attempt = keys->write_attempt;
	begun.writes = keys->writes;
	spin_unlock_bh(&flow->lock);
	return begun;
}

/**
 * rchar_onesided_fence_end() - check the WRITEs before a fence that the peer has answered
 * @flow: the flow of the session
 * @keys: keys of the session
 * @begun: from rchar_onesided_fence_begin()
 *
 * Return: 0 when the data of all WRITEs that completed before the fence has arrived; -EIO when
 * some may not have arrived. An -EIO is reported once.
 */
int rchar_onesided_fence_end(struct rchar_flow *flow, struct rchar_keys *keys,
			     struct rchar_onesided_fence begun)
{
	int ret = 0;

	spin_lock_bh(&flow->lock);
	if (begun.attempt) {
		if (keys->write_lost || !flow->lane || flow->lane->self.attempt != begun.attempt)
			ret = -EIO;
		keys->write_lost = false;
		/* A WRITE that completed after the fence was sent waits for the next fence. */
		if (keys->write_attempt == begun.attempt && keys->writes == begun.writes)
			keys->write_attempt = 0;
	}
	spin_unlock_bh(&flow->lock);
	return ret;
}

/* Process a completed request. Returns the operation when the operation has ended. */
static struct rchar_io *complete_one(struct rchar_flow *flow, struct rchar_lane *lane,
				     struct rchar_onesided_wr *r, enum ib_wc_status status)
{
	struct rchar_io *io = r->io;

	lockdep_assert_held(&flow->lock);
	onesided_unpost(lane, r);
	if (status != IB_WC_SUCCESS) {
		io->failed = true;
		/* Posting more to this queue pair is useless. */
		lane->sq.open = false;
		io->tries += status == IB_WC_REM_ACCESS_ERR || status == IB_WC_LOC_PROT_ERR ||
			     status == IB_WC_LOC_LEN_ERR;
	} else if (io->write && lane->limits.iwarp) {
		note_write(io->keys, lane);
	}
	if (io->outstanding)
		return NULL;
	if ((io->keys->error || io->withdrawn) && (io->failed || io->iter.bi_size)) {
		onesided_unqueue(io);
		io->error = io->keys->error ?: -EINTR;
		return io;
	}
	if (io->failed && io->atomic) {
		/* The device of the peer may or may not have executed the operation. */
		onesided_unqueue(io);
		io->error = -EIO;
		return io;
	}
	if (hopeless(io)) {
		onesided_unqueue(io);
		io->error = -EIO;
		return io;
	}
	if (io->failed) {
		/* At the head of the queue: this operation has waited longest. */
		if (!io->queued)
			onesided_enqueue(io, true);
		make_ready(flow, io->keys, io->write);
		return NULL;
	}
	return io->iter.bi_size ? NULL : io;
}

static void rdma_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rchar_onesided_wr *r = container_of(wc->wr_cqe, struct rchar_onesided_wr, cqe);
	struct rchar_lane *lane = wc->qp->qp_context;
	struct rchar_flow *flow = lane->flow;
	struct rchar_io *io;
	LIST_HEAD(ended);

	if (wc->status != IB_WC_SUCCESS) {
		trace_rchar_wc_error(lane, "rdma", wc->status);
		rchar_lane_fail(lane, RCHAR_REASON_QP_ERROR);
	} else {
		WRITE_ONCE(lane->last_rx, jiffies);
		WRITE_ONCE(flow->traffic->progress_at, jiffies);
	}
	/* With an IOMMU, this takes long; nobody else uses the request yet. */
	if (r->io)
		onesided_unmap(r, lane);
	if (READ_ONCE(lane->tx.unmapped))
		rchar_flow_retry(flow, lane);
	spin_lock_bh(&flow->lock);
	/* When a connection breaks, soft-iWARP in Linux 6.1 flushes some READs twice: from its
	 * queue of READs and from the send queue. No request reuses the slot in between, because
	 * the first flush has closed the send queue.
	 */
	io = r->io ? complete_one(flow, lane, r, wc->status) : NULL;
	onesided_pump(flow, &ended);
	spin_unlock_bh(&flow->lock);
	if (io)
		io->end(io);
	onesided_end_all(&ended);
}

/**
 * rchar_onesided_reap() - end one-sided work requests that never completed
 * @lane: the lane, drained
 *
 * A device flushes all requests before that of the drain (IBTA vol 1, 10.3.1), so none should be
 * left. If a device lost a request, the operation's owner would otherwise wait for ever.
 */
void rchar_onesided_reap(struct rchar_lane *lane)
{
	struct rchar_onesided_wr *r, *tmp;
	struct rchar_flow *flow = lane->flow;
	struct rchar_io *io;
	LIST_HEAD(ended);

	spin_lock_bh(&flow->lock);
	list_for_each_entry_safe(r, tmp, &lane->onesided.busy, entry) {
		io = complete_one(flow, lane, r, IB_WC_WR_FLUSH_ERR);
		if (io)
			list_add_tail(&io->entry, &ended);
	}
	spin_unlock_bh(&flow->lock);
	onesided_end_all(&ended);
}

/**
 * rchar_onesided_submit() - start an operation
 * @flow: the flow of its session
 * @io: the operation, filled in. @io->end is called at the end, perhaps before this function
 *	returns.
 */
void rchar_onesided_submit(struct rchar_flow *flow, struct rchar_io *io)
{
	LIST_HEAD(ended);

	spin_lock_bh(&flow->lock);
	onesided_restart(io);
	io->error = io->keys->error;
	if (io->error)
		list_add_tail(&io->entry, &ended);
	else
		onesided_enqueue(io, false);
	make_ready(flow, io->keys, io->write);
	onesided_pump(flow, &ended);
	spin_unlock_bh(&flow->lock);
	onesided_end_all(&ended);
}

/**
 * rchar_onesided_withdraw() - end an operation for which nobody waits any more
 * @flow: the flow of its session
 * @io: the operation, submitted; it may have ended
 *
 * The operation ends with -EINTR, unless the device has executed all of it. With work requests in a
 * send queue it ends when those complete, at the latest when the connection is lost; else before
 * this function returns.
 *
 * Context: any but hard interrupt. The caller keeps @io valid.
 */
void rchar_onesided_withdraw(struct rchar_flow *flow, struct rchar_io *io)
{
	bool ends;

	spin_lock_bh(&flow->lock);
	io->withdrawn = true;
	ends = io->queued && onesided_give_up(io, -EINTR);
	spin_unlock_bh(&flow->lock);
	if (ends)
		io->end(io);
}

/**
 * rchar_onesided_stop() - post nothing more with a set of keys
 * @flow: the flow of the session
 * @keys: the keys
 * @error: negative errno for operations that do not complete
 *
 * Context: any but hard interrupt. The caller ends waiting operations with
 * rchar_onesided_cancel().
 */
void rchar_onesided_stop(struct rchar_flow *flow, struct rchar_keys *keys, int error)
{
	spin_lock_bh(&flow->lock);
	keys->error = error;
	list_del_init(&keys->queues[0].entry);
	list_del_init(&keys->queues[1].entry);
	spin_unlock_bh(&flow->lock);
}

/* Maximum number of operations that are cancelled while the lock is held once. */
#define CANCEL_BATCH 64

static bool cancel_some(struct rchar_flow *flow, struct rchar_io_queue *q, int error,
			struct list_head *ended)
{
	struct rchar_io *io;
	bool more;
	int n = 0;

	spin_lock_bh(&flow->lock);
	while (n++ < CANCEL_BATCH &&
	       (io = list_first_entry_or_null(&q->ios, struct rchar_io, entry))) {
		if (onesided_give_up(io, error))
			list_add_tail(&io->entry, ended);
	}
	more = !list_empty(&q->ios);
	spin_unlock_bh(&flow->lock);
	return more;
}

/**
 * rchar_onesided_cancel() - end all operations that use a set of keys
 * @flow: the flow of the session
 * @keys: the keys; the caller keeps them valid, even after the last operation ends
 * @error: negative errno for operations that did not complete
 *
 * Operations with work requests in a send queue end when those requests complete.
 *
 * Context: any but hard interrupt, if at most one operation uses the keys; otherwise process.
 */
void rchar_onesided_cancel(struct rchar_flow *flow, struct rchar_keys *keys, int error)
{
	bool more = true;
	int i;

	rchar_onesided_stop(flow, keys, error);
	for (i = 0; i < ARRAY_SIZE(keys->queues); i++) {
		do {
			LIST_HEAD(ended);

			more = cancel_some(flow, &keys->queues[i], error, &ended);
			onesided_end_all(&ended);
		} while (more);
	}
}
