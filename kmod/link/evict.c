// SPDX-License-Identifier: GPL-2.0
/* A peer that is past its budget loses what is kept for it. */
#include "evict.h"
#include <linux/sizes.h>
#include "base/account.h"
#include "lane.h"
#include "link.h"

/*
 * A link may leave so much past its peer's budget: with all its lanes on links of their own a
 * peer is 2 MiB past it then.
 */
#define EVICT_BYTES		SZ_32K
/* Past the budget now, and longer ago than any peer takes to acknowledge; or by so much. */
#define EVICT_DELAY		HZ
#define EVICT_AT_ONCE_BYTES	SZ_1M

static bool left_too_much(const struct rchar_link *link)
{
	u64 left = atomic64_read(&link->dead_bytes);

	return (left > EVICT_BYTES && rchar_account_is_full(link->account, 0)) ||
	       (left > EVICT_AT_ONCE_BYTES && rchar_account_is_unfair(link->account));
}

static bool left_far_too_much(const struct rchar_link *link)
{
	return atomic64_read(&link->dead_bytes) > EVICT_BYTES &&
	       rchar_account_is_full(link->account, EVICT_AT_ONCE_BYTES);
}

/**
 * rchar_link_left_more() - &rchar_link.dead_bytes has grown
 * @link: the link
 *
 * Context: any but hard interrupt, with any lock but the link's.
 */
void rchar_link_left_more(struct rchar_link *link)
{
	if (left_far_too_much(link))
		mod_delayed_work(rchar_link_wq, &link->evict_work, 0);
	else if (left_too_much(link))
		queue_delayed_work(rchar_link_wq, &link->evict_work, EVICT_DELAY);
}

/**
 * rchar_link_drop_evicted() - what is kept for a peer past its budget goes, sessions and all
 * @link: the link; rchar_links_lock is held
 *
 * Not while a connection is left: rchar_link_lane_gone() of the last one comes back.
 *
 * Context: process.
 */
void rchar_link_drop_evicted(struct rchar_link *link)
{
	lockdep_assert_held(&rchar_links_lock);
	if (!link->evict || !rchar_link_no_lanes(link) ||
	    READ_ONCE(link->state) != RCHAR_LINK_DOWN)
		return;
	rchar_link_forget(link, 0, RCHAR_REASON_PEER_LIMIT);
	WRITE_ONCE(link->evict, false);
}

/**
 * rchar_link_evict_work() - is the peer still past its budget?
 * @work: rchar_link.evict_work
 */
void rchar_link_evict_work(struct work_struct *work)
{
	struct rchar_link *link = container_of(to_delayed_work(work), struct rchar_link,
					       evict_work);

	mutex_lock(&rchar_links_lock);
	/* Otherwise it was a burst, or admit() has dropped it: the lanes are another connection's. */
	if (link->evict || left_too_much(link)) {
		WRITE_ONCE(link->evict, true);
		rchar_link_for_each_lane(link, rchar_lane_fail, RCHAR_REASON_PEER_LIMIT);
		rchar_link_drop_evicted(link);
	}
	mutex_unlock(&rchar_links_lock);
}
