// SPDX-License-Identifier: GPL-2.0
#include "sealbuf.h"
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
	if (capacity > inline_len) {
		buf->capacity = rchar_chunks_alloc(buf->chunks, &buf->nr_chunks, capacity, gfp);
		if (!buf->capacity) {
			rchar_sealbuf_free(buf);
			return NULL;
		}
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
	if (!buf)
		return;
	rchar_chunks_free(buf->chunks, buf->nr_chunks);
	rchar_ledger_del(RCHAR_OBJ_SEALBUF);
	kfree(buf);
}
