// SPDX-License-Identifier: GPL-2.0
#include "acl.h"
#include <linux/in6.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include "base/addr.h"
#include "link/link.h"
#include "link/psk.h"

static atomic_t nr_guards; /* lists with @guards set */

/**
 * rchar_acl_create() - create an empty list, which permits everybody
 *
 * Context: process.
 * Return: the list, or NULL.
 */
struct rchar_acl *rchar_acl_create(void)
{
	return kzalloc(sizeof(struct rchar_acl), GFP_KERNEL);
}

/**
 * rchar_acl_guard() - complete the list of a listening channel
 * @acl: the list, or NULL
 */
void rchar_acl_guard(struct rchar_acl *acl)
{
	if (!acl || (!acl->nr_psks && !acl->nr_prefixes))
		return;
	acl->guards = true;
	atomic_inc(&nr_guards);
}

/**
 * rchar_acl_add_psk() - add a key
 * @acl: a list that no channel has yet, with less than RCHAR_KEYS_MAX keys
 * @psk: the key; the caller's reference is taken over
 */
void rchar_acl_add_psk(struct rchar_acl *acl, struct rchar_psk *psk)
{
	atomic_inc(&psk->channels);
	acl->psks[acl->nr_psks++] = psk;
}

/**
 * rchar_acl_copy() - create a list with parts of another one
 * @acl: the other list, or NULL
 * @psks: copy the keys
 * @prefixes: copy the addresses
 *
 * Context: process.
 * Return: the list, or NULL without memory.
 */
struct rchar_acl *rchar_acl_copy(const struct rchar_acl *acl, bool psks, bool prefixes)
{
	struct rchar_acl *copy = rchar_acl_create();
	unsigned int i;

	if (!copy || !acl)
		return copy;
	for (i = 0; psks && i < acl->nr_psks; i++)
		rchar_acl_add_psk(copy, rchar_psk_get(acl->psks[i]));
	if (prefixes) {
		copy->nr_prefixes = acl->nr_prefixes;
		memcpy(copy->prefixes, acl->prefixes, sizeof(copy->prefixes));
	}
	return copy;
}

static void acl_free(struct rcu_head *rcu)
{
	struct rchar_acl *acl = container_of(rcu, struct rchar_acl, rcu);

	while (acl->nr_psks--) {
		atomic_dec(&acl->psks[acl->nr_psks]->channels);
		rchar_psk_put(acl->psks[acl->nr_psks]);
	}
	kfree(acl);
}

/**
 * rchar_acl_put() - free a list that no channel has any more
 * @acl: the list, or NULL
 *
 * Context: any but hard interrupt. RCU readers may still use the list.
 */
void rchar_acl_put(struct rchar_acl *acl)
{
	if (!acl)
		return;
	if (acl->guards)
		atomic_dec(&nr_guards);
	call_rcu(&acl->rcu, acl_free);
}

/**
 * rchar_acl_psk() - return the key of a connecting channel, or NULL
 * @acl: its list, or NULL
 */
struct rchar_psk *rchar_acl_psk(const struct rchar_acl *acl)
{
	return acl && acl->nr_psks ? acl->psks[0] : NULL;
}

/*
 * Is a key good enough for a list? A deleted key is not, and its place in the list still keeps out
 * peers without a key.
 */
static bool acl_has_key(const struct rchar_acl *acl, const struct rchar_psk *psk)
{
	unsigned int i;

	if (!acl->nr_psks)
		return true;
	for (i = 0; psk && i < acl->nr_psks; i++)
		if (acl->psks[i] == psk)
			return true;
	return false;
}

static bool prefix_covers(const struct rchar_prefix *prefix, const struct sockaddr_storage *addr)
{
	struct in6_addr a, p = {};
	unsigned int bits = prefix->bits;

	if (prefix->family != addr->ss_family)
		return false;
	rchar_addr_to_bytes((u8 *)&a, addr);
	if (prefix->family == AF_INET) {
		__be32 v4;

		memcpy(&v4, prefix->addr, sizeof(v4));
		ipv6_addr_set_v4mapped(v4, &p);
		bits += 96;
	} else {
		memcpy(&p, prefix->addr, sizeof(p));
	}
	return ipv6_prefix_equal(&a, &p, bits);
}

static bool acl_has_address(const struct rchar_acl *acl, const struct sockaddr_storage *peer)
{
	unsigned int i;

	if (!acl->nr_prefixes)
		return true;
	for (i = 0; i < acl->nr_prefixes; i++)
		if (prefix_covers(&acl->prefixes[i], peer))
			return true;
	return false;
}

/**
 * rchar_acl_permits() - may a peer open the channel?
 * @acl: the list, or NULL
 * @peer: address of the peer
 * @psk: key that the peer proved to have, or NULL
 *
 * Context: any but hard interrupt.
 */
bool rchar_acl_permits(const struct rchar_acl *acl, const struct sockaddr_storage *peer,
		       const struct rchar_psk *psk)
{
	if (rchar_psk_deleted(psk))
		return false;
	return !acl || (acl_has_key(acl, psk) && acl_has_address(acl, peer));
}

/**
 * rchar_acl_permits_link() - may the peer of a link open the channel?
 * @acl: the list, or NULL
 * @link: the link
 *
 * Context: any but hard interrupt.
 */
bool rchar_acl_permits_link(const struct rchar_acl *acl, struct rchar_link *link)
{
	struct sockaddr_storage peer;

	rchar_link_ends(link, NULL, &peer);
	return rchar_acl_permits(acl, &peer, link->psk);
}

/**
 * rchar_acl_guarded() - does any listening channel of this host let not every host in?
 *
 * If so, this host tells no peer which names exist.
 */
bool rchar_acl_guarded(void)
{
	return atomic_read(&nr_guards);
}
