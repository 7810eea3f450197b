// SPDX-License-Identifier: GPL-2.0
/*
 * The family and its requests. parse.c checks requests, fill.c fills replies, and notify.c sends
 * events. Documentation/netlink/specs/rdma_char.yaml is the specification.
 */
#include "netlink.h"
#include <linux/module.h>
#include <net/genetlink.h>
#include <net/sock.h>
#include "base/notify.h"
#include "fill.h"
#include "link/link.h"
#include "link/link_life.h"
#include "link/psk.h"
#include "parse.h"
#include "session/admin.h"
#include "session/channel.h"
#include "session/session.h"
#include "types/types.h"

static struct genl_family family;

/* ---- channels ---- */

static int channel_new(struct sk_buff *skb, struct genl_info *info)
{
	struct rchar_config config;
	struct rchar_acl *acl;
	int ret = rchar_parse_config(info, &config);

	if (!ret)
		ret = rchar_parse_acl(info, &config, NULL, &acl);
	if (ret)
		return ret;
	return rchar_channel_add(genl_info_net(info), &config,
				 rchar_types_find(config.type, config.role), acl, info->extack);
}

static int no_channel(struct genl_info *info)
{
	return rchar_parse_refuse(info, RCHAR_A_CHANNEL_NAME, "no channel of that name", -ENODEV);
}

static int channel_del(struct sk_buff *skb, struct genl_info *info)
{
	char name[RCHAR_NAME_MAX + 1];
	int ret = rchar_parse_name(info, name);

	if (ret)
		return ret;
	ret = rchar_channel_del(genl_info_net(info), name);
	return ret == -ENODEV ? no_channel(info) : ret;
}

/* Change the keys and addresses first: that may fail. */
static int channel_change(struct genl_info *info, struct rchar_channel *channel)
{
	struct rchar_acl *acl;
	int ret;

	/* A deletion under way may free the access list. It sets dead under the same mutex. */
	if (READ_ONCE(channel->dead))
		return no_channel(info);
	ret = rchar_parse_acl(info, &channel->config, rchar_channel_acl(channel), &acl);
	if (!ret && acl)
		ret = rchar_channel_set_acl(channel, acl);
	if (ret)
		return ret == -ENODEV ? no_channel(info) : ret;
	rchar_parse_apply(info, &channel->config);
	rchar_notify_channel(channel, RCHAR_CMD_CHANNEL_SET_NTF);
	return 0;
}

static int channel_set(struct sk_buff *skb, struct genl_info *info)
{
	struct rchar_channel *channel;
	char name[RCHAR_NAME_MAX + 1];
	int ret = rchar_parse_name(info, name);

	if (ret)
		return ret;
	channel = rchar_channel_find(genl_info_net(info), name);
	if (!channel)
		return no_channel(info);
	ret = rchar_parse_settings(info, channel->config.type);
	if (!ret) {
		rchar_channel_config_lock();
		ret = channel_change(info, channel);
		rchar_channel_config_unlock();
		/* Who is not permitted any more has no access when the administrator is told so. */
		rchar_channel_revoke(channel);
	}
	rchar_channel_put(channel);
	return ret;
}

static struct sk_buff *netlink_reply(struct genl_info *info, void **hdr)
{
	struct sk_buff *skb = genlmsg_new(RCHAR_FILL_SIZE, GFP_KERNEL);

	if (!skb)
		return NULL;
	*hdr = genlmsg_put_reply(skb, info, &family, 0, info->genlhdr->cmd);
	if (*hdr)
		return skb;
	nlmsg_free(skb);
	return NULL;
}

static int send_reply(struct sk_buff *skb, void *hdr, struct genl_info *info, int ret)
{
	if (ret) {
		nlmsg_free(skb);
		return ret;
	}
	genlmsg_end(skb, hdr);
	return genlmsg_reply(skb, info);
}

static int channel_get(struct sk_buff *skb, struct genl_info *info)
{
	struct rchar_channel *channel;
	char name[RCHAR_NAME_MAX + 1];
	int ret = rchar_parse_name(info, name);
	struct sk_buff *msg;
	void *hdr;

	if (ret)
		return ret;
	channel = rchar_channel_find(genl_info_net(info), name);
	if (!channel)
		return no_channel(info);
	msg = netlink_reply(info, &hdr);
	if (msg) {
		rchar_channel_config_lock();
		ret = rchar_fill_channel(msg, channel);
		rchar_channel_config_unlock();
		ret = send_reply(msg, hdr, info, ret);
	} else {
		ret = -ENOMEM;
	}
	rchar_channel_put(channel);
	return ret;
}

/* ---- keys ---- */

static int key_refusal(struct genl_info *info, int ret)
{
	switch (ret) {
	case -EEXIST:
		return rchar_parse_refuse(info, RCHAR_A_KEY_NAME, "a key of that name exists", ret);
	case -ENOTUNIQ:
		return rchar_parse_refuse(info, RCHAR_A_KEY_SECRET,
					  "another key has the same secret", -EEXIST);
	case -ENOSPC:
		return rchar_parse_refuse(info, RCHAR_A_KEY_NAME, "there are 4096 keys already",
					  ret);
	default:
		return ret;
	}
}

static int add_secret(struct genl_info *info, const char *name, struct nlattr *secret)
{
	static const u8 zero[RCHAR_KEY_LEN];
	int ret;

	if (nla_len(secret) != RCHAR_KEY_LEN)
		return rchar_parse_refuse(info, RCHAR_A_KEY_SECRET, "a secret has 32 bytes",
					  -EINVAL);
	if (rchar_auth_same(nla_data(secret), zero, sizeof(zero)))
		return rchar_parse_refuse(info, RCHAR_A_KEY_SECRET, "the secret is all zero",
					  -EINVAL);
	ret = rchar_psk_add(genl_info_net(info), name, nla_data(secret));
	return ret ? key_refusal(info, ret) : 0;
}

static int key_new(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *secret = info->attrs[RCHAR_A_KEY_SECRET];
	char name[RCHAR_NAME_MAX + 1];
	int ret = rchar_parse_key(info, name);

	if (!ret && !secret)
		ret = rchar_parse_missing(info, "the secret is missing");
	if (!ret)
		ret = add_secret(info, name, secret);
	/* The request is freed next: nothing of the secret stays in memory. */
	if (secret)
		memzero_explicit(nla_data(secret), nla_len(secret));
	return ret;
}

static int key_del(struct sk_buff *skb, struct genl_info *info)
{
	char name[RCHAR_NAME_MAX + 1];
	int ret = rchar_parse_key(info, name);

	if (!ret && info->attrs[RCHAR_A_KEY_SECRET])
		ret = rchar_parse_refuse(info, RCHAR_A_KEY_SECRET, "deleting takes a name only",
					 -EINVAL);
	if (ret)
		return ret;
	ret = rchar_psk_del(genl_info_net(info), name);
	if (ret == -ENOENT)
		return rchar_parse_refuse(info, RCHAR_A_KEY_NAME, "no key of that name", ret);
	return ret;
}

/* ---- dumps ---- */

static void *dump_put(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd)
{
	void *hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &family,
				NLM_F_MULTI, cmd);

	if (hdr)
		genl_dump_check_consistent(cb, hdr);
	return hdr;
}

static int dump_one(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd,
		    int (*fill)(struct sk_buff *skb, const void *obj), const void *obj)
{
	void *hdr = dump_put(skb, cb, cmd);

	if (!hdr)
		return -EMSGSIZE;
	if (fill(skb, obj)) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

static int fill_key(struct sk_buff *skb, const void *obj)
{
	return rchar_fill_key(skb, obj);
}

static int fill_channel(struct sk_buff *skb, const void *obj)
{
	return rchar_fill_channel(skb, (struct rchar_channel *)obj);
}

static int fill_link(struct sk_buff *skb, const void *obj)
{
	return rchar_fill_link(skb, (struct rchar_link *)obj, false);
}

static int fill_link_for_admin(struct sk_buff *skb, const void *obj)
{
	return rchar_fill_link(skb, (struct rchar_link *)obj, true);
}

static int fill_session(struct sk_buff *skb, const void *obj)
{
	return rchar_fill_session(skb, (struct rchar_session *)obj);
}

/* Each buffer of the dump has room for the largest channel. */
static int channel_dump_start(struct netlink_callback *cb)
{
	cb->min_dump_alloc = SKB_WITH_OVERHEAD(8192UL);
	return 0;
}

static int channel_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct net *net = sock_net(skb->sk);
	struct rchar_channel *channel;
	u32 next = cb->args[0];
	int ret = 0;

	cb->seq = rchar_fill_generation();
	while (!ret && (channel = rchar_channel_next(&next))) {
		if (channel->net == net) {
			rchar_channel_config_lock();
			ret = dump_one(skb, cb, RCHAR_CMD_CHANNEL_GET, fill_channel, channel);
			rchar_channel_config_unlock();
		}
		if (!ret)
			cb->args[0] = next;
		rchar_channel_put(channel);
	}
	return skb->len ?: ret;
}

/* args[0] is the serial of the last key that was dumped. */
static int key_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct net *net = sock_net(skb->sk);
	struct rchar_psk *psk;
	int ret = 0;

	cb->seq = rchar_fill_generation();
	while (!ret && (psk = rchar_psk_next(net, cb->args[0]))) {
		ret = dump_one(skb, cb, RCHAR_CMD_KEY_GET, fill_key, psk);
		if (!ret)
			cb->args[0] = psk->serial;
		rchar_psk_put(psk);
	}
	return skb->len ?: ret;
}

/* Walk the links of the namespace; args[0] is the serial of the last link that was dumped. */
static int dump_links(struct sk_buff *skb, struct netlink_callback *cb,
		      int (*one)(struct sk_buff *skb, struct netlink_callback *cb,
				 struct rchar_link *link))
{
	struct net *net = sock_net(skb->sk);
	struct rchar_link *link;
	int ret = 0;

	cb->seq = rchar_fill_generation();
	while (!ret && (link = rchar_link_next(cb->args[0]))) {
		if (link->net == net)
			ret = one(skb, cb, link);
		if (!ret)
			cb->args[0] = link->serial;
		rchar_link_put(link);
	}
	return skb->len ?: ret;
}

static int dump_link(struct sk_buff *skb, struct netlink_callback *cb, struct rchar_link *link)
{
	bool admin = netlink_net_capable(cb->skb, CAP_NET_ADMIN);

	return dump_one(skb, cb, RCHAR_CMD_LINK_GET, admin ? fill_link_for_admin : fill_link, link);
}

static int link_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_links(skb, cb, dump_link);
}

static int dump_sessions_of(struct sk_buff *skb, struct netlink_callback *cb,
			    struct rchar_link *link)
{
	struct rchar_session *s;
	/* The link in which the last part ended may be gone. */
	u32 id = cb->args[2] == link->serial ? cb->args[1] : 0;
	int ret = 0;

	while (!ret && (s = rchar_session_next(link, &id))) {
		ret = dump_one(skb, cb, RCHAR_CMD_SESSION_GET, fill_session, s);
		if (!ret) {
			cb->args[1] = id;
			cb->args[2] = link->serial;
		}
		rchar_session_put(s);
	}
	return ret;
}

static int session_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_links(skb, cb, dump_sessions_of);
}

/* ---- links and sessions ---- */

static int link_reset(struct sk_buff *skb, struct genl_info *info)
{
	struct rchar_link *link;
	int ret = rchar_parse_once(info);

	if (ret)
		return ret;
	if (!info->attrs[RCHAR_A_LINK_ID])
		return rchar_parse_missing(info, "which link? the id is missing");
	link = rchar_link_find(genl_info_net(info), nla_get_u64(info->attrs[RCHAR_A_LINK_ID]));
	if (!link)
		return rchar_parse_refuse(info, RCHAR_A_LINK_ID, "no link with that id", -ENOENT);
	rchar_link_reset(link);
	rchar_link_put(link);
	return 0;
}

static int session_kill(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr **attrs = info->attrs;
	struct rchar_session *s;
	struct rchar_link *link;
	int ret = rchar_parse_once(info);

	if (ret)
		return ret;
	if (!attrs[RCHAR_A_SESSION_LINK_ID] || !attrs[RCHAR_A_SESSION_ID])
		return rchar_parse_missing(info,
					   "which session? link id and session id are needed");
	link = rchar_link_find(genl_info_net(info), nla_get_u64(attrs[RCHAR_A_SESSION_LINK_ID]));
	if (!link)
		return rchar_parse_refuse(info, RCHAR_A_SESSION_LINK_ID, "no link with that id",
					  -ENOENT);
	s = rchar_session_find(link, nla_get_u32(attrs[RCHAR_A_SESSION_ID]));
	rchar_link_put(link);
	if (!s)
		return rchar_parse_refuse(info, RCHAR_A_SESSION_ID, "no session with that id",
					  -ENOENT);
	rchar_session_fail(s, RCHAR_REASON_ADMIN);
	rchar_channel_revoke(s->channel);
	rchar_session_put(s);
	return 0;
}

static int info_get(struct sk_buff *skb, struct genl_info *info)
{
	struct sk_buff *msg;
	void *hdr;

	msg = netlink_reply(info, &hdr);
	if (!msg)
		return -ENOMEM;
	return send_reply(msg, hdr, info, rchar_fill_info(msg));
}

/* ---- the family ---- */

static const struct genl_ops ops[] = {
	{
		.cmd = RCHAR_CMD_CHANNEL_GET,
		.doit = channel_get,
		.start = channel_dump_start,
		.dumpit = channel_dump,
		.policy = rchar_parse_name_policy,
		.maxattr = RCHAR_A_CHANNEL_MAX,
	},
	{
		.cmd = RCHAR_CMD_CHANNEL_NEW,
		.doit = channel_new,
		.policy = rchar_parse_new_policy,
		.maxattr = RCHAR_A_CHANNEL_MAX,
		.flags = GENL_ADMIN_PERM,
	},
	{
		.cmd = RCHAR_CMD_CHANNEL_SET,
		.doit = channel_set,
		.policy = rchar_parse_set_policy,
		.maxattr = RCHAR_A_CHANNEL_MAX,
		.flags = GENL_ADMIN_PERM,
	},
	{
		.cmd = RCHAR_CMD_CHANNEL_DEL,
		.doit = channel_del,
		.policy = rchar_parse_name_policy,
		.maxattr = RCHAR_A_CHANNEL_MAX,
		.flags = GENL_ADMIN_PERM,
	},
	{
		.cmd = RCHAR_CMD_LINK_GET,
		.dumpit = link_dump,
	},
	{
		.cmd = RCHAR_CMD_LINK_RESET,
		.doit = link_reset,
		.policy = rchar_parse_link_policy,
		.maxattr = RCHAR_A_LINK_MAX,
		.flags = GENL_ADMIN_PERM,
	},
	{
		.cmd = RCHAR_CMD_SESSION_GET,
		.dumpit = session_dump,
	},
	{
		.cmd = RCHAR_CMD_SESSION_KILL,
		.doit = session_kill,
		.policy = rchar_parse_session_policy,
		.maxattr = RCHAR_A_SESSION_MAX,
		.flags = GENL_ADMIN_PERM,
	},
	{
		.cmd = RCHAR_CMD_INFO_GET,
		.doit = info_get,
	},
	{
		.cmd = RCHAR_CMD_KEY_GET,
		.dumpit = key_dump,
		.flags = GENL_ADMIN_PERM,
	},
	{
		.cmd = RCHAR_CMD_KEY_NEW,
		.doit = key_new,
		.policy = rchar_parse_key_policy,
		.maxattr = RCHAR_A_KEY_MAX,
		.flags = GENL_ADMIN_PERM,
	},
	{
		.cmd = RCHAR_CMD_KEY_DEL,
		.doit = key_del,
		.policy = rchar_parse_key_policy,
		.maxattr = RCHAR_A_KEY_MAX,
		.flags = GENL_ADMIN_PERM,
	},
};

static const struct genl_multicast_group groups[] = {
	{ .name = RCHAR_MCGRP_MONITOR },
};

static struct genl_family family __ro_after_init = {
	.name = RCHAR_GENL_NAME,
	.version = RCHAR_GENL_VERSION,
	.module = THIS_MODULE,
	.netnsok = true,
	.parallel_ops = true,
	.ops = ops,
	.n_ops = ARRAY_SIZE(ops),
	.mcgrps = groups,
	.n_mcgrps = ARRAY_SIZE(groups),
};

/**
 * rchar_netlink_init() - register the family
 *
 * The last step of module load, because requests may arrive at once.
 *
 * Return: 0 or a negative errno.
 */
int rchar_netlink_init(void)
{
	rchar_notify_init(&family);
	return genl_register_family(&family);
}

/**
 * rchar_netlink_exit() - unregister the family, as the first step of module unload
 */
void rchar_netlink_exit(void)
{
	rchar_notify_init(NULL);
	genl_unregister_family(&family);
}
