// SPDX-License-Identifier: GPL-2.0
/*
 * Freed chunks are kept and used again. The purpose is to avoid clearing: a kernel may clear every
 * page that it allocates (init_on_alloc), although payload overwrites each chunk at once.
 */
#include "chunk.h"
#include <linux/cgroup.h>
#include <linux/list.h>
#include <linux/memcontrol.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/topology.h>
#include <linux/workqueue.h>
#include "compat/compat.h"

/* Maximum number of free chunks kept per node: about what two busy lanes have in flight. */
#define KEPT_MAX (SZ_4M / RCHAR_CHUNK_SIZE)
/* Period after which free chunks that were not needed return to the page allocator. */
#define IDLE_MS	 1000

/**
 * struct pool - free chunks of one node
 * @lock: protects the other fields
 * @chunks: free chunks, linked by page.lru. The chunk freed last is first, as its memory may still
 *	    be in a CPU cache.
 * @nr: length of @chunks
 * @unused: minimum of @nr since the last trim
 */
struct pool {
	spinlock_t lock;
	struct list_head chunks;
	unsigned int nr;
	unsigned int unused;
};

static struct pool *pools;
static void chunk_trim(struct work_struct *work);
static DECLARE_DELAYED_WORK(trim_work, chunk_trim);

#ifdef RCHAR_DEBUG
/* Poison detects, at the next use of a chunk, that the chunk was written to after its free. */
#define POISON 0x5d

static void poison(struct page *chunk)
{
	memset(page_address(chunk), POISON, RCHAR_CHUNK_SIZE);
}

static void check_poison(struct page *chunk)
{
	void *bad = memchr_inv(page_address(chunk), POISON, RCHAR_CHUNK_SIZE);

	WARN_ONCE(bad, "chunk: written to after it was freed, at byte %zu\n",
		  bad - page_address(chunk));
}
#else
static void poison(struct page *chunk)
{
}

static void check_poison(struct page *chunk)
{
}
#endif

static struct page *chunk_take(struct pool *pool)
{
	struct page *chunk;

	spin_lock_bh(&pool->lock);
	chunk = list_first_entry_or_null(&pool->chunks, struct page, lru);
	if (chunk) {
		list_del(&chunk->lru);
		WRITE_ONCE(pool->nr, pool->nr - 1);
		pool->unused = min(pool->unused, pool->nr);
	}
	spin_unlock_bh(&pool->lock);
	if (chunk)
		check_poison(chunk);
	return chunk;
}

static bool chunk_keep(struct pool *pool, struct page *chunk)
{
	bool kept;

	poison(chunk);
	spin_lock_bh(&pool->lock);
	kept = pool->nr < KEPT_MAX;
	if (kept) {
		list_add(&chunk->lru, &pool->chunks);
		WRITE_ONCE(pool->nr, pool->nr + 1);
	}
	spin_unlock_bh(&pool->lock);
	if (kept && !delayed_work_pending(&trim_work))
		schedule_delayed_work(&trim_work, msecs_to_jiffies(IDLE_MS));
	return kept;
}

/*
 * Will a memory cgroup count the allocation? Such chunks come from the page allocator, which does
 * the counting, and return there. The root cgroup counts nothing.
 */
static bool chunk_counts(gfp_t gfp)
{
#ifdef CONFIG_MEMCG
	bool root;

	if (!(gfp & __GFP_ACCOUNT))
		return false;
	rcu_read_lock();
	root = !task_css(current, memory_cgrp_id)->parent;
	rcu_read_unlock();
	return !root;
#else
	return false;
#endif
}

/**
 * rchar_chunk_alloc() - allocate memory for payload
 * @len: bytes, up to RCHAR_CHUNK_SIZE
 * @gfp: allocation flags
 *
 * The memory is not cleared and may hold old payload. Callers must never expose bytes that they
 * have not written.
 *
 * Context: any but hard interrupt, as @gfp allows.
 * Return: contiguous pages with a kernel address, or NULL.
 */
struct page *rchar_chunk_alloc(size_t len, gfp_t gfp)
{
	unsigned int order = get_order(len);
	struct page *chunk = NULL;

	if (order == get_order(RCHAR_CHUNK_SIZE) && !chunk_counts(gfp))
		chunk = chunk_take(&pools[numa_mem_id()]);
	return chunk ?: alloc_pages(gfp | __GFP_COMP | __GFP_NOWARN, order);
}

/**
 * rchar_chunk_free() - free a chunk
 * @chunk: from rchar_chunk_alloc(); not mapped for any device
 *
 * Context: any but hard interrupt.
 */
void rchar_chunk_free(struct page *chunk)
{
	unsigned int order = compound_order(chunk);

	if (order != get_order(RCHAR_CHUNK_SIZE) || rchar_compat_page_counted(chunk) ||
	    !chunk_keep(&pools[page_to_nid(chunk)], chunk))
		__free_pages(chunk, order);
}

/**
 * rchar_chunks_alloc() - allocate the chunks of a payload
 * @chunks: set to the chunks, of which the last may have fewer pages
 * @nr: set to the number of chunks; 0 on failure
 * @len: bytes that must fit, up to RCHAR_FRAME_SIZE
 * @gfp: allocation flags
 *
 * Context: as rchar_chunk_alloc().
 * Return: bytes that fit, or 0 without memory.
 */
u32 rchar_chunks_alloc(struct page **chunks, u8 *nr, u32 len, gfp_t gfp)
{
	u32 capacity = 0;

	for (*nr = 0; capacity < len; ++*nr) {
		size_t part = min_t(size_t, len - capacity, RCHAR_CHUNK_SIZE);

		chunks[*nr] = rchar_chunk_alloc(part, gfp);
		if (!chunks[*nr]) {
			rchar_chunks_free(chunks, *nr);
			*nr = 0;
			return 0;
		}
		capacity += PAGE_SIZE << get_order(part);
	}
	return capacity;
}

/**
 * rchar_chunks_free() - free the chunks of a payload
 * @chunks: from rchar_chunks_alloc()
 * @nr: number of chunks
 *
 * Context: any but hard interrupt.
 */
void rchar_chunks_free(struct page *const *chunks, u8 nr)
{
	while (nr--)
		rchar_chunk_free(chunks[nr]);
}

/* Free the chunks that were not needed since the last trim, or all chunks. */
static void chunk_shrink(struct pool *pool, bool all)
{
	struct page *chunk, *tmp;
	unsigned int nr;
	LIST_HEAD(freed);

	spin_lock_bh(&pool->lock);
	nr = all ? pool->nr : pool->unused;
	WRITE_ONCE(pool->nr, pool->nr - nr);
	pool->unused = pool->nr;
	while (nr--)
		list_move(pool->chunks.prev, &freed);
	spin_unlock_bh(&pool->lock);
	list_for_each_entry_safe(chunk, tmp, &freed, lru)
		__free_pages(chunk, compound_order(chunk));
}

static void chunk_trim(struct work_struct *work)
{
	bool any = false;
	int i;

	for (i = 0; i < nr_node_ids; i++) {
		chunk_shrink(&pools[i], false);
		any |= READ_ONCE(pools[i].nr);
	}
	if (any)
		schedule_delayed_work(&trim_work, msecs_to_jiffies(IDLE_MS));
}

/**
 * rchar_chunk_init() - create the pools at module load
 *
 * Return: 0 or -ENOMEM.
 */
int rchar_chunk_init(void)
{
	int i;

	pools = kcalloc(nr_node_ids, sizeof(*pools), GFP_KERNEL);
	if (!pools)
		return -ENOMEM;
	for (i = 0; i < nr_node_ids; i++) {
		spin_lock_init(&pools[i].lock);
		INIT_LIST_HEAD(&pools[i].chunks);
	}
	return 0;
}

/**
 * rchar_chunk_exit() - free the pools at module unload, after all chunks are freed
 */
void rchar_chunk_exit(void)
{
	int i;

	cancel_delayed_work_sync(&trim_work);
	for (i = 0; i < nr_node_ids; i++)
		chunk_shrink(&pools[i], true);
	kfree(pools);
}
