/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The send queue of a lane, which frames, registrations and one-sided operations share. The
 * structure records whether work requests may be posted, and when a work request last completed.
 */
#ifndef RCHAR_SQ_H
#define RCHAR_SQ_H

#include <linux/jiffies.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include "uapi/linux/rdma_char.h"

/**
 * struct rchar_sq - the send queue of a queue pair
 * @lock: lock of the flow that the lane carries; protects the fields below
 * @qp: the queue pair, once created
 * @open: work requests may be posted
 * @ready: the lane is UP: not only handshake frames may be posted
 * @used: work requests that have not completed; a chain of registrations counts as one
 * @moved_at: jiffies when a work request last completed, or was posted to the empty queue
 * @fail: report that the queue pair is unusable. Idempotent, any context but hard interrupt.
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

/* Account for a work request, or a chain of registrations, before posting. */
static inline void rchar_sq_begin(struct rchar_sq *sq)
{
	lockdep_assert_held(sq->lock);
	if (!sq->used++)
		sq->moved_at = jiffies;
}

/* Account for a request that has completed or could not be posted. */
static inline void rchar_sq_end(struct rchar_sq *sq)
{
	lockdep_assert_held(sq->lock);
	sq->used--;
	sq->moved_at = jiffies;
}

#endif /* RCHAR_SQ_H */
