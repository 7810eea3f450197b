// SPDX-License-Identifier: GPL-2.0
/*
 * Requests to the netlink family that must be refused: each with the right errno, with
 * words (an extended ack), and without having changed anything. TAP output.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "linux/rdma_char.h"

static int sock, family, test_n, failed;
static char req[16384], answer[32768];
static char words[256];

static struct nlmsghdr *hdr(void)
{
	return (struct nlmsghdr *)req;
}

static void begin(int type, int cmd, int flags)
{
	struct genlmsghdr *g = NLMSG_DATA(hdr());

	memset(req, 0, sizeof(req));
	hdr()->nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	hdr()->nlmsg_type = type;
	hdr()->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	g->cmd = cmd;
	g->version = 1;
}

static void put(int type, const void *data, int len)
{
	struct nlattr *a = (void *)(req + NLMSG_ALIGN(hdr()->nlmsg_len));

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	memcpy((char *)a + NLA_HDRLEN, data, len);
	hdr()->nlmsg_len = NLMSG_ALIGN(hdr()->nlmsg_len) + NLA_ALIGN(a->nla_len);
}

static void put_str(int type, const char *s)
{
	put(type, s, strlen(s) + 1);
}

static void put_u32(int type, uint32_t v)
{
	put(type, &v, sizeof(v));
}

static void put_addr(int type, const char *ip)
{
	struct sockaddr_in in = { .sin_family = AF_INET };

	inet_pton(AF_INET, ip, &in.sin_addr);
	put(type, &in, sizeof(in));
}

static void take_words(struct nlmsghdr *h, struct nlmsgerr *e)
{
	char *p = (char *)(e + 1), *end = (char *)h + h->nlmsg_len;

	words[0] = 0;
	if (!(h->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (!(h->nlmsg_flags & NLM_F_CAPPED))
		p += e->msg.nlmsg_len - NLMSG_HDRLEN;
	while (p + NLA_HDRLEN <= end) {
		struct nlattr *a = (void *)p;

		if (a->nla_type == NLMSGERR_ATTR_MSG)
			snprintf(words, sizeof(words), "%s", p + NLA_HDRLEN);
		p += NLA_ALIGN(a->nla_len);
	}
}

/* Sends; returns the errno. What comes before the ack is left in answer. */
static int transact(void)
{
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };
	static char buf[32768];

	sendto(sock, req, hdr()->nlmsg_len, 0, (void *)&to, sizeof(to));
	for (;;) {
		struct nlmsghdr *h = (void *)buf;
		struct nlmsgerr *e = NLMSG_DATA(h);
		int n = recv(sock, buf, sizeof(buf), 0);

		if (n < 0)
			return errno;
		if (h->nlmsg_type == NLMSG_ERROR) {
			take_words(h, e);
			return -e->error;
		}
		memcpy(answer, buf, n);
	}
}

static int resolve(void)
{
	struct nlattr *a;
	int left;

	begin(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);
	put_str(CTRL_ATTR_FAMILY_NAME, RCHAR_GENL_NAME);
	if (transact())
		return -1;
	a = (void *)(answer + NLMSG_LENGTH(GENL_HDRLEN));
	left = ((struct nlmsghdr *)answer)->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN);
	while (left > NLA_HDRLEN) {
		if (a->nla_type == CTRL_ATTR_FAMILY_ID)
			return *(uint16_t *)((char *)a + NLA_HDRLEN);
		left -= NLA_ALIGN(a->nla_len);
		a = (void *)((char *)a + NLA_ALIGN(a->nla_len));
	}
	return -1;
}

static void expect(const char *name, int err)
{
	int got = transact();
	int ok = got == err && (!err || words[0]);

	printf("%sok %d %s # %s\n", ok ? "" : "not ", ++test_n, name, words);
	if (!ok) {
		printf("# got %s '%s', expected %s\n", got ? strerror(got) : "success",
		       words, err ? strerror(err) : "success");
		failed++;
	}
}

/* A request that would be fine; each test spoils one thing. */
static void new_channel(const char *name)
{
	begin(family, RCHAR_CMD_CHANNEL_NEW, 0);
	if (name)
		put_str(RCHAR_A_CHANNEL_NAME, name);
	put_u32(RCHAR_A_CHANNEL_TYPE, RCHAR_TYPE_STREAM);
	put_u32(RCHAR_A_CHANNEL_ROLE, RCHAR_ROLE_LISTEN);
	put_addr(RCHAR_A_CHANNEL_LOCAL, "10.0.0.1");
}

static void bad_names(void)
{
	static const char *const names[] = { "", "a/b", "..", ".x", "-x", "a b", "a\nb",
					     "\xc3\xa4", "x!y" };
	char name[64];
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		new_channel(names[i]);
		snprintf(name, sizeof(name), "bad_name_%u", i);
		expect(name, EINVAL);
	}
	memset(name, 'a', sizeof(name));
	name[32] = 0;
	new_channel(name);
	expect("name_of_32_characters", EINVAL);
	new_channel(NULL);
	expect("name_missing", EINVAL);
	begin(family, RCHAR_CMD_CHANNEL_NEW, 0);
	put(RCHAR_A_CHANNEL_NAME, "abc", 3);
	expect("name_without_its_end", EINVAL);
	new_channel("taken");
	expect("a_good_one", 0);
	new_channel("taken");
	expect("name_taken", EEXIST);
}

static void bad_attributes(void)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	struct sockaddr sa = { .sa_family = AF_UNIX };
	static char huge[8000];

	new_channel("x");
	put_str(RCHAR_A_CHANNEL_NAME, "y");
	expect("name_twice", EINVAL);
	new_channel("x");
	put_u32(RCHAR_A_CHANNEL_WINDOW, 65536);
	put_u32(RCHAR_A_CHANNEL_WINDOW, 65536);
	expect("window_twice", EINVAL);
	new_channel("x");
	put(200, "junk", 4);
	expect("unknown_attribute", EINVAL);
	new_channel("x");
	put_u32(RCHAR_A_CHANNEL_STATE, 1);
	expect("attribute_that_is_only_an_answer", EINVAL);
	new_channel("x");
	put(RCHAR_A_CHANNEL_WINDOW, "ab", 2);
	expect("window_of_two_bytes", EINVAL);
	new_channel("x");
	put_u32(RCHAR_A_CHANNEL_WINDOW, 1);
	expect("window_too_small", ERANGE);
	new_channel("x");
	put_u32(RCHAR_A_CHANNEL_WINDOW, ~0u);
	expect("window_too_large", ERANGE);
	new_channel("x");
	put_u32(RCHAR_A_CHANNEL_BACKLOG, 0);
	expect("backlog_zero", ERANGE);
	new_channel("x");
	put_u32(RCHAR_A_CHANNEL_OPEN_TIMEOUT_MS, 0);
	expect("open_timeout_zero", ERANGE);
	new_channel("x");
	put_u32(RCHAR_A_CHANNEL_MODE, 04777);
	expect("mode_with_setuid", ERANGE);
	new_channel("x");
	put_u32(RCHAR_A_CHANNEL_UID, ~0u);
	expect("uid_invalid", EINVAL);
	new_channel("x");
	put_addr(RCHAR_A_CHANNEL_PEER, "10.0.0.2");
	expect("listen_with_a_peer", EINVAL);
	new_channel("x");
	put_str(RCHAR_A_CHANNEL_REMOTE, "y");
	expect("listen_with_a_remote_name", EINVAL);
	new_channel("x");
	put(RCHAR_A_CHANNEL_REMOTE, huge, sizeof(huge));
	expect("remote_name_oversized", ERANGE);

	begin(family, RCHAR_CMD_CHANNEL_NEW, 0);
	put_str(RCHAR_A_CHANNEL_NAME, "x");
	expect("type_missing", EINVAL);
	put_u32(RCHAR_A_CHANNEL_TYPE, 77);
	expect("type_unknown", EINVAL);
	begin(family, RCHAR_CMD_CHANNEL_NEW, 0);
	put_str(RCHAR_A_CHANNEL_NAME, "x");
	put_u32(RCHAR_A_CHANNEL_TYPE, RCHAR_TYPE_STREAM);
	expect("role_missing", EINVAL);
	put_u32(RCHAR_A_CHANNEL_ROLE, 9);
	expect("role_unknown", EINVAL);
	begin(family, RCHAR_CMD_CHANNEL_NEW, 0);
	put_str(RCHAR_A_CHANNEL_NAME, "x");
	put_u32(RCHAR_A_CHANNEL_TYPE, RCHAR_TYPE_STREAM);
	put_u32(RCHAR_A_CHANNEL_ROLE, RCHAR_ROLE_CONNECT);
	expect("peer_missing", EINVAL);
	put(RCHAR_A_CHANNEL_PEER, &sa, sizeof(sa));
	expect("peer_of_another_family", EAFNOSUPPORT);
	begin(family, RCHAR_CMD_CHANNEL_NEW, 0);
	put_str(RCHAR_A_CHANNEL_NAME, "x");
	put_u32(RCHAR_A_CHANNEL_TYPE, RCHAR_TYPE_STREAM);
	put_u32(RCHAR_A_CHANNEL_ROLE, RCHAR_ROLE_CONNECT);
	put(RCHAR_A_CHANNEL_PEER, &in6, 16);
	expect("peer_ipv6_cut_short", EINVAL);
	begin(family, RCHAR_CMD_CHANNEL_NEW, 0);
	put_str(RCHAR_A_CHANNEL_NAME, "x");
	put_u32(RCHAR_A_CHANNEL_TYPE, RCHAR_TYPE_STREAM);
	put_u32(RCHAR_A_CHANNEL_ROLE, RCHAR_ROLE_CONNECT);
	put_addr(RCHAR_A_CHANNEL_PEER, "0.0.0.0");
	expect("peer_wildcard", EINVAL);
	begin(family, RCHAR_CMD_CHANNEL_NEW, 0);
	put_str(RCHAR_A_CHANNEL_NAME, "x");
	put_u32(RCHAR_A_CHANNEL_TYPE, RCHAR_TYPE_STREAM);
	put_u32(RCHAR_A_CHANNEL_ROLE, RCHAR_ROLE_CONNECT);
	put_addr(RCHAR_A_CHANNEL_PEER, "10.0.0.2");
	in6.sin6_addr.s6_addr[15] = 1;
	put(RCHAR_A_CHANNEL_LOCAL, &in6, sizeof(in6));
	expect("families_differ", EINVAL);
}

static void bad_objects(void)
{
	uint64_t id = 12345;

	begin(family, RCHAR_CMD_CHANNEL_DEL, 0);
	put_str(RCHAR_A_CHANNEL_NAME, "nosuch");
	expect("del_of_no_channel", ENODEV);
	begin(family, RCHAR_CMD_CHANNEL_GET, 0);
	put_str(RCHAR_A_CHANNEL_NAME, "nosuch");
	expect("get_of_no_channel", ENODEV);
	begin(family, RCHAR_CMD_CHANNEL_SET, 0);
	put_str(RCHAR_A_CHANNEL_NAME, "nosuch");
	expect("set_of_no_channel", ENODEV);
	begin(family, RCHAR_CMD_CHANNEL_SET, 0);
	put_str(RCHAR_A_CHANNEL_NAME, "taken");
	put_addr(RCHAR_A_CHANNEL_LOCAL, "10.0.0.9");
	expect("set_of_what_is_fixed", EINVAL);
	begin(family, RCHAR_CMD_LINK_RESET, 0);
	expect("reset_without_a_link", EINVAL);
	put(RCHAR_A_LINK_ID, &id, sizeof(id));
	expect("reset_of_no_link", ENOENT);
	begin(family, RCHAR_CMD_SESSION_KILL, 0);
	put(RCHAR_A_SESSION_LINK_ID, &id, sizeof(id));
	expect("kill_without_a_session", EINVAL);
	put_u32(RCHAR_A_SESSION_ID, 1);
	expect("kill_of_no_session", ENOENT);
	begin(family, RCHAR_CMD_CHANNEL_DEL, 0);
	put_str(RCHAR_A_CHANNEL_NAME, "taken");
	expect("del_of_the_good_one", 0);
}

/* Words are not asked for: the netlink core refuses without any. */
static void unprivileged(void)
{
	int got;

	if (setuid(65534))
		exit(1);
	new_channel("x");
	got = transact();
	printf("%sok %d not_root_may_not_add\n", got == EPERM ? "" : "not ", ++test_n);
	failed += got != EPERM;
	begin(family, RCHAR_CMD_INFO_GET, 0);
	expect("not_root_may_look", 0);
}

int main(void)
{
	struct timeval tv = { .tv_sec = 10 };
	int one = 1;

	sock = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC);
	setsockopt(sock, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	family = resolve();
	if (family < 0) {
		printf("Bail out! no family\n");
		return 1;
	}
	printf("TAP version 13\n");
	bad_names();
	bad_attributes();
	bad_objects();
	unprivileged();
	printf("1..%d\n", test_n);
	return failed != 0;
}
