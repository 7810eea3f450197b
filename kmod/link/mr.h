/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory regions: memory of this host that the peer of one connection may read or write until
 * the registration is invalidated, or the connection is gone. See frwr_ops.c in net/sunrpc for
 * the model.
 */
#ifndef RCHAR_MR_H
#define RCHAR_MR_H

#include <linux/completion.h>
#include <linux/dma-direction.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>
#include "sq.h"

/* Registrations that may be posted at once. */
#define RCHAR_MR_BATCH		8
/* Pages of a memory region at most: 1 MiB at any alignment. Devices may allow fewer. */
#define RCHAR_MR_PAGES		257

/* A lane registers in two ways at once: one need not wait for all the batches of the other. */
enum rchar_mrs_kind {
	RCHAR_MRS_MANY,		/* a whole region in batches, kept as long as the connection */
	RCHAR_MRS_ONE,		/* one at a time, for a moment: memory regions are used again */
	RCHAR_MRS_KINDS,
};

/**
 * struct rchar_mrs - the registrations of one kind on one lane
 * @lock: held while registering and invalidating; protects all below
 * @sq: where registrations are posted
 * @pd: of the lane
 * @owners: those who have something registered: &rchar_mr_owner.entry
 * @pool: memory regions for the next ones, of @pool_pages each
 * @nr_pool: how many
 * @pool_pages: pages that a memory region of the pool has room for; 0: there is no pool
 * @cqe: completion of the last of a chain
 * @done: it came
 * @status: what it said
 */
struct rchar_mrs {
	struct mutex lock;
	struct rchar_sq *sq;
	struct ib_pd *pd;
	struct list_head owners;
	struct list_head pool;
	unsigned int nr_pool;
	u32 pool_pages;
	struct ib_cqe cqe;
	struct completion done;
	enum ib_wc_status status;
};

/**
 * struct rchar_mr_owner - who has memory regions registered on a lane
 * @entry: of &rchar_mrs.owners; its lock
 * @gone: the lane is drained and goes: free the regions with rchar_mr_free(), and take @entry
 *	off the list. Process context, with the lock of &struct rchar_mrs.
 */
struct rchar_mr_owner {
	struct list_head entry;
	void (*gone)(struct rchar_mr_owner *owner);
};

/**
 * struct rchar_mr - one memory region
 * @mr: its key is what the peer is told
 * @sgt: the pages, mapped for the device
 * @mapped: entries of @sgt that are
 * @dir: what the device does
 */
struct rchar_mr {
	struct ib_mr *mr;
	struct sg_table sgt;
	int mapped;
	enum dma_data_direction dir;
};

void rchar_mrs_init(struct rchar_mrs *mrs, struct rchar_sq *sq);
void rchar_mrs_setup(struct rchar_mrs *mrs, struct ib_pd *pd, u32 pool_pages);
void rchar_mrs_gone(struct rchar_mrs *mrs);
u32 rchar_mrs_pages(const struct rchar_mrs *mrs);

int rchar_mr_map(struct rchar_mrs *mrs, struct rchar_mr *m, struct page **pages, unsigned int n,
		 u32 offset, size_t len, enum dma_data_direction dir);
int rchar_mr_register(struct rchar_mrs *mrs, struct rchar_mr *m, unsigned int n, int access);
int rchar_mr_invalidate(struct rchar_mrs *mrs, struct rchar_mr *m);
void rchar_mr_put(struct rchar_mrs *mrs, struct rchar_mr *m);
void rchar_mr_free(struct rchar_mrs *mrs, struct rchar_mr *m);
bool rchar_mr_bounced(const struct rchar_mrs *mrs, const struct rchar_mr *m);

#endif /* RCHAR_MR_H */
