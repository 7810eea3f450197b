// SPDX-License-Identifier: GPL-2.0
#include "links.h"
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/random.h>
#include "base/addr.h"
#include "base/inject.h"
#include "link.h"
#include "psk.h"

DEFINE_XARRAY_ALLOC1(rchar_links);

/* rchar_links_lock: by initiated_key() or by accepted_key(). */
static DEFINE_HASHTABLE(links, 10);
static u32 next_serial;
static u32 hash_seed; /* random, as peers choose ids and addresses */

/* Links of this host: by the peer's address and port, and by the settings. */
static u32 initiated_key(const struct sockaddr_storage *peer,
			 const struct rchar_link_settings *settings)
{
	return jhash_3words(rchar_addr_hash_host(peer, hash_seed), rchar_addr_port(peer),
			    settings->lanes | settings->keepalive << 8 | settings->tos << 16,
			    hash_seed);
}

/*
 * Links of peers: by the id on the wire, which a peer may choose again from each of its addresses.
 * With a key, the addresses of a link may change, and few links have the same id: is_accepted().
 */
static u32 accepted_key(u64 id, const struct rchar_psk *psk, const struct sockaddr_storage *peer)
{
	return jhash_3words(id, id >> 32, psk ? 0 : rchar_addr_hash_host(peer, hash_seed),
			    hash_seed);
}

static int add_to_table(struct rchar_link *link)
{
	int ret;

	if (!hash_seed)
		hash_seed = get_random_u32() | 1;
	ret = xa_alloc_cyclic(&rchar_links, &link->serial, link, XA_LIMIT(1, U32_MAX), &next_serial,
			      GFP_KERNEL);
	if (ret < 0)
		return ret;
	hash_add(links, &link->entry,
		 link->initiator ? initiated_key(&link->peer, &link->settings) :
				   accepted_key(link->id, link->psk, &link->peer));
	return 0;
}

/**
 * rchar_links_create() - create a link with one user, and add it to the table
 * @ends: addresses, key and settings
 * @initiator: this host sends the connection requests
 * @id: id on the wire
 *
 * Context: process, with rchar_links_lock held.
 * Return: as rchar_link_create().
 */
struct rchar_link *rchar_links_create(const struct rchar_endpoint *ends, bool initiator, u64 id)
{
	struct rchar_link *link = rchar_link_create(ends, initiator, id);

	lockdep_assert_held(&rchar_links_lock);
	if (link && add_to_table(link)) {
		rchar_link_put(link); /* the user's reference */
		rchar_link_put(link); /* the table's */
		return NULL;
	}
	return link;
}

/**
 * rchar_links_del() - take a link out of the table
 * @link: the link
 *
 * Context: process, with rchar_links_lock held.
 */
void rchar_links_del(struct rchar_link *link)
{
	lockdep_assert_held(&rchar_links_lock);
	xa_erase(&rchar_links, link->serial);
	hash_del(&link->entry);
}

static bool is_initiated(const struct rchar_link *link, const struct rchar_endpoint *ends)
{
	return link->initiator && link->net == ends->net && link->psk == ends->psk &&
	       link->encrypted == ends->encrypted &&
	       !memcmp(&link->settings, &ends->settings, sizeof(link->settings)) &&
	       rchar_addr_same_host(&link->local, &ends->local) &&
	       rchar_addr_equal(&link->peer, &ends->peer);
}

/*
 * Is the request for a lane of this link? A key is an identity, whatever the addresses are: the
 * peer may reconnect from another one. Without keys the addresses are the identity.
 */
static bool is_accepted(const struct rchar_link *link, const struct rchar_endpoint *ends, u64 id)
{
	if (link->initiator || link->id != id || link->net != ends->net || link->psk != ends->psk ||
	    link->encrypted != ends->encrypted)
		return false;
	return ends->psk || (rchar_addr_same_host(&link->peer, &ends->peer) &&
			     rchar_addr_equal(&link->local, &ends->local));
}

/* Add a user, unless the last one is gone already. */
static bool link_take(struct rchar_link *link)
{
	if (!refcount_inc_not_zero(&link->users))
		return false;
	rchar_link_get(link);
	return true;
}

/**
 * rchar_links_find_initiated() - find the link of this host to a peer endpoint
 * @ends: addresses, key and settings
 *
 * Context: process, with rchar_links_lock held.
 * Return: the link, with one more user, or NULL.
 */
struct rchar_link *rchar_links_find_initiated(const struct rchar_endpoint *ends)
{
	struct rchar_link *link;

	lockdep_assert_held(&rchar_links_lock);
	hash_for_each_possible(links, link, entry, initiated_key(&ends->peer, &ends->settings))
		if (is_initiated(link, ends) && link_take(link))
			return link;
	return NULL;
}

/**
 * rchar_links_find_accepted() - find the link of a peer
 * @ends: addresses and key
 * @id: id on the wire, which the peer chose
 *
 * Context: process, with rchar_links_lock held.
 * Return: the link, with one more user, or NULL.
 */
struct rchar_link *rchar_links_find_accepted(const struct rchar_endpoint *ends, u64 id)
{
	struct rchar_link *link, *found = NULL;
	unsigned int walked = 0;

	lockdep_assert_held(&rchar_links_lock);
	hash_for_each_possible(links, link, entry, accepted_key(id, ends->psk, &ends->peer)) {
		walked++;
		if (is_accepted(link, ends, id) && link_take(link)) {
			found = link;
			break;
		}
	}
	rchar_inject_walked(walked);
	return found;
}

/**
 * rchar_link_connect() - find or create the link to a peer endpoint; a new link connects
 * @ends: addresses, key and settings
 *
 * All channels with the same addresses, the same key, the same encryption and the same settings
 * share a link.
 *
 * Context: process.
 * Return: the link, with one more user. NULL without memory or when the module unloads.
 */
struct rchar_link *rchar_link_connect(const struct rchar_endpoint *ends)
{
	struct rchar_link *link;
	u64 id;

	mutex_lock(&rchar_links_lock);
	link = rchar_links_find_initiated(ends);
	if (link)
		goto out;
	do {
		get_random_bytes(&id, sizeof(id));
	} while (!id);
	/* Not with a key that was deleted after the caller found it. */
	link = rchar_psk_deleted(ends->psk) ? NULL : rchar_links_create(ends, true, id);
	if (link)
		rchar_link_schedule_connect(link, 0);
out:
	mutex_unlock(&rchar_links_lock);
	return link;
}

/**
 * rchar_link_next() - walk the table
 * @serial: serial of the previous link, 0 to start
 *
 * Return: the next link, with a reference, or NULL.
 */
struct rchar_link *rchar_link_next(u32 serial)
{
	unsigned long index = serial;
	struct rchar_link *link;

	mutex_lock(&rchar_links_lock);
	link = xa_find_after(&rchar_links, &index, ULONG_MAX, XA_PRESENT);
	if (link)
		rchar_link_get(link);
	mutex_unlock(&rchar_links_lock);
	return link;
}

/**
 * rchar_link_find() - find a link by its serial
 * @net: network namespace
 * @serial: number of the link on this host. The id on the wire would not do: peers choose that
 *	    id, and two peers may choose the same one.
 *
 * Return: the link, with a reference, or NULL.
 */
struct rchar_link *rchar_link_find(struct net *net, u64 serial)
{
	struct rchar_link *link = NULL;

	mutex_lock(&rchar_links_lock);
	if (serial <= U32_MAX)
		link = xa_load(&rchar_links, serial);
	if (link && link->net != net)
		link = NULL;
	if (link)
		rchar_link_get(link);
	mutex_unlock(&rchar_links_lock);
	return link;
}
