/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sealed form of a frame: what an encrypted connection sends instead of the frame itself. The
 * frame keeps its plain text, because a later connection seals it anew.
 */
#ifndef RCHAR_SEALBUF_H
#define RCHAR_SEALBUF_H

#include <linux/mm_types.h>
#include "base/chunk.h"
#include "proto/wire.h"

/**
 * struct rchar_sealbuf - memory for one sealed frame
 * @capacity: payload bytes that fit
 * @nr_chunks: number of @chunks; 0 when the payload is in @data
 * @chunks: the sealed payload; the last chunk may have fewer pages
 * @wire: header and tag
 * @data: the sealed payload, when small
 */
struct rchar_sealbuf {
	u32 capacity;
	u8 nr_chunks;
	struct page *chunks[RCHAR_FRAME_CHUNKS];
	/* one DMA mapping covers the following members */
	struct rchar_wire_sealed_hdr wire;
	u8 data[];
};

struct rchar_sealbuf *rchar_sealbuf_alloc(u32 capacity, gfp_t gfp);
void rchar_sealbuf_free(struct rchar_sealbuf *buf);

#endif /* RCHAR_SEALBUF_H */
