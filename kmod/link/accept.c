// SPDX-License-Identifier: GPL-2.0
/*
 * Lanes that peers make. Nothing a request says counts before the peer has shown, by HELLO,
 * that it receives at the address that it named: until then a lane waits aside, and its link
 * does not notice.
 */
#include "accept.h"
#include "base/account.h"
#include "base/addr.h"
#include "base/seq.h"
#include "evict.h"
#include "handshake.h"
#include "lane.h"
#include "link.h"

/* ---- the request ---- */

/* May a lane of that attempt come, by what the link knows? */
static enum rchar_reason attempt_reason(struct rchar_link *link,
					const struct rchar_privdata *request)
{
	lockdep_assert_held(&rchar_links_lock);
	if (request->lane)
		return request->attempt == link->attempt ? RCHAR_REASON_NONE :
							   RCHAR_REASON_BUSY;
	/* A request that was under way for long must not break a newer connection. */
	return link->attempt && !rchar_seq_before(link->attempt, request->attempt) ?
	       RCHAR_REASON_BUSY : RCHAR_REASON_NONE;
}

/* The acceptor's end of a link that a peer asks for, with one user more. */
static struct rchar_link *find_or_create_accepted(struct net *net,
						  const struct rchar_privdata *request,
						  const struct sockaddr_storage *local,
						  const struct sockaddr_storage *peer)
{
	struct rchar_link *link;

	lockdep_assert_held(&rchar_links_lock);
	list_for_each_entry(link, &rchar_links, entry) {
		if (!link->initiator && link->id == request->link_id && link->net == net &&
		    rchar_addr_same_host(&link->peer, peer) &&
		    rchar_addr_equal(&link->local, local) &&
		    refcount_inc_not_zero(&link->users)) {
			rchar_link_get(link);
			return link;
		}
	}
	return rchar_link_create(net, false, request->link_id, request->lanes, local, peer);
}

/*
 * Requests without a HELLO to follow could fill up the handshakes that may be under way, and
 * keep a link from its next connection. Its epoch is known to its two ends.
 */
static bool knows_epoch(struct rchar_link *link, const struct rchar_privdata *request)
{
	struct rchar_lane *lane;
	int n = 0;

	spin_lock_bh(&link->lock);
	list_for_each_entry(lane, &link->accepting, accepting_entry)
		n++;
	spin_unlock_bh(&link->lock);
	return request->epoch && request->epoch == READ_ONCE(link->epoch) && n < link->nr_lanes;
}

/* A lane for a request that looks well. The link does not change: see accept_admit(). */
static enum rchar_reason new_lane(struct rchar_link *link,
				  const struct rchar_privdata *request,
				  struct rchar_lane **out)
{
	enum rchar_reason reason = attempt_reason(link, request);
	struct rchar_lane *lane;

	if (request->lanes != link->nr_lanes)
		return RCHAR_REASON_PROTOCOL;
	if (request->lane && READ_ONCE(link->state) != RCHAR_LINK_CONNECTING)
		return RCHAR_REASON_BUSY;
	if (reason)
		return reason;
	if (!rchar_account_begin_accept(link->account, knows_epoch(link, request)))
		return RCHAR_REASON_BUSY;
	lane = rchar_link_new_lane(link, request->lane);
	if (!lane) {
		rchar_account_end_accept(link->account);
		return RCHAR_REASON_NO_MEMORY;
	}
	lane->peer = *request;
	kref_get(&lane->ref);	/* the list's */
	spin_lock_bh(&link->lock);
	list_add_tail(&lane->accepting_entry, &link->accepting);
	spin_unlock_bh(&link->lock);
	*out = lane;
	return RCHAR_REASON_NONE;
}

/**
 * rchar_link_accept() - a peer asks for a connection
 * @net: network namespace it arrived in
 * @request: its private data, well formed
 * @local: our address and port
 * @peer: the peer's address
 * @lane: set to the new lane, on the link's list of those being accepted, with a reference
 *	  for its cm_id
 *
 * Context: CM event handler.
 * Return: 0, or why it is refused.
 */
enum rchar_reason rchar_link_accept(struct net *net, const struct rchar_privdata *request,
				    const struct sockaddr_storage *local,
				    const struct sockaddr_storage *peer,
				    struct rchar_lane **lane)
{
	enum rchar_reason reason = RCHAR_REASON_BUSY;
	struct rchar_link *link;

	mutex_lock(&rchar_links_lock);
	link = find_or_create_accepted(net, request, local, peer);
	if (link) {
		reason = new_lane(link, request, lane);
		/* Otherwise the lane's: dropped when it is gone. */
		if (reason)
			rchar_link_unuse(link);
	}
	mutex_unlock(&rchar_links_lock);
	return reason;
}

/* ---- HELLO ---- */

/* Its peer has shown that it is where it says. */
static bool accepted_lane_add(struct rchar_link *link, struct rchar_lane *lane)
{
	bool ok;

	spin_lock_bh(&link->lock);
	ok = rchar_link_slot_free(link, lane) && !list_empty(&lane->accepting_entry);
	if (ok) {
		list_del_init(&lane->accepting_entry);
		link->lanes[lane->index] = lane;
	}
	spin_unlock_bh(&link->lock);
	if (ok)
		rchar_account_end_accept(link->account);
	return ok;
}

/* What the reply said must still hold. */
static bool accepted_adopt(struct rchar_link *link, struct rchar_lane *lane)
{
	bool same = rchar_link_continues(link, lane);

	if (same != lane->continues ||
	    (same && (lane->self.epoch != link->epoch ||
		      lane->self.resume != rchar_flow_expects(lane->flow))))
		return false;
	if (!same && lane->index) {
		WRITE_ONCE(link->epoch, 0);
		return false;
	}
	if (!same)
		rchar_link_forget(link, lane->self.epoch, RCHAR_REASON_PEER_RESTARTED);
	rchar_link_take_over(link, lane, same);
	return true;
}

/* False: not yet. *@reason: why not at all. */
static bool accept_admit(struct rchar_link *link, struct rchar_lane *lane,
		  enum rchar_reason *reason)
{
	lockdep_assert_held(&rchar_links_lock);
	*reason = attempt_reason(link, &lane->peer);
	if (*reason)
		return true;
	/* The peer would not call if it did not know them to be gone. */
	if (!lane->index && !rchar_link_no_lanes(link)) {
		rchar_link_for_each_lane(link, rchar_lane_fail, RCHAR_REASON_PEER_CLOSED);
		return false;
	}
	/* What the reply said does not hold any more, then: accepted_adopt() will see. */
	if (!lane->index) {
		rchar_link_drop_evicted(link);
		link->attempt = lane->peer.attempt;
	}
	if ((!lane->index && !rchar_link_move(link, RCHAR_LINK_CONNECTING, RCHAR_REASON_NONE)) ||
	    !accepted_lane_add(link, lane) || !accepted_adopt(link, lane))
		*reason = RCHAR_REASON_BUSY;
	return true;
}

/**
 * rchar_link_admit() - the handshake is over: the lane takes its slot
 * @lane: an acceptor's; its teardown waits for this
 *
 * The lanes that the link had go first. rchar_link_lane_gone() of the last one queues this
 * again.
 */
void rchar_link_admit(struct rchar_lane *lane)
{
	struct rchar_link *link = lane->link;
	enum rchar_reason reason = RCHAR_REASON_NONE;
	bool decided = false;

	mutex_lock(&rchar_links_lock);
	if (READ_ONCE(lane->state) == RCHAR_LANE_GREETING)
		decided = accept_admit(link, lane, &reason);
	mutex_unlock(&rchar_links_lock);
	if (reason)
		rchar_lane_fail(lane, reason);
	else if (decided)
		rchar_handshake_done(lane);
}

/* ---- the end ---- */

/**
 * rchar_link_fail_accepting() - end the lanes whose handshake is not over
 * @link: the link
 * @reason: why
 */
void rchar_link_fail_accepting(struct rchar_link *link, enum rchar_reason reason)
{
	struct rchar_lane *lane, *alive;

	do {
		alive = NULL;
		spin_lock_bh(&link->lock);
		list_for_each_entry(lane, &link->accepting, accepting_entry) {
			if (READ_ONCE(lane->state) >= RCHAR_LANE_CLOSING)
				continue;
			alive = lane;
			kref_get(&alive->ref);
			break;
		}
		spin_unlock_bh(&link->lock);
		if (alive) {
			rchar_lane_fail(alive, reason);
			rchar_lane_put(alive);
		}
	} while (alive);
}

/**
 * rchar_link_stop_accepting() - a lane is torn down: was its handshake not over?
 * @link: the link
 * @lane: the lane
 *
 * Then the link has not noticed that there was one. The list's reference is dropped.
 *
 * Context: process, in the lane's teardown.
 * Return: true when that was all.
 */
bool rchar_link_stop_accepting(struct rchar_link *link, struct rchar_lane *lane)
{
	bool was;

	spin_lock_bh(&link->lock);
	was = !list_empty(&lane->accepting_entry);
	list_del_init(&lane->accepting_entry);
	spin_unlock_bh(&link->lock);
	cancel_work_sync(&lane->adopt_work);
	if (!was)
		return false;
	rchar_account_end_accept(link->account);
	wake_up_all(&link->wait);
	rchar_link_unuse(link);
	rchar_lane_put(lane);
	return true;
}

/**
 * rchar_link_admit_greeted() - the last slot is empty: lanes that waited for that may come
 * @link: the link
 */
void rchar_link_admit_greeted(struct rchar_link *link)
{
	struct rchar_lane *lane;

	spin_lock_bh(&link->lock);
	list_for_each_entry(lane, &link->accepting, accepting_entry)
		if (READ_ONCE(lane->state) == RCHAR_LANE_GREETING)
			queue_work(rchar_link_wq, &lane->adopt_work);
	spin_unlock_bh(&link->lock);
}
