// SPDX-License-Identifier: GPL-2.0
/*
 * The writing side of a rendezvous. write() pins and registers the program's pages, sends RNDV
 * to the peer, and sleeps until the peer has read the bytes. The rendezvous fails if the
 * connection breaks, a signal arrives or the peer refuses. Then write() revokes the
 * registration and sends the same bytes in DATA frames with INSTEAD.
 */
#include "rndv.h"
#include <linux/highmem.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include "base/inject.h"
#include "base/ledger.h"
#include "base/pin.h"
#include "compat/compat.h"
#include "link/lane.h"
#include "link/mr.h"
#include "link/rxbuf.h"
#include "link/txbuf.h"
#include "session/channel.h"
#include "session/session_priv.h"

/* The maximum at any alignment. */
#define PAGES_MAX (RCHAR_WIRE_RNDV_MAX / PAGE_SIZE + 1)
static_assert(PAGES_MAX <= RCHAR_MR_PAGES);

/**
 * struct rchar_rndv_out - an outgoing rendezvous: bytes that the peer may read
 * @owner: entry in the lane's owners of registrations of kind RCHAR_MRS_ONE
 * @session: the session of the write(), whose file keeps the session alive
 * @lane: the lane on which @pages are registered; the rendezvous holds a reference
 * @mr: registration of @pages; protected by the lock of the lane's RCHAR_MRS_ONE registrations
 * @reg: registers @mr, together with @frame
 * @frame: the RNDV; the rendezvous holds a reference. NULL until it is submitted.
 * @len: bytes
 * @end: stream offset after the last byte; session lock
 * @answered: the peer has answered, or a later answer is ignored; session lock
 * @invalidated: the device has invalidated the key of @mr when the answer came; session lock
 * @taken: the peer has the bytes; does not change once @answered is set; session lock
 * @gone: the lane is drained, and nothing is registered
 * @offset: offset of the first byte in the first page
 * @nr_pages: length of @pages
 * @pages: pinned pages of the program
 */
struct rchar_rndv_out {
	struct rchar_mr_owner owner;
	struct rchar_session *session;
	struct rchar_lane *lane;
	struct rchar_mr mr;
	struct rchar_txbuf_reg reg;
	struct rchar_txbuf *frame;
	u32 len;
	u32 end;
	bool answered;
	bool invalidated;
	bool taken;
	bool gone;
	u32 offset;
	unsigned int nr_pages;
	struct page *pages[PAGES_MAX];
};

/* ---- memory ---- */

static bool rndv_out_pin(struct rchar_rndv_out *b, struct iov_iter *from, u32 len)
{
	unsigned long addr = rchar_compat_iter_addr(from);
	int want, got;

	b->offset = offset_in_page(addr);
	b->len = len;
	want = DIV_ROUND_UP(b->offset + len, PAGE_SIZE);
	got = rchar_pin(addr, want, false, b->pages);
	if (got > 0)
		b->nr_pages = got;
	return got == want;
}

static void rndv_out_release(struct rchar_rndv_out *b)
{
	if (b->nr_pages)
		rchar_unpin(current->mm, b->pages, b->nr_pages, false);
	if (b->frame)
		rchar_txbuf_put(b->frame);
	if (b->lane)
		rchar_lane_put(b->lane);
	rchar_ledger_del(RCHAR_OBJ_RNDV);
	kfree(b);
}

/* ---- registration ---- */

static struct rchar_mrs *rndv_out_mrs_of(struct rchar_rndv_out *b)
{
	return &b->lane->mrs[RCHAR_MRS_ONE];
}

/* &rchar_mr_owner.gone, in the teardown of a drained lane: the peer can no longer read. */
static void rndv_lane_gone(struct rchar_mr_owner *owner)
{
	struct rchar_rndv_out *b = container_of(owner, struct rchar_rndv_out, owner);
	struct rchar_session *s = b->session;

	rchar_mr_free(rndv_out_mrs_of(b), &b->mr);
	WRITE_ONCE(b->gone, true);
	list_del_init(&owner->entry);
	wake_up_all(&s->tx.ack_wait);
}

/* Map the pages. The device registers them when it sends the RNDV. */
static bool rndv_out_enlist(struct rchar_rndv_out *b)
{
	struct rchar_mrs *mrs = rndv_out_mrs_of(b);
	bool ok;

	mutex_lock(&mrs->lock);
	ok = READ_ONCE(b->lane->state) == RCHAR_LANE_UP &&
	     !rchar_mr_map(mrs, &b->mr, b->pages, b->nr_pages, b->offset, b->len, DMA_TO_DEVICE);
	if (ok) {
		/* If the lane ends, its teardown calls rndv_lane_gone(). */
		list_add(&b->owner.entry, &mrs->owners);
		b->reg.lane = b->lane;
		rchar_mr_fill_reg(mrs, &b->mr, IB_ACCESS_REMOTE_READ, &b->reg.wr);
	} else {
		rchar_mr_put(mrs, &b->mr);
	}
	mutex_unlock(&mrs->lock);
	return ok;
}

/* Keep the RNDV from being registered. Returns false if it may be already. */
static bool rndv_out_cancel(struct rchar_rndv_out *b)
{
	struct rchar_wire_rndv *wire;

	if (!b->frame)
		return true;
	wire = (void *)b->frame->data;
	return rchar_flow_cancel_reg(b->session->flow, b->frame, &b->reg, &wire->attempt);
}

/*
 * Call with the lock of the registrations held. The key that the device knows is that of the last
 * registration. So a region with a new key that was never registered does not go back to the pool:
 * the peer could invalidate a key of the same value later, before it is registered.
 */
static void unregister(struct rchar_rndv_out *b, bool cancelled)
{
	struct rchar_mrs *mrs = rndv_out_mrs_of(b);

	if (cancelled)
		rchar_mr_free(mrs, &b->mr);
	else if (READ_ONCE(b->invalidated) || !rchar_mr_invalidate(mrs, &b->mr))
		rchar_mr_put(mrs, &b->mr);
	else
		return;
	list_del_init(&b->owner.entry);
}

/*
 * Revoke the registration. After the return, the peer cannot read the bytes. Sleeps: to invalidate
 * a region waits for all that was sent before.
 */
static void take_back(struct rchar_rndv_out *b)
{
	struct rchar_mrs *mrs = rndv_out_mrs_of(b);
	bool cancelled = rndv_out_cancel(b);
	unsigned long begun = jiffies;

	mutex_lock(&mrs->lock);
	if (!list_empty(&b->owner.entry))
		unregister(b, cancelled);
	mutex_unlock(&mrs->lock);
	if (time_after(jiffies, begun + RCHAR_RNDV_UNDO_MAX))
		rchar_lane_fail(b->lane, RCHAR_REASON_TIMEOUT);
	/* If invalidating failed, the lane has failed. Its teardown frees the registration. */
	wait_event(b->session->tx.ack_wait, data_race(list_empty_careful(&b->owner.entry)));
	/* rndv_lane_gone() runs with this lock held: wait until it has returned. */
	mutex_lock(&mrs->lock);
	mutex_unlock(&mrs->lock);
}

/* ---- frames ---- */

/* Send RNDV to the peer. Return 0 or an error as rchar_session_submit(). */
static int rndv_out_offer(struct rchar_rndv_out *b)
{
	struct rchar_session *s = b->session;
	struct rchar_rndv *rndv = rchar_session_priv(s);
	struct rchar_wire_rndv wire = {
		.id = cpu_to_le32(++rndv->id),
		.attempt = cpu_to_le32(b->lane->self.attempt),
		.key = cpu_to_le32(b->mr.key),
		.offset = cpu_to_le32(b->offset),
		.len = cpu_to_le32(b->len),
	};
	struct rchar_txbuf *txb;
	LIST_HEAD(frames);
	int ret;

	txb = rchar_txbuf_alloc(RCHAR_OP_RNDV, sizeof(wire), RCHAR_GFP_PROGRAM);
	if (!txb)
		return -ENOMEM;
	rchar_txbuf_append(txb, &wire, sizeof(wire));
	txb->reg = &b->reg;
	rchar_txbuf_get(txb);
	b->frame = txb;
	list_add(&txb->queue, &frames);
	spin_lock_bh(&s->lock);
	ret = rchar_session_submit_locked(s, &frames);
	if (!ret) {
		/* RNDV_DONE acknowledges these bytes. An ack of the RNDV frame does not. */
		WRITE_ONCE(s->tx.window.next, s->tx.window.next + b->len);
		s->tx.unframed = b->len;
		b->end = s->tx.window.next;
		rndv->out = b;
	}
	spin_unlock_bh(&s->lock);
	rchar_txbuf_put_list(&frames);
	return ret;
}

/**
 * rchar_rndv_done() - process a received RNDV_DONE
 * @session: the session; the caller holds its lock
 * @rxb: the payload
 *
 * Return: RCHAR_FRAME_OK, also for an answer that is too late to matter; or
 * RCHAR_FRAME_BAD_PAYLOAD.
 */
enum rchar_frame_error rchar_rndv_done(struct rchar_session *session, struct rchar_rxbuf *rxb)
{
	struct rchar_rndv *rndv = rchar_session_priv(session);
	struct rchar_rndv_out *b = rndv->out;
	struct rchar_wire_rndv_done wire;

	rchar_rxbuf_copy(rxb, &wire, sizeof(wire));
	if (le32_to_cpu(wire.status) >= __RCHAR_RNDV_STATUS_MAX)
		return RCHAR_FRAME_BAD_PAYLOAD;
	if (b && rxb->invalidated && rxb->invalidated_key == b->mr.key)
		WRITE_ONCE(b->invalidated, true);
	/* An answer to an earlier RNDV and a second answer are too late to matter. */
	if (!b || b->answered || le32_to_cpu(wire.id) != rndv->id)
		return RCHAR_FRAME_OK;
	b->taken = wire.status == cpu_to_le32(RCHAR_RNDV_OK);
	WRITE_ONCE(b->answered, true);
	if (b->taken) {
		session->tx.unframed = 0;
		rchar_tx_window_ack(&session->tx.window, b->end);
		rchar_session_wake_writers(session);
	}
	wake_up_all(&session->tx.ack_wait);
	return RCHAR_FRAME_OK;
}

/*
 * The memory cgroup may be full, but the peer waits for the bytes. A session has one rendezvous at
 * a time, so what is not charged to the program has a bound.
 */
static struct rchar_txbuf *alloc_instead(u32 len)
{
	struct rchar_txbuf *txb;

	txb = rchar_txbuf_alloc(RCHAR_OP_DATA, len, RCHAR_GFP_PROGRAM);
	return txb ?: rchar_txbuf_alloc(RCHAR_OP_DATA, len, GFP_KERNEL);
}

/* Copy the bytes into DATA frames with INSTEAD. */
static bool rndv_out_build(struct rchar_rndv_out *b, struct list_head *frames)
{
	u32 done = 0, max = rchar_session_data_max(b->session);

	while (done < b->len) {
		u32 len = min(b->len - done, max), at = 0;
		struct rchar_txbuf *txb = alloc_instead(len);

		if (!txb)
			return false;
		txb->hdr.flags = RCHAR_FRAME_INSTEAD;
		list_add_tail(&txb->queue, frames);
		while (at < len) {
			u32 from = b->offset + done + at;
			u32 n = min_t(u32, len - at, PAGE_SIZE - offset_in_page(from));
			void *page = kmap_local_page(b->pages[from >> PAGE_SHIFT]);

			rchar_txbuf_append(txb, page + offset_in_page(from), n);
			kunmap_local(page);
			at += n;
		}
		done += len;
		/* The stream offset after this frame; the window already counts the bytes. */
		txb->end = b->end - b->len + done;
	}
	return true;
}

static bool rndv_out_settled(struct rchar_rndv_out *b)
{
	return READ_ONCE(b->answered) || READ_ONCE(b->gone);
}

/* The peer might never answer. */
static bool pointless(struct rchar_rndv_out *b)
{
	return READ_ONCE(b->session->state) == RCHAR_SESSION_DEAD ||
	       READ_ONCE(b->session->shut) & RCHAR_SESSION_STOP_RECEIVED;
}

/* Time for the peer to complete a READ that has begun. */
#define GRACE (HZ / 2)

/*
 * Wait until the peer has read the bytes, has refused, or can no longer read. Invalidating the
 * registration during the peer's READ breaks the connection, which also carries other sessions.
 * After a signal or the end of the session, give the READ up to GRACE to complete.
 */
static void wait_for_peer(struct rchar_rndv_out *b)
{
	wait_queue_head_t *wq = &b->session->tx.ack_wait;

	if (wait_event_interruptible(*wq, rndv_out_settled(b) || pointless(b)) ||
	    !rndv_out_settled(b))
		wait_event_timeout(*wq, rndv_out_settled(b), GRACE);
}

/*
 * Decide once whether the peer has taken the bytes. A later answer is ignored: this host then
 * sends the bytes in frames.
 */
static bool rndv_decide(struct rchar_rndv_out *b)
{
	struct rchar_session *s = b->session;
	bool taken;

	spin_lock_bh(&s->lock);
	taken = b->taken;
	WRITE_ONCE(b->answered, true);
	spin_unlock_bh(&s->lock);
	return taken;
}

/*
 * Conclude a rendezvous: if the peer has not taken the bytes, queue them in frames. Return the
 * bytes, or the error of a dead session.
 */
static ssize_t conclude(struct rchar_rndv_out *b)
{
	struct rchar_session *s = b->session;
	struct rchar_rndv *rndv = rchar_session_priv(s);
	bool taken = rndv_decide(b), built;
	ssize_t ret = b->len;
	LIST_HEAD(frames);

	rchar_inject_delay(RCHAR_DELAY_CONCLUDE);
	built = taken || rndv_out_build(b, &frames);
	spin_lock_bh(&s->lock);
	rndv->out = NULL;
	s->tx.unframed = 0;
	if (!taken) {
		/* The peer waits for bytes that this host has no memory to send. */
		if (!built)
			rchar_session_fail_locked(s, RCHAR_REASON_NO_MEMORY);
		if (s->state == RCHAR_SESSION_DEAD)
			ret = s->error;
		else
			rchar_session_queue_locked(s, &frames);
	}
	/* Send control frames that had to wait for these bytes, such as FIN. */
	rchar_session_send_wanted(s);
	spin_unlock_bh(&s->lock);
	rchar_txbuf_put_list(&frames);
	return ret;
}

/*
 * A rendezvous takes three round trips, in which the path carries nothing else of this session:
 * RNDV, READ, RNDV_DONE. If that is more than a quarter of the time that it took, and the path is
 * long, frames are faster, since many of them are on their way at once. Below copy_rtt, the
 * processor time that a rendezvous saves counts for more.
 */
#define RTTS	     3
/* Try again after so long: the time also depends on the peer. */
#define COPY_JIFFIES (10 * HZ)

static unsigned int copy_rtt = 1000;
module_param(copy_rtt, uint, 0644);
MODULE_PARM_DESC(copy_rtt,
		 "microseconds of a round trip from which large writes may be copied, 0: never");

static void note_time(struct rchar_rndv_out *b, u64 ns)
{
	struct rchar_rndv *rndv = rchar_session_priv(b->session);
	u64 rtt = READ_ONCE(b->lane->tx.inflight.rtt_ns);
	u64 rtt_min = READ_ONCE(copy_rtt) * (u64)NSEC_PER_USEC;

	lockdep_assert_held(&b->session->tx.mutex);
	/* A hint: a late answer only means that the next one decides. */
	if (data_race(b->taken) && rtt_min && rtt >= rtt_min && ns < 4 * RTTS * rtt)
		rndv->copy_until = (jiffies + COPY_JIFFIES) ?: 1;
}

static bool path_is_long(struct rchar_session *s)
{
	struct rchar_rndv *rndv = rchar_session_priv(s);

	lockdep_assert_held(&s->tx.mutex);
	if (rndv->copy_until && time_after(jiffies, rndv->copy_until))
		rndv->copy_until = 0;
	return rndv->copy_until;
}

/**
 * rchar_rndv_write() - send the next bytes of a write() by a rendezvous
 * @session: an open session of a stream channel; the caller holds its write mutex
 * @from: user memory; advanced past the bytes sent
 * @room: bytes that the windows have room for
 *
 * Context: process; sleeps until the peer has the bytes. After a signal, a half-close by the peer
 * or the end of the session, waits at most GRACE for the peer.
 * Return: bytes sent; 0 when the caller must send the bytes in frames; or the error of a dead
 * session.
 */
ssize_t rchar_rndv_write(struct rchar_session *session, struct iov_iter *from, u32 room)
{
	u32 min = READ_ONCE(session->channel->config.rendezvous_min);
	u32 len = min3((size_t)room, rchar_compat_iter_len(from), (size_t)RCHAR_WIRE_RNDV_MAX);
	struct rchar_rndv_out *b;
	ssize_t ret = 0;
	u64 start;

	/* On an encrypted link the peer gets no key of this host's memory. */
	if (!min || session->link->encrypted || iov_iter_count(from) < min ||
	    path_is_long(session) || len < clamp(min, RCHAR_WIRE_RNDV_MIN, RCHAR_WIRE_RNDV_MAX))
		return 0;
	b = kzalloc(sizeof(*b), RCHAR_GFP_PROGRAM);
	if (!b)
		return 0;
	rchar_ledger_add(RCHAR_OBJ_RNDV);
	INIT_LIST_HEAD(&b->owner.entry);
	b->owner.gone = rndv_lane_gone;
	b->session = session;
	b->lane = rchar_flow_get_lane(session->flow);
	/* A peer with such a device would refuse: see rndv_in_may_read() in rndv_in.c. */
	if (!b->lane || !b->lane->limits.reads || rchar_mrs_pages(rndv_out_mrs_of(b)) < 2)
		goto out;
	/* An unaligned buffer needs one page more. */
	len = min_t(u32, len, (rchar_mrs_pages(rndv_out_mrs_of(b)) - 1) * PAGE_SIZE);
	if (len < RCHAR_WIRE_RNDV_MIN || !rndv_out_pin(b, from, len))
		goto out;
	start = ktime_get_ns();
	if (!rndv_out_enlist(b) || rndv_out_offer(b)) {
		take_back(b);
		goto out;
	}
	wait_for_peer(b);
	note_time(b, ktime_get_ns() - start);
	take_back(b);
	ret = conclude(b);
	if (ret > 0) {
		iov_iter_advance(from, ret);
		if (b->taken)
			rchar_stats_inc(&session->channel->stats.rndv_sent);
	}
out:
	rndv_out_release(b);
	return ret;
}
