// SPDX-License-Identifier: GPL-2.0
/*
 * badpeer ADDR STREAM-CHANNEL MESSAGE-CHANNEL - a peer that does not keep to the protocol.
 *
 * Each test is a connection of its own. It shows that each wrong field is refused, that
 * what is only about a session leaves the connection up, and (the caller watches) that
 * nobody else notices. TAP output.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "peer.h"

static const char *channel;

/* ---- connection requests ---- */

static void request(const char *name, void (*spoil)(struct rchar_wire_privdata *), int len,
		    int reason)
{
	struct rchar_wire_privdata req;
	struct conn c;
	int event;

	good_request(&req);
	spoil(&req);
	event = dial(&c, &req, len);
	result(name, event == RDMA_CM_EVENT_REJECTED && c.reject_reason == reason);
	hang_up(&c);
}

static void no_change(struct rchar_wire_privdata *r)
{
	(void)r;
}
static void bad_magic(struct rchar_wire_privdata *r)
{
	r->magic ^= 1;
}
static void bad_major(struct rchar_wire_privdata *r)
{
	r->major = 9;
}
static void bad_lane(struct rchar_wire_privdata *r)
{
	r->lane = 1;
}
static void bad_lanes(struct rchar_wire_privdata *r)
{
	r->lanes = 200;
}
static void no_link(struct rchar_wire_privdata *r)
{
	r->link_id = 0;
}
static void no_depth(struct rchar_wire_privdata *r)
{
	r->depth = 0;
}
static void big_depth(struct rchar_wire_privdata *r)
{
	r->depth = 0xffff;
}
static void no_frame(struct rchar_wire_privdata *r)
{
	r->frame_size = 0;
}
static void big_frame(struct rchar_wire_privdata *r)
{
	r->frame_size = ~0u;
}
static void some_key(struct rchar_wire_privdata *r)
{
	r->key = htole16(1);
}

static void requests(void)
{
	int len = sizeof(struct rchar_wire_privdata), p = RCHAR_REASON_PROTOCOL;

	request("request_with_another_magic", bad_magic, len, p);
	request("request_of_another_version", bad_major, len, RCHAR_REASON_VERSION);
	request("request_without_private_data", no_change, 0, p);
	request("request_cut_short", no_change, 10, p);
	request("request_for_lane_1_of_1", bad_lane, len, p);
	request("request_for_200_lanes", bad_lanes, len, p);
	request("request_with_link_id_0", no_link, len, p);
	request("request_with_depth_0", no_depth, len, p);
	request("request_with_depth_65535", big_depth, len, p);
	request("request_with_frame_size_0", no_frame, len, p);
	request("request_with_frame_size_4g", big_frame, len, p);
	request("request_with_a_key_that_nobody_has", some_key, len, RCHAR_REASON_NOT_AUTHORISED);
}

/* ---- frames that break the connection ---- */

static void breaks(const char *name, int op, uint32_t session, uint32_t len,
		   void (*spoil)(struct frame *))
{
	struct frame f;
	struct conn c;

	connect_well(&c);
	memset(f.payload, 0, sizeof(f.payload));
	fill(&c, &f, op, session, len);
	if (spoil)
		spoil(&f);
	send_raw(&c, &f, sizeof(f.h) + len);
	result(name, disconnected(&c));
	hang_up(&c);
}

static void flags_80(struct frame *f)
{
	f->h.flags = 0x80;
}
static void len_more(struct frame *f)
{
	f->h.len = htole32(le32toh(f->h.len) + 1);
}
static void len_huge(struct frame *f)
{
	f->h.len = ~0u;
}
static void credits_many(struct frame *f)
{
	f->h.credits = 0xffff;
}
static void credits_large(struct frame *f)
{
	f->h.flags = RCHAR_FRAME_LARGE;
}
static void credits_one(struct frame *f)
{
	f->h.credits = htole16(DEPTH);
}
static void ack_ahead(struct frame *f)
{
	f->h.ack = htole32(le32toh(f->h.ack) + 5);
}
static void ack_behind(struct frame *f)
{
	f->h.ack = htole32(le32toh(f->h.ack) - 1);
}
static void seq_ahead(struct frame *f)
{
	f->h.seq = htole32(le32toh(f->h.seq) + 1);
}
static void seq_on_ping(struct frame *f)
{
	f->h.seq = htole32(7);
}

static void open_payload(struct frame *f)
{
	struct rchar_wire_open *o = (void *)f->payload;

	memset(o, 0, sizeof(*o));
	o->type = RCHAR_TYPE_STREAM;
	strcpy((char *)o->name, channel);
}

static void open_slash(struct frame *f)
{
	open_payload(f);
	memcpy(f->payload + offsetof(struct rchar_wire_open, name), "a/b", 4);
}

static void open_unterminated(struct frame *f)
{
	open_payload(f);
	memset(f->payload + offsetof(struct rchar_wire_open, name), 'a', 32);
}

static void open_garbage(struct frame *f)
{
	open_payload(f);
	f->payload[sizeof(struct rchar_wire_open) - 1] = 'x';
}

static void open_flags(struct frame *f)
{
	open_payload(f);
	f->payload[offsetof(struct rchar_wire_open, flags)] = 0x40;
}

static void open_window(struct frame *f)
{
	open_payload(f);
	f->h.window = ~0u;
}

static void frames(void)
{
	uint32_t open = sizeof(struct rchar_wire_open);
	struct conn c;
	struct rchar_wire_privdata req;
	struct frame f;

	breaks("op_0", 0, 0, 0, NULL);
	breaks("op_7", 7, 0, 0, NULL);
	breaks("op_255", 255, 1, 0, NULL);
	breaks("unknown_flags", RCHAR_OP_PING, 0, 0, flags_80);
	breaks("length_larger_than_the_frame", RCHAR_OP_DATA, 1, 10, len_more);
	breaks("length_4g", RCHAR_OP_DATA, 1, 10, len_huge);
	breaks("length_on_ping", RCHAR_OP_PING, 0, 4, NULL);
	breaks("data_without_bytes", RCHAR_OP_DATA, 1, 0, NULL);
	breaks("data_for_session_0", RCHAR_OP_DATA, 0, 10, NULL);
	breaks("ping_for_a_session", RCHAR_OP_PING, 1, 0, NULL);
	breaks("sequence_number_ahead", RCHAR_OP_DATA, 1, 10, seq_ahead);
	breaks("sequence_number_on_ping", RCHAR_OP_PING, 0, 0, seq_on_ping);
	breaks("ack_of_what_was_not_sent", RCHAR_OP_PING, 0, 0, ack_ahead);
	breaks("ack_that_goes_back", RCHAR_OP_PING, 0, 0, ack_behind);
	breaks("credits_65535", RCHAR_OP_PING, 0, 0, credits_many);
	breaks("credits_for_buffers_never_used", RCHAR_OP_PING, 0, 0, credits_one);
	breaks("credits_for_large_buffers_by_who_has_one_size", RCHAR_OP_PING, 0, 0, credits_large);
	breaks("second_hello", RCHAR_OP_HELLO, 0, sizeof(struct rchar_wire_hello), NULL);
	breaks("ready_from_the_initiator", RCHAR_OP_READY, 0, sizeof(struct rchar_wire_hello),
	       NULL);
	breaks("open_of_a_name_with_a_slash", RCHAR_OP_OPEN, 1, open, open_slash);
	breaks("open_of_a_name_without_end", RCHAR_OP_OPEN, 1, open, open_unterminated);
	breaks("open_with_bytes_behind_the_name", RCHAR_OP_OPEN, 1, open, open_garbage);
	breaks("open_with_unknown_flags", RCHAR_OP_OPEN, 1, open, open_flags);
	breaks("open_with_a_window_of_4g", RCHAR_OP_OPEN, 1, open, open_window);
	breaks("open_cut_short", RCHAR_OP_OPEN, 1, 8, NULL);
	breaks("reset_cut_short", RCHAR_OP_RESET, 1, 4, NULL);

	connect_well(&c);
	send_raw(&c, "short", 5);
	result("frame_shorter_than_a_header", disconnected(&c));
	hang_up(&c);

	good_request(&req);
	if (dial(&c, &req, sizeof(req)) != RDMA_CM_EVENT_ESTABLISHED)
		bail("connect");
	fill(&c, &f, RCHAR_OP_OPEN, 1, open);
	open_payload(&f);
	send_frame(&c, &f);
	result("open_before_hello", disconnected(&c));
	hang_up(&c);

	good_request(&req);
	if (dial(&c, &req, sizeof(req)) != RDMA_CM_EVENT_ESTABLISHED)
		bail("connect");
	result("hello_with_a_wrong_nonce", !hello(&c, 1) && disconnected(&c));
	hang_up(&c);

	/* The module has credits for small buffers left when the large ones begin. */
	good_request(&req);
	req.caps = htole32(RCHAR_CAP_GROWS);
	connect_with(&c, &req);
	fill(&c, &f, RCHAR_OP_PING, 0, 0);
	f.h.flags = RCHAR_FRAME_LARGE;
	send_frame(&c, &f);
	result("buffers_that_become_large", receive_op(&c, &f, RCHAR_OP_PONG));
	result("and_small_again_before_their_turn", !alive(&c) && disconnected(&c));
	hang_up(&c);

	/* Nothing is used up, not even of the few credits that there are. */
	good_request(&req);
	req.caps = htole32(RCHAR_CAP_GROWS);
	req.depth = htole16(RCHAR_WIRE_DEPTH_MIN);
	connect_with(&c, &req);
	fill(&c, &f, RCHAR_OP_TRIM, 0, 0);
	send_frame(&c, &f);
	result("trim_by_who_has_no_large_buffers", alive(&c) && alive(&c));
	hang_up(&c);

	good_request(&req);
	if (dial(&c, &req, sizeof(req)) != RDMA_CM_EVENT_ESTABLISHED)
		bail("connect");
	result("no_hello_at_all_is_timed_out",
	       next_event(&c, LONG_MS) == RDMA_CM_EVENT_DISCONNECTED);
	hang_up(&c);
}

/* ---- frames that are only about a session ---- */

static void open_stream(struct conn *c, uint32_t session)
{
	struct frame f;

	fill(c, &f, RCHAR_OP_OPEN, session, sizeof(struct rchar_wire_open));
	open_payload(&f);
	send_frame(c, &f);
	if (!receive_op(c, &f, RCHAR_OP_OPENED))
		bail("open");
}

static void sessions(void)
{
	uint32_t open = sizeof(struct rchar_wire_open), i;
	struct frame f;
	struct conn c;

	connect_well(&c);
	fill(&c, &f, RCHAR_OP_DATA, 77, 100);
	send_frame(&c, &f);
	result("data_for_an_unknown_session_is_ignored", alive(&c));

	fill(&c, &f, RCHAR_OP_OPEN, 1, open);
	open_payload(&f);
	strcpy((char *)f.payload + offsetof(struct rchar_wire_open, name), "nosuch");
	send_frame(&c, &f);
	result("open_of_no_channel_is_refused", receive_op(&c, &f, RCHAR_OP_REFUSED) &&
							f.payload[0] == RCHAR_REASON_NO_CHANNEL &&
							alive(&c));

	fill(&c, &f, RCHAR_OP_OPEN, 2, open);
	open_payload(&f);
	f.payload[0] = 99;
	send_frame(&c, &f);
	result("open_of_another_type_is_refused", receive_op(&c, &f, RCHAR_OP_REFUSED) &&
							  f.payload[0] == RCHAR_REASON_WRONG_TYPE &&
							  alive(&c));

	fill(&c, &f, RCHAR_OP_OPEN, 3, open);
	open_payload(&f);
	send_frame(&c, &f);
	result("a_good_open_is_taken", receive_op(&c, &f, RCHAR_OP_OPENED));
	/* The window of the channel is 64 KiB. */
	for (i = 0; i < 5; i++) {
		fill(&c, &f, RCHAR_OP_DATA, 3, 16000);
		send_frame(&c, &f);
	}
	result("data_beyond_the_window_resets_the_session",
	       receive_op(&c, &f, RCHAR_OP_RESET) && le32toh(f.h.session) == 3 &&
		       f.payload[0] == RCHAR_REASON_WINDOW && alive(&c));

	open_stream(&c, 4);
	fill(&c, &f, RCHAR_OP_OPEN, 4, open);
	open_payload(&f);
	send_frame(&c, &f);
	result("open_of_a_session_in_use_breaks", disconnected(&c));
	hang_up(&c);

	connect_well(&c);
	open_stream(&c, 1);
	fill(&c, &f, RCHAR_OP_FIN, 1, 0);
	send_frame(&c, &f);
	fill(&c, &f, RCHAR_OP_DATA, 1, 10);
	send_frame(&c, &f);
	result("data_after_fin_breaks", disconnected(&c));
	hang_up(&c);
}

/* ---- messages ---- */

static const char *message_channel;

static void message_payload(struct frame *f, uint32_t max_message)
{
	struct rchar_wire_open *o = (void *)f->payload;

	open_payload(f);
	memset(o->name, 0, sizeof(o->name));
	o->type = RCHAR_TYPE_MESSAGE;
	o->max_message = htole32(max_message);
	strcpy((char *)o->name, message_channel);
}

static void no_max_message(struct frame *f)
{
	message_payload(f, 0);
}
static void max_message_4g(struct frame *f)
{
	message_payload(f, ~0u);
}

static void window_too_small(struct frame *f)
{
	message_payload(f, 100000);
	f->h.window = htole32(100000 + 255);
}

static void stream_with_max_message(struct frame *f)
{
	open_payload(f);
	((struct rchar_wire_open *)f->payload)->max_message = htole32(5);
}

/* A connection with session 1 of the channel open. */
static void open_message(struct conn *c)
{
	struct rchar_wire_opened opened;
	struct frame f;

	connect_well(c);
	fill(c, &f, RCHAR_OP_OPEN, 1, sizeof(struct rchar_wire_open));
	message_payload(&f, 1 << 20);
	f.h.window = htole32(2 << 20);
	send_frame(c, &f);
	if (!receive_op(c, &f, RCHAR_OP_OPENED))
		bail("open of the message channel");
	memcpy(&opened, f.payload, sizeof(opened));
	if (le32toh(opened.max_message) != 32768)
		bail("max_message of the answer");
}

static void send_msg(struct conn *c, int flags, uint32_t len)
{
	struct frame f;

	fill(c, &f, RCHAR_OP_MSG, 1, len);
	f.h.flags = flags;
	send_frame(c, &f);
}

/* A fragment, and a second one, or a frame of another op, behind it. */
static void fragments_break(const char *name, int flags1, int flags2, int op, uint32_t len)
{
	struct frame f;
	struct conn c;

	open_message(&c);
	send_msg(&c, flags1, 1100);
	if (op == RCHAR_OP_MSG) {
		send_msg(&c, flags2, 1100);
	} else {
		fill(&c, &f, op, 1, len);
		send_frame(&c, &f);
	}
	result(name, disconnected(&c));
	hang_up(&c);
}

static void messages(void)
{
	const int first = RCHAR_FRAME_FIRST, last = RCHAR_FRAME_LAST;
	uint32_t open = sizeof(struct rchar_wire_open), i;
	struct frame f;
	struct conn c;

	breaks("open_with_a_max_message_of_0", RCHAR_OP_OPEN, 1, open, no_max_message);
	breaks("open_with_a_max_message_of_4g", RCHAR_OP_OPEN, 1, open, max_message_4g);
	breaks("open_of_a_stream_with_a_max_message", RCHAR_OP_OPEN, 1, open,
	       stream_with_max_message);
	breaks("open_without_room_for_its_max_message", RCHAR_OP_OPEN, 1, open, window_too_small);
	fragments_break("message_that_begins_in_the_middle", 0, last, RCHAR_OP_MSG, 0);
	fragments_break("message_that_begins_twice", first, first, RCHAR_OP_MSG, 0);
	fragments_break("fragment_behind_the_last", first | last, last, RCHAR_OP_MSG, 0);
	fragments_break("fin_in_the_middle_of_a_message", first, 0, RCHAR_OP_FIN, 0);
	fragments_break("data_for_a_message_session", first | last, 0, RCHAR_OP_DATA, 10);
	breaks("fragment_without_bytes", RCHAR_OP_MSG, 1, 0, NULL);

	open_message(&c);
	send_msg(&c, first, 1023);
	result("fragment_shorter_than_any_frame", disconnected(&c));
	hang_up(&c);

	connect_well(&c);
	open_stream(&c, 1);
	send_msg(&c, first | last, 100);
	result("message_for_a_stream_session", disconnected(&c));
	hang_up(&c);

	open_message(&c);
	send_msg(&c, first, 16000);
	send_msg(&c, 0, 16000);
	send_msg(&c, last, 768);
	result("a_message_of_exactly_max_message_is_taken", alive(&c));
	for (i = 0; i < 3; i++)
		send_msg(&c, i ? 0 : first, 16000);
	result("a_longer_one_resets_the_session", receive_op(&c, &f, RCHAR_OP_RESET) &&
							  f.payload[0] == RCHAR_REASON_WINDOW &&
							  alive(&c));
	hang_up(&c);

	open_message(&c);
	/* Each takes 257 of the 65536; now and then our buffers are emptied. */
	for (i = 0; i < 256; i++) {
		send_msg(&c, first | last, 1);
		if (i % 16 == 15 && i < 240 && !alive(&c))
			break;
	}
	result("messages_beyond_the_window_reset_the_session",
	       receive_op(&c, &f, RCHAR_OP_RESET) && f.payload[0] == RCHAR_REASON_WINDOW &&
		       alive(&c));
	hang_up(&c);
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: badpeer ADDR STREAM-CHANNEL MESSAGE-CHANNEL\n");
		return 2;
	}
	peer_addr = argv[1];
	channel = argv[2];
	message_channel = argv[3];
	printf("TAP version 13\n");
	requests();
	frames();
	sessions();
	messages();
	return test_program.failed != 0;
}
