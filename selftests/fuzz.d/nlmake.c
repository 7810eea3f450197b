// SPDX-License-Identifier: GPL-2.0
/*
 * Requests: first one that the specification allows, of names and ids that exist; then,
 * most of the time, something about it is spoiled.
 */
#define _GNU_SOURCE
#include "nlfuzz.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include "linux/rdma_char.h"

static const char *const own[] = { "n-0", "n-1", "n-2", "n-3", "n-4", "n-5", "n-6", "n-7" };
static const char *const fuzzed[] = { "f-stream-l",  "f-stream-c", "f-message-l",
				      "f-message-c", "f-memory-l", "f-memory-c" };
/* A channel keeps its network namespace: only root of the first one deletes those. */
static const char *const netns[] = { "ns-0", "ns-1", "ns-2" };
static const char *const keys[] = { "k-0", "k-1", "k-2", "k-3" };
static const char *const wrong[] = { "",	 ".",	   "..",
				     "-a",	 "a/b",	   "a b",
				     "\xc3\xa4", "nosuch", "01234567890123456789012345678901" };

const struct spec_attr *spec_attr(size_t set, uint16_t type)
{
	size_t i;

	for (i = 0; i < spec_sets[set].nr; i++)
		if (spec_sets[set].attrs[i].type == type)
			return &spec_sets[set].attrs[i];
	return NULL;
}

/* ---- attributes ---- */

static struct nlattr *put(struct request *q, uint16_t type, const void *data, size_t len)
{
	struct nlattr *a = (void *)(q->buf + NLMSG_ALIGN(q->len));

	if (NLMSG_ALIGN(q->len) + NLA_HDRLEN + NLA_ALIGN(len) > REQUEST_MAX)
		return NULL;
	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	memset(a + 1, 0, NLA_ALIGN(len));
	memcpy(a + 1, data, len);
	q->len = NLMSG_ALIGN(q->len) + NLA_ALIGN(a->nla_len);
	return a;
}

static const char *a_name(struct rng *r, enum who who)
{
	if (one_in(r, 20))
		return PICK(r, wrong);
	if (who == WHO_NETNS && !one_in(r, 4))
		return PICK(r, netns);
	return one_in(r, 4) ? PICK(r, fuzzed) : PICK(r, own);
}

static void put_address(struct request *q, struct rng *r, uint16_t type)
{
	static const char *const v4[] = { "10.0.0.1",  "10.0.0.1", "10.0.0.1",	      "10.0.0.9",
					  "127.0.0.1", "0.0.0.0",  "255.255.255.255", "224.0.0.1" };
	static const char *const v6[] = { "fd00::1", "fd00::1",	       "::1", "::", "ff02::1",
					  "fe80::1", "::ffff:10.0.0.1" };
	static const uint16_t ports[] = { 0, 0, 0, RCHAR_PORT, 7480, 7481, 1, 65535 };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(PICK(r, ports)) };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(PICK(r, ports)) };

	if (one_in(r, 4)) {
		inet_pton(AF_INET6, PICK(r, v6), &in6.sin6_addr);
		in6.sin6_scope_id = one_in(r, 4) ? below(r, 5) : 0;
		put(q, type, &in6, sizeof(in6));
		return;
	}
	inet_pton(AF_INET, PICK(r, v4), &in.sin_addr);
	if (one_in(r, 30))
		in.sin_family = boundary(r);
	put(q, type, &in, sizeof(in));
}

/* Of a region: small, or more than the machine has. What is between would take it all. */
static uint64_t a_size(struct rng *r)
{
	if (one_in(r, 50))
		return (1ull << (36 + below(r, 5))) + below(r, 3) - 1;
	return one_in(r, 20) ? below(r, 3) - 1ull : 1 + below(r, 512 << 10);
}

/* Good ones mostly; of what takes time little. */
static uint32_t a_u32(struct rng *r, const struct spec_attr *a)
{
	static const uint32_t limits[] = { 65536,
					   65535,
					   1 << 20,
					   1 << 30,
					   (1 << 30) + 1,
					   256 << 20,
					   (256 << 20) + 1,
					   64 << 20,
					   (64 << 20) + 1,
					   86400000,
					   86400001,
					   0,
					   1,
					   0777,
					   01000,
					   ~0u };

	if (a->nr_values)
		return one_in(r, 20) ? boundary(r) : a->values[below(r, a->nr_values)];
	if (one_in(r, 8))
		return one_in(r, 2) ? PICK(r, limits) : boundary(r);
	if (strstr(a->name, "-ms"))
		return 1 + below(r, 1500);
	if (!strcmp(a->name, "mode"))
		return below(r, 01000);
	if (!strcmp(a->name, "window"))
		return (64 << 10) + below(r, 1 << 20);
	return 1 + below(r, 60000);
}

static void put_u64(struct request *q, uint16_t type, uint64_t v)
{
	put(q, type, &v, sizeof(v));
}

static void put_string(struct request *q, struct rng *r, const struct spec_attr *a, bool of_key,
		       enum who who)
{
	const char *s = of_key ? PICK(r, keys) : a_name(r, who);

	if (of_key && one_in(r, 20))
		s = PICK(r, wrong);
	put(q, a->type, s, strlen(s) + 1);
}

/* One of a few secrets, so that names meet secrets that others have. */
static void put_secret(struct request *q, struct rng *r, uint16_t type)
{
	uint8_t secret[RCHAR_KEY_LEN];

	memset(secret, below(r, 6), sizeof(secret));
	put(q, type, secret, one_in(r, 20) ? below(r, sizeof(secret)) : sizeof(secret));
}

static void put_prefix(struct request *q, struct rng *r, uint16_t type)
{
	static const uint16_t families[] = { AF_INET, AF_INET6, AF_UNSPEC };
	struct rchar_prefix p = { .family = PICK(r, families) };

	if (p.family)
		p.bits = one_in(r, 8) ? boundary(r) : below(r, 33);
	if (p.family && p.bits)
		p.addr[0] = one_in(r, 8) ? boundary(r) : 0x80;
	p.reserved = one_in(r, 30);
	put(q, type, &p, sizeof(p));
}

static void put_binary(struct request *q, struct rng *r, const struct spec_attr *a)
{
	if (!strcmp(a->name, "secret"))
		put_secret(q, r, a->type);
	else if (!strcmp(a->name, "allow"))
		put_prefix(q, r, a->type);
	else
		put_address(q, r, a->type);
}

static void put_good(struct request *q, struct rng *r, const struct spec_attr *a, enum who who)
{
	bool of_key = !strcmp(a->name, "key") || !strcmp(spec_sets[q->cmd->set].name, "key");
	uint32_t v;

	switch (a->kind) {
	case SPEC_STRING:
		put_string(q, r, a, of_key, who);
		break;
	case SPEC_U32:
		v = a_u32(r, a);
		put(q, a->type, &v, sizeof(v));
		break;
	case SPEC_U64:
		put_u64(q, a->type, !strcmp(a->name, "size") ? a_size(r) : boundary(r));
		break;
	case SPEC_BINARY:
		put_binary(q, r, a);
		break;
	default:
		put(q, a->type, NULL, 0);
		break;
	}
}

/* Any attribute, of any length. */
static void put_any(struct request *q, struct rng *r)
{
	static const uint16_t flags[] = {
		0, 0, 0, NLA_F_NESTED, NLA_F_NET_BYTEORDER, NLA_F_NESTED | NLA_F_NET_BYTEORDER
	};
	static const uint16_t lengths[] = { 0,	1,  2,	3,  4,	5,   7,	  8,   9,    16,
					    27, 28, 29, 32, 33, 255, 256, 257, 4096, 20000 };
	uint16_t type = one_in(r, 4) ? boundary(r) & NLA_TYPE_MASK : below(r, 34);
	static uint8_t junk[20000];
	uint16_t len = PICK(r, lengths);
	uint64_t v = rng_next(r);
	size_t i;

	for (i = 0; i < len && i < 64; i++)
		junk[i] = v >> (i % 8 * 8);
	if (one_in(r, 4))
		memset(junk, 'a', sizeof(junk));
	put(q, type | PICK(r, flags), junk, len);
}

/* ---- what the specification allows ---- */

static bool given(const struct spec_attr *a, uint32_t type, uint32_t role, struct rng *r)
{
	static const char *const region[] = { "size", "access", "atomics" };
	bool listens = role == RCHAR_ROLE_LISTEN;
	size_t i;

	for (i = 0; i < SPEC_NR(region); i++)
		if (!strcmp(a->name, region[i]))
			return type == RCHAR_TYPE_MEMORY && listens && (!i || one_in(r, 2));
	if (!strcmp(a->name, "local"))
		return listens || one_in(r, 6);
	if (!strcmp(a->name, "peer"))
		return !listens;
	if (!strcmp(a->name, "key"))
		return one_in(r, 6);
	if (!strcmp(a->name, "allow"))
		return listens && one_in(r, 8);
	if (!strcmp(a->name, "remote"))
		return !listens && !one_in(r, 5);
	if (!strcmp(a->name, "lanes") || !strcmp(a->name, "keepalive-ms") ||
	    !strcmp(a->name, "tos"))
		return !listens && one_in(r, 6);
	if (!strcmp(a->name, "max-message"))
		return type == RCHAR_TYPE_MESSAGE && one_in(r, 3);
	if (!strcmp(a->name, "rendezvous-min"))
		return type == RCHAR_TYPE_STREAM && one_in(r, 3);
	/* Programs wait for so long: never by default. */
	return strstr(a->name, "-ms") || one_in(r, 4);
}

static void fill_new(struct request *q, struct rng *r, enum who who)
{
	uint32_t type = 1 + below(r, 3), role = 1 + below(r, 2);
	size_t i;

	for (i = 0; i < q->cmd->nr_request; i++) {
		const struct spec_attr *a = spec_attr(q->cmd->set, q->cmd->request[i]);

		if (!strcmp(a->name, "type") && !one_in(r, 40))
			put(q, a->type, &type, sizeof(type));
		else if (!strcmp(a->name, "role") && !one_in(r, 40))
			put(q, a->type, &role, sizeof(role));
		else if (!strcmp(a->name, "name") || given(a, type, role, r))
			put_good(q, r, a, who);
	}
}

static void fill_seen(struct request *q, struct rng *r, const struct seen *seen)
{
	uint32_t i = below(r, NR_SEEN), id = boundary(r);
	uint64_t link = boundary(r);

	if (q->cmd->cmd == RCHAR_CMD_LINK_RESET) {
		if (seen->nr_links && !one_in(r, 8))
			link = seen->links[i % seen->nr_links];
		put_u64(q, RCHAR_A_LINK_ID, link);
		return;
	}
	if (seen->nr_sessions) {
		link = one_in(r, 8) ? link : seen->session_links[i % seen->nr_sessions];
		id = one_in(r, 8) ? id : seen->sessions[i % seen->nr_sessions];
	}
	put_u64(q, RCHAR_A_SESSION_LINK_ID, link);
	put(q, RCHAR_A_SESSION_ID, &id, sizeof(id));
}

static void fill(struct request *q, struct rng *r, enum who who, const struct seen *seen)
{
	size_t i;

	if (!q->cmd || one_in(r, 25)) {
		for (i = below(r, 6); i; i--)
			put_any(q, r);
		return;
	}
	if (q->cmd->cmd == RCHAR_CMD_CHANNEL_NEW) {
		fill_new(q, r, who);
		return;
	}
	if (q->cmd->cmd == RCHAR_CMD_LINK_RESET || q->cmd->cmd == RCHAR_CMD_SESSION_KILL) {
		fill_seen(q, r, seen);
		return;
	}
	for (i = 0; i < q->cmd->nr_request; i++)
		if (!q->dump && (!i || q->cmd->cmd == RCHAR_CMD_KEY_NEW || one_in(r, 4)))
			put_good(q, r, spec_attr(q->cmd->set, q->cmd->request[i]), who);
}

/* ---- what spoils it ---- */

#define ATTRS (NLMSG_HDRLEN + GENL_HDRLEN)

/* Where attribute number n begins, or 0. */
static size_t attr_at(struct request *q, uint32_t n)
{
	size_t at = ATTRS;

	while (at + NLA_HDRLEN <= q->len) {
		struct nlattr *a = (void *)(q->buf + at);

		if (!n--)
			return at;
		at += NLA_ALIGN(a->nla_len);
	}
	return 0;
}

static uint32_t nr_attrs(struct request *q)
{
	uint32_t n = 0;

	while (attr_at(q, n))
		n++;
	return n;
}

static void spoil_attr(struct request *q, struct rng *r, uint32_t how)
{
	size_t at = attr_at(q, below(r, nr_attrs(q)));
	struct nlattr *a = (void *)(q->buf + at);
	uint8_t copy[300];
	size_t len;

	if (!at)
		return;
	len = a->nla_len;
	switch (how) {
	case 0: /* twice */
		if (len - NLA_HDRLEN <= sizeof(copy)) {
			memcpy(copy, a + 1, len - NLA_HDRLEN);
			put(q, a->nla_type, copy, len - NLA_HDRLEN);
		}
		break;
	case 1: /* missing */
		memmove(a, q->buf + at + NLA_ALIGN(len), q->len - at - NLA_ALIGN(len));
		q->len -= NLA_ALIGN(len);
		break;
	case 2: /* another type */
		a->nla_type = one_in(r, 3) ? boundary(r) : below(r, 34);
		break;
	case 3: /* shorter; what is behind is an attribute, too */
		a->nla_len -= below(r, len - NLA_HDRLEN + 1);
		q->broken = true;
		break;
	case 4: /* a length that cannot be */
		a->nla_len = one_in(r, 2) ? below(r, 8) : boundary(r);
		q->broken = true;
		break;
	case 5:
		a->nla_type |= one_in(r, 2) ? NLA_F_NESTED : NLA_F_NET_BYTEORDER;
		break;
	case 6: /* all that follows is inside of it */
		a->nla_type |= NLA_F_NESTED;
		a->nla_len = q->len - at;
		q->broken = true;
		break;
	case 7: /* other bytes; but no region that takes most of the memory */
		if (len > NLA_HDRLEN && !(q->cmd && q->cmd->cmd == RCHAR_CMD_CHANNEL_NEW &&
					  a->nla_type == RCHAR_A_CHANNEL_SIZE))
			q->buf[at + NLA_HDRLEN + below(r, len - NLA_HDRLEN)] ^= 1 << below(r, 8);
		break;
	}
}

static void spoil_message(struct request *q, struct rng *r)
{
	struct nlmsghdr *h = request_hdr(q);
	struct genlmsghdr *g = NLMSG_DATA(h);

	switch (below(r, 5)) {
	case 0: /* the length is not what is sent */
		h->nlmsg_len = one_in(r, 2) ? below(r, q->len + 40) : boundary(r);
		q->broken = true;
		break;
	case 1: /* cut */
		q->len = NLMSG_HDRLEN + below(r, q->len - NLMSG_HDRLEN + 1);
		h->nlmsg_len = q->len;
		q->broken = true;
		break;
	case 2:
		h->nlmsg_flags ^= 1 << below(r, 16);
		q->odd_header = true;
		break;
	case 3:
		g->version = boundary(r);
		g->reserved = one_in(r, 2) ? boundary(r) : 0;
		q->odd_header = true;
		break;
	case 4: /* bytes behind */
		memset(q->buf + q->len, 0xff, 8);
		q->len += 1 + below(r, 7);
		h->nlmsg_len = q->len;
		q->broken = true;
		break;
	}
}

static void choose(struct request *q, struct rng *r)
{
	struct genlmsghdr *g = NLMSG_DATA(request_hdr(q));
	size_t i = below(r, SPEC_NR(spec_cmds));

	/* Half of them make, change and delete channels. */
	if (one_in(r, 2))
		i = below(r, 4);
	g->cmd = one_in(r, 60) ? boundary(r) : spec_cmds[i].cmd;
	q->cmd = NULL;
	for (i = 0; i < SPEC_NR(spec_cmds); i++)
		if (spec_cmds[i].cmd == g->cmd && !spec_cmds[i].event)
			q->cmd = &spec_cmds[i];
	q->dump = q->cmd && q->cmd->has_dump && (!q->cmd->has_do || one_in(r, 2));
	if (one_in(r, 30))
		q->dump = !q->dump;
}

/**
 * make_request() - the next one
 * @q: where to put it
 * @r: numbers for this request alone, so that what was seen before changes no later one
 * @who: who sends it
 * @family: number of the family
 * @seen: ids that exist
 */
void make_request(struct request *q, struct rng *r, enum who who, uint16_t family,
		  const struct seen *seen)
{
	struct nlmsghdr *h = request_hdr(q);
	struct genlmsghdr *g = NLMSG_DATA(h);
	uint32_t n = one_in(r, 3) ? 0 : one_in(r, 3) ? 1 + below(r, 4) : 1;

	memset(q->buf, 0, ATTRS);
	q->len = ATTRS;
	q->broken = q->odd_header = false;
	choose(q, r);
	g->version = RCHAR_GENL_VERSION;
	h->nlmsg_type = family;
	h->nlmsg_flags = NLM_F_REQUEST | (q->dump ? NLM_F_DUMP : 0) |
			 (one_in(r, 20) ? 0 : NLM_F_ACK);
	fill(q, r, who, seen);
	h->nlmsg_len = q->len;
	while (n--) {
		uint32_t how = below(r, 12);

		if (q->broken)
			break;
		if (how < 8)
			spoil_attr(q, r, how);
		else if (how < 10)
			put_any(q, r);
		else if (how < 11 && q->cmd)
			put_good(q, r,
				 &spec_sets[q->cmd->set].attrs[below(r, spec_sets[q->cmd->set].nr)],
				 who);
		if (how < 11)
			h->nlmsg_len = q->len;
		else
			spoil_message(q, r);
	}
	q->dump = (h->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
	q->answered = (h->nlmsg_flags & NLM_F_REQUEST) && (q->dump || h->nlmsg_flags & NLM_F_ACK);
}
