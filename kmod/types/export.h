/* SPDX-License-Identifier: GPL-2.0 */
/* An export: the keys with which one session of a peer accesses a region on one connection. */
#ifndef RCHAR_EXPORT_H
#define RCHAR_EXPORT_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include "link/mr.h"

/* MAP frames that a session may queue in addition to the MAP frames of two connections. */
#define RCHAR_EXPORT_STALE_MAX 8

struct rchar_lane;
struct rchar_region;
struct rchar_session;

/**
 * struct rchar_export - keys of one session: the private data of the type
 * @session: the session; a queued @work holds a reference
 * @region: the region, with a reference until the session is dead and its keys are invalid;
 *	    session lock
 * @work: registers the region on a new connection, or revokes the keys of a dead session
 * @lock: protects the pointer @lane
 * @lane: the lane on which @blocks are registered, with a reference, or NULL
 * @owner: entry in the lane's list of owners
 * @nr: length of @blocks
 * @shift: a block has 1 << @shift bytes
 * @blocks: one memory region for each block, in the order of the region
 *
 * The lock of the lane's registrations of kind RCHAR_MRS_MANY protects @lane and all fields
 * below. A write to @lane takes @lock as well.
 */
struct rchar_export {
	struct rchar_session *session;
	struct rchar_region *region;
	struct work_struct work;
	spinlock_t lock;
	struct rchar_lane *lane;
	struct rchar_mr_owner owner;
	u32 nr;
	u8 shift;
	struct rchar_mr *blocks;
};

int rchar_export_init(void);
void rchar_export_exit(void);

#endif /* RCHAR_EXPORT_H */
