// SPDX-License-Identifier: GPL-2.0
/* Answers and events: do they have what the specification says, and do refusals say why? */
#include "nlfuzz.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "linux/rdma_char.h"

static bool length_fits(const struct spec_attr *a, const struct nlattr *nla)
{
	uint32_t len = nla->nla_len - NLA_HDRLEN;
	const char *data = (const char *)nla + NLA_HDRLEN;

	switch (a->kind) {
	case SPEC_STRING:
		return len && !data[len - 1] && strlen(data) == len - 1 &&
		       (!a->max_len || len - 1 <= a->max_len);
	case SPEC_U32:
		return len == 4;
	case SPEC_U64:
		return len == 8;
	case SPEC_BINARY:
		return !a->max_len || len <= a->max_len;
	case SPEC_PAD:
		return len == 0;
	default:
		return true;
	}
}

static bool value_known(const struct spec_attr *a, const struct nlattr *nla)
{
	uint32_t v;
	size_t i;

	if (!a->nr_values)
		return true;
	memcpy(&v, (const char *)nla + NLA_HDRLEN, sizeof(v));
	for (i = 0; i < a->nr_values; i++)
		if (a->values[i] == v)
			return true;
	return false;
}

static bool listed(const struct spec_cmd *cmd, uint16_t type)
{
	size_t i;

	for (i = 0; i < cmd->nr_reply; i++)
		if (cmd->reply[i] == type)
			return true;
	return false;
}

/* Attributes of a message, or of a nest: then @cmd is NULL. */
static void check_attrs(const struct spec_cmd *cmd, size_t set, const char *p, const char *end)
{
	while (p + NLA_HDRLEN <= end) {
		const struct nlattr *nla = (const void *)p;
		uint16_t type = nla->nla_type & NLA_TYPE_MASK;
		const struct spec_attr *a = spec_attr(set, type);

		if (nla->nla_len < NLA_HDRLEN || p + nla->nla_len > end) {
			finding("answer torn", "of set %s: attribute %u", spec_sets[set].name,
				type);
			return;
		}
		if (!a)
			finding("answer attribute", "%u is not of %s", type, spec_sets[set].name);
		else if (cmd && a->kind != SPEC_PAD && !listed(cmd, type))
			finding("answer not listed", "%s has %s", cmd->name, a->name);
		else if (!length_fits(a, nla) || !value_known(a, nla))
			finding("answer value", "%s of %s: %u bytes", a->name, spec_sets[set].name,
				nla->nla_len - NLA_HDRLEN);
		else if (a->kind == SPEC_NEST)
			check_attrs(NULL, a->nest, p + NLA_HDRLEN, p + nla->nla_len);
		p += NLA_ALIGN(nla->nla_len);
	}
}

static const void *find(const struct nlmsghdr *h, uint16_t type)
{
	const char *p = (const char *)NLMSG_DATA(h) + GENL_HDRLEN;
	const char *end = (const char *)h + h->nlmsg_len;

	while (p + NLA_HDRLEN <= end) {
		const struct nlattr *nla = (const void *)p;

		if ((nla->nla_type & NLA_TYPE_MASK) == type)
			return p + NLA_HDRLEN;
		if (nla->nla_len < NLA_HDRLEN)
			return NULL;
		p += NLA_ALIGN(nla->nla_len);
	}
	return NULL;
}

static void note_ids(const struct nlmsghdr *h, uint8_t cmd, struct seen *seen)
{
	const void *link, *id;

	if (cmd == RCHAR_CMD_LINK_GET) {
		link = find(h, RCHAR_A_LINK_ID);
		if (link)
			memcpy(&seen->links[seen->nr_links++ % NR_SEEN], link, 8);
	} else if (cmd == RCHAR_CMD_SESSION_GET) {
		link = find(h, RCHAR_A_SESSION_LINK_ID);
		id = find(h, RCHAR_A_SESSION_ID);
		if (link && id) {
			memcpy(&seen->session_links[seen->nr_sessions % NR_SEEN], link, 8);
			memcpy(&seen->sessions[seen->nr_sessions++ % NR_SEEN], id, 4);
		}
	}
}

/**
 * check_message() - an answer, or an event
 * @h: the message
 * @event: it came to the group of those who monitor
 * @seen: takes the ids in it
 */
void check_message(const struct nlmsghdr *h, bool event, struct seen *seen)
{
	const struct genlmsghdr *g = NLMSG_DATA(h);
	size_t i;

	if (h->nlmsg_len < NLMSG_LENGTH(GENL_HDRLEN)) {
		finding("answer short", "%u bytes", h->nlmsg_len);
		return;
	}
	for (i = 0; i < SPEC_NR(spec_cmds); i++) {
		const struct spec_cmd *cmd = &spec_cmds[i];

		if (cmd->cmd != g->cmd || cmd->event != event)
			continue;
		check_attrs(cmd, cmd->set, (const char *)g + GENL_HDRLEN,
			    (const char *)h + h->nlmsg_len);
		note_ids(h, g->cmd, seen);
		return;
	}
	finding("answer command", "%u %s", g->cmd, event ? "as an event" : "as an answer");
}

/**
 * find_words() - what a refusal says
 * @h: NLMSG_ERROR or NLMSG_DONE
 * @words: where to put it; empty when there are none
 * @size: room there
 */
void find_words(const struct nlmsghdr *h, char *words, size_t size)
{
	const struct nlmsgerr *e = NLMSG_DATA(h);
	const char *p = (const char *)(e + 1), *end = (const char *)h + h->nlmsg_len;

	words[0] = 0;
	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (h->nlmsg_type == NLMSG_DONE)
		p = (const char *)NLMSG_DATA(h) + sizeof(int);
	else if (!(h->nlmsg_flags & NLM_F_CAPPED))
		p += NLMSG_ALIGN(e->msg.nlmsg_len) - NLMSG_HDRLEN;
	while (p + NLA_HDRLEN <= end) {
		const struct nlattr *a = (const void *)p;

		if (a->nla_len < NLA_HDRLEN)
			return;
		if (a->nla_type == NLMSGERR_ATTR_MSG)
			snprintf(words, size, "%s", p + NLA_HDRLEN);
		p += NLA_ALIGN(a->nla_len);
	}
}

/* The netlink core says nothing with these. */
static bool wordless(const struct request *q, int error)
{
	return error == EPERM || error == ENOMEM || (error == EINVAL && q->broken) ||
	       /* No such command, or not in that way. */
	       (error == EOPNOTSUPP &&
		(!q->cmd || (q->dump ? !q->cmd->has_dump : !q->cmd->has_do)));
}

/**
 * check_error() - how a request ended
 * @q: the request
 * @who: who sent it
 * @error: 0 or a positive errno
 * @words: what the refusal said
 */
void check_error(const struct request *q, enum who who, int error, const char *words)
{
	bool nobody = who == WHO_NOBODY || who == WHO_USERNS;
	const char *name = q->cmd ? q->cmd->name : "no command";
	const struct nlmsghdr *h = (const void *)q->buf;

	/* Without that flag it is no request: its ack says nothing. */
	if (!(h->nlmsg_flags & NLM_F_REQUEST))
		return;
	if (nobody && q->cmd && q->cmd->admin) {
		if (!error)
			finding("nobody may", "%s", name);
		else if (error != EPERM && !q->broken && !q->odd_header)
			finding("nobody is not refused with EPERM", "%s: errno %d", name, error);
	} else if (error == EPERM) {
		finding("EPERM", "%s, who %d", name, who);
	}
	if (!q->cmd && !error)
		finding("no such command, and no error", "who %d", who);
	if (error && !words[0] && !wordless(q, error)) {
		char key[48];

		snprintf(key, sizeof(key), "no words, errno %d, %s", error, name);
		finding(key, "flags %#x", h->nlmsg_flags);
	}
}
