// SPDX-License-Identifier: GPL-2.0
#include "flow_priv.h"
#include "base/seq.h"
#include "lane.h"

/* Frames posted in one call to ib_post_send(). */
#define BATCH	 16
/* Bytes that are sealed with the lock held once. */
#define SEAL_MAX 16384

/* For so long after a frame that a lane should have yielded to, more are expected. */
#define YIELD_FOR HZ

/**
 * rchar_flow_init() - initialize an empty flow
 * @flow: the flow, zeroed
 * @traffic: state shared with the other flows of the link
 */
void rchar_flow_init(struct rchar_flow *flow, struct rchar_traffic *traffic)
{
	spin_lock_init(&flow->lock);
	INIT_LIST_HEAD(&flow->queue);
	INIT_LIST_HEAD(&flow->own.unsent);
	flow->turns.waiting = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&flow->ready[0]);
	INIT_LIST_HEAD(&flow->ready[1]);
	INIT_LIST_HEAD(&flow->parked);
	flow->traffic = traffic;
}

/* ---- send ---- */

static void fill_hello(struct rchar_lane *lane, struct rchar_txbuf *txb)
{
	struct rchar_wire_hello *hello = (void *)txb->data;

	memcpy(hello->nonce, lane->peer.nonce, sizeof(hello->nonce));
	memcpy(hello->mac, lane->initiator ? lane->auth.hello : lane->auth.ready,
	       sizeof(hello->mac));
	txb->hdr.len = sizeof(*hello);
	if (lane->encrypted && lane->initiator)
		rchar_txbuf_append(txb, lane->auth.transcript.initiator_public,
				   sizeof(lane->auth.transcript.initiator_public));
}

/* The control frames to send now. A second PING waits until the first one is answered. */
static u32 control_wanted(const struct rchar_lane *lane)
{
	return lane->tx.inflight.ping_at ? lane->tx.wanted & ~BIT(RCHAR_OP_PING) : lane->tx.wanted;
}

/* Build the wanted control frame with the lowest op number; NULL if none can be sent. */
static struct rchar_txbuf *next_control(struct rchar_lane *lane)
{
	struct rchar_txbuf *txb;
	u32 wanted = control_wanted(lane);
	u8 op;

	if (!wanted)
		return NULL;
	txb = rchar_lane_tx_control(lane);
	if (!txb)
		return NULL;
	op = __ffs(wanted);
	lane->tx.wanted &= ~BIT(op);
	txb->hdr.op = op;
	if (op == RCHAR_OP_HELLO || op == RCHAR_OP_READY)
		fill_hello(lane, txb);
	return txb;
}

/* The sender of the next frame that has never been posted, or NULL. */
static struct rchar_sender *next_sender(const struct rchar_flow *flow)
{
	struct rchar_turn *turn = rchar_turns_first(&flow->turns);

	return turn ? container_of(turn, struct rchar_sender, turn) : NULL;
}

static struct rchar_sender *sender_of(struct rchar_flow *flow, const struct rchar_txbuf *txb)
{
	return txb->sender ?: &flow->own;
}

static struct rchar_txbuf *first_unsent(const struct rchar_sender *sender)
{
	return list_first_entry(&sender->unsent, struct rchar_txbuf, queue);
}

/* The next frame with a sequence number, or the next one that gets one; NULL if none waits. */
static struct rchar_txbuf *peek_sequenced(const struct rchar_flow *flow)
{
	struct rchar_sender *sender;

	if (flow->next)
		return flow->next;
	sender = next_sender(flow);
	return sender ? first_unsent(sender) : NULL;
}

/* Does a frame with a sequence number wait? Also a hint, without the lock. */
static bool frames_wait(const struct rchar_flow *flow)
{
	return READ_ONCE(flow->nr_unsent) || READ_ONCE(flow->next);
}

static void take_replay(struct rchar_flow *flow)
{
	struct rchar_txbuf *txb = flow->next, *next = NULL;

	if (!list_is_last(&txb->queue, &flow->queue))
		next = list_next_entry(txb, queue);
	WRITE_ONCE(flow->next, next);
	rchar_stats_inc(&flow->traffic->stats.replayed);
}

/* Take the frame that peek_sequenced() has found. */
static void take_sequenced(struct rchar_flow *flow, struct rchar_txbuf *txb)
{
	struct rchar_sender *sender = sender_of(flow, txb);

	if (txb->sent) {
		take_replay(flow);
		return;
	}
	txb->sent = true;
	txb->hdr.seq = flow->tx_next++;
	list_move_tail(&txb->queue, &flow->queue);
	WRITE_ONCE(flow->nr_unsent, flow->nr_unsent - 1);
	rchar_turns_sent(&flow->turns, &sender->turn, txb->hdr.len, !list_empty(&sender->unsent));
}

static bool ack_wanted(const struct rchar_flow *flow)
{
	return flow->ack_now && flow->rx_acked != flow->rx_next;
}

static bool want_credit(const struct rchar_flow *flow, const struct rchar_lane *lane)
{
	return rchar_credit_due(&lane->tx.credit) || ack_wanted(flow);
}

/* Does the peer have a buffer for the frame now? */
static bool fits(const struct rchar_lane *lane, const struct rchar_txbuf *txb)
{
	return txb->hdr.len <= RCHAR_WIRE_SMALL || rchar_credit_large(&lane->tx.credit);
}

/* The peer wants large buffers back, and there is no use for them. */
static bool want_trim(const struct rchar_lane *lane)
{
	return lane->tx.trim && rchar_credit_large(&lane->tx.credit);
}

static struct rchar_txbuf *credit_frame(struct rchar_lane *lane)
{
	struct rchar_txbuf *txb = rchar_lane_tx_control(lane);

	if (txb)
		txb->hdr.op = RCHAR_OP_CREDIT;
	return txb;
}

/* A CREDIT that uses up a small buffer. A peer that never posts a large one gets so many only. */
static struct rchar_txbuf *pad_frame(struct rchar_lane *lane)
{
	struct rchar_txbuf *txb;

	if (lane->tx.pads == RCHAR_WIRE_CREDITS_MAX) {
		rchar_lane_tx_fail(lane, RCHAR_REASON_PROTOCOL);
		return NULL;
	}
	txb = credit_frame(lane);
	if (txb)
		lane->tx.pads++;
	return txb;
}

/* Is the next frame a small message that follows frames of sessions that send more? */
static bool small_behind_bulk(struct rchar_flow *flow, const struct rchar_lane *lane,
			      const struct rchar_txbuf *txb)
{
	return lane->tx.used && txb->hdr.len <= RCHAR_WIRE_SMALL && !txb->sent &&
	       rchar_turns_behind(&flow->turns, &sender_of(flow, txb)->turn);
}

/* The next frame may follow what should have waited: for a time, less goes before such frames. */
static void yield_before(struct rchar_flow *flow, struct rchar_lane *lane,
			 const struct rchar_txbuf *txb)
{
	if (!rchar_hdr_takes_window(&txb->hdr))
		return;
	if (small_behind_bulk(flow, lane, txb)) {
		lane->tx.yields = true;
		lane->tx.yield_until = get_jiffies_64() + YIELD_FOR;
	}
	if (lane->onesided.used)
		lane->onesided.yield_until = get_jiffies_64() + YIELD_FOR;
}

/*
 * The next frame with a sequence number, or a CREDIT instead. If the peer's next buffer is too
 * small for the frame, CREDITs use up the small buffers, and ask for large ones.
 */
static struct rchar_txbuf *next_or_credit(struct rchar_flow *flow, struct rchar_lane *lane)
{
	struct rchar_txbuf *txb = peek_sequenced(flow);

	if (!txb)
		return NULL;
	if (!fits(lane, txb)) {
		lane->tx.want = true;
		return pad_frame(lane);
	}
	if (txb->hdr.len > RCHAR_WIRE_SMALL)
		lane->tx.trim = 0;
	yield_before(flow, lane, txb);
	take_sequenced(flow, txb);
	if (rchar_inflight_wants_ping(&lane->tx.inflight))
		lane->tx.wanted |= BIT(RCHAR_OP_PING);
	lane->tx.want = flow->nr_unsent >= rchar_credits_total(&lane->tx.credit.tx);
	return txb;
}

/**
 * rchar_flow_next() - take the frame to send next
 * @flow: the flow; its lock is held
 * @lane: the lane that is attached
 *
 * Return: the frame, or NULL when no frame waits that can be sent.
 */
struct rchar_txbuf *rchar_flow_next(struct rchar_flow *flow, struct rchar_lane *lane)
{
	struct rchar_txbuf *txb = next_control(lane);

	lane->tx.want = false;
	if (txb || !lane->sq.ready)
		return txb;
	txb = rchar_lane_tx_full(lane) ? NULL : next_or_credit(flow, lane);
	if (txb)
		return txb;
	return want_credit(flow, lane) || want_trim(lane) ? credit_frame(lane) : NULL;
}

/**
 * rchar_flow_next_len() - bound the payload of the frame that rchar_flow_next() takes next
 * @flow: the flow; its lock is held
 * @lane: the lane that is attached
 *
 * Return: bytes, at least 1; 0 when no frame waits.
 */
u32 rchar_flow_next_len(struct rchar_flow *flow, struct rchar_lane *lane)
{
	struct rchar_txbuf *txb;

	lockdep_assert_held(&flow->lock);
	if (control_wanted(lane) && rchar_lane_tx_control_idle(lane))
		return sizeof(struct rchar_wire_hello_public);
	if (!lane->sq.ready)
		return 0;
	txb = rchar_lane_tx_full(lane) ? NULL : peek_sequenced(flow);
	if (txb && fits(lane, txb))
		return max(txb->hdr.len, 1u);
	if (txb || want_credit(flow, lane) || want_trim(lane))
		return rchar_lane_tx_control_idle(lane);
	return 0;
}

/**
 * rchar_flow_staged() - count a frame that has got its place in the send queue
 * @flow: the flow; its lock is held
 * @txb: the frame, with the ack of all frames received so far
 */
void rchar_flow_staged(struct rchar_flow *flow, const struct rchar_txbuf *txb)
{
	rchar_stats_inc(&flow->traffic->stats.tx_frames);
	rchar_stats_add(&flow->traffic->stats.tx_bytes, txb->hdr.len);
	flow->rx_acked = flow->rx_next;
	flow->ack_now = false;
}

/* Encrypted lane: may the next frame be sealed now, with the lock held, after @sealed bytes? */
static bool may_stage(struct rchar_flow *flow, struct rchar_lane *lane, u32 sealed)
{
	u32 len = rchar_flow_next_len(flow, lane);

	if (len && sealed > SEAL_MAX) {
		rchar_lane_tx_seal_later(lane);
		return false;
	}
	return len && rchar_lane_tx_may_stage(lane, len);
}

/**
 * rchar_flow_pump() - send all frames that can be sent now
 * @flow: the flow; its lock is held
 *
 * Called after every event that may allow more frames to be sent.
 */
void rchar_flow_pump(struct rchar_flow *flow)
{
	struct rchar_lane *lane = flow->lane;
	u32 sealed = 0;
	int n = 0;

	lockdep_assert_held(&flow->lock);
	if (!lane)
		return;
	rchar_lane_tx_resume(lane);
	while (rchar_lane_tx_room(lane)) {
		struct rchar_txbuf *txb;

		if (lane->encrypted && !may_stage(flow, lane, sealed))
			break;
		txb = rchar_flow_next(flow, lane);
		if (!txb)
			break;
		rchar_lane_tx_stage(lane, txb, flow->rx_next);
		rchar_flow_staged(flow, txb);
		sealed += txb->hdr.len;
		if (++n % BATCH == 0)
			rchar_lane_tx_post(lane);
	}
	rchar_lane_tx_post(lane);
	if (frames_wait(flow) && lane->sq.ready && !rchar_credit_may_send(&lane->tx.credit))
		rchar_stats_inc(&flow->traffic->stats.credit_stalls);
}

/* Append @n frames of one sender, @replies of them answers, to those that wait. */
static void flow_enqueue(struct rchar_flow *flow, struct list_head *frames, unsigned int n,
			 unsigned int replies)
{
	struct rchar_txbuf *txb = list_first_entry(frames, struct rchar_txbuf, queue);
	struct rchar_sender *sender = sender_of(flow, txb);

	lockdep_assert_held(&flow->lock);
	flow->nr_queued += n;
	WRITE_ONCE(flow->nr_unsent, flow->nr_unsent + n);
	WRITE_ONCE(flow->nr_replies, flow->nr_replies + replies);
	if (list_empty(&sender->unsent))
		rchar_turns_add(&flow->turns, &sender->turn);
	list_splice_tail_init(frames, &sender->unsent);
	rchar_flow_pump(flow);
}

/**
 * rchar_flow_queue() - send sequenced frames, now or after the next reconnect
 * @flow: the flow
 * @frames: the frames of one sender, linked by rchar_txbuf.queue. The flow takes over the caller's
 *	    references. Frames of other senders may be sent between them.
 *
 * Context: any but hard interrupt.
 */
void rchar_flow_queue(struct rchar_flow *flow, struct list_head *frames)
{
	unsigned int n = 0, replies = 0;
	struct rchar_txbuf *txb;

	if (WARN_ON_ONCE(list_empty(frames)))
		return;
	/* A message may have many thousands, and what arrives waits for the lock. */
	list_for_each_entry(txb, frames, queue) {
		n++;
		replies += !!txb->account;
	}
	spin_lock_bh(&flow->lock);
	flow_enqueue(flow, frames, n, replies);
	spin_unlock_bh(&flow->lock);
}

/* The last frame of the same sender that waits, when it has room for the bytes of @txb, or NULL. */
static struct rchar_txbuf *appendable(struct rchar_flow *flow, const struct rchar_txbuf *txb,
				      u32 max)
{
	struct rchar_txbuf *last;

	lockdep_assert_held(&flow->lock);
	if (list_empty(&txb->sender->unsent))
		return NULL;
	last = list_last_entry(&txb->sender->unsent, struct rchar_txbuf, queue);
	if (last->hdr.op != RCHAR_OP_DATA || last->hdr.flags & RCHAR_FRAME_INSTEAD ||
	    rchar_txbuf_room(last) < txb->hdr.len || last->hdr.len + txb->hdr.len > max)
		return NULL;
	return last;
}

/**
 * rchar_flow_submit() - send small data, in a frame of its own or in one that already waits
 * @flow: the flow
 * @txb: a DATA frame without chunks. The lock of its session is held, so no other data of the
 *	 session can be queued in between.
 * @max: payload bytes that a frame of the session may have
 *
 * Many small writes to a link that is busy or down thus share few frames. A frame that has been
 * posted keeps its contents: the peer may have received the frame.
 *
 * Context: any but hard interrupt.
 * Return: true when the flow takes over the caller's reference; false when another frame carries
 * the bytes.
 */
bool rchar_flow_submit(struct rchar_flow *flow, struct rchar_txbuf *txb, u32 max)
{
	struct rchar_txbuf *last;
	LIST_HEAD(frames);

	spin_lock_bh(&flow->lock);
	last = appendable(flow, txb, max);
	if (last) {
		rchar_txbuf_append(last, txb->data, txb->hdr.len);
		last->end = txb->end;
		last->hdr.window = txb->hdr.window;
	} else {
		list_add(&txb->queue, &frames);
		flow_enqueue(flow, &frames, 1, !!txb->account);
	}
	spin_unlock_bh(&flow->lock);
	return !last;
}

/**
 * rchar_flow_get_lane() - get the lane that is currently attached
 * @flow: the flow
 *
 * Return: the lane, with a reference, or NULL.
 */
struct rchar_lane *rchar_flow_get_lane(struct rchar_flow *flow)
{
	struct rchar_lane *lane;

	spin_lock_bh(&flow->lock);
	lane = flow->lane;
	if (lane)
		kref_get(&lane->ref);
	spin_unlock_bh(&flow->lock);
	return lane;
}

/**
 * rchar_flow_busy() - check whether a frame queued now would have to wait
 * @flow: the flow
 *
 * A hint only: the answer may be out of date.
 *
 * Return: true when frames wait, or when no lane is attached.
 */
bool rchar_flow_busy(struct rchar_flow *flow)
{
	return frames_wait(flow) || !READ_ONCE(flow->lane);
}

/**
 * rchar_flow_update_window() - update the window in a frame that has not been posted
 * @flow: the flow
 * @sender: the sender of the frame; its session's lock is held
 * @window: the new edge of the window
 *
 * Return: false when no frame of the sender waits: the caller then sends a frame.
 */
bool rchar_flow_update_window(struct rchar_flow *flow, struct rchar_sender *sender, u32 window)
{
	struct rchar_txbuf *txb;

	spin_lock_bh(&flow->lock);
	txb = list_first_entry_or_null(&sender->unsent, struct rchar_txbuf, queue);
	if (txb)
		txb->hdr.window = window;
	spin_unlock_bh(&flow->lock);
	return txb;
}

static void take_unsent(struct rchar_flow *flow, struct rchar_txbuf *txb, struct list_head *taken)
{
	lockdep_assert_held(&flow->lock);
	list_move_tail(&txb->queue, taken);
	flow->nr_queued--;
	WRITE_ONCE(flow->nr_unsent, flow->nr_unsent - 1);
	WRITE_ONCE(flow->nr_replies, flow->nr_replies - !!txb->account);
}

/**
 * rchar_flow_take_unsent() - remove frames of a dead session that were never posted
 * @flow: the flow
 * @sender: the sender of the session; the session's lock is held
 * @taken: collects the frames; the caller accounts for the frames and drops their references
 * @max: maximum number of frames to remove
 *
 * The last frames go first. What the flow sends between two calls thus follows what it has sent
 * before, and the peer never gets frames with others missing between them.
 *
 * A RESET frame stays queued, because the peer must learn that the session has ended. If the
 * OPEN frame is removed too, the peer does not know the session, and the RESET is removed as
 * well.
 *
 * Return: number of frames removed, less than @max when no others are left.
 */
unsigned int rchar_flow_take_unsent(struct rchar_flow *flow, struct rchar_sender *sender,
				    struct list_head *taken, unsigned int max)
{
	struct rchar_txbuf *txb, *tmp;
	unsigned int n = 0;

	spin_lock_bh(&flow->lock);
	list_for_each_entry_safe_reverse(txb, tmp, &sender->unsent, queue)
	{
		if (n == max)
			break;
		if (txb->hdr.op == RCHAR_OP_RESET && !sender->forget)
			continue;
		if (txb->hdr.op == RCHAR_OP_OPEN)
			sender->forget = true;
		take_unsent(flow, txb, taken);
		n++;
	}
	/* OPEN was the first of all: what is left is RESET. */
	if (sender->forget && !list_empty(&sender->unsent))
		take_unsent(flow, first_unsent(sender), taken);
	if (n && list_empty(&sender->unsent))
		rchar_turns_remove(&flow->turns, &sender->turn);
	spin_unlock_bh(&flow->lock);
	return n;
}

/**
 * rchar_flow_cancel_reg() - do not register memory any more
 * @flow: the flow
 * @txb: the frame that announces the memory; the caller has a reference
 * @reg: the registration
 * @attempt: where the payload of the frame names the connection. If the frame has never been sent,
 *	     it names another one then, and the peer does not use the key.
 *
 * Return: true if the registration was never posted, and will not be; false if the region may be
 * registered.
 */
bool rchar_flow_cancel_reg(struct rchar_flow *flow, struct rchar_txbuf *txb,
			   struct rchar_txbuf_reg *reg, __le32 *attempt)
{
	bool cancelled;

	spin_lock_bh(&flow->lock);
	txb->reg = NULL;
	cancelled = !reg->posted;
	if (!txb->sent || (flow->lane && flow->lane->tx.unmapped == txb))
		*attempt = ~*attempt;
	spin_unlock_bh(&flow->lock);
	return cancelled;
}

/**
 * rchar_flow_want_ack() - request an early ack for all frames of a sender from the peer
 * @flow: the flow
 * @sender: the sender
 */
void rchar_flow_want_ack(struct rchar_flow *flow, struct rchar_sender *sender)
{
	struct list_head *waiting = NULL;

	spin_lock_bh(&flow->lock);
	if (!list_empty(&sender->unsent))
		waiting = &sender->unsent;
	else if (!list_empty(&flow->queue) && (flow->next || !flow->lane))
		waiting = &flow->queue;
	if (waiting)
		list_last_entry(waiting, struct rchar_txbuf, queue)->hdr.flags |= RCHAR_FRAME_ACK;
	else if (!list_empty(&flow->queue))
		flow->lane->tx.wanted |= BIT(RCHAR_OP_PING);
	rchar_flow_pump(flow);
	spin_unlock_bh(&flow->lock);
}

/**
 * rchar_flow_control() - send a control frame of the lane
 * @flow: the flow
 * @lane: the lane; ignored when no longer attached
 * @op: HELLO, READY, PING or PONG
 */
void rchar_flow_control(struct rchar_flow *flow, struct rchar_lane *lane, u8 op)
{
	spin_lock_bh(&flow->lock);
	if (flow->lane == lane) {
		lane->tx.wanted |= BIT(op);
		rchar_flow_pump(flow);
	}
	spin_unlock_bh(&flow->lock);
}

/**
 * rchar_flow_wake_flusher() - wake rchar_flows_flush() to look again
 * @traffic: state that the flows of the link share
 */
void rchar_flow_wake_flusher(struct rchar_traffic *traffic)
{
	if (wq_has_sleeper(&traffic->wait))
		wake_up_all(&traffic->wait);
}

/**
 * rchar_flow_ack() - acknowledge all frames received so far
 * @flow: the flow
 *
 * Context: any but hard interrupt.
 */
void rchar_flow_ack(struct rchar_flow *flow)
{
	spin_lock_bh(&flow->lock);
	if (flow->rx_acked != flow->rx_next) {
		flow->ack_now = true;
		rchar_flow_pump(flow);
	}
	spin_unlock_bh(&flow->lock);
}

/**
 * rchar_flow_send_done() - a signaled frame and all frames posted before it have completed
 * @flow: the flow
 * @lane: the lane on which the frames were posted
 * @txb: the signaled frame
 */
void rchar_flow_send_done(struct rchar_flow *flow, struct rchar_lane *lane, struct rchar_txbuf *txb)
{
	LIST_HEAD(reaped);
	bool control;

	spin_lock_bh(&flow->lock);
	rchar_lane_tx_reap(lane, txb, &reaped);
	if (flow->lane == lane)
		rchar_flow_pump(flow);
	spin_unlock_bh(&flow->lock);
	control = rchar_lane_tx_put(lane, &reaped);
	/* That has brought mappings back. */
	if (control || READ_ONCE(lane->tx.unmapped))
		rchar_flow_retry(flow, lane);
	rchar_flow_wake_flusher(flow->traffic);
}

/**
 * rchar_flow_retry() - send what found no DMA mapping or no control frame
 * @flow: the flow
 * @lane: the lane; ignored when no longer attached
 *
 * Context: any but hard interrupt.
 */
void rchar_flow_retry(struct rchar_flow *flow, struct rchar_lane *lane)
{
	spin_lock_bh(&flow->lock);
	if (flow->lane == lane)
		rchar_flow_pump(flow);
	spin_unlock_bh(&flow->lock);
}

/**
 * rchar_flow_sent() - check whether the device has sent all queued frames
 * @flow: the flow
 *
 * Return: true when no frame and no ack waits or is in the send queue, or when no lane is attached.
 */
bool rchar_flow_sent(struct rchar_flow *flow)
{
	bool sent;

	spin_lock_bh(&flow->lock);
	sent = !flow->lane || (!frames_wait(flow) && !ack_wanted(flow) &&
			       list_empty(&flow->lane->tx.posted) && !flow->lane->tx.seal_wanted);
	spin_unlock_bh(&flow->lock);
	return sent;
}

/* ---- acknowledged ---- */

/**
 * rchar_flow_collect_acked() - remove acknowledged frames from the queue
 * @flow: the flow; its lock is held
 * @ack: sequence number of the first frame that the peer has not received
 * @acked: collects the frames
 */
void rchar_flow_collect_acked(struct rchar_flow *flow, u32 ack, struct list_head *acked)
{
	struct rchar_txbuf *txb, *tmp;

	list_for_each_entry_safe(txb, tmp, &flow->queue, queue) {
		if (!rchar_seq_before(txb->hdr.seq, ack))
			break;
		list_move_tail(&txb->queue, acked);
		flow->nr_queued--;
		WRITE_ONCE(flow->nr_replies, flow->nr_replies - !!txb->account);
	}
	if (!list_empty(acked))
		WRITE_ONCE(flow->traffic->progress_at, jiffies);
	flow->tx_una = ack;
}

/**
 * rchar_flow_finish_acked() - notify the senders, and drop the references of the queue
 * @flow: the flow
 * @acked: frames from rchar_flow_collect_acked(); emptied
 *
 * Context: any but hard interrupt, without the flow's lock.
 */
void rchar_flow_finish_acked(struct rchar_flow *flow, struct list_head *acked)
{
	struct rchar_txbuf *txb;

	while ((txb = list_first_entry_or_null(acked, struct rchar_txbuf, queue))) {
		list_del_init(&txb->queue);
		flow->traffic->ops->acked(txb);
		rchar_txbuf_put(txb);
	}
}

/* ---- attaching and detaching lanes ---- */

/**
 * rchar_flow_resume_valid() - check whether the peer can expect a sequence number next
 * @flow: the flow
 * @resume: sequence number in the peer's private data
 *
 * Return: true when @resume lies between the first unacknowledged frame and the next new frame.
 */
bool rchar_flow_resume_valid(struct rchar_flow *flow, u32 resume)
{
	bool ok;

	spin_lock_bh(&flow->lock);
	ok = rchar_seq_between(flow->tx_una, resume, flow->tx_next);
	spin_unlock_bh(&flow->lock);
	return ok;
}

/**
 * rchar_flow_prepare() - initialize the credits of a lane
 * @flow: the flow
 * @lane: the lane, with @peer filled in; no frame has been sent or received on the lane
 *
 * The peer's private data contains its number of receive buffers. More credits than
 * RCHAR_WIRE_CREDITS_MAX would only let the peer occupy more memory here by not acknowledging
 * frames.
 */
void rchar_flow_prepare(struct rchar_flow *flow, struct rchar_lane *lane)
{
	bool grows = lane->peer.caps & RCHAR_CAP_GROWS;
	u16 tx = min_t(u16, lane->peer.depth, RCHAR_WIRE_CREDITS_MAX);

	spin_lock_bh(&flow->lock);
	rchar_credit_init(&lane->tx.credit, tx, !grows, grows ? RCHAR_WIRE_CREDITS_MAX : tx,
			  lane->rx.most, lane->limits.depth);
	spin_unlock_bh(&flow->lock);
}

/**
 * rchar_flow_expects() - get the sequence number expected from the peer next
 * @flow: the flow
 *
 * Return: the sequence number.
 */
u32 rchar_flow_expects(struct rchar_flow *flow)
{
	u32 next;

	spin_lock_bh(&flow->lock);
	next = flow->rx_next;
	spin_unlock_bh(&flow->lock);
	return next;
}

/**
 * rchar_flow_share_rtt() - let READs and WRITEs know the round trip of frames
 * @lane: the lane; the lock of its flow is held
 * @rtt_ns: nanoseconds; 0: not known yet
 */
void rchar_flow_share_rtt(struct rchar_lane *lane, u32 rtt_ns)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(lane->onesided.inflight); i++)
		rchar_inflight_set_rtt(&lane->onesided.inflight[i], rtt_ns);
}

/**
 * rchar_flow_attach() - attach a connected lane: handshake frames may be sent on the lane
 * @flow: the flow
 * @lane: the lane, with @peer filled in
 * @resume: sequence number that the peer expects next, checked by rchar_flow_resume_valid()
 */
void rchar_flow_attach(struct rchar_flow *flow, struct rchar_lane *lane, u32 resume)
{
	LIST_HEAD(acked);

	spin_lock_bh(&flow->lock);
	WARN_ON_ONCE(flow->lane);
	rchar_flow_collect_acked(flow, resume, &acked);
	WRITE_ONCE(flow->lane, lane);
	WRITE_ONCE(flow->next, list_first_entry_or_null(&flow->queue, struct rchar_txbuf, queue));
	flow->rx_acked = flow->rx_next;
	flow->ack_now = false;
	lane->sq.open = true;
	/* That of before: each PING of this connection may wait for READs. */
	rchar_flow_share_rtt(lane, flow->rtt_ns);
	spin_unlock_bh(&flow->lock);
	rchar_flow_finish_acked(flow, &acked);
}

/**
 * rchar_flow_ready() - the handshake is complete: send all other frames too
 * @flow: the flow
 * @lane: the lane; ignored when no longer attached
 */
void rchar_flow_ready(struct rchar_flow *flow, struct rchar_lane *lane)
{
	spin_lock_bh(&flow->lock);
	if (flow->lane == lane) {
		lane->sq.ready = true;
		rchar_flow_pump(flow);
	}
	spin_unlock_bh(&flow->lock);
}

/**
 * rchar_flow_detach() - detach a lane: nothing more is posted on the lane
 * @flow: the flow
 * @lane: the lane, attached or not
 */
void rchar_flow_detach(struct rchar_flow *flow, struct rchar_lane *lane)
{
	spin_lock_bh(&flow->lock);
	lane->sq.open = false;
	if (flow->lane == lane) {
		WRITE_ONCE(flow->lane, NULL);
		WRITE_ONCE(flow->next, NULL);
		/* Parked until keys for the next connection arrive. Programs control how many
		 * queues wait, so splice the lists instead of walking them.
		 */
		list_splice_tail_init(&flow->ready[0], &flow->parked);
		list_splice_tail_init(&flow->ready[1], &flow->parked);
	}
	spin_unlock_bh(&flow->lock);
	rchar_flow_wake_flusher(flow->traffic);
}

/* Take all frames off the flow. */
static void take_all(struct rchar_flow *flow, struct list_head *frames)
{
	struct rchar_sender *sender;

	lockdep_assert_held(&flow->lock);
	list_splice_init(&flow->queue, frames);
	while ((sender = next_sender(flow))) {
		list_splice_tail_init(&sender->unsent, frames);
		rchar_turns_remove(&flow->turns, &sender->turn);
	}
	WRITE_ONCE(flow->next, NULL);
	WRITE_ONCE(flow->nr_unsent, 0);
	WRITE_ONCE(flow->nr_replies, 0);
	flow->nr_queued = 0;
}

/**
 * rchar_flow_reset() - discard all frames and sequence numbers
 * @flow: the flow; no lane is attached
 *
 * Context: process.
 */
void rchar_flow_reset(struct rchar_flow *flow)
{
	struct rchar_txbuf *txb;
	LIST_HEAD(dropped);

	spin_lock_bh(&flow->lock);
	WARN_ON_ONCE(flow->lane);
	take_all(flow, &dropped);
	flow->tx_next = 0;
	flow->tx_una = 0;
	flow->rx_next = 0;
	flow->rx_acked = 0;
	spin_unlock_bh(&flow->lock);
	list_for_each_entry(txb, &dropped, queue)
		flow->traffic->ops->dropped(txb);
	rchar_txbuf_put_list(&dropped);
}
