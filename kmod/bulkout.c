// SPDX-License-Identifier: GPL-2.0
/*
 * The writing end of a rendezvous. write() pins the program's pages, registers them, tells
 * the peer, and sleeps until it has read them. If it does not come to that - the connection
 * breaks, a signal comes, the peer declines - the peer is kept from reading, and then the
 * same bytes are sent in frames, as those of any other write.
 */
#include "bulk.h"
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include "channel.h"
#include "compat/compat.h"
#include "inject.h"
#include "lane.h"
#include "ledger.h"
#include "pin.h"
#include "rxbuf.h"
#include "seq.h"
#include "session_priv.h"
#include "txbuf.h"

/* At any alignment. */
#define PAGES_MAX	(RCHAR_WIRE_BULK_MAX / PAGE_SIZE + 1)

/* Memory regions of a lane that wait for the next write. */
#define MRS_MAX		16

/**
 * struct rchar_bulk_out - bytes that the peer may read
 * @entry: of rchar_lane.bulks; its bulks_reg.lock
 * @session: whose write() it is; that holds it
 * @lane: where it is registered; holds a reference
 * @mr: registers @sgt; bulks_reg.lock, like the two below
 * @sgt: @pages, mapped for the device
 * @mapped: entries of @sgt that are
 * @key: what the peer is told
 * @len: bytes
 * @end: the session's offset behind them; session lock, like the two below
 * @answered: the peer has said what came of it, or may not say so any more
 * @taken: the peer has the bytes; does not change once @answered is set
 * @gone: the lane is; nothing is registered any more
 * @offset: of the first byte in the first page
 * @nr_pages: length of @pages
 * @pages: pinned
 */
struct rchar_bulk_out {
	struct list_head entry;
	struct rchar_session *session;
	struct rchar_lane *lane;
	struct ib_mr *mr;
	struct sg_table sgt;
	int mapped;
	u32 key;
	u32 len;
	u32 end;
	bool answered;
	bool taken;
	bool gone;
	u32 offset;
	unsigned int nr_pages;
	struct page *pages[PAGES_MAX];
};

/* ---- memory ---- */

static bool pin(struct rchar_bulk_out *b, struct iov_iter *from, u32 len)
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

static void release(struct rchar_bulk_out *b)
{
	if (b->nr_pages)
		rchar_unpin(current->mm, b->pages, b->nr_pages, false);
	if (b->lane)
		rchar_lane_put(b->lane);
	rchar_ledger_del(RCHAR_OBJ_BULK);
	kfree(b);
}

/* ---- registration; all of it under the lane's bulks_reg.lock ---- */

static void unmap(struct rchar_bulk_out *b)
{
	if (b->mapped)
		ib_dma_unmap_sg(b->lane->cm_id->device, b->sgt.sgl, b->sgt.orig_nents,
				DMA_TO_DEVICE);
	b->mapped = 0;
	sg_free_table(&b->sgt);
}

/**
 * rchar_bulk_lane_setup() - what a new lane is good for
 * @lane: the lane
 *
 * Nothing over iWARP, where the peer would decline.
 */
void rchar_bulk_lane_setup(struct rchar_lane *lane)
{
	u32 max = lane->cm_id->device->attrs.max_fast_reg_page_list_len;

	/* One more than is used: see map_chunk() in export.c. */
	lane->bulk_pages = lane->signal_all || !max ? 0 : min_t(u32, PAGES_MAX, max - 1);
}

/* Regions wait for the next write: to make one may be a command to the device. */
static struct ib_mr *get_mr(struct rchar_lane *lane)
{
	struct ib_mr *mr = list_first_entry_or_null(&lane->bulk_mrs, struct ib_mr, qp_entry);

	if (mr) {
		list_del(&mr->qp_entry);
		lane->nr_bulk_mrs--;
		return mr;
	}
	if (rchar_inject_verbs())
		return ERR_PTR(-ENOMEM);
	return ib_alloc_mr(lane->pd, IB_MR_TYPE_MEM_REG, lane->bulk_pages + 1);
}

static void put_mr(struct rchar_lane *lane, struct ib_mr *mr)
{
	if (lane->nr_bulk_mrs == MRS_MAX) {
		ib_dereg_mr(mr);
		return;
	}
	list_add(&mr->qp_entry, &lane->bulk_mrs);
	lane->nr_bulk_mrs++;
}

static bool map(struct rchar_bulk_out *b)
{
	struct ib_device *dev = b->lane->cm_id->device;

	if (sg_alloc_table_from_pages(&b->sgt, b->pages, b->nr_pages, b->offset, b->len,
				      GFP_KERNEL | __GFP_NOWARN))
		return false;
	b->mapped = ib_dma_map_sg(dev, b->sgt.sgl, b->sgt.orig_nents, DMA_TO_DEVICE);
	if (!b->mapped)
		return false;
	b->mr = get_mr(b->lane);
	if (IS_ERR(b->mr)) {
		b->mr = NULL;
		return false;
	}
	if (ib_map_mr_sg(b->mr, b->sgt.sgl, b->mapped, NULL, PAGE_SIZE) != b->mapped)
		return false;
	/* Of a bounce buffer (swiotlb) it may be another. */
	if (offset_in_page(b->mr->iova) != b->offset)
		return false;
	/* Soft devices would tell the peer kernel addresses. */
	b->mr->iova = b->offset;
	ib_update_fast_reg_key(b->mr, ib_inc_rkey(b->mr->rkey));
	b->key = b->mr->rkey;
	return true;
}

/* From here on the peer may read. */
static bool enlist(struct rchar_bulk_out *b)
{
	struct rchar_lane *lane = b->lane;
	struct ib_reg_wr wr;
	bool ok;

	mutex_lock(&lane->bulks_reg.lock);
	ok = READ_ONCE(lane->state) == RCHAR_LANE_UP && map(b);
	if (ok) {
		wr = (struct ib_reg_wr){
			.wr.opcode = IB_WR_REG_MR,
			.mr = b->mr,
			.key = b->key,
			.access = IB_ACCESS_REMOTE_READ,
		};
		/* When this fails the lane goes, and with it what it has. */
		list_add(&b->entry, &lane->bulks);
		ok = !rchar_lane_register(lane, &lane->bulks_reg, &wr, 1);
	} else {
		if (b->mr)
			put_mr(lane, b->mr);
		b->mr = NULL;
		unmap(b);
	}
	mutex_unlock(&lane->bulks_reg.lock);
	return ok;
}

/* Afterwards the peer can not read any more. Sleeps. */
static void take_back(struct rchar_bulk_out *b)
{
	struct rchar_lane *lane = b->lane;

	mutex_lock(&lane->bulks_reg.lock);
	if (!list_empty(&b->entry) && !rchar_lane_invalidate(lane, &lane->bulks_reg, b->key)) {
		list_del_init(&b->entry);
		put_mr(lane, b->mr);
		unmap(b);
	}
	mutex_unlock(&lane->bulks_reg.lock);
	/* What could not be taken back goes with the lane, and that has failed. */
	wait_event(b->session->ack_wait, data_race(list_empty_careful(&b->entry)));
	mutex_lock(&lane->bulks_reg.lock);
	mutex_unlock(&lane->bulks_reg.lock);
}

/**
 * rchar_bulk_lane_gone() - teardown of a lane: nobody reads from it any more
 * @lane: the lane, drained
 *
 * Context: process.
 */
void rchar_bulk_lane_gone(struct rchar_lane *lane)
{
	struct rchar_bulk_out *b, *tmp;
	struct ib_mr *mr, *next;

	mutex_lock(&lane->bulks_reg.lock);
	list_for_each_entry_safe(b, tmp, &lane->bulks, entry) {
		ib_dereg_mr(b->mr);
		unmap(b);
		WRITE_ONCE(b->gone, true);
		list_del_init(&b->entry);
		wake_up_all(&b->session->ack_wait);
	}
	list_for_each_entry_safe(mr, next, &lane->bulk_mrs, qp_entry) {
		list_del(&mr->qp_entry);
		ib_dereg_mr(mr);
	}
	mutex_unlock(&lane->bulks_reg.lock);
}

/* ---- frames ---- */

/* Tell the peer. 0, or as rchar_session_send(). */
static int offer(struct rchar_bulk_out *b)
{
	struct rchar_session *s = b->session;
	struct rchar_bulk *bulk = rchar_session_priv(s);
	struct rchar_wire_bulk wire = {
		.id = cpu_to_le32(++bulk->id),
		.attempt = cpu_to_le32(b->lane->self.attempt),
		.key = cpu_to_le32(b->key),
		.offset = cpu_to_le32(b->offset),
		.len = cpu_to_le32(b->len),
	};
	struct rchar_txbuf *txb;
	LIST_HEAD(frames);
	int ret;

	txb = rchar_txbuf_alloc(RCHAR_OP_BULK, sizeof(wire), RCHAR_GFP_PROGRAM);
	if (!txb)
		return -ENOMEM;
	rchar_txbuf_append(txb, &wire, sizeof(wire));
	list_add(&txb->queue, &frames);
	spin_lock_bh(&s->lock);
	ret = rchar_session_send_locked(s, &frames);
	if (!ret) {
		/* Acknowledged when they are taken, not with the frame. */
		WRITE_ONCE(s->tx_next, s->tx_next + b->len);
		s->tx_unframed = b->len;
		b->end = s->tx_next;
		bulk->out = b;
	}
	spin_unlock_bh(&s->lock);
	rchar_txbuf_put_list(&frames);
	return ret;
}

/**
 * rchar_bulk_taken() - the peer says what came of it
 * @session: the session; its lock is held
 * @rxb: the payload
 *
 * Return: RCHAR_FRAME_OK, also when it is too late to matter; RCHAR_FRAME_BAD_PAYLOAD.
 */
enum rchar_frame_error rchar_bulk_taken(struct rchar_session *session,
					struct rchar_rxbuf *rxb)
{
	struct rchar_bulk *bulk = rchar_session_priv(session);
	struct rchar_bulk_out *b = bulk->out;
	struct rchar_wire_taken wire;

	rchar_rxbuf_copy(rxb, &wire, sizeof(wire));
	if (le32_to_cpu(wire.status) >= __RCHAR_TAKEN_MAX)
		return RCHAR_FRAME_BAD_PAYLOAD;
	/* The answer to an earlier BULK, or a second answer, comes too late to matter. */
	if (!b || b->answered || le32_to_cpu(wire.id) != bulk->id)
		return RCHAR_FRAME_OK;
	b->taken = wire.status == cpu_to_le32(RCHAR_TAKEN_OK);
	WRITE_ONCE(b->answered, true);
	if (b->taken) {
		session->tx_unframed = 0;
		WRITE_ONCE(session->tx_acked, rchar_seq_max(session->tx_acked, b->end));
		rchar_session_wake_writers(session);
	}
	wake_up_all(&session->ack_wait);
	return RCHAR_FRAME_OK;
}

/* The bytes, in frames. */
static bool build(struct rchar_bulk_out *b, struct list_head *frames)
{
	u32 done = 0, max = rchar_session_frame_max(b->session);

	while (done < b->len) {
		u32 len = min(b->len - done, max), at = 0;
		struct rchar_txbuf *txb = rchar_txbuf_alloc(RCHAR_OP_DATA, len, RCHAR_GFP_PROGRAM);

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
		/* Sequence numbers of bytes, as the session counts them. */
		txb->end = b->end - b->len + done;
	}
	return true;
}

static bool settled(struct rchar_bulk_out *b)
{
	return READ_ONCE(b->answered) || READ_ONCE(b->gone);
}

/* The peer may not answer any more. */
static bool pointless(struct rchar_bulk_out *b)
{
	return READ_ONCE(b->session->state) == RCHAR_SESSION_DEAD ||
	       READ_ONCE(b->session->shut) & RCHAR_SESSION_STOP_RECEIVED;
}

/* A peer in the middle of a READ ends it soon. */
#define GRACE	(HZ / 2)

/*
 * Until the peer has the bytes, or will not get them from here. To take them back while it
 * reads costs the connection, and that is not only this session's: neither a signal nor
 * the end of the session is reason enough before the READ had its time.
 */
static void wait_for_peer(struct rchar_bulk_out *b)
{
	wait_queue_head_t *wq = &b->session->ack_wait;

	if (wait_event_interruptible(*wq, settled(b) || pointless(b)) || !settled(b))
		wait_event_timeout(*wq, settled(b), GRACE);
}

/*
 * Decide once whether the peer has taken the bytes. An answer that comes later is ignored:
 * the bytes are then on their way in frames.
 */
static bool decide_taken(struct rchar_bulk_out *b)
{
	struct rchar_session *s = b->session;
	bool taken;

	spin_lock_bh(&s->lock);
	taken = b->taken;
	WRITE_ONCE(b->answered, true);
	spin_unlock_bh(&s->lock);
	return taken;
}

/* The end of a bulk: taken, or sent in frames. Bytes, or why the session is over. */
static ssize_t conclude(struct rchar_bulk_out *b)
{
	struct rchar_session *s = b->session;
	struct rchar_bulk *bulk = rchar_session_priv(s);
	bool taken = decide_taken(b), built;
	ssize_t ret = b->len;
	LIST_HEAD(frames);

	rchar_inject_delay(RCHAR_DELAY_CONCLUDE);
	built = taken || build(b, &frames);
	spin_lock_bh(&s->lock);
	bulk->out = NULL;
	s->tx_unframed = 0;
	if (!taken) {
		/* The peer waits for bytes that there is no memory to send. */
		if (!built)
			rchar_session_fail_locked(s, RCHAR_REASON_NO_MEMORY);
		if (s->state == RCHAR_SESSION_DEAD)
			ret = s->error;
		else
			rchar_session_queue_locked(s, &frames);
	}
	/* What had to come behind it. */
	rchar_session_send_wanted(s);
	spin_unlock_bh(&s->lock);
	rchar_txbuf_put_list(&frames);
	return ret;
}

/**
 * rchar_bulk_write() - have the peer read the next bytes of a write()
 * @session: a stream, open; the caller holds its write mutex
 * @from: user memory; advanced by what is returned
 * @room: bytes that the windows have room for
 *
 * Context: process; sleeps until the peer has the bytes, and not for long when it turns out
 * that it will not.
 * Return: bytes; 0 when they have to be sent in frames; or why the session is over.
 */
ssize_t rchar_bulk_write(struct rchar_session *session, struct iov_iter *from, u32 room)
{
	u32 min = READ_ONCE(session->channel->config.zero_copy_min);
	u32 len = min3((size_t)room, rchar_compat_iter_len(from), (size_t)RCHAR_WIRE_BULK_MAX);
	struct rchar_bulk_out *b;
	ssize_t ret = 0;

	if (!min || iov_iter_count(from) < min ||
	    len < clamp(min, RCHAR_WIRE_BULK_MIN, RCHAR_WIRE_BULK_MAX))
		return 0;
	b = kzalloc(sizeof(*b), RCHAR_GFP_PROGRAM);
	if (!b)
		return 0;
	rchar_ledger_add(RCHAR_OBJ_BULK);
	INIT_LIST_HEAD(&b->entry);
	b->session = session;
	b->lane = rchar_flow_get_lane(session->flow);
	if (!b->lane || !b->lane->bulk_pages)
		goto out;
	/* At any alignment. */
	len = min_t(u32, len, (b->lane->bulk_pages - 1) * PAGE_SIZE);
	if (len < RCHAR_WIRE_BULK_MIN || !pin(b, from, len))
		goto out;
	if (!enlist(b) || offer(b)) {
		take_back(b);
		goto out;
	}
	wait_for_peer(b);
	take_back(b);
	ret = conclude(b);
	if (ret > 0) {
		iov_iter_advance(from, ret);
		if (b->taken)
			rchar_stats_inc(&session->channel->stats.bulks);
	}
out:
	release(b);
	return ret;
}
