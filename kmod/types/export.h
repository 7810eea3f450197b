/* SPDX-License-Identifier: GPL-2.0 */
/* An export: the keys with which one session of a peer accesses a region on one connection. */
#ifndef RCHAR_EXPORT_H
#define RCHAR_EXPORT_H

#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include "link/mr.h"
#include "link/txbuf.h"

/* MAP frames that a session may queue in addition to the MAP frames of two connections. */
#define RCHAR_EXPORT_STALE_MAX 8

/*
 * Reads by calls: memory of the large answers that a session may have unacknowledged. The peer's
 * account holds it from the beginning. One more than the peer can have under way, because
 * the next READ may leave the peer just before the ack of an answer.
 */
#define RCHAR_EXPORT_REPLIES_MAX ((RCHAR_WIRE_PIECES_MAX + 1) * (SZ_64K + RCHAR_TXBUF_COST))

struct rchar_hdr;
struct rchar_lane;
struct rchar_region;
struct rchar_rxbuf;
struct rchar_session;

/**
 * struct rchar_export - keys of one session: the private data of the type
 * @session: the session; a queued @work holds a reference
 * @region: the region, with a reference until the session is dead and its keys are invalid;
 *	    session lock
 * @work: registers the region on a new connection, or revokes the keys of a dead session
 * @waits_since: jiffies: when @work first found that another device executes atomic operations; 0:
 *		 it did not
 * @by_call: RCHAR_BY_CALL_*: what this kernel executes
 * @claims: counted in &rchar_region.claims, from accept until the session is dead and its keys are
 *	    invalid. Only one thread uses the export at a time: that which accepts, or @work.
 * @spare: reads by calls: an answer for which there would be no memory, or NULL; session lock
 * @lock: protects the pointer @lane
 * @lane: the lane on which @blocks are registered, with a reference, or NULL. While it is set, the
 *	  export counts in &rchar_region.executing, if a device executes atomic operations.
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
	struct delayed_work work;
	unsigned long waits_since;
	u8 by_call;
	bool claims;
	struct rchar_txbuf *spare;
	spinlock_t lock;
	struct rchar_lane *lane;
	struct rchar_mr_owner owner;
	u32 nr;
	u8 shift;
	struct rchar_mr *blocks;
};

void rchar_export_update(struct rchar_session *s);
struct rchar_txbuf *rchar_export_answer_alloc(u32 len, gfp_t gfp);
int rchar_export_call(struct rchar_session *s, const struct rchar_hdr *hdr, struct rchar_rxbuf *rxb,
		      enum rchar_frame_error *err);

int rchar_export_init(void);
void rchar_export_exit(void);

#endif /* RCHAR_EXPORT_H */
