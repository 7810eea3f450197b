// SPDX-License-Identifier: GPL-2.0
#include "pace.h"
#include <linux/spinlock.h>
#include <linux/workqueue.h>

/*
 * Protects the turns of all links, and the lists of those that wait. Taken with bottom halves
 * disabled. No other lock of the module is taken with it held.
 */
static DEFINE_SPINLOCK(pace_lock);

/**
 * rchar_pace_init() - initialize the turn of a link
 * @pace: the turn
 * @account: account of the peer
 * @wq: for @work
 * @work: makes an attempt when the link has its turn
 */
void rchar_pace_init(struct rchar_pace *pace, struct rchar_account *account,
		     struct workqueue_struct *wq, struct delayed_work *work)
{
	pace->account = account;
	pace->wq = wq;
	pace->work = work;
	pace->has_turn = false;
	INIT_LIST_HEAD(&pace->entry);
}

static bool take_turn(struct rchar_pace *pace)
{
	lockdep_assert_held(&pace_lock);
	if (pace->account->attempts >= RCHAR_PACE_ATTEMPTS)
		return false;
	list_del_init(&pace->entry);
	pace->account->attempts++;
	pace->has_turn = true;
	return true;
}

/**
 * rchar_pace_begin() - may a link make an attempt to connect now?
 * @pace: the turn of the link
 * @again: the last attempt has failed: links of which that is not known go first. The peer may be
 *	   out of reach by one path and not by another.
 *
 * Context: any but hard interrupt.
 * Return: true; the caller calls rchar_pace_end() when the attempt has ended. False when
 * &rchar_pace.work will run at the turn of the link.
 */
bool rchar_pace_begin(struct rchar_pace *pace, bool again)
{
	bool now;

	spin_lock_bh(&pace_lock);
	now = pace->has_turn || take_turn(pace);
	if (!now && (list_empty(&pace->entry) || !again))
		list_move_tail(&pace->entry, &pace->account->waiting_attempts[again]);
	spin_unlock_bh(&pace_lock);
	return now;
}

/* Who waits is not destroyed: see link_connect_work(). */
static struct rchar_pace *first_that_waits(struct rchar_account *account)
{
	struct list_head *waiting = account->waiting_attempts;

	return list_first_entry_or_null(list_empty(&waiting[0]) ? &waiting[1] : &waiting[0],
					struct rchar_pace, entry);
}

/**
 * rchar_pace_end() - the attempt of a link has ended, or it wants none any more
 * @pace: the turn of the link, which may neither have its turn nor wait for it
 *
 * Context: any but hard interrupt.
 */
void rchar_pace_end(struct rchar_pace *pace)
{
	struct rchar_pace *next;

	spin_lock_bh(&pace_lock);
	list_del_init(&pace->entry);
	pace->account->attempts -= pace->has_turn;
	pace->has_turn = false;
	while ((next = first_that_waits(pace->account)) && take_turn(next))
		mod_delayed_work(next->wq, next->work, 0);
	spin_unlock_bh(&pace_lock);
}
