// SPDX-License-Identifier: GPL-2.0
/*
 * Chunks that were freed are used again. Not to save the allocator the work: kernels clear
 * every page they give away (init_on_alloc), and each of these is written over at once.
 */
#include "chunk.h"
#include <linux/cgroup.h>
#include <linux/list.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/topology.h>
#include <linux/workqueue.h>
#include "compat/compat.h"

/* So many wait on each node at most: what two sessions in full swing have in flight. */
#define KEPT_MAX	(SZ_4M / RCHAR_CHUNK_SIZE)
/* Those that nobody needed for so long go back to the kernel. */
#define IDLE_MS		1000

/**
 * struct pool - the chunks of one node
 * @lock: protects the rest
 * @chunks: by page.lru; the last one freed is in front, its memory may be in a cache
 * @nr: length of @chunks
 * @unused: the least that @nr has been since the last trim
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
/* Who writes to a chunk after it was freed is found when it is used again. */
#define POISON	0x5d

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
 * Will this be counted by a memory cgroup? Then it comes from the allocator, which counts, and
 * goes back there. In the root cgroup nothing is counted.
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
 * rchar_chunk_alloc() - memory for payload
 * @len: bytes, up to RCHAR_CHUNK_SIZE
 * @gfp: how to allocate
 *
 * What was in it before is still there: never let anybody see more than was written.
 *
 * Context: any but hard interrupt, as @gfp allows.
 * Return: pages that follow on each other, with a kernel address, or NULL.
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
 * rchar_chunk_free() - free it
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

/* Free those that nobody needs, or all. */
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
 * rchar_chunk_init() - at module load
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
 * rchar_chunk_exit() - at module unload, when all chunks are free
 */
void rchar_chunk_exit(void)
{
	int i;

	cancel_delayed_work_sync(&trim_work);
	for (i = 0; i < nr_node_ids; i++)
		chunk_shrink(&pools[i], true);
	kfree(pools);
}
