/* SPDX-License-Identifier: GPL-2.0 */
/* A frame on its way out. */
#ifndef RCHAR_TXBUF_H
#define RCHAR_TXBUF_H

#include <linux/kref.h>
#include <linux/list.h>
#include <rdma/ib_verbs.h>
#include "base/chunk.h"
#include "proto/frame.h"

struct iov_iter;
struct rchar_account;

/*
 * Of the payload of a frame. With the header that is at most five SGEs; soft-iWARP takes
 * six (SIW_MAX_SGE).
 */
#define RCHAR_FRAME_CHUNKS	(RCHAR_CHUNK_SIZE < SZ_64K ? SZ_64K / RCHAR_CHUNK_SIZE : 1)
#define RCHAR_FRAME_SIZE	(RCHAR_FRAME_CHUNKS * RCHAR_CHUNK_SIZE)

/* Payloads up to this ride behind the header in one slab object and one SGE. */
#define RCHAR_TXBUF_INLINE	1024

/**
 * struct rchar_sender - who sends frames: part of a session
 * @unsent: frames that were never posted; flow lock
 * @forget: its OPEN was taken back before it was posted, so the peer never heard of it; flow
 *	    lock
 * @put: drops the reference that a frame holds. Any context but hard interrupt.
 */
struct rchar_sender {
	struct list_head unsent;
	bool forget;
	void (*put)(struct rchar_sender *sender);
};

/**
 * struct rchar_txbuf - one frame to send
 * @ref: one for the flow's queue, one while a work request points here
 * @queue: entry of rchar_flow.queue, from queued to acknowledged; flow lock
 * @unsent: entry of rchar_sender.unsent, until it is first posted; flow lock
 * @posted: entry of rchar_lane.tx.posted, from posted to completed; flow lock
 * @cqe: completion
 * @wr: work request; valid while posted
 * @sge: of @wr; while posted they hold the DMA mappings
 * @nr_mapped: how many of @sge are mapped
 * @sender: whose frame it is (holds a reference), or NULL
 * @account: what a peer asked for is counted there, or NULL; its link holds it
 * @hdr: the header in host form; the sequence number is set when it is first posted,
 *	 credits and ack each time
 * @end: the sender's byte offset after this frame
 * @capacity: bytes that fit
 * @nr_chunks: 0 when the payload is in @data
 * @sent: it has been posted before: sending it again is a replay
 * @reserved: belongs to a lane and is never freed by @ref
 * @busy: of @reserved: in use
 * @chunks: the payload; the last one may have fewer pages
 * @wire: the header as it is sent
 * @data: the payload, when it is small
 */
struct rchar_txbuf {
	struct kref ref;
	struct list_head queue;
	struct list_head unsent;
	struct list_head posted;
	struct ib_cqe cqe;
	struct ib_send_wr wr;
	struct ib_sge sge[1 + RCHAR_FRAME_CHUNKS];
	u8 nr_mapped;
	struct rchar_sender *sender;
	struct rchar_account *account;
	struct rchar_hdr hdr;
	u32 end;
	u32 capacity;
	u8 nr_chunks;
	bool sent;
	bool reserved;
	bool busy;
	struct page *chunks[RCHAR_FRAME_CHUNKS];
	/* one DMA mapping from here on */
	struct rchar_wire_hdr wire;
	u8 data[];
};

struct rchar_txbuf *rchar_txbuf_alloc(u8 op, u32 capacity, gfp_t gfp);
struct rchar_txbuf *rchar_txbuf_alloc_reply(u8 op, u32 capacity,
					    struct rchar_account *account);
void rchar_txbuf_put(struct rchar_txbuf *txb);
void rchar_txbuf_put_list(struct list_head *frames);
void rchar_txbuf_append(struct rchar_txbuf *txb, const void *data, u32 len);
size_t rchar_txbuf_copy(struct rchar_txbuf *txb, size_t len, struct iov_iter *from);
int rchar_txbuf_map(struct rchar_txbuf *txb, struct ib_device *dev, u32 lkey);
void rchar_txbuf_unmap(struct rchar_txbuf *txb, struct ib_device *dev);

static inline void rchar_txbuf_get(struct rchar_txbuf *txb)
{
	kref_get(&txb->ref);
}

/* What a small frame costs in memory, and a large one beside its chunks. */
#define RCHAR_TXBUF_COST	512

/* Bytes of memory, about. */
static inline u32 rchar_txbuf_memory(const struct rchar_txbuf *txb)
{
	return RCHAR_TXBUF_COST + txb->capacity;
}

static inline u32 rchar_txbuf_room(const struct rchar_txbuf *txb)
{
	return txb->capacity - txb->hdr.len;
}

#endif /* RCHAR_TXBUF_H */
