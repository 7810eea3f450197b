// SPDX-License-Identifier: GPL-2.0
#include "credit.h"
#include <linux/minmax.h>

/**
 * rchar_credits_add() - append credits
 * @c: the credits
 * @n: how many
 * @large: their buffers are large
 *
 * Return: true; or false if the size would change twice. Nothing changes then.
 */
bool rchar_credits_add(struct rchar_credits *c, u16 n, bool large)
{
	if (!n)
		return true;
	if (!rchar_credits_total(c))
		c->large = large;
	if (c->large != large)
		c->back += n;
	else if (!c->back)
		c->front += n;
	else
		return false;
	return true;
}

/**
 * rchar_credits_take() - take the first credits, of one size
 * @c: the credits
 * @most: how many at most
 * @large: set to their size
 *
 * Return: how many.
 */
u16 rchar_credits_take(struct rchar_credits *c, u16 most, bool *large)
{
	u16 n = min_t(u16, c->front, most);

	*large = c->large;
	c->front -= n;
	if (!c->front && c->back) {
		c->front = c->back;
		c->back = 0;
		c->large = !c->large;
	}
	return n;
}

/**
 * rchar_credit_init() - set the credits at the start of a connection
 * @c: the credits
 * @tx: receive buffers that the peer has posted, from its private data
 * @tx_large: these buffers are large
 * @tx_max: credits that this side ever has at once
 * @rx_now: receive buffers posted on this side; private data has told the peer of all
 * @rx_max: the most that this side will post
 */
void rchar_credit_init(struct rchar_credit *c, u16 tx, bool tx_large, u16 tx_max, u16 rx_now,
		       u16 rx_max)
{
	c->tx = (struct rchar_credits){ .front = tx, .large = tx_large };
	c->tx_max = tx_max;
	c->grant = (struct rchar_credits){};
	c->rx_now = rx_now;
	c->rx_max = rx_max;
}

/**
 * rchar_credit_may_send() - do the credits allow a frame now?
 * @c: the credits
 */
bool rchar_credit_may_send(const struct rchar_credit *c)
{
	u16 tx = rchar_credits_total(&c->tx);

	return tx > 1 || (tx == 1 && c->grant.front);
}

/**
 * rchar_credit_large() - is the buffer that the next frame will fill a large one?
 * @c: the credits
 */
bool rchar_credit_large(const struct rchar_credit *c)
{
	return c->tx.front && c->tx.large;
}

/**
 * rchar_credit_send() - spend one credit on a frame that is about to be sent
 * @c: the credits; rchar_credit_may_send() returned true
 * @large: set to the size of the buffers that the frame grants
 *
 * Return: the credits to grant in the header of the frame.
 */
u16 rchar_credit_send(struct rchar_credit *c, bool *large)
{
	rchar_credits_take(&c->tx, 1, large);
	return rchar_credits_take(&c->grant, c->grant.front, large);
}

/**
 * rchar_credit_receive() - take the credits that a frame of the peer grants
 * @c: the credits
 * @credits: credits in the header of the frame
 * @large: the size of their buffers, as the header says
 *
 * Return: true; or false when the peer cannot have posted such buffers. Nothing changes then.
 */
bool rchar_credit_receive(struct rchar_credit *c, u16 credits, bool large)
{
	return credits <= c->tx_max - rchar_credits_total(&c->tx) &&
	       rchar_credits_add(&c->tx, credits, large);
}

/**
 * rchar_credit_posted() - count receive buffers posted on this side
 * @c: the credits
 * @n: how many
 * @large: their size
 */
void rchar_credit_posted(struct rchar_credit *c, u16 n, bool large)
{
	rchar_credits_add(&c->grant, min_t(u16, n, c->rx_max - rchar_credits_total(&c->grant)),
			  large);
}

/**
 * rchar_credit_due() - must a frame be sent only to grant credits?
 * @c: the credits
 *
 * Such a frame is due once a quarter of the receive buffers can be granted. That is rare enough to
 * cost little, and early enough that the peer does not run out of credits. Of the few small buffers
 * that an idle link has, a quarter would be a frame for every other one of the peer: then 4, or
 * half of them. A peer that has use for more asks for more.
 *
 * Such a frame is never sent for a single credit. Its receiver could grant one credit in return,
 * for the buffer that the frame used, and two idle sides would answer each other forever.
 */
bool rchar_credit_due(const struct rchar_credit *c)
{
	u16 grant = rchar_credits_total(&c->grant);
	u16 few = rchar_credits_large(&c->grant) ? 0 : min_t(u16, c->rx_now / 2, 4);

	return grant > 1 && grant >= few && grant >= c->rx_now / 4;
}
