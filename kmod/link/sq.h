/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The send queue of a lane, as all see it that post to it: frames, registrations, and one-sided
 * operations. It knows whether work requests may be posted, and since when none completed.
 */
#ifndef RCHAR_SQ_H
#define RCHAR_SQ_H

#include <linux/jiffies.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include "uapi/linux/rdma_char.h"

/**
 * struct rchar_sq - the send queue of a queue pair
 * @lock: protects all below: of the flow that the lane carries
 * @qp: the queue pair, once there is one
 * @open: work requests may be posted
 * @ready: UP: more than the handshake may be posted
 * @used: work requests, or chains of them, that have not completed
 * @moved_at: jiffies when one last completed, or the first was posted
 * @fail: the queue pair is of no use any more; idempotent, any context but hard interrupt
 */
struct rchar_sq {
	spinlock_t *lock;
	struct ib_qp *qp;
	bool open;
	bool ready;
	unsigned int used;
	unsigned long moved_at;
	void (*fail)(struct rchar_sq *sq, enum rchar_reason reason);
};

/* Something is about to be posted. */
static inline void rchar_sq_begin(struct rchar_sq *sq)
{
	lockdep_assert_held(sq->lock);
	if (!sq->used++)
		sq->moved_at = jiffies;
}

/* It came back, or could not be posted. */
static inline void rchar_sq_end(struct rchar_sq *sq)
{
	lockdep_assert_held(sq->lock);
	sq->used--;
	sq->moved_at = jiffies;
}

#endif /* RCHAR_SQ_H */
