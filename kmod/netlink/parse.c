// SPDX-License-Identifier: GPL-2.0
/* Check and parse requests of the netlink family. */
#include "parse.h"
#include <net/genetlink.h>
#include "base/addr.h"
#include "link/link.h"
#include "link/turns.h"
#include "proto/frame.h"
#include "proto/seal.h"
#include "session/channel.h"

/* clang-format off */

/* Longer than a valid name, so that get_name() can refuse a long name with an explanation. */
#define NAME_POLICY { .type = NLA_NUL_STRING, .len = 255 }

#define ADDRESS_POLICY { .type = NLA_BINARY, .len = sizeof(struct sockaddr_in6) }

#define SETTINGS_POLICY						\
	[RCHAR_A_CHANNEL_WINDOW] = { .type = NLA_U32 },		\
	[RCHAR_A_CHANNEL_WINDOW_MAX] = { .type = NLA_U32 },	\
	[RCHAR_A_CHANNEL_FRAME] = { .type = NLA_U32 },		\
	[RCHAR_A_CHANNEL_BACKLOG] = { .type = NLA_U32 },	\
	[RCHAR_A_CHANNEL_OPEN_TIMEOUT_MS] = { .type = NLA_U32 },	\
	[RCHAR_A_CHANNEL_RECOVERY_TIMEOUT_MS] = { .type = NLA_U32 },	\
	[RCHAR_A_CHANNEL_LINGER_MS] = { .type = NLA_U32 },	\
	[RCHAR_A_CHANNEL_PRIORITY] = { .type = NLA_U32 },	\
	[RCHAR_A_CHANNEL_MAX_MESSAGE] = { .type = NLA_U32 },	\
	[RCHAR_A_CHANNEL_RENDEZVOUS_MIN] = { .type = NLA_U32 }

/* Who may use a channel; each attribute any number of times: parse_acl.c. */
#define ACL_POLICY						\
	[RCHAR_A_CHANNEL_KEY] = NAME_POLICY,			\
	[RCHAR_A_CHANNEL_ALLOW] = NLA_POLICY_EXACT_LEN(sizeof(struct rchar_prefix))

/* clang-format on */

const struct nla_policy rchar_parse_name_policy[RCHAR_A_CHANNEL_MAX + 1] = {
	[RCHAR_A_CHANNEL_NAME] = NAME_POLICY,
};

const struct nla_policy rchar_parse_new_policy[RCHAR_A_CHANNEL_MAX + 1] = {
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
	[RCHAR_A_CHANNEL_ENCRYPT] = { .type = NLA_U32 },
	[RCHAR_A_CHANNEL_LANES] = { .type = NLA_U32 },
	[RCHAR_A_CHANNEL_KEEPALIVE_MS] = { .type = NLA_U32 },
	[RCHAR_A_CHANNEL_TOS] = { .type = NLA_U32 },
	SETTINGS_POLICY,
	ACL_POLICY,
};

const struct nla_policy rchar_parse_set_policy[RCHAR_A_CHANNEL_MAX + 1] = {
	[RCHAR_A_CHANNEL_NAME] = NAME_POLICY,
	SETTINGS_POLICY,
	ACL_POLICY,
};

const struct nla_policy rchar_parse_key_policy[RCHAR_A_KEY_MAX + 1] = {
	[RCHAR_A_KEY_NAME] = NAME_POLICY,
	[RCHAR_A_KEY_SECRET] = { .type = NLA_BINARY, .len = 255 },
};

const struct nla_policy rchar_parse_link_policy[RCHAR_A_LINK_MAX + 1] = {
	[RCHAR_A_LINK_ID] = { .type = NLA_U64 },
};

const struct nla_policy rchar_parse_session_policy[RCHAR_A_SESSION_MAX + 1] = {
	[RCHAR_A_SESSION_LINK_ID] = { .type = NLA_U64 },
	[RCHAR_A_SESSION_ID] = { .type = NLA_U32 },
};

/**
 * rchar_parse_refuse() - refuse a request because of one attribute
 * @info: the request
 * @attr: the attribute; may be absent from the request
 * @words: explanation for the administrator
 * @error: negative errno
 *
 * Return: @error.
 */
int rchar_parse_refuse(struct genl_info *info, int attr, const char *words, int error)
{
	if (info->attrs[attr])
		NL_SET_BAD_ATTR(info->extack, info->attrs[attr]);
	info->extack->_msg = words;
	return error;
}

/**
 * rchar_parse_missing() - refuse a request that lacks an attribute
 * @info: the request
 * @words: explanation for the administrator
 *
 * Return: -EINVAL.
 */
int rchar_parse_missing(struct genl_info *info, const char *words)
{
	info->extack->_msg = words;
	return -EINVAL;
}

/* Attributes of a channel that a request may have many times. */
static bool attr_is_list(const struct genl_info *info, u16 type)
{
	return info->genlhdr->cmd <= RCHAR_CMD_CHANNEL_DEL &&
	       (type == RCHAR_A_CHANNEL_KEY || type == RCHAR_A_CHANNEL_ALLOW);
}

/**
 * rchar_parse_once() - refuse a request that has an attribute twice which is not a list
 * @info: the request
 *
 * The kernel's parser would silently use the last value.
 *
 * Return: 0 or -EINVAL.
 */
int rchar_parse_once(struct genl_info *info)
{
	const struct nlattr *attr;
	u64 seen = 0;
	int rem;

	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rem) {
		u16 type = nla_type(attr);

		if (type < 64 && seen & BIT_ULL(type) && !attr_is_list(info, type)) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr, "this attribute is given twice");
			return -EINVAL;
		}
		if (type < 64)
			seen |= BIT_ULL(type);
	}
	return 0;
}

/* @name has RCHAR_NAME_MAX + 1 bytes. */
static int get_name(struct genl_info *info, int attr, char *name)
{
	const struct nlattr *nla = info->attrs[attr];

	if (!rchar_name_valid(nla_data(nla), strlen(nla_data(nla))))
		return rchar_parse_refuse(
			info, attr,
			"a name is 1 to 31 of A-Z a-z 0-9 . _ - and begins with a letter or digit",
			-EINVAL);
	nla_strscpy(name, nla, RCHAR_NAME_MAX + 1);
	return 0;
}

/**
 * rchar_parse_name() - get the name of the channel in a request
 * @info: the request
 * @name: set to the name; has RCHAR_NAME_MAX + 1 bytes
 *
 * Return: 0 or -EINVAL.
 */
int rchar_parse_name(struct genl_info *info, char *name)
{
	int ret = rchar_parse_once(info);

	if (ret)
		return ret;
	if (!info->attrs[RCHAR_A_CHANNEL_NAME])
		return rchar_parse_missing(info, "which channel? the name is missing");
	return get_name(info, RCHAR_A_CHANNEL_NAME, name);
}

/**
 * rchar_parse_key() - get the name of the key in a request
 * @info: the request
 * @name: set to the name; has RCHAR_NAME_MAX + 1 bytes
 *
 * Return: 0 or -EINVAL.
 */
int rchar_parse_key(struct genl_info *info, char *name)
{
	int ret = rchar_parse_once(info);

	if (ret)
		return ret;
	if (!info->attrs[RCHAR_A_KEY_NAME])
		return rchar_parse_missing(info, "which key? the name is missing");
	ret = get_name(info, RCHAR_A_KEY_NAME, name);
	if (!ret && !strcmp(name, "none"))
		return rchar_parse_refuse(info, RCHAR_A_KEY_NAME,
					  "none is no name of a key: it means no key", -EINVAL);
	return ret;
}

static int get_addr(struct genl_info *info, int attr, struct sockaddr_storage *addr)
{
	const struct nlattr *nla = info->attrs[attr];

	memset(addr, 0, sizeof(*addr));
	if (nla_len(nla) < (int)sizeof(addr->ss_family))
		return rchar_parse_refuse(info, attr, "not an address", -EINVAL);
	memcpy(addr, nla_data(nla), nla_len(nla));
	if (!rchar_addr_len(addr))
		return rchar_parse_refuse(info, attr, "an address is IPv4 or IPv6", -EAFNOSUPPORT);
	if (nla_len(nla) != rchar_addr_len(addr))
		return rchar_parse_refuse(info, attr, "the length does not fit the address family",
					  -EINVAL);
	return 0;
}

/* The settings: 32-bit numbers with limits. */
static const struct setting {
	int attr;
	size_t offset;
	u32 min;
	u32 max;
	const char *words;
} settings[] = {
	{ RCHAR_A_CHANNEL_WINDOW, offsetof(struct rchar_config, window), RCHAR_WINDOW_MIN,
	  RCHAR_WINDOW_MAX, "window must be 64k to 256m" },
	{ RCHAR_A_CHANNEL_WINDOW_MAX, offsetof(struct rchar_config, window_max), 0,
	  RCHAR_WINDOW_MAX, "window-max must be 0 to 256m" },
	{ RCHAR_A_CHANNEL_FRAME, offsetof(struct rchar_config, frame), RCHAR_FRAME_MIN,
	  RCHAR_FRAME_MAX, "frame must be 4k to 64k" },
	{ RCHAR_A_CHANNEL_RENDEZVOUS_MIN, offsetof(struct rchar_config, rendezvous_min), 0,
	  RCHAR_RENDEZVOUS_MIN_MAX, "rendezvous-min must be 0 to 1g" },
	{ RCHAR_A_CHANNEL_MAX_MESSAGE, offsetof(struct rchar_config, max_message), 1,
	  RCHAR_MESSAGE_MAX, "max-message must be 1 to 64m" },
	{ RCHAR_A_CHANNEL_BACKLOG, offsetof(struct rchar_config, backlog), 1, RCHAR_BACKLOG_MAX,
	  "backlog must be 1 to 65535" },
	{ RCHAR_A_CHANNEL_OPEN_TIMEOUT_MS, offsetof(struct rchar_config, open_timeout_ms), 1,
	  RCHAR_TIMEOUT_MS_MAX, "open-timeout must be 1 ms to 24 h" },
	{ RCHAR_A_CHANNEL_RECOVERY_TIMEOUT_MS, offsetof(struct rchar_config, recovery_timeout_ms),
	  1, RCHAR_TIMEOUT_MS_MAX, "recovery-timeout must be 1 ms to 24 h" },
	{ RCHAR_A_CHANNEL_LINGER_MS, offsetof(struct rchar_config, linger_ms), 0,
	  RCHAR_TIMEOUT_MS_MAX, "linger must be 0 to 24 h" },
	{ RCHAR_A_CHANNEL_PRIORITY, offsetof(struct rchar_config, priority), 1, RCHAR_PRIORITY_MAX,
	  "priority must be 1 to 1000" },
	/* Only in requests for a new channel. */
	{ RCHAR_A_CHANNEL_LANES, offsetof(struct rchar_config, lanes), 0, RCHAR_WIRE_LANES_MAX,
	  "lanes must be 0 to 16" },
	{ RCHAR_A_CHANNEL_KEEPALIVE_MS, offsetof(struct rchar_config, keepalive_ms), 0,
	  (RCHAR_KEEPALIVE_MAX * MSEC_PER_SEC), "keepalive must be 0 to 250 s" },
	{ RCHAR_A_CHANNEL_TOS, offsetof(struct rchar_config, tos), 0, RCHAR_TOS_MAX,
	  "tos must be 0 to 255" },
};

/**
 * rchar_parse_settings() - check that the settings in a request are within their limits
 * @info: the request
 * @type: enum rchar_channel_type of the channel
 *
 * Return: 0; -EINVAL when channels of the type do not have a setting; -ERANGE.
 */
int rchar_parse_settings(struct genl_info *info, u32 type)
{
	int i;

	if (info->attrs[RCHAR_A_CHANNEL_MAX_MESSAGE] && type != RCHAR_TYPE_MESSAGE)
		return rchar_parse_refuse(info, RCHAR_A_CHANNEL_MAX_MESSAGE,
					  "only message channels have a max-message", -EINVAL);
	if (info->attrs[RCHAR_A_CHANNEL_RENDEZVOUS_MIN] && type != RCHAR_TYPE_STREAM)
		return rchar_parse_refuse(info, RCHAR_A_CHANNEL_RENDEZVOUS_MIN,
					  "only stream channels have a rendezvous-min", -EINVAL);
	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		const struct setting *s = &settings[i];
		u32 value;

		if (!info->attrs[s->attr])
			continue;
		value = nla_get_u32(info->attrs[s->attr]);
		if (value < s->min || value > s->max)
			return rchar_parse_refuse(info, s->attr, s->words, -ERANGE);
	}
	return 0;
}

/**
 * rchar_parse_apply() - store the settings of a request
 * @info: the request, checked by rchar_parse_settings()
 * @config: configuration of the channel, which may be in use
 */
void rchar_parse_apply(struct genl_info *info, struct rchar_config *config)
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
		return rchar_parse_refuse(info, RCHAR_A_CHANNEL_MODE, "mode must be 0 to 0777",
					  -ERANGE);
	config->uid = GLOBAL_ROOT_UID;
	config->gid = GLOBAL_ROOT_GID;
	if (attrs[RCHAR_A_CHANNEL_UID])
		config->uid = make_kuid(current_user_ns(), nla_get_u32(attrs[RCHAR_A_CHANNEL_UID]));
	if (!uid_valid(config->uid))
		return rchar_parse_refuse(info, RCHAR_A_CHANNEL_UID, "no such uid here", -EINVAL);
	if (attrs[RCHAR_A_CHANNEL_GID])
		config->gid = make_kgid(current_user_ns(), nla_get_u32(attrs[RCHAR_A_CHANNEL_GID]));
	if (!gid_valid(config->gid))
		return rchar_parse_refuse(info, RCHAR_A_CHANNEL_GID, "no such gid here", -EINVAL);
	return 0;
}

static int get_type(struct genl_info *info, struct rchar_config *config)
{
	if (!info->attrs[RCHAR_A_CHANNEL_TYPE])
		return rchar_parse_missing(info, "the type is missing");
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
		return rchar_parse_refuse(info, RCHAR_A_CHANNEL_TYPE, "no such type", -EINVAL);
	}
}

static int get_listen(struct genl_info *info, struct rchar_config *config)
{
	int ret;

	if (!info->attrs[RCHAR_A_CHANNEL_LOCAL])
		return rchar_parse_missing(info, "listen where? the local address is missing");
	if (info->attrs[RCHAR_A_CHANNEL_PEER])
		return rchar_parse_refuse(info, RCHAR_A_CHANNEL_PEER,
					  "a listening channel has no peer address", -EINVAL);
	if (info->attrs[RCHAR_A_CHANNEL_REMOTE])
		return rchar_parse_refuse(info, RCHAR_A_CHANNEL_REMOTE,
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
		return rchar_parse_missing(info, "connect to whom? the peer's address is missing");
	ret = get_addr(info, RCHAR_A_CHANNEL_PEER, &config->peer);
	if (ret)
		return ret;
	if (rchar_addr_any(&config->peer))
		return rchar_parse_refuse(info, RCHAR_A_CHANNEL_PEER,
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
		return rchar_parse_refuse(info, RCHAR_A_CHANNEL_LOCAL,
					  "local and peer address are of different families",
					  -EINVAL);
	rchar_addr_set_port(&config->local, 0);
	return 0;
}

/* Refuse each of @nr attributes that a request has. */
static int refuse_all(struct genl_info *info, const int *attrs, int nr, const char *words)
{
	int i;

	for (i = 0; i < nr; i++)
		if (info->attrs[attrs[i]])
			return rchar_parse_refuse(info, attrs[i], words, -EINVAL);
	return 0;
}

/* Get the region that a listening memory channel exports. Other channels must not have one. */
static int get_region(struct genl_info *info, struct rchar_config *config)
{
	static const int only[] = { RCHAR_A_CHANNEL_SIZE, RCHAR_A_CHANNEL_ACCESS,
				    RCHAR_A_CHANNEL_ATOMICS };
	struct nlattr **attrs = info->attrs;

	if (config->type != RCHAR_TYPE_MEMORY || config->role != RCHAR_ROLE_LISTEN)
		return refuse_all(
			info, only, ARRAY_SIZE(only),
			"only a memory channel that listens has a size, an access and atomics");
	if (!attrs[RCHAR_A_CHANNEL_SIZE])
		return rchar_parse_missing(info, "how much memory? the size is missing");
	config->size = nla_get_u64(attrs[RCHAR_A_CHANNEL_SIZE]);
	if (!config->size || config->size > RCHAR_REGION_SIZE_MAX)
		return rchar_parse_refuse(info, RCHAR_A_CHANNEL_SIZE, "size must be 1 to 512g",
					  -ERANGE);
	config->access = RCHAR_ACCESS_RW;
	if (attrs[RCHAR_A_CHANNEL_ACCESS])
		config->access = nla_get_u32(attrs[RCHAR_A_CHANNEL_ACCESS]);
	if (config->access != RCHAR_ACCESS_RW && config->access != RCHAR_ACCESS_RO)
		return rchar_parse_refuse(info, RCHAR_A_CHANNEL_ACCESS, "access is ro or rw",
					  -EINVAL);
	config->atomics = RCHAR_ATOMICS_SW;
	if (attrs[RCHAR_A_CHANNEL_ATOMICS])
		config->atomics = nla_get_u32(attrs[RCHAR_A_CHANNEL_ATOMICS]);
	if (config->atomics != RCHAR_ATOMICS_SW && config->atomics != RCHAR_ATOMICS_HW)
		return rchar_parse_refuse(info, RCHAR_A_CHANNEL_ATOMICS, "atomics is sw or hw",
					  -EINVAL);
	return 0;
}

static int get_role(struct genl_info *info, struct rchar_config *config)
{
	if (!info->attrs[RCHAR_A_CHANNEL_ROLE])
		return rchar_parse_missing(info, "listen or connect? the role is missing");
	config->role = nla_get_u32(info->attrs[RCHAR_A_CHANNEL_ROLE]);
	if (config->role == RCHAR_ROLE_LISTEN)
		return get_listen(info, config);
	if (config->role == RCHAR_ROLE_CONNECT)
		return get_connect(info, config);
	return rchar_parse_refuse(info, RCHAR_A_CHANNEL_ROLE, "no such role", -EINVAL);
}

/* Only a channel that connects chooses how its link is. */
static int get_link_settings(struct genl_info *info, const struct rchar_config *config)
{
	static const int only[] = { RCHAR_A_CHANNEL_LANES, RCHAR_A_CHANNEL_KEEPALIVE_MS,
				    RCHAR_A_CHANNEL_TOS };

	if (config->role == RCHAR_ROLE_CONNECT)
		return 0;
	return refuse_all(info, only, ARRAY_SIZE(only),
			  "only a channel that connects has lanes, a keepalive and a tos");
}

static int get_encrypt(struct genl_info *info, struct rchar_config *config)
{
	const struct nlattr *nla = info->attrs[RCHAR_A_CHANNEL_ENCRYPT];

	if (!nla)
		return 0;
	if (nla_get_u32(nla) != RCHAR_ENCRYPT_ON && nla_get_u32(nla) != RCHAR_ENCRYPT_OFF)
		return rchar_parse_refuse(info, RCHAR_A_CHANNEL_ENCRYPT, "encrypt is on or off",
					  -EINVAL);
	config->encrypt = nla_get_u32(nla) == RCHAR_ENCRYPT_ON;
	if (config->encrypt && !rchar_seal_available())
		return rchar_parse_refuse(info, RCHAR_A_CHANNEL_ENCRYPT,
					  "this kernel has no ChaCha20-Poly1305 or no Curve25519",
					  -EOPNOTSUPP);
	/* The kernel executes the requests of an encrypted link, with the CPU's atomics. */
	if (config->encrypt && config->atomics == RCHAR_ATOMICS_HW)
		return rchar_parse_refuse(info, RCHAR_A_CHANNEL_ATOMICS,
					  "with encryption, atomics are sw", -EINVAL);
	return 0;
}

/**
 * rchar_parse_config() - get the configuration of a new channel from a request
 * @info: the request
 * @config: set to the configuration
 *
 * Return: 0; or -EINVAL, -ERANGE, -EAFNOSUPPORT or -EOPNOTSUPP with an explanation for the
 * administrator.
 */
int rchar_parse_config(struct genl_info *info, struct rchar_config *config)
{
	int ret;

	*config = (struct rchar_config){
		.rendezvous_min = RCHAR_RENDEZVOUS_MIN_DEFAULT,
		.window = RCHAR_WINDOW_DEFAULT,
		.frame = RCHAR_FRAME_MAX,
		.backlog = RCHAR_BACKLOG_DEFAULT,
		.open_timeout_ms = RCHAR_OPEN_TIMEOUT_MS,
		.recovery_timeout_ms = RCHAR_RECOVERY_TIMEOUT_MS,
		.linger_ms = RCHAR_LINGER_MS,
		.priority = RCHAR_TURNS_PRIORITY,
	};
	ret = rchar_parse_name(info, config->name);
	if (!ret)
		ret = get_type(info, config);
	if (!ret)
		ret = get_role(info, config);
	if (!ret)
		ret = get_region(info, config);
	if (!ret)
		ret = get_encrypt(info, config);
	if (!ret)
		ret = get_link_settings(info, config);
	if (!ret)
		ret = get_node(info, config);
	if (!ret)
		ret = rchar_parse_settings(info, config->type);
	if (!ret)
		rchar_parse_apply(info, config);
	return ret;
}
