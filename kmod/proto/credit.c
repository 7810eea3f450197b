// SPDX-License-Identifier: GPL-2.0
#include "credit.h"

/**
 * rchar_credit_init() - at the start of a connection
 * @c: the credits
 * @tx_max: receive buffers the peer has posted, from its private data
 * @rx_max: receive buffers posted here, all known to the peer
 */
void rchar_credit_init(struct rchar_credit *c, u16 tx_max, u16 rx_max)
{
	c->tx = tx_max;
	c->tx_max = tx_max;
	c->grant = 0;
	c->rx_max = rx_max;
}

/**
 * rchar_credit_may_send() - may a frame be sent now?
 * @c: the credits
 */
bool rchar_credit_may_send(const struct rchar_credit *c)
{
	return c->tx > 1 || (c->tx == 1 && c->grant);
}

/**
 * rchar_credit_send() - account for one frame about to be sent
 * @c: the credits; rchar_credit_may_send() said yes
 *
 * Return: the credits to grant in its header.
 */
u16 rchar_credit_send(struct rchar_credit *c)
{
	u16 grant = c->grant;

	c->tx--;
	c->grant = 0;
	return grant;
}

/**
 * rchar_credit_receive() - take what a frame of the peer grants
 * @c: the credits
 * @credits: from its header
 *
 * Return: false when that is more than the peer can have posted.
 */
bool rchar_credit_receive(struct rchar_credit *c, u16 credits)
{
	if (credits > c->tx_max - c->tx)
		return false;
	c->tx += credits;
	return true;
}

/**
 * rchar_credit_posted() - one more receive buffer is posted here
 * @c: the credits
 */
void rchar_credit_posted(struct rchar_credit *c)
{
	if (c->grant < c->rx_max)
		c->grant++;
}

/**
 * rchar_credit_due() - is it time to grant even without another frame to send?
 * @c: the credits
 *
 * A quarter of the buffers: rare enough to cost little, early enough that the
 * sender does not run dry. Never a single one: a frame that only grants earns the
 * other side one credit, and two idle sides would answer each other for ever.
 */
bool rchar_credit_due(const struct rchar_credit *c)
{
	return c->grant > 1 && c->grant >= c->rx_max / 4;
}
