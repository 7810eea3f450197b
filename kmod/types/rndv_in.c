// SPDX-License-Identifier: GPL-2.0
/*
 * The reading side of a rendezvous. RNDV announces that this host can read the next bytes of
 * a stream from the peer's memory. A sleeping read() posts the READ itself, to the memory of its
 * program. Without such a reader, a work item allocates segments, posts the READ to the segments,
 * and then adds the segments to the session's receive queue. RNDV_DONE reports the result to
 * the peer. The peer may send the same bytes in DATA frames with INSTEAD. These frames replace a
 * READ that has not completed. After a completed READ they are dropped.
 */
#include "rndv.h"
#include <linux/bvec.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include "base/account.h"
#include "base/ledger.h"
#include "link/lane.h"
#include "link/onesided.h"
#include "link/rxbuf.h"
#include "link/txbuf.h"
#include "session/channel.h"
#include "session/session_priv.h"
#include "transfer.h"

#define CHUNKS_MAX DIV_ROUND_UP(RCHAR_WIRE_RNDV_MAX, RCHAR_CHUNK_SIZE)

static struct workqueue_struct *rndv_wq;

enum rndv_state {
	WAITING, /* @work is queued; a reader may still take the rendezvous */
	HELD,	 /* a reader owns the rendezvous, and @work is not queued */
	WORKING, /* @work owns the rendezvous; a reader may have given it back */
	POSTED,	 /* @work has submitted the READ; @work runs again when the READ ends */
};

/**
 * struct rchar_rndv_in - an incoming rendezvous: bytes to read from the peer
 * @io: offset and length; also the READ itself, if @work submits the READ
 * @keys: key of the peer's memory
 * @work: allocates @segs and submits @io, then runs again to finish; unused while a reader owns
 *	  the rendezvous
 * @session: the session; the rendezvous holds a reference
 * @answer: RNDV_DONE frame for the peer, allocated in advance
 * @id: id chosen by the peer, echoed in @answer
 * @segs: segments that receive the bytes, if @work submits the READ
 * @state: owner of the rendezvous; changes from WAITING and HELD need the session's lock
 * @over: the result is no longer wanted; session lock
 * @held: the bytes of @segs count against the peer
 * @vecs: the memory of @segs
 */
struct rchar_rndv_in {
	struct rchar_io io;
	struct rchar_keys keys;
	struct work_struct work;
	struct rchar_session *session;
	struct rchar_txbuf *answer;
	__le32 id;
	struct list_head segs;
	enum rndv_state state;
	bool over;
	bool held;
	struct bio_vec vecs[CHUNKS_MAX];
};

static void rndv_in_release(struct rchar_rndv_in *b)
{
	rchar_seg_free_list(&b->segs);
	if (b->held)
		rchar_account_release(b->session->link->account, b->io.len);
	if (b->answer)
		rchar_txbuf_put(b->answer);
	rchar_keys_destroy(&b->keys, NULL);
	rchar_session_put(b->session);
	rchar_ledger_del(RCHAR_OBJ_RNDV);
	kfree(b);
}

static bool make_room(struct rchar_rndv_in *b)
{
	u32 left = b->io.len;
	int n = 0;

	while (left) {
		struct rchar_seg *seg = rchar_seg_alloc(min_t(u32, left, RCHAR_FRAME_SIZE));
		int i;

		if (!seg)
			return false;
		list_add_tail(&seg->entry, &b->segs);
		left -= seg->end;
		for (i = 0; i < seg->nr_chunks; i++)
			b->vecs[n++] = (struct bio_vec){
				.bv_page = seg->chunks[i],
				.bv_len = min_t(u32, seg->end - i * RCHAR_CHUNK_SIZE,
						RCHAR_CHUNK_SIZE),
			};
	}
	return true;
}

/*
 * Charge the segments to the peer. If the session ends, the memory is in use until the READ has
 * completed, and a peer can delay that. Without room in the peer's budget, this host refuses the
 * rendezvous, and the bytes arrive in frames.
 */
static bool rndv_in_hold(struct rchar_rndv_in *b)
{
	b->held = rchar_account_hold(b->session->link->account, b->io.len);
	return b->held;
}

/* Can the lane READ? */
static bool rndv_in_may_read(struct rchar_rndv_in *b)
{
	struct rchar_lane *lane = rchar_flow_get_lane(b->session->flow);
	bool ok = !lane || lane->limits.reads;

	if (lane)
		rchar_lane_put(lane);
	return ok;
}

static void send_answer(struct rchar_rndv_in *b, enum rchar_rndv_status status)
{
	struct rchar_wire_rndv_done wire = { .id = b->id, .status = cpu_to_le32(status) };
	LIST_HEAD(frames);

	rchar_txbuf_append(b->answer, &wire, sizeof(wire));
	list_add(&b->answer->queue, &frames);
	b->answer = NULL;
	rchar_session_queue_locked(b->session, &frames);
}

/*
 * Settle a rendezvous: record the result, deliver the bytes to the queue unless a reader owns the
 * rendezvous, and answer the peer. Return true if the bytes were read and are still wanted.
 */
static bool rndv_in_settle(struct rchar_rndv_in *b, bool read)
{
	struct rchar_session *s = b->session;
	struct rchar_rndv *rndv = rchar_session_priv(s);
	bool wanted = false;

	spin_lock_bh(&s->lock);
	if (!b->over) {
		rndv->in = NULL;
		rndv->got = read;
		/* After a half-close, the window already counts all received bytes as read. */
		wanted = read && !rchar_session_data_unwanted(s);
		if (wanted && b->state == HELD)
			rchar_session_took(s, b->io.len);
		else if (wanted)
			rchar_session_deliver(s, &b->segs);
		send_answer(b, read ? RCHAR_RNDV_OK : RCHAR_RNDV_REFUSED);
	}
	spin_unlock_bh(&s->lock);
	return wanted;
}

static void rndv_in_end(struct rchar_rndv_in *b, bool read)
{
	rndv_in_settle(b, read);
	rndv_in_release(b);
}

static void rndv_in_io_end(struct rchar_io *io)
{
	struct rchar_rndv_in *b = container_of(io, struct rchar_rndv_in, io);

	queue_work(rndv_wq, &b->work);
}

static void rndv_in_work(struct work_struct *work)
{
	struct rchar_rndv_in *b = container_of(work, struct rchar_rndv_in, work);

	if (b->state == POSTED) {
		rndv_in_end(b, !b->io.error);
		return;
	}
	spin_lock_bh(&b->session->lock);
	WRITE_ONCE(b->state, WORKING);
	spin_unlock_bh(&b->session->lock);
	if (!rndv_in_may_read(b) || !rndv_in_hold(b) || !make_room(b)) {
		rndv_in_end(b, false);
	} else {
		/*
		 * If the key belongs to an earlier connection, the READ is never posted. The
		 * bytes then arrive in frames, and rchar_rndv_in_over() cancels the READ.
		 */
		WRITE_ONCE(b->state, POSTED);
		rchar_onesided_submit(b->session->flow, &b->io);
	}
}

/* ---- into the memory of a program ---- */

/* Does the rendezvous fit into the reader's buffer, and are its bytes the next to read? */
static bool rndv_in_fits(const struct rchar_session *s, const struct rchar_rndv_reader *reader,
			 const struct rchar_rndv_in *b)
{
	return reader->room >= b->io.len && list_empty(&s->rx.queue) &&
	       !rchar_session_data_unwanted(s);
}

/*
 * Reclaim a rendezvous from the worker. Return true if rndv_in_work() will not run for it. Once a
 * reader has given a rendezvous back to the worker, it cannot reclaim it.
 *
 * cancel_work() must not race with queue_work(), which could then do nothing. While the state is
 * WAITING, only rchar_rndv_receive() queues the work, with the same lock held.
 */
static bool take_from_work(struct rchar_rndv_in *b)
{
	lockdep_assert_held(&b->session->lock);
	return READ_ONCE(b->state) == WAITING && cancel_work(&b->work);
}

static void rndv_in_give(struct rchar_rndv_in *b, struct rchar_rndv_reader *reader)
{
	b->state = HELD;
	WRITE_ONCE(reader->in, b);
}

/**
 * rchar_rndv_expect() - register a read() that is about to sleep as the reader of a rendezvous
 * @session: the session of the read()
 * @reader: the reader; stays registered until rchar_rndv_place()
 * @to: the buffer of the read()
 *
 * Context: process.
 * Return: true if the caller must call rchar_rndv_place() after the sleep; false if this reader
 * cannot take a rendezvous.
 */
bool rchar_rndv_expect(struct rchar_session *session, struct rchar_rndv_reader *reader,
		       const struct iov_iter *to)
{
	struct rchar_rndv *rndv = rchar_session_priv(session);
	bool expected = true;

	reader->room = iov_iter_count(to);
	reader->in = NULL;
	if (!user_backed_iter(to) || reader->room < RCHAR_WIRE_RNDV_MIN || signal_pending(current))
		return false;
	spin_lock_bh(&session->lock);
	if (rndv->in && rndv_in_fits(session, reader, rndv->in) && take_from_work(rndv->in))
		rndv_in_give(rndv->in, reader);
	else if (!rndv->reader)
		rndv->reader = reader;
	else
		expected = false;
	spin_unlock_bh(&session->lock);
	return expected;
}

/* Pin the program's memory for the whole rendezvous. Return NULL if that is not possible. */
static struct rchar_transfer *rndv_in_pin(struct rchar_rndv_in *b, const struct iov_iter *to)
{
	struct iov_iter iter = *to;
	struct rchar_transfer *t;

	/* The read() waits until the transfer has ended, so current->mm stays valid. */
	t = rchar_transfer_pin(b->session, &b->keys, b->io.offset, false, &iter, b->io.len,
			       current->mm, RCHAR_GFP_PROGRAM);
	if (IS_ERR(t))
		return NULL;
	if (t->io.len == b->io.len)
		return t;
	rchar_transfer_put(t);
	return NULL;
}

/* The READ that was cancelled is in the send queue, behind those of others. */
static void rndv_in_wait_out(struct rchar_rndv_in *b, struct rchar_transfer *t)
{
	struct rchar_lane *lane;

	if (wait_for_completion_timeout(&t->done, RCHAR_RNDV_UNDO_MAX))
		return;
	lane = rchar_flow_get_lane(b->session->flow);
	if (lane) {
		/* If it is done by now, this is probably a new lane, which never had the READ. */
		if (!completion_done(&t->done))
			rchar_lane_fail(lane, RCHAR_REASON_TIMEOUT);
		rchar_lane_put(lane);
	}
	wait_for_completion(&t->done);
}

/*
 * Execute the READ. After the return, the device no longer writes to the program's memory. Return
 * true if the READ succeeded.
 */
static bool rndv_in_read_to(struct rchar_rndv_in *b, struct rchar_transfer *t)
{
	rchar_transfer_start(t, NULL);
	if (wait_for_completion_interruptible(&t->done)) {
		rchar_onesided_cancel(b->session->flow, &b->keys, -EINTR);
		rndv_in_wait_out(b, t);
	}
	return !t->io.error;
}

/**
 * rchar_rndv_place() - end the wait of a reader and read its rendezvous
 * @session: the session of the read()
 * @reader: the reader after rchar_rndv_expect()
 * @to: the buffer passed to rchar_rndv_expect(); advanced past the bytes read
 *
 * Reads the rendezvous that was assigned to the reader, if any, or gives the rendezvous back to
 * rndv_in_work().
 *
 * Context: process; waits for the READ. A signal cancels a READ that is not posted. A posted
 * READ must complete first: RCHAR_RNDV_UNDO_MAX after the signal, the lane fails.
 * Return: bytes read, or 0.
 */
ssize_t rchar_rndv_place(struct rchar_session *session, struct rchar_rndv_reader *reader,
			 struct iov_iter *to)
{
	struct rchar_rndv *rndv = rchar_session_priv(session);
	struct rchar_transfer *t = NULL;
	struct rchar_rndv_in *b;
	ssize_t done = 0;

	spin_lock_bh(&session->lock);
	if (rndv->reader == reader)
		rndv->reader = NULL;
	b = reader->in;
	spin_unlock_bh(&session->lock);
	if (!b)
		return 0;
	if (!signal_pending(current) && rndv_in_may_read(b))
		t = rndv_in_pin(b, to);
	if (!t) {
		spin_lock_bh(&session->lock);
		b->state = WORKING;
		spin_unlock_bh(&session->lock);
		queue_work(rndv_wq, &b->work);
		return 0;
	}
	if (rndv_in_settle(b, rndv_in_read_to(b, t))) {
		done = b->io.len;
		iov_iter_advance(to, done);
		rchar_stats_inc(&session->channel->stats.rndv_placed);
	}
	rchar_transfer_put(t);
	rndv_in_release(b);
	return done;
}

/* Assign a new rendezvous to the sleeping reader if the bytes are the next to read. */
static bool hand_over(struct rchar_session *s, struct rchar_rndv_in *b)
{
	struct rchar_rndv *rndv = rchar_session_priv(s);
	struct rchar_rndv_reader *reader = rndv->reader;

	if (!reader || !rndv_in_fits(s, reader, b))
		return false;
	rndv->reader = NULL;
	rndv_in_give(b, reader);
	wake_up_interruptible(&s->rx.wait);
	return true;
}

/* ---- frames ---- */

static struct rchar_rndv_in *rndv_in_create(struct rchar_session *s,
					    const struct rchar_wire_rndv *wire)
{
	gfp_t gfp = GFP_ATOMIC | __GFP_NOWARN;
	struct rchar_rndv_in *b = kzalloc(sizeof(*b), gfp);

	if (!b)
		return NULL;
	rchar_ledger_add(RCHAR_OBJ_RNDV);
	rchar_session_get(s);
	b->session = s;
	b->id = wire->id;
	INIT_WORK(&b->work, rndv_in_work);
	INIT_LIST_HEAD(&b->segs);
	INIT_LIST_HEAD(&b->io.entry);
	b->io.keys = &b->keys;
	b->io.offset = le32_to_cpu(wire->offset);
	b->io.len = le32_to_cpu(wire->len);
	b->io.vecs = b->vecs;
	b->io.end = rndv_in_io_end;
	rchar_keys_init(&b->keys, 0, &s->channel->config.priority);
	b->answer = rchar_txbuf_alloc_reply(RCHAR_OP_RNDV_DONE, sizeof(struct rchar_wire_rndv_done),
					    s->link->account);
	if (b->answer) {
		b->answer->invalidates = true;
		b->answer->invalidate_attempt = le32_to_cpu(wire->attempt);
		b->answer->invalidate_key = le32_to_cpu(wire->key);
	}
	if (!b->answer || rchar_keys_one(&b->keys, b->io.offset + b->io.len,
					 le32_to_cpu(wire->attempt), le32_to_cpu(wire->key))) {
		rndv_in_release(b);
		return NULL;
	}
	return b;
}

/**
 * rchar_rndv_receive() - process a received RNDV
 * @session: the session; the caller holds its lock, and the previous RNDV is settled
 * @rxb: the payload
 * @ret: set to -ENOMEM when the peer must send the frame again after a reconnect
 *
 * A RNDV that exceeds the receive window fails the session.
 *
 * Return: RCHAR_FRAME_OK, or the error in the frame.
 */
enum rchar_frame_error rchar_rndv_receive(struct rchar_session *session, struct rchar_rxbuf *rxb,
					  int *ret)
{
	struct rchar_rndv *rndv = rchar_session_priv(session);
	struct rchar_wire_rndv wire;
	enum rchar_frame_error error;
	struct rchar_rndv_in *b;

	rchar_rxbuf_copy(rxb, &wire, sizeof(wire));
	error = rchar_rndv_check(&wire);
	if (error)
		return error;
	b = rndv_in_create(session, &wire);
	if (!b) {
		*ret = -ENOMEM;
		return RCHAR_FRAME_OK;
	}
	if (!rchar_session_take_window(session, b->io.len, 0)) {
		rndv_in_release(b);
		return RCHAR_FRAME_OK;
	}
	rndv->left = b->io.len;
	rndv->got = false;
	rndv->in = b;
	if (!hand_over(session, b))
		queue_work(rndv_wq, &b->work);
	return RCHAR_FRAME_OK;
}

/**
 * rchar_rndv_open() - test whether bytes of the last RNDV are still missing
 * @session: the session; the caller holds its lock
 *
 * No other data of the stream may arrive before these bytes.
 *
 * Return: true if the peer may still send bytes of the last RNDV and no READ has fetched them.
 */
bool rchar_rndv_open(const struct rchar_session *session)
{
	const struct rchar_rndv *rndv = rchar_session_priv(session);

	return rndv->left && !rndv->got;
}

/**
 * rchar_rndv_in_over() - give up the incoming rendezvous
 * @session: the session; the caller holds its lock
 *
 * Called when the bytes arrive in frames and when the session is dead.
 */
void rchar_rndv_in_over(struct rchar_session *session)
{
	struct rchar_rndv *rndv = rchar_session_priv(session);
	struct rchar_rndv_in *b = rndv->in;

	lockdep_assert_held(&session->lock);
	if (!b)
		return;
	rndv->in = NULL;
	b->over = true;
	/* A posted READ ends when its work requests complete. Any other READ ends now. */
	rchar_onesided_cancel(session->flow, &b->keys, -ECANCELED);
}

/**
 * rchar_rndv_in_stop() - cancel the READ of a reader after a half-close
 * @session: the session, whose reading half was just closed; the caller holds its lock
 *
 * A reader that waits for its READ would not notice the half-close.
 */
void rchar_rndv_in_stop(struct rchar_session *session)
{
	struct rchar_rndv *rndv = rchar_session_priv(session);
	struct rchar_rndv_in *b = rndv->in;

	lockdep_assert_held(&session->lock);
	if (b && READ_ONCE(b->state) == HELD)
		rchar_onesided_cancel(session->flow, &b->keys, -ECANCELED);
}

/**
 * rchar_rndv_init() - create the workqueue at module load
 *
 * Return: 0 or -ENOMEM.
 */
int rchar_rndv_init(void)
{
	rndv_wq = alloc_workqueue("rchar_rndv", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return rndv_wq ? 0 : -ENOMEM;
}

/**
 * rchar_rndv_exit() - destroy the workqueue at module unload, after the last session
 */
void rchar_rndv_exit(void)
{
	destroy_workqueue(rndv_wq);
}
