/* SPDX-License-Identifier: GPL-2.0 */
/* Memory for payload. */
#ifndef RCHAR_CHUNK_H
#define RCHAR_CHUNK_H

#include <linux/gfp.h>
#include <linux/sizes.h>

/*
 * Payloads are in chunks of 16 KiB, or of a page where pages are larger: few SGEs, few
 * mappings and few allocations, and still what the page allocator finds without effort
 * (below PAGE_ALLOC_COSTLY_ORDER).
 */
#define RCHAR_CHUNK_SIZE	(PAGE_SIZE < SZ_16K ? SZ_16K : PAGE_SIZE)

/*
 * For memory that a program asks for: its memory cgroup counts it, and is told no rather than
 * that somebody in it is killed.
 */
#define RCHAR_GFP_PROGRAM	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

struct page *rchar_chunk_alloc(size_t len, gfp_t gfp);
void rchar_chunk_free(struct page *chunk);

int rchar_chunk_init(void);
void rchar_chunk_exit(void);

#endif /* RCHAR_CHUNK_H */
