// SPDX-License-Identifier: GPL-2.0
#include "account.h"
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include "addr.h"

static unsigned int peer_memory = 48;
module_param(peer_memory, uint, 0644);
MODULE_PARM_DESC(peer_memory, "MiB that a peer address may make this host hold, beside receive buffers");

static unsigned int host_memory;
module_param(host_memory, uint, 0644);
MODULE_PARM_DESC(host_memory, "MiB that all peers together may make this host hold; 0: an eighth of the memory");

/* Sessions of a peer that may linger whatever others hold. */
#define CLOSING_ALWAYS	256

static DEFINE_SPINLOCK(accounts_lock);	/* bottom halves off */
static DEFINE_HASHTABLE(accounts, 8);
static unsigned int accepted_lanes, half_open_lanes;	/* accounts_lock */
static u32 hash_seed;	/* peers choose the addresses */
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

static struct rchar_account *account_find(struct net *net, const struct sockaddr_storage *addr)
{
	struct rchar_account *account;

	lockdep_assert_held(&accounts_lock);
	hash_for_each_possible(accounts, account, entry, account_hash_of(addr))
		if (account->net == net && rchar_addr_same_host(&account->addr, addr))
			return account;
	return NULL;
}

/**
 * rchar_account_get() - the account of a peer address, with one user more
 * @net: network namespace; the caller holds it for as long as the account
 * @addr: the address
 *
 * Context: process.
 * Return: the account, or NULL without memory.
 */
struct rchar_account *rchar_account_get(struct net *net,
					const struct sockaddr_storage *addr)
{
	struct rchar_account *fresh = kzalloc(sizeof(*fresh), GFP_KERNEL), *account;

	if (!fresh)
		return NULL;
	spin_lock_bh(&accounts_lock);
	account = account_find(net, addr);
	if (!account) {
		account = fresh;
		fresh = NULL;
		account->net = net;
		account->addr = *addr;
		hash_add(accounts, &account->entry, account_hash_of(addr));
	}
	account->users++;
	spin_unlock_bh(&accounts_lock);
	kfree(fresh);
	return account;
}

/**
 * rchar_account_put() - one user less
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
	WARN_ON_ONCE(atomic64_read(&account->held) || atomic64_read(&account->lingering) ||
		     atomic_read(&account->imports) || atomic_read(&account->ending_imports) ||
		     atomic_read(&account->closing) || atomic_read(&account->waiting) ||
		     account->lanes || account->half_open);
	kfree(account);
}

/* ---- bytes ---- */

/* Nobody sees a sum past @max that does not stay. */
static bool add_within(atomic64_t *sum, u64 bytes, u64 max)
{
	s64 old = atomic64_read(sum);

	do {
		if (bytes > max || old > (s64)(max - bytes))
			return false;
	} while (!atomic64_try_cmpxchg(sum, &old, old + bytes));
	return true;
}

/* Within @peer bytes for the peer, and @host for all. */
static bool account_hold(struct rchar_account *account, u64 bytes, u64 peer, u64 host)
{
	if (!add_within(&account->held, bytes, peer))
		return false;
	if (add_within(&host_held, bytes, host))
		return true;
	atomic64_sub(bytes, &account->held);
	return false;
}

/* The last eighth is for answers: a peer that hoards must not keep others from theirs. */
static u64 but_replies(u64 max)
{
	return max - max / 8;
}

/*
 * Of the host's memory a peer may have as much as is still free for others, and a little
 * always.
 */
static u64 account_fair(u64 peer)
{
	u64 max = but_replies(host_max()), held = atomic64_read(&host_held);

	return min(peer, max_t(u64, max > held ? max - held : 0, SZ_1M));
}

/**
 * rchar_account_hold() - hold memory for a peer, within its budget and the host's
 * @account: of the peer
 * @bytes: how many
 *
 * Context: any but hard interrupt.
 * Return: false when they do not fit: nothing is counted.
 */
bool rchar_account_hold(struct rchar_account *account, u64 bytes)
{
	return account_hold(account, bytes, account_fair(but_replies(peer_max())),
			    but_replies(host_max()));
}

/**
 * rchar_account_hold_half() - the same, while the peer has used less than half its budget
 * @account: of the peer
 * @bytes: how many
 *
 * For what is good to have and can be smaller.
 */
bool rchar_account_hold_half(struct rchar_account *account, u64 bytes)
{
	return account_hold(account, bytes, account_fair(peer_max() / 2), but_replies(host_max()));
}

/**
 * rchar_account_hold_reply() - the same for an answer, which is small and never refused before
 *				all the rest is
 * @account: of the peer
 * @bytes: how many
 */
bool rchar_account_hold_reply(struct rchar_account *account, u64 bytes)
{
	return account_hold(account, bytes, peer_max(), host_max());
}

/**
 * rchar_account_hold_always() - count what is held already
 * @account: of the peer
 * @bytes: how many
 */
void rchar_account_hold_always(struct rchar_account *account, u64 bytes)
{
	atomic64_add(bytes, &host_held);
	atomic64_add(bytes, &account->held);
}

/**
 * rchar_account_hold_closing() - hold what a session needs that a program has closed
 * @account: of the peer
 * @bytes: how many
 *
 * Without it the peer loses bytes, so what other peers hold does not count for the first few.
 *
 * Return: false when they do not fit: nothing is counted.
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
 * rchar_account_hold_beyond() - hold memory that the administrator's choice made large
 * @bytes: how many
 *
 * It counts for the host, and not against the peer: that could do nothing else any more.
 *
 * Return: false when the host has no room: nothing is counted.
 */
bool rchar_account_hold_beyond(u64 bytes)
{
	return add_within(&host_held, bytes, but_replies(host_max()));
}

/**
 * rchar_account_release_beyond() - that memory is free
 * @bytes: as they were held
 */
void rchar_account_release_beyond(u64 bytes)
{
	atomic64_sub(bytes, &host_held);
}

/**
 * rchar_account_fits() - would rchar_account_hold() have room, if the host had?
 * @account: of the peer
 * @bytes: how many
 */
bool rchar_account_fits(const struct rchar_account *account, u64 bytes)
{
	return atomic64_read(&account->held) + bytes <= but_replies(peer_max());
}

/**
 * rchar_account_is_full() - does the peer have so much more than its budget?
 * @account: of the peer
 * @more: bytes
 */
bool rchar_account_is_full(const struct rchar_account *account, u64 more)
{
	return atomic64_read(&account->held) > (s64)(peer_max() + more);
}

/**
 * rchar_account_is_unfair() - does the peer have more than its share of what the host has left?
 * @account: of the peer
 *
 * Others can make that share as small as 1 MiB.
 */
bool rchar_account_is_unfair(const struct rchar_account *account)
{
	return atomic64_read(&account->held) > (s64)account_fair(peer_max());
}

/**
 * rchar_account_release() - the memory is free
 * @account: of the peer
 * @bytes: how many
 */
void rchar_account_release(struct rchar_account *account, u64 bytes)
{
	atomic64_sub(bytes, &host_held);
	WARN_ON_ONCE(atomic64_sub_return(bytes, &account->held) < 0);
}

/**
 * rchar_account_linger() - a program closed, and the peer has not acknowledged what it wrote
 * @account: of the peer
 * @bytes: memory of that
 *
 * It is the program's memory, within its window; but there may be any number of such programs.
 * A peer may leave as much of host_memory as is still free for others, and 1 MiB always; the
 * first one is as large as its window is.
 *
 * Context: any but hard interrupt.
 * Return: false when they do not fit: nothing is counted.
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
 * rchar_account_unlinger() - that is acknowledged, or given up
 * @account: of the peer
 * @bytes: as they were counted
 */
void rchar_account_unlinger(struct rchar_account *account, u64 bytes)
{
	atomic64_sub(bytes, &host_lingering);
	WARN_ON_ONCE(atomic64_sub_return(bytes, &account->lingering) < 0);
}

/**
 * rchar_account_lingering() - bytes that programs wrote and closed, and no peer acknowledged
 */
u64 rchar_account_lingering(void)
{
	return atomic64_read(&host_lingering);
}

/**
 * rchar_account_held() - bytes that all peers make this host hold
 */
u64 rchar_account_held(void)
{
	return atomic64_read(&host_held);
}

/**
 * rchar_account_leaves_room() - may a peer take one more of what all peers share?
 * @mine: how many it has, here and elsewhere
 * @used: how many are in use here
 * @max: how many there are here
 *
 * It may have three times as many as are still free: alone, three quarters of all. However many
 * peers take what they get, the next one gets something (Choudhury and Hahne, "Dynamic Queue
 * Length Thresholds for Shared-Memory Packet Switches", 1998). The last one of few is not kept.
 */
bool rchar_account_leaves_room(unsigned int mine, unsigned int used, unsigned int max)
{
	return used < max && min(mine, used) < 3 * (u64)(max - used);
}

/* ---- connections ---- */

/* Receive buffers of all of them are at most a quarter of the memory. */
static u64 lanes_max(void)
{
	u64 fit = ((u64)totalram_pages() << PAGE_SHIFT) / 4 / SZ_2M;

	return clamp_t(u64, fit, RCHAR_LANES_PER_PEER, RCHAR_LANES_ACCEPTED);
}

/**
 * rchar_account_add_lanes() - a peer makes a link
 * @account: of the peer
 * @lanes: lanes of the link
 *
 * Return: false when that is too many.
 */
bool rchar_account_add_lanes(struct rchar_account *account, unsigned int lanes)
{
	bool ok;

	spin_lock_bh(&accounts_lock);
	ok = account->lanes + lanes <= RCHAR_LANES_PER_PEER &&
	     accepted_lanes + lanes <= lanes_max();
	if (ok) {
		account->lanes += lanes;
		accepted_lanes += lanes;
	}
	spin_unlock_bh(&accounts_lock);
	return ok;
}

/**
 * rchar_account_del_lanes() - the link is gone
 * @account: of the peer
 * @lanes: as they were added
 */
void rchar_account_del_lanes(struct rchar_account *account, unsigned int lanes)
{
	spin_lock_bh(&accounts_lock);
	account->lanes -= lanes;
	accepted_lanes -= lanes;
	spin_unlock_bh(&accounts_lock);
}

/**
 * rchar_account_begin_accept() - a handshake begins
 * @account: of the peer
 * @known: the request knows the epoch of its link: it does not wait for those that do not
 *
 * Return: false when too many are under way, from that address or in all.
 */
bool rchar_account_begin_accept(struct rchar_account *account, bool known)
{
	bool ok;

	spin_lock_bh(&accounts_lock);
	ok = known || (account->half_open < RCHAR_HALF_OPEN_PER_PEER &&
		       half_open_lanes < RCHAR_HALF_OPEN);
	if (ok) {
		account->half_open++;
		half_open_lanes++;
	}
	spin_unlock_bh(&accounts_lock);
	return ok;
}

/**
 * rchar_account_end_accept() - it is over, one way or the other
 * @account: of the peer
 */
void rchar_account_end_accept(struct rchar_account *account)
{
	spin_lock_bh(&accounts_lock);
	account->half_open--;
	half_open_lanes--;
	spin_unlock_bh(&accounts_lock);
}

/**
 * rchar_account_init() - at module load
 */
void rchar_account_init(void)
{
	hash_seed = get_random_u32();
}
