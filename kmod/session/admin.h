/* SPDX-License-Identifier: GPL-2.0 */
/* Add and delete channels, and change who may use them. */
#ifndef RCHAR_ADMIN_H
#define RCHAR_ADMIN_H

struct net;
struct netlink_ext_ack;
struct rchar_acl;
struct rchar_channel;
struct rchar_config;
struct rchar_type;

int rchar_channel_add(struct net *net, const struct rchar_config *config,
		      const struct rchar_type *type, struct rchar_acl *acl,
		      struct netlink_ext_ack *extack);
int rchar_channel_set_acl(struct rchar_channel *channel, struct rchar_acl *acl);
void rchar_channel_revoke(struct rchar_channel *channel);
int rchar_channel_del(struct net *net, const char *name);
void rchar_channel_del_all(void);

#endif /* RCHAR_ADMIN_H */
