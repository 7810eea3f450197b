// SPDX-License-Identifier: GPL-2.0
/*
 * Lanes that peers request. A request with a key id must carry the tag of that key; this is
 * checked before anything else happens on behalf of the request. A peer without a key can claim any
 * address in a request. Its HELLO proves that the peer receives at the claimed address. Until HELLO
 * arrives, the contents of the request do not count: the lane waits on a separate list, and the
 * state of the link does not change.
 */
#include "accept.h"
#include "base/account.h"
#include "base/addr.h"
#include "base/seq.h"
#include "cm.h"
#include "evict.h"
#include "handshake.h"
#include "lane.h"
#include "link.h"
#include "links.h"
#include "psk.h"

/* ---- the request ---- */

/*
 * Find the key that authenticates the request, with a reference; NULL if the request has none.
 * Returns 0, or the reason to refuse the request.
 */
static enum rchar_reason authenticate(const struct rchar_cm_request *request,
				      struct rchar_psk **psk)
{
	bool encrypted = request->privdata.caps & RCHAR_CAP_ENCRYPTED;
	enum rchar_reason reason;

	*psk = NULL;
	if (encrypted && !request->privdata.key)
		return RCHAR_REASON_PROTOCOL;
	if (request->privdata.key) {
		*psk = rchar_psk_authenticate(request->net, request->privdata.key,
					      &request->transcript);
		if (!*psk)
			return RCHAR_REASON_NOT_AUTHORISED;
	}
	reason = rchar_link_admits(request->net, &request->local, &request->peer, *psk, encrypted);
	if (!reason && encrypted && !rchar_seal_available())
		reason = RCHAR_REASON_ENCRYPTION;
	if (reason)
		rchar_psk_put(*psk);
	return reason;
}

/* Check a request's attempt number against that of the link. Returns 0 to allow the lane. */
static enum rchar_reason attempt_reason(struct rchar_link *link,
					const struct rchar_privdata *request)
{
	lockdep_assert_held(&rchar_links_lock);
	if (request->lane)
		return request->attempt == link->attempt ? RCHAR_REASON_NONE : RCHAR_REASON_BUSY;
	/* A delayed request must not break a newer connection. */
	if (link->attempt && !rchar_seq_before(link->attempt, request->attempt))
		return RCHAR_REASON_BUSY;
	return RCHAR_REASON_NONE;
}

/* Find or create the acceptor's link for a request. Adds a user to the link. */
static struct rchar_link *find_or_create_accepted(const struct rchar_cm_request *request,
						  struct rchar_psk *psk)
{
	const struct rchar_endpoint ends = {
		.net = request->net,
		.local = request->local,
		.peer = request->peer,
		.psk = psk,
		.encrypted = request->privdata.caps & RCHAR_CAP_ENCRYPTED,
		.settings.lanes = request->privdata.lanes,
	};

	lockdep_assert_held(&rchar_links_lock);
	/* A key that is deleted now has no link, and gets none. */
	if (rchar_psk_deleted(psk))
		return NULL;
	return rchar_links_find_accepted(&ends, request->privdata.link_id) ?:
		       rchar_links_create(&ends, false, request->privdata.link_id);
}

/*
 * Requests that no HELLO follows could use up the limit for concurrent handshakes, and so prevent
 * a link from reconnecting. Only the two endpoints of a link know its epoch. A request with the
 * right epoch is therefore always admitted, and not counted, so that it takes no place of others.
 * This holds while fewer than nr_lanes lanes of the link are being accepted.
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

/*
 * A recorded request with a key is as good as new while the link knows no later attempt, and
 * copies of it could take all places of the peer. An initiator never has two requests for one lane
 * of one attempt under way.
 */
static bool is_copy(struct rchar_link *link, const struct rchar_privdata *request)
{
	struct rchar_lane *lane;
	bool found = false;

	spin_lock_bh(&link->lock);
	list_for_each_entry(lane, &link->accepting, accepting_entry)
		found |= lane->index == request->lane && lane->peer.attempt == request->attempt;
	spin_unlock_bh(&link->lock);
	return found;
}

/*
 * Create a lane for a request, after some checks. The state of the link does not change before
 * accept_admit().
 */
static enum rchar_reason new_lane(struct rchar_link *link,
				  const struct rchar_cm_request *cm_request,
				  struct rchar_lane **out)
{
	const struct rchar_privdata *request = &cm_request->privdata;
	enum rchar_reason reason = attempt_reason(link, request);
	struct rchar_lane *lane;
	bool known;

	if (request->lanes != link->nr_lanes)
		return RCHAR_REASON_PROTOCOL;
	if (request->lane && READ_ONCE(link->state) != RCHAR_LINK_CONNECTING)
		return RCHAR_REASON_BUSY;
	if (reason)
		return reason;
	if (link->psk && is_copy(link, request))
		return RCHAR_REASON_BUSY;
	known = knows_epoch(link, request);
	if (!known && !rchar_account_begin_accept(link->account))
		return RCHAR_REASON_BUSY;
	lane = rchar_link_new_lane(link, request->lane);
	if (!lane) {
		if (!known)
			rchar_account_end_accept(link->account);
		return RCHAR_REASON_NO_MEMORY;
	}
	lane->half_open = !known;
	lane->peer = *request;
	lane->auth.transcript = cm_request->transcript;
	kref_get(&lane->ref); /* for the list */
	spin_lock_bh(&link->lock);
	list_add_tail(&lane->accepting_entry, &link->accepting);
	spin_unlock_bh(&link->lock);
	*out = lane;
	return RCHAR_REASON_NONE;
}

/**
 * rchar_link_accept() - decide on a connection request of a peer
 * @request: the request
 * @lane: set to the new lane, which is on the link's list of lanes being accepted, with a
 *	  reference for its cm_id
 *
 * Context: CM event handler.
 * Return: 0, or the reason to refuse the request.
 */
enum rchar_reason rchar_link_accept(const struct rchar_cm_request *request,
				    struct rchar_lane **lane)
{
	enum rchar_reason reason;
	struct rchar_link *link;
	struct rchar_psk *psk;

	reason = authenticate(request, &psk);
	if (reason)
		return reason;
	reason = RCHAR_REASON_BUSY;
	mutex_lock(&rchar_links_lock);
	link = find_or_create_accepted(request, psk);
	if (link) {
		reason = new_lane(link, request, lane);
		/* On success the lane is the new user of the link, until torn down. */
		if (reason)
			rchar_link_unuse(link);
	}
	mutex_unlock(&rchar_links_lock);
	rchar_psk_put(psk);
	return reason;
}

/* ---- HELLO ---- */

/* The lane is not on the list any more. */
static void end_accept(struct rchar_link *link, struct rchar_lane *lane)
{
	if (lane->half_open)
		rchar_account_end_accept(link->account);
}

/* Move a lane from the list to its slot, after HELLO arrived. */
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
		end_accept(link, lane);
	return ok;
}

/* Take over the flow. Returns false when the reply to the request does not hold any more. */
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

/* The peer with the link's key may have connected from another address, or to another one. */
static void follow_peer(struct rchar_link *link, const struct rchar_lane *lane)
{
	struct sockaddr_storage local, peer;
	bool moved;

	if (!link->psk)
		return;
	rchar_cm_ends(lane->cm_id, &local, &peer);
	moved = !rchar_addr_same_host(&link->peer, &peer);
	rchar_link_set_ends(link, &local, &peer);
	if (moved)
		link->ops->moved(link);
}

/*
 * Try to give a lane its slot. Returns false when the lane must wait. If the lane is refused, sets
 * *@reason and returns true.
 */
static bool accept_admit(struct rchar_link *link, struct rchar_lane *lane,
			 enum rchar_reason *reason)
{
	lockdep_assert_held(&rchar_links_lock);
	*reason = attempt_reason(link, &lane->peer);
	if (rchar_psk_deleted(link->psk))
		*reason = RCHAR_REASON_KEY_DELETED;
	if (*reason)
		return true;
	/* The peer reconnects only after its old lanes have failed: fail them here too. */
	if (!lane->index && !rchar_link_no_lanes(link)) {
		rchar_link_for_each_lane(link, rchar_lane_fail, RCHAR_REASON_PEER_CLOSED);
		return false;
	}
	/* If this drops the sessions, the reply does not hold any more: accepted_adopt() checks. */
	if (!lane->index) {
		rchar_link_drop_evicted(link);
		link->attempt = lane->peer.attempt;
		follow_peer(link, lane);
	}
	if ((!lane->index && !rchar_link_move(link, RCHAR_LINK_CONNECTING, RCHAR_REASON_NONE)) ||
	    !accepted_lane_add(link, lane) || !accepted_adopt(link, lane))
		*reason = RCHAR_REASON_BUSY;
	return true;
}

/**
 * rchar_link_admit() - give a lane its slot after HELLO
 * @lane: a lane of an acceptor; its teardown waits for this function
 *
 * Old lanes of the link are torn down first. For the last of them, rchar_link_lane_gone() queues
 * &rchar_lane.adopt_work again.
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

/* ---- teardown ---- */

/**
 * rchar_link_fail_accepting() - fail the lanes whose handshake is not complete
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
 * rchar_link_stop_accepting() - remove a lane from the list of lanes being accepted
 * @link: the link
 * @lane: the lane, during its teardown
 *
 * A lane on the list has not affected the state of the link. This function drops the reference of
 * the list.
 *
 * Context: process, in the lane's teardown.
 * Return: true when the lane was on the list: the caller has nothing more to do.
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
	end_accept(link, lane);
	wake_up_all(&link->wait);
	rchar_link_unuse(link);
	rchar_lane_put(lane);
	return true;
}

/**
 * rchar_link_admit_greeted() - admit lanes that waited until all slots are empty
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
