// SPDX-License-Identifier: GPL-2.0
/*
 * The family and its requests. What goes out is put together in nlfill.c.
 * Documentation/netlink/specs/rdma_char.yaml is the specification.
 */
#include "netlink.h"
#include <linux/module.h>
#include <net/genetlink.h>
#include <net/sock.h>
#include "addr.h"
#include "channel.h"
#include "frame.h"
#include "link.h"
#include "nlfill.h"
#include "session.h"
#include "types.h"

enum { GROUP_MONITOR };

static struct genl_family family;

/* ---- parsing ---- */

/* Longer than a name, so that get_name() refuses, in words. */
#define NAME_POLICY { .type = NLA_NUL_STRING, .len = 255 }

static const struct nla_policy name_policy[RCHAR_A_CHANNEL_MAX + 1] = {
	[RCHAR_A_CHANNEL_NAME] = NAME_POLICY,
};

#define SETTINGS_POLICY						\
	[RCHAR_A_CHANNEL_WINDOW] = { .type = NLA_U32 },		\
	[RCHAR_A_CHANNEL_BACKLOG] = { .type = NLA_U32 },	\
	[RCHAR_A_CHANNEL_OPEN_TIMEOUT_MS] = { .type = NLA_U32 },	\
	[RCHAR_A_CHANNEL_RECOVERY_TIMEOUT_MS] = { .type = NLA_U32 },	\
	[RCHAR_A_CHANNEL_LINGER_MS] = { .type = NLA_U32 },	\
	[RCHAR_A_CHANNEL_MAX_MESSAGE] = { .type = NLA_U32 },	\
	[RCHAR_A_CHANNEL_ZERO_COPY_MIN] = { .type = NLA_U32 }

#define ADDRESS_POLICY { .type = NLA_BINARY, .len = sizeof(struct sockaddr_in6) }

static const struct nla_policy new_policy[RCHAR_A_CHANNEL_MAX + 1] = {
	[RCHAR_A_CHANNEL_NAME] = NAME_POLICY,
	[RCHAR_A_CHANNEL_TYPE] = { .type = NLA_U32 },
	[RCHAR_A_CHANNEL_ROLE] = { .type = NLA_U32 },
	[RCHAR_A_CHANNEL_LOCAL] = ADDRESS_POLICY,
	[RCHAR_A_CHANNEL_PEER] = ADDRESS_POLICY,
	[RCHAR_A_CHANNEL_REMOTE] = NAME_POLICY,
	[RCHAR_A_CHANNEL_MODE] = { .type = NLA_U32 },
	[RCHAR_A_CHANNEL_UID] = { .type = NLA_U32 },
	[RCHAR_A_CHANNEL_GID] = { .type = NLA_U32 },
	[RCHAR_A_CHANNEL_SIZE] = { .type = NLA_U64 },
	[RCHAR_A_CHANNEL_ACCESS] = { .type = NLA_U32 },
	[RCHAR_A_CHANNEL_ATOMICS] = { .type = NLA_U32 },
	SETTINGS_POLICY,
};

static const struct nla_policy set_policy[RCHAR_A_CHANNEL_MAX + 1] = {
	[RCHAR_A_CHANNEL_NAME] = NAME_POLICY,
	SETTINGS_POLICY,
};

static const struct nla_policy link_policy[RCHAR_A_LINK_MAX + 1] = {
	[RCHAR_A_LINK_ID] = { .type = NLA_U64 },
};

static const struct nla_policy session_policy[RCHAR_A_SESSION_MAX + 1] = {
	[RCHAR_A_SESSION_LINK_ID] = { .type = NLA_U64 },
	[RCHAR_A_SESSION_ID] = { .type = NLA_U32 },
};

static int refuse(struct genl_info *info, int attr, const char *words, int error)
{
	if (info->attrs[attr])
		NL_SET_BAD_ATTR(info->extack, info->attrs[attr]);
	info->extack->_msg = words;
	return error;
}

static int missing(struct genl_info *info, const char *words)
{
	info->extack->_msg = words;
	return -EINVAL;
}

/* The parser takes the last of several; nobody means that. */
static int check_duplicates(struct genl_info *info)
{
	const struct nlattr *attr;
	u64 seen = 0;
	int rem;

	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rem) {
		u16 type = nla_type(attr);

		if (type < 64 && seen & BIT_ULL(type)) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr,
					    "this attribute is given twice");
			return -EINVAL;
		}
		if (type < 64)
			seen |= BIT_ULL(type);
	}
	return 0;
}

static int get_name(struct genl_info *info, int attr, char *name)
{
	const struct nlattr *nla = info->attrs[attr];

	if (!rchar_name_valid(nla_data(nla), strlen(nla_data(nla))))
		return refuse(info, attr,
			      "a name is 1 to 31 of A-Z a-z 0-9 . _ - and begins with a letter or digit",
			      -EINVAL);
	nla_strscpy(name, nla, RCHAR_NAME_MAX + 1);
	return 0;
}

static int need_name(struct genl_info *info, char *name)
{
	int ret = check_duplicates(info);

	if (ret)
		return ret;
	if (!info->attrs[RCHAR_A_CHANNEL_NAME])
		return missing(info, "which channel? the name is missing");
	return get_name(info, RCHAR_A_CHANNEL_NAME, name);
}

static int get_addr(struct genl_info *info, int attr, struct sockaddr_storage *addr)
{
	const struct nlattr *nla = info->attrs[attr];

	memset(addr, 0, sizeof(*addr));
	if (nla_len(nla) < (int)sizeof(addr->ss_family))
		return refuse(info, attr, "not an address", -EINVAL);
	memcpy(addr, nla_data(nla), nla_len(nla));
	if (!rchar_addr_len(addr))
		return refuse(info, attr, "an address is IPv4 or IPv6", -EAFNOSUPPORT);
	if (nla_len(nla) != rchar_addr_len(addr))
		return refuse(info, attr, "the length does not fit the address family",
			      -EINVAL);
	return 0;
}

/* Settings that are a number with limits. */
static const struct setting {
	int attr;
	size_t offset;
	u32 min;
	u32 max;
	const char *words;
} settings[] = {
	{ RCHAR_A_CHANNEL_WINDOW, offsetof(struct rchar_config, window),
	  RCHAR_WINDOW_MIN, RCHAR_WINDOW_MAX, "window must be 64k to 256m" },
	{ RCHAR_A_CHANNEL_ZERO_COPY_MIN, offsetof(struct rchar_config, zero_copy_min),
	  0, RCHAR_ZERO_COPY_MIN_MAX, "zero-copy-min must be 0 to 1g" },
	{ RCHAR_A_CHANNEL_MAX_MESSAGE, offsetof(struct rchar_config, max_message),
	  1, RCHAR_MESSAGE_MAX, "max-message must be 1 to 64m" },
	{ RCHAR_A_CHANNEL_BACKLOG, offsetof(struct rchar_config, backlog),
	  1, RCHAR_BACKLOG_MAX, "backlog must be 1 to 65535" },
	{ RCHAR_A_CHANNEL_OPEN_TIMEOUT_MS, offsetof(struct rchar_config, open_timeout_ms),
	  1, RCHAR_TIMEOUT_MS_MAX, "open-timeout must be 1 ms to 24 h" },
	{ RCHAR_A_CHANNEL_RECOVERY_TIMEOUT_MS,
	  offsetof(struct rchar_config, recovery_timeout_ms),
	  1, RCHAR_TIMEOUT_MS_MAX, "recovery-timeout must be 1 ms to 24 h" },
	{ RCHAR_A_CHANNEL_LINGER_MS, offsetof(struct rchar_config, linger_ms),
	  0, RCHAR_TIMEOUT_MS_MAX, "linger must be 0 to 24 h" },
};

static int check_settings(struct genl_info *info, u32 type)
{
	int i;

	if (info->attrs[RCHAR_A_CHANNEL_MAX_MESSAGE] && type != RCHAR_TYPE_MESSAGE)
		return refuse(info, RCHAR_A_CHANNEL_MAX_MESSAGE,
			      "only message channels have a max-message", -EINVAL);
	if (info->attrs[RCHAR_A_CHANNEL_ZERO_COPY_MIN] && type != RCHAR_TYPE_STREAM)
		return refuse(info, RCHAR_A_CHANNEL_ZERO_COPY_MIN,
			      "only stream channels have a zero-copy-min", -EINVAL);
	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		const struct setting *s = &settings[i];
		u32 value;

		if (!info->attrs[s->attr])
			continue;
		value = nla_get_u32(info->attrs[s->attr]);
		if (value < s->min || value > s->max)
			return refuse(info, s->attr, s->words, -ERANGE);
	}
	return 0;
}

static void apply_settings(struct genl_info *info, struct rchar_config *config)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		const struct setting *s = &settings[i];
		u32 *field = (void *)config + s->offset;

		if (info->attrs[s->attr])
			WRITE_ONCE(*field, nla_get_u32(info->attrs[s->attr]));
	}
}

static int get_node(struct genl_info *info, struct rchar_config *config)
{
	struct nlattr **attrs = info->attrs;

	config->mode = 0600;
	if (attrs[RCHAR_A_CHANNEL_MODE])
		config->mode = nla_get_u32(attrs[RCHAR_A_CHANNEL_MODE]);
	if (config->mode & ~0777)
		return refuse(info, RCHAR_A_CHANNEL_MODE, "mode must be 0 to 0777",
			      -ERANGE);
	config->uid = GLOBAL_ROOT_UID;
	config->gid = GLOBAL_ROOT_GID;
	if (attrs[RCHAR_A_CHANNEL_UID])
		config->uid = make_kuid(current_user_ns(),
					nla_get_u32(attrs[RCHAR_A_CHANNEL_UID]));
	if (!uid_valid(config->uid))
		return refuse(info, RCHAR_A_CHANNEL_UID, "no such uid here", -EINVAL);
	if (attrs[RCHAR_A_CHANNEL_GID])
		config->gid = make_kgid(current_user_ns(),
					nla_get_u32(attrs[RCHAR_A_CHANNEL_GID]));
	if (!gid_valid(config->gid))
		return refuse(info, RCHAR_A_CHANNEL_GID, "no such gid here", -EINVAL);
	return 0;
}

static int get_type(struct genl_info *info, struct rchar_config *config)
{
	if (!info->attrs[RCHAR_A_CHANNEL_TYPE])
		return missing(info, "the type is missing");
	config->type = nla_get_u32(info->attrs[RCHAR_A_CHANNEL_TYPE]);
	switch (config->type) {
	case RCHAR_TYPE_STREAM:
		return 0;
	case RCHAR_TYPE_MESSAGE:
		config->max_message = RCHAR_MESSAGE_DEFAULT;
		return 0;
	case RCHAR_TYPE_MEMORY:
		return 0;
	default:
		return refuse(info, RCHAR_A_CHANNEL_TYPE, "no such type", -EINVAL);
	}
}

static int get_listen(struct genl_info *info, struct rchar_config *config)
{
	int ret;

	if (!info->attrs[RCHAR_A_CHANNEL_LOCAL])
		return missing(info, "listen where? the local address is missing");
	if (info->attrs[RCHAR_A_CHANNEL_PEER])
		return refuse(info, RCHAR_A_CHANNEL_PEER,
			      "a listening channel has no peer address", -EINVAL);
	if (info->attrs[RCHAR_A_CHANNEL_REMOTE])
		return refuse(info, RCHAR_A_CHANNEL_REMOTE,
			      "a listening channel has no remote name", -EINVAL);
	ret = get_addr(info, RCHAR_A_CHANNEL_LOCAL, &config->local);
	if (!ret && !rchar_addr_port(&config->local))
		rchar_addr_set_port(&config->local, RCHAR_PORT);
	return ret;
}

static int get_connect(struct genl_info *info, struct rchar_config *config)
{
	int ret;

	if (!info->attrs[RCHAR_A_CHANNEL_PEER])
		return missing(info, "connect to whom? the peer's address is missing");
	ret = get_addr(info, RCHAR_A_CHANNEL_PEER, &config->peer);
	if (ret)
		return ret;
	if (rchar_addr_any(&config->peer))
		return refuse(info, RCHAR_A_CHANNEL_PEER,
			      "the peer's address cannot be the wildcard", -EINVAL);
	if (!rchar_addr_port(&config->peer))
		rchar_addr_set_port(&config->peer, RCHAR_PORT);
	strscpy(config->remote, config->name, sizeof(config->remote));
	if (info->attrs[RCHAR_A_CHANNEL_REMOTE]) {
		ret = get_name(info, RCHAR_A_CHANNEL_REMOTE, config->remote);
		if (ret)
			return ret;
	}
	if (!info->attrs[RCHAR_A_CHANNEL_LOCAL])
		return 0;
	ret = get_addr(info, RCHAR_A_CHANNEL_LOCAL, &config->local);
	if (ret)
		return ret;
	if (config->local.ss_family != config->peer.ss_family)
		return refuse(info, RCHAR_A_CHANNEL_LOCAL,
			      "local and peer address are of different families",
			      -EINVAL);
	rchar_addr_set_port(&config->local, 0);
	return 0;
}

/* What a memory channel that listens exports, and no other channel does. */
static int get_region(struct genl_info *info, struct rchar_config *config)
{
	static const int only[] = { RCHAR_A_CHANNEL_SIZE, RCHAR_A_CHANNEL_ACCESS,
				    RCHAR_A_CHANNEL_ATOMICS };
	struct nlattr **attrs = info->attrs;
	int i;

	if (config->type != RCHAR_TYPE_MEMORY || config->role != RCHAR_ROLE_LISTEN) {
		for (i = 0; i < ARRAY_SIZE(only); i++)
			if (attrs[only[i]])
				return refuse(info, only[i],
					      "only a memory channel that listens has a size, an access and atomics",
					      -EINVAL);
		return 0;
	}
	if (!attrs[RCHAR_A_CHANNEL_SIZE])
		return missing(info, "how much memory? the size is missing");
	config->size = nla_get_u64(attrs[RCHAR_A_CHANNEL_SIZE]);
	if (!config->size || config->size > RCHAR_REGION_SIZE_MAX)
		return refuse(info, RCHAR_A_CHANNEL_SIZE, "size must be 1 to 512g",
			      -ERANGE);
	config->access = RCHAR_ACCESS_RW;
	if (attrs[RCHAR_A_CHANNEL_ACCESS])
		config->access = nla_get_u32(attrs[RCHAR_A_CHANNEL_ACCESS]);
	if (config->access != RCHAR_ACCESS_RW && config->access != RCHAR_ACCESS_RO)
		return refuse(info, RCHAR_A_CHANNEL_ACCESS, "access is ro or rw", -EINVAL);
	config->atomics = RCHAR_ATOMICS_SW;
	if (attrs[RCHAR_A_CHANNEL_ATOMICS])
		config->atomics = nla_get_u32(attrs[RCHAR_A_CHANNEL_ATOMICS]);
	if (config->atomics != RCHAR_ATOMICS_SW && config->atomics != RCHAR_ATOMICS_HW)
		return refuse(info, RCHAR_A_CHANNEL_ATOMICS, "atomics is sw or hw", -EINVAL);
	return 0;
}

static int get_role(struct genl_info *info, struct rchar_config *config)
{
	if (!info->attrs[RCHAR_A_CHANNEL_ROLE])
		return missing(info, "listen or connect? the role is missing");
	config->role = nla_get_u32(info->attrs[RCHAR_A_CHANNEL_ROLE]);
	if (config->role == RCHAR_ROLE_LISTEN)
		return get_listen(info, config);
	if (config->role == RCHAR_ROLE_CONNECT)
		return get_connect(info, config);
	return refuse(info, RCHAR_A_CHANNEL_ROLE, "no such role", -EINVAL);
}

/* ---- channels ---- */

static int channel_new(struct sk_buff *skb, struct genl_info *info)
{
	struct rchar_config config = {
		.zero_copy_min = RCHAR_ZERO_COPY_MIN_DEFAULT,
		.window = RCHAR_WINDOW_DEFAULT,
		.backlog = RCHAR_BACKLOG_DEFAULT,
		.open_timeout_ms = RCHAR_OPEN_TIMEOUT_MS,
		.recovery_timeout_ms = RCHAR_RECOVERY_TIMEOUT_MS,
		.linger_ms = RCHAR_LINGER_MS,
	};
	int ret;

	ret = need_name(info, config.name);
	if (!ret)
		ret = get_type(info, &config);
	if (!ret)
		ret = get_role(info, &config);
	if (!ret)
		ret = get_region(info, &config);
	if (!ret)
		ret = get_node(info, &config);
	if (!ret)
		ret = check_settings(info, config.type);
	if (ret)
		return ret;
	apply_settings(info, &config);
	return rchar_channel_add(genl_info_net(info), &config,
				 rchar_types_find(config.type, config.role), info->extack);
}

static int no_channel(struct genl_info *info)
{
	return refuse(info, RCHAR_A_CHANNEL_NAME, "no channel of that name", -ENODEV);
}

static int channel_del(struct sk_buff *skb, struct genl_info *info)
{
	char name[RCHAR_NAME_MAX + 1];
	int ret = need_name(info, name);

	if (ret)
		return ret;
	ret = rchar_channel_del(genl_info_net(info), name);
	return ret == -ENODEV ? no_channel(info) : ret;
}

static int channel_set(struct sk_buff *skb, struct genl_info *info)
{
	struct rchar_channel *channel;
	char name[RCHAR_NAME_MAX + 1];
	int ret = need_name(info, name);

	if (ret)
		return ret;
	channel = rchar_channel_find(genl_info_net(info), name);
	if (!channel)
		return no_channel(info);
	ret = check_settings(info, channel->config.type);
	if (!ret) {
		rchar_channel_config_lock();
		apply_settings(info, &channel->config);
		rchar_netlink_channel_event(channel, RCHAR_CMD_CHANNEL_SET_NTF);
		rchar_channel_config_unlock();
	}
	rchar_channel_put(channel);
	return ret;
}

static struct sk_buff *reply(struct genl_info *info, void **hdr)
{
	struct sk_buff *skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);

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
	int ret = need_name(info, name);
	struct sk_buff *msg;
	void *hdr;

	if (ret)
		return ret;
	channel = rchar_channel_find(genl_info_net(info), name);
	if (!channel)
		return no_channel(info);
	msg = reply(info, &hdr);
	if (msg) {
		rchar_channel_config_lock();
		ret = rchar_nlfill_channel(msg, channel);
		rchar_channel_config_unlock();
		ret = send_reply(msg, hdr, info, ret);
	} else {
		ret = -ENOMEM;
	}
	rchar_channel_put(channel);
	return ret;
}

/* ---- dumps ---- */

static void *dump_put(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd)
{
	void *hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				&family, NLM_F_MULTI, cmd);

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

static int fill_channel(struct sk_buff *skb, const void *obj)
{
	return rchar_nlfill_channel(skb, (struct rchar_channel *)obj);
}

static int fill_link(struct sk_buff *skb, const void *obj)
{
	return rchar_nlfill_link(skb, (struct rchar_link *)obj, false);
}

static int fill_link_for_admin(struct sk_buff *skb, const void *obj)
{
	return rchar_nlfill_link(skb, (struct rchar_link *)obj, true);
}

static int fill_session(struct sk_buff *skb, const void *obj)
{
	return rchar_nlfill_session(skb, (struct rchar_session *)obj);
}

static int channel_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct net *net = sock_net(skb->sk);
	struct rchar_channel *channel;
	u32 next = cb->args[0];
	int ret = 0;

	cb->seq = rchar_nlfill_generation();
	while (!ret && (channel = rchar_channel_next(&next))) {
		if (channel->net == net) {
			rchar_channel_config_lock();
			ret = dump_one(skb, cb, RCHAR_CMD_CHANNEL_GET, fill_channel,
				       channel);
			rchar_channel_config_unlock();
		}
		if (!ret)
			cb->args[0] = next;
		rchar_channel_put(channel);
	}
	return skb->len ?: ret;
}

/* Walk the links of the namespace; args[0] is how far the walk has come. */
static int dump_links(struct sk_buff *skb, struct netlink_callback *cb,
		      int (*one)(struct sk_buff *skb, struct netlink_callback *cb,
				 struct rchar_link *link))
{
	struct net *net = sock_net(skb->sk);
	struct rchar_link *link;
	int ret = 0;

	cb->seq = rchar_nlfill_generation();
	while (!ret && (link = rchar_link_next(cb->args[0]))) {
		if (link->net == net)
			ret = one(skb, cb, link);
		if (!ret)
			cb->args[0] = link->serial;
		rchar_link_put(link);
	}
	return skb->len ?: ret;
}

static int dump_link(struct sk_buff *skb, struct netlink_callback *cb,
		     struct rchar_link *link)
{
	bool admin = netlink_net_capable(cb->skb, CAP_NET_ADMIN);

	return dump_one(skb, cb, RCHAR_CMD_LINK_GET, admin ? fill_link_for_admin : fill_link,
			link);
}

static int link_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_links(skb, cb, dump_link);
}

static int dump_sessions_of(struct sk_buff *skb, struct netlink_callback *cb,
			    struct rchar_link *link)
{
	struct rchar_session *s;
	u32 id = cb->args[1];
	int ret = 0;

	while (!ret && (s = rchar_session_next(link, &id))) {
		ret = dump_one(skb, cb, RCHAR_CMD_SESSION_GET, fill_session, s);
		if (!ret)
			cb->args[1] = id;
		rchar_session_put(s);
	}
	if (!ret)
		cb->args[1] = 0;	/* the next link from its beginning */
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
	int ret = check_duplicates(info);

	if (ret)
		return ret;
	if (!info->attrs[RCHAR_A_LINK_ID])
		return missing(info, "which link? the id is missing");
	link = rchar_link_find(genl_info_net(info),
			       nla_get_u64(info->attrs[RCHAR_A_LINK_ID]));
	if (!link)
		return refuse(info, RCHAR_A_LINK_ID, "no link with that id", -ENOENT);
	rchar_link_reset(link);
	rchar_link_put(link);
	return 0;
}

static int session_kill(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr **attrs = info->attrs;
	struct rchar_session *s;
	struct rchar_link *link;
	int ret = check_duplicates(info);

	if (ret)
		return ret;
	if (!attrs[RCHAR_A_SESSION_LINK_ID] || !attrs[RCHAR_A_SESSION_ID])
		return missing(info, "which session? link id and session id are needed");
	link = rchar_link_find(genl_info_net(info),
			       nla_get_u64(attrs[RCHAR_A_SESSION_LINK_ID]));
	if (!link)
		return refuse(info, RCHAR_A_SESSION_LINK_ID, "no link with that id",
			      -ENOENT);
	s = rchar_session_find(link, nla_get_u32(attrs[RCHAR_A_SESSION_ID]));
	rchar_link_put(link);
	if (!s)
		return refuse(info, RCHAR_A_SESSION_ID, "no session with that id",
			      -ENOENT);
	rchar_session_fail(s, RCHAR_REASON_ADMIN);
	rchar_session_put(s);
	return 0;
}

static int info_get(struct sk_buff *skb, struct genl_info *info)
{
	struct sk_buff *msg;
	void *hdr;

	msg = reply(info, &hdr);
	if (!msg)
		return -ENOMEM;
	return send_reply(msg, hdr, info, rchar_nlfill_info(msg));
}

/* ---- events ---- */

static void send_event(struct net *net, u8 cmd,
		       int (*fill)(struct sk_buff *skb, const void *obj),
		       const void *obj)
{
	struct sk_buff *skb;
	void *hdr;

	if (!genl_has_listeners(&family, net, GROUP_MONITOR))
		return;
	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_ATOMIC);
	if (!skb)
		return;
	hdr = genlmsg_put(skb, 0, 0, &family, 0, cmd);
	if (!hdr || fill(skb, obj)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, hdr);
	genlmsg_multicast_netns(&family, net, skb, 0, GROUP_MONITOR, GFP_ATOMIC);
}

/**
 * rchar_netlink_channel_event() - tell who monitors
 * @channel: the channel
 * @cmd: RCHAR_CMD_CHANNEL_*_NTF
 */
void rchar_netlink_channel_event(struct rchar_channel *channel, enum rchar_cmd cmd)
{
	if (cmd == RCHAR_CMD_CHANNEL_NEW_NTF || cmd == RCHAR_CMD_CHANNEL_DEL_NTF)
		rchar_nlfill_changed();
	send_event(channel->net, cmd, fill_channel, channel);
}

/**
 * rchar_netlink_link_event() - tell who monitors
 * @link: a link that changed state
 */
void rchar_netlink_link_event(struct rchar_link *link)
{
	rchar_nlfill_changed();
	send_event(link->net, RCHAR_CMD_LINK_STATE_NTF, fill_link, link);
}

static int fill_session_locked(struct sk_buff *skb, const void *obj)
{
	return rchar_nlfill_session_locked(skb, (struct rchar_session *)obj);
}

/**
 * rchar_netlink_session_event() - tell who monitors
 * @session: a session that changed state; its lock is held
 */
void rchar_netlink_session_event(struct rchar_session *session)
{
	send_event(session->channel->net, RCHAR_CMD_SESSION_STATE_NTF,
		   fill_session_locked, session);
}

/* ---- the family ---- */

static const struct genl_ops ops[] = {
	{
		.cmd = RCHAR_CMD_CHANNEL_GET,
		.doit = channel_get,
		.dumpit = channel_dump,
		.policy = name_policy,
		.maxattr = RCHAR_A_CHANNEL_MAX,
	}, {
		.cmd = RCHAR_CMD_CHANNEL_NEW,
		.doit = channel_new,
		.policy = new_policy,
		.maxattr = RCHAR_A_CHANNEL_MAX,
		.flags = GENL_ADMIN_PERM,
	}, {
		.cmd = RCHAR_CMD_CHANNEL_SET,
		.doit = channel_set,
		.policy = set_policy,
		.maxattr = RCHAR_A_CHANNEL_MAX,
		.flags = GENL_ADMIN_PERM,
	}, {
		.cmd = RCHAR_CMD_CHANNEL_DEL,
		.doit = channel_del,
		.policy = name_policy,
		.maxattr = RCHAR_A_CHANNEL_MAX,
		.flags = GENL_ADMIN_PERM,
	}, {
		.cmd = RCHAR_CMD_LINK_GET,
		.dumpit = link_dump,
	}, {
		.cmd = RCHAR_CMD_LINK_RESET,
		.doit = link_reset,
		.policy = link_policy,
		.maxattr = RCHAR_A_LINK_MAX,
		.flags = GENL_ADMIN_PERM,
	}, {
		.cmd = RCHAR_CMD_SESSION_GET,
		.dumpit = session_dump,
	}, {
		.cmd = RCHAR_CMD_SESSION_KILL,
		.doit = session_kill,
		.policy = session_policy,
		.maxattr = RCHAR_A_SESSION_MAX,
		.flags = GENL_ADMIN_PERM,
	}, {
		.cmd = RCHAR_CMD_INFO_GET,
		.doit = info_get,
	},
};

static const struct genl_multicast_group groups[] = {
	[GROUP_MONITOR] = { .name = RCHAR_MCGRP_MONITOR },
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
 * rchar_netlink_init() - at module load, last: requests may come at once
 */
int rchar_netlink_init(void)
{
	return genl_register_family(&family);
}

/**
 * rchar_netlink_exit() - at module unload, first
 */
void rchar_netlink_exit(void)
{
	genl_unregister_family(&family);
}
