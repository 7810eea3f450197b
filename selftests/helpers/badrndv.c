// SPDX-License-Identifier: GPL-2.0
/*
 * badrndv ADDR STREAM-CHANNEL MESSAGE-CHANNEL WRITER-CHANNEL READER-CHANNEL LAST-CHANNEL -
 * a peer that does rendezvous wrong, at both of its ends.
 *
 * Somebody writes 64 KiB of 'B' to each session of WRITER-CHANNEL, whose rendezvous-min must
 * be that. The windows of STREAM-CHANNEL and READER-CHANNEL are 128 KiB; nobody reads from
 * the first, and for each session of the other one somebody waits with as much room.
 * LAST-CHANNEL is a stream that nobody has opened. Each test is a connection of its own.
 * TAP lines; the plan is the caller's.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "linux/rdma_char.h"
#include "../lib/asleep.h"
#include "peer.h"

#define LEN 65536 /* an offer of ours, and of the writer */

static const char *stream, *message, *writer;
static const char *prefix = "";
static char *mem;	     /* LEN bytes of ours */
static struct ibv_mr *local; /* to use ourselves */
static struct ibv_mr *mr;    /* to offer: begins at address 0 */

/* With @prefix it waits until somebody sleeps in read(), and who read before has gone. */
static void open_session(struct conn *c, const char *name, int type)
{
	bool somebody_reads = *prefix && name == stream;
	struct frame f;
	char path[64];

	snprintf(path, sizeof(path), "/dev/rchar/%s", name);
	if (somebody_reads && !BECOMES(!in_use(path)))
		bail("a reader of before");
	connect_well(c);
	local = ibv_reg_mr(c->pd, mem, LEN, IBV_ACCESS_LOCAL_WRITE);
	mr = ibv_reg_mr_iova(c->pd, mem, LEN, 0, IBV_ACCESS_REMOTE_READ);
	if (!local || !mr)
		bail("ibv_reg_mr");
	send_open(c, name, type, type == RCHAR_TYPE_MESSAGE ? 32768 : 0);
	if (!receive_op(c, &f, RCHAR_OP_OPENED))
		bail("no OPENED");
	if (somebody_reads && !BECOMES(user_asleep(path)))
		bail("nobody reads");
}

static void end(struct conn *c)
{
	ibv_dereg_mr(local);
	ibv_dereg_mr(mr);
	hang_up(c);
}

static void send_data(struct conn *c, int flags, uint32_t len)
{
	struct frame f;

	memset(f.payload, 'D', len);
	fill(c, &f, RCHAR_OP_DATA, 1, len);
	f.h.flags = flags;
	send_frame(c, &f);
}

/* ---- it offers ---- */

struct offer {
	uint32_t attempt, key, offset, len, reserved;
};

static struct offer good_offer(void)
{
	return (struct offer){ .attempt = 1, .key = mr->rkey, .len = LEN };
}

static void send_rndv(struct conn *c, struct offer o)
{
	struct rchar_wire_rndv *b;
	struct frame f;

	fill(c, &f, RCHAR_OP_RNDV, 1, sizeof(*b));
	b = (void *)f.payload;
	b->id = htole32(9);
	b->attempt = htole32(o.attempt);
	b->key = htole32(o.key);
	b->offset = htole32(o.offset);
	b->len = htole32(o.len);
	b->reserved = htole32(o.reserved);
	send_frame(c, &f);
}

static int taken(struct conn *c)
{
	struct rchar_wire_rndv_done *t;
	struct frame f;

	if (!receive_op(c, &f, RCHAR_OP_RNDV_DONE))
		return -1;
	t = (void *)f.payload;
	return le32toh(t->id) == 9 ? (int)le32toh(t->status) : -2;
}

static void offered(const char *name, bool ok)
{
	char text[100];

	snprintf(text, sizeof(text), "%s%s", prefix, name);
	result(text, ok);
}

static void offer_breaks(const char *name, struct offer change)
{
	struct offer o;
	struct conn c;

	open_session(&c, stream, RCHAR_TYPE_STREAM);
	o = good_offer();
	o.len = change.len ? change.len - 1 : LEN;
	o.offset = change.offset;
	o.reserved = change.reserved;
	send_rndv(&c, o);
	offered(name, disconnected(&c));
	end(&c);
}

/* An offer that waits for its bytes in frames, as its key is of another connection. */
static void open_offer(struct conn *c)
{
	struct offer o;

	open_session(c, stream, RCHAR_TYPE_STREAM);
	o = good_offer();
	o.attempt = 7;
	send_rndv(c, o);
}

static void send_instead(struct conn *c, uint32_t len)
{
	while (len) {
		uint32_t n = len < 16000 ? len : 16000;

		send_data(c, RCHAR_FRAME_INSTEAD, n);
		len -= n;
	}
}

static void offers(void)
{
	struct offer o;
	struct frame f;
	struct conn c;

	open_session(&c, stream, RCHAR_TYPE_STREAM);
	send_rndv(&c, good_offer());
	offered("a_good_offer_is_taken", taken(&c) == RCHAR_RNDV_OK);
	send_instead(&c, LEN);
	send_data(&c, 0, 10);
	offered("and_instead_of_it_comes_too_late", alive(&c));
	send_data(&c, RCHAR_FRAME_INSTEAD, 1);
	offered("and_what_is_late_and_too_much_breaks", disconnected(&c));
	end(&c);

	offer_breaks("an_offer_of_little", (struct offer){ .len = LEN });
	offer_breaks("an_offer_of_more_than_1m", (struct offer){ .len = RCHAR_WIRE_RNDV_MAX + 2 });
	offer_breaks("an_offer_that_begins_far_away", (struct offer){ .offset = 1 << 20 });
	offer_breaks("an_offer_with_reserved_bits", (struct offer){ .reserved = 1 });

	open_session(&c, message, RCHAR_TYPE_MESSAGE);
	send_rndv(&c, good_offer());
	offered("an_offer_to_a_message_session", disconnected(&c));
	end(&c);

	open_session(&c, stream, RCHAR_TYPE_STREAM);
	send_data(&c, 0, 10);
	o = good_offer();
	o.len = 2 * LEN;
	send_rndv(&c, o);
	offered("an_offer_beyond_the_window_resets_the_session",
		receive_op(&c, &f, RCHAR_OP_RESET) && f.payload[0] == RCHAR_REASON_WINDOW &&
			alive(&c));
	end(&c);

	open_session(&c, stream, RCHAR_TYPE_STREAM);
	send_rndv(&c, (struct offer){ .attempt = 1, .key = mr->rkey ^ 1, .len = LEN });
	offered("an_offer_with_a_wrong_key", disconnected(&c));
	end(&c);

	open_offer(&c);
	send_rndv(&c, good_offer());
	offered("an_offer_before_the_last_is_settled", disconnected(&c));
	end(&c);

	open_offer(&c);
	send_data(&c, 0, 10);
	offered("data_before_an_offer_is_settled", disconnected(&c));
	end(&c);

	open_offer(&c);
	fill(&c, &f, RCHAR_OP_FIN, 1, 0);
	send_frame(&c, &f);
	offered("fin_before_an_offer_is_settled", disconnected(&c));
	end(&c);

	open_offer(&c);
	send_instead(&c, LEN);
	send_data(&c, RCHAR_FRAME_INSTEAD, 1);
	offered("more_instead_than_was_offered", disconnected(&c));
	end(&c);

	open_offer(&c);
	send_instead(&c, 20000);
	fill(&c, &f, RCHAR_OP_RESET, 1, sizeof(struct rchar_wire_status));
	memset(f.payload, 0, sizeof(struct rchar_wire_status));
	f.payload[0] = RCHAR_REASON_LINGER;
	send_frame(&c, &f);
	offered("a_reset_with_an_offer_half_settled", alive(&c));
	end(&c);

	open_session(&c, stream, RCHAR_TYPE_STREAM);
	send_data(&c, RCHAR_FRAME_INSTEAD, 1);
	offered("instead_of_nothing", disconnected(&c));
	end(&c);

	open_session(&c, message, RCHAR_TYPE_MESSAGE);
	fill(&c, &f, RCHAR_OP_MSG, 1, 10);
	f.h.flags = RCHAR_FRAME_FIRST | RCHAR_FRAME_LAST | RCHAR_FRAME_INSTEAD;
	send_frame(&c, &f);
	offered("instead_of_a_message", disconnected(&c));
	end(&c);
}

/* ---- it is offered ---- */

static int answer_id;

static void send_rndv_done(struct conn *c, uint32_t id, uint32_t status)
{
	struct rchar_wire_rndv_done *t;
	struct frame f;

	fill(c, &f, RCHAR_OP_RNDV_DONE, 1, sizeof(*t));
	f.h.window = htole32(2 * LEN);
	t = (void *)f.payload;
	t->id = htole32(id);
	t->status = htole32(status);
	send_frame(c, &f);
}

static struct offer receive_rndv(struct conn *c)
{
	struct rchar_wire_rndv *b;
	struct frame f;

	open_session(c, writer, RCHAR_TYPE_STREAM);
	if (!receive_op(c, &f, RCHAR_OP_RNDV))
		bail("no RNDV");
	b = (void *)f.payload;
	answer_id = le32toh(b->id);
	return (struct offer){ le32toh(b->attempt), le32toh(b->key), le32toh(b->offset),
			       le32toh(b->len), le32toh(b->reserved) };
}

/* With memory of ours; true when it worked. */
static bool rdma(struct conn *c, int opcode, uint32_t key, uint64_t addr, uint32_t len)
{
	return rdma_by(c, opcode, mem, local, key, addr, len);
}

static bool all_b(const char *p, uint32_t len)
{
	while (len && *p == 'B') {
		p++;
		len--;
	}
	return !len;
}

/* The bytes of the offer in frames. */
static bool instead(struct conn *c)
{
	uint32_t have = 0;
	struct frame f;

	while (have < LEN && receive_op(c, &f, RCHAR_OP_DATA)) {
		if (f.h.flags & ~RCHAR_FRAME_ACK & ~RCHAR_FRAME_INSTEAD ||
		    !(f.h.flags & RCHAR_FRAME_INSTEAD) ||
		    !all_b((char *)f.payload, le32toh(f.h.len)))
			return false;
		have += le32toh(f.h.len);
	}
	return have == LEN;
}

static void stolen(const char *name, int opcode, int64_t beyond)
{
	struct offer o;
	struct conn c;

	o = receive_rndv(&c);
	result(name, !rdma(&c, opcode, o.key, o.offset + beyond, LEN));
	end(&c);
}

/* Bytes of our session that the writer's host counts so. */
static long unacknowledged(void)
{
	char command[300];

	/* The link by its id on the wire, then the session by the link's number. */
	snprintf(command, sizeof(command),
		 "link=$(rchar -j link | tr '{' '\\n' | grep %08x%08x | "
		 "sed 's/.*\"link\":\"\\([0-9]*\\)\".*/\\1/'); rchar -j session | tr '{' '\\n' | "
		 "grep \"\\\"link\\\":\\\"$link\\\"\" | sed 's/.*\"tx_unacked_bytes\"://'",
		 getpid(), links_made);
	return shell_number(command);
}

static void set_delay(const char *us)
{
	FILE *f = fopen("/sys/kernel/debug/rdma_char/delay_conclude", "w");

	if (!f || fprintf(f, "%s", us) < 0 || fclose(f))
		bail("delay_conclude");
}

/*
 * The first answer holds. The writer is made to wait between its decision and what follows
 * from it, so that the second answer certainly comes in between.
 */
static void answered_twice(void)
{
	struct frame f;
	struct conn c;
	bool ok = true;
	int i;

	set_delay("100000");
	for (i = 0; i < 4; i++) {
		receive_rndv(&c);
		send_rndv_done(&c, answer_id, i % 2 ? RCHAR_RNDV_REFUSED : RCHAR_RNDV_OK);
		/* Longer than the first answer needs, shorter than the writer is made to wait. */
		usleep(30000);
		send_rndv_done(&c, answer_id, i % 2 ? RCHAR_RNDV_OK : RCHAR_RNDV_REFUSED);
		ok = ok && (i % 2 ? instead(&c) : true) && receive_op(&c, &f, RCHAR_OP_FIN) &&
		     alive(&c);
		end(&c);
	}
	set_delay("0");
	result("of_two_answers_to_an_offer_the_first_one_holds", ok);
}

/* A SEND that invalidates a key of the module. */
static void invalidate(struct conn *c, uint32_t key, int status)
{
	struct frame f;

	c->invalidates = true;
	c->invalidate_key = key;
	if (status >= 0) {
		send_rndv_done(c, answer_id, status);
	} else {
		fill(c, &f, RCHAR_OP_PING, 0, 0);
		send_frame(c, &f);
	}
	c->invalidates = false;
}

static void invalidations(void)
{
	struct offer o;
	struct frame f;
	struct conn c;
	bool ok;

	o = receive_rndv(&c);
	ok = rdma(&c, IBV_WR_RDMA_READ, o.key, o.offset, LEN) && all_b(mem, LEN);
	invalidate(&c, o.key, RCHAR_RNDV_OK);
	result("an_answer_may_invalidate_the_key",
	       ok && receive_op(&c, &f, RCHAR_OP_FIN) && alive(&c));
	result("which_is_void_then", !rdma(&c, IBV_WR_RDMA_READ, o.key, o.offset, 16));
	end(&c);

	o = receive_rndv(&c);
	invalidate(&c, o.key, RCHAR_RNDV_REFUSED);
	result("so_may_one_that_refuses", instead(&c) && receive_op(&c, &f, RCHAR_OP_FIN));
	end(&c);

	/* The module invalidates the key once more then, as it does not know. */
	o = receive_rndv(&c);
	invalidate(&c, o.key, -1);
	send_rndv_done(&c, answer_id, RCHAR_RNDV_REFUSED);
	result("a_key_that_another_frame_invalidates", instead(&c) && alive(&c));
	end(&c);

	o = receive_rndv(&c);
	invalidate(&c, o.key ^ 1, RCHAR_RNDV_OK);
	result("a_key_that_is_not_there_to_invalidate", disconnected(&c));
	end(&c);
}

static void answers(void)
{
	struct offer o;
	struct frame f;
	struct conn c;

	o = receive_rndv(&c);
	result("the_key_of_an_offer_reads",
	       o.len == LEN && !o.reserved && o.attempt == 1 &&
		       rdma(&c, IBV_WR_RDMA_READ, o.key, o.offset, LEN) && all_b(mem, LEN));
	send_rndv_done(&c, answer_id, RCHAR_RNDV_OK);
	result("and_then_comes_what_is_behind_it", receive_op(&c, &f, RCHAR_OP_FIN));
	result("and_the_key_is_void", !rdma(&c, IBV_WR_RDMA_READ, o.key, o.offset, 16));
	end(&c);

	stolen("behind_what_is_offered", IBV_WR_RDMA_READ, LEN);
	stolen("before_what_is_offered", IBV_WR_RDMA_READ, -4096);
	stolen("more_than_is_offered", IBV_WR_RDMA_READ, 1);
	stolen("writing_to_what_is_offered", IBV_WR_RDMA_WRITE, 0);

	receive_rndv(&c);
	send_rndv_done(&c, answer_id, __RCHAR_RNDV_STATUS_MAX);
	result("an_unknown_answer_to_an_offer", disconnected(&c));
	end(&c);

	receive_rndv(&c);
	send_rndv_done(&c, answer_id + 1, RCHAR_RNDV_OK);
	result("an_answer_to_no_offer_is_ignored", alive(&c));
	send_rndv_done(&c, answer_id, RCHAR_RNDV_REFUSED);
	result("an_offer_refused_comes_in_frames", instead(&c));
	result("and_what_is_behind_it", receive_op(&c, &f, RCHAR_OP_FIN));
	send_rndv_done(&c, answer_id, RCHAR_RNDV_OK);
	result("a_late_answer_is_ignored", alive(&c));
	end(&c);

	answered_twice();
	invalidations();

	receive_rndv(&c);
	fill(&c, &f, RCHAR_OP_STOP, 1, 0);
	send_frame(&c, &f);
	result("an_offer_to_who_wants_no_more_comes_in_frames", instead(&c));
	end(&c);

	/* What a peer acknowledges is not what it has read. */
	receive_rndv(&c);
	send_rndv(&c, good_offer());
	result("an_offer_is_not_acknowledged_with_what_follows_it",
	       taken(&c) == RCHAR_RNDV_OK && alive(&c) && unacknowledged() == LEN);
	end(&c);

	open_session(&c, stream, RCHAR_TYPE_STREAM);
	send_rndv_done(&c, 0, RCHAR_RNDV_OK);
	result("an_answer_before_any_offer_is_ignored", alive(&c));
	end(&c);
}

/* ---- whose bytes never come ---- */

struct victim {
	pthread_t thread;
	const char *name;
	volatile pid_t tid;
	volatile int fd;
	volatile ssize_t ret;
};

static void *read_once(void *arg)
{
	static char buf[2 * LEN];
	struct victim *v = arg;
	char path[64];

	v->tid = gettid();
	snprintf(path, sizeof(path), "/dev/rchar/%s", v->name);
	v->fd = open(path, O_RDWR);
	v->ret = read(v->fd, buf, sizeof(buf));
	return NULL;
}

static void a_reader_that_gives_up(const char *channel)
{
	struct victim v = { .name = channel, .ret = -2 };
	struct conn c;

	pthread_create(&v.thread, NULL, read_once, &v);
	stream = channel;
	open_offer(&c);
	result("a_reader_waits_for_what_was_offered", BECOMES(fast_asleep(v.tid)) && v.ret == -2);
	ioctl(v.fd, RCHAR_IOC_SHUTDOWN, RCHAR_SHUT_RD);
	result("a_half_close_ends_a_reader_that_waits_for_what_was_offered",
	       BECOMES(v.ret != -2) && v.ret == 0);
	end(&c);
	pthread_join(v.thread, NULL);
}

int main(int argc, char **argv)
{
	if (argc != 7) {
		fprintf(stderr,
			"usage: badrndv ADDR STREAM-CHANNEL MESSAGE-CHANNEL WRITER-CHANNEL READER-CHANNEL LAST-CHANNEL\n");
		return 2;
	}
	peer_addr = argv[1];
	stream = argv[2];
	message = argv[3];
	writer = argv[4];
	mem = aligned_alloc(4096, LEN);
	if (!mem)
		bail("memory");
	offers();
	answers();
	/* Now for somebody who waits for the bytes. */
	stream = argv[5];
	prefix = "read_";
	offers();
	a_reader_that_gives_up(argv[6]);
	return test_program.failed != 0;
}
