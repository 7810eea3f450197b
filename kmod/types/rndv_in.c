// SPDX-License-Identifier: GPL-2.0
/*
 * The reading end of a rendezvous. A RNDV says that the next bytes of a stream can be read
 * from the peer's memory. A read() that sleeps for them posts the READ itself, to the
 * memory of its program. Else a work item makes room and posts it, and then the bytes join
 * the session's queue. The peer is told. Should they come in frames after all, those are
 * taken in place of the READ; or dropped, when the READ was sooner.
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

#define CHUNKS_MAX	DIV_ROUND_UP(RCHAR_WIRE_RNDV_MAX, RCHAR_CHUNK_SIZE)

static struct workqueue_struct *rndv_wq;

enum rndv_state {
	WAITING,	/* @work is queued; a reader may still take it */
	HELD,		/* a reader has it, and @work is not queued */
	WORKING,	/* @work has it, perhaps left by a reader */
	POSTED,		/* and is called for the end */
};

/**
 * struct rchar_rndv_in - bytes that can be read from the peer
 * @io: the READ, unless a reader does it
 * @keys: where from
 * @work: makes room, then ends; unless a reader does
 * @session: holds a reference
 * @answer: to the peer
 * @id: the peer's; echoed
 * @segs: where to
 * @state: who has it; WAITING and HELD change with the session's lock
 * @over: session lock: nobody wants it any more
 * @held: @segs count against the peer
 * @vecs: the same memory as @segs
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
 * Should the session end meanwhile, the memory stays until the READ has come back, and a peer
 * can make that late. Without room in the budget the bytes come in frames.
 */
static bool rndv_in_hold(struct rchar_rndv_in *b)
{
	b->held = rchar_account_hold(b->session->link->account, b->io.len);
	return b->held;
}

/* Not on iWARP: an adapter wants a key for what a READ writes to (RFC 5040, 5.2). */
static bool keyless_reads(struct rchar_rndv_in *b)
{
	struct rchar_lane *lane = rchar_flow_get_lane(b->session->flow);
	bool ok = !lane || !lane->signal_all;

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

/* It is over. True: what was read is wanted. */
static bool rndv_in_settle(struct rchar_rndv_in *b, bool read)
{
	struct rchar_session *s = b->session;
	struct rchar_rndv *rndv = rchar_session_priv(s);
	bool wanted = false;

	spin_lock_bh(&s->lock);
	if (!b->over) {
		rndv->in = NULL;
		rndv->got = read;
		/* After a half-close all counts as read by the program already. */
		wanted = read && !rchar_session_data_unwanted(s);
		if (wanted && b->state == HELD)
			s->rx.window.read += b->io.len;
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
	if (!keyless_reads(b) || !rndv_in_hold(b) || !make_room(b)) {
		rndv_in_end(b, false);
	} else {
		/* Should the key be of an earlier connection, it waits for the frames. */
		WRITE_ONCE(b->state, POSTED);
		rchar_onesided_submit(b->session->flow, &b->io);
	}
}

/* ---- to where a program wants it ---- */

/* There is room for it, and nothing comes before it. */
static bool rndv_in_fits(const struct rchar_session *s, const struct rchar_rndv_reader *reader,
		 const struct rchar_rndv_in *b)
{
	return reader->room >= b->io.len && list_empty(&s->rx.queue) &&
	       !rchar_session_data_unwanted(s);
}

/*
 * True: rndv_in_work() will not run for it. What a reader could not take it does not get again.
 *
 * cancel_work() must not meet queue_work(), which then does nothing. While it is WAITING only
 * rchar_rndv_receive() does that, with the same lock.
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
 * rchar_rndv_expect() - a read() is about to sleep
 * @session: its session
 * @reader: where it waits for a rendezvous, until rchar_rndv_place()
 * @to: its buffer
 *
 * Return: false when none will come to this one: then rchar_rndv_place() is not called.
 */
bool rchar_rndv_expect(struct rchar_session *session, struct rchar_rndv_reader *reader,
		       const struct iov_iter *to)
{
	struct rchar_rndv *rndv = rchar_session_priv(session);
	bool expected = true;

	reader->room = iov_iter_count(to);
	reader->in = NULL;
	if (!user_backed_iter(to) || reader->room < RCHAR_WIRE_RNDV_MIN ||
	    signal_pending(current))
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

/* The program's memory for all of it, or NULL. */
static struct rchar_transfer *rndv_in_pin(struct rchar_rndv_in *b, const struct iov_iter *to)
{
	struct iov_iter iter = *to;
	struct rchar_transfer *t;

	/* The read() waits for the end. */
	t = rchar_transfer_pin(b->session, &b->keys, b->io.offset, false, &iter, b->io.len,
			       current->mm, RCHAR_GFP_PROGRAM);
	if (IS_ERR(t))
		return NULL;
	if (t->io.len == b->io.len)
		return t;
	rchar_transfer_put(t);
	return NULL;
}

/* Nothing writes to the program's memory any more when this returns. True: it is read. */
static bool rndv_in_read_to(struct rchar_rndv_in *b, struct rchar_transfer *t)
{
	rchar_transfer_start(t, NULL);
	if (wait_for_completion_interruptible(&t->done)) {
		rchar_onesided_cancel(b->session->flow, &b->keys, -EINTR);
		wait_for_completion(&t->done);
	}
	return !t->io.error;
}

/**
 * rchar_rndv_place() - it sleeps no more
 * @session: its session
 * @reader: after rchar_rndv_expect()
 * @to: the same; advanced behind what is read
 *
 * Takes the rendezvous that came, if one did; or leaves it to rndv_in_work().
 *
 * Context: process; waits for the READ, and for the end of the connection should a
 * signal come then.
 * Return: bytes, or 0.
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
	if (!signal_pending(current) && keyless_reads(b))
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

/* To a reader that sleeps, if what comes next is this. */
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
	rchar_keys_init(&b->keys, 0);
	b->answer = rchar_txbuf_alloc_reply(RCHAR_OP_RNDV_DONE, sizeof(struct rchar_wire_rndv_done),
					    s->link->account);
	if (!b->answer || rchar_keys_one(&b->keys, b->io.offset + b->io.len,
					 le32_to_cpu(wire->attempt), le32_to_cpu(wire->key))) {
		rndv_in_release(b);
		return NULL;
	}
	return b;
}

/**
 * rchar_rndv_receive() - a RNDV arrived
 * @session: the session; its lock is held. The last one is settled.
 * @rxb: the payload
 * @ret: set to -ENOMEM to get it again
 *
 * Return: RCHAR_FRAME_OK, or what is wrong with the frame.
 */
enum rchar_frame_error rchar_rndv_receive(struct rchar_session *session,
					  struct rchar_rxbuf *rxb, int *ret)
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
 * rchar_rndv_open() - are the bytes of the last RNDV not there yet?
 * @session: the session; its lock is held
 *
 * Nothing else can come before them.
 */
bool rchar_rndv_open(const struct rchar_session *session)
{
	const struct rchar_rndv *rndv = rchar_session_priv(session);

	return rndv->left && !rndv->got;
}

/**
 * rchar_rndv_in_over() - the bytes come in frames, or nobody wants them any more
 * @session: the session; its lock is held
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
	/* What is in the send queue comes back; the rest ends now. */
	rchar_onesided_cancel(session->flow, &b->keys, -ECANCELED);
}

/**
 * rchar_rndv_in_stop() - what is read now is wanted no more
 * @session: the session, just half-closed; its lock is held
 *
 * A reader that waits for its READ would not see it.
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
 * rchar_rndv_init() - at module load
 */
int rchar_rndv_init(void)
{
	rndv_wq = alloc_workqueue("rchar_rndv", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return rndv_wq ? 0 : -ENOMEM;
}

/**
 * rchar_rndv_exit() - at module unload, when no session is left
 */
void rchar_rndv_exit(void)
{
	destroy_workqueue(rndv_wq);
}
