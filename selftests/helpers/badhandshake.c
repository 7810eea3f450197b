// SPDX-License-Identifier: GPL-2.0
/*
 * badhandshake ADDR STREAM - requests that name a link which is up, or one that waits for its
 * peer: what they say must not count before HELLO has shown that who sent them is where it says.
 * STREAM is a stream channel that listens there and that nobody has open. TAP lines.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "peer.h"

static void nothing(struct rchar_wire_privdata *r)
{
	(void)r;
}
static void afresh(struct rchar_wire_privdata *r)
{
	r->epoch = 0;
}
static void other_epoch(struct rchar_wire_privdata *r)
{
	r->epoch = ~r->epoch;
}
static void wild_resume(struct rchar_wire_privdata *r)
{
	r->resume = htole32(12345);
}
static void small_frames(struct rchar_wire_privdata *r)
{
	r->frame_size = htole32(1024);
}
static void far_attempt(struct rchar_wire_privdata *r)
{
	r->attempt = htole32(0x70000000);
}

/* The request is answered; the link notices neither that nor the end of it. */
static void unfinished(const char *name, void (*spoil)(struct rchar_wire_privdata *r))
{
	struct rchar_wire_privdata next, spoilt;
	struct conn one, two;
	bool ok;

	link_up(&one, &next);
	spoilt = next;
	spoil(&spoilt);
	ok = dial(&two, &spoilt, sizeof(spoilt)) == RDMA_CM_EVENT_ESTABLISHED && alive(&one);
	hang_up(&two);
	ok = ok && alive(&one);
	/* Nor was anything stored: the real next attempt takes over. */
	ok = dial(&two, &next, sizeof(next)) == RDMA_CM_EVENT_ESTABLISHED && ok &&
	     two.reply.epoch == one.reply.epoch && hello(&two, 0) && disconnected(&one) &&
	     alive(&two);
	result(name, ok);
	hang_up(&two);
	hang_up(&one);
}

static void older(void)
{
	struct rchar_wire_privdata next;
	struct conn one, two;
	bool ok;

	link_up(&one, &next);
	next.attempt = htole32(1);
	ok = dial(&two, &next, sizeof(next)) == RDMA_CM_EVENT_REJECTED &&
	     two.reject_reason == RCHAR_REASON_BUSY && alive(&one);
	result("an_attempt_of_before_is_refused", ok);
	hang_up(&two);
	hang_up(&one);
}

static void with_credits(void)
{
	struct rchar_wire_privdata req;
	struct conn c;

	good_request(&req);
	if (dial(&c, &req, sizeof(req)) != RDMA_CM_EVENT_ESTABLISHED)
		bail("connect");
	c.granted = 1;
	result("a_hello_that_grants_credits", !hello(&c, 0) && disconnected(&c));
	hang_up(&c);
}

static void twice(void)
{
	struct rchar_wire_privdata next;
	struct conn one, two;

	link_up(&one, &next);
	if (dial(&two, &next, sizeof(next)) != RDMA_CM_EVENT_ESTABLISHED)
		bail("the second attempt");
	result("a_wrong_nonce_for_a_link_that_is_up",
	       !hello(&two, 1) && disconnected(&two) && alive(&one));
	hang_up(&two);
	hang_up(&one);
}

/* The request asks for one RDMA READ at a time, in each direction (IBTA vol 1, 12.7.29 and 30). */
static void reads_at_once(void)
{
	struct rchar_wire_privdata next;
	struct conn c;

	link_up(&c, &next);
	result("no_more_reads_at_once_than_the_request_allows", c.may_read == 1 && c.reads == 1);
	hang_up(&c);
}

/* ---- a link that waits for its peer, with frames kept for it ---- */

#define PIECES 10
#define PIECE  1000

/* The bytes of so many frames with data, numbered; false when others come. */
static bool receive_pieces(struct conn *c, int first, int n)
{
	static struct frame f;
	int i, j;

	for (i = first; i < first + n; i++) {
		if (!receive_op(c, &f, RCHAR_OP_DATA) || le32toh(f.h.len) != PIECE)
			return false;
		for (j = 0; j < PIECE; j++)
			if (f.payload[j] != i)
				return false;
	}
	return true;
}

static bool write_piece(int fd, int i)
{
	char piece[PIECE];

	memset(piece, i, sizeof(piece));
	return write(fd, piece, sizeof(piece)) == sizeof(piece);
}

/* A request that is answered, and has no HELLO. */
static bool ask(const struct rchar_wire_privdata *r)
{
	struct conn c;
	bool ok = dial(&c, r, sizeof(*r)) == RDMA_CM_EVENT_ESTABLISHED;

	hang_up(&c);
	return ok;
}

/* The link has noticed that its connection is gone. */
static bool is_down(const struct rchar_wire_privdata *link)
{
	long long end = now_ms() + LONG_MS;
	char command[160];

	snprintf(command, sizeof(command),
		 "rchar -j link | tr '}' '\\n' | grep '\"wire_id\":\"%016llx\"' | "
		 "grep -q '\"state\":\"down\"'",
		 (unsigned long long)le64toh(link->link_id));
	while (system(command))
		if (now_ms() > end)
			return false;
	return true;
}

/* What an unfinished request says of frames that have arrived frees none of them. */
static void kept_frames(const char *channel)
{
	struct rchar_wire_privdata next, spoilt;
	struct conn one, two;
	uint32_t opened;
	char path[64];
	struct frame f;
	bool ok = true;
	int fd, i;

	link_up(&one, &next);
	send_open(&one, channel, RCHAR_TYPE_STREAM, 0);
	snprintf(path, sizeof(path), "/dev/rchar/%s", channel);
	fd = open(path, O_RDWR | O_NONBLOCK);
	if (fd < 0 || !receive_op(&one, &f, RCHAR_OP_OPENED))
		bail("a session");
	opened = one.ack;
	for (i = 0; i < PIECES; i++)
		ok = write_piece(fd, i) && ok;
	ok = ok && receive_pieces(&one, 0, PIECES);
	hang_up(&one);
	ok = ok && is_down(&next);

	next.resume = htole32(opened);
	spoilt = next;
	spoilt.resume = htole32(one.ack);
	ok = ok && ask(&spoilt);
	spoilt = next;
	spoilt.epoch = ~next.epoch;
	ok = ok && ask(&spoilt);
	spoilt.epoch = 0;
	ok = ok && ask(&spoilt);

	ok = ok && dial(&two, &next, sizeof(next)) == RDMA_CM_EVENT_ESTABLISHED &&
	     two.reply.epoch == next.epoch;
	two.seq = le32toh(two.reply.resume);
	ok = ok && hello(&two, 0) && receive_pieces(&two, 0, PIECES) && write_piece(fd, PIECES) &&
	     receive_pieces(&two, PIECES, 1);
	result("an_unfinished_request_frees_no_kept_frames", ok);
	close(fd);
	hang_up(&two);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: badhandshake ADDR STREAM\n");
		return 2;
	}
	peer_addr = argv[1];
	unfinished("an_unfinished_request_ends_no_link", nothing);
	unfinished("an_unfinished_request_without_an_epoch", afresh);
	unfinished("an_unfinished_request_with_another_epoch", other_epoch);
	unfinished("an_unfinished_request_with_a_wild_resume", wild_resume);
	unfinished("an_unfinished_request_with_small_frames", small_frames);
	unfinished("an_unfinished_request_of_a_far_attempt", far_attempt);
	older();
	twice();
	with_credits();
	reads_at_once();
	kept_frames(argv[2]);
	return test_program.failed != 0;
}
