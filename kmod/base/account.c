// SPDX-License-Identifier: GPL-2.0
#include "account.h"
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include "addr.h"
#include "param.h"

static unsigned int peer_memory = 48;
module_param(peer_memory, uint, 0644);
MODULE_PARM_DESC(peer_memory,
		 "MiB that a peer address may make this host hold, beside receive buffers");

static unsigned int host_memory;
module_param(host_memory, uint, 0644);
MODULE_PARM_DESC(host_memory,
		 "MiB that all peers together may make this host hold; 0: an eighth of the memory");

static unsigned int peer_lanes = 64;
module_param(peer_lanes, uint, 0644);
MODULE_PARM_DESC(peer_lanes, "connections (lanes) that this host accepts from a peer address");

static unsigned int host_lanes;
module_param(host_lanes, uint, 0644);
MODULE_PARM_DESC(
	host_lanes,
	"connections accepted from all peers with a key, and from all others; 0: by memory");

static struct rchar_param depth = {
	.value = 32,
	.least = RCHAR_DEPTH_MIN,
	.most = RCHAR_DEPTH_MAX,
};
module_param_cb(depth, &rchar_param_ops, &depth, 0644);
MODULE_PARM_DESC(depth,
		 "frames on their way, in each direction of each lane of new links, 8 to 128");

/* Limit of the default of host_lanes. */
#define LANES_MAX 4096

/* Sessions of a peer that may linger, and bytes of replies to it, however much other peers hold. */
#define CLOSING_ALWAYS 256
#define REPLIES_ALWAYS SZ_4K

static DEFINE_SPINLOCK(accounts_lock); /* taken with bottom halves disabled */
static DEFINE_HASHTABLE(accounts, 8);
/* accounts_lock. Peers without a key, and peers with one, leave each other their places. */
static unsigned int accepted_lanes[2], half_open_lanes;
static u32 hash_seed; /* random, as peers choose the addresses that are hashed */
static atomic64_t host_held, host_lingering;

static u64 peer_max(void)
{
	return (u64)READ_ONCE(peer_memory) << 20;
}

static u64 host_max(void)
{
	u64 max = (u64)READ_ONCE(host_memory) << 20;

	return max ?: max_t(u64, (u64)totalram_pages() << PAGE_SHIFT >> 3, SZ_64M);
}

static u32 account_hash_of(const struct sockaddr_storage *addr)
{
	return rchar_addr_hash_host(addr, hash_seed);
}

static struct rchar_account *account_find(struct net *net, const struct sockaddr_storage *addr,
					  const void *owner)
{
	struct rchar_account *account;

	lockdep_assert_held(&accounts_lock);
	hash_for_each_possible(accounts, account, entry, account_hash_of(addr))
		if (account->net == net && account->owner == owner &&
		    rchar_addr_same_host(&account->addr, addr))
			return account;
	return NULL;
}

/**
 * rchar_account_get() - get the account of a peer, and add a user
 * @net: network namespace; the caller holds a reference for as long as the account
 * @addr: address of the peer
 * @owner: the peer's key, to which the caller holds a reference for as long as the account; or
 *	   NULL
 *
 * Context: process.
 * Return: the account, or NULL when memory is short.
 */
struct rchar_account *rchar_account_get(struct net *net, const struct sockaddr_storage *addr,
					const void *owner)
{
	struct rchar_account *fresh = kzalloc(sizeof(*fresh), GFP_KERNEL), *account;

	if (!fresh)
		return NULL;
	spin_lock_bh(&accounts_lock);
	account = account_find(net, addr, owner);
	if (!account) {
		account = fresh;
		fresh = NULL;
		account->net = net;
		account->addr = *addr;
		account->owner = owner;
		rchar_gate_init(&account->registering, RCHAR_REGISTERING_MAX);
		rchar_gate_init(&account->connecting, RCHAR_CONNECTING_MAX);
		hash_add(accounts, &account->entry, account_hash_of(addr));
	}
	account->users++;
	spin_unlock_bh(&accounts_lock);
	kfree(fresh);
	return account;
}

/**
 * rchar_account_put() - remove a user, and free the account with the last one
 * @account: from rchar_account_get()
 *
 * Context: any but hard interrupt.
 */
void rchar_account_put(struct rchar_account *account)
{
	bool last;

	spin_lock_bh(&accounts_lock);
	last = !--account->users;
	if (last)
		hash_del(&account->entry);
	spin_unlock_bh(&accounts_lock);
	if (!last)
		return;
	WARN_ON_ONCE(atomic64_read(&account->held) || atomic64_read(&account->replies) ||
		     atomic64_read(&account->lingering) || atomic_read(&account->imports) ||
		     atomic_read(&account->ending_imports) || atomic_read(&account->closing) ||
		     atomic_read(&account->waiting) || account->lanes || account->half_open ||
		     !rchar_gate_is_unused(&account->registering) ||
		     !rchar_gate_is_unused(&account->connecting));
	kfree(account);
}

/* ---- bytes ---- */

/* Add @bytes unless the sum would exceed @max. The sum never exceeds @max, even for a moment. */
static bool add_within(atomic64_t *sum, u64 bytes, u64 max)
{
	s64 old = atomic64_read(sum);

	do {
		if (bytes > max || old > (s64)(max - bytes))
			return false;
	} while (!atomic64_try_cmpxchg(sum, &old, old + bytes));
	return true;
}

/* Hold @bytes if the peer then holds at most @peer bytes, and all peers at most @host. */
static bool account_hold(struct rchar_account *account, u64 bytes, u64 peer, u64 host)
{
	if (!add_within(&account->held, bytes, peer))
		return false;
	if (add_within(&host_held, bytes, host))
		return true;
	atomic64_sub(bytes, &account->held);
	return false;
}

/* Reserve the last eighth for replies, so that one peer's memory does not block others' replies. */
static u64 but_replies(u64 max)
{
	return max - max / 8;
}

/*
 * Limit a peer to as much of the host's memory as is still free for the other peers, but to at
 * least 1 MiB.
 */
static u64 account_fair(u64 peer)
{
	u64 max = but_replies(host_max()), held = atomic64_read(&host_held);

	return min(peer, max_t(u64, max > held ? max - held : 0, SZ_1M));
}

/**
 * rchar_account_hold() - count memory held for a peer, within the peer's and the host's budget
 * @account: account of the peer
 * @bytes: bytes to count
 *
 * Context: any but hard interrupt.
 * Return: true; or false when the bytes do not fit. Nothing is counted then.
 */
bool rchar_account_hold(struct rchar_account *account, u64 bytes)
{
	return account_hold(account, bytes, account_fair(but_replies(peer_max())),
			    but_replies(host_max()));
}

/**
 * rchar_account_hold_half() - rchar_account_hold() within half the peer's budget
 * @account: account of the peer
 * @bytes: bytes to count
 *
 * For memory that the caller can replace by a smaller amount.
 *
 * Context: any but hard interrupt.
 * Return: as rchar_account_hold().
 */
bool rchar_account_hold_half(struct rchar_account *account, u64 bytes)
{
	return account_hold(account, bytes, account_fair(peer_max() / 2), but_replies(host_max()));
}

/**
 * rchar_account_hold_reply() - rchar_account_hold() for a reply, within the whole budgets
 * @account: account of the peer
 * @bytes: bytes to count, for rchar_account_release_reply()
 *
 * Replies are small, and may also use the eighth that is reserved for them. A peer's replies hold
 * at most as much as is still free for all others. Each of many peers that take none leaves half of
 * that to the next; REPLIES_ALWAYS bytes are therefore held even where nothing is left, as a reply
 * without memory breaks the connection.
 *
 * Context: any but hard interrupt.
 * Return: as rchar_account_hold().
 */
bool rchar_account_hold_reply(struct rchar_account *account, u64 bytes)
{
	u64 max = host_max(), held = atomic64_read(&host_held);
	u64 rest = max > held ? max - held : 0;

	if (!add_within(&account->replies, bytes, max_t(u64, rest, REPLIES_ALWAYS)))
		return false;
	if (account_hold(account, bytes, peer_max(), max))
		return true;
	if (atomic64_read(&account->replies) <= REPLIES_ALWAYS &&
	    account_hold(account, bytes, peer_max(), S64_MAX))
		return true;
	atomic64_sub(bytes, &account->replies);
	return false;
}

/**
 * rchar_account_release_reply() - undo rchar_account_hold_reply()
 * @account: account of the peer
 * @bytes: bytes given to rchar_account_hold_reply()
 *
 * Context: any but hard interrupt.
 */
void rchar_account_release_reply(struct rchar_account *account, u64 bytes)
{
	atomic64_sub(bytes, &account->replies);
	rchar_account_release(account, bytes);
}

/**
 * rchar_account_hold_always() - count memory that is already held, without any limit
 * @account: account of the peer
 * @bytes: bytes to count
 */
void rchar_account_hold_always(struct rchar_account *account, u64 bytes)
{
	atomic64_add(bytes, &host_held);
	atomic64_add(bytes, &account->held);
}

/**
 * rchar_account_hold_closing() - count the memory of a session that a program closes
 * @account: account of the peer
 * @bytes: bytes to count
 *
 * A session that cannot linger loses bytes on their way to the peer. For the first CLOSING_ALWAYS
 * sessions of a peer, the host's budget is therefore ignored.
 *
 * Return: true; or false when the bytes do not fit. Nothing is counted then.
 */
bool rchar_account_hold_closing(struct rchar_account *account, u64 bytes)
{
	if (!add_within(&account->held, bytes, peer_max()))
		return false;
	if (add_within(&host_held, bytes, host_max()))
		return true;
	if (atomic_read(&account->closing) < CLOSING_ALWAYS) {
		atomic64_add(bytes, &host_held);
		return true;
	}
	atomic64_sub(bytes, &account->held);
	return false;
}

/**
 * rchar_account_hold_beyond() - count memory whose size the administrator has chosen
 * @bytes: bytes to count
 *
 * The memory counts only for the host. Counting such memory against the peer would leave no budget
 * for the peer's other sessions.
 *
 * Return: true; or false when the host has no room. Nothing is counted then.
 */
bool rchar_account_hold_beyond(u64 bytes)
{
	return add_within(&host_held, bytes, but_replies(host_max()));
}

/**
 * rchar_account_release_beyond() - undo rchar_account_hold_beyond()
 * @bytes: bytes given to rchar_account_hold_beyond()
 */
void rchar_account_release_beyond(u64 bytes)
{
	atomic64_sub(bytes, &host_held);
}

/**
 * rchar_account_fits() - do more bytes fit in the peer's budget, whatever the host holds?
 * @account: account of the peer
 * @bytes: bytes in question
 */
bool rchar_account_fits(const struct rchar_account *account, u64 bytes)
{
	return atomic64_read(&account->held) + bytes <= but_replies(peer_max());
}

/**
 * rchar_account_is_full() - does the peer hold more than its budget and @more bytes?
 * @account: account of the peer
 * @more: bytes in addition to the budget
 */
bool rchar_account_is_full(const struct rchar_account *account, u64 more)
{
	return atomic64_read(&account->held) > (s64)(peer_max() + more);
}

/**
 * rchar_account_is_unfair() - does the peer hold more than its share of the host's free memory?
 * @account: account of the peer
 *
 * Other peers can reduce that share to 1 MiB.
 */
bool rchar_account_is_unfair(const struct rchar_account *account)
{
	return atomic64_read(&account->held) > (s64)account_fair(peer_max());
}

/**
 * rchar_account_release() - uncount memory that is freed, or that the program pays for from now on
 * @account: account of the peer
 * @bytes: bytes to uncount
 */
void rchar_account_release(struct rchar_account *account, u64 bytes)
{
	atomic64_sub(bytes, &host_held);
	WARN_ON_ONCE(atomic64_sub_return(bytes, &account->held) < 0);
}

/**
 * rchar_account_linger() - count the unacknowledged frames of a session that a program closes
 * @account: account of the peer
 * @bytes: memory of the frames
 *
 * The window bounds the memory of each such session, but not the number of sessions. The lingering
 * memory of one peer may be as large as the part of host_memory that is free of lingering memory,
 * and always 1 MiB. A session of any size fits while the peer has no other lingering memory.
 *
 * Context: any but hard interrupt.
 * Return: true; or false when the bytes do not fit. Nothing is counted then.
 */
bool rchar_account_linger(struct rchar_account *account, u64 bytes)
{
	u64 max = host_max(), all = atomic64_read(&host_lingering);

	if (bytes && atomic64_cmpxchg(&account->lingering, 0, bytes) &&
	    !add_within(&account->lingering, bytes, max_t(u64, max > all ? max - all : 0, SZ_1M)))
		return false;
	atomic64_add(bytes, &host_lingering);
	return true;
}

/**
 * rchar_account_unlinger() - uncount frames that are acknowledged or dropped
 * @account: account of the peer
 * @bytes: bytes to uncount, counted by rchar_account_linger()
 */
void rchar_account_unlinger(struct rchar_account *account, u64 bytes)
{
	atomic64_sub(bytes, &host_lingering);
	WARN_ON_ONCE(atomic64_sub_return(bytes, &account->lingering) < 0);
}

/**
 * rchar_account_lingering() - return the bytes that linger for all peers
 */
u64 rchar_account_lingering(void)
{
	return atomic64_read(&host_lingering);
}

/**
 * rchar_account_held() - return the bytes that all peers make this host hold
 */
u64 rchar_account_held(void)
{
	return atomic64_read(&host_held);
}

/**
 * rchar_account_leaves_room() - may a peer take one more slot of a channel that all peers share?
 * @mine: slots that the peer has in use, on all channels
 * @used: slots of the channel that are in use
 * @max: slots of the channel
 *
 * A peer may have three times as many slots as are still free: a single peer gets three quarters of
 * all slots. However many peers take their full share, the next peer gets slots too (Choudhury and
 * Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", 1998). When @max is
 * small, this does not reserve the last slot.
 */
bool rchar_account_leaves_room(unsigned int mine, unsigned int used, unsigned int max)
{
	return used < max && min(mine, used) < 3 * (u64)(max - used);
}

/* ---- connections ---- */

/*
 * Limit accepted lanes so that the receive buffers of peers without a key use at most a quarter of
 * the memory, and those of peers with a key another quarter; or as the administrator says.
 */
static u64 lanes_max(void)
{
	u64 fit = totalram_pages() / 4 / DIV_ROUND_UP(READ_ONCE(depth.value) * SZ_64K, PAGE_SIZE);

	fit = max_t(u64, min_t(u64, fit, LANES_MAX), READ_ONCE(peer_lanes));
	return READ_ONCE(host_lanes) ?: fit;
}

/**
 * rchar_account_lane_depth() - return the most receive buffers of a lane of a new link
 *
 * As many frames may be in its send queue. On an encrypted lane, each of those has a sealed copy
 * until its completion, so a peer that takes no frames keeps so many copies alive.
 */
u16 rchar_account_lane_depth(void)
{
	return READ_ONCE(depth.value);
}

/**
 * rchar_account_lanes_per_key() - return how many lanes all peers with one key may have together
 *
 * Half of what all keys may have: a host that signs requests for many addresses leaves room for
 * the holders of other keys.
 */
unsigned int rchar_account_lanes_per_key(void)
{
	return lanes_max() / 2;
}

/**
 * rchar_account_add_lanes() - count the lanes of a link that a peer initiates
 * @account: account of the peer
 * @lanes: lanes of the link
 *
 * Return: true; or false when the peer or all peers would have too many lanes. Nothing is counted
 * then.
 */
bool rchar_account_add_lanes(struct rchar_account *account, unsigned int lanes)
{
	unsigned int *all = &accepted_lanes[!!account->owner];
	bool ok;

	spin_lock_bh(&accounts_lock);
	ok = account->lanes + lanes <= READ_ONCE(peer_lanes) && *all + lanes <= lanes_max();
	if (ok) {
		account->lanes += lanes;
		*all += lanes;
	}
	spin_unlock_bh(&accounts_lock);
	return ok;
}

/**
 * rchar_account_del_lanes() - uncount the lanes of a link that is destroyed
 * @account: account of the peer
 * @lanes: lanes given to rchar_account_add_lanes()
 */
void rchar_account_del_lanes(struct rchar_account *account, unsigned int lanes)
{
	spin_lock_bh(&accounts_lock);
	account->lanes -= lanes;
	accepted_lanes[!!account->owner] -= lanes;
	spin_unlock_bh(&accounts_lock);
}

/**
 * rchar_account_begin_accept() - count a handshake that begins
 * @account: account of the peer
 *
 * Return: true; or false when too many handshakes are in progress, for that address or in total.
 * Nothing is counted then.
 */
bool rchar_account_begin_accept(struct rchar_account *account)
{
	bool ok;

	spin_lock_bh(&accounts_lock);
	ok = account->half_open < RCHAR_HALF_OPEN_PER_PEER &&
	     (account->owner || half_open_lanes < RCHAR_HALF_OPEN);
	if (ok) {
		account->half_open++;
		half_open_lanes += !account->owner;
	}
	spin_unlock_bh(&accounts_lock);
	return ok;
}

/**
 * rchar_account_end_accept() - uncount a handshake that has completed or failed
 * @account: account of the peer
 */
void rchar_account_end_accept(struct rchar_account *account)
{
	spin_lock_bh(&accounts_lock);
	account->half_open--;
	half_open_lanes -= !account->owner;
	spin_unlock_bh(&accounts_lock);
}

/**
 * rchar_account_init() - choose the hash seed at module load
 */
void rchar_account_init(void)
{
	hash_seed = get_random_u32();
}
