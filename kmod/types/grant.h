/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A grant: the keys of a region on one connection. All sessions of a flow that import the region
 * have the same keys, so the device registers the region once, however many programs of the peer
 * have it open. The peer is one host to the device anyway: its sessions share a protection domain.
 */
#ifndef RCHAR_GRANT_H
#define RCHAR_GRANT_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include "link/mr.h"
#include "session/session.h"

struct rchar_flow;
struct rchar_lane;
struct rchar_region;

/**
 * struct rchar_grant - the keys of a region for the sessions of one flow
 * @ref: one reference for each session that has joined, until the session is freed, and one for
 *	 @lane
 * @flow: the flow, which carries all these sessions. Its link outlives them.
 * @entry: entry of &rchar_region.grants while @users is not 0; lock of the region's channel
 * @users: sessions that may use the keys; lock of the region's channel
 * @hold: what the sessions hold together; set when the first one joins, released when the last one
 *	  has left
 * @leaving: held while a session leaves. Who finds that another thread has let the session leave
 *	     thus also finds that the keys, if nobody uses them any more, are void.
 * @lock: protects the pointer @lane
 * @lane: the lane on which @blocks are registered, with a reference, or NULL
 * @region: the region, with a reference, or NULL. While it is set, the grant counts in
 *	    &rchar_region.executing, if a device executes atomic operations.
 * @owner: entry in the lane's list of owners
 * @generation: how many times the grant got a lane. Sessions tell the peer its keys once for each.
 * @nr: length of @blocks
 * @ready: how many of @blocks are registered, from the first on
 * @shift: a block has 1 << @shift bytes
 * @blocks: one memory region for each block, in the order of the region
 *
 * The lock of the lane's registrations of kind RCHAR_MRS_MANY protects @lane and all fields below.
 * A write to @lane takes @lock as well.
 */
struct rchar_grant {
	struct kref ref;
	const struct rchar_flow *flow;
	struct hlist_node entry;
	unsigned int users;
	struct rchar_common_held hold;
	struct mutex leaving;
	spinlock_t lock;
	struct rchar_lane *lane;
	struct rchar_region *region;
	struct rchar_mr_owner owner;
	u32 generation;
	u32 nr;
	u32 ready;
	u8 shift;
	struct rchar_mr *blocks;
};

struct rchar_grant *rchar_grant_join(struct rchar_region *region, const struct rchar_flow *flow);
bool rchar_grant_leave(struct rchar_grant *grant);
void rchar_grant_put(struct rchar_grant *grant);
int rchar_grant_register(struct rchar_grant *grant, struct rchar_region *region,
			 struct rchar_lane *lane, const struct rchar_session *s);
void rchar_grant_unregister(struct rchar_grant *grant);
void rchar_grant_revoke(struct rchar_grant *grant);

u8 rchar_grant_shift(const struct rchar_lane *lane);
u64 rchar_grant_blocks(const struct rchar_region *region, u8 shift);

#endif /* RCHAR_GRANT_H */
