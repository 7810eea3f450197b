// SPDX-License-Identifier: GPL-2.0
#include "dma.h"
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/mm.h>
#include <rdma/ib_verbs.h>
#include "base/inject.h"
#include "bounce.h"

/**
 * rchar_dma_map_page() - map a part of contiguous pages for a device
 * @dev: the device
 * @page: the first page
 * @offset: offset of the first byte in @page
 * @len: bytes
 * @dir: the direction
 * @addr: set to the address for the device
 *
 * Context: any but hard interrupt.
 * Return: 0 or -ENOMEM.
 */
int rchar_dma_map_page(struct ib_device *dev, struct page *page, u32 offset, u32 len,
		       enum dma_data_direction dir, u64 *addr)
{
	if (rchar_inject(RCHAR_FAULT_MAP))
		return -ENOMEM;
	if (rchar_bounces(dev))
		return rchar_bounce_map(dev, page_address(page) + offset, len, dir, addr);
	*addr = ib_dma_map_page(dev, page, offset, len, dir);
	return ib_dma_mapping_error(dev, *addr) ? -ENOMEM : 0;
}

/**
 * rchar_dma_map() - map memory for a device
 * @dev: the device
 * @at: the memory: of kmalloc(), or of the page allocator
 * @len: bytes
 * @dir: the direction
 * @addr: set to the address for the device
 *
 * Context: any but hard interrupt.
 * Return: 0 or -ENOMEM.
 */
int rchar_dma_map(struct ib_device *dev, void *at, u32 len, enum dma_data_direction dir, u64 *addr)
{
	return rchar_dma_map_page(dev, virt_to_page(at), offset_in_page(at), len, dir, addr);
}

/**
 * rchar_dma_unmap() - undo rchar_dma_map_page() or rchar_dma_map()
 * @dev: the device, which does not use the memory any more
 * @addr: the address for the device
 * @len: bytes, as for the mapping
 * @dir: the direction, as for the mapping
 *
 * What the device has written is visible to the CPU afterwards, also where an earlier sync made it
 * visible and the CPU has changed it since.
 *
 * Context: any but hard interrupt.
 */
void rchar_dma_unmap(struct ib_device *dev, u64 addr, u32 len, enum dma_data_direction dir)
{
	if (!rchar_bounce_unmap(dev, addr, len, dir))
		ib_dma_unmap_page(dev, addr, len, dir);
}

/**
 * rchar_dma_sync_for_cpu() - make visible to the CPU what the device has written
 * @dev: the device
 * @addr: an address in a mapping
 * @len: bytes
 * @dir: the direction of the mapping
 *
 * Context: any but hard interrupt.
 */
void rchar_dma_sync_for_cpu(struct ib_device *dev, u64 addr, u32 len, enum dma_data_direction dir)
{
	if (!rchar_bounce_sync_for_cpu(dev, addr, len, dir))
		ib_dma_sync_single_for_cpu(dev, addr, len, dir);
}

/**
 * rchar_dma_sync_for_device() - return memory to the device after rchar_dma_sync_for_cpu()
 * @dev: the device
 * @addr: an address in a mapping
 * @len: bytes
 * @dir: the direction of the mapping
 *
 * Context: any but hard interrupt.
 */
void rchar_dma_sync_for_device(struct ib_device *dev, u64 addr, u32 len,
			       enum dma_data_direction dir)
{
	if (!rchar_bounce_sync_for_device(dev, addr, len, dir))
		ib_dma_sync_single_for_device(dev, addr, len, dir);
}

/* ---- tables of pages, for memory regions ---- */

/**
 * rchar_dma_map_table() - make a table of pages, and map it for a device
 * @dev: the device
 * @sgt: set; &sg_table.nents counts the mapped entries
 * @pages: the pages
 * @n: number of pages
 * @offset: offset of the first byte in the first page
 * @len: bytes
 * @dir: the direction
 *
 * Context: process.
 * Return: 0 or -ENOMEM, with @sgt empty.
 */
int rchar_dma_map_table(struct ib_device *dev, struct sg_table *sgt, struct page **pages,
			unsigned int n, u32 offset, size_t len, enum dma_data_direction dir)
{
	const gfp_t gfp = GFP_KERNEL | __GFP_NOWARN | __GFP_RETRY_MAYFAIL;
	int ret;

	if (rchar_bounces(dev))
		return rchar_bounce_map_table(dev, sgt, pages, n, offset, len, dir);
	ret = sg_alloc_table_from_pages(sgt, pages, n, offset, len, gfp);
	if (ret)
		return ret;
	sgt->nents = ib_dma_map_sg(dev, sgt->sgl, sgt->orig_nents, dir);
	if (sgt->nents)
		return 0;
	sg_free_table(sgt);
	return -ENOMEM;
}

/**
 * rchar_dma_unmap_table() - undo rchar_dma_map_table()
 * @dev: the device
 * @sgt: the table, which is empty afterwards: &sg_table.sgl is NULL
 * @dir: the direction, as for the mapping
 *
 * Context: process.
 */
void rchar_dma_unmap_table(struct ib_device *dev, struct sg_table *sgt, enum dma_data_direction dir)
{
	ib_dma_unmap_sg(dev, sgt->sgl, sgt->orig_nents, dir);
	rchar_bounce_unmap_table(dev, sgt, dir);
	sg_free_table(sgt);
	sgt->sgl = NULL;
}

/* ---- does the device access the memory itself? ---- */

/* Whole pages: do the addresses for the device lead to them, and not to bounce buffers? */
static bool leads_to_pages(struct iommu_domain *domain, const struct sg_table *sgt)
{
	struct sg_dma_page_iter dma;
	struct sg_page_iter page;

	__sg_page_iter_start(&page, sgt->sgl, sgt->orig_nents, 0);
	__sg_page_iter_start(&dma.base, sgt->sgl, sgt->nents, 0);
	while (__sg_page_iter_next(&page)) {
		phys_addr_t phys;

		if (!__sg_page_iter_dma_next(&dma))
			return false;
		phys = iommu_iova_to_phys(domain, sg_page_iter_dma_address(&dma));
		if (PHYS_PFN(phys) != page_to_pfn(sg_page_iter_page(&page)))
			return false;
	}
	return true;
}

/**
 * rchar_dma_table_is_direct() - check whether the device accesses the pages themselves
 * @dev: the device
 * @sgt: whole pages, mapped
 *
 * Peers and programs may access registered memory at any time. No point in time is therefore
 * suitable to synchronize a bounce buffer (swiotlb) or a cache that the device does not snoop.
 *
 * Behind an IOMMU that translates, dma_need_sync() is true for every device before Linux 6.10, as
 * iommu_dma_ops can synchronize (kernel/dma/mapping.c). So look what it would synchronize:
 * caches, or the bounce buffers that untrusted devices get (drivers/iommu/dma-iommu.c).
 *
 * Return: false when the pages would need synchronization.
 */
bool rchar_dma_table_is_direct(struct ib_device *dev, const struct sg_table *sgt)
{
	struct iommu_domain *domain;
	struct scatterlist *sg;
	int i;

	if (ib_uses_virt_dma(dev))
		return !rchar_bounces(dev);
	domain = iommu_get_domain_for_dev(dev->dma_device);
	if (domain && domain->type & __IOMMU_DOMAIN_PAGING)
		return dev_is_dma_coherent(dev->dma_device) && leads_to_pages(domain, sgt);
	for_each_sg(sgt->sgl, sg, sgt->nents, i)
		if (dma_need_sync(dev->dma_device, sg_dma_address(sg)))
			return false;
	return true;
}

/**
 * rchar_dma_probe() - find out whether a device accesses memory itself, by a page as an example
 * @dev: the device
 * @direct: set; false when the page would need synchronization
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int rchar_dma_probe(struct ib_device *dev, bool *direct)
{
	struct page *page = alloc_page(GFP_KERNEL);
	struct sg_table sgt;
	int ret;

	if (!page)
		return -ENOMEM;
	ret = rchar_dma_map_table(dev, &sgt, &page, 1, 0, PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (!ret) {
		*direct = rchar_dma_table_is_direct(dev, &sgt);
		rchar_dma_unmap_table(dev, &sgt, DMA_BIDIRECTIONAL);
	}
	__free_page(page);
	return ret;
}
