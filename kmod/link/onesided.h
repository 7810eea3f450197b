/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One-sided operations: RDMA READ and WRITE between memory of this host and the region of
 * a peer. An operation outlives connections: what a lost one interrupts begins afresh on
 * the next, which is harmless as both are idempotent.
 */
#ifndef RCHAR_ONESIDED_H
#define RCHAR_ONESIDED_H

#include <linux/bvec.h>
#include <linux/list.h>
#include "keys.h"

struct rchar_flow;
struct rchar_lane;

/**
 * struct rchar_io - one operation
 * @entry: of rchar_keys.queues while it has something to post
 * @keys: of the peer's memory; who submits it keeps them
 * @write: RDMA WRITE, else READ
 * @atomic: RCHAR_ATOMIC_*: an operation of the device on 8 bytes, once at most; 0: none
 * @operand: of @atomic
 * @compare: of @atomic
 * @offset: in the region
 * @len: bytes
 * @vecs: local memory, @len bytes; contiguous pages in each
 * @pos: posted up to; flow->lock, like all below
 * @vec: where in @vecs that is
 * @vec_at: and where in that one
 * @outstanding: work requests in send queues
 * @failed: one of them did not complete: all begins afresh
 * @tries: connections on which one was refused, not merely lost
 * @error: what came of it, when @end is called
 * @end: it is over; called in any context but hard interrupt, perhaps with the lock of a
 *	 session
 */
struct rchar_io {
	struct list_head entry;
	struct rchar_keys *keys;
	bool write;
	u8 atomic;
	u64 operand;
	u64 compare;
	u64 offset;
	u32 len;
	const struct bio_vec *vecs;
	u32 pos;
	u32 vec;
	u32 vec_at;
	u32 outstanding;
	bool failed;
	u8 tries;
	int error;
	void (*end)(struct rchar_io *io);
};

int rchar_onesided_add_keys(struct rchar_keys *keys, struct rchar_flow *flow,
			    const struct rchar_wire_map *map, const __le32 *values);
void rchar_onesided_submit(struct rchar_flow *flow, struct rchar_io *io);
void rchar_onesided_stop(struct rchar_flow *flow, struct rchar_keys *keys, int error);
void rchar_onesided_cancel(struct rchar_flow *flow, struct rchar_keys *keys, int error);
u32 rchar_onesided_fence_begin(struct rchar_flow *flow, struct rchar_keys *keys);
int rchar_onesided_fence_end(struct rchar_flow *flow, struct rchar_keys *keys, u32 begun);
void rchar_onesided_pump(struct rchar_flow *flow);
void rchar_onesided_reap(struct rchar_lane *lane);

#endif /* RCHAR_ONESIDED_H */
