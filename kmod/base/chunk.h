/* SPDX-License-Identifier: GPL-2.0 */
/* Chunks: memory for payload. */
#ifndef RCHAR_CHUNK_H
#define RCHAR_CHUNK_H

#include <linux/gfp.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sizes.h>

/*
 * A chunk is 16 KiB, or one page where pages are larger. A payload thus needs few SGEs, few
 * mappings and few allocations. The order stays below PAGE_ALLOC_COSTLY_ORDER, so the page
 * allocator finds chunks without effort.
 */
#define RCHAR_CHUNK_SIZE (PAGE_SIZE < SZ_16K ? SZ_16K : PAGE_SIZE)

/*
 * Chunks in the payload of a frame. With the header a frame has at most five SGEs; soft-iWARP
 * allows six (SIW_MAX_SGE).
 */
#define RCHAR_FRAME_CHUNKS (RCHAR_CHUNK_SIZE < SZ_64K ? SZ_64K / RCHAR_CHUNK_SIZE : 1)
#define RCHAR_FRAME_SIZE   (RCHAR_FRAME_CHUNKS * RCHAR_CHUNK_SIZE)

/* A payload up to this size follows the header in one slab object and one SGE. */
#define RCHAR_TXBUF_INLINE 1024

/*
 * Flags for memory that a program asks for. The program's memory cgroup counts the memory. When the
 * cgroup is full, the allocation fails; the OOM killer is not invoked.
 */
#define RCHAR_GFP_PROGRAM (GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

struct page *rchar_chunk_alloc(size_t len, gfp_t gfp);
void rchar_chunk_free(struct page *chunk);
u32 rchar_chunks_alloc(struct page **chunks, u8 *nr, u32 len, gfp_t gfp);
void rchar_chunks_free(struct page *const *chunks, u8 nr);

/**
 * rchar_chunks_at() - get the address of a byte of a payload
 * @chunks: where the payload is
 * @nr: number of @chunks; 0: the payload is at @small
 * @small: contiguous memory
 * @at: offset of the byte
 * @len: bytes wanted from there; reduced to those that are contiguous
 *
 * Return: the address.
 */
static inline void *rchar_chunks_at(struct page *const *chunks, u8 nr, void *small, u32 at,
				    size_t *len)
{
	if (!nr)
		return small + at;
	*len = min_t(size_t, *len, RCHAR_CHUNK_SIZE - at % RCHAR_CHUNK_SIZE);
	return page_address(chunks[at / RCHAR_CHUNK_SIZE]) + at % RCHAR_CHUNK_SIZE;
}

int rchar_chunk_init(void);
void rchar_chunk_exit(void);

#endif /* RCHAR_CHUNK_H */
