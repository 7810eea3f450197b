/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DMA mappings. No other file maps memory for a device. Soft devices use addresses of the CPU and
 * so forgive every mistake. A test build can put copies between them and the memory; see bounce.h.
 */
#ifndef RCHAR_DMA_H
#define RCHAR_DMA_H

#include <linux/dma-direction.h>
#include <linux/types.h>

struct ib_device;
struct page;
struct sg_table;

int rchar_dma_map_page(struct ib_device *dev, struct page *page, u32 offset, u32 len,
		       enum dma_data_direction dir, u64 *addr);
int rchar_dma_map(struct ib_device *dev, void *at, u32 len, enum dma_data_direction dir, u64 *addr);
void rchar_dma_unmap(struct ib_device *dev, u64 addr, u32 len, enum dma_data_direction dir);
void rchar_dma_sync_for_cpu(struct ib_device *dev, u64 addr, u32 len, enum dma_data_direction dir);
void rchar_dma_sync_for_device(struct ib_device *dev, u64 addr, u32 len,
			       enum dma_data_direction dir);

int rchar_dma_map_table(struct ib_device *dev, struct sg_table *sgt, struct page **pages,
			unsigned int n, u32 offset, size_t len, enum dma_data_direction dir);
void rchar_dma_unmap_table(struct ib_device *dev, struct sg_table *sgt,
			   enum dma_data_direction dir);
bool rchar_dma_table_is_direct(struct ib_device *dev, const struct sg_table *sgt);

int rchar_dma_probe(struct ib_device *dev, bool *direct);

#endif /* RCHAR_DMA_H */
