// SPDX-License-Identifier: GPL-2.0
/*
 * fuzzpeer --seed S --seconds N [--log FILE] ADDR - a peer that plays at random, at both
 * ends of links. It goes on until the file that FUZZ_UNTIL names, if any, has something in it.
 *
 * It opens sessions of f-stream-l, f-message-l and f-memory-l at ADDR, and answers those of
 * p-stream, p-message and p-memory, which connect to ADDR:7999. Its own children have all of
 * these open. Most frames are right; some are changed, come twice, late, or not at all.
 * It shows that a good peer is still taken, and that whoever is killed ends.
 */
#define _GNU_SOURCE
#include "peerplay.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILL_MS	    30000  /* what is killed must be gone by then */
#define GOOD_MS	    30000  /* so long a good connection may take */
#define BUSY_MS	    60000  /* and so long while the module has no room */
#define SEEN_MS	    300000 /* so long it goes on until all has happened once */
#define NR_ANSWERED 3	   /* connections to us at once */

/* ---- it calls ---- */

static struct peer peer;

static void new_link(struct peer *p)
{
	p->nr_lanes = one_in(&p->rng, 4) ? 1 + below(&p->rng, NR_LANES) : 1;
	p->keyed = one_in(&p->rng, 2);
	p->encrypted = p->keyed && one_in(&p->rng, 2);
	good_request(&p->conn);
	p->conn.link_id = htole64(rng_next(&p->rng) | 1);
	p->conn.attempt = htole32(one_in(&p->rng, 4) ? (uint32_t)rng_next(&p->rng) : 1);
	p->conn.lanes = p->nr_lanes;
	if (one_in(&p->rng, 10))
		p->conn.frame_size = htole32(1024 + below(&p->rng, FRAME - 1024 + 1));
	if (one_in(&p->rng, 10))
		p->conn.depth = htole16(4 + below(&p->rng, DEPTH - 3));
	if (one_in(&p->rng, 2))
		p->conn.caps = htole32(RCHAR_CAP_GROWS);
	p->next_id = one_in(&p->rng, 4) ? -below(&p->rng, 20) : 1;
	memset(p->acks, 0, sizeof(p->acks));
	forget_sessions(p);
}

static int private_length(struct rng *r)
{
	return one_in(r, 60) ? below(r, 57) : sizeof(struct rchar_wire_privdata);
}

/* What the reply says of the flow: it goes on, or starts anew. */
static void take_reply(struct peer *p, struct lane *l, int index, uint32_t asked_epoch)
{
	l->c.seq = le32toh(l->c.reply.resume);
	l->c.ack = p->acks[index];
	if (l->c.reply.epoch == asked_epoch) {
		keep_sessions(p, l);
		return;
	}
	l->c.seq = l->c.ack = p->acks[index] = p->next_seq[index] = 0;
	if (!index)
		forget_sessions(p);
}

static bool connect_lane(struct peer *p, int index)
{
	bool hasty = one_in(&p->rng, 50);
	struct lane *l = &p->lanes[index];
	struct rchar_wire_privdata req = p->conn;
	long long end, begun = now_ms();
	int event;

	req.lane = index;
	req.resume = htole32(p->acks[index]);
	if (p->mood.mutate && one_in(&p->rng, 12))
		mutate_conn(&p->rng, &req);
	event = dial_any(p, l, &req, private_length(&p->rng),
			 hasty ? (int)below(&p->rng, 50) : 6000);
	atomic_fetch_add(&shared->count[DIAL_MS], now_ms() - begun);
	if (event != RDMA_CM_EVENT_ESTABLISHED) {
		atomic_fetch_add(&shared->count[REFUSED], 1);
		/* Who is told so asks again later. */
		if (l->c.reject_reason == RCHAR_REASON_BUSY)
			usleep(100000);
		return false;
	}
	take_reply(p, l, index, req.epoch);
	p->conn.epoch = l->c.reply.epoch;
	if (one_in(&p->rng, 50))
		return true; /* and says nothing, or something else first */
	if (!greet(p, l, RCHAR_OP_HELLO, l->c.reply.nonce))
		return false;
	begun = now_ms();
	for (end = begun + 3000; !l->up && !l->c.gone && now_ms() < end;)
		pump(p, l, 20);
	atomic_fetch_add(&shared->count[GREET_MS], now_ms() - begun);
	atomic_fetch_add(&shared->count[UP], l->up);
	atomic_fetch_add(&shared->count[KEYED], l->up && l->keyed);
	if (l->up && !one_in(&p->rng, 30))
		replay(p, l);
	return l->up;
}

static bool all_there(struct peer *p)
{
	int i;

	for (i = 0; i < p->nr_lanes; i++)
		if (!p->lanes[i].there || p->lanes[i].c.gone)
			return false;
	return true;
}

static void play_connection(struct peer *p)
{
	uint32_t left = one_in(&p->rng, 4) ? below(&p->rng, 100) : 500 + below(&p->rng, 6000);
	long long begun;
	int i;

	for (i = 0; i < p->nr_lanes; i++)
		if (!connect_lane(p, i))
			return;
	begun = now_ms();
	while (left-- && all_there(p)) {
		for (i = 0; i < p->nr_lanes; i++)
			pump(p, &p->lanes[i], 0);
		play(p);
	}
	atomic_fetch_add(&shared->count[PLAY_MS], now_ms() - begun);
	atomic_fetch_add(&shared->count[BROKEN], !all_there(p));
}

static void run_initiator(struct rng r)
{
	struct peer *p = &peer;
	int i;

	p->rng = r;
	p->initiator = true;
	for (;;) {
		if (!p->conn.link_id || one_in(&r, 5))
			new_link(p);
		p->mood = some_mood(&p->rng);
		play_connection(p);
		for (i = 0; i < NR_LANES; i++) {
			if (p->lanes[i].up) {
				p->acks[i] = p->lanes[i].c.ack;
				p->next_seq[i] = p->lanes[i].c.seq;
			}
			if (p->lanes[i].c.id || p->lanes[i].c.events)
				drop_lane(&p->lanes[i], &p->rng);
		}
		/* The same link again, as what one side or the other remembers of it. */
		p->conn.attempt = htole32(le32toh(p->conn.attempt) + (one_in(&p->rng, 20) ? 0 : 1));
		if (one_in(&p->rng, 20))
			p->conn.epoch = one_in(&p->rng, 2) ? 0 : p->conn.epoch ^ 1;
	}
}

/* ---- it is called ---- */

static struct peer answered[NR_ANSWERED];

static void refuse(struct rng *r, struct rdma_cm_id *id)
{
	struct rchar_wire_reject reject = {
		.magic = htole32(RCHAR_WIRE_MAGIC),
		.major = RCHAR_WIRE_MAJOR,
		.reason = htole16(below(r, __RCHAR_REASON_MAX + 2)),
		.error = htole32(rng_next(r)),
	};

	if (one_in(r, 5))
		((uint8_t *)&reject)[below(r, sizeof(reject))] ^= 1 << below(r, 8);
	log_input("reject reason %u", le16toh(reject.reason));
	rdma_reject(id, &reject, one_in(r, 5) ? below(r, sizeof(reject)) : sizeof(reject));
	rdma_destroy_id(id);
}

/* The flow goes on when it is the link that we know, and it knows us. */
static struct rchar_wire_privdata reply_of(struct peer *p, const struct rchar_wire_privdata *old)
{
	struct rchar_wire_privdata reply = p->conn;

	reply.frame_size = htole32(FRAME);
	reply.depth = htole16(DEPTH);
	/* A key of user space is not one that a SEND may invalidate. */
	reply.caps &= htole32(RCHAR_CAP_ENCRYPTED | (one_in(&p->rng, 2) ? RCHAR_CAP_GROWS : 0));
	memset(reply.nonce, 0x33, sizeof(reply.nonce));
	if (p->conn.epoch && old->link_id == p->conn.link_id && old->epoch == p->conn.epoch) {
		reply.resume = htole32(p->acks[0]);
		return reply;
	}
	reply.resume = 0;
	reply.epoch = htole32(rng_next(&p->rng) | 1);
	forget_sessions(p);
	return reply;
}

static void end_lane(struct peer *p, struct lane *l)
{
	if (l->up) {
		p->acks[0] = l->c.ack;
		p->next_seq[0] = l->c.seq;
	}
	if (l->there)
		drop_lane(l, &p->rng);
}

static void answer(struct peer *p, struct rdma_cm_id *id, const struct rchar_wire_privdata *req)
{
	struct rchar_wire_privdata old = p->conn, reply;
	struct lane *l = &p->lanes[0];

	end_lane(p, l);
	p->conn = *req;
	p->mood = some_mood(&p->rng);
	p->nr_lanes = 1;
	reply = reply_of(p, &old);
	p->conn.epoch = reply.epoch;
	if (p->mood.mutate && one_in(&p->rng, 12))
		mutate_conn(&p->rng, &reply);
	if (answer_any(p, l, id, &reply, private_length(&p->rng))) {
		drop_lane(l, &p->rng);
		return;
	}
	l->c.reply = reply;
	l->c.ack = le32toh(reply.resume);
	if (reply.epoch == req->epoch) {
		l->c.seq = le32toh(req->resume);
		keep_sessions(p, l);
	} else {
		p->acks[0] = p->next_seq[0] = 0;
	}
}

static void next_request(struct conn *listener, struct rng *r)
{
	struct pollfd p = { .fd = listener->events->fd, .events = POLLIN };
	struct rchar_wire_privdata req = {};
	struct rdma_cm_event *e;
	struct rdma_cm_id *id;

	if (poll(&p, 1, 0) <= 0 || rdma_get_cm_event(listener->events, &e))
		return;
	id = e->event == RDMA_CM_EVENT_CONNECT_REQUEST ? e->id : NULL;
	if (id && e->param.conn.private_data_len >= sizeof(req))
		memcpy(&req, e->param.conn.private_data, sizeof(req));
	rdma_ack_cm_event(e);
	if (!id)
		return;
	/* Now and then it is never answered. */
	if (one_in(r, 15))
		refuse(r, id);
	else if (!one_in(r, 60))
		answer(&answered[one_in(r, 10) ? below(r, NR_ANSWERED) : 0], id, &req);
}

static void run_acceptor(struct rng r)
{
	struct conn listener;
	int i, k;

	while (!listen_here(&listener)) {
		if (listener.id)
			rdma_destroy_id(listener.id);
		test_pause();
	}
	for (i = 0; i < NR_ANSWERED; i++)
		answered[i].rng = rng_make(rng_next(&r), i);
	for (;;) {
		bool busy = false;

		next_request(&listener, &r);
		for (i = 0; i < NR_ANSWERED; i++) {
			struct peer *p = &answered[i];
			struct lane *l = &p->lanes[0];

			pump(p, l, 0);
			if (l->greeted && !one_in(&r, 30))
				replay(p, l);
			l->greeted = false;
			for (k = 0; l->up && k < 8 && !l->c.gone; k++)
				play(p);
			busy |= l->up;
			if (!l->there || (!l->c.gone && !one_in(&r, 4000)))
				continue;
			end_lane(p, l);
		}
		if (!busy)
			cq_pause();
	}
}

/* ---- it is good ---- */

static bool connects_well(struct peer *p, bool *busy)
{
	struct lane *l = &p->lanes[0];
	struct rchar_wire_privdata req;
	long long end;
	bool ok;

	p->keyed = one_in(&p->rng, 2);
	p->encrypted = p->keyed && one_in(&p->rng, 2);
	good_request(&req);
	req.link_id = htole64(rng_next(&p->rng) | 1);
	ok = dial_any(p, l, &req, sizeof(req), 6000) == RDMA_CM_EVENT_ESTABLISHED &&
	     greet(p, l, RCHAR_OP_HELLO, l->c.reply.nonce);
	for (end = now_ms() + 3000; ok && !l->up && !l->c.gone && now_ms() < end;)
		pump(p, l, 20);
	ok = ok && l->up;
	*busy = l->c.reject_reason == RCHAR_REASON_BUSY;
	drop_lane(l, &p->rng);
	return ok;
}

static void run_good(struct rng r)
{
	struct peer *p = &peer;
	long long begun, took;
	bool busy, ok;

	p->rng = r;
	p->initiator = true;
	p->nr_lanes = 1;
	for (;;) {
		/* Now and then. */
		usleep(300000 + below(&p->rng, 1000000));
		begun = now_ms();
		do {
			ok = connects_well(p, &busy);
			took = now_ms() - begun;
			/* So often a program that means well would try. */
			if (!ok)
				usleep(100000);
		} while (!ok && took < (busy ? BUSY_MS : GOOD_MS));
		if (!ok)
			finding("no good connection", "within %lld ms%s", took,
				busy ? ", always busy" : "");
		else
			atomic_fetch_add(&shared->count[GOOD], 1);
	}
}

/* ---- all of them ---- */

static void (*const roles[])(struct rng) = {
	run_good,      run_acceptor, run_initiator, run_initiator,
	run_initiator, NULL,	     NULL,	    NULL, /* programs */
};

#define NR_ROLES (int)(sizeof(roles) / sizeof(roles[0]))

static struct {
	pid_t pid;
	long long kill_at; /* ms */
} children[NR_ROLES];

static void run_child(int role, uint64_t seed)
{
	struct rng r = rng_make(seed, role);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* What peer.c says when a connection does not come about is not of interest. */
	if (!freopen("/dev/null", "w", stderr))
		_exit(0);
	if (roles[role])
		roles[role](r);
	else
		use_nodes(&r);
	_exit(0);
}

static void start_child(int role, uint64_t seed, struct rng *r)
{
	/* To start a peer takes its time, and when one has gone the module calls less often. */
	children[role].kill_at = now_ms() + below(r, roles[role] ? 30000 : 6000);
	children[role].pid = fork();
	if (!children[role].pid)
		run_child(role, seed);
}

/* False when it does not go. */
static bool reap(int role)
{
	long long end = now_ms() + KILL_MS;
	char command[100];
	int status;

	while (waitpid(children[role].pid, &status, WNOHANG) != children[role].pid) {
		if (now_ms() > end) {
			finding("a killed process does not end", "role %d, pid %d, after %d s",
				role, children[role].pid, KILL_MS / 1000);
			snprintf(command, sizeof(command), "cat /proc/%d/task/*/stack",
				 children[role].pid);
			return system(command) == -1;
		}
		test_pause();
	}
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		finding("a process died", "role %d, of signal %d", role, WTERMSIG(status));
	children[role].pid = 0;
	atomic_fetch_add(&shared->count[KILLED], 1);
	return true;
}

static bool watch(int role, bool last)
{
	siginfo_t info = {};
	bool due = last || (role && now_ms() >= children[role].kill_at);

	if (!due) {
		/* It may have ended by itself. */
		waitid(P_PID, children[role].pid, &info, WEXITED | WNOHANG | WNOWAIT);
		if (!info.si_pid)
			return true;
	}
	kill(children[role].pid, SIGKILL);
	return reap(role);
}

/* A run without all of these has tried little: on a slow machine, a short one goes on. */
static const struct {
	int count;
	const char *key;
} wanted[] = {
	{ GOOD, "no good connection" },
	{ KEYED, "no connection with the key" },
	{ SEALED, "no sealed frame" },
};

#define NR_WANTED (sizeof(wanted) / sizeof(wanted[0]))

static bool all_seen(void)
{
	const char *file = getenv("FUZZ_UNTIL");
	struct stat st;
	size_t i;

	for (i = 0; i < NR_WANTED; i++)
		if (!atomic_load(&shared->count[wanted[i].count]))
			return false;
	return !file || (!stat(file, &st) && st.st_size);
}

/* For as long as was asked for; then until all was seen, and a good peer was taken once more. */
static bool goes_on(long long end)
{
	static unsigned long good;
	static bool late;

	if (now_ms() < end)
		return true;
	if (!late)
		good = atomic_load(&shared->count[GOOD]);
	late = true;
	return now_ms() < end + SEEN_MS &&
	       !(all_seen() && atomic_load(&shared->count[GOOD]) > good) &&
	       !atomic_load(&shared->findings);
}

int main(int argc, char **argv)
{
	struct options o = fuzz_start(argc, argv,
				      "fuzzpeer --seed S --seconds N [--log FILE] ADDR");
	static const char *const names[] = {
		"frames", "requests",	    "rdmas",	"good",
		"up",	  "keyed",	    "sealed",	"refused",
		"broken", "killed",	    "opens",	"local",
		"heard",  "ms of dialling", "greeting", "waiting for credits",
		"playing"
	};
	uint8_t secret[PSK_SECRET_LEN]; /* as fuzz.sh adds it */
	int last = sizeof(names) / sizeof(names[0]) - 1;
	long long end = now_ms() + o.seconds * 1000ll;
	struct rng r = rng_make(o.seed, 0);
	uint64_t started = 0;
	bool stuck = false;
	int i;

	peer_addr = o.rest;
	if (!peer_addr) {
		fprintf(stderr, "fuzzpeer: no address\n");
		return 2;
	}
	for (i = 0; i < PSK_SECRET_LEN; i++)
		secret[i] = i;
	psk_derive(&fuzz_key, secret);
	while (!stuck && goes_on(end)) {
		for (i = 0; i < NR_ROLES && !stuck; i++) {
			if (children[i].pid <= 0)
				start_child(i, o.seed + 1000 * ++started, &r);
			else
				stuck = !watch(i, false);
		}
		test_pause();
	}
	for (i = 0; i < NR_ROLES && !stuck; i++)
		if (children[i].pid > 0)
			stuck = !watch(i, true);
	for (i = 0; i <= last; i++)
		printf("%s %lu%s", names[i], atomic_load(&shared->count[i]),
		       i == last ? "\n" : ", ");
	for (i = 0; i < (int)NR_WANTED; i++)
		if (!atomic_load(&shared->count[wanted[i].count]))
			finding(wanted[i].key, "at all");
	return fuzz_end();
}
