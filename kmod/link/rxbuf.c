// SPDX-License-Identifier: GPL-2.0
#include "rxbuf.h"
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include "base/ledger.h"
#include "dma.h"
#include "proto/seal.h"
#include "proto/wire.h"

static struct rchar_seg *rxbuf_new_seg(gfp_t gfp)
{
	struct rchar_seg *seg = kzalloc(sizeof(*seg), gfp);

	if (seg)
		rchar_ledger_add(RCHAR_OBJ_SEG);
	return seg;
}

/* Allocate a chunk, unless it is there, and map it. */
static int fill_chunk(struct rchar_rxbuf *rxb, int i, struct ib_device *dev, gfp_t gfp)
{
	struct page *chunk = rxb->chunks[i];

	if (!chunk)
		chunk = rchar_chunk_alloc(rxb->chunk_len, gfp);
	if (!chunk)
		return -ENOMEM;
	if (rchar_dma_map_page(dev, chunk, 0, rxb->chunk_len, DMA_FROM_DEVICE, &rxb->dma[i])) {
		if (!rxb->chunks[i])
			rchar_chunk_free(chunk);
		return -ENOMEM;
	}
	rxb->chunks[i] = chunk;
	rxb->unmapped &= ~BIT(i);
	return 0;
}

static void unmap_chunk(struct rchar_rxbuf *rxb, int i, struct ib_device *dev)
{
	if (!(rxb->unmapped & BIT(i)))
		rchar_dma_unmap(dev, rxb->dma[i], rxb->chunk_len, DMA_FROM_DEVICE);
}

static void free_chunks(struct rchar_rxbuf *rxb, struct ib_device *dev)
{
	int i;

	for (i = 0; i < rxb->nr_chunks; i++) {
		if (!rxb->chunks[i])
			continue;
		unmap_chunk(rxb, i, dev);
		rchar_chunk_free(rxb->chunks[i]);
		rxb->chunks[i] = NULL;
	}
	rxb->unmapped = 0;
}

/**
 * rchar_rxbuf_resize() - set the size of a buffer
 * @rxb: the buffer, not posted
 * @dev: the device of the buffer
 * @large: the buffer shall hold any frame
 * @nr_chunks: chunks of a large buffer
 *
 * Frees the chunks if they have another size. A small joined buffer has a whole chunk, as the
 * header must fit, too.
 */
void rchar_rxbuf_resize(struct rchar_rxbuf *rxb, struct ib_device *dev, bool large, u8 nr_chunks)
{
	u32 chunk_len = large || rxb->joined ? RCHAR_CHUNK_SIZE : RCHAR_WIRE_SMALL;

	rxb->large = large;
	if (!large)
		nr_chunks = 1;
	if (rxb->chunk_len == chunk_len && rxb->nr_chunks == nr_chunks)
		return;
	free_chunks(rxb, dev);
	rxb->chunk_len = chunk_len;
	rxb->nr_chunks = nr_chunks;
}

/**
 * rchar_rxbuf_fill() - replace the segment and the chunks that were taken from a buffer
 * @rxb: the buffer, not posted
 * @dev: the device of the buffer
 * @gfp: how to allocate
 *
 * Return: 0 when the buffer may be posted; -ENOMEM, after which the caller may try again.
 */
int rchar_rxbuf_fill(struct rchar_rxbuf *rxb, struct ib_device *dev, gfp_t gfp)
{
	int i;

	if (!rxb->seg)
		rxb->seg = rxbuf_new_seg(gfp);
	if (!rxb->seg)
		return -ENOMEM;
	for (i = 0; i < rxb->nr_chunks; i++)
		if ((!rxb->chunks[i] || rxb->unmapped & BIT(i)) && fill_chunk(rxb, i, dev, gfp))
			return -ENOMEM;
	return 0;
}

/**
 * rchar_rxbuf_empty() - free the contents of a buffer
 * @rxb: the buffer, not posted, or its queue pair is drained
 * @dev: the device of the buffer
 */
void rchar_rxbuf_empty(struct rchar_rxbuf *rxb, struct ib_device *dev)
{
	free_chunks(rxb, dev);
	if (rxb->seg)
		rchar_seg_free(rxb->seg);
	rxb->seg = NULL;
}

/**
 * rchar_rxbuf_arrived() - make the header of a received frame visible to the CPU
 * @rxb: the buffer
 * @len: bytes of the frame, as the completion says
 *
 * A joined buffer received the header in front of the payload: move both to their places. Its chunk
 * is unmapped first: to unmap or sync a bounced chunk later would undo the move.
 */
void rchar_rxbuf_arrived(struct rchar_rxbuf *rxb, u32 len)
{
	void *chunk;

	if (!rxb->joined) {
		rchar_dma_sync_for_cpu(rxb->dev, rxb->hdr_dma, sizeof(*rxb->hdr), DMA_FROM_DEVICE);
		return;
	}
	unmap_chunk(rxb, 0, rxb->dev);
	rxb->unmapped |= BIT(0);
	chunk = page_address(rxb->chunks[0]);
	memcpy(rxb->hdr, chunk, rxb->hdr_len);
	if (len > rxb->hdr_len)
		memmove(chunk, chunk + rxb->hdr_len,
			min_t(u32, len, rxb->chunk_len) - rxb->hdr_len);
}

/**
 * rchar_rxbuf_sync() - make a received payload visible to the CPU
 * @rxb: the buffer, after rchar_rxbuf_arrived()
 * @len: payload bytes
 */
void rchar_rxbuf_sync(struct rchar_rxbuf *rxb, u32 len)
{
	u32 at;
	int i;

	for (at = 0, i = 0; at < len; at += RCHAR_CHUNK_SIZE, i++)
		if (!(rxb->unmapped & BIT(i)))
			rchar_dma_sync_for_cpu(rxb->dev, rxb->dma[i],
					       min_t(u32, len - at, RCHAR_CHUNK_SIZE),
					       DMA_FROM_DEVICE);
}

/**
 * rchar_rxbuf_sync_for_device() - return a buffer to the device
 * @rxb: the buffer, filled and not posted
 * @dev: the device of the buffer
 *
 * Needed because the CPU may have read an earlier payload there
 * (Documentation/core-api/dma-api.rst).
 */
void rchar_rxbuf_sync_for_device(struct rchar_rxbuf *rxb, struct ib_device *dev)
{
	int i;

	/* The device never writes to the header slot of a joined buffer. */
	if (!rxb->joined)
		rchar_dma_sync_for_device(dev, rxb->hdr_dma, sizeof(*rxb->hdr), DMA_FROM_DEVICE);
	for (i = 0; i < rxb->nr_chunks; i++)
		rchar_dma_sync_for_device(dev, rxb->dma[i], rxb->chunk_len, DMA_FROM_DEVICE);
}

/**
 * rchar_rxbuf_open() - decrypt a payload in place
 * @rxb: the buffer, whose header slot holds header and tag
 * @key: key of this direction
 * @len: payload bytes
 *
 * The chunks are unmapped first: to unmap a bounced chunk later would overwrite the plain text.
 *
 * Context: any but hard interrupt.
 * Return: false when the frame is not the next one that the peer sealed.
 */
bool rchar_rxbuf_open(struct rchar_rxbuf *rxb, struct rchar_seal_key *key, u32 len)
{
	struct scatterlist sg[RCHAR_FRAME_CHUNKS + 1];
	u32 at, n;
	int i = 0;

	sg_init_table(sg, ARRAY_SIZE(sg));
	for (at = 0; at < len; at += n) {
		n = min_t(u32, len - at, RCHAR_CHUNK_SIZE);
		unmap_chunk(rxb, i, rxb->dev);
		rxb->unmapped |= BIT(i);
		sg_set_page(&sg[i], rxb->chunks[i], n, 0);
		i++;
	}
	sg_set_buf(&sg[i], rxb->hdr->tag, sizeof(rxb->hdr->tag));
	sg_mark_end(&sg[i]);
	return rchar_seal_open(key, &rxb->hdr->hdr, sg, len);
}

/**
 * rchar_rxbuf_copy() - copy a small payload
 * @rxb: the buffer
 * @to: destination
 * @len: bytes, at most RCHAR_CHUNK_SIZE
 */
void rchar_rxbuf_copy(const struct rchar_rxbuf *rxb, void *to, u32 len)
{
	memcpy(to, page_address(rxb->chunks[0]), len);
}

/**
 * rchar_rxbuf_copy_at() - copy a part of a payload
 * @rxb: the buffer
 * @at: offset of the part in the payload
 * @to: destination
 * @len: bytes
 */
void rchar_rxbuf_copy_at(const struct rchar_rxbuf *rxb, u32 at, void *to, u32 len)
{
	while (len) {
		size_t n = len;
		const void *from;

		from = rchar_chunks_at(rxb->chunks, RCHAR_FRAME_CHUNKS, NULL, at, &n);
		memcpy(to, from, n);
		to += n;
		at += n;
		len -= n;
	}
}

/**
 * rchar_rxbuf_take() - take the chunks that contain a payload
 * @rxb: the buffer
 * @len: payload bytes
 *
 * Context: never allocates: the buffer holds a segment in advance.
 * Return: the segment, owned by the caller.
 */
struct rchar_seg *rchar_rxbuf_take(struct rchar_rxbuf *rxb, u32 len)
{
	struct rchar_seg *seg = rxb->seg;
	int i;

	rxb->seg = NULL;
	seg->end = len;
	seg->nr_chunks = max_t(u32, DIV_ROUND_UP(len, RCHAR_CHUNK_SIZE), 1);
	seg->capacity = seg->nr_chunks * rxb->chunk_len;
	for (i = 0; i < seg->nr_chunks; i++) {
		unmap_chunk(rxb, i, rxb->dev);
		seg->chunks[i] = rxb->chunks[i];
		rxb->chunks[i] = NULL;
		rxb->unmapped &= ~BIT(i);
	}
	return seg;
}

/**
 * rchar_rxbuf_take_copy() - copy a small payload, so that the payload does not occupy a chunk
 * @rxb: the buffer
 * @len: payload bytes, at most RCHAR_COPY_BREAK
 * @capacity: bytes that the segment must hold, at least @len
 *
 * Context: any but hard interrupt. Without memory for the copy, the segment takes the chunk.
 * Return: the segment, owned by the caller.
 */
struct rchar_seg *rchar_rxbuf_take_copy(struct rchar_rxbuf *rxb, u32 len, u32 capacity)
{
	struct rchar_seg *seg;

	seg = kmalloc(struct_size(seg, data, capacity), GFP_NOWAIT | __GFP_NOWARN);
	if (!seg)
		return rchar_rxbuf_take(rxb, len);
	rchar_ledger_add(RCHAR_OBJ_SEG);
	memset(seg, 0, sizeof(*seg));
	seg->end = len;
	seg->capacity = capacity;
	rchar_rxbuf_copy(rxb, seg->data, len);
	return seg;
}

/**
 * rchar_seg_alloc() - allocate a segment for bytes that do not arrive in a receive buffer
 * @len: number of bytes, up to RCHAR_FRAME_SIZE
 *
 * Context: process.
 * Return: the segment, whose @end already includes the @len bytes; or NULL.
 */
struct rchar_seg *rchar_seg_alloc(u32 len)
{
	struct rchar_seg *seg = rxbuf_new_seg(GFP_KERNEL);

	if (!seg)
		return NULL;
	seg->capacity = rchar_chunks_alloc(seg->chunks, &seg->nr_chunks,
					   round_up(len, RCHAR_CHUNK_SIZE), GFP_KERNEL);
	if (!seg->capacity) {
		rchar_seg_free(seg);
		return NULL;
	}
	seg->end = len;
	return seg;
}

/**
 * rchar_seg_memory() - get the bytes of memory that a segment occupies
 * @seg: the segment
 *
 * Return: bytes.
 */
u32 rchar_seg_memory(const struct rchar_seg *seg)
{
	return seg->nr_chunks ? seg->capacity : ksize(seg);
}

/**
 * rchar_seg_room() - get the number of bytes that can still be appended
 * @seg: the segment
 *
 * Return: bytes.
 */
u32 rchar_seg_room(const struct rchar_seg *seg)
{
	return seg->capacity - seg->end;
}

/* Address of the byte at an offset. Reduces *@len to the bytes that are contiguous there. */
static void *seg_address(const struct rchar_seg *seg, u32 at, size_t *len)
{
	return rchar_chunks_at(seg->chunks, seg->nr_chunks, (void *)seg->data, at, len);
}

/**
 * rchar_seg_append() - append a small payload to a segment
 * @seg: the segment; readers may read bytes below @seg->end meanwhile
 * @rxb: the buffer with the payload
 * @len: payload bytes, at most rchar_seg_room() and RCHAR_CHUNK_SIZE
 *
 * Many small frames thus share the memory of one segment. Only the last chunk can have room, so
 * the copy never crosses a chunk boundary.
 */
void rchar_seg_append(struct rchar_seg *seg, const struct rchar_rxbuf *rxb, u32 len)
{
	size_t n = len;

	rchar_rxbuf_copy(rxb, seg_address(seg, seg->end, &n), len);
	WRITE_ONCE(seg->end, seg->end + len);
}

/**
 * rchar_seg_copy() - copy bytes out of a segment without consuming them
 * @seg: the segment
 * @start: offset of the first byte
 * @len: bytes, not beyond @seg->end
 * @to: destination
 *
 * Return: bytes copied; fewer than @len when an access to user memory faults or @to is full.
 */
size_t rchar_seg_copy(const struct rchar_seg *seg, u32 start, size_t len, struct iov_iter *to)
{
	size_t done = 0;

	while (done < len) {
		size_t n = len - done;
		const void *from = seg_address(seg, start + done, &n);
		/* Not copy_page_to_iter(): up to Linux 6.4 that function puts the page itself in
		 * a pipe, like a page of the page cache.
		 */
		size_t got = copy_to_iter(from, n, to);

		done += got;
		if (got < n)
			break;
	}
	return done;
}

/**
 * rchar_seg_free() - free a segment and its chunks
 * @seg: the segment
 */
void rchar_seg_free(struct rchar_seg *seg)
{
	rchar_chunks_free(seg->chunks, seg->nr_chunks);
	rchar_ledger_del(RCHAR_OBJ_SEG);
	kfree(seg);
}

/**
 * rchar_seg_free_list() - free segments and their chunks
 * @segs: the segments, linked by rchar_seg.entry; the list is not valid afterwards
 */
void rchar_seg_free_list(struct list_head *segs)
{
	struct rchar_seg *seg, *tmp;

	list_for_each_entry_safe(seg, tmp, segs, entry)
		rchar_seg_free(seg);
}
