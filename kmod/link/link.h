/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A link is the association between this host and one peer endpoint. A link outlives its
 * connections, and reconnects by itself. A link carries every session between its endpoints.
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
#include "base/gate.h"
#include "flows.h"
#include "proto/state.h"

struct net;
struct rchar_account;
struct rchar_lane;
struct rchar_psk;

/* Most seconds of a keepalive interval. */
#define RCHAR_KEEPALIVE_MAX 250

struct rchar_link;

/**
 * struct rchar_link_ops - callbacks from a link to its sessions
 * @up: the link is UP, for the first time or again: frames flow
 * @lost: the sessions cannot continue, for @reason. The peer does not know the sessions any more,
 *	  this host gives up the link, or the module unloads. Except at unload, the link resets
 *	  the flows next.
 * @denied: an attempt was refused: sessions that wait for their first answer of the peer fail
 * @cut: the link never comes up again: all sessions end
 * @moved: the address of the peer has changed. With rchar_links_lock held.
 * @admits: may a peer at the address @peer with the key @psk, or without a key, connect to the
 *	    address @local, encrypted or not? Returns 0, or the reason to refuse.
 * @expire: the link has been down for @down_ms
 * @state_changed: &rchar_link.state has changed; only for links that this host initiates
 * @traffic: callbacks for frames; their &struct rchar_traffic is the one embedded in a link
 *
 * Context: process, except for @traffic. @state_changed also runs in the context of a completion
 * queue.
 */
struct rchar_link_ops {
	void (*up)(struct rchar_link *link);
	void (*lost)(struct rchar_link *link, enum rchar_reason reason);
	void (*denied)(struct rchar_link *link, enum rchar_reason reason);
	void (*cut)(struct rchar_link *link, enum rchar_reason reason);
	void (*moved)(struct rchar_link *link);
	enum rchar_reason (*admits)(struct net *net, const struct sockaddr_storage *local,
				    const struct sockaddr_storage *peer,
				    const struct rchar_psk *psk, bool encrypted);
	void (*expire)(struct rchar_link *link, unsigned long down_ms);
	void (*state_changed)(struct rchar_link *link);
	const struct rchar_traffic_ops *traffic;
};

/**
 * struct rchar_link_works - work functions of a link
 * @connect: for &rchar_link.connect_work
 * @lanes: for &rchar_link.lanes_work
 * @up: for &rchar_link.up_work
 * @tick: for &rchar_link.tick_work
 * @evict: for &rchar_link.evict_work
 * @destroy: for &rchar_link.destroy_work
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
 * struct rchar_link_settings - what channels that connect choose for their link
 * @lanes: connections, 1 to RCHAR_WIRE_LANES_MAX; 0: as many as the module parameter says
 * @keepalive: keepalive interval, 1 to RCHAR_KEEPALIVE_MAX seconds; 0: the module parameter
 * @tos: type of service (IPv4) or traffic class (IPv6, InfiniBand) of all packets
 */
struct rchar_link_settings {
	u8 lanes;
	u8 keepalive;
	u8 tos;
};

/**
 * struct rchar_endpoint - what tells one link from another
 * @net: network namespace
 * @local: address of this host; on the initiator the source address, or family AF_UNSPEC
 * @peer: address of the peer; on the initiator with the port to connect to
 * @psk: the key that both hosts must have, or NULL
 * @encrypted: the connections are encrypted; @psk is not NULL
 * @settings: of the initiator; on the acceptor only the lanes of the initiator
 */
struct rchar_endpoint {
	struct net *net;
	struct sockaddr_storage local;
	struct sockaddr_storage peer;
	struct rchar_psk *psk;
	bool encrypted;
	struct rchar_link_settings settings;
};

/**
 * struct rchar_link - one peer endpoint
 * @ref: keeps the memory: one for the table, one for each user, lane and running lookup
 * @users: channels and sessions; on the acceptor also lanes. When the last user is dropped,
 *	   @destroy_work runs.
 * @entry: entry of the table of links; for links.c
 * @serial: number of the link on this host, not reused before 2^32 others
 * @net: network namespace; holds a reference
 * @initiator: this host sends the connection requests
 * @local: address of this host. On the initiator the source address, or family AF_UNSPEC. With a
 *	   key @local and @peer of an acceptor follow the peer: @lock, and rchar_link_ends().
 * @peer: address of the peer. On the initiator with the port to connect to.
 * @psk: the key that authenticates both hosts, with a reference; NULL: none
 * @encrypted: as in &struct rchar_endpoint
 * @settings: as in &struct rchar_endpoint
 * @keepalive: keepalive interval that this host wants, in seconds
 * @keepalive_ms: keepalive interval in use, the shorter of those that the hosts want. A lane whose
 *		  peer is silent for about this long sends a PING. A lane fails when its peer is
 *		  silent, or its send queue is stuck, for three times as long.
 * @id: id on the wire, chosen by the initiator
 * @epoch: chosen by the acceptor; marks one unbroken sequence of frames
 * @attempt: number of the connection attempt, shared by all lanes of that attempt. On the
 *	     acceptor the last attempt whose first lane was admitted.
 * @lock: protects @state, @reason, @failures, @lanes, @accepting and the times
 * @state: see rchar_link_move_legal()
 * @reason: why the link last went down
 * @reason_at: jiffies when @reason was set
 * @up_at: jiffies when the link last came up
 * @down_at: jiffies when the link last went down after useful time, see was_of_use()
 * @was_up: the link was UP before the last move to DOWN
 * @failures: consecutive failed attempts
 * @next_at: jiffies of the next attempt
 * @nr_lanes: lanes of the link: all connect, or none. The initiator chooses the number.
 * @depth: depth of each lane, see rchar_account_lane_depth(). A link keeps the depth with which its
 *	   lanes were counted.
 * @lanes: slots for lanes; NULL for an empty slot
 * @accepting: acceptor: lanes whose handshake is not complete, and which have no slot yet
 * @account: account of the peer's address, which counts the memory that the peer occupies
 * @dead_bytes: the part of @account that sessions of this link left in frames that the peer does
 *		not acknowledge
 * @sessions: sessions by id; has its own lock. Holds a reference to each session.
 * @nr_sessions: number of @sessions
 * @next_session: id at which the search for a free id starts
 * @ops: callbacks to the sessions
 * @connect_work: starts an attempt with the first lane; initiator only
 * @turn: @connect_work makes an attempt while it is inside &rchar_account.connecting
 * @up_work: calls &rchar_link_ops.up
 * @evict: the peer is over its budget: drop what this host keeps for the peer. Written with
 *	   rchar_links_lock held.
 * @evict_work: sets @evict, and fails the lanes, when the peer is over its budget
 * @lanes_work: connects the other lanes when the first lane is up; initiator only
 * @tick_work: keepalive while the link is UP, otherwise expiry of sessions
 * @destroy_work: destroys the link
 * @wait: woken when a lane is torn down
 * @traffic: state that the flows share
 * @flows: one flow for each lane; flows outlive the lanes
 */
struct rchar_link {
	struct kref ref;
	refcount_t users;
	struct hlist_node entry;
	u32 serial;
	struct net *net;
	bool initiator;
	struct sockaddr_storage local;
	struct sockaddr_storage peer;
	struct rchar_psk *psk;
	bool encrypted;
	struct rchar_link_settings settings;
	u8 keepalive;
	unsigned int keepalive_ms;
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
	u16 depth;
	struct rchar_lane *lanes[RCHAR_WIRE_LANES_MAX];
	struct list_head accepting;
	struct rchar_account *account;
	atomic64_t dead_bytes;
	struct xarray sessions;
	atomic_t nr_sessions;
	u32 next_session;
	const struct rchar_link_ops *ops;
	struct delayed_work connect_work;
	struct rchar_gate_user turn;
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
struct rchar_link *rchar_link_connect(const struct rchar_endpoint *ends);
void rchar_link_ends(struct rchar_link *link, struct sockaddr_storage *local,
		     struct sockaddr_storage *peer);
const char *rchar_link_key_name(const struct rchar_link *link);
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

/* ---- for the files that connect, accept and destroy links, and for lanes ---- */
/*
 * Protects the table of links. Also makes an attempt, a request and the deletion of a key exclude
 * each other. Never held while calling the CM.
 */
extern struct mutex rchar_links_lock;
extern bool rchar_links_closed;
extern struct workqueue_struct *rchar_link_wq;

struct rchar_link *rchar_link_create(const struct rchar_endpoint *ends, bool initiator, u64 id);
enum rchar_reason rchar_link_admits(struct net *net, const struct sockaddr_storage *local,
				    const struct sockaddr_storage *peer,
				    const struct rchar_psk *psk, bool encrypted);
void rchar_link_set_ends(struct rchar_link *link, const struct sockaddr_storage *local,
			 const struct sockaddr_storage *peer);
bool rchar_link_move(struct rchar_link *link, enum rchar_link_state to, enum rchar_reason reason);
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
u32 rchar_link_resumable_epoch(const struct rchar_link *link, const struct rchar_lane *lane);
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
