// SPDX-License-Identifier: GPL-2.0
/*
 * badseal ADDR FILE - peers that have the key, and do not keep to encryption.
 *
 * Listening at ADDR, for the key of FILE: the stream "guarded", the memory of 64 KiB "region" and
 * "fixed", which is read-only, all with encryption, and with a recovery-timeout that is over at
 * once; the stream "plain" without encryption; and for every host the memory "free" without. TAP
 * lines.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "seal.h"

#define REGION 65536
#define PIECE  61440
#define TEXT   "nothing of this arrives"

static struct psk key;

/* ---- the handshake ---- */

static void the_document_suffices(void)
{
	struct psk_transcript t;
	struct seal s;
	struct conn c;

	result("a_peer_with_the_key_encrypts", seal_dial(&c, &s, &t, &key) && alive(&c));
	hang_up(&c);
}

/* A request with those capabilities; returns the reason why it is refused, or 0. */
static int refusal_of(uint32_t caps, bool keyed)
{
	struct psk_transcript t = {};
	struct conn c;
	int event;

	dial_prepare(&c);
	good_request(&t.request);
	t.request.caps = htole32(caps);
	t.request.key = keyed ? htole16(key.id) : 0;
	psk_ends(&t, &c, true);
	if (keyed)
		psk_request_tag(t.request.nonce + PSK_TAG_AT, &t, &key);
	dial_begin(&c, &t.request, sizeof(t.request));
	event = dial_end(&c);
	hang_up(&c);
	return event == RDMA_CM_EVENT_REJECTED ? c.reject_reason : 0;
}

static void requests(void)
{
	result("encryption_without_a_key",
	       refusal_of(RCHAR_CAP_ENCRYPTED, false) == RCHAR_REASON_PROTOCOL);
	shell("rchar del plain; rchar del free");
	result("a_link_without_encryption_where_all_channels_encrypt",
	       refusal_of(0, true) == RCHAR_REASON_ENCRYPTION);
	shell("rchar add plain stream listen %s keys kb && rchar add free memory listen %s size 64k",
	      peer_addr, peer_addr);
}

/* HELLO that a test changes: @spoil has the frame, and may send something else. */
static void hello_with(const char *name,
		       void (*spoil)(struct conn *c, struct frame *f, uint8_t *raw))
{
	uint8_t raw[BUF] = {};
	struct psk_transcript t;
	struct frame f;
	struct seal s;
	struct conn c;
	bool ok = seal_dial_begin(&c, &s, &t, &key);

	seal_hello(&f, &c, &t, &key);
	seal_conn(&c, &s, &t, &key, true);
	spoil(&c, &f, raw);
	ok = ok && disconnected(&c);
	result(name, ok);
	hang_up(&c);
}

static void another_public_key(struct conn *c, struct frame *f, uint8_t *raw)
{
	f->payload[offsetof(struct rchar_wire_hello_public, public) + 5] ^= 1;
	send_raw(c, raw, seal_plain(raw, f));
}
static void no_public_key(struct conn *c, struct frame *f, uint8_t *raw)
{
	f->h.len = htole32(sizeof(struct rchar_wire_hello));
	send_raw(c, raw, seal_plain(raw, f));
}
static void a_tag_in_hello(struct conn *c, struct frame *f, uint8_t *raw)
{
	int len = seal_plain(raw, f);

	raw[sizeof(f->h)] = 1;
	send_raw(c, raw, len);
}
static void hello_without_room_for_a_tag(struct conn *c, struct frame *f, uint8_t *raw)
{
	(void)raw;
	send_raw(c, f, sizeof(f->h) + le32toh(f->h.len));
}

/* A public key that makes the shared secret known to everybody, under a right MAC. */
static void a_point_of_low_order(void)
{
	struct psk_transcript t;
	uint8_t raw[BUF];
	struct frame f;
	struct seal s;
	struct conn c;
	bool ok = seal_dial_begin(&c, &s, &t, &key);

	memset(t.initiator_public, 0, sizeof(t.initiator_public));
	seal_hello(&f, &c, &t, &key);
	seal_conn(&c, &s, &t, &key, true);
	send_raw(&c, raw, seal_plain(raw, &f));
	result("a_public_key_of_low_order", ok && disconnected(&c));
	hang_up(&c);
}

/* ---- sealed frames ---- */

static long delivered(void)
{
	return shell_number("rchar -j stats guarded | grep -o 'rx_bytes\":[0-9]*' | cut -d: -f2");
}

static long bad_frames(void)
{
	return shell_number("rchar -j version | grep -o 'bad_frames\":[0-9]*' | cut -d: -f2");
}

static bool session(struct conn *c, struct seal *s, const char *name, int type)
{
	struct psk_transcript t;
	struct frame f;

	if (!seal_dial(c, s, &t, &key)) {
		printf("# reason %d\n", c->reject_reason);
		bail("an encrypted handshake");
	}
	/* Calls with bytes do not fit in the small buffers that are there at first. */
	if (type == RCHAR_TYPE_MEMORY)
		use_up_small(c);
	send_open(c, name, type, 0);
	return receive_op(c, &f, RCHAR_OP_OPENED);
}

static int sealed_data(struct conn *c, uint8_t *raw)
{
	struct frame f;

	fill(c, &f, RCHAR_OP_DATA, 1, strlen(TEXT));
	memcpy(f.payload, TEXT, strlen(TEXT));
	return c->wrap(c, raw, &f);
}

static void changed(void)
{
	size_t i, len = sizeof(struct rchar_wire_sealed_hdr) + strlen(TEXT);
	long before = delivered();
	uint8_t raw[BUF];
	bool ok = true;

	for (i = 0; i < len; i++) {
		struct seal s;
		struct conn c;

		ok = ok && session(&c, &s, "guarded", RCHAR_TYPE_STREAM);
		sealed_data(&c, raw);
		raw[i] ^= 0x10;
		send_raw(&c, raw, len);
		if (!disconnected(&c)) {
			printf("# byte %zu of a sealed frame\n", i);
			ok = false;
		}
		hang_up(&c);
		/* A peer has 64 lanes, and a link lives until its sessions are over. */
		if (i % 32 == 31)
			ok = BECOMES(system("rchar link | grep -q .")) && ok;
	}
	result("a_sealed_frame_changed_in_any_byte", ok && delivered() == before);
}

/* What @send makes of two good frames ends the connection; so many frames may arrive before. */
static void frames_with(const char *name, int may_arrive,
			void (*send)(struct conn *c, uint8_t *one, int len, uint8_t *two))
{
	long before = delivered(), after;
	uint8_t one[BUF], two[BUF];
	struct seal s;
	struct conn c;
	bool ok;
	int len;

	ok = session(&c, &s, "guarded", RCHAR_TYPE_STREAM);
	len = sealed_data(&c, one);
	sealed_data(&c, two);
	send(&c, one, len, two);
	ok = ok && disconnected(&c);
	after = delivered();
	result(name, ok && after - before == may_arrive * (long)strlen(TEXT));
	hang_up(&c);
}

static void twice(struct conn *c, uint8_t *one, int len, uint8_t *two)
{
	(void)two;
	send_raw(c, one, len);
	send_raw(c, one, len);
}
static void the_second_first(struct conn *c, uint8_t *one, int len, uint8_t *two)
{
	send_raw(c, two, len);
	send_raw(c, one, len);
}
static void cut(struct conn *c, uint8_t *one, int len, uint8_t *two)
{
	struct rchar_wire_hdr *h = (void *)one;

	(void)two;
	h->len = htole32(le32toh(h->len) - 1);
	send_raw(c, one, len - 1);
}
static void without_its_tag(struct conn *c, uint8_t *one, int len, uint8_t *two)
{
	(void)two;
	memmove(one + sizeof(struct rchar_wire_hdr), one + sizeof(struct rchar_wire_sealed_hdr),
		len - sizeof(struct rchar_wire_sealed_hdr));
	send_raw(c, one, len - SEAL_TAG_LEN);
}
static void not_sealed(struct conn *c, uint8_t *one, int len, uint8_t *two)
{
	struct frame f;

	(void)one;
	(void)len;
	fill(c, &f, RCHAR_OP_PING, 0, 0);
	send_raw(c, two, seal_plain(two, &f));
}
static void of_the_other_direction(struct conn *c, uint8_t *one, int len, uint8_t *two)
{
	struct seal_key key_of_ours = c->seal->rx;
	struct frame f;

	(void)one;
	(void)len;
	fill(c, &f, RCHAR_OP_PING, 0, 0);
	send_raw(c, two, seal_frame(&key_of_ours, two, &f));
}

/* ---- what encryption has no place for ---- */

static void rendezvous(void)
{
	long before = bad_frames();
	struct rchar_wire_rndv *r;
	struct frame f;
	struct seal s;
	struct conn c;
	bool ok;

	ok = session(&c, &s, "guarded", RCHAR_TYPE_STREAM);
	fill(&c, &f, RCHAR_OP_RNDV, 1, sizeof(*r));
	r = (void *)f.payload;
	*r = (struct rchar_wire_rndv){ .id = htole32(1),
				       .attempt = htole32(1),
				       .len = htole32(65536) };
	send_frame(&c, &f);
	/* A READ would fail, too, and break the connection; but it is not even tried. */
	ok = ok && disconnected(&c) && bad_frames() == before + 1;
	result("a_rendezvous_on_an_encrypted_link", ok);
	hang_up(&c);
}

/* ---- calls that read and write ---- */

static void send_call(struct conn *c, int call, uint64_t offset, uint64_t len, uint32_t data)
{
	struct rchar_wire_call *w;
	static uint32_t id;
	struct frame f;

	fill(c, &f, RCHAR_OP_CALL, 1, sizeof(*w) + data);
	w = (void *)f.payload;
	memset(f.payload, 'x', sizeof(*w) + data);
	*w = (struct rchar_wire_call){ .call = call,
				       .id = htole32(++id),
				       .offset = htole64(offset),
				       .operand = htole64(len) };
	send_frame(c, &f);
}

/* The status of RESULT; -1: none came, -2: of a wrong length. */
static int call_of(struct conn *c, int call, uint64_t offset, uint64_t len, uint32_t data)
{
	uint32_t status, want = sizeof(struct rchar_wire_result);
	struct frame f;

	send_call(c, call, offset, len, data);
	if (!receive_op(c, &f, RCHAR_OP_RESULT))
		return -1;
	status = le32toh(((struct rchar_wire_result *)f.payload)->status);
	if (call == RCHAR_CALL_READ && !status)
		want += len;
	return le32toh(f.h.len) == want ? (int)status : -2;
}

static void ranges(void)
{
	struct seal s;
	struct conn c;
	bool ok;

	ok = session(&c, &s, "region", RCHAR_TYPE_MEMORY);
	ok = ok && call_of(&c, RCHAR_CALL_WRITE, 0, 4096, 4096) == RCHAR_CALL_OK &&
	     call_of(&c, RCHAR_CALL_WRITE, REGION - 1, 1, 1) == RCHAR_CALL_OK &&
	     call_of(&c, RCHAR_CALL_READ, REGION - 4096, 4096, 0) == RCHAR_CALL_OK;
	result("reads_and_writes_in_the_region", ok);
	ok = call_of(&c, RCHAR_CALL_WRITE, REGION, 1, 1) == RCHAR_CALL_RANGE &&
	     call_of(&c, RCHAR_CALL_WRITE, REGION - 1, 2, 2) == RCHAR_CALL_RANGE &&
	     call_of(&c, RCHAR_CALL_WRITE, -1ull, 1, 1) == RCHAR_CALL_RANGE &&
	     call_of(&c, RCHAR_CALL_WRITE, -4096ull, 4097, 4097) == RCHAR_CALL_RANGE &&
	     call_of(&c, RCHAR_CALL_READ, REGION, 1, 0) == RCHAR_CALL_RANGE &&
	     call_of(&c, RCHAR_CALL_READ, REGION - 1, 2, 0) == RCHAR_CALL_RANGE &&
	     call_of(&c, RCHAR_CALL_READ, -4096ull, 4097, 0) == RCHAR_CALL_RANGE;
	result("reads_and_writes_beyond_the_region", ok);
	hang_up(&c);
	ok = session(&c, &s, "fixed", RCHAR_TYPE_MEMORY);
	ok = ok && call_of(&c, RCHAR_CALL_WRITE, 0, 1, 1) == RCHAR_CALL_READ_ONLY &&
	     call_of(&c, RCHAR_CALL_READ, 0, 1, 0) == RCHAR_CALL_OK;
	result("a_write_to_a_region_that_is_read_only", ok);
	hang_up(&c);
}

static void breaks(const char *name, int call, uint64_t len, uint32_t data)
{
	struct seal s;
	struct conn c;
	bool ok = session(&c, &s, "region", RCHAR_TYPE_MEMORY);

	send_call(&c, call, 0, len, data);
	result(name, ok && disconnected(&c));
	hang_up(&c);
}

/*
 * Many READs, and no acknowledgment of an answer: the exporter does not keep more than it said. We
 * announce so many receive buffers that the number of frames is not what ends it.
 */
static void greedy(void)
{
	struct seal s;
	struct conn c;
	bool ok;
	int i;

	/* The link soon is no more, and the log leaves out what comes too often. */
	ok = !system("rchar monitor >/tmp/greedy & echo $! >/tmp/greedy.pid;"
		     "for i in $(seq 100); do"
		     "	rchar add probe stream listen 10.0.0.1; rchar del probe;"
		     "	[ ! -s /tmp/greedy ] || break; sleep 0.1; "
		     "done; [ -s /tmp/greedy ]");
	seal_depth = 128;
	ok = session(&c, &s, "region", RCHAR_TYPE_MEMORY) && ok;
	seal_depth = DEPTH;
	for (i = 0; i < 60 && !c.gone; i++) {
		uint32_t ack = c.ack;

		send_call(&c, RCHAR_CALL_READ, 0, FRAME - sizeof(struct rchar_wire_result), 0);
		receive(&c, &(struct frame){}, 100);
		c.ack = ack;
	}
	ok = ok && disconnected(&c);
	ok = ok && !system("for i in $(seq 100); do"
			   "	grep -q peer-limit /tmp/greedy && break; sleep 0.1; "
			   "done; grep -q peer-limit /tmp/greedy");
	system("kill $(cat /tmp/greedy.pid)");
	result("reads_whose_answers_are_not_acknowledged", ok);
	hang_up(&c);
}

static void reads_without_encryption(void)
{
	struct rchar_wire_privdata next;
	struct conn c;
	struct frame f;
	bool ok;

	link_up(&c, &next);
	send_open(&c, "free", RCHAR_TYPE_MEMORY, 0);
	ok = receive_op(&c, &f, RCHAR_OP_OPENED);
	send_call(&c, RCHAR_CALL_READ, 0, 4096, 0);
	result("a_read_by_call_without_encryption", ok && disconnected(&c));
	hang_up(&c);
}

/* No protection domain has a memory region that the peer could use. */
static void no_keys_of_memory(void)
{
	struct seal s;
	struct conn c;
	struct frame f;
	bool ok = session(&c, &s, "region", RCHAR_TYPE_MEMORY);

	ok = ok && call_of(&c, RCHAR_CALL_FENCE, 0, 0, 0) == RCHAR_CALL_OK;
	ok = ok && call_of(&c, RCHAR_CALL_READ, 0, 4096, 0) == RCHAR_CALL_OK;
	/* A MAP would have come before. */
	ok = ok && alive(&c) && receive(&c, &f, 0) != RCHAR_OP_MAP;
	result("a_peer_on_an_encrypted_link_gets_no_keys_of_memory", ok);
	hang_up(&c);
}

/* ---- as an acceptor: the module connects to us ---- */

enum answer { GOOD, NO_ENCRYPTION, NO_PUBLIC, OTHER_PUBLIC, READY_IN_THE_CLEAR };

static void answer_with(const char *name, enum answer a)
{
	struct rchar_wire_reply reply = {};
	struct rdma_conn_param param = {
		.private_data = &reply,
		.private_data_len = a == NO_PUBLIC ? sizeof(reply.privdata) : sizeof(reply),
		.responder_resources = 1,
		.initiator_depth = 1,
		.rnr_retry_count = 7,
	};
	struct rchar_wire_hello_public *h;
	uint8_t hello_mac[32], ready_mac[32], raw[BUF];
	struct psk_transcript t;
	struct frame f;
	struct seal s;
	struct conn c;
	bool ok;

	shell("rchar add calls stream connect %s:7600 key kb encrypt on", peer_addr);
	psk_await(&c, &t, "7600");
	t.reply.key = htole16(key.id);
	t.reply.caps = a == NO_ENCRYPTION ? 0 : htole32(RCHAR_CAP_ENCRYPTED);
	/* Also without encryption: the capability alone decides. */
	seal_begin(&s, t.acceptor_public);
	psk_reply_tag(t.reply.nonce + PSK_TAG_AT, &t, &key);
	reply.privdata = t.reply;
	memcpy(reply.public, t.acceptor_public, sizeof(reply.public));
	if (a == OTHER_PUBLIC)
		reply.public[7] ^= 1;
	if (rdma_accept(c.id, &param))
		bail("accepting a connection");
	if (a != GOOD && a != READY_IN_THE_CLEAR) {
		/* Not even a HELLO for such a reply. */
		result(name, !receive_op(&c, &f, RCHAR_OP_HELLO) && disconnected(&c));
		goto out;
	}
	/* HELLO is not sealed: its tag stands before the payload. */
	ok = receive_op(&c, &f, RCHAR_OP_HELLO);
	h = (void *)(f.payload + SEAL_TAG_LEN);
	memcpy(t.initiator_public, h->public, sizeof(t.initiator_public));
	psk_greetings(hello_mac, ready_mac, &t, &key);
	ok = ok && !memcmp(h->hello.mac, hello_mac, sizeof(hello_mac));
	seal_conn(&c, &s, &t, &key, false);
	fill_ready(&c, &f, ready_mac);
	if (a == READY_IN_THE_CLEAR)
		send_raw(&c, raw, seal_plain(raw, &f));
	else
		send_frame(&c, &f);
	result(name, ok && (a == GOOD ? alive(&c) : disconnected(&c)));
out:
	shell("rchar del calls");
	hang_up(&c);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: badseal ADDR FILE\n");
		return 2;
	}
	peer_addr = argv[1];
	psk_read(&key, argv[2]);
	the_document_suffices();
	requests();
	hello_with("a_hello_with_another_public_key", another_public_key);
	hello_with("a_hello_without_a_public_key", no_public_key);
	hello_with("a_hello_with_a_tag", a_tag_in_hello);
	hello_with("a_hello_without_room_for_a_tag", hello_without_room_for_a_tag);
	a_point_of_low_order();
	changed();
	frames_with("a_sealed_frame_sent_twice", 1, twice);
	frames_with("sealed_frames_in_another_order", 0, the_second_first);
	frames_with("a_sealed_frame_that_is_cut", 0, cut);
	frames_with("a_sealed_frame_without_its_tag", 0, without_its_tag);
	frames_with("a_frame_that_is_not_sealed", 0, not_sealed);
	frames_with("a_frame_of_the_other_direction", 0, of_the_other_direction);
	rendezvous();
	ranges();
	breaks("a_read_of_nothing", RCHAR_CALL_READ, 0, 0);
	breaks("a_read_of_more_than_a_piece", RCHAR_CALL_READ, PIECE + 1, 0);
	breaks("a_read_of_more_than_the_reader_has_room_for", RCHAR_CALL_READ, FRAME, 0);
	breaks("a_read_with_bytes", RCHAR_CALL_READ, 16, 16);
	breaks("a_write_of_nothing", RCHAR_CALL_WRITE, 0, 0);
	breaks("a_write_with_too_few_bytes", RCHAR_CALL_WRITE, 17, 16);
	breaks("a_write_with_too_many_bytes", RCHAR_CALL_WRITE, 15, 16);
	breaks("a_fence_with_bytes", RCHAR_CALL_FENCE, 0, 16);
	greedy();
	reads_without_encryption();
	no_keys_of_memory();
	answer_with("an_acceptor_that_encrypts_is_believed", GOOD);
	answer_with("a_reply_that_does_not_agree_to_encrypt", NO_ENCRYPTION);
	answer_with("a_reply_without_a_public_key", NO_PUBLIC);
	answer_with("a_reply_with_another_public_key", OTHER_PUBLIC);
	answer_with("a_ready_that_is_not_sealed", READY_IN_THE_CLEAR);
	return test_program.failed != 0;
}
