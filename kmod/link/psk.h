/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pre-shared keys: each is the identity of a peer host, or of a group of hosts. 'rchar key add'
 * makes one. In the tool and the documents a pre-shared key is a "key"; in the code "key" alone is
 * mostly an rkey.
 */
#ifndef RCHAR_PSK_H
#define RCHAR_PSK_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include "proto/auth.h"
#include "uapi/linux/rdma_char.h"

struct net;

/* Limit of the keys on the host: a connection request may make the host look at all of them. */
#define RCHAR_PSKS_MAX 4096

/**
 * struct rchar_psk - one pre-shared key
 * @ref: one reference each for the table, each link, and each access list
 * @entry: entry of the table; psks_lock
 * @net: network namespace; not a reference. The end of the namespace deletes its keys.
 * @serial: number of the key on this host, never reused
 * @name: name of the key on this host
 * @key: what is derived from the secret. The secret itself is not kept.
 * @deleted: the key is out of the table, and authenticates nobody any more. Set without a lock;
 *	     code that makes or admits connections looks with rchar_links_lock held, which
 *	     rchar_link_psk_deleted() takes afterwards.
 * @channels: channels that list the key
 * @links: links that use the key
 * @lanes: lanes of accepted links that use the key; rchar_links_lock for adding
 */
struct rchar_psk {
	struct kref ref;
	struct list_head entry;
	struct net *net;
	u32 serial;
	char name[RCHAR_NAME_MAX + 1];
	struct rchar_auth_key key;
	bool deleted;
	atomic_t channels;
	atomic_t links;
	atomic_t lanes;
};

int rchar_psk_add(struct net *net, const char *name, const u8 *secret);
int rchar_psk_del(struct net *net, const char *name);
struct rchar_psk *rchar_psk_find(struct net *net, const char *name);
struct rchar_psk *rchar_psk_next(struct net *net, u32 serial);
struct rchar_psk *rchar_psk_authenticate(struct net *net, u16 id,
					 const struct rchar_auth_transcript *transcript);
void rchar_psk_put(struct rchar_psk *psk);

/* Return @psk with one more reference; NULL for NULL. */
static inline struct rchar_psk *rchar_psk_get(struct rchar_psk *psk)
{
	if (psk)
		kref_get(&psk->ref);
	return psk;
}

static inline bool rchar_psk_deleted(const struct rchar_psk *psk)
{
	return psk && READ_ONCE(psk->deleted);
}

int rchar_psk_init(int (*deleted)(struct rchar_psk *psk));
void rchar_psk_exit(void);

#endif /* RCHAR_PSK_H */
