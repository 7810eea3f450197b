/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One-sided operations: RDMA READ, RDMA WRITE and atomic operations between memory of this host
 * and the region of a peer. An operation outlives connections. A READ or WRITE that a lost
 * connection interrupts restarts on the next connection, which is harmless: both are idempotent.
 * An interrupted atomic operation fails instead.
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
 * @entry: entry of rchar_io_queue.ios while the operation has something to post
 * @keys: keys of the peer's memory; the submitter keeps them valid until @end
 * @write: RDMA WRITE; otherwise READ or atomic operation
 * @atomic: RCHAR_ATOMIC_*: an atomic operation of the device on 8 bytes, executed at most once;
 *	    0: not atomic
 * @operand: operand of @atomic
 * @compare: comparand of @atomic
 * @offset: offset in the region
 * @len: bytes
 * @vecs: local memory of @len bytes; the pages of each vector are contiguous
 * @iter: what of @vecs is not posted yet; flow->lock, like the fields below
 * @outstanding: work requests in send queues
 * @queued: in the queue of its keys
 * @withdrawn: nobody waits for the operation any more: post no more of it
 * @failed: a work request failed: the whole operation restarts or ends
 * @tries: failures not caused by a lost connection: refused requests, and local memory that could
 *	   not be mapped
 * @error: result of the operation, valid when @end is called
 * @end: the operation has ended. Called in any context but hard interrupt, perhaps with the lock
 *	 of a session held.
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
	struct bvec_iter iter;
	u32 outstanding;
	bool queued;
	bool withdrawn;
	bool failed;
	u8 tries;
	int error;
	void (*end)(struct rchar_io *io);
};

/**
 * struct rchar_onesided_fence - the WRITEs that a fence covers
 * @attempt: attempt number of the connection that they completed on; 0: there are none
 * @writes: &rchar_keys.writes when the fence began
 */
struct rchar_onesided_fence {
	u32 attempt;
	u32 writes;
};

int rchar_onesided_add_keys(struct rchar_keys *keys, struct rchar_flow *flow,
			    const struct rchar_wire_map *map, const __le32 *values);
void rchar_onesided_submit(struct rchar_flow *flow, struct rchar_io *io);
void rchar_onesided_withdraw(struct rchar_flow *flow, struct rchar_io *io);
void rchar_onesided_stop(struct rchar_flow *flow, struct rchar_keys *keys, int error);
void rchar_onesided_cancel(struct rchar_flow *flow, struct rchar_keys *keys, int error);
struct rchar_onesided_fence rchar_onesided_fence_begin(struct rchar_flow *flow,
						       const struct rchar_keys *keys);
int rchar_onesided_fence_end(struct rchar_flow *flow, struct rchar_keys *keys,
			     struct rchar_onesided_fence begun);
void rchar_onesided_pump(struct rchar_flow *flow);
void rchar_onesided_reap(struct rchar_lane *lane);

#endif /* RCHAR_ONESIDED_H */
