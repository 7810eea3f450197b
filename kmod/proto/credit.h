/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Credits: how many frames each side of a lane may send. Pure.
 *
 * One credit is one receive buffer posted at the peer. The rule that makes
 * receiver-not-ready impossible (iWARP has no RNR: a SEND without a buffer breaks
 * the connection; InfiniBand's default wait is 655 ms): never send without a credit,
 * and let the last one only carry a frame that itself grants credits, so that two
 * sides that both spent all but one can always tell each other. It is the rule of
 * net/rds/ib_send.c.
 */
#ifndef RCHAR_CREDIT_H
#define RCHAR_CREDIT_H

#include <linux/types.h>

/**
 * struct rchar_credit - both directions of one lane
 * @tx: frames that may be sent now
 * @tx_max: receive buffers of the peer; @tx never exceeds it
 * @grant: buffers posted here that the peer has not been told of
 * @rx_max: receive buffers here
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
