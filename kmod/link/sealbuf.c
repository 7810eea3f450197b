// SPDX-License-Identifier: GPL-2.0
#include "sealbuf.h"
#include <linux/mm.h>
#include <linux/slab.h>
#include "base/ledger.h"

/**
 * rchar_sealbuf_alloc() - allocate memory for a sealed frame
 * @capacity: payload bytes, up to RCHAR_FRAME_SIZE
 * @gfp: how to allocate
 *
 * Return: the memory, or NULL.
 */
struct rchar_sealbuf *rchar_sealbuf_alloc(u32 capacity, gfp_t gfp)
{
	u32 inline_len = capacity <= RCHAR_TXBUF_INLINE ? capacity : 0;
	struct rchar_sealbuf *buf;

	buf = kmalloc(struct_size(buf, data, inline_len), gfp);
	if (!buf)
		return NULL;
	rchar_ledger_add(RCHAR_OBJ_SEALBUF);
	buf->nr_chunks = 0;
	buf->capacity = inline_len;
	while (buf->capacity < capacity) {
		size_t len = min_t(size_t, capacity - buf->capacity, RCHAR_CHUNK_SIZE);
		struct page *chunk = rchar_chunk_alloc(len, gfp);

		if (!chunk) {
			rchar_sealbuf_free(buf);
			return NULL;
		}
		buf->chunks[buf->nr_chunks++] = chunk;
		buf->capacity += PAGE_SIZE << get_order(len);
	}
	return buf;
}

/**
 * rchar_sealbuf_free() - free the memory of a sealed frame
 * @buf: the memory, or NULL
 *
 * Context: any but hard interrupt.
 */
void rchar_sealbuf_free(struct rchar_sealbuf *buf)
{
	int i;

	if (!buf)
		return;
	for (i = 0; i < buf->nr_chunks; i++)
		rchar_chunk_free(buf->chunks[i]);
	rchar_ledger_del(RCHAR_OBJ_SEALBUF);
	kfree(buf);
}
