/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Credits: how many frames each side of a lane may send. Pure functions.
 *
 * One credit stands for one receive buffer posted at the peer. Two rules make receiver-not-ready
 * impossible. A side never sends without a credit. A side spends its last credit only on a frame
 * that itself grants credits. Two sides with one credit each can thus always grant each other
 * more. net/rds/ib_send.c has the same rules.
 *
 * Receiver-not-ready must not happen: iWARP has no RNR, and a SEND without a buffer breaks the
 * connection. InfiniBand's default wait is 655 ms.
 */
#ifndef RCHAR_CREDIT_H
#define RCHAR_CREDIT_H

#include <linux/types.h>

/**
 * struct rchar_credit - credits of one lane, in both directions
 * @tx: credits left: frames that this side may send
 * @tx_max: receive buffers of the peer; the upper limit of @tx
 * @grant: buffers posted on this side that no frame has granted to the peer yet
 * @rx_max: receive buffers of this side
 */
struct rchar_credit {
	u16 tx;
	u16 tx_max;
	u16 grant;
	u16 rx_max;
};

void rchar_credit_init(struct rchar_credit *c, u16 tx_max, u16 rx_max);
bool rchar_credit_may_send(const struct rchar_credit *c);
u16 rchar_credit_send(struct rchar_credit *c);
bool rchar_credit_receive(struct rchar_credit *c, u16 credits);
void rchar_credit_posted(struct rchar_credit *c);
bool rchar_credit_due(const struct rchar_credit *c);

#endif /* RCHAR_CREDIT_H */
