/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory regions: memory of this host that the peer of one connection may read or write. The
 * access ends when the registration is invalidated or the connection is torn down. The model is
 * frwr_ops.c in net/sunrpc.
 */
#ifndef RCHAR_MR_H
#define RCHAR_MR_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/dma-direction.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <rdma/ib_verbs.h>
#include "sq.h"

/* Registrations that may be posted in one chain. */
#define RCHAR_MR_BATCH 8
/* Maximum number of pages of a memory region: 1 MiB at any alignment. Devices may allow fewer. */
#define RCHAR_MR_PAGES (SZ_1M / PAGE_SIZE + 1)

/* A lane has two kinds of registrations: one kind does not wait for all batches of the other. */
enum rchar_mrs_kind {
	RCHAR_MRS_MANY, /* whole regions in batches, kept as long as the connection */
	RCHAR_MRS_ONE,	/* one region at a time, for a short time; reused from a pool */
	RCHAR_MRS_KINDS,
};

/**
 * struct rchar_mrs - the registrations of one kind on one lane
 * @waiting: threads that wait for @lock in rchar_mrs_lock()
 * @lock: held while mapping, registering and invalidating; protects the fields below
 * @sq: the send queue to post registrations to
 * @pd: protection domain of the lane
 * @owners: owners of registrations: &rchar_mr_owner.entry
 * @pool: unused memory regions of @pool_pages pages each, for the next registrations
 * @nr_pool: length of @pool
 * @pool_pages: pages that fit in a memory region of the pool; 0 without a pool
 * @announced_cqe: completion, only on errors, of the registrations that frames announce
 * @cqe: completion of the last work request of a chain
 * @done: that request has completed
 * @status: status of that completion
 * @late_ms: milliseconds by which batches of registrations were late in all
 * @torn: a chain of several requests failed, and so has the lane: which of them the device has
 *	  completed is not known before the lane is drained. Until then no region may be freed.
 */
struct rchar_mrs {
	atomic_t waiting;
	struct mutex lock;
	struct rchar_sq *sq;
	struct ib_pd *pd;
	struct list_head owners;
	struct list_head pool;
	unsigned int nr_pool;
	u32 pool_pages;
	struct ib_cqe announced_cqe;
	struct ib_cqe cqe;
	struct completion done;
	enum ib_wc_status status;
	u32 late_ms;
	bool torn;
};

/**
 * struct rchar_mr_owner - an owner of memory regions on a lane
 * @entry: entry of &rchar_mrs.owners; protected by &rchar_mrs.lock
 * @gone: the lane is drained and is being torn down. Free the regions with rchar_mr_free(), and
 *	  remove @entry from the list. Called in process context with &rchar_mrs.lock held.
 */
struct rchar_mr_owner {
	struct list_head entry;
	void (*gone)(struct rchar_mr_owner *owner);
};

/**
 * struct rchar_mr - one memory region
 * @mr: the verbs object; the peer receives its key
 * @key: what the peer is told; it stays when @mr is freed, and does not work then
 * @sgt: the pages, mapped for the device
 * @dir: DMA direction
 */
struct rchar_mr {
	struct ib_mr *mr;
	u32 key;
	struct sg_table sgt;
	enum dma_data_direction dir;
};

void rchar_mrs_init(struct rchar_mrs *mrs, struct rchar_sq *sq);
void rchar_mrs_setup(struct rchar_mrs *mrs, struct ib_pd *pd, u32 pool_pages);
void rchar_mrs_gone(struct rchar_mrs *mrs);
void rchar_mrs_lock(struct rchar_mrs *mrs);
u32 rchar_mrs_pages(const struct rchar_mrs *mrs);

struct ib_mr *rchar_mr_alloc(struct ib_pd *pd, u32 pages);
int rchar_mr_map(struct rchar_mrs *mrs, struct rchar_mr *m, struct page **pages, unsigned int n,
		 u32 offset, size_t len, enum dma_data_direction dir);
int rchar_mr_register(struct rchar_mrs *mrs, struct rchar_mr *m, unsigned int n, int access);
void rchar_mr_fill_reg(struct rchar_mrs *mrs, const struct rchar_mr *m, int access,
		       struct ib_reg_wr *wr);
int rchar_mr_invalidate(struct rchar_mrs *mrs, struct rchar_mr *m);
void rchar_mr_put(struct rchar_mrs *mrs, struct rchar_mr *m);
void rchar_mr_free(struct rchar_mrs *mrs, struct rchar_mr *m);

#endif /* RCHAR_MR_H */
