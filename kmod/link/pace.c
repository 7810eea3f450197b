// SPDX-License-Identifier: GPL-2.0
#include "pace.h"
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "link.h"

/*
 * Protects the turns of all links, and the lists of those that wait. Taken with bottom halves
 * disabled. No other lock of the module is taken with it held.
 */
static DEFINE_SPINLOCK(pace_lock);

/**
 * rchar_pace_init() - initialize the turn of a link
 * @link: the link; it has its account
 */
void rchar_pace_init(struct rchar_link *link)
{
	link->pace.has_turn = false;
	INIT_LIST_HEAD(&link->pace.entry);
}

static bool take_turn(struct rchar_link *link)
{
	lockdep_assert_held(&pace_lock);
	if (link->account->attempts >= RCHAR_PACE_ATTEMPTS)
		return false;
	list_del_init(&link->pace.entry);
	link->account->attempts++;
	link->pace.has_turn = true;
	return true;
}

/**
 * rchar_pace_begin() - may a link make an attempt to connect now?
 * @link: the link
 *
 * Context: any but hard interrupt.
 * Return: true; the caller calls rchar_pace_end() when the attempt has ended. False when
 * &rchar_link.connect_work will run at the turn of the link.
 */
bool rchar_pace_begin(struct rchar_link *link)
{
	bool now;

	spin_lock_bh(&pace_lock);
	now = link->pace.has_turn || take_turn(link);
	if (!now && list_empty(&link->pace.entry))
		list_add_tail(&link->pace.entry, &link->account->waiting_attempts);
	spin_unlock_bh(&pace_lock);
	return now;
}

/* Who waits is not destroyed: see link_connect_work(). */
static struct rchar_link *first_that_waits(struct rchar_account *account)
{
	return list_first_entry_or_null(&account->waiting_attempts, struct rchar_link, pace.entry);
}

/**
 * rchar_pace_end() - the attempt of a link has ended, or it wants none any more
 * @link: the link, which may neither have its turn nor wait for it
 *
 * Context: any but hard interrupt.
 */
void rchar_pace_end(struct rchar_link *link)
{
	struct rchar_link *next;

	spin_lock_bh(&pace_lock);
	list_del_init(&link->pace.entry);
	link->account->attempts -= link->pace.has_turn;
	link->pace.has_turn = false;
	while ((next = first_that_waits(link->account)) && take_turn(next))
		mod_delayed_work(rchar_link_wq, &next->connect_work, 0);
	spin_unlock_bh(&pace_lock);
}
