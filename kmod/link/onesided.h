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
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include "proto/wire.h"

struct rchar_account;
struct rchar_flow;
struct rchar_lane;

/**
 * struct rchar_io_queue - operations that have something to post, of one kind and session
 * @entry: of rchar_flow.ready, while @ios can be posted; of .parked, when they could be on an
 *	    earlier connection
 * @attempt: of the connection for which it was put there
 * @ios: the operations
 */
struct rchar_io_queue {
	struct list_head entry;
	u32 attempt;
	struct list_head ios;
};

/**
 * struct rchar_keys - the peer's keys of a region; flow->lock
 * @size: bytes of the region
 * @blocks: by index / RCHAR_WIRE_MAP_KEYS: arrays of that many keys
 * @held: bytes of them that count against the account of the peer
 * @attempt: of the connection on which they are valid
 * @shift: a chunk has 1 << @shift bytes
 * @have: keys received for @attempt; all there are when the region is covered
 * @queues: what waits to use them: [0] READs and atomic operations, [1] WRITEs. A queue is
 *	    only looked at when it can be posted, so that nobody's requests make others slow.
 * @error: they are used no more: negative errno for operations
 * @write_attempt: iWARP: connection on which writes completed since the last fence, or 0
 * @write_lost: iWARP: there was another one before: they may not have arrived
 */
struct rchar_keys {
	u64 size;
	struct xarray blocks;
	u64 held;
	u32 attempt;
	u8 shift;
	u64 have;
	struct rchar_io_queue queues[2];
	int error;
	u32 write_attempt;
	bool write_lost;
};

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

void rchar_keys_init(struct rchar_keys *keys, u64 size);
void rchar_keys_destroy(struct rchar_keys *keys, struct rchar_account *account);
int rchar_keys_add(struct rchar_keys *keys, struct rchar_flow *flow,
		   const struct rchar_wire_map *map, const __le32 *values);
int rchar_keys_one(struct rchar_keys *keys, u64 size, u32 attempt, u32 key);
void rchar_onesided_submit(struct rchar_flow *flow, struct rchar_io *io);
void rchar_onesided_stop(struct rchar_flow *flow, struct rchar_keys *keys, int error);
void rchar_onesided_cancel(struct rchar_flow *flow, struct rchar_keys *keys, int error);
u32 rchar_onesided_fence_begin(struct rchar_flow *flow, struct rchar_keys *keys);
int rchar_onesided_fence_end(struct rchar_flow *flow, struct rchar_keys *keys, u32 begun);
void rchar_onesided_pump(struct rchar_flow *flow);
void rchar_onesided_reap(struct rchar_lane *lane);

#endif /* RCHAR_ONESIDED_H */
