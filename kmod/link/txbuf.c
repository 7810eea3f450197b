// SPDX-License-Identifier: GPL-2.0
#include "txbuf.h"
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include "base/account.h"
#include "base/ledger.h"
#include "dma.h"
#include "proto/seal.h"
#include "sealbuf.h"

/**
 * rchar_txbuf_alloc() - allocate a frame
 * @op: enum rchar_op
 * @capacity: payload bytes that must fit in the frame, up to RCHAR_FRAME_SIZE
 * @gfp: how to allocate
 *
 * Return: the frame with one reference and an empty payload, or NULL.
 */
struct rchar_txbuf *rchar_txbuf_alloc(u8 op, u32 capacity, gfp_t gfp)
{
	u32 inline_len = capacity <= RCHAR_TXBUF_INLINE ? capacity : 0;
	struct rchar_txbuf *txb;

	txb = kzalloc(struct_size(txb, data, inline_len), gfp);
	if (!txb)
		return NULL;
	rchar_ledger_add(RCHAR_OBJ_TXBUF);
	kref_init(&txb->ref);
	INIT_LIST_HEAD(&txb->queue);
	INIT_LIST_HEAD(&txb->posted);
	txb->hdr.op = op;
	txb->capacity = inline_len;
	if (capacity > inline_len) {
		txb->capacity = rchar_chunks_alloc(txb->chunks, &txb->nr_chunks, capacity, gfp);
		if (!txb->capacity) {
			rchar_txbuf_put(txb);
			return NULL;
		}
	}
	return txb;
}

/**
 * rchar_txbuf_alloc_reply() - allocate a frame that answers a request of the peer
 * @op: enum rchar_op
 * @capacity: as for rchar_txbuf_alloc()
 * @account: account of the peer; the frame counts there until freed
 *
 * Context: any but hard interrupt.
 * Return: the frame, or NULL without memory or when the account is full.
 */
struct rchar_txbuf *rchar_txbuf_alloc_reply(u8 op, u32 capacity, struct rchar_account *account)
{
	struct rchar_txbuf *txb;

	txb = rchar_txbuf_alloc(op, capacity, GFP_ATOMIC | __GFP_NOWARN);
	if (!txb)
		return NULL;
	if (!rchar_account_hold_reply(account, rchar_txbuf_memory(txb))) {
		rchar_txbuf_put(txb);
		return NULL;
	}
	txb->account = account;
	return txb;
}

static void txbuf_release(struct kref *ref)
{
	struct rchar_txbuf *txb = container_of(ref, struct rchar_txbuf, ref);

	WARN_ON_ONCE(txb->nr_mapped || txb->sealed);
	rchar_chunks_free(txb->chunks, txb->nr_chunks);
	if (txb->account)
		rchar_account_release_reply(txb->account, rchar_txbuf_memory(txb));
	if (txb->sender)
		txb->sender->put(txb->sender);
	rchar_ledger_del(RCHAR_OBJ_TXBUF);
	kfree(txb);
}

/**
 * rchar_txbuf_put() - drop a reference
 * @txb: the frame
 *
 * Context: any but hard interrupt.
 */
void rchar_txbuf_put(struct rchar_txbuf *txb)
{
	kref_put(&txb->ref, txbuf_release);
}

/**
 * rchar_txbuf_put_list() - drop the references that a list holds
 * @frames: the frames, linked by rchar_txbuf.queue; emptied
 *
 * Context: any but hard interrupt.
 */
void rchar_txbuf_put_list(struct list_head *frames)
{
	struct rchar_txbuf *txb, *tmp;

	list_for_each_entry_safe(txb, tmp, frames, queue) {
		list_del_init(&txb->queue);
		rchar_txbuf_put(txb);
	}
}

/*
 * Address of the first byte after the payload. Reduces *@len to the bytes that are contiguous
 * there.
 */
static void *txbuf_tail(struct rchar_txbuf *txb, size_t *len)
{
	return rchar_chunks_at(txb->chunks, txb->nr_chunks, txb->data, txb->hdr.len, len);
}

/**
 * rchar_txbuf_copy() - append bytes of an iterator to the payload
 * @txb: a frame that is not queued yet
 * @len: bytes to copy, at most rchar_txbuf_room()
 * @from: source
 *
 * Return: bytes copied; fewer than @len when an access to user memory faults.
 */
size_t rchar_txbuf_copy(struct rchar_txbuf *txb, size_t len, struct iov_iter *from)
{
	size_t done = 0;

	while (done < len) {
		size_t n = len - done;
		void *to = txbuf_tail(txb, &n);
		size_t got = copy_from_iter(to, n, from);

		txb->hdr.len += got;
		done += got;
		if (got < n)
			break;
	}
	return done;
}

/**
 * rchar_txbuf_append() - append kernel memory to the payload
 * @txb: a frame that has never been posted
 * @data: the bytes
 * @len: number of bytes, at most rchar_txbuf_room()
 */
void rchar_txbuf_append(struct rchar_txbuf *txb, const void *data, u32 len)
{
	while (len) {
		size_t n = len;
		void *to = txbuf_tail(txb, &n);

		memcpy(to, data, n);
		txb->hdr.len += n;
		data += n;
		len -= n;
	}
}

/* Copy a frame, and list the copy in @sg. Returns the number of entries. */
static int copy_frame(struct rchar_txbuf *txb, struct rchar_sealbuf *buf, struct scatterlist *sg)
{
	size_t n;
	int i = 0;
	u32 at;

	buf->wire.hdr = txb->wire;
	for (at = 0; at < txb->hdr.len; at += n) {
		void *from, *to;

		n = txb->hdr.len - at;
		from = rchar_chunks_at(txb->chunks, txb->nr_chunks, txb->data, at, &n);
		to = rchar_chunks_at(buf->chunks, buf->nr_chunks, buf->data, at, &n);
		memcpy(to, from, n);
		sg_set_buf(&sg[i++], to, n);
	}
	return i;
}

/**
 * rchar_txbuf_seal() - make the sealed frame that is sent instead of a frame
 * @txb: the frame, with @wire encoded; @data and @chunks do not change
 * @buf: memory with room for the payload; taken over
 * @key: key of this direction; NULL: the frame is HELLO, which is not sealed
 *
 * The libraries seal in place, so the plain text is copied first. The copy costs little beside the
 * cipher.
 *
 * Context: any but hard interrupt.
 * Return: false if the kernel's library does not take the frame, or @buf is too small.
 */
bool rchar_txbuf_seal(struct rchar_txbuf *txb, struct rchar_sealbuf *buf,
		      struct rchar_seal_key *key)
{
	struct scatterlist sg[RCHAR_FRAME_CHUNKS + 1];
	int n;

	txb->sealed = buf;
	if (WARN_ON_ONCE(buf->capacity < txb->hdr.len))
		return false;
	sg_init_table(sg, ARRAY_SIZE(sg));
	n = copy_frame(txb, buf, sg);
	memset(buf->wire.tag, 0, sizeof(buf->wire.tag));
	if (!key)
		return true;
	sg_set_buf(&sg[n], buf->wire.tag, sizeof(buf->wire.tag));
	sg_mark_end(&sg[n]);
	return rchar_seal_close(key, &buf->wire.hdr, sg, txb->hdr.len);
}

static bool txbuf_map_chunk(struct rchar_txbuf *txb, struct ib_device *dev, u32 lkey,
			    struct page *chunk, u32 len)
{
	struct ib_sge *sge = &txb->sge[txb->nr_mapped];

	if (rchar_dma_map_page(dev, chunk, 0, len, DMA_TO_DEVICE, &sge->addr))
		return false;
	sge->length = len;
	sge->lkey = lkey;
	txb->nr_mapped++;
	return true;
}

static void unmap_sges(struct rchar_txbuf *txb, struct ib_device *dev)
{
	int i;

	for (i = 0; i < txb->nr_mapped; i++)
		rchar_dma_unmap(dev, txb->sge[i].addr, txb->sge[i].length, DMA_TO_DEVICE);
	txb->nr_mapped = 0;
}

/**
 * rchar_txbuf_map() - map a frame for a work request
 * @txb: the frame, with @wire encoded; what is sent is @sealed, if set
 * @dev: the device that will send the frame
 * @lkey: key of local memory
 *
 * Context: any but hard interrupt.
 * Return: 0, or -ENOMEM with nothing mapped. The frame stays sealed, and can be mapped later.
 */
int rchar_txbuf_map(struct rchar_txbuf *txb, struct ib_device *dev, u32 lkey)
{
	struct rchar_sealbuf *sealed = txb->sealed;
	struct page **chunks = sealed ? sealed->chunks : txb->chunks;
	u8 nr_chunks = sealed ? sealed->nr_chunks : txb->nr_chunks;
	u32 first = sealed ? sizeof(sealed->wire) : sizeof(txb->wire);
	void *wire = sealed ? (void *)&sealed->wire : &txb->wire;
	u32 left = txb->hdr.len;
	int i;

	if (!nr_chunks) {
		first += left;
		left = 0;
	}
	if (rchar_dma_map(dev, wire, first, DMA_TO_DEVICE, &txb->sge[0].addr))
		return -ENOMEM;
	txb->sge[0].length = first;
	txb->sge[0].lkey = lkey;
	txb->nr_mapped = 1;
	for (i = 0; left; i++) {
		u32 len = min_t(u32, left, RCHAR_CHUNK_SIZE);

		if (!txbuf_map_chunk(txb, dev, lkey, chunks[i], len)) {
			unmap_sges(txb, dev);
			return -ENOMEM;
		}
		left -= len;
	}
	return 0;
}

/**
 * rchar_txbuf_unmap() - undo rchar_txbuf_map(), and free the sealed frame
 * @txb: the frame; no work request uses the frame any more
 * @dev: the device for which the frame was mapped
 */
void rchar_txbuf_unmap(struct rchar_txbuf *txb, struct ib_device *dev)
{
	unmap_sges(txb, dev);
	rchar_sealbuf_free(txb->sealed);
	txb->sealed = NULL;
}
