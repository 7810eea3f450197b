// SPDX-License-Identifier: GPL-2.0
#include "link.h"
#include <linux/random.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include "base/account.h"
#include "base/addr.h"
#include "base/backoff.h"
#include "base/ledger.h"
#include "base/notify.h"
#include "base/param.h"
#include "base/trace.h"
#include "lane.h"
#include "psk.h"

DEFINE_MUTEX(rchar_links_lock);
bool rchar_links_closed; /* rchar_links_lock: create no new links */

/* Destroying a link waits for its lanes, so links do not share the work queue of lanes. */
struct workqueue_struct *rchar_link_wq;
static const struct rchar_link_ops *link_ops;
static const struct rchar_link_works *link_works;
static atomic64_t nr_bad_frames;

static struct rchar_param lanes = { .value = 1, .least = 1, .most = RCHAR_WIRE_LANES_MAX };
module_param_cb(lanes, &rchar_param_ops, &lanes, 0644);
MODULE_PARM_DESC(lanes, "connections of each link that this host makes from now on, 1 to 16");

static struct rchar_param keepalive = { .value = 5, .least = 1, .most = RCHAR_KEEPALIVE_MAX };
module_param_cb(keepalive, &rchar_param_ops, &keepalive, 0644);
MODULE_PARM_DESC(keepalive,
		 "seconds after which links made from now on ask a silent peer, 1 to 250");

/* Count the lanes of a link that a peer makes. Returns false when the peer has too many. */
static bool link_add_lanes(struct rchar_link *link)
{
	struct rchar_psk *psk = link->psk;

	lockdep_assert_held(&rchar_links_lock);
	if (psk && atomic_read(&psk->lanes) + link->nr_lanes > rchar_account_lanes_per_key())
		return false;
	if (!rchar_account_add_lanes(link->account, link->nr_lanes))
		return false;
	if (psk)
		atomic_add(link->nr_lanes, &psk->lanes);
	return true;
}

static void link_del_lanes(struct rchar_link *link)
{
	rchar_account_del_lanes(link->account, link->nr_lanes);
	if (link->psk)
		atomic_sub(link->nr_lanes, &link->psk->lanes);
}

static void link_release(struct kref *ref)
{
	struct rchar_link *link = container_of(ref, struct rchar_link, ref);

	WARN_ON_ONCE(!xa_empty(&link->sessions));
	xa_destroy(&link->sessions);
	if (!link->initiator)
		link_del_lanes(link);
	rchar_account_put(link->account);
	if (link->psk)
		atomic_dec(&link->psk->links);
	rchar_psk_put(link->psk); /* after the account, which belongs to the key */
	put_net(link->net);
	rchar_ledger_del(RCHAR_OBJ_LINK);
	kfree(link);
}

/**
 * rchar_link_put() - drop a reference to the memory of a link
 * @link: the link
 */
void rchar_link_put(struct rchar_link *link)
{
	kref_put(&link->ref, link_release);
}

/*
 * A short time in the UP state does not count, unless frames or one-sided operations made progress.
 * If a link repeatedly breaks at once, the recovery timeout of its sessions thus keeps running. The
 * delays between attempts keep growing.
 */
static bool was_of_use(struct rchar_link *link, unsigned long up_at)
{
	return time_after(jiffies, up_at + msecs_to_jiffies(RCHAR_BACKOFF_MAX_MS)) ||
	       time_after(READ_ONCE(link->traffic.progress_at), up_at);
}

static bool link_all_up(struct rchar_link *link)
{
	bool up = true;
	int i;

	lockdep_assert_held(&link->lock);
	for (i = 0; i < link->nr_lanes; i++)
		up &= link->lanes[i] && READ_ONCE(link->lanes[i]->state) == RCHAR_LANE_UP;
	return up;
}

/**
 * rchar_link_move() - change the state of a link; no other function does
 * @link: the link
 * @to: the new state
 * @reason: why, when the link goes down
 *
 * Context: any but hard interrupt.
 * Return: false when the link is dying or already in the new state. Also false for a move to UP
 * while a lane is not UP.
 */
bool rchar_link_move(struct rchar_link *link, enum rchar_link_state to, enum rchar_reason reason)
{
	enum rchar_link_state from;
	struct sockaddr_storage peer;
	bool ok;

	spin_lock_bh(&link->lock);
	from = link->state;
	peer = link->peer;
	if (to == RCHAR_LINK_UP && !link_all_up(link)) {
		spin_unlock_bh(&link->lock);
		return false;
	}
	ok = rchar_link_move_legal(from, to);
	if (ok) {
		WRITE_ONCE(link->state, to);
		if (to == RCHAR_LINK_UP)
			/* A replay on lane 0 is progress, and need not wait for other lanes. */
			link->up_at = link->lanes[0]->up_at;
		if (from == RCHAR_LINK_UP && was_of_use(link, link->up_at)) {
			link->down_at = jiffies;
			link->failures = 0;
		}
		if (to == RCHAR_LINK_DOWN) {
			link->was_up = from == RCHAR_LINK_UP;
			link->reason = reason;
			link->reason_at = jiffies;
		}
	}
	spin_unlock_bh(&link->lock);
	if (!ok) {
		WARN_ONCE(from != RCHAR_LINK_DYING && from != to, "link: illegal move %s to %s\n",
			  rchar_link_state_name(from), rchar_link_state_name(to));
		return false;
	}
	trace_rchar_link_state(link, from, to, reason);
	if (from == RCHAR_LINK_UP || to == RCHAR_LINK_UP)
		pr_info_ratelimited("link %u %s %pISpc: %s%s%s\n", link->serial,
				    link->initiator ? "to" : "from", &peer,
				    rchar_link_state_name(to), reason ? ", " : "",
				    reason ? rchar_reason_name(reason) : "");
	rchar_notify_link(link);
	if (from == RCHAR_LINK_CONNECTING && link->initiator)
		rchar_gate_leave(&link->account->connecting, &link->turn);
	/* Only channels of an initiator depend on the state of a link. */
	if (link->initiator)
		link->ops->state_changed(link);
	return true;
}

/* ---- lanes ---- */

/**
 * rchar_link_schedule_connect() - schedule the next attempt to connect
 * @link: the link of an initiator; nothing happens unless the link is DOWN
 * @delay_ms: delay in milliseconds
 */
void rchar_link_schedule_connect(struct rchar_link *link, u32 delay_ms)
{
	/* The lock keeps this function from arming the work while the link is destroyed. */
	spin_lock_bh(&link->lock);
	if (link->state == RCHAR_LINK_DOWN) {
		link->next_at = jiffies + msecs_to_jiffies(delay_ms);
		mod_delayed_work(rchar_link_wq, &link->connect_work, msecs_to_jiffies(delay_ms));
	}
	spin_unlock_bh(&link->lock);
}

/**
 * rchar_link_no_lanes_locked() - check whether all slots are empty
 * @link: the link; its lock is held
 *
 * Return: true when all slots are empty.
 */
bool rchar_link_no_lanes_locked(struct rchar_link *link)
{
	bool none = true;
	int i;

	lockdep_assert_held(&link->lock);
	for (i = 0; i < link->nr_lanes; i++)
		none &= !link->lanes[i];
	return none;
}

/**
 * rchar_link_no_lanes() - check whether all slots are empty
 * @link: the link
 *
 * Return: true when all slots are empty.
 */
bool rchar_link_no_lanes(struct rchar_link *link)
{
	bool none;

	spin_lock_bh(&link->lock);
	none = rchar_link_no_lanes_locked(link);
	spin_unlock_bh(&link->lock);
	return none;
}

static struct rchar_lane *link_get_lane(struct rchar_link *link, int i)
{
	struct rchar_lane *lane;

	spin_lock_bh(&link->lock);
	lane = link->lanes[i];
	if (lane)
		kref_get(&lane->ref);
	spin_unlock_bh(&link->lock);
	return lane;
}

/**
 * rchar_link_for_each_lane() - call a function for each lane in a slot
 * @link: the link
 * @fn: the function; called without the link's lock
 * @reason: second argument of @fn
 */
void rchar_link_for_each_lane(struct rchar_link *link,
			      void (*fn)(struct rchar_lane *lane, enum rchar_reason reason),
			      enum rchar_reason reason)
{
	int i;

	for (i = 0; i < link->nr_lanes; i++) {
		struct rchar_lane *lane = link_get_lane(link, i);

		if (!lane)
			continue;
		fn(lane, reason);
		rchar_lane_put(lane);
	}
}

/**
 * rchar_link_new_lane() - create a lane without a connection
 * @link: the link; does not change, except that the lane takes a reference
 * @index: index of the lane
 *
 * Context: process.
 * Return: as rchar_lane_create().
 */
struct rchar_lane *rchar_link_new_lane(struct rchar_link *link, u8 index)
{
	struct rchar_flow *flow = &link->flows[index];
	struct rchar_lane *lane;

	rchar_link_get(link);
	lane = rchar_lane_create(link, flow, &flow->lock, index, link->depth, link->initiator);
	if (lane)
		lane->encrypted = link->encrypted;
	return lane;
}

/**
 * rchar_link_slot_free() - check whether a lane may take its slot now
 * @link: the link; its lock is held
 * @lane: the lane
 *
 * Return: true when the link is CONNECTING and the slot is empty. Lanes other than the first also
 * need the first lane to be UP.
 */
bool rchar_link_slot_free(struct rchar_link *link, const struct rchar_lane *lane)
{
	lockdep_assert_held(&link->lock);
	if (link->state != RCHAR_LINK_CONNECTING || link->lanes[lane->index])
		return false;
	return !lane->index ||
	       (link->lanes[0] && READ_ONCE(link->lanes[0]->state) == RCHAR_LANE_UP);
}

/**
 * rchar_link_lane_add() - put a lane of an initiator in its slot, before the lane starts
 * @link: the link
 * @lane: the lane; the slot takes a reference
 *
 * Return: false when rchar_link_slot_free() is false. When the first lane is torn down, the other
 * lanes are torn down too.
 */
bool rchar_link_lane_add(struct rchar_link *link, struct rchar_lane *lane)
{
	bool ok;

	spin_lock_bh(&link->lock);
	ok = rchar_link_slot_free(link, lane);
	if (ok) {
		kref_get(&lane->ref);
		link->lanes[lane->index] = lane;
	}
	spin_unlock_bh(&link->lock);
	return ok;
}

/**
 * rchar_link_forget() - end the sessions and reset the flows
 * @link: the link, with no lane attached to a flow. The caller holds rchar_links_lock, or the
 *	  first lane has its slot.
 * @epoch: the next epoch, or 0
 * @reason: why, for the sessions
 *
 * Used when the peer has no state of the sessions any more, and when this host gives up its own.
 *
 * Context: process.
 */
void rchar_link_forget(struct rchar_link *link, u32 epoch, enum rchar_reason reason)
{
	link->ops->lost(link, reason);
	rchar_flows_reset(&link->traffic);
	WRITE_ONCE(link->epoch, epoch);
}

/**
 * rchar_link_new_epoch() - choose a random epoch
 * @old: the old epoch
 *
 * Return: the epoch; neither 0, which means none, nor @old.
 */
u32 rchar_link_new_epoch(u32 old)
{
	u32 epoch;

	do {
		epoch = get_random_u32();
	} while (!epoch || epoch == old);
	return epoch;
}

/* The largest payload that a lane carries to a peer with these receive buffers. */
static u32 frame_fits(const struct rchar_lane *lane, u32 frame_size)
{
	return min(frame_size, lane->limits.frame_size);
}

/**
 * rchar_link_resumable_epoch() - get the epoch that a lane of an initiator can continue
 * @link: the link
 * @lane: the lane, with its limits
 *
 * Return: the epoch; 0 when there is none, or when the flows may hold frames larger than the device
 * of the lane sends.
 */
u32 rchar_link_resumable_epoch(const struct rchar_link *link, const struct rchar_lane *lane)
{
	if (lane->limits.frame_size < READ_ONCE(link->traffic.tx_max))
		return 0;
	return READ_ONCE(link->epoch);
}

/**
 * rchar_link_continues() - check whether a lane can continue the flow of the last lane
 * @link: the link
 * @lane: the lane, with @peer filled in
 *
 * Return: true when epoch, frame sizes and resume number match the flow.
 */
bool rchar_link_continues(struct rchar_link *link, const struct rchar_lane *lane)
{
	const struct rchar_privdata *peer = &lane->peer;

	return peer->epoch && peer->epoch == READ_ONCE(link->epoch) &&
	       frame_fits(lane, peer->frame_size) >= READ_ONCE(link->traffic.tx_max) &&
	       rchar_flow_resume_valid(lane->flow, peer->resume);
}

/**
 * rchar_link_take_over() - attach a lane to its flow
 * @link: the link
 * @lane: the lane, in its slot
 * @same: result of rchar_link_continues(); if false, the flow has been reset
 */
void rchar_link_take_over(struct rchar_link *link, struct rchar_lane *lane, bool same)
{
	const struct rchar_privdata *peer = &lane->peer;

	if (!lane->index)
		WRITE_ONCE(link->traffic.tx_max,
			   max_t(u32, link->traffic.tx_max, frame_fits(lane, peer->frame_size)));
	rchar_flow_attach(lane->flow, lane, same ? peer->resume : 0);
}

/* The interval of a link whose peer wants @peer seconds; 0: it did not say. */
static unsigned int keepalive_ms_with(const struct rchar_link *link, u8 peer)
{
	return MSEC_PER_SEC * (peer ? min(link->keepalive, peer) : link->keepalive);
}

/**
 * rchar_link_lane_up() - process the completed handshake of a lane
 * @link: the link
 * @lane: the lane, UP; with the last lane the link becomes UP
 *
 * Context: any but hard interrupt.
 */
void rchar_link_lane_up(struct rchar_link *link, struct rchar_lane *lane)
{
	if (!lane->index)
		WRITE_ONCE(link->keepalive_ms, keepalive_ms_with(link, lane->peer.keepalive));
	if (link->initiator && !lane->index && link->nr_lanes > 1)
		queue_work(rchar_link_wq, &link->lanes_work);
	if (!rchar_link_move(link, RCHAR_LINK_UP, RCHAR_REASON_NONE)) {
		queue_delayed_work(rchar_link_wq, &link->tick_work,
				   msecs_to_jiffies(RCHAR_LANE_TIMEOUT_MS));
		return;
	}
	rchar_stats_inc(&link->traffic.stats.connects);
	mod_delayed_work(rchar_link_wq, &link->tick_work,
			 msecs_to_jiffies(READ_ONCE(link->keepalive_ms)));
	/* In a work: programs control the number of sessions, and this may be a soft interrupt. */
	queue_work(rchar_link_wq, &link->up_work);
}

/**
 * rchar_link_use() - add a user
 * @link: a link that has a user
 */
void rchar_link_use(struct rchar_link *link)
{
	refcount_inc(&link->users);
	rchar_link_get(link);
}

/**
 * rchar_link_unuse() - drop a user; dropping the last user destroys the link
 * @link: the link
 *
 * Context: any but hard interrupt; a work destroys the link later.
 */
void rchar_link_unuse(struct rchar_link *link)
{
	if (refcount_dec_and_test(&link->users))
		queue_work(rchar_link_wq, &link->destroy_work);
	rchar_link_put(link);
}

/* ---- creation ---- */

/* Who waits is not destroyed: see link_connect_work(). */
static void link_has_turn(struct rchar_gate_user *turn)
{
	struct rchar_link *link = container_of(turn, struct rchar_link, turn);

	mod_delayed_work(rchar_link_wq, &link->connect_work, 0);
}

/**
 * rchar_link_create() - create a link with one user; links.c adds it to the table
 * @ends: addresses, key and settings
 * @initiator: this host sends the connection requests
 * @id: id on the wire
 *
 * Context: process, with rchar_links_lock held.
 * Return: the link. NULL without memory, when the module unloads, or when the peer may have no
 * more lanes.
 */
struct rchar_link *rchar_link_create(const struct rchar_endpoint *ends, bool initiator, u64 id)
{
	const struct rchar_link_settings *settings = &ends->settings;
	u8 nr_lanes = settings->lanes ?: READ_ONCE(lanes.value);
	struct rchar_link *link;

	lockdep_assert_held(&rchar_links_lock);
	if (rchar_links_closed)
		return NULL;
	link = kzalloc(struct_size(link, flows, nr_lanes), GFP_KERNEL);
	if (!link)
		return NULL;
	link->account = rchar_account_get(ends->net, &ends->peer, ends->psk);
	if (!link->account)
		goto err_free;
	link->nr_lanes = nr_lanes;
	BUILD_BUG_ON(RCHAR_DEPTH_MIN < RCHAR_LANE_IDLE || RCHAR_DEPTH_MAX > RCHAR_WIRE_CREDITS_MAX);
	link->depth = rchar_account_lane_depth();
	link->initiator = initiator;
	link->id = id;
	link->local = ends->local;
	link->peer = ends->peer;
	link->psk = ends->psk;
	link->settings = *settings;
	if (!initiator && !link_add_lanes(link))
		goto err_account;
	rchar_ledger_add(RCHAR_OBJ_LINK);
	kref_init(&link->ref); /* for the table */
	kref_get(&link->ref);  /* for the first user */
	refcount_set(&link->users, 1);
	link->net = get_net(ends->net);
	rchar_psk_get(link->psk);
	link->encrypted = ends->encrypted;
	link->keepalive = settings->keepalive ?: READ_ONCE(keepalive.value);
	link->keepalive_ms = keepalive_ms_with(link, 0);
	if (link->psk)
		atomic_inc(&link->psk->links);
	link->state = RCHAR_LINK_DOWN;
	link->reason_at = jiffies;
	link->down_at = jiffies;
	link->ops = link_ops;
	spin_lock_init(&link->lock);
	init_waitqueue_head(&link->wait);
	xa_init_flags(&link->sessions, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
	rchar_flows_init(&link->traffic, link->flows, nr_lanes);
	link->traffic.ops = link_ops->traffic;
	link->traffic.account = link->account;
	link->traffic.wq = rchar_link_wq;
	INIT_LIST_HEAD(&link->accepting);
	INIT_DELAYED_WORK(&link->connect_work, link_works->connect);
	rchar_gate_user_init(&link->turn, link_has_turn);
	INIT_WORK(&link->up_work, link_works->up);
	INIT_DELAYED_WORK(&link->evict_work, link_works->evict);
	INIT_WORK(&link->lanes_work, link_works->lanes);
	INIT_DELAYED_WORK(&link->tick_work, link_works->tick);
	INIT_WORK(&link->destroy_work, link_works->destroy);
	return link;

err_account:
	rchar_account_put(link->account);
err_free:
	kfree(link);
	return NULL;
}

/* ---- who is at the other end ---- */

/**
 * rchar_link_admits() - may a peer connect to an address of this host?
 * @net: network namespace
 * @local: the address and port
 * @peer: address of the peer
 * @psk: key that the peer proved to have, or NULL
 * @encrypted: the peer wants to encrypt
 *
 * Context: process.
 * Return: 0, or the reason to refuse the connection.
 */
enum rchar_reason rchar_link_admits(struct net *net, const struct sockaddr_storage *local,
				    const struct sockaddr_storage *peer,
				    const struct rchar_psk *psk, bool encrypted)
{
	return link_ops->admits(net, local, peer, psk, encrypted);
}

/**
 * rchar_link_ends() - get the addresses of both ends
 * @link: the link
 * @local: set to the address of this host; may be NULL
 * @peer: set to the address of the peer; may be NULL
 *
 * Context: any but hard interrupt.
 */
void rchar_link_ends(struct rchar_link *link, struct sockaddr_storage *local,
		     struct sockaddr_storage *peer)
{
	spin_lock_bh(&link->lock);
	if (local)
		*local = link->local;
	if (peer)
		*peer = link->peer;
	spin_unlock_bh(&link->lock);
}

/**
 * rchar_link_set_ends() - change the addresses of an acceptor's link: the peer has moved
 * @link: the link, with a key
 * @local: address of this host
 * @peer: address of the peer
 */
void rchar_link_set_ends(struct rchar_link *link, const struct sockaddr_storage *local,
			 const struct sockaddr_storage *peer)
{
	spin_lock_bh(&link->lock);
	link->local = *local;
	link->peer = *peer;
	spin_unlock_bh(&link->lock);
}

/**
 * rchar_link_key_name() - return the name of the link's key on this host; "" without a key
 * @link: the link
 */
const char *rchar_link_key_name(const struct rchar_link *link)
{
	return link->psk ? link->psk->name : "";
}

/**
 * rchar_link_bad_frame() - count and log a frame that violates the protocol
 * @link: the link
 * @hdr: header of the frame
 * @err: what is wrong with the frame
 */
void rchar_link_bad_frame(struct rchar_link *link, const struct rchar_hdr *hdr,
			  enum rchar_frame_error err)
{
	struct sockaddr_storage peer;

	rchar_link_ends(link, NULL, &peer);
	rchar_stats_inc(&link->traffic.stats.bad_frames);
	atomic64_inc(&nr_bad_frames);
	pr_warn_ratelimited(
		"link %u: bad frame from %pISpc: %s (op %u flags %#x len %u session %u seq %u ack %u credits %u)\n",
		link->serial, &peer, rchar_frame_error_name(err), hdr->op, hdr->flags, hdr->len,
		hdr->session, hdr->seq, hdr->ack, hdr->credits);
}

/**
 * rchar_link_bad_frames() - count the bad frames on all links since module load
 *
 * Return: number of frames.
 */
u64 rchar_link_bad_frames(void)
{
	return atomic64_read(&nr_bad_frames);
}

/**
 * rchar_link_init() - initialize at module load; called by link_life.c
 * @ops: callbacks to the sessions
 * @works: work functions of links
 *
 * Return: 0 or -ENOMEM.
 */
int rchar_link_init(const struct rchar_link_ops *ops, const struct rchar_link_works *works)
{
	link_ops = ops;
	link_works = works;
	rchar_link_wq = alloc_workqueue("rchar_link", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return rchar_link_wq ? 0 : -ENOMEM;
}

/**
 * rchar_link_exit() - clean up at module unload, when no link is left
 */
void rchar_link_exit(void)
{
	destroy_workqueue(rchar_link_wq);
}
