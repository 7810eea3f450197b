// SPDX-License-Identifier: GPL-2.0
/*
 * badexport ADDR CHANNEL - an exporter whose keys are as many as the protocol allows, for each of
 * many sessions: who connects has to keep them. It breaks no rule of Documentation/protocol.rst.
 *
 * The caller has made CHANNEL, a memory channel that connects to port 7999 of ADDR. TAP lines,
 * after each of them what was measured; the plan is the caller's.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "held.h"
#include "peer.h"

#define PORT	 "7999"
#define SESSIONS 30	   /* 120 MiB of keys */
#define HONEST	 (1 << 20) /* what others are counted for meanwhile */
#define SHIFT	 19
#define SIZE	 ((uint64_t)RCHAR_WIRE_BLOCKS_MAX << SHIFT)

/* ---- the exporter, a process of its own ---- */

struct exporter {
	struct conn c;
	struct ibv_mr *mr;
	int credits;
	bool pong;		     /* a PING waits for its answer */
	bool unacked;		     /* a sequenced frame waits for its ack */
	uint32_t sessions[SESSIONS]; /* 0: reset */
	int asked, opened;	     /* how many sent OPEN, and were answered */
	atomic_int *told;	     /* how many have all keys, or were reset */
	uint32_t chunk;		     /* whose key the next session to be told gets first */
};

/* Each chunk begins with it, as all of them are this page. */
static const char words[] = "these keys work";
static char page[4096] __attribute__((aligned(4096)));

/* The next one to be told keys: those that were reset want none. */
static void next_session(struct exporter *e)
{
	e->chunk = 0;
	do {
		++*e->told;
	} while (*e->told < e->opened && !e->sessions[*e->told]);
}

static void forget(struct exporter *e, uint32_t session)
{
	int i;

	for (i = *e->told; i < e->opened; i++)
		if (e->sessions[i] == session)
			e->sessions[i] = 0;
	if (*e->told < e->opened && !e->sessions[*e->told])
		next_session(e);
}

/* One frame, if one comes within @ms. */
static void hear(struct exporter *e, int ms)
{
	struct frame f;
	int op = receive(&e->c, &f, ms);

	if (!op)
		return;
	e->credits += le16toh(f.h.credits);
	e->unacked |= op >= RCHAR_OP_OPEN;
	e->pong |= op == RCHAR_OP_PING;
	if (op == RCHAR_OP_OPEN && e->asked < SESSIONS)
		e->sessions[e->asked++] = le32toh(f.h.session);
	if (op == RCHAR_OP_RESET)
		forget(e, le32toh(f.h.session));
}

static void say(struct exporter *e, struct frame *f)
{
	send_frame(&e->c, f);
	e->credits--;
	e->unacked = false;
}

static void say_op(struct exporter *e, int op)
{
	struct frame f;

	fill(&e->c, &f, op, 0, 0);
	say(e, &f);
}

static void say_opened(struct exporter *e)
{
	struct rchar_wire_opened *o;
	struct rchar_wire_region *r;
	struct frame f;

	fill(&e->c, &f, RCHAR_OP_OPENED, e->sessions[e->opened++], sizeof(*o) + sizeof(*r));
	o = (void *)f.payload;
	memset(o, 0, sizeof(*o) + sizeof(*r));
	r = (void *)(o + 1);
	r->size = htole64(SIZE);
	r->access = RCHAR_ACCESS_RO;
	r->atomics = RCHAR_ATOMICS_SW;
	say(e, &f);
}

static void say_map(struct exporter *e)
{
	uint32_t i, n = RCHAR_WIRE_BLOCKS_MAX - e->chunk;
	struct rchar_wire_map *m;
	struct frame f;

	if (n > RCHAR_WIRE_MAP_KEYS)
		n = RCHAR_WIRE_MAP_KEYS;
	fill(&e->c, &f, RCHAR_OP_MAP, e->sessions[*e->told], sizeof(*m) + n * sizeof(*m->keys));
	m = (void *)f.payload;
	memset(m, 0, sizeof(*m));
	m->attempt = e->c.reply.attempt;
	m->first = htole32(e->chunk);
	m->count = htole32(n);
	m->shift = SHIFT;
	for (i = 0; i < n; i++)
		m->keys[i] = htole32(e->mr->rkey);
	say(e, &f);
	e->chunk += n;
	if (e->chunk == RCHAR_WIRE_BLOCKS_MAX)
		next_session(e);
}

/* Sends what is due; false when nothing is, or there is no credit for it. */
static bool speak(struct exporter *e)
{
	/* The last one is for a frame that grants some. */
	if (e->credits <= !e->c.granted)
		return false;
	if (e->pong) {
		say_op(e, RCHAR_OP_PONG);
		e->pong = false;
	} else if (e->opened < e->asked) {
		say_opened(e);
	} else if (*e->told < e->opened) {
		say_map(e);
	} else if (e->unacked || e->c.granted >= DEPTH / 4) {
		say_op(e, RCHAR_OP_CREDIT);
	} else {
		return false;
	}
	return true;
}

static void export(atomic_int *told)
{
	static struct exporter e;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	accept_well(&e.c, PORT);
	e.told = told;
	e.credits = le16toh(e.c.reply.depth) - 1; /* READY had one */
	memcpy(page, words, sizeof(words));
	e.mr = ibv_reg_mr_iova(e.c.pd, page, sizeof(page), 0, IBV_ACCESS_REMOTE_READ);
	if (!e.mr)
		bail("ibv_reg_mr_iova");
	while (!e.c.gone) {
		while (speak(&e))
			;
		hear(&e, 100);
	}
}

/* ---- the programs that connect ---- */

struct importer {
	int fd;
	int error; /* of what ended its session, or 0 */
};

/* Until the exporter has no more to tell. *@most: that was held meanwhile. */
static bool all_told(const atomic_int *told, unsigned long long *most)
{
	long long end = now_ms() + LONG_MS;
	unsigned long long now;

	*most = 0;
	while (*told < SESSIONS && now_ms() < end) {
		now = objects("held");
		if (now > *most)
			*most = now;
		/* Often: it is the most that counts. */
		usleep(1000);
	}
	return *told == SESSIONS;
}

static void open_one(struct importer *m, const char *path)
{
	m->fd = open(path, O_RDONLY);
	m->error = m->fd < 0 ? errno : 0;
}

/* What ended it; a read waits for ever when it has not ended and keys are missing. */
static void look_at(struct importer *m)
{
	struct pollfd p = { .fd = m->fd, .events = POLLIN };
	char byte;

	if (m->fd >= 0 && poll(&p, 1, 0) == 1 && p.revents & POLLERR)
		m->error = pread(m->fd, &byte, 1, 0) < 0 ? errno : EPROTO;
}

/* The first and the last key are good. */
static bool works(const struct importer *m)
{
	char got[sizeof(words)];

	return pread(m->fd, got, sizeof(got), 0) == sizeof(got) &&
	       !memcmp(got, words, sizeof(got)) &&
	       pread(m->fd, got, sizeof(got), SIZE - (1 << SHIFT)) == sizeof(got) &&
	       !memcmp(got, words, sizeof(got));
}

static void hoard(const char *path, const atomic_int *told)
{
	unsigned long long before = objects("held"), most;
	int i, ended = 0, alive = 0, wrong = 0;
	struct importer m[SESSIONS];
	long long taken;
	bool ok;

	begin();
	for (i = 0; i < SESSIONS; i++)
		open_one(&m[i], path);
	ok = all_told(told, &most);
	taken = taken_kib();
	for (i = 0; i < SESSIONS; i++) {
		look_at(&m[i]);
		ended += m[i].error == ENOBUFS;
		alive += !m[i].error;
		wrong += m[i].error ? m[i].error != ENOBUFS : !ok || !works(&m[i]);
	}
	measured("keys_of_an_exporter_stay_within_the_budget",
		 ok && most <= budget() && taken < (long long)(budget() >> 10) * 5 / 4 && ended &&
			 alive && !wrong);
	printf("# at most %llu KiB held; %d sessions ended with ENOBUFS, %d work, %d are wrong\n",
	       most >> 10, ended, alive - wrong, wrong);
	for (i = 0; i < SESSIONS; i++)
		close(m[i].fd);
	measured("closed_sessions_give_keys_back", falls_to("held", before + HONEST));
}

int main(int argc, char **argv)
{
	atomic_int *told;
	char path[64];
	pid_t child;

	if (argc != 3) {
		fprintf(stderr, "usage: badexport ADDR CHANNEL\n");
		return 2;
	}
	peer_addr = argv[1];
	snprintf(path, sizeof(path), "/dev/rchar/%s", argv[2]);
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	child = told == MAP_FAILED ? -1 : fork();
	if (child < 0)
		bail("fork");
	if (!child) {
		export(told);
		return 1;
	}
	hoard(path, told);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return test_program.failed != 0;
}
