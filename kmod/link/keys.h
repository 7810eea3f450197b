/* SPDX-License-Identifier: GPL-2.0 */
/* The keys of a peer's region, one for each block. MAP frames carry the keys. */
#ifndef RCHAR_KEYS_H
#define RCHAR_KEYS_H

#include <linux/list.h>
#include <linux/xarray.h>
#include "proto/wire.h"

struct rchar_account;

/**
 * struct rchar_io_queue - operations that have something to post, of one kind and key set
 * @entry: entry of rchar_flow.ready while @ios can be posted. Entry of rchar_flow.parked when the
 *	   operations were ready on an earlier connection.
 * @left: bytes that the queue may still post before the next queue has its turn; not more than 0:
 *	  the turn is over, and the next one is shorter by so much
 * @attempt: attempt number of the connection for which @entry was queued
 * @ios: the operations
 */
struct rchar_io_queue {
	struct list_head entry;
	s32 left;
	u32 attempt;
	struct list_head ios;
};

/**
 * struct rchar_keys - the peer's keys of a region; flow->lock
 * @size: bytes of the region
 * @arrays: arrays of RCHAR_WIRE_MAP_KEYS keys, by block index / RCHAR_WIRE_MAP_KEYS
 * @held: bytes of @arrays that count against the account of the peer
 * @attempt: attempt number of the connection on which the keys are valid
 * @shift: a block has 1 << @shift bytes; 0: no keys yet
 * @have: keys received for @attempt; the set is complete when there is one for each block
 * @queues: operations that use the keys: [0] READs and atomic operations, [1] WRITEs. The flow
 *	    visits only queues that can be posted, so idle queues cost the other sessions no time.
 * @priority: share of the link, as in struct rchar_turn
 * @error: 0, or the negative errno for operations once the keys must not be used any more
 * @write_attempt: iWARP: attempt number of the connection on which WRITEs have completed since
 *		   the last fence, or 0
 * @writes: iWARP: how many WRITEs have completed, modulo 2^32
 * @write_lost: iWARP: WRITEs have completed on an earlier connection since the last fence. The
 *		data may not have arrived.
 */
struct rchar_keys {
	u64 size;
	struct xarray arrays;
	u64 held;
	u32 attempt;
	u8 shift;
	u64 have;
	struct rchar_io_queue queues[2];
	const u32 *priority;
	int error;
	u32 write_attempt;
	u32 writes;
	bool write_lost;
};

void rchar_keys_init(struct rchar_keys *keys, u64 size, const u32 *priority);
void rchar_keys_destroy(struct rchar_keys *keys, struct rchar_account *account);
int rchar_keys_add(struct rchar_keys *keys, const struct rchar_wire_map *map, const __le32 *values,
		   struct rchar_account *account);
int rchar_keys_one(struct rchar_keys *keys, u64 size, u32 attempt, u32 key);
bool rchar_keys_complete(const struct rchar_keys *keys, u32 attempt);
u32 rchar_keys_at(struct rchar_keys *keys, u64 offset);

#endif /* RCHAR_KEYS_H */
