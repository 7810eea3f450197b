/* SPDX-License-Identifier: GPL-2.0 */
/* Check and parse requests of the netlink family. */
#ifndef RCHAR_PARSE_H
#define RCHAR_PARSE_H

#include <net/netlink.h>
#include "uapi/linux/rdma_char.h"

struct genl_info;
struct rchar_acl;
struct rchar_config;

extern const struct nla_policy rchar_parse_name_policy[RCHAR_A_CHANNEL_MAX + 1];
extern const struct nla_policy rchar_parse_new_policy[RCHAR_A_CHANNEL_MAX + 1];
extern const struct nla_policy rchar_parse_set_policy[RCHAR_A_CHANNEL_MAX + 1];
extern const struct nla_policy rchar_parse_key_policy[RCHAR_A_KEY_MAX + 1];
extern const struct nla_policy rchar_parse_link_policy[RCHAR_A_LINK_MAX + 1];
extern const struct nla_policy rchar_parse_session_policy[RCHAR_A_SESSION_MAX + 1];

int rchar_parse_refuse(struct genl_info *info, int attr, const char *words, int error);
int rchar_parse_missing(struct genl_info *info, const char *words);
int rchar_parse_once(struct genl_info *info);
int rchar_parse_name(struct genl_info *info, char *name);
int rchar_parse_key(struct genl_info *info, char *name);
int rchar_parse_acl(struct genl_info *info, const struct rchar_config *config,
		    const struct rchar_acl *old, struct rchar_acl **acl);
int rchar_parse_config(struct genl_info *info, struct rchar_config *config);
int rchar_parse_settings(struct genl_info *info, u32 type);
void rchar_parse_apply(struct genl_info *info, struct rchar_config *config);

#endif /* RCHAR_PARSE_H */
