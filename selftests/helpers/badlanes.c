// SPDX-License-Identifier: GPL-2.0
/*
 * badlanes ADDR - a peer whose links have several lanes, and who does not keep to what
 * Documentation/protocol.rst says of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "peer.h"

/* A request for a lane of a link of @lanes; a link of its own each time. */
static void lane_request(struct rchar_wire_privdata *r, int lanes)
{
	good_request(r);
	r->lanes = lanes;
}

static bool connects(struct conn *c, const struct rchar_wire_privdata *r)
{
	return dial(c, r, sizeof(*r)) == RDMA_CM_EVENT_ESTABLISHED && hello(c, 0);
}

static void refused(const char *name, const struct rchar_wire_privdata *r, int reason)
{
	struct conn c;

	dial(&c, r, sizeof(*r));
	result(name, c.reject_reason == reason);
	hang_up(&c);
}

/* The first lane of two. */
static void first_of_two(struct conn *c, struct rchar_wire_privdata *r)
{
	lane_request(r, 2);
	if (!connects(c, r))
		bail("the first lane of two");
	/* What the next lane has to say. */
	r->lane = 1;
	r->epoch = c->reply.epoch;
}

/* Within 15 s; disconnected() waits for 3. */
static bool given_up(struct conn *c)
{
	int i;

	for (i = 0; i < 5; i++)
		if (disconnected(c))
			return true;
	return false;
}

static void both_come_and_go(void)
{
	struct rchar_wire_privdata r;
	struct conn one, two;
	bool ok;

	first_of_two(&one, &r);
	ok = connects(&two, &r) && two.reply.epoch == one.reply.epoch && two.reply.lane == 1 &&
	     two.reply.lanes == 2 && alive(&one) && alive(&two);
	result("two_lanes_are_taken", ok);
	rdma_disconnect(two.id);
	result("the_first_goes_with_the_second", disconnected(&one));
	hang_up(&two);
	hang_up(&one);
}

static void another_lane(void)
{
	struct rchar_wire_open *o;
	struct rchar_wire_privdata r;
	struct conn one, two;
	struct frame f;

	first_of_two(&one, &r);
	if (!connects(&two, &r))
		bail("the second lane of two");
	fill(&one, &f, RCHAR_OP_OPEN, 1, sizeof(*o));
	o = (void *)f.payload;
	memset(o, 0, sizeof(*o));
	o->type = RCHAR_TYPE_STREAM;
	strcpy((char *)o->name, "nosuch");
	send_frame(&one, &f);
	result("a_session_of_another_lane", disconnected(&one) && disconnected(&two));
	hang_up(&two);
	hang_up(&one);
}

static void wrong(const char *name, void (*spoil)(struct rchar_wire_privdata *r), int reason)
{
	struct rchar_wire_privdata r;
	struct conn one;

	first_of_two(&one, &r);
	spoil(&r);
	refused(name, &r, reason);
	hang_up(&one);
}

static void another_attempt(struct rchar_wire_privdata *r)
{
	r->attempt = htole32(2);
}
static void more_lanes(struct rchar_wire_privdata *r)
{
	r->lanes = 3;
}

static void wrong_epoch(void)
{
	struct rchar_wire_privdata r;
	struct conn one, two;

	first_of_two(&one, &r);
	r.epoch = ~r.epoch;
	result("a_lane_with_another_epoch_changes_nothing_before_hello",
	       dial(&two, &r, sizeof(r)) == RDMA_CM_EVENT_ESTABLISHED && alive(&one));
	result("and_is_not_taken_with_it", !hello(&two, 0) && disconnected(&two));
	hang_up(&two);
	hang_up(&one);
}

static void alone(void)
{
	struct rchar_wire_privdata r;
	struct conn one;

	first_of_two(&one, &r);
	result("a_first_lane_that_stays_alone_is_given_up", alive(&one) && given_up(&one));
	hang_up(&one);
}

/*
 * 64 lanes are what one address may have: not those of five links of 16. All at once: a link
 * whose lanes do not come is given up soon.
 */
static void too_many(void)
{
	struct rchar_wire_privdata r[5];
	int taken = 0, busy = 0, i;
	struct conn c[5];

	for (i = 0; i < 5; i++) {
		lane_request(&r[i], RCHAR_WIRE_LANES_MAX);
		dial_prepare(&c[i]);
	}
	for (i = 0; i < 5; i++)
		dial_begin(&c[i], &r[i], sizeof(r[i]));
	for (i = 0; i < 5; i++) {
		taken += dial_end(&c[i]) == RDMA_CM_EVENT_ESTABLISHED;
		busy += c[i].reject_reason == RCHAR_REASON_BUSY;
	}
	result("lanes_count_against_the_limit_of_links", taken > 0 && busy > 0);
	for (i = 0; i < 5; i++)
		hang_up(&c[i]);
}

/* 10.0.0.100 and on: ours, or not. */
#define ADDRESSES 16

static void change_addresses(const char *action)
{
	shell("for i in $(seq 100 %d); do ip addr %s 10.0.0.$i/24 dev net0; done",
	      100 + ADDRESSES - 1, action);
}

/* The device learns them a little later, one after the other. */
static bool last_is_known(void)
{
	char command[160];

	snprintf(command, sizeof(command),
		 "for d in /sys/class/infiniband/*/ports/1/gids; do"
		 " grep -qs ffff:0a00:00%02x $d/[0-9] $d/[0-9][0-9] && exit; done; false",
		 100 + ADDRESSES - 1);
	return !system(command);
}

/* An id is the peer's choice: the same one from each address is a link of each. */
static void one_id(void)
{
	struct rchar_wire_privdata r;
	struct conn c[ADDRESSES];
	char address[32];
	int i;

	good_request(&r);
	forget_walks();
	change_addresses("add");
	EVENTUALLY(last_is_known());
	for (i = 0; i < ADDRESSES; i++) {
		snprintf(address, sizeof(address), "10.0.0.%d", 100 + i);
		peer_source = address;
		connect_with(&c[i], &r);
	}
	peer_source = NULL;
	result("links_of_one_id_are_found_at_once", longest_walk() < ADDRESSES / 2);
	for (i = 0; i < ADDRESSES; i++)
		hang_up(&c[i]);
	change_addresses("del");
}

int main(int argc, char **argv)
{
	struct rchar_wire_privdata r;

	if (argc != 2) {
		fprintf(stderr, "usage: badlanes ADDR\n");
		return 2;
	}
	peer_addr = argv[1];
	printf("TAP version 13\n");
	both_come_and_go();
	another_lane();
	lane_request(&r, 2);
	r.lane = 1;
	refused("a_second_lane_without_a_first", &r, RCHAR_REASON_BUSY);
	wrong("a_second_lane_of_another_attempt", another_attempt, RCHAR_REASON_BUSY);
	wrong("a_second_lane_of_a_link_of_three", more_lanes, RCHAR_REASON_PROTOCOL);
	wrong_epoch();
	alone();
	too_many();
	one_id();
	return test_program.failed != 0;
}
