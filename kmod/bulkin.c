// SPDX-License-Identifier: GPL-2.0
/*
 * The reading end of a rendezvous. A BULK says that the next bytes of a stream can be read
 * from the peer's memory. A work item makes room and posts the READ; when it is there the
 * bytes join the session's queue, and the peer is told. Should they come in frames after
 * all, those are taken in place of the READ; or dropped, when the READ was sooner.
 */
#include "bulk.h"
#include <linux/bvec.h>
#include <linux/slab.h>
#include "lane.h"
#include "ledger.h"
#include "rdma.h"
#include "rxbuf.h"
#include "session_priv.h"
#include "txbuf.h"

#define CHUNKS_MAX	DIV_ROUND_UP(RCHAR_WIRE_BULK_MAX, RCHAR_CHUNK_SIZE)

static struct workqueue_struct *bulk_wq;

/**
 * struct rchar_bulk_in - bytes that can be read from the peer
 * @io: the READ
 * @keys: where from
 * @work: makes room, then ends
 * @session: holds a reference
 * @answer: to the peer
 * @id: the peer's; echoed
 * @segs: where to
 * @posted: @work is called for the end
 * @over: session lock: nobody wants it any more
 * @vecs: the same memory as @segs
 */
struct rchar_bulk_in {
	struct rchar_io io;
	struct rchar_keys keys;
	struct work_struct work;
	struct rchar_session *session;
	struct rchar_txbuf *answer;
	__le32 id;
	struct list_head segs;
	bool posted;
	bool over;
	struct bio_vec vecs[CHUNKS_MAX];
};

static void release(struct rchar_bulk_in *b)
{
	rchar_seg_free_list(&b->segs);
	if (b->answer)
		rchar_txbuf_put(b->answer);
	rchar_keys_destroy(&b->keys);
	rchar_session_put(b->session);
	rchar_ledger_del(RCHAR_OBJ_BULK);
	kfree(b);
}

static bool make_room(struct rchar_bulk_in *b)
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

/* Not on iWARP: an adapter wants a key for what a READ writes to (RFC 5040, 5.2). */
static bool keyless_reads(struct rchar_bulk_in *b)
{
	struct rchar_lane *lane = rchar_flow_get_lane(b->session->flow);
	bool ok = !lane || !lane->signal_all;

	if (lane)
		rchar_lane_put(lane);
	return ok;
}

static void send_answer(struct rchar_bulk_in *b, enum rchar_taken status)
{
	struct rchar_wire_taken wire = { .id = b->id, .status = cpu_to_le32(status) };
	LIST_HEAD(frames);

	rchar_txbuf_append(b->answer, &wire, sizeof(wire));
	list_add(&b->answer->queue, &frames);
	b->answer = NULL;
	rchar_session_queue_locked(b->session, &frames);
}

/* It is over: deliver what came, unless it is wanted no more. */
static void end(struct rchar_bulk_in *b, enum rchar_taken status)
{
	struct rchar_session *s = b->session;

	spin_lock_bh(&s->lock);
	if (!b->over) {
		s->bulk_in = NULL;
		if (status == RCHAR_TAKEN_OK) {
			s->bulk_got = true;
			rchar_session_deliver(s, &b->segs);
		}
		send_answer(b, status);
	}
	spin_unlock_bh(&s->lock);
	release(b);
}

static void io_end(struct rchar_io *io)
{
	struct rchar_bulk_in *b = container_of(io, struct rchar_bulk_in, io);

	queue_work(bulk_wq, &b->work);
}

static void work(struct work_struct *work)
{
	struct rchar_bulk_in *b = container_of(work, struct rchar_bulk_in, work);

	if (b->posted) {
		end(b, b->io.error ? RCHAR_TAKEN_REFUSED : RCHAR_TAKEN_OK);
	} else if (!keyless_reads(b) || !make_room(b)) {
		end(b, RCHAR_TAKEN_REFUSED);
	} else {
		/* Should the key be of an earlier connection, it waits for the frames. */
		b->posted = true;
		rchar_rdma_submit(b->session->flow, &b->io);
	}
}

static struct rchar_bulk_in *create(struct rchar_session *s,
				    const struct rchar_wire_bulk *wire)
{
	gfp_t gfp = GFP_ATOMIC | __GFP_NOWARN;
	struct rchar_bulk_in *b = kzalloc(sizeof(*b), gfp);

	if (!b)
		return NULL;
	rchar_ledger_add(RCHAR_OBJ_BULK);
	rchar_session_get(s);
	b->session = s;
	b->id = wire->id;
	INIT_WORK(&b->work, work);
	INIT_LIST_HEAD(&b->segs);
	INIT_LIST_HEAD(&b->io.entry);
	b->io.keys = &b->keys;
	b->io.offset = le32_to_cpu(wire->offset);
	b->io.len = le32_to_cpu(wire->len);
	b->io.vecs = b->vecs;
	b->io.end = io_end;
	rchar_keys_init(&b->keys, 0);
	b->answer = rchar_txbuf_alloc(RCHAR_OP_TAKEN, sizeof(struct rchar_wire_taken), gfp);
	if (!b->answer || rchar_keys_one(&b->keys, b->io.offset + b->io.len,
					 le32_to_cpu(wire->attempt), le32_to_cpu(wire->key))) {
		release(b);
		return NULL;
	}
	return b;
}

/**
 * rchar_bulk_receive() - a BULK arrived
 * @session: the session; its lock is held. The last one is settled.
 * @rxb: the payload
 * @ret: set to -ENOMEM to get it again
 *
 * Return: RCHAR_FRAME_OK, or what is wrong with the frame.
 */
enum rchar_frame_error rchar_bulk_receive(struct rchar_session *session,
					  struct rchar_rxbuf *rxb, int *ret)
{
	struct rchar_wire_bulk wire;
	enum rchar_frame_error error;
	struct rchar_bulk_in *b;

	rchar_rxbuf_copy(rxb, &wire, sizeof(wire));
	error = rchar_bulk_check(&wire);
	if (error)
		return error;
	b = create(session, &wire);
	if (!b) {
		*ret = -ENOMEM;
		return RCHAR_FRAME_OK;
	}
	if (!rchar_session_take_window(session, b->io.len, 0)) {
		release(b);
		return RCHAR_FRAME_OK;
	}
	session->bulk_left = b->io.len;
	session->bulk_got = false;
	session->bulk_in = b;
	queue_work(bulk_wq, &b->work);
	return RCHAR_FRAME_OK;
}

/**
 * rchar_bulk_in_over() - the bytes come in frames, or nobody wants them any more
 * @session: the session; its lock is held
 */
void rchar_bulk_in_over(struct rchar_session *session)
{
	struct rchar_bulk_in *b = session->bulk_in;

	lockdep_assert_held(&session->lock);
	if (!b)
		return;
	session->bulk_in = NULL;
	b->over = true;
	/* What is in the send queue comes back; the rest ends now. */
	rchar_rdma_cancel(session->flow, &b->keys, -ECANCELED);
}

/**
 * rchar_bulk_init() - at module load
 */
int rchar_bulk_init(void)
{
	bulk_wq = alloc_workqueue("rchar_bulk", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return bulk_wq ? 0 : -ENOMEM;
}

/**
 * rchar_bulk_exit() - at module unload, when no session is left
 */
void rchar_bulk_exit(void)
{
	destroy_workqueue(bulk_wq);
}
