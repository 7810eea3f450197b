// SPDX-License-Identifier: GPL-2.0
/*
 * badhandshake ADDR - requests that name a link which is up: what they say must not count
 * before HELLO has shown that who sent them is where it says. TAP lines.
 */
#include <stdio.h>
#include "peer.h"

static void nothing(struct rchar_wire_conn *r) { (void)r; }
static void afresh(struct rchar_wire_conn *r) { r->epoch = 0; }
static void other_epoch(struct rchar_wire_conn *r) { r->epoch = ~r->epoch; }
static void wild_resume(struct rchar_wire_conn *r) { r->resume = htole32(12345); }
static void small_frames(struct rchar_wire_conn *r) { r->frame_size = htole32(1024); }
static void far_attempt(struct rchar_wire_conn *r) { r->attempt = htole32(0x70000000); }

/* The request is answered; the link notices neither that nor the end of it. */
static void unfinished(const char *name, void (*spoil)(struct rchar_wire_conn *r))
{
	struct rchar_wire_conn next, spoilt;
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
	struct rchar_wire_conn next;
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
	struct rchar_wire_conn req;
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
	struct rchar_wire_conn next;
	struct conn one, two;

	link_up(&one, &next);
	if (dial(&two, &next, sizeof(next)) != RDMA_CM_EVENT_ESTABLISHED)
		bail("the second attempt");
	result("a_wrong_nonce_for_a_link_that_is_up",
	       !hello(&two, 1) && disconnected(&two) && alive(&one));
	hang_up(&two);
	hang_up(&one);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: badhandshake ADDR\n");
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
	return failed != 0;
}
