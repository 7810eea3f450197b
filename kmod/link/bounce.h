/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bounced DMA for test builds. Each mapping gets other pages, in which the rest is poison. Only
 * sync and unmap copy between them and the memory, as swiotlb does; and unmap poisons them. So
 * memory that the CPU reads too early, or that is unmapped or changed too early, has the wrong
 * bytes. A warning tells of a range that returns to the CPU twice without having returned to the
 * device, of an unmap that differs from its mapping, and of what is mapped when a device goes.
 *
 * For soft devices, when RCHAR_LIMIT_DIRECT_DMA is 0.
 */
#ifndef RCHAR_BOUNCE_H
#define RCHAR_BOUNCE_H

#include <linux/dma-direction.h>
#include <linux/types.h>

struct ib_device;
struct page;
struct sg_table;

#if defined(RCHAR_DEBUG) && defined(CONFIG_DEBUG_FS)

bool rchar_bounces(const struct ib_device *dev);
int rchar_bounce_map(struct ib_device *dev, void *at, u32 len, enum dma_data_direction dir,
		     u64 *addr);
int rchar_bounce_map_table(struct ib_device *dev, struct sg_table *sgt, struct page **pages,
			   unsigned int n, u32 offset, size_t len, enum dma_data_direction dir);
void rchar_bounce_unmap_table(struct ib_device *dev, struct sg_table *sgt,
			      enum dma_data_direction dir);
void rchar_bounce_check_gone(struct ib_device *dev);

/* Each returns false for an address that does not bounce. */
bool rchar_bounce_unmap(struct ib_device *dev, u64 addr, u32 len, enum dma_data_direction dir);
bool rchar_bounce_sync_for_cpu(struct ib_device *dev, u64 addr, u32 len,
			       enum dma_data_direction dir);
bool rchar_bounce_sync_for_device(struct ib_device *dev, u64 addr, u32 len,
				  enum dma_data_direction dir);

#else

static inline bool rchar_bounces(const struct ib_device *dev)
{
	return false;
}

static inline int rchar_bounce_map(struct ib_device *dev, void *at, u32 len,
				   enum dma_data_direction dir, u64 *addr)
{
	return 0;
}

static inline int rchar_bounce_map_table(struct ib_device *dev, struct sg_table *sgt,
					 struct page **pages, unsigned int n, u32 offset,
					 size_t len, enum dma_data_direction dir)
{
	return 0;
}

static inline void rchar_bounce_unmap_table(struct ib_device *dev, struct sg_table *sgt,
					    enum dma_data_direction dir)
{
}

static inline void rchar_bounce_check_gone(struct ib_device *dev)
{
}

static inline bool rchar_bounce_unmap(struct ib_device *dev, u64 addr, u32 len,
				      enum dma_data_direction dir)
{
	return false;
}

static inline bool rchar_bounce_sync_for_cpu(struct ib_device *dev, u64 addr, u32 len,
					     enum dma_data_direction dir)
{
	return false;
}

static inline bool rchar_bounce_sync_for_device(struct ib_device *dev, u64 addr, u32 len,
						enum dma_data_direction dir)
{
	return false;
}

#endif

#endif /* RCHAR_BOUNCE_H */
