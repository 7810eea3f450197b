// SPDX-License-Identifier: GPL-2.0
#include "genl.h"
#include <arpa/inet.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include "linux/rdma_char.h"

char genl_words[256];

static int sock = -1;
static char req[16384], answer[32768];

static struct nlmsghdr *hdr(void)
{
	return (struct nlmsghdr *)req;
}

void genl_begin(int type, int cmd, int flags)
{
	struct genlmsghdr *g = NLMSG_DATA(hdr());

	memset(req, 0, sizeof(req));
	hdr()->nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	hdr()->nlmsg_type = type;
	hdr()->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	g->cmd = cmd;
	g->version = 1;
}

void genl_put(int type, const void *data, int len)
{
	struct nlattr *a = (void *)(req + NLMSG_ALIGN(hdr()->nlmsg_len));

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	memcpy((char *)a + NLA_HDRLEN, data, len);
	hdr()->nlmsg_len = NLMSG_ALIGN(hdr()->nlmsg_len) + NLA_ALIGN(a->nla_len);
}

void genl_put_str(int type, const char *s)
{
	genl_put(type, s, strlen(s) + 1);
}

void genl_put_u32(int type, uint32_t v)
{
	genl_put(type, &v, sizeof(v));
}

void genl_put_addr(int type, const char *ip)
{
	struct sockaddr_in in = { .sin_family = AF_INET };

	inet_pton(AF_INET, ip, &in.sin_addr);
	genl_put(type, &in, sizeof(in));
}

static void take_words(struct nlmsghdr *h, struct nlmsgerr *e)
{
	char *p = (char *)(e + 1), *end = (char *)h + h->nlmsg_len;

	genl_words[0] = 0;
	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (!(h->nlmsg_flags & NLM_F_CAPPED))
		p += e->msg.nlmsg_len - NLMSG_HDRLEN;
	while (p + NLA_HDRLEN <= end) {
		struct nlattr *a = (void *)p;

		if (a->nla_type == NLMSGERR_ATTR_MSG)
			snprintf(genl_words, sizeof(genl_words), "%s", p + NLA_HDRLEN);
		p += NLA_ALIGN(a->nla_len);
	}
}

void genl_new_channel(int family, const char *name, uint32_t type, uint32_t role)
{
	genl_begin(family, RCHAR_CMD_CHANNEL_NEW, 0);
	if (name)
		genl_put_str(RCHAR_A_CHANNEL_NAME, name);
	genl_put_u32(RCHAR_A_CHANNEL_TYPE, type);
	genl_put_u32(RCHAR_A_CHANNEL_ROLE, role);
	genl_put_addr(role == RCHAR_ROLE_LISTEN ? RCHAR_A_CHANNEL_LOCAL : RCHAR_A_CHANNEL_PEER,
		      "10.0.0.1");
}

int genl_transact(void)
{
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };
	static char buf[32768];

	genl_words[0] = 0;
	if (sendto(sock, req, hdr()->nlmsg_len, 0, (void *)&to, sizeof(to)) < 0)
		return errno;
	for (;;) {
		struct nlmsghdr *h = (void *)buf;
		int n = recv(sock, buf, sizeof(buf), 0);

		if (n < 0)
			return errno;
		/* Of the messages of a dump only the end matters here. */
		for (; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
			struct nlmsgerr *e = NLMSG_DATA(h);

			if (h->nlmsg_type == NLMSG_ERROR)
				take_words(h, e);
			if (h->nlmsg_type == NLMSG_ERROR || h->nlmsg_type == NLMSG_DONE)
				return -e->error;
			memcpy(answer, h, h->nlmsg_len);
		}
	}
}

const void *genl_answer(int type)
{
	struct nlattr *a = (void *)(answer + NLMSG_LENGTH(GENL_HDRLEN));
	int left = ((struct nlmsghdr *)answer)->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN);

	while (left > NLA_HDRLEN) {
		if (a->nla_type == type)
			return (char *)a + NLA_HDRLEN;
		left -= NLA_ALIGN(a->nla_len);
		a = (void *)((char *)a + NLA_ALIGN(a->nla_len));
	}
	return NULL;
}

int genl_open(void)
{
	struct timeval tv = { .tv_sec = 10 };
	const uint16_t *id;
	int one = 1;

	if (sock >= 0)
		close(sock);
	sock = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC);
	setsockopt(sock, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	genl_begin(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);
	genl_put_str(CTRL_ATTR_FAMILY_NAME, RCHAR_GENL_NAME);
	if (genl_transact())
		return -1;
	id = genl_answer(CTRL_ATTR_FAMILY_ID);
	return id ? *id : -1;
}
