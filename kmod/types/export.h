/* SPDX-License-Identifier: GPL-2.0 */
/* A region as one peer sees it: the keys of one session on one connection. */
#ifndef RCHAR_EXPORT_H
#define RCHAR_EXPORT_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include "link/mr.h"

/* MAP frames of earlier connections that may wait beside those of two. */
#define RCHAR_EXPORT_STALE_MAX	8

struct rchar_lane;
struct rchar_region;
struct rchar_session;

/**
 * struct rchar_export - keys of a session: the private data of the type
 * @session: the session; @work holds a reference
 * @region: holds a reference, until the session is dead and the keys are void; session lock
 * @work: makes keys for a connection that came up, or takes them back
 * @lock: protects the pointer @lane
 * @lane: where @blocks are registered; holds a reference. All below is protected by the lock
 *	  of its registrations, of kind RCHAR_MRS_MANY.
 * @owner: of those
 * @nr: length of @blocks
 * @shift: a block has 1 << @shift bytes
 * @blocks: memory regions, one after the other
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
