/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The association between this host and one peer endpoint. It outlives its
 * connections: it connects again by itself, and carries every session between the two.
 */
#ifndef RCHAR_LINK_H
#define RCHAR_LINK_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/socket.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include "flows.h"
#include "proto/state.h"

struct net;
struct rchar_account;
struct rchar_lane;

/* A silent peer is asked after this, and given up after three times as long. */
#define RCHAR_LINK_KEEPALIVE_MS		5000

struct rchar_link;

/**
 * struct rchar_link_ops - what the sessions of a link want to know
 * @up: frames flow (again)
 * @lost: the peer knows none of our sessions any more; flows are reset next
 * @expire: the link has been down for @down_ms
 * @state_changed: the link's state did
 * @traffic: what happens to frames; their &struct rchar_traffic is that of a link
 *
 * Context: process, but for @traffic.
 */
struct rchar_link_ops {
	void (*up)(struct rchar_link *link);
	void (*lost)(struct rchar_link *link, enum rchar_reason reason);
	void (*expire)(struct rchar_link *link, unsigned int down_ms);
	void (*state_changed)(struct rchar_link *link);
	const struct rchar_traffic_ops *traffic;
};

/**
 * struct rchar_link_works - what a link does by itself, see the fields of &struct rchar_link
 */
struct rchar_link_works {
	work_func_t connect;
	work_func_t lanes;
	work_func_t up;
	work_func_t tick;
	work_func_t evict;
	work_func_t destroy;
};

/**
 * struct rchar_link - one peer endpoint
 * @ref: memory: one for the table, one for each user, lane and running lookup
 * @users: channels and sessions; of an acceptor also its lanes. The link dies with
 *	   the last one.
 * @entry: of the table of links; links_lock
 * @serial: its number on this host, never reused
 * @net: network namespace; holds a reference
 * @initiator: this host calls
 * @local: own address; of an initiator the one to call from, or of family AF_UNSPEC
 * @peer: the peer's address; of an initiator with the port to call
 * @id: on the wire, chosen by the initiator
 * @epoch: chosen by the acceptor; marks one unbroken sequence of frames
 * @attempt: attempts to connect, all lanes in one; of an acceptor the last one seen
 * @lock: protects @state, @reason, @lanes and the times
 * @state: see rchar_link_move_legal()
 * @reason: why it last went down
 * @reason_at: jiffies of that
 * @up_at: jiffies when it last came up
 * @down_at: jiffies when it last went down after it had been of use
 * @was_up: it was, before it last went down
 * @failures: in a row
 * @next_at: jiffies of the next attempt
 * @nr_lanes: how many it has, all or none; the initiator chose when it made the link
 * @lanes: the connections, NULL where there is none
 * @accepting: acceptor: lanes that are not in a slot, as their handshake is not over
 * @account: what the peer's address makes this host hold
 * @dead_bytes: of that, what sessions of this link left in frames that the peer does not
 *		acknowledge
 * @sessions: by session id; its own lock. Holds a reference to each.
 * @nr_sessions: how many those are
 * @next_session: where to look for the next free id
 * @ops: the sessions
 * @connect_work: makes an attempt, with the first lane; initiator only
 * @up_work: tells the sessions that frames flow (again)
 * @evict: the peer is past its budget: what is kept for it is to be dropped; written with
 *	   rchar_links_lock
 * @evict_work: finds that, and does so
 * @lanes_work: connects the others when that one is up; initiator only
 * @tick_work: keepalive while up, expiry of sessions while down
 * @destroy_work: the end
 * @wait: woken when a lane is gone
 * @traffic: what its flows share
 * @flows: what of the lanes outlives them
 */
struct rchar_link {
	struct kref ref;
	refcount_t users;
	struct list_head entry;
	u32 serial;
	struct net *net;
	bool initiator;
	struct sockaddr_storage local;
	struct sockaddr_storage peer;
	u64 id;
	u32 epoch;
	u32 attempt;
	spinlock_t lock;
	enum rchar_link_state state;
	enum rchar_reason reason;
	unsigned long reason_at;
	unsigned long up_at;
	unsigned long down_at;
	bool was_up;
	u32 failures;
	unsigned long next_at;
	u8 nr_lanes;
	struct rchar_lane *lanes[RCHAR_WIRE_LANES_MAX];
	struct list_head accepting;
	struct rchar_account *account;
	atomic64_t dead_bytes;
	struct xarray sessions;
	atomic_t nr_sessions;
	u32 next_session;
	const struct rchar_link_ops *ops;
	struct delayed_work connect_work;
	struct work_struct up_work;
	bool evict;
	struct delayed_work evict_work;
	struct work_struct lanes_work;
	struct delayed_work tick_work;
	struct work_struct destroy_work;
	wait_queue_head_t wait;
	struct rchar_traffic traffic;
	struct rchar_flow flows[];
};

/* ---- for channels and sessions ---- */
struct rchar_link *rchar_link_connect(struct net *net,
				      const struct sockaddr_storage *local,
				      const struct sockaddr_storage *peer);
void rchar_link_use(struct rchar_link *link);
void rchar_link_unuse(struct rchar_link *link);

/* The flow that carries a session. */
static inline struct rchar_flow *rchar_link_flow(struct rchar_link *link, u32 session)
{
	return rchar_traffic_flow(&link->traffic, session);
}

/* ---- for netlink ---- */
struct rchar_link *rchar_link_next(u32 serial);
struct rchar_link *rchar_link_find(struct net *net, u64 serial);
u64 rchar_link_bad_frames(void);

/* ---- for those who make links live, and their lanes ---- */
extern struct mutex rchar_links_lock;
extern struct list_head rchar_links;
extern bool rchar_links_closed;
extern struct workqueue_struct *rchar_link_wq;

struct rchar_link *rchar_link_create(struct net *net, bool initiator, u64 id, u8 nr_lanes,
				     const struct sockaddr_storage *local,
				     const struct sockaddr_storage *peer);
bool rchar_link_move(struct rchar_link *link, enum rchar_link_state to,
		     enum rchar_reason reason);
void rchar_link_schedule_connect(struct rchar_link *link, u32 delay_ms);
bool rchar_link_no_lanes(struct rchar_link *link);
bool rchar_link_no_lanes_locked(struct rchar_link *link);
void rchar_link_for_each_lane(struct rchar_link *link,
			      void (*fn)(struct rchar_lane *lane, enum rchar_reason reason),
			      enum rchar_reason reason);
struct rchar_lane *rchar_link_new_lane(struct rchar_link *link, u8 index);
bool rchar_link_slot_free(struct rchar_link *link, const struct rchar_lane *lane);
bool rchar_link_lane_add(struct rchar_link *link, struct rchar_lane *lane);
void rchar_link_lane_up(struct rchar_link *link, struct rchar_lane *lane);
void rchar_link_forget(struct rchar_link *link, u32 epoch, enum rchar_reason reason);
u32 rchar_link_new_epoch(u32 old);
bool rchar_link_continues(struct rchar_link *link, const struct rchar_lane *lane);
void rchar_link_take_over(struct rchar_link *link, struct rchar_lane *lane, bool same);
void rchar_link_bad_frame(struct rchar_link *link, const struct rchar_hdr *hdr,
			  enum rchar_frame_error err);

void rchar_link_put(struct rchar_link *link);

static inline void rchar_link_get(struct rchar_link *link)
{
	kref_get(&link->ref);
}

int rchar_link_init(const struct rchar_link_ops *ops, const struct rchar_link_works *works);
void rchar_link_exit(void);

#endif /* RCHAR_LINK_H */
