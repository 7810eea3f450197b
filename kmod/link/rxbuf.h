/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive buffers, and the segments that received bytes wait in.
 *
 * A buffer is a header slot and RCHAR_FRAME_CHUNKS chunks. When a frame arrives, a
 * session either copies a small payload away or takes the chunks that are filled; the
 * buffer gets fresh ones and is posted again at once, so that no reader, however slow,
 * keeps a buffer from the other sessions of the link.
 */
#ifndef RCHAR_RXBUF_H
#define RCHAR_RXBUF_H

#include <linux/list.h>
#include <linux/mm.h>
#include <rdma/ib_verbs.h>
#include "txbuf.h"

/* Payloads up to this are copied away: what a segment holds is at most twice its bytes. */
#define RCHAR_COPY_BREAK	(RCHAR_CHUNK_SIZE / 2 - sizeof(struct rchar_seg))

/**
 * struct rchar_seg - bytes received and not read yet
 * @entry: of rchar_session.rx_queue
 * @start: offset of the first byte not read
 * @end: offset behind the last byte
 * @message: first segment of a complete message: its length
 * @last: last segment of a message
 * @nr_chunks: chunks held; 0 when the bytes are in @data
 * @capacity: bytes there is room for
 * @chunks: filled up to @end
 * @data: small payloads
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
 * @dev: the device it is mapped for
 * @entry: of rchar_lane.refill, while memory is short
 * @hdr: where the header arrives
 * @hdr_dma: its DMA address
 * @seg: what a session takes together with chunks; refilled
 * @chunks: where the payload arrives; NULL where taken
 * @dma: their DMA addresses
 */
struct rchar_rxbuf {
	struct ib_cqe cqe;
	struct ib_device *dev;
	struct list_head entry;
	struct rchar_wire_hdr *hdr;
	u64 hdr_dma;
	struct rchar_seg *seg;
	struct page *chunks[RCHAR_FRAME_CHUNKS];
	u64 dma[RCHAR_FRAME_CHUNKS];
};

int rchar_rxbuf_fill(struct rchar_rxbuf *rxb, struct ib_device *dev, gfp_t gfp);
void rchar_rxbuf_empty(struct rchar_rxbuf *rxb, struct ib_device *dev);
void rchar_rxbuf_sync(struct rchar_rxbuf *rxb, struct ib_device *dev, u32 len);
void rchar_rxbuf_sync_for_device(struct rchar_rxbuf *rxb, struct ib_device *dev);
void rchar_rxbuf_copy(const struct rchar_rxbuf *rxb, void *to, u32 len);
struct rchar_seg *rchar_rxbuf_take(struct rchar_rxbuf *rxb, u32 len);
struct rchar_seg *rchar_rxbuf_take_copy(struct rchar_rxbuf *rxb, u32 len, u32 capacity);

/* Where the payload begins: RCHAR_CHUNK_SIZE bytes of it at most. */
static inline const void *rchar_rxbuf_payload(const struct rchar_rxbuf *rxb)
{
	return page_address(rxb->chunks[0]);
}

struct rchar_seg *rchar_seg_alloc(u32 len);
u32 rchar_seg_memory(const struct rchar_seg *seg);
u32 rchar_seg_room(const struct rchar_seg *seg);
void rchar_seg_append(struct rchar_seg *seg, const struct rchar_rxbuf *rxb, u32 len);
size_t rchar_seg_copy(const struct rchar_seg *seg, u32 start, size_t len,
		      struct iov_iter *to);
void rchar_seg_free(struct rchar_seg *seg);
void rchar_seg_free_list(struct list_head *segs);

#endif /* RCHAR_RXBUF_H */
