/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Credits: how many frames each side of a lane may send, and how large. Pure functions.
 *
 * One credit stands for one receive buffer posted at the peer. Two rules make receiver-not-ready
 * impossible. A side never sends without a credit. A side spends its last credit only on a frame
 * that itself grants credits. Two sides with one credit each can thus always grant each other
 * more. net/rds/ib_send.c has the same rules.
 *
 * Receiver-not-ready must not happen: iWARP has no RNR, and a SEND without a buffer breaks the
 * connection. InfiniBand's default wait is 655 ms.
 *
 * A device fills the buffers of a receive queue in the order in which they were posted. So the
 * order of the credits tells how large the next buffer is.
 */
#ifndef RCHAR_CREDIT_H
#define RCHAR_CREDIT_H

#include <linux/types.h>

/**
 * struct rchar_credits - credits in the order of their buffers
 * @front: the first credits, all for buffers of one size
 * @back: the credits after them, for buffers of the other size
 * @large: the buffers of @front are large, those of @back small; or the other way round
 *
 * A side changes the size of its buffers only when all that are posted have the same size. So the
 * size changes at most once among the credits.
 */
struct rchar_credits {
	u16 front;
	u16 back;
	bool large;
};

/**
 * struct rchar_credit - credits of one lane, in both directions
 * @tx: credits left: frames that this side may send
 * @tx_max: upper limit of @tx
 * @grant: buffers posted on this side that no frame has granted to the peer yet
 * @rx_now: receive buffers of this side that are posted at present
 * @rx_max: the most that this side posts
 */
struct rchar_credit {
	struct rchar_credits tx;
	u16 tx_max;
	struct rchar_credits grant;
	u16 rx_now;
	u16 rx_max;
};

static inline u16 rchar_credits_total(const struct rchar_credits *c)
{
	return c->front + c->back;
}

/* How many of them are for large buffers. */
static inline u16 rchar_credits_large(const struct rchar_credits *c)
{
	return c->large ? c->front : c->back;
}

bool rchar_credits_add(struct rchar_credits *c, u16 n, bool large);
u16 rchar_credits_take(struct rchar_credits *c, u16 most, bool *large);
void rchar_credit_init(struct rchar_credit *c, u16 tx, bool tx_large, u16 tx_max, u16 rx_now,
		       u16 rx_max);
bool rchar_credit_may_send(const struct rchar_credit *c);
bool rchar_credit_large(const struct rchar_credit *c);
u16 rchar_credit_send(struct rchar_credit *c, bool *large);
bool rchar_credit_receive(struct rchar_credit *c, u16 credits, bool large);
void rchar_credit_posted(struct rchar_credit *c, u16 n, bool large);
bool rchar_credit_due(const struct rchar_credit *c);

#endif /* RCHAR_CREDIT_H */
