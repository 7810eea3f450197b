// SPDX-License-Identifier: GPL-2.0
#include "calls.h"
#include <linux/completion.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include "base/seq.h"
#include "link/rxbuf.h"
#include "link/txbuf.h"
#include "region.h"
#include "session/channel.h"
#include "session/session_priv.h"

/* Most unacknowledged calls of a session, including calls whose callers were killed. */
#define CALLS_MAX  1024
/* Callers completed with the lock held once; bounds the lock's hold time. */
#define FAIL_BATCH 64

/**
 * struct call - a CALL that waits for its RESULT
 * @entry: entry in rchar_calls.waiting until @done, or until the caller of a call that is not a
 *	   piece is killed
 * @id: id in the CALL frame
 * @done: completed when the result has arrived or the session is dead
 * @error: result: 0 or a negative errno
 * @old: value of the word before the operation
 * @calls: a piece of a read or write: the calls that it belongs to
 * @abandoned: a piece: nobody waits any more; the result frees the piece
 * @read: a piece of a read: bytes that RESULT must bring
 * @seg: a piece of a read: the payload of RESULT
 * @len: a piece: bytes to move
 */
struct call {
	struct list_head entry;
	u32 id;
	struct completion done;
	int error;
	u64 old;
	struct rchar_calls *calls;
	bool abandoned;
	u32 read;
	struct rchar_seg *seg;
	u32 len;
};

/**
 * rchar_calls_init() - initialize, without calls
 * @calls: the calls of a new session
 */
void rchar_calls_init(struct rchar_calls *calls)
{
	INIT_LIST_HEAD(&calls->waiting);
	calls->slots = RCHAR_WIRE_PIECES_MAX;
	INIT_LIST_HEAD(&calls->line);
}

/* ---- slots for pieces ---- */

/**
 * struct in_line - a request that waits for a slot
 * @entry: entry in rchar_calls.line; empty when the request has its slot
 * @done: completed when the request has its slot
 */
struct in_line {
	struct list_head entry;
	struct completion done;
};

/* Hand a slot on, to who waits longest. The session lock is held. */
static void slot_give(struct rchar_calls *calls)
{
	struct in_line *first = list_first_entry_or_null(&calls->line, struct in_line, entry);

	if (first) {
		list_del_init(&first->entry);
		complete(&first->done);
	} else {
		calls->slots++;
	}
}

/* Take a slot if there is one; while others wait, there is none. */
static bool slot_take(struct rchar_session *s, struct rchar_calls *calls, struct in_line *in_line)
{
	bool taken;

	spin_lock_bh(&s->lock);
	taken = calls->slots;
	if (taken)
		calls->slots--;
	else if (in_line)
		list_add_tail(&in_line->entry, &calls->line);
	spin_unlock_bh(&s->lock);
	return taken;
}

/* Returns 0 or -EINTR. */
static int slot_wait(struct rchar_session *s, struct rchar_calls *calls)
{
	struct in_line in_line = { .done = COMPLETION_INITIALIZER_ONSTACK(in_line.done) };

	if (slot_take(s, calls, &in_line) ||
	    !wait_for_completion_state(&in_line.done, RCHAR_PROGRAM_WAITS))
		return 0;
	spin_lock_bh(&s->lock);
	if (list_empty(&in_line.entry))
		slot_give(calls);
	else
		list_del(&in_line.entry);
	spin_unlock_bh(&s->lock);
	return -EINTR;
}

/* ---- send ---- */

/* Queue the frame of a call, whose payload begins with the CALL. Takes over @txb in any case. */
static int call_queue(struct rchar_session *s, struct rchar_calls *calls, struct call *call,
		      struct rchar_txbuf *txb)
{
	struct rchar_wire_call *wire = rchar_txbuf_payload(txb);
	LIST_HEAD(frames);
	int ret = 0;

	list_add(&txb->queue, &frames);
	spin_lock_bh(&s->lock);
	if (s->state == RCHAR_SESSION_DEAD) {
		ret = s->error ?: -ECONNRESET;
	} else if (s->tx.frames >= CALLS_MAX) {
		ret = -ENOBUFS;
	} else {
		call->id = ++calls->last;
		wire->id = cpu_to_le32(call->id);
		list_add_tail(&call->entry, &calls->waiting);
		rchar_session_queue_locked(s, &frames);
	}
	spin_unlock_bh(&s->lock);
	rchar_txbuf_put_list(&frames);
	return ret;
}

/**
 * rchar_calls_execute() - let the exporter's kernel execute a call
 * @s: the session, open
 * @calls: its calls
 * @wire: the call, without the id
 * @old: set to the value of the word before the call
 *
 * Context: process; sleeps.
 * Return: 0; -ENOMEM; -ENOBUFS when too many calls wait; -EINTR when the program is killed; the
 * error of the call or of the dead session.
 */
int rchar_calls_execute(struct rchar_session *s, struct rchar_calls *calls,
			struct rchar_wire_call *wire, u64 *old)
{
	struct call call = { .done = COMPLETION_INITIALIZER_ONSTACK(call.done) };
	struct rchar_txbuf *txb;
	int ret;

	txb = rchar_txbuf_alloc(RCHAR_OP_CALL, sizeof(*wire), RCHAR_GFP_PROGRAM);
	if (!txb)
		return -ENOMEM;
	rchar_txbuf_append(txb, wire, sizeof(*wire));
	ret = call_queue(s, calls, &call, txb);
	if (ret)
		return ret;
	if (wait_for_completion_state(&call.done, RCHAR_PROGRAM_WAITS)) {
		spin_lock_bh(&s->lock);
		list_del_init(&call.entry);
		spin_unlock_bh(&s->lock);
		return -EINTR;
	}
	rchar_stats_inc(&s->channel->stats.calls);
	*old = call.old;
	return call.error;
}

/* ---- pieces of a read or a write ---- */

static void piece_free(struct call *piece)
{
	if (piece->seg)
		rchar_seg_free(piece->seg);
	kfree(piece);
}

/* The caller wants no result any more. The exporter executes the piece all the same. */
static void piece_abandon(struct rchar_session *s, struct call *piece)
{
	bool waits;

	spin_lock_bh(&s->lock);
	waits = !list_empty(&piece->entry);
	piece->abandoned = waits;
	spin_unlock_bh(&s->lock);
	if (!waits)
		piece_free(piece);
}

/* The frame of a piece, with the data of a write. Returns an ERR_PTR on failure. */
static struct rchar_txbuf *piece_frame(u64 offset, struct iov_iter *iter, u32 *len, bool write)
{
	struct rchar_wire_call wire = {
		.call = write ? RCHAR_CALL_WRITE : RCHAR_CALL_READ,
		.offset = cpu_to_le64(offset),
	};
	struct rchar_txbuf *txb;

	txb = rchar_txbuf_alloc(RCHAR_OP_CALL, sizeof(wire) + (write ? *len : 0),
				RCHAR_GFP_PROGRAM);
	if (!txb)
		return ERR_PTR(-ENOMEM);
	rchar_txbuf_append(txb, &wire, sizeof(wire));
	if (write)
		*len = rchar_txbuf_copy(txb, *len, iter);
	if (!*len) {
		rchar_txbuf_put(txb);
		return ERR_PTR(-EFAULT);
	}
	((struct rchar_wire_call *)rchar_txbuf_payload(txb))->operand = cpu_to_le64(*len);
	return txb;
}

/*
 * Send a piece; takes over @txb in any case. Nothing here accesses the memory of the program: what
 * a fault waits for may be another piece of this session.
 */
static struct call *piece_send(struct rchar_session *s, struct rchar_calls *calls,
			       struct rchar_txbuf *txb, u32 len, bool write)
{
	struct call *piece = kzalloc(sizeof(*piece), RCHAR_GFP_PROGRAM);
	int ret = -ENOMEM;

	if (!piece) {
		rchar_txbuf_put(txb);
		goto err_slot;
	}
	init_completion(&piece->done);
	INIT_LIST_HEAD(&piece->entry);
	piece->calls = calls;
	piece->len = len;
	piece->read = write ? 0 : len;
	ret = call_queue(s, calls, piece, txb);
	if (!ret)
		return piece;
	piece_free(piece);
err_slot:
	spin_lock_bh(&s->lock);
	slot_give(calls);
	spin_unlock_bh(&s->lock);
	return ERR_PTR(ret);
}

/* Wait for the result of a piece. Returns the bytes moved or a negative errno. */
static ssize_t piece_wait(struct call *piece, struct iov_iter *iter)
{
	size_t got;

	if (wait_for_completion_state(&piece->done, RCHAR_PROGRAM_WAITS))
		return -EINTR;
	if (piece->error)
		return piece->error;
	if (!piece->read)
		return piece->len;
	got = rchar_seg_copy(piece->seg, sizeof(struct rchar_wire_result), piece->len, iter);
	return got ?: -EFAULT;
}

/* A payload of whole pages, within the limits of both sides. */
static u32 piece_max(struct rchar_session *s)
{
	u32 max = rchar_session_frame_max(s) - sizeof(struct rchar_wire_call);

	return min3(max, rchar_session_data_max(s), (u32)RCHAR_WIRE_PIECE_MAX);
}

/**
 * struct pieces - the pieces of one request that are under way
 * @ring: pieces, oldest at @first
 * @first: index of the oldest
 * @nr: number of pieces
 * @built: bytes in all pieces so far, and in @next
 * @next: frame of the next piece, which waits until the session may have another piece; or NULL
 * @next_len: bytes in @next
 */
struct pieces {
	struct call *ring[RCHAR_WIRE_PIECES_MAX];
	unsigned int first;
	unsigned int nr;
	size_t built;
	struct rchar_txbuf *next;
	u32 next_len;
};

/* Build the next frame. Returns 0, or the error when there is none. */
static int pieces_build(struct rchar_session *s, struct pieces *p, u64 offset,
			struct iov_iter *iter, size_t len, bool write)
{
	u32 want = min_t(size_t, len - p->built, piece_max(s));
	struct rchar_txbuf *txb = piece_frame(offset + p->built, iter, &want, write);

	if (IS_ERR(txb))
		return PTR_ERR(txb);
	p->next = txb;
	p->next_len = want;
	p->built += want;
	return 0;
}

/* May another piece be under way? If none of this request is, wait until it may. */
static int pieces_slot(struct rchar_session *s, struct rchar_calls *calls, const struct pieces *p)
{
	if (p->nr)
		return slot_take(s, calls, NULL) ? 0 : -EAGAIN;
	return slot_wait(s, calls);
}

/* Send pieces until enough are under way. Returns 0 or the error that ends the request. */
static int pieces_send(struct rchar_session *s, struct rchar_calls *calls, struct pieces *p,
		       u64 offset, struct iov_iter *iter, size_t len, bool write)
{
	int ret = 0;

	while ((p->next || p->built < len) && p->nr < RCHAR_WIRE_PIECES_MAX) {
		struct call *piece;

		if (!p->next)
			ret = pieces_build(s, p, offset, iter, len, write);
		if (!ret)
			ret = pieces_slot(s, calls, p);
		if (ret)
			break;
		piece = piece_send(s, calls, p->next, p->next_len, write);
		p->next = NULL;
		if (IS_ERR(piece)) {
			p->built -= p->next_len;
			if (write)
				iov_iter_revert(iter, p->next_len);
			ret = PTR_ERR(piece);
			break;
		}
		p->ring[(p->first + p->nr++) % RCHAR_WIRE_PIECES_MAX] = piece;
	}
	/* What is under way is waited for first; the error comes again. */
	return p->nr ? 0 : ret;
}

static struct call *pieces_take(struct pieces *p)
{
	struct call *piece = p->ring[p->first];

	p->first = (p->first + 1) % RCHAR_WIRE_PIECES_MAX;
	p->nr--;
	return piece;
}

/**
 * rchar_calls_transfer() - read or write the peer's region by calls
 * @s: the session, open
 * @calls: its calls
 * @offset: offset in the region
 * @iter: memory of the program
 * @len: bytes, within the region
 * @write: write to the region
 *
 * Several pieces are under way at once. What fails ends the request after the bytes before.
 *
 * Context: process; sleeps.
 * Return: bytes moved, or a negative errno when there are none.
 */
ssize_t rchar_calls_transfer(struct rchar_session *s, struct rchar_calls *calls, u64 offset,
			     struct iov_iter *iter, size_t len, bool write)
{
	struct pieces p = {};
	size_t done = 0;
	ssize_t ret = 0;

	while (done < len) {
		struct call *piece;
		u32 want;

		ret = pieces_send(s, calls, &p, offset, iter, len, write);
		if (ret)
			break;
		piece = pieces_take(&p);
		want = piece->len;
		ret = piece_wait(piece, iter);
		piece_abandon(s, piece);
		if (ret < 0)
			break;
		done += ret;
		if (ret < want)
			break;
	}
	while (p.nr)
		piece_abandon(s, pieces_take(&p));
	if (p.next)
		rchar_txbuf_put(p.next);
	if (write)
		iov_iter_revert(iter, p.built - done);
	return done ?: ret;
}

/* ---- results ---- */

static void call_end(struct call *call, int error)
{
	list_del_init(&call->entry);
	call->error = error;
	if (call->calls)
		slot_give(call->calls);
	if (call->abandoned)
		piece_free(call);
	else
		complete(&call->done);
}

/**
 * rchar_calls_result() - complete the call that a RESULT answers
 * @calls: the calls; the lock of their session is held
 * @hdr: header of the frame
 * @rxb: the payload
 *
 * Return: RCHAR_FRAME_OK, or the error in the frame.
 */
enum rchar_frame_error rchar_calls_result(struct rchar_calls *calls, const struct rchar_hdr *hdr,
					  struct rchar_rxbuf *rxb)
{
	struct rchar_wire_result result;
	struct call *call;
	u32 status, want;

	rchar_rxbuf_copy(rxb, &result, sizeof(result));
	status = le32_to_cpu(result.status);
	if (status >= __RCHAR_CALL_STATUS_MAX)
		return RCHAR_FRAME_BAD_PAYLOAD;
	/* The peer executes and answers calls in order. Calls of killed callers are not listed. */
	call = list_first_entry_or_null(&calls->waiting, struct call, entry);
	if (!call || rchar_seq_before(le32_to_cpu(result.id), call->id))
		return hdr->len == sizeof(result) ? RCHAR_FRAME_OK : RCHAR_FRAME_BAD_LENGTH;
	if (call->id != le32_to_cpu(result.id))
		return RCHAR_FRAME_BAD_PAYLOAD;
	want = status ? 0 : call->read;
	if (hdr->len != sizeof(result) + want)
		return RCHAR_FRAME_BAD_LENGTH;
	if (want && !call->abandoned)
		call->seg = hdr->len <= RCHAR_COPY_BREAK ?
				    rchar_rxbuf_take_copy(rxb, hdr->len, hdr->len) :
				    rchar_rxbuf_take(rxb, hdr->len);
	call->old = le64_to_cpu(result.old);
	call_end(call, rchar_region_call_errno(status));
	return RCHAR_FRAME_OK;
}

/**
 * rchar_calls_fail() - end all calls of a dead session, in batches: a program chooses their number
 * @s: the session, DEAD
 * @calls: its calls
 * @error: negative errno for the callers
 *
 * Context: process.
 */
void rchar_calls_fail(struct rchar_session *s, struct rchar_calls *calls, int error)
{
	int n;

	do {
		spin_lock_bh(&s->lock);
		for (n = 0; n < FAIL_BATCH && !list_empty(&calls->waiting); n++)
			call_end(list_first_entry(&calls->waiting, struct call, entry), error);
		spin_unlock_bh(&s->lock);
		cond_resched();
	} while (n == FAIL_BATCH);
}
