/* SPDX-License-Identifier: GPL-2.0 */
/* An export: one session through which a peer accesses a region. */
#ifndef RCHAR_EXPORT_H
#define RCHAR_EXPORT_H

#include <linux/list.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include "base/gate.h"
#include "link/txbuf.h"

/* MAP frames that a session may have queued beside those of two connections when it queues more. */
#define RCHAR_EXPORT_STALE_MAX 8

/*
 * Reads by calls: memory of the large answers that a session may have unacknowledged. The peer's
 * account holds it from the beginning. One more than the peer can have under way, because
 * the next READ may leave the peer just before the ack of an answer.
 */
#define RCHAR_EXPORT_REPLIES_MAX ((RCHAR_WIRE_PIECES_MAX + 1) * (SZ_64K + RCHAR_TXBUF_COST))

struct rchar_grant;
struct rchar_hdr;
struct rchar_region;
struct rchar_rxbuf;
struct rchar_session;

/**
 * struct rchar_export - a session of a peer: the private data of the type
 * @session: the session; a queued @work holds a reference
 * @region: the region, with a reference until the session is dead and has left @grant; session
 *	    lock
 * @work: gives the peer the keys of a new connection, or takes them back when the session is dead
 * @turn: waits for other sessions of the peer for which this host registers memory
 * @waits_since: jiffies: when @work first found that another device executes atomic operations; 0:
 *		 it did not
 * @by_call: RCHAR_BY_CALL_*: what this kernel executes
 * @claims: counted in &rchar_region.claims, from accept until the session is dead and has left
 *	    @grant. Only the thread that accepts, and then @work, use it.
 * @spare: reads by calls: an answer for which there would be no memory, or NULL; session lock
 * @grant: the keys, with a reference; NULL when this kernel executes reads and writes
 * @with_keys: entry of &rchar_region.with_keys while the session uses @grant: from when it has
 *	       joined until it has left and the keys, if it was the last one, are invalid; lock
 *	       of the channel. Only the thread that accepts and, with &rchar_grant.leaving held,
 *	       whoever makes it leave change that.
 * @told: the &rchar_grant.generation that the peer was last told; only @work
 */
struct rchar_export {
	struct rchar_session *session;
	struct rchar_region *region;
	struct delayed_work work;
	struct rchar_gate_user turn;
	unsigned long waits_since;
	u8 by_call;
	bool claims;
	struct rchar_txbuf *spare;
	struct rchar_grant *grant;
	struct list_head with_keys;
	u32 told;
};

void rchar_export_update(struct rchar_session *s);
struct rchar_txbuf *rchar_export_answer_alloc(u32 len, gfp_t gfp);
int rchar_export_call(struct rchar_session *s, const struct rchar_hdr *hdr, struct rchar_rxbuf *rxb,
		      enum rchar_frame_error *err);

int rchar_export_init(void);
void rchar_export_exit(void);

#endif /* RCHAR_EXPORT_H */
