/* SPDX-License-Identifier: GPL-2.0 */
/* The keys of a peer's region, one for each of its blocks, as MAP frames bring them. */
#ifndef RCHAR_KEYS_H
#define RCHAR_KEYS_H

#include <linux/list.h>
#include <linux/xarray.h>
#include "proto/wire.h"

struct rchar_account;

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
 * @arrays: by index / RCHAR_WIRE_MAP_KEYS: arrays of that many keys
 * @held: bytes of them that count against the account of the peer
 * @attempt: of the connection on which they are valid
 * @shift: a block has 1 << @shift bytes
 * @have: keys received for @attempt; all there are when the region is covered
 * @queues: what waits to use them: [0] READs and atomic operations, [1] WRITEs. A queue is
 *	    only looked at when it can be posted, so that nobody's requests make others slow.
 * @error: they are used no more: negative errno for operations
 * @write_attempt: iWARP: connection on which writes completed since the last fence, or 0
 * @write_lost: iWARP: there was another one before: they may not have arrived
 */
struct rchar_keys {
	u64 size;
	struct xarray arrays;
	u64 held;
	u32 attempt;
	u8 shift;
	u64 have;
	struct rchar_io_queue queues[2];
	int error;
	u32 write_attempt;
	bool write_lost;
};

void rchar_keys_init(struct rchar_keys *keys, u64 size);
void rchar_keys_destroy(struct rchar_keys *keys, struct rchar_account *account);
int rchar_keys_add(struct rchar_keys *keys, const struct rchar_wire_map *map,
		   const __le32 *values, struct rchar_account *account);
int rchar_keys_one(struct rchar_keys *keys, u64 size, u32 attempt, u32 key);
bool rchar_keys_complete(const struct rchar_keys *keys, u32 attempt);
u32 rchar_keys_at(struct rchar_keys *keys, u64 offset);

#endif /* RCHAR_KEYS_H */
