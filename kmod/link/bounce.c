// SPDX-License-Identifier: GPL-2.0
#include "bounce.h"

#if defined(RCHAR_DEBUG) && defined(CONFIG_DEBUG_FS)

#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include "base/inject.h"
#include "base/ledger.h"

#define POISON 0xd3
/* Bytes for each bit of &bounce.with_cpu. Header slots are multiples of it. */
#define GRAIN  8

/*
 * A mapping. @at is the memory, @copy what the device uses, at the same offset in its page; @pages
 * is the allocation around it. @with_cpu: ranges that sync_for_cpu() has returned to the CPU.
 */
struct bounce {
	struct ib_device *dev;
	void *at;
	void *copy;
	void *pages;
	u32 len;
	enum dma_data_direction dir;
	unsigned long *with_cpu;
};

/* One entry for each page of each copy. The lock of the array protects &bounce.with_cpu. */
static DEFINE_XARRAY(bounces);

/* The tables that are mapped: index is the address of &sg_table.sgl. */
struct bounced_table {
	struct ib_device *dev;
	struct page *pages[];
};

static DEFINE_XARRAY(tables);

/**
 * rchar_bounces() - does the device get copies?
 * @dev: the device
 *
 * Context: any.
 */
bool rchar_bounces(const struct ib_device *dev)
{
	return !rchar_inject_limit(RCHAR_LIMIT_DIRECT_DMA) &&
	       ib_uses_virt_dma((struct ib_device *)dev);
}

static unsigned long index_of(const void *copy)
{
	return (unsigned long)copy >> PAGE_SHIFT;
}

static size_t pages_len(const struct bounce *b)
{
	return PAGE_ALIGN(offset_in_page(b->copy) + b->len);
}

/* ---- the table of mappings ---- */

static void forget(const struct bounce *b)
{
	size_t i;

	for (i = 0; i < pages_len(b); i += PAGE_SIZE)
		xa_erase_bh(&bounces, index_of(b->pages + i));
}

static int remember(struct bounce *b)
{
	size_t i;

	for (i = 0; i < pages_len(b); i += PAGE_SIZE) {
		if (!xa_err(xa_store_bh(&bounces, index_of(b->pages + i), b,
					GFP_ATOMIC | __GFP_NOWARN)))
			continue;
		forget(b);
		return -ENOMEM;
	}
	return 0;
}

/* The mapping that has all bytes of a range, or NULL. */
static struct bounce *find(u64 addr, u32 len)
{
	void *from = (void *)(uintptr_t)addr;
	struct bounce *b = xa_load(&bounces, index_of(from));

	if (!b || WARN_ON_ONCE(from < b->copy || from + len > b->copy + b->len))
		return NULL;
	return b;
}

static void bounce_free(struct bounce *b)
{
	if (!b)
		return;
	if (b->pages)
		free_pages_exact(b->pages, pages_len(b));
	bitmap_free(b->with_cpu);
	kfree(b);
	rchar_ledger_del(RCHAR_OBJ_BOUNCE);
}

static struct bounce *bounce_alloc(u32 len, u32 offset)
{
	const gfp_t gfp = GFP_ATOMIC | __GFP_NOWARN;
	struct bounce *b = kzalloc(sizeof(*b), gfp);

	if (!b)
		return NULL;
	rchar_ledger_add(RCHAR_OBJ_BOUNCE);
	b->len = len;
	b->copy = (void *)(uintptr_t)offset; /* for pages_len() */
	b->with_cpu = bitmap_zalloc(DIV_ROUND_UP(len, GRAIN), gfp);
	b->pages = alloc_pages_exact(pages_len(b), gfp);
	if (!b->with_cpu || !b->pages) {
		bounce_free(b);
		return NULL;
	}
	memset(b->pages, POISON, pages_len(b));
	b->copy = b->pages + offset;
	return b;
}

/* ---- single mappings ---- */

/**
 * rchar_bounce_map() - as rchar_dma_map()
 * @dev: the device
 * @at: the memory
 * @len: bytes
 * @dir: the direction
 * @addr: set to the address for the device
 *
 * Return: 0 or -ENOMEM.
 */
int rchar_bounce_map(struct ib_device *dev, void *at, u32 len, enum dma_data_direction dir,
		     u64 *addr)
{
	struct bounce *b;

	if (len >= SZ_4K &&
	    rchar_ledger_count(RCHAR_OBJ_BOUNCE) >= rchar_inject_limit(RCHAR_LIMIT_BOUNCES))
		return -ENOMEM;
	b = bounce_alloc(len, offset_in_page(at));
	if (!b)
		return -ENOMEM;
	b->dev = dev;
	b->at = at;
	b->dir = dir;
	/* In every direction: what the device does not write must stay. */
	memcpy(b->copy, at, len);
	if (remember(b)) {
		bounce_free(b);
		return -ENOMEM;
	}
	*addr = (uintptr_t)b->copy;
	return 0;
}

/**
 * rchar_bounce_unmap() - as rchar_dma_unmap()
 * @dev: the device
 * @addr: the address
 * @len: bytes
 * @dir: the direction
 *
 * Return: false for an address that does not bounce.
 */
bool rchar_bounce_unmap(struct ib_device *dev, u64 addr, u32 len, enum dma_data_direction dir)
{
	struct bounce *b = find(addr, len);

	if (!b)
		return false;
	WARN_ON_ONCE(b->dev != dev || (uintptr_t)b->copy != addr || b->len != len || b->dir != dir);
	forget(b);
	if (dir != DMA_TO_DEVICE)
		memcpy(b->at, b->copy, b->len);
	memset(b->pages, POISON, pages_len(b));
	bounce_free(b);
	return true;
}

/**
 * rchar_bounce_sync_for_cpu() - as rchar_dma_sync_for_cpu()
 * @dev: the device
 * @addr: an address in a mapping
 * @len: bytes
 * @dir: the direction
 *
 * Return: false for an address that does not bounce.
 */
bool rchar_bounce_sync_for_cpu(struct ib_device *dev, u64 addr, u32 len,
			       enum dma_data_direction dir)
{
	struct bounce *b = find(addr, len);
	u32 at, first, n;

	if (!b)
		return false;
	at = addr - (uintptr_t)b->copy;
	first = at / GRAIN;
	n = DIV_ROUND_UP(at + len, GRAIN) - first;
	WARN_ON_ONCE(b->dev != dev || b->dir != dir);
	xa_lock_bh(&bounces);
	WARN_ONCE(find_next_bit(b->with_cpu, first + n, first) < first + n,
		  "memory returned to the CPU, and not to the device in between\n");
	bitmap_set(b->with_cpu, first, n);
	xa_unlock_bh(&bounces);
	memcpy(b->at + at, b->copy + at, len);
	return true;
}

/**
 * rchar_bounce_sync_for_device() - as rchar_dma_sync_for_device()
 * @dev: the device
 * @addr: an address in a mapping
 * @len: bytes
 * @dir: the direction
 *
 * Return: false for an address that does not bounce.
 */
bool rchar_bounce_sync_for_device(struct ib_device *dev, u64 addr, u32 len,
				  enum dma_data_direction dir)
{
	struct bounce *b = find(addr, len);
	u32 at;

	if (!b)
		return false;
	at = addr - (uintptr_t)b->copy;
	WARN_ON_ONCE(b->dev != dev || b->dir != dir);
	memcpy(b->copy + at, b->at + at, len);
	xa_lock_bh(&bounces);
	bitmap_clear(b->with_cpu, at / GRAIN, DIV_ROUND_UP(at + len, GRAIN) - at / GRAIN);
	xa_unlock_bh(&bounces);
	return true;
}

/* ---- tables ---- */

/* Other pages for a table: one after the other, as the memory's need not be contiguous either. */
static struct page **other_pages(unsigned int n)
{
	struct page **copies = kvcalloc(n, sizeof(*copies), GFP_KERNEL);
	unsigned int i;

	for (i = 0; copies && i < n; i++) {
		copies[i] = alloc_page(GFP_KERNEL | __GFP_NOWARN);
		if (copies[i]) {
			memset(page_address(copies[i]), POISON, PAGE_SIZE);
			continue;
		}
		while (i--)
			__free_page(copies[i]);
		kvfree(copies);
		return NULL;
	}
	return copies;
}

static void copy_table(const struct bounced_table *t, struct sg_table *sgt, bool to_device)
{
	struct sg_page_iter iter;
	unsigned int i = 0;

	for_each_sgtable_page(sgt, &iter, 0) {
		void *copy = page_address(sg_page_iter_page(&iter));
		void *memory = page_address(t->pages[i++]);

		if (to_device)
			copy_page(copy, memory);
		else
			copy_page(memory, copy);
	}
}

/**
 * rchar_bounce_map_table() - as rchar_dma_map_table()
 * @dev: the device
 * @sgt: set
 * @pages: the pages
 * @n: number of pages
 * @offset: offset of the first byte in the first page
 * @len: bytes
 * @dir: the direction
 *
 * Return: 0 or -ENOMEM.
 */
int rchar_bounce_map_table(struct ib_device *dev, struct sg_table *sgt, struct page **pages,
			   unsigned int n, u32 offset, size_t len, enum dma_data_direction dir)
{
	struct bounced_table *t = kvmalloc(struct_size(t, pages, n), GFP_KERNEL);
	struct page **copies = other_pages(n);
	unsigned int i;
	int ret = -ENOMEM;

	if (!t || !copies)
		goto no_table;
	ret = sg_alloc_table_from_pages(sgt, copies, n, offset, len, GFP_KERNEL | __GFP_NOWARN);
	if (ret)
		goto no_table;
	ret = xa_err(xa_store_bh(&tables, (unsigned long)sgt->sgl, t, GFP_KERNEL));
	if (ret) {
		sg_free_table(sgt);
		goto no_table;
	}
	t->dev = dev;
	memcpy(t->pages, pages, n * sizeof(*pages));
	copy_table(t, sgt, true);
	sgt->nents = ib_dma_map_sg(dev, sgt->sgl, sgt->orig_nents, dir);
	rchar_ledger_add(RCHAR_OBJ_BOUNCE);
	kvfree(copies);
	return 0;

no_table:
	for (i = 0; copies && i < n; i++)
		__free_page(copies[i]);
	kvfree(copies);
	kvfree(t);
	return ret;
}

/**
 * rchar_bounce_unmap_table() - undo rchar_bounce_map_table(), if that made the table
 * @dev: the device
 * @sgt: the table, which the caller frees
 * @dir: the direction
 */
void rchar_bounce_unmap_table(struct ib_device *dev, struct sg_table *sgt,
			      enum dma_data_direction dir)
{
	struct bounced_table *t = xa_erase_bh(&tables, (unsigned long)sgt->sgl);
	struct sg_page_iter iter;

	if (!t)
		return;
	WARN_ON_ONCE(t->dev != dev);
	if (dir != DMA_TO_DEVICE)
		copy_table(t, sgt, false);
	for_each_sgtable_page(sgt, &iter, 0) {
		memset(page_address(sg_page_iter_page(&iter)), POISON, PAGE_SIZE);
		__free_page(sg_page_iter_page(&iter));
	}
	kvfree(t);
	rchar_ledger_del(RCHAR_OBJ_BOUNCE);
}

/**
 * rchar_bounce_check_gone() - warn about memory that is mapped for a device that goes
 * @dev: the device
 */
void rchar_bounce_check_gone(struct ib_device *dev)
{
	struct bounced_table *t;
	unsigned long index;
	unsigned int n = 0;
	struct bounce *b;

	/* The lock: what belongs to other devices may be unmapped meanwhile. */
	xa_lock_bh(&bounces);
	xa_for_each(&bounces, index, b)
		n += b->dev == dev;
	xa_unlock_bh(&bounces);
	xa_lock_bh(&tables);
	xa_for_each(&tables, index, t)
		n += t->dev == dev;
	xa_unlock_bh(&tables);
	WARN(n, "%s: %u pages and tables are mapped for a device that goes\n", dev_name(&dev->dev),
	     n);
}

#endif
