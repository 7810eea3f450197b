/* SPDX-License-Identifier: GPL-2.0 */
/* A region as one peer sees it: the keys of one session on one connection. */
#ifndef RCHAR_EXPORT_H
#define RCHAR_EXPORT_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

/* MAP frames of earlier connections that may wait beside those of two. */
#define RCHAR_EXPORT_STALE_MAX	8

struct rchar_lane;
struct rchar_region;
struct rchar_session;
struct rchar_export_chunk;

/**
 * struct rchar_export - keys of a session: the private data of the type
 * @session: the session; @work holds a reference
 * @region: holds a reference, until the session is dead and the keys are void; session lock
 * @work: makes keys for a connection that came up, or takes them back
 * @lock: protects the pointer @lane
 * @lane: where @chunks are registered; holds a reference. All below is protected by
 *	  exports_reg.lock of that lane.
 * @entry: of rchar_lane.exports
 * @nr: length of @chunks
 * @shift: a chunk has 1 << @shift bytes
 * @chunks: memory regions, one after the other
 */
struct rchar_export {
	struct rchar_session *session;
	struct rchar_region *region;
	struct work_struct work;
	spinlock_t lock;
	struct rchar_lane *lane;
	struct list_head entry;
	u32 nr;
	u8 shift;
	struct rchar_export_chunk *chunks;
};

void rchar_export_lane_gone(struct rchar_lane *lane);

int rchar_export_init(void);
void rchar_export_exit(void);

#endif /* RCHAR_EXPORT_H */
