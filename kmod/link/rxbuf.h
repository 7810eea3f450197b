/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive buffers, and segments, which hold received bytes until they are read.
 *
 * A receive buffer is a header slot and up to RCHAR_FRAME_CHUNKS chunks. When a frame arrives, a
 * session either copies a small payload or takes the filled chunks. The buffer then gets new
 * chunks and is posted again at once. A slow reader thus never withholds a receive buffer from
 * the other sessions of the link.
 */
#ifndef RCHAR_RXBUF_H
#define RCHAR_RXBUF_H

#include <linux/list.h>
#include <linux/mm.h>
#include <rdma/ib_verbs.h>
#include "txbuf.h"

struct rchar_seal_key;

/* Payloads up to this size are copied: a segment holds at most twice the memory of its bytes. */
#define RCHAR_COPY_BREAK (RCHAR_CHUNK_SIZE / 2 - sizeof(struct rchar_seg))

/**
 * struct rchar_seg - bytes received and not read yet
 * @entry: entry of rchar_session_rx.queue
 * @start: offset of the first byte not read
 * @end: offset after the last byte
 * @message: in the first segment of a complete message: length of the message
 * @last: last segment of a message
 * @nr_chunks: number of @chunks; 0 when the bytes are in @data
 * @capacity: bytes that fit in the segment
 * @chunks: the payload, filled up to @end
 * @data: the payload, when small
 */
struct rchar_seg {
	struct list_head entry;
	u32 start;
	u32 end;
	u32 message;
	bool last;
	u8 nr_chunks;
	u32 capacity;
	struct page *chunks[RCHAR_FRAME_CHUNKS];
	u8 data[];
};

/**
 * struct rchar_rxbuf - one receive buffer
 * @cqe: completion
 * @dev: the device that the buffer is mapped for
 * @entry: entry of rchar_lane.refill, while the buffer waits for memory, or of
 *	   rchar_lane_rx.idle
 * @hdr: header slot; the tag is used on encrypted lanes only
 * @hdr_dma: DMA address of @hdr
 * @hdr_len: bytes of the header on this lane
 * @invalidated: the frame that arrived has invalidated @invalidated_key
 * @invalidated_key: key of memory of this host
 * @large: the buffer holds any frame; a small one holds RCHAR_WIRE_SMALL bytes of payload
 * @chunk_len: bytes of each of @chunks that the device may fill
 * @joined: the device allows one SGE: it receives the header at the beginning of the first chunk
 * @nr_chunks: number of @chunks
 * @seg: segment for a session that takes chunks; allocated in advance
 * @chunks: memory for the payload; NULL for a chunk that a session has taken
 * @dma: DMA addresses of @chunks
 * @unmapped: set of BIT(i): the CPU has changed @chunks[i], which is not mapped any more
 */
struct rchar_rxbuf {
	struct ib_cqe cqe;
	struct ib_device *dev;
	struct list_head entry;
	struct rchar_wire_sealed_hdr *hdr;
	u64 hdr_dma;
	u8 hdr_len;
	bool invalidated;
	u32 invalidated_key;
	bool joined;
	bool large;
	u8 nr_chunks;
	u32 chunk_len;
	struct rchar_seg *seg;
	struct page *chunks[RCHAR_FRAME_CHUNKS];
	u64 dma[RCHAR_FRAME_CHUNKS];
	u8 unmapped;
};

void rchar_rxbuf_resize(struct rchar_rxbuf *rxb, struct ib_device *dev, bool large, u8 nr_chunks);
int rchar_rxbuf_fill(struct rchar_rxbuf *rxb, struct ib_device *dev, gfp_t gfp);
void rchar_rxbuf_empty(struct rchar_rxbuf *rxb, struct ib_device *dev);
void rchar_rxbuf_arrived(struct rchar_rxbuf *rxb, u32 len);
void rchar_rxbuf_sync(struct rchar_rxbuf *rxb, u32 len);
void rchar_rxbuf_sync_for_device(struct rchar_rxbuf *rxb, struct ib_device *dev);
bool rchar_rxbuf_open(struct rchar_rxbuf *rxb, struct rchar_seal_key *key, u32 len);
void rchar_rxbuf_copy_at(const struct rchar_rxbuf *rxb, u32 at, void *to, u32 len);
void rchar_rxbuf_copy(const struct rchar_rxbuf *rxb, void *to, u32 len);
struct rchar_seg *rchar_rxbuf_take(struct rchar_rxbuf *rxb, u32 len);
struct rchar_seg *rchar_rxbuf_take_copy(struct rchar_rxbuf *rxb, u32 len, u32 capacity);

/* Start of the payload; only the first RCHAR_CHUNK_SIZE bytes are contiguous. */
static inline const void *rchar_rxbuf_payload(const struct rchar_rxbuf *rxb)
{
	return page_address(rxb->chunks[0]);
}

struct rchar_seg *rchar_seg_alloc(u32 len);
u32 rchar_seg_memory(const struct rchar_seg *seg);
u32 rchar_seg_room(const struct rchar_seg *seg);
void rchar_seg_append(struct rchar_seg *seg, const struct rchar_rxbuf *rxb, u32 len);
size_t rchar_seg_copy(const struct rchar_seg *seg, u32 start, size_t len, struct iov_iter *to);
void rchar_seg_free(struct rchar_seg *seg);
void rchar_seg_free_list(struct list_head *segs);

#endif /* RCHAR_RXBUF_H */
