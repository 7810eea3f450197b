// SPDX-License-Identifier: GPL-2.0
#include "rxbuf.h"
#include <linux/highmem.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include "inject.h"
#include "lane.h"
#include "ledger.h"

static int fill_page(struct rchar_rxbuf *rxb, int i, struct ib_device *dev, gfp_t gfp)
{
	struct page *page;

	if (rchar_inject(RCHAR_FAULT_MAP))
		return -ENOMEM;
	page = alloc_page(gfp);
	if (!page)
		return -ENOMEM;
	rxb->dma[i] = ib_dma_map_page(dev, page, 0, PAGE_SIZE, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(dev, rxb->dma[i])) {
		__free_page(page);
		return -ENOMEM;
	}
	rxb->pages[i] = page;
	return 0;
}

/**
 * rchar_rxbuf_fill() - replace what was taken from a buffer
 * @rxb: the buffer, not posted
 * @dev: the device it belongs to
 * @gfp: how to allocate
 *
 * Return: 0 when it may be posted; -ENOMEM, and it may be called again.
 */
int rchar_rxbuf_fill(struct rchar_rxbuf *rxb, struct ib_device *dev, gfp_t gfp)
{
	int i;

	if (!rxb->seg) {
		rxb->seg = kzalloc(sizeof(*rxb->seg), gfp);
		if (!rxb->seg)
			return -ENOMEM;
		rchar_ledger_add(RCHAR_OBJ_SEG);
	}
	for (i = 0; i < RCHAR_FRAME_PAGES; i++)
		if (!rxb->pages[i] && fill_page(rxb, i, dev, gfp))
			return -ENOMEM;
	return 0;
}

/**
 * rchar_rxbuf_empty() - free what a buffer holds
 * @rxb: the buffer; its queue pair is drained
 * @dev: the device it belongs to
 */
void rchar_rxbuf_empty(struct rchar_rxbuf *rxb, struct ib_device *dev)
{
	int i;

	for (i = 0; i < RCHAR_FRAME_PAGES; i++) {
		if (!rxb->pages[i])
			continue;
		ib_dma_unmap_page(dev, rxb->dma[i], PAGE_SIZE, DMA_FROM_DEVICE);
		__free_page(rxb->pages[i]);
		rxb->pages[i] = NULL;
	}
	if (rxb->seg)
		rchar_seg_free(rxb->seg);
	rxb->seg = NULL;
}

/**
 * rchar_rxbuf_sync() - let the CPU see a payload that arrived
 * @rxb: the buffer
 * @dev: the device it belongs to
 * @len: payload bytes
 */
void rchar_rxbuf_sync(struct rchar_rxbuf *rxb, struct ib_device *dev, u32 len)
{
	int i;

	for (i = 0; i * PAGE_SIZE < len; i++)
		ib_dma_sync_single_for_cpu(dev, rxb->dma[i], PAGE_SIZE,
					   DMA_FROM_DEVICE);
}

/**
 * rchar_rxbuf_copy() - copy a small payload out
 * @rxb: the buffer
 * @to: where to
 * @len: bytes, at most PAGE_SIZE
 */
void rchar_rxbuf_copy(const struct rchar_rxbuf *rxb, void *to, u32 len)
{
	memcpy_from_page(to, rxb->pages[0], 0, len);
}

/**
 * rchar_rxbuf_take() - take the pages that a payload fills
 * @rxb: the buffer
 * @len: payload bytes
 *
 * Context: never allocates: the segment came with the buffer.
 * Return: the segment, owned by the caller.
 */
struct rchar_seg *rchar_rxbuf_take(struct rchar_rxbuf *rxb, u32 len)
{
	struct ib_device *dev = rxb->lane->cm_id->device;
	struct rchar_seg *seg = rxb->seg;
	int i;

	rxb->seg = NULL;
	seg->end = len;
	seg->nr_pages = max_t(u32, DIV_ROUND_UP(len, PAGE_SIZE), 1);
	for (i = 0; i < seg->nr_pages; i++) {
		ib_dma_unmap_page(dev, rxb->dma[i], PAGE_SIZE, DMA_FROM_DEVICE);
		seg->pages[i] = rxb->pages[i];
		rxb->pages[i] = NULL;
	}
	return seg;
}

/**
 * rchar_rxbuf_take_copy() - copy a small payload, so that it does not hold a page
 * @rxb: the buffer
 * @len: payload bytes, at most PAGE_SIZE
 *
 * Context: any but hard interrupt; without memory it takes the pages instead.
 * Return: the segment, owned by the caller.
 */
struct rchar_seg *rchar_rxbuf_take_copy(struct rchar_rxbuf *rxb, u32 len)
{
	struct rchar_seg *seg;

	seg = kmalloc(struct_size(seg, data, len), GFP_NOWAIT | __GFP_NOWARN);
	if (!seg)
		return rchar_rxbuf_take(rxb, len);
	rchar_ledger_add(RCHAR_OBJ_SEG);
	memset(seg, 0, sizeof(*seg));
	seg->end = len;
	rchar_rxbuf_copy(rxb, seg->data, len);
	return seg;
}

/**
 * rchar_seg_memory() - bytes of memory held
 * @seg: the segment
 */
u32 rchar_seg_memory(const struct rchar_seg *seg)
{
	return seg->nr_pages ? seg->nr_pages * PAGE_SIZE : ksize(seg);
}

/**
 * rchar_seg_room() - bytes that may still be appended
 * @seg: the segment
 */
u32 rchar_seg_room(const struct rchar_seg *seg)
{
	return seg->nr_pages ? seg->nr_pages * PAGE_SIZE - seg->end : 0;
}

/**
 * rchar_seg_append() - append a small payload, so that many small frames do not hold
 *			a page each
 * @seg: the segment; bytes below @seg->end may be read meanwhile
 * @rxb: the buffer with the payload
 * @len: payload bytes, at most rchar_seg_room() and PAGE_SIZE
 *
 * Only the last page can have room, so the copy never crosses pages.
 */
void rchar_seg_append(struct rchar_seg *seg, const struct rchar_rxbuf *rxb, u32 len)
{
	memcpy_page(seg->pages[seg->end / PAGE_SIZE], offset_in_page(seg->end),
		    rxb->pages[0], 0, len);
	WRITE_ONCE(seg->end, seg->end + len);
}

/**
 * rchar_seg_copy() - copy out without consuming
 * @seg: the segment
 * @start: offset to start at
 * @len: bytes, not beyond the end
 * @to: where to
 *
 * Return: bytes copied; fewer than @len when user memory faults or @to is full.
 */
size_t rchar_seg_copy(const struct rchar_seg *seg, u32 start, size_t len,
		      struct iov_iter *to)
{
	size_t done = 0;

	if (!seg->nr_pages)
		return copy_to_iter(seg->data + start, len, to);
	while (done < len) {
		u32 at = start + done;
		size_t n = min_t(size_t, len - done, PAGE_SIZE - offset_in_page(at));
		void *from = page_address(seg->pages[at / PAGE_SIZE]);
		/* Not copy_page_to_iter(): up to 6.4 that gives the page itself to a
		 * pipe, as if it were of the page cache.
		 */
		size_t got = copy_to_iter(from + offset_in_page(at), n, to);

		done += got;
		if (got < n)
			break;
	}
	return done;
}

/**
 * rchar_seg_free() - free a segment and its pages
 * @seg: the segment
 */
void rchar_seg_free(struct rchar_seg *seg)
{
	int i;

	for (i = 0; i < seg->nr_pages; i++)
		put_page(seg->pages[i]);
	rchar_ledger_del(RCHAR_OBJ_SEG);
	kfree(seg);
}

/**
 * rchar_seg_free_list() - free segments and their pages
 * @segs: the segments, linked by rchar_seg.entry; not valid any more
 */
void rchar_seg_free_list(struct list_head *segs)
{
	struct rchar_seg *seg, *tmp;

	list_for_each_entry_safe(seg, tmp, segs, entry)
		rchar_seg_free(seg);
}
