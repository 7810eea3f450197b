// SPDX-License-Identifier: GPL-2.0
#include "credit.h"

/**
 * rchar_credit_init() - set the credits at the start of a connection
 * @c: the credits
 * @tx_max: receive buffers that the peer has posted, from its private data
 * @rx_max: receive buffers posted on this side; private data has told the peer of all
 */
void rchar_credit_init(struct rchar_credit *c, u16 tx_max, u16 rx_max)
{
	c->tx = tx_max;
	c->tx_max = tx_max;
	c->grant = 0;
	c->rx_max = rx_max;
}

/**
 * rchar_credit_may_send() - do the credits allow a frame now?
 * @c: the credits
 */
bool rchar_credit_may_send(const struct rchar_credit *c)
{
	return c->tx > 1 || (c->tx == 1 && c->grant);
}

/**
 * rchar_credit_send() - spend one credit on a frame that is about to be sent
 * @c: the credits; rchar_credit_may_send() returned true
 *
 * Return: the credits to grant in the header of the frame.
 */
u16 rchar_credit_send(struct rchar_credit *c)
{
	u16 grant = c->grant;

	c->tx--;
	c->grant = 0;
	return grant;
}

/**
 * rchar_credit_receive() - take the credits that a frame of the peer grants
 * @c: the credits
 * @credits: credits in the header of the frame
 *
 * Return: true; or false when the peer cannot have posted so many buffers. Nothing changes then.
 */
bool rchar_credit_receive(struct rchar_credit *c, u16 credits)
{
	if (credits > c->tx_max - c->tx)
		return false;
	c->tx += credits;
	return true;
}

/**
 * rchar_credit_posted() - count a receive buffer posted on this side
 * @c: the credits
 */
void rchar_credit_posted(struct rchar_credit *c)
{
	if (c->grant < c->rx_max)
		c->grant++;
}

/**
 * rchar_credit_due() - must a frame be sent only to grant credits?
 * @c: the credits
 *
 * Such a frame is due once a quarter of the receive buffers can be granted. That is rare enough to
 * cost little, and early enough that the peer does not run out of credits.
 *
 * Such a frame never grants a single credit. Its receiver could grant one credit in return, for the
 * buffer that the frame used, and two idle sides would answer each other forever.
 */
bool rchar_credit_due(const struct rchar_credit *c)
{
	return c->grant > 1 && c->grant >= c->rx_max / 4;
}
