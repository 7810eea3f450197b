/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sinks: local memory that a READ writes to, registered for this READ. A device of InfiniBand or
 * RoCE writes to any memory that is mapped for it. On iWARP the key of the sink is on the wire, and
 * the peer addresses the data with it (RFC 5040, 5.2): its memory must be registered, with remote
 * write access. The model is rdma_rw_init_mr_wrs() in drivers/infiniband/core/rw.c.
 *
 * A READ and the registration of its sink are one chain of work requests.
 */
#ifndef RCHAR_SINK_H
#define RCHAR_SINK_H

#include <linux/bvec.h>
#include <linux/list.h>
#include <linux/scatterlist.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include "limits.h"
#include "sq.h"

/**
 * struct rchar_sink - the memory region of one READ
 * @entry: entry of &rchar_sinks.idle while no READ uses the sink
 * @sq: the send queue of the lane
 * @mr: the memory region
 * @registered: the key of the last READ is still valid: the next chain invalidates it first
 * @cqe: completion, only on errors, of @inv and @reg
 * @inv: invalidates the last key
 * @reg: registers the memory
 * @nr: mapped entries of @sg
 * @sg: the memory; the device's addresses
 */
struct rchar_sink {
	struct list_head entry;
	struct rchar_sq *sq;
	struct ib_mr *mr;
	bool registered;
	struct ib_cqe cqe;
	struct ib_send_wr inv;
	struct ib_reg_wr reg;
	unsigned int nr;
	struct scatterlist sg[];
};

/**
 * struct rchar_sinks - the sinks of a lane; &rchar_sq.lock protects what is below @limits
 * @sq: the send queue of the lane
 * @wq: for @work
 * @ready: there is one more sink, or none could be allocated: see what waits. Process context.
 * @pd: protection domain of the lane
 * @limits: limits of the lane
 * @idle: sinks that no READ uses
 * @nr: sinks, with those in use
 * @wanted: a READ waits for one more
 * @failed: no memory region could be allocated when one was wanted last
 * @failed_since: jiffies when that began
 * @used_at: jiffies when a READ last wanted a sink
 * @work: allocates a sink if one is @wanted; otherwise frees those that have long been idle
 */
struct rchar_sinks {
	struct rchar_sq *sq;
	struct workqueue_struct *wq;
	void (*ready)(struct rchar_sinks *sinks);
	struct ib_pd *pd;
	const struct rchar_limits *limits;
	struct list_head idle;
	unsigned int nr;
	bool wanted;
	bool failed;
	unsigned long failed_since;
	unsigned long used_at;
	struct delayed_work work;
};

void rchar_sinks_init(struct rchar_sinks *sinks, struct rchar_sq *sq, struct workqueue_struct *wq,
		      void (*ready)(struct rchar_sinks *sinks));
void rchar_sinks_setup(struct rchar_sinks *sinks, struct ib_pd *pd,
		       const struct rchar_limits *limits);
void rchar_sinks_trim(struct rchar_sinks *sinks);
void rchar_sinks_stop(struct rchar_sinks *sinks);
void rchar_sinks_gone(struct rchar_sinks *sinks);

struct rchar_sink *rchar_sink_get(struct rchar_sinks *sinks);
bool rchar_sinks_hopeless(const struct rchar_sinks *sinks);
void rchar_sink_put(struct rchar_sinks *sinks, struct rchar_sink *sink);
u32 rchar_sink_map(struct rchar_sinks *sinks, struct rchar_sink *sink, const struct bio_vec *vecs,
		   struct bvec_iter iter, u32 len);
void rchar_sink_unmap(struct rchar_sinks *sinks, struct rchar_sink *sink);
struct ib_send_wr *rchar_sink_chain(struct rchar_sinks *sinks, struct rchar_sink *sink,
				    struct ib_rdma_wr *read);

#endif /* RCHAR_SINK_H */
