// SPDX-License-Identifier: GPL-2.0
/*
 * fuzznetlink --seed S --seconds N [--log FILE] - requests at random to the netlink family.
 *
 * Several processes at once: root, nobody, root of another network namespace, nobody in a
 * user namespace of its own, and one that only monitors. Request number i of process p is
 * a function of S, p and i, but for ids of links and sessions, which are random.
 *
 * It shows that who may not, cannot; that each refusal has words; that answers and events
 * have what the specification says; and that the module answers to the end.
 */
#define _GNU_SOURCE
#include "nlfuzz.h"
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "linux/rdma_char.h"

#define ANSWER_MS 60000 /* later than this is a finding */
#define SLOW_MS	  30000

static const enum who crew[] = { WHO_ROOT,  WHO_ROOT,	WHO_ROOT,   WHO_NOBODY,
				 WHO_NETNS, WHO_USERNS, WHO_MONITOR };

enum { OK, REFUSED, EPERMS, DUMPS, EVENTS, SILENT }; /* of shared->count */

static uint16_t family;
static uint32_t group;
static int sock = -1;
static uint32_t seq;
static struct seen seen;
static struct request q;

/* ---- the socket ---- */

static void open_socket(void)
{
	struct timeval tv = { .tv_sec = ANSWER_MS / 1000 };
	struct sockaddr_nl any = { .nl_family = AF_NETLINK };
	int one = 1, size = 1 << 20;

	if (sock >= 0)
		close(sock);
	sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	/* One that has no number yet gets no events: the kernel's own is 0, too. */
	if (sock < 0 || bind(sock, (void *)&any, sizeof(any))) {
		perror("socket");
		exit(2);
	}
	setsockopt(sock, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(sock, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

static int send_bytes(const void *data, size_t len)
{
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };

	return sendto(sock, data, len, 0, (void *)&to, sizeof(to)) < 0 ? errno : 0;
}

/* A request that is always fine: its answer is the last of all that were asked for. */
static uint32_t send_probe(void)
{
	struct {
		struct nlmsghdr h;
		struct genlmsghdr g;
	} probe = {
		.h = { .nlmsg_len = sizeof(probe),
		       .nlmsg_type = family,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
		       .nlmsg_seq = ++seq },
		.g = { .cmd = RCHAR_CMD_INFO_GET, .version = 1 },
	};
	int ret = send_bytes(&probe, sizeof(probe));

	if (ret)
		finding("probe", "%s", strerror(ret));
	return seq;
}

/* How what is read ends. */
struct outcome {
	bool ended; /* the request did */
	int error;
	char words[200];
};

/* Until the end of request @of; of an earlier one it takes the outcome on the way. */
static bool read_until(uint32_t of, struct outcome *out)
{
	static uint8_t buf[1 << 16] __attribute__((aligned(8)));

	for (;;) {
		const struct nlmsghdr *h = (void *)buf;
		int n = recv(sock, buf, sizeof(buf), 0);

		if (n < 0 && errno == ENOBUFS)
			continue;
		if (n < 0)
			return false;
		for (; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
			bool end = h->nlmsg_type == NLMSG_ERROR || h->nlmsg_type == NLMSG_DONE;

			if (!end) {
				check_message(h, false, &seen);
				continue;
			}
			if (h->nlmsg_seq == q.seq && !out->ended) {
				out->ended = true;
				out->error = -*(const int *)NLMSG_DATA(h);
				find_words(h, out->words, sizeof(out->words));
			}
			if (h->nlmsg_seq == of)
				return true;
		}
	}
}

static void resolve(void)
{
	struct {
		struct nlmsghdr h;
		struct genlmsghdr g;
		struct nlattr a;
		char name[8];
	} ask = {
		.h = { .nlmsg_len = sizeof(ask),
		       .nlmsg_type = GENL_ID_CTRL,
		       .nlmsg_flags = NLM_F_REQUEST },
		.g = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 },
		.a = { .nla_len = NLA_HDRLEN + sizeof(SPEC_FAMILY),
		       .nla_type = CTRL_ATTR_FAMILY_NAME },
		.name = SPEC_FAMILY,
	};
	static uint8_t buf[8192] __attribute__((aligned(8)));
	const uint8_t *p = buf + NLMSG_HDRLEN + GENL_HDRLEN;
	int n;

	n = send_bytes(&ask, sizeof(ask)) ? -1 : recv(sock, buf, sizeof(buf), 0);
	while (p + NLA_HDRLEN <= buf + n) {
		const struct nlattr *a = (const void *)p;

		if (a->nla_type == CTRL_ATTR_FAMILY_ID)
			memcpy(&family, a + 1, sizeof(family));
		/* One group: list, entry, then its name and its number. */
		if (a->nla_type == CTRL_ATTR_MCAST_GROUPS) {
			const uint8_t *g = p + 2 * NLA_HDRLEN;

			while (g < p + a->nla_len) {
				const struct nlattr *e = (const void *)g;

				if (e->nla_type == CTRL_ATTR_MCAST_GRP_ID)
					memcpy(&group, e + 1, sizeof(group));
				g += NLA_ALIGN(e->nla_len);
			}
		}
		p += NLA_ALIGN(a->nla_len);
	}
	if (!family || !group) {
		fprintf(stderr, "fuzznetlink: no family '%s' with group '%s'\n", SPEC_FAMILY,
			SPEC_GROUP);
		exit(2);
	}
}

/* ---- one request ---- */

static void note_request(int index, unsigned long i)
{
	const struct genlmsghdr *g = NLMSG_DATA(request_hdr(&q));
	char hex[2 * 44 + 1] = "";
	size_t at;

	for (at = NLMSG_HDRLEN + GENL_HDRLEN; at < q.len && at < NLMSG_HDRLEN + GENL_HDRLEN + 44;
	     at++)
		sprintf(hex + 2 * (at - NLMSG_HDRLEN - GENL_HDRLEN), "%02x", q.buf[at]);
	log_input("%d.%lu %s(%u) %#x %zu %s", index, i, q.cmd ? q.cmd->name : "?", g->cmd,
		  request_hdr(&q)->nlmsg_flags, q.len, hex);
}

static void count_outcome(const struct outcome *out)
{
	int what = !out->ended ? SILENT : !out->error ? OK : out->error == EPERM ? EPERMS : REFUSED;

	atomic_fetch_add(&shared->count[what], 1);
	if (q.dump)
		atomic_fetch_add(&shared->count[DUMPS], 1);
}

static void one_request(struct rng *r, enum who who, int index, unsigned long i)
{
	long long start = now_ms(), took;
	struct outcome out = { .ended = false };
	bool abandon, probe;
	int ret;

	make_request(&q, r, who, family, &seen);
	q.seq = request_hdr(&q)->nlmsg_seq = ++seq;
	abandon = one_in(r, 200);
	/* Not behind a dump that goes well: it ends when it has been read, and so later. */
	probe = !q.answered || q.broken || q.odd_header || (!q.dump && one_in(r, 10));
	note_request(index, i);
	ret = send_bytes(q.buf, q.len);
	if (ret) {
		if (ret != EMSGSIZE && ret != ENOBUFS)
			finding("sendto", "%s", strerror(ret));
		return;
	}
	/* In the middle of the answer, perhaps. */
	if (abandon) {
		open_socket();
		return;
	}
	if (!read_until(probe ? send_probe() : q.seq, &out)) {
		finding("no answer", "errno %d to %s of process %d, request %lu", errno,
			q.cmd ? q.cmd->name : "no command", index, i);
		open_socket();
		return;
	}
	took = now_ms() - start;
	if (took > SLOW_MS)
		finding("slow", "%lld ms for %s of process %d, request %lu", took,
			q.cmd ? q.cmd->name : "no command", index, i);
	count_outcome(&out);
	if (probe && q.dump && !out.ended)
		open_socket(); /* a socket has one dump at a time */
	else if (out.ended)
		check_error(&q, who, out.error, out.words);
	else if (q.answered && !q.broken && !q.odd_header)
		finding("unanswered", "%s, flags %#x", q.cmd ? q.cmd->name : "no command",
			request_hdr(&q)->nlmsg_flags);
}

/* ---- processes ---- */

static void become(enum who who)
{
	if (who == WHO_NETNS && unshare(CLONE_NEWNET))
		exit(0);
	if (who != WHO_NOBODY && who != WHO_USERNS)
		return;
	if (setgroups(0, NULL) || setgid(65534) || setuid(65534)) {
		perror("setuid");
		exit(2);
	}
	/* With every capability there is, in a namespace that does not matter. */
	if (who == WHO_USERNS && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		exit(0);
}

static void monitor(long long deadline)
{
	static uint8_t buf[1 << 16] __attribute__((aligned(8)));
	struct timeval tv = { .tv_usec = 300000 };

	open_socket();
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	if (setsockopt(sock, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)))
		finding("group", "%s", strerror(errno));
	while (now_ms() < deadline) {
		const struct nlmsghdr *h = (void *)buf;
		int n = recv(sock, buf, sizeof(buf), 0);

		for (; n > 0 && NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
			check_message(h, true, &seen);
			atomic_fetch_add(&shared->count[EVENTS], 1);
		}
	}
}

static void run_process(enum who who, int index, uint64_t seed, long long deadline)
{
	struct rng main = rng_make(seed, index);
	unsigned long i;

	become(who);
	if (who == WHO_MONITOR) {
		monitor(deadline);
		exit(0);
	}
	open_socket();
	for (i = 0; now_ms() < deadline; i++) {
		struct rng r = rng_make(rng_next(&main), i);

		/* What was there in the old one stays until it is deleted. */
		if (who == WHO_NETNS && one_in(&r, 500)) {
			become(who);
			open_socket();
		}
		one_request(&r, who, index, i);
	}
	exit(0);
}

int main(int argc, char **argv)
{
	struct options o = fuzz_start(argc, argv, "fuzznetlink --seed S --seconds N [--log FILE]");
	long long deadline = now_ms() + o.seconds * 1000ll;
	struct outcome out = { .ended = false };
	size_t i;

	open_socket();
	resolve();
	for (i = 0; i < SPEC_NR(crew); i++) {
		pid_t pid = fork();

		if (!pid)
			run_process(crew[i], i, o.seed, deadline);
		if (pid < 0) {
			perror("fork");
			return 2;
		}
	}
	for (i = 0; i < SPEC_NR(crew); i++) {
		int status;

		if (wait(&status) > 0 && (!WIFEXITED(status) || WEXITSTATUS(status)))
			finding("a process died", "status %#x", status);
	}
	if (!read_until(send_probe(), &out))
		finding("the module does not answer at the end", "%s", strerror(errno));
	if (!atomic_load(&shared->count[EVENTS]))
		finding("no events", "in %d s", o.seconds);
	printf("accepted %lu, refused %lu, not permitted %lu, without answer %lu, dumps %lu, events %lu\n",
	       atomic_load(&shared->count[OK]), atomic_load(&shared->count[REFUSED]),
	       atomic_load(&shared->count[EPERMS]), atomic_load(&shared->count[SILENT]),
	       atomic_load(&shared->count[DUMPS]), atomic_load(&shared->count[EVENTS]));
	return fuzz_end();
}
