// SPDX-License-Identifier: GPL-2.0
/*
 * badbudget ADDR [PART] - a peer that makes the other host hold as much memory as it can.
 *
 * The peer never acknowledges and never grants a credit. Channels that the caller has made:
 * bmsg, a message channel of max-message 2m and backlog 1 that nobody opens; bstream, a stream
 * channel with the default window and backlog 1000 that nobody opens; bsink, a stream channel
 * with a window of 64k; bregion, a region of 32 MiB.
 *
 * Without PART: all of these, one after the other. More run by name alone: "pool", with a
 * region of that name, and "few", with a stream channel of backlog 8, ask whether there is
 * room for a peer at fd00::99, as does "answers", with a budget of 4 MiB; "ended-here" has
 * bregion and a budget of 2 MiB; "linger" and "linger-payload" have bserve, a stream channel
 * with a linger of minutes, and a budget of 1 MiB, or of 8 MiB for the host; "mute" waits at
 * port 7999 for who calls, and takes what it sends without ever saying so. TAP lines, after
 * each of them what was measured; the plan is the caller's.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "held.h"
#include "peer.h"

/* And what the honest one is counted for. */
#define BUDGET (budget() + (1 << 20))
#define MANY   48 /* connections at once */
#define PIECE  16000

/* ---- a peer that takes nothing ---- */

/* All that was sent has arrived, or the connection is broken. */
static void flush(struct conn *c, int sent)
{
	struct ibv_wc wc;
	int i;

	for (i = 0; sent && !c->gone && i < 100000; i++) {
		if (ibv_poll_cq(c->cq, 1, &wc) != 1) {
			if (i % 100 == 99)
				next_event(c, 0);
			cq_pause();
		} else if (wc.status) {
			printf("# broken: %s\n", ibv_wc_status_str(wc.status));
			c->gone = true;
		} else if (wc.wr_id == 1000) {
			sent--;
		}
	}
}

static int unflushed;

static void push(struct conn *c, struct frame *f)
{
	if (c->gone)
		return;
	f->h.ack = 0;
	f->h.credits = 0;
	send_frame(c, f);
	if (++unflushed == SENDS) {
		flush(c, unflushed);
		unflushed = 0;
	}
}

static void push_all(struct conn *c)
{
	flush(c, unflushed);
	unflushed = 0;
}

static void push_open(struct conn *c, uint32_t session, const char *name, int type,
		      uint32_t max_message)
{
	struct rchar_wire_open *o;
	struct frame f;

	fill(c, &f, RCHAR_OP_OPEN, session, sizeof(*o));
	o = (void *)f.payload;
	memset(o, 0, sizeof(*o));
	o->type = type;
	o->max_message = htole32(max_message);
	f.h.window = htole32(1 << 30);
	strcpy((char *)o->name, name);
	push(c, &f);
}

static void push_op(struct conn *c, int op, uint32_t session, int flags, uint32_t len)
{
	static struct frame f;

	fill(c, &f, op, session, len);
	f.h.flags = flags;
	push(c, &f);
}

static void push_reset(struct conn *c, uint32_t session)
{
	struct rchar_wire_status *status;
	struct frame f;

	fill(c, &f, RCHAR_OP_RESET, session, sizeof(*status));
	status = (void *)f.payload;
	status->reason = htole32(RCHAR_REASON_CLOSED);
	status->error = 0;
	push(c, &f);
}

/* The same as falls_to() while the peer is there, and still takes nothing. */
static bool falls_beside(struct conn *c, const char *kind, unsigned long long most)
{
	long long end = now_ms() + 20000, next = 0;

	for (; now_ms() < end && !c->gone && objects(kind) > most; test_pause()) {
		if (now_ms() >= next) {
			push_op(c, RCHAR_OP_PING, 0, 0, 0);
			next = now_ms() + 1000;
		}
		push_all(c);
	}
	push_op(c, RCHAR_OP_PING, 0, 0, 0);
	push_all(c);
	return !c->gone && objects(kind) <= most;
}

/* ---- tests ---- */

static void partial_messages(void)
{
	unsigned long long before = objects("seg"), sessions = objects("session");
	struct conn c;
	int i, j;

	begin();
	connect_well(&c);
	for (i = 1; i <= 60; i++) {
		push_open(&c, i, "bmsg", RCHAR_TYPE_MESSAGE, 2 << 20);
		for (j = 0; j < 100; j++)
			push_op(&c, RCHAR_OP_MSG, i, j ? 0 : RCHAR_FRAME_FIRST, PIECE);
		push_reset(&c, i);
		push_all(&c);
		/* Slow enough for the module to take them: it tells nobody who takes nothing. */
		usleep(20000);
	}
	measured("the_parts_of_messages_of_reset_sessions_are_freed",
		 shell_number("rchar -j stats bmsg | sed 's/.*\"resets\":\\([0-9]*\\).*/\\1/'") >
				 10 &&
			 falls_beside(&c, "seg", before + 200));
	hang_up(&c);
	falls_to("session", sessions);
}

static void unanswered(void)
{
	struct conn c;
	int i;

	begin();
	connect_well(&c);
	for (i = 1; i <= 20000 && !c.gone; i++)
		push_open(&c, i, "nosuch", RCHAR_TYPE_STREAM, 0);
	push_all(&c);
	/* At once, not when the keepalive finds it silent. */
	measured("a_peer_that_takes_no_answers_is_disconnected", c.gone && objects("txbuf") < 4000);
	hang_up(&c);
}

/* By as many connections as the host's budget has room for; another peer still gets an answer. */
static void hoarded_answers(void)
{
	unsigned long long held;
	struct conn c[6];
	int n, i;

	begin();
	for (n = 0; n < 6; n++) {
		connect_well(&c[n]);
		for (i = 1; i <= 1900 && !c[n].gone; i++)
			push_open(&c[n], i, "nosuch", RCHAR_TYPE_STREAM, 0);
		push_all(&c[n]);
	}
	held = objects("held");
	measured("answers_that_nobody_takes_leave_room_for_those_to_others",
		 held > budget() / 4 && held <= budget() * 5 / 8 &&
			 !system("rchar -w 60 add late stream connect [fd00::1]/nosuch from [fd00::99] && "
				 "cat /dev/rchar/late 2>&1 | grep -q 'Connection refused'"));
	for (n = 0; n < 6; n++)
		hang_up(&c[n]);
}

static void opened_and_reset(void)
{
	struct conn c;
	int i;

	begin();
	connect_well(&c);
	for (i = 1; i <= 20000 && !c.gone; i++) {
		push_open(&c, i, "bstream", RCHAR_TYPE_STREAM, 0);
		push_reset(&c, i);
	}
	push_all(&c);
	measured("sessions_opened_and_reset_stay_within_the_budget",
		 objects("session") < 10000 && objects("held") <= BUDGET);
	hang_up(&c);
}

/*
 * Sessions that this side ends, with a RESET that the peer leaves no room for: importers whose
 * windows shrink. A link that is dropped for it is called again.
 */
static void ended_here(void)
{
	unsigned long long held = 0, now;
	int i, broken = 0;
	struct conn c;

	begin();
	connect_well(&c);
	for (i = 1; i <= 3000 && broken < 3 && held <= BUDGET; i++) {
		struct frame f;

		push_open(&c, i, "bregion", RCHAR_TYPE_MEMORY, 0);
		fill(&c, &f, RCHAR_OP_WINDOW, i, 0);
		f.h.window = htole32((1u << 30) + 1);
		push(&c, &f);
		if (held < BUDGET / 8 && i % 16)
			continue;
		push_all(&c);
		/*
		 * The only importer of a peer is let in past the budget: one at a time, each
		 * when the module has had the time to end the one before.
		 */
		if (held >= BUDGET / 8)
			usleep(20000);
		now = objects("held");
		held = now > held ? now : held;
		if (c.gone) {
			broken++;
			hang_up(&c);
			connect_well(&c);
		}
	}
	printf("# %d sessions, %d connections ended, at most %llu KiB held\n", i, broken,
	       held >> 10);
	measured("sessions_that_end_here_stay_within_the_budget", held <= BUDGET);
	hang_up(&c);
	falls_to("session", 100);
}

/* A program that answers who calls. */
static pid_t serve(size_t bytes)
{
	static char answer[60 << 10];
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	while ((fd = open("/dev/rchar/bserve", O_WRONLY)) >= 0) {
		/* Fails when the connection is lost before. */
		(void)!write(fd, answer, bytes);
		close(fd);
	}
	_exit(1);
}

/*
 * It writes and closes, and this peer takes nothing of it. Returns how many sessions there were,
 * and the most that was seen of @kind.
 */
static int let_linger(size_t bytes, int sessions, const char *kind, unsigned long long *most)
{
	pid_t pid = serve(bytes);
	int i, done, broken = 0;
	struct conn c;

	*most = 0;
	connect_well(&c);
	for (i = 1; i <= sessions && broken < 3; i++) {
		push_open(&c, i, "bserve", RCHAR_TYPE_STREAM, 0);
		/* In the backlog they would hold more. */
		if (i % 5)
			continue;
		push_all(&c);
		for (done = 0;
		     done < 2000 && !c.gone &&
		     shell_number(
			     "rchar -j show bserve | sed 's/.*\"waiting\":\\([0-9]*\\).*/\\1/'");
		     done++)
			next_event(&c, 1);
		*most = objects(kind) > *most ? objects(kind) : *most;
		if (c.gone) {
			broken++;
			hang_up(&c);
			connect_well(&c);
		}
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	printf("# %d sessions, %d connections ended, at most %llu of %s\n", i - 1, broken, *most,
	       kind);
	hang_up(&c);
	return i - 1;
}

static void lingering_sessions(void)
{
	unsigned long long most;

	begin();
	let_linger(4096, 1500, "session", &most);
	measured("sessions_that_linger_stay_within_the_budget", most > 200 && most < 1000);
}

static void lingering_payload(void)
{
	unsigned long long most;

	begin();
	let_linger(60 << 10, 300, "lingering", &most);
	/*
	 * Each session may leave as much as those before it leave room for: of 8 MiB that is
	 * half, and the last one passes that by half of its own frames.
	 */
	measured("payload_that_lingers_is_bounded",
		 most > 2 << 20 && most <= (4 << 20) + (64 << 10));
}

/* Sessions that wait, full to the window that they were given; who was given less is reset. */
static void fill_backlog(struct conn *c, int sessions)
{
	int i, j;

	for (i = 1; i <= sessions && !c->gone; i++) {
		push_open(c, i, "bstream", RCHAR_TYPE_STREAM, 0);
		for (j = 0; j < 30; j++)
			push_op(c, RCHAR_OP_DATA, i, 0, PIECE);
	}
	push_all(c);
}

static void full_backlog(void)
{
	struct conn c;

	begin();
	connect_well(&c);
	fill_backlog(&c, 400);
	measured("a_full_backlog_stays_within_the_budget",
		 objects("held") <= BUDGET && taken_kib() < (long long)(BUDGET >> 10) * 5 / 4);
	hang_up(&c);
	falls_to("session", 100);
}

static void many_links(void)
{
	static struct conn c[MANY];
	unsigned long long held;
	long long taken;
	int i, j, n = 0;

	for (i = 0; i < MANY; i++) {
		connect_well(&c[i]);
		n++;
	}
	begin();
	for (i = 0; i < n; i++) {
		for (j = 1; j <= 1000 && !c[i].gone; j++) {
			push_open(&c[i], j, "bstream", RCHAR_TYPE_STREAM, 0);
			push_op(&c[i], RCHAR_OP_DATA, j, 0, 1000);
			push_reset(&c[i], j);
		}
		for (j = 1; j <= 3000 && !c[i].gone; j++)
			push_open(&c[i], 100000 + j, "nosuch", RCHAR_TYPE_STREAM, 0);
		push_all(&c[i]);
	}
	held = objects("held");
	taken = taken_kib();
	measured("many_links_of_one_peer_share_one_budget",
		 held <= BUDGET && objects("txbuf") <= BUDGET / 512 &&
			 taken < (long long)(BUDGET >> 10) * 5 / 4);
	for (i = 0; i < n; i++)
		hang_up(&c[i]);
	falls_to("session", 100);
}

/* All of it, by a program of this host. */
static bool read_all(int fd, size_t len)
{
	static char buf[FRAME];
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (len) {
		ssize_t n = poll(&p, 1, 10000) == 1 ? read(fd, buf, len) : -1;

		if (n <= 0)
			return false;
		len -= n;
	}
	return true;
}

static void windows(void)
{
	unsigned long long txbufs;
	bool ok = true;
	struct conn c;
	int i, fd;

	begin();
	fd = open("/dev/rchar/bsink", O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		bail("bsink");
	connect_well(&c);
	push_open(&c, 1, "bsink", RCHAR_TYPE_STREAM, 0);
	push_all(&c);
	txbufs = objects("txbuf");
	for (i = 0; i < 1000 && ok; i++) {
		push_op(&c, RCHAR_OP_DATA, 1, 0, FRAME);
		push_all(&c);
		ok = !c.gone && read_all(fd, FRAME);
	}
	measured("windows_that_a_peer_does_not_take_are_one_frame",
		 ok && objects("txbuf") < txbufs + 200);
	hang_up(&c);
	close(fd);
}

/* Its link stays, and takes nothing. */
static void deleted_region(void)
{
	unsigned long long regions = objects("region"), sessions, frames;
	struct conn c;

	begin();
	connect_well(&c);
	sessions = objects("session");
	frames = objects("txbuf");
	push_open(&c, 1, "bregion", RCHAR_TYPE_MEMORY, 0);
	push_all(&c);
	if (!BECOMES(objects("session") > sessions && objects("txbuf") > frames))
		bail("no importer");
	shell("rchar del bregion");
	measured("a_deleted_region_is_freed_although_nothing_is_acknowledged",
		 falls_beside(&c, "region", regions - 1));
	hang_up(&c);
}

/* One peer that takes all importers it can get, and then one that is honest. */
static void importers(void)
{
	struct conn c;
	int i, imports;

	begin();
	connect_well(&c);
	for (i = 1; i <= 200; i++)
		push_open(&c, i, "pool", RCHAR_TYPE_MEMORY, 0);
	push_all(&c);
	imports = objects("export");
	measured(
		"one_peer_leaves_importers_of_others_room",
		imports > 10 && !c.gone &&
			!system("rchar -w 60 add far memory connect [fd00::1]/pool from [fd00::99] && "
				"echo honest | dd of=/dev/rchar/far bs=6 count=1 conv=notrunc 2>/dev/null && "
				"[ \"$(head -c 6 /dev/rchar/pool)\" = honest ]"));
	printf("# %d importers of one peer, of 128\n", imports);
	hang_up(&c);
}

/* Likewise, with sessions that wait for a program. */
static void waiting(void)
{
	struct conn c;
	int i;

	begin();
	connect_well(&c);
	for (i = 1; i <= 20; i++)
		push_open(&c, i, "few", RCHAR_TYPE_STREAM, 0);
	push_all(&c);
	measured("one_peer_leaves_sessions_of_others_room",
		 !c.gone && BECOMES(!system("rchar show few | grep -q 'waiting 6'")) &&
			 !system("rchar -w 60 add less stream connect [fd00::1]/few from [fd00::99] && "
				 "[ \"$(rio open /dev/rchar/less rw)\" = ok ]"));
	hang_up(&c);
}

/* Without HELLO for as long as the module waits for it. */
static void half_open(void)
{
	struct rchar_wire_privdata req;
	long long begun, took;
	struct conn c[32];
	int i, n, tries;

	begin();
	/* A handshake that takes 5 s makes room for another one. */
	for (tries = 0, took = 5000; took > 4500 && tries < 10; tries++) {
		begun = now_ms();
		for (i = n = 0; i < 32; i++) {
			good_request(&req);
			if (dial(&c[i], &req, sizeof(req)) == RDMA_CM_EVENT_ESTABLISHED)
				n++;
			else if (c[i].reject_reason != RCHAR_REASON_BUSY)
				n = 1000;
		}
		took = now_ms() - begun;
		for (i = 0; i < 32; i++)
			hang_up(&c[i]);
		falls_to("lane", 4);
	}
	measured("handshakes_that_do_not_end_are_few_at_a_time", n > 0 && n <= 16);
}

/* Requests for the next attempts of 16 links that are up, without HELLO, and one for a new link. */
static void known_epochs(void)
{
	struct rchar_wire_privdata next[16], fresh;
	struct conn up[16], half[16], c;
	bool ok = true;
	int i;

	begin();
	for (i = 0; i < 16; i++)
		link_up(&up[i], &next[i]);
	for (i = 0; i < 16; i++)
		ok = ok && dial(&half[i], &next[i], sizeof(next[i])) == RDMA_CM_EVENT_ESTABLISHED;
	good_request(&fresh);
	measured("handshakes_that_know_their_epoch_take_no_places",
		 ok && dial(&c, &fresh, sizeof(fresh)) == RDMA_CM_EVENT_ESTABLISHED);
	hang_up(&c);
	for (i = 0; i < 16; i++) {
		hang_up(&half[i]);
		hang_up(&up[i]);
	}
	falls_to("lane", 4);
}

/* Who calls gets an answer to PINGs, as a link would end without, and nothing else. */
static void mute(void)
{
	struct conn c;
	struct frame f;

	peer_is_patient = false;
	accept_well(&c, "7999");
	printf("# accepted\n");
	fflush(stdout);
	while (!c.gone) {
		if (receive(&c, &f, 1000) != RCHAR_OP_PING)
			continue;
		fill(&c, &f, RCHAR_OP_PONG, 0, 0);
		push(&c, &f);
		push_all(&c);
	}
	hang_up(&c);
}

static const struct part {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "half-open", half_open },
	{ "known", known_epochs },
	{ "partial", partial_messages },
	{ "unanswered", unanswered },
	{ "answers", hoarded_answers },
	{ "open-reset", opened_and_reset },
	{ "ended-here", ended_here },
	{ "linger", lingering_sessions },
	{ "linger-payload", lingering_payload },
	{ "backlog", full_backlog },
	{ "links", many_links },
	{ "windows", windows },
	{ "region", deleted_region },
	{ "pool", importers },
	{ "few", waiting },
	{ "mute", mute },
};

int main(int argc, char **argv)
{
	const struct part *p;
	bool any = false;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: badbudget ADDR [PART]\n");
		return 2;
	}
	peer_addr = argv[1];
	peer_is_patient = true;
	for (p = parts; p < parts + sizeof(parts) / sizeof(*parts); p++) {
		bool by_name = p->run == importers || p->run == waiting || p->run == mute ||
			       p->run == ended_here || p->run == lingering_sessions ||
			       p->run == lingering_payload || p->run == hoarded_answers;

		if (argc == 3 ? strcmp(argv[2], p->name) : by_name)
			continue;
		p->run();
		any = true;
	}
	if (!any) {
		fprintf(stderr, "badbudget: there is no part %s\n", argv[2]);
		return 2;
	}
	return test_program.failed != 0;
}
