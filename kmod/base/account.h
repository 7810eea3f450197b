/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Accounts: the bytes and connections that each peer makes this host hold. A peer is an address,
 * and the key that it has proved. All links to one peer share its account, so more links do not
 * raise a peer's limits, and strangers who claim the address of a peer with a key do not lower
 * them.
 * Documentation/design.rst, "What a peer can make this host hold", lists every entry.
 */
#ifndef RCHAR_ACCOUNT_H
#define RCHAR_ACCOUNT_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/socket.h>
#include <linux/types.h>
#include "gate.h"

struct net;

/*
 * Limits of the lanes whose handshake is not complete: of one peer, and of all peers without a key.
 * A link of 16 lanes may connect all lanes at once.
 */
#define RCHAR_HALF_OPEN_PER_PEER 16
#define RCHAR_HALF_OPEN		 64

/*
 * Sessions of a peer for which this host registers memory at once: each occupies a thread of
 * rchar_export while the peer, which may be slow on purpose, takes the frames before the
 * registration.
 */
#define RCHAR_REGISTERING_MAX 8

/*
 * Attempts to connect to one peer at once: as many as it handles at once for this host. A host with
 * many links to a peer has as many to connect after an outage, and the peer refuses those that it
 * cannot handle (RCHAR_REASON_BUSY). A link of several lanes connects the others when the first one
 * is up.
 */
#define RCHAR_CONNECTING_MAX RCHAR_HALF_OPEN_PER_PEER

/*
 * Limits of the module parameter depth: the receive buffers of an idle lane, and
 * RCHAR_WIRE_CREDITS_MAX.
 */
#define RCHAR_DEPTH_MIN 8
#define RCHAR_DEPTH_MAX 128

/**
 * struct rchar_account - account of one peer
 * @entry: entry of the table of accounts; accounts_lock
 * @users: links that use the account; accounts_lock
 * @net: network namespace; the links hold references
 * @addr: the address; the port is ignored
 * @owner: the key that the peer proved to have, compared as a pointer; NULL: none
 * @held: bytes held for the peer
 * @replies: bytes of @held that are replies
 * @lingering: bytes that programs wrote before close(), and that the peer has not acknowledged
 * @imports: sessions that import memory of this host
 * @ending_imports: sessions of @imports that are DEAD and may still use registrations
 * @closing: sessions that linger
 * @waiting: sessions that no program has opened yet
 * @lanes: lanes of accepted links; accounts_lock
 * @half_open: lanes whose handshake is not complete, without those that know the
 *	       epoch of their link; accounts_lock
 * @registering: sessions of the peer for which this host registers memory; for types/export.c
 * @connecting: links of this host that make an attempt to connect to the peer; the second line is
 *		of those whose last attempt failed; for link/link_life.c
 */
struct rchar_account {
	struct hlist_node entry;
	unsigned int users;
	struct net *net;
	struct sockaddr_storage addr;
	const void *owner;
	atomic64_t held;
	atomic64_t replies;
	atomic64_t lingering;
	atomic_t imports;
	atomic_t ending_imports;
	atomic_t closing;
	atomic_t waiting;
	unsigned int lanes;
	unsigned int half_open;
	struct rchar_gate registering;
	struct rchar_gate connecting;
};

struct rchar_account *rchar_account_get(struct net *net, const struct sockaddr_storage *addr,
					const void *owner);
void rchar_account_put(struct rchar_account *account);

bool rchar_account_hold(struct rchar_account *account, u64 bytes);
bool rchar_account_hold_half(struct rchar_account *account, u64 bytes);
bool rchar_account_hold_reply(struct rchar_account *account, u64 bytes);
void rchar_account_release_reply(struct rchar_account *account, u64 bytes);
void rchar_account_hold_always(struct rchar_account *account, u64 bytes);
bool rchar_account_hold_closing(struct rchar_account *account, u64 bytes);
bool rchar_account_hold_beyond(u64 bytes);
void rchar_account_release_beyond(u64 bytes);
bool rchar_account_fits(const struct rchar_account *account, u64 bytes);
bool rchar_account_is_full(const struct rchar_account *account, u64 more);
bool rchar_account_is_unfair(const struct rchar_account *account);
bool rchar_account_linger(struct rchar_account *account, u64 bytes);
void rchar_account_unlinger(struct rchar_account *account, u64 bytes);
void rchar_account_release(struct rchar_account *account, u64 bytes);

bool rchar_account_add_lanes(struct rchar_account *account, unsigned int lanes);
u16 rchar_account_lane_depth(void);
unsigned int rchar_account_lanes_per_key(void);
void rchar_account_del_lanes(struct rchar_account *account, unsigned int lanes);
bool rchar_account_begin_accept(struct rchar_account *account);
void rchar_account_end_accept(struct rchar_account *account);

bool rchar_account_leaves_room(unsigned int mine, unsigned int used, unsigned int max);

u64 rchar_account_held(void);
u64 rchar_account_lingering(void);
void rchar_account_init(void);

#endif /* RCHAR_ACCOUNT_H */
