// SPDX-License-Identifier: GPL-2.0
/* Eviction: a peer over its budget loses what this host keeps for the peer. */
#include "evict.h"
#include <linux/sizes.h>
#include "base/account.h"
#include "lane.h"
#include "link.h"

/*
 * Dead bytes that a link may keep while its peer is over budget. A peer with as many lanes as
 * allowed, each on a link of its own, thus exceeds its budget by 2 MiB.
 */
#define EVICT_BYTES	    SZ_32K
/*
 * A link over its limits is checked again after EVICT_DELAY, which is longer than any peer takes
 * to acknowledge. If the peer exceeds its budget by EVICT_AT_ONCE_BYTES, the check runs at once. A
 * peer within its budget can be over the limits too. Such a peer uses more than its share of the
 * host's memory, and a link of the peer has more than EVICT_AT_ONCE_BYTES dead bytes.
 */
#define EVICT_DELAY	    HZ
#define EVICT_AT_ONCE_BYTES SZ_1M

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
 * rchar_link_left_more() - check the limits after &rchar_link.dead_bytes has grown
 * @link: the link
 *
 * Context: any but hard interrupt, with any locks held but the link's.
 */
void rchar_link_left_more(struct rchar_link *link)
{
	if (left_far_too_much(link))
		mod_delayed_work(rchar_link_wq, &link->evict_work, 0);
	else if (left_too_much(link))
		queue_delayed_work(rchar_link_wq, &link->evict_work, EVICT_DELAY);
}

/**
 * rchar_link_drop_evicted() - drop the frames and sessions of a peer over its budget
 * @link: the link; rchar_links_lock is held
 *
 * Does nothing unless &rchar_link.evict is set, or while a lane is left. For the last lane,
 * rchar_link_lane_gone() queues &rchar_link.evict_work again.
 *
 * Context: process.
 */
void rchar_link_drop_evicted(struct rchar_link *link)
{
	lockdep_assert_held(&rchar_links_lock);
	if (!link->evict || !rchar_link_no_lanes(link) || READ_ONCE(link->state) != RCHAR_LINK_DOWN)
		return;
	rchar_link_forget(link, 0, RCHAR_REASON_PEER_LIMIT);
	WRITE_ONCE(link->evict, false);
}

/**
 * rchar_link_evict_work() - evict a peer that is still over its budget
 * @work: rchar_link.evict_work
 */
void rchar_link_evict_work(struct work_struct *work)
{
	struct rchar_link *link = container_of(to_delayed_work(work), struct rchar_link,
					       evict_work);

	mutex_lock(&rchar_links_lock);
	/* Otherwise the excess was temporary, or accept_admit() has already dropped everything. The
	 * lanes then belong to a new connection.
	 */
	if (link->evict || left_too_much(link)) {
		WRITE_ONCE(link->evict, true);
		rchar_link_for_each_lane(link, rchar_lane_fail, RCHAR_REASON_PEER_LIMIT);
		rchar_link_drop_evicted(link);
	}
	mutex_unlock(&rchar_links_lock);
}
