/* SPDX-License-Identifier: GPL-2.0 */
/* Frames to send. */
#ifndef RCHAR_TXBUF_H
#define RCHAR_TXBUF_H

#include <linux/kref.h>
#include <linux/list.h>
#include <rdma/ib_verbs.h>
#include "base/chunk.h"
#include "proto/frame.h"
#include "turns.h"

struct iov_iter;
struct rchar_account;
struct rchar_lane;
struct rchar_seal_key;
struct rchar_sealbuf;

/**
 * struct rchar_sender - the sender of frames: embedded in a session
 * @unsent: frames that have never been posted, in order; flow lock
 * @turn: when the frames are posted; flow lock
 * @forget: rchar_flow_take_unsent() removed the session's OPEN, which was never posted. The peer
 *	    does not know the session; flow lock
 * @put: drops the session reference that a frame holds. Any context but hard interrupt.
 */
struct rchar_sender {
	struct list_head unsent;
	struct rchar_turn turn;
	bool forget;
	void (*put)(struct rchar_sender *sender);
};

/**
 * struct rchar_txbuf_reg - a memory region that is registered right before a frame names its key
 * @lane: where the region is registered. On another lane the frame is a replay, and its key void.
 * @wr: the registration
 * @posted: the registration is in the send queue of @lane, or has been; flow lock
 */
struct rchar_txbuf_reg {
	struct rchar_lane *lane;
	struct ib_reg_wr wr;
	bool posted;
};

/**
 * struct rchar_txbuf - one frame to send
 * @ref: one for the flow's queue, one while a work request uses the frame
 * @queue: entry of rchar_sender.unsent until the frame is first posted, then of rchar_flow.queue
 *	   until the peer acknowledges the frame; flow lock
 * @posted: entry of rchar_lane.tx.posted, from posted to completed; flow lock
 * @cqe: completion
 * @wr: work request; valid while posted
 * @sge: SGEs of @wr; while posted they hold the DMA mappings
 * @nr_mapped: number of mapped entries of @sge
 * @nr_wrs: work requests posted for the frame: 2 with @reg
 * @sealed: on an encrypted lane: what is sent instead of the frame; while posted
 * @sender: the sender of the frame (holds a reference), or NULL
 * @account: account of the peer that requested this frame, or NULL. The link holds a reference to
 *	     the account.
 * @reg: registration to post together with the frame, or NULL; flow lock
 * @invalidates: the frame invalidates @invalidate_key of the peer, unless the frame is a replay
 * @invalidate_attempt: identifies the connection on which that key is valid
 * @invalidate_key: key of a memory region of the peer
 * @hdr: the header in host form. The sequence number is set when the frame is first posted;
 *	 credits and ack are set each time.
 * @end: the sender's byte offset after this frame
 * @capacity: payload bytes that fit in the frame
 * @nr_chunks: number of @chunks; 0 when the payload is in @data
 * @sent: the frame has been posted before: the next post is a replay
 * @reserved: the frame belongs to a lane, which holds a reference; completion does not free it
 * @busy: of a @reserved frame: in use; set with the flow lock, cleared without
 * @chunks: the payload; the last chunk may have fewer pages
 * @wire: the header in wire form
 * @data: the payload, when small
 */
struct rchar_txbuf {
	struct kref ref;
	struct list_head queue;
	struct list_head posted;
	struct ib_cqe cqe;
	struct ib_send_wr wr;
	struct ib_sge sge[1 + RCHAR_FRAME_CHUNKS];
	u8 nr_mapped;
	u8 nr_wrs;
	struct rchar_sealbuf *sealed;
	struct rchar_sender *sender;
	struct rchar_account *account;
	struct rchar_txbuf_reg *reg;
	bool invalidates;
	u32 invalidate_attempt;
	u32 invalidate_key;
	struct rchar_hdr hdr;
	u32 end;
	u32 capacity;
	u8 nr_chunks;
	bool sent;
	bool reserved;
	bool busy;
	struct page *chunks[RCHAR_FRAME_CHUNKS];
	/* one DMA mapping covers the following members */
	struct rchar_wire_hdr wire;
	u8 data[];
};

struct rchar_txbuf *rchar_txbuf_alloc(u8 op, u32 capacity, gfp_t gfp);
struct rchar_txbuf *rchar_txbuf_alloc_reply(u8 op, u32 capacity, struct rchar_account *account);
void rchar_txbuf_put(struct rchar_txbuf *txb);
void rchar_txbuf_put_list(struct list_head *frames);
void rchar_txbuf_append(struct rchar_txbuf *txb, const void *data, u32 len);
bool rchar_txbuf_seal(struct rchar_txbuf *txb, struct rchar_sealbuf *buf,
		      struct rchar_seal_key *key);
size_t rchar_txbuf_copy(struct rchar_txbuf *txb, size_t len, struct iov_iter *from);
int rchar_txbuf_map(struct rchar_txbuf *txb, struct ib_device *dev, u32 lkey);
void rchar_txbuf_unmap(struct rchar_txbuf *txb, struct ib_device *dev);

/* Start of the payload; only the first RCHAR_CHUNK_SIZE bytes are contiguous. */
static inline void *rchar_txbuf_payload(struct rchar_txbuf *txb)
{
	return txb->nr_chunks ? page_address(txb->chunks[0]) : txb->data;
}

static inline void rchar_txbuf_get(struct rchar_txbuf *txb)
{
	kref_get(&txb->ref);
}

/* Estimated memory of a small frame, or of a large frame without its chunks. */
#define RCHAR_TXBUF_COST 512

/* Estimated bytes of memory of a frame. */
static inline u32 rchar_txbuf_memory(const struct rchar_txbuf *txb)
{
	return RCHAR_TXBUF_COST + txb->capacity;
}

static inline u32 rchar_txbuf_room(const struct rchar_txbuf *txb)
{
	return txb->capacity - txb->hdr.len;
}

#endif /* RCHAR_TXBUF_H */
