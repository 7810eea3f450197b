/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The access list of a channel. Listen: the keys and addresses of the hosts that may open the
 * channel. Connect: the one key that authenticates both hosts. A list never changes: a channel gets
 * another one.
 */
#ifndef RCHAR_ACL_H
#define RCHAR_ACL_H

#include <linux/rcupdate.h>
#include <linux/socket.h>
#include <linux/types.h>
#include "uapi/linux/rdma_char.h"

struct net;
struct rchar_link;
struct rchar_psk;

/**
 * struct rchar_acl - an access list
 * @rcu: for call_rcu(): peers' requests look at lists under RCU
 * @guards: the list is that of a listening channel and lets not every host in; counted by
 *	    rchar_acl_guarded()
 * @nr_psks: number of @psks; 0: no key is asked for
 * @nr_prefixes: number of @prefixes; 0: every address
 * @psks: keys, with references, also of keys that were deleted meanwhile
 * @prefixes: addresses
 */
struct rchar_acl {
	struct rcu_head rcu;
	bool guards;
	unsigned int nr_psks;
	unsigned int nr_prefixes;
	struct rchar_psk *psks[RCHAR_KEYS_MAX];
	struct rchar_prefix prefixes[RCHAR_PREFIXES_MAX];
};

struct rchar_acl *rchar_acl_create(void);
void rchar_acl_guard(struct rchar_acl *acl);
struct rchar_acl *rchar_acl_copy(const struct rchar_acl *acl, bool psks, bool prefixes);
void rchar_acl_add_psk(struct rchar_acl *acl, struct rchar_psk *psk);
void rchar_acl_put(struct rchar_acl *acl);
struct rchar_psk *rchar_acl_psk(const struct rchar_acl *acl);
bool rchar_acl_permits(const struct rchar_acl *acl, const struct sockaddr_storage *peer,
		       const struct rchar_psk *psk);
bool rchar_acl_permits_link(const struct rchar_acl *acl, struct rchar_link *link);
bool rchar_acl_guarded(void);

#endif /* RCHAR_ACL_H */
