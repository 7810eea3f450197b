// SPDX-License-Identifier: GPL-2.0
/* Check and parse the lists of keys and addresses in requests about channels. */
#include <net/genetlink.h>
#include <net/ipv6.h>
#include "link/psk.h"
#include "parse.h"
#include "proto/frame.h"
#include "session/acl.h"
#include "session/channel.h"

static int acl_refuse(struct genl_info *info, const struct nlattr *attr, const char *words,
		      int error)
{
	NL_SET_BAD_ATTR(info->extack, attr);
	info->extack->_msg = words;
	return error;
}

static int add_key(struct genl_info *info, const struct nlattr *attr, struct rchar_acl *acl)
{
	const char *name = nla_data(attr);
	struct rchar_psk *psk;
	unsigned int i;

	if (!rchar_name_valid(name, strlen(name)))
		return acl_refuse(
			info, attr,
			"a key has a name of 1 to 31 of A-Z a-z 0-9 . _ -; an empty name alone means no key",
			-EINVAL);
	if (acl->nr_psks == RCHAR_KEYS_MAX)
		return acl_refuse(info, attr, "a channel has at most 64 keys", -E2BIG);
	psk = rchar_psk_find(genl_info_net(info), name);
	if (!psk)
		return acl_refuse(info, attr, "no key of that name: see 'rchar key'", -ENOENT);
	for (i = 0; i < acl->nr_psks; i++) {
		if (acl->psks[i] == psk) {
			rchar_psk_put(psk);
			return acl_refuse(info, attr, "this key is given twice", -EINVAL);
		}
	}
	rchar_acl_add_psk(acl, psk);
	return 0;
}

static bool prefix_valid(const struct rchar_prefix *prefix)
{
	unsigned int len = prefix->family == AF_INET ? 4 : 16, bit;

	if (prefix->reserved || prefix->bits > 8 * len ||
	    (prefix->family != AF_INET && prefix->family != AF_INET6))
		return false;
	/* Like 'ip route', refuse an address with bits beyond the prefix: it is mostly a slip. */
	for (bit = prefix->bits; bit < 8 * sizeof(prefix->addr); bit++)
		if (prefix->addr[bit / 8] & (0x80 >> bit % 8))
			return false;
	return true;
}

static int add_prefix(struct genl_info *info, const struct nlattr *attr, struct rchar_acl *acl)
{
	const struct rchar_prefix *prefix = nla_data(attr);

	if (!prefix_valid(prefix))
		return acl_refuse(info, attr, "allow takes ADDR/BITS without bits set beyond BITS",
				  -EINVAL);
	if (acl->nr_prefixes == RCHAR_PREFIXES_MAX)
		return acl_refuse(info, attr, "a channel allows at most 64 prefixes", -E2BIG);
	acl->prefixes[acl->nr_prefixes++] = *prefix;
	return 0;
}

/* The one value that empties a list. */
static bool means_none(const struct nlattr *attr)
{
	static const struct rchar_prefix any;

	if (nla_type(attr) == RCHAR_A_CHANNEL_KEY)
		return !*(const char *)nla_data(attr);
	return !memcmp(nla_data(attr), &any, sizeof(any));
}

/* Add all attributes of one type. */
static int add_all(struct genl_info *info, u16 type, struct rchar_acl *acl)
{
	const struct nlattr *attr;
	bool none = false;
	int rem, n = 0, ret = 0;

	nlmsg_for_each_attr(attr, info->nlhdr, GENL_HDRLEN, rem) {
		if (nla_type(attr) != type)
			continue;
		n++;
		none |= means_none(attr);
		if (none && n > 1)
			return acl_refuse(info, attr, "'no key' or 'any address' stands alone",
					  -EINVAL);
		if (!none)
			ret = type == RCHAR_A_CHANNEL_KEY ? add_key(info, attr, acl) :
							    add_prefix(info, attr, acl);
		if (ret)
			return ret;
	}
	return 0;
}

static int no_key(struct genl_info *info)
{
	return rchar_parse_missing(info, "encryption needs a key: see 'rchar key'");
}

static int check_acl(struct genl_info *info, const struct rchar_config *config,
		     const struct rchar_acl *acl)
{
	if (config->encrypt && !acl->nr_psks)
		return no_key(info);
	if (config->role == RCHAR_ROLE_LISTEN)
		return 0;
	if (info->attrs[RCHAR_A_CHANNEL_ALLOW])
		return rchar_parse_refuse(info, RCHAR_A_CHANNEL_ALLOW,
					  "only a listening channel has an allow list", -EINVAL);
	if (acl->nr_psks > 1)
		return rchar_parse_refuse(info, RCHAR_A_CHANNEL_KEY,
					  "a connecting channel has one key", -EINVAL);
	return 0;
}

/**
 * rchar_parse_acl() - get the access list that a request asks for
 * @info: the request
 * @config: configuration of the channel
 * @old: list of the channel; what the request leaves out stays. NULL: none.
 * @acl: set to the list; to NULL when the request has neither keys nor addresses
 *
 * Return: 0; -EINVAL, -E2BIG or -ENOENT with an explanation for the administrator; -ENOMEM.
 */
int rchar_parse_acl(struct genl_info *info, const struct rchar_config *config,
		    const struct rchar_acl *old, struct rchar_acl **acl)
{
	bool keys = info->attrs[RCHAR_A_CHANNEL_KEY], allow = info->attrs[RCHAR_A_CHANNEL_ALLOW];
	struct rchar_acl *fresh;
	int ret;

	*acl = NULL;
	if (!keys && !allow)
		return config->encrypt && !old ? no_key(info) : 0;
	fresh = rchar_acl_copy(old, !keys, !allow);
	if (!fresh)
		return -ENOMEM;
	ret = add_all(info, RCHAR_A_CHANNEL_KEY, fresh);
	if (!ret)
		ret = add_all(info, RCHAR_A_CHANNEL_ALLOW, fresh);
	if (!ret)
		ret = check_acl(info, config, fresh);
	if (ret) {
		rchar_acl_put(fresh);
		return ret;
	}
	if (config->role == RCHAR_ROLE_LISTEN)
		rchar_acl_guard(fresh);
	*acl = fresh;
	return 0;
}
