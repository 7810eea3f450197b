// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of the pure logic, compiled with the very source files of the module:
 * all of proto/, backoff.c and seq.h. TAP output.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <asm/byteorder.h>
#include "base/backoff.h"
#include "proto/auth.h"
#include "proto/seal.h"
#include "proto/privdata.h"
#include "proto/credit.h"
#include "proto/frame.h"
#include "base/seq.h"
#include "proto/state.h"
#include "proto/window.h"
#include <linux/kernel.h>
#include <linux/scatterlist.h>
#include "../lib/test.h"
#include "vectors.h"

/* ---- frames ---- */

TEST(header_layout_is_as_documented)
{
	struct rchar_hdr h = { 0x01,	   0x02,       0x0403,	   0x08070605,
			       0x0c0b0a09, 0x100f0e0d, 0x14131211, 0x18171615 };
	struct rchar_wire_hdr w;
	unsigned char *p = (void *)&w;
	int i;

	CHECK(sizeof(w) == 24);
	rchar_hdr_encode(&w, &h);
	for (i = 0; i < 24; i++)
		CHECK(p[i] == i + 1);
}

TEST(header_survives_encode_and_decode)
{
	struct rchar_wire_hdr w;
	struct rchar_hdr a, b;
	int i;

	for (i = 0; i < 10000; i++) {
		a = (struct rchar_hdr){ rand(), rand(), rand(), rand(),
					rand(), rand(), rand(), rand() };
		rchar_hdr_encode(&w, &a);
		rchar_hdr_decode(&b, &w);
		CHECK(a.op == b.op && a.flags == b.flags && a.credits == b.credits &&
		      a.len == b.len && a.session == b.session && a.seq == b.seq &&
		      a.ack == b.ack && a.window == b.window);
	}
}

static struct rchar_hdr data_header(void)
{
	return (struct rchar_hdr){ .op = RCHAR_OP_DATA, .len = 100, .session = 1, .seq = 5 };
}

TEST(good_headers_are_accepted)
{
	struct rchar_hdr h = data_header();

	CHECK(rchar_hdr_check(&h, 124, 16384) == RCHAR_FRAME_OK);
	h.len = 16384;
	CHECK(rchar_hdr_check(&h, 16384 + 24, 16384) == RCHAR_FRAME_OK);
	h = (struct rchar_hdr){ .op = RCHAR_OP_PING };
	CHECK(rchar_hdr_check(&h, 24, 16384) == RCHAR_FRAME_OK);
	h = (struct rchar_hdr){ .op = RCHAR_OP_MSG, .session = 1, .len = 1, .flags = 6 };
	CHECK(rchar_hdr_check(&h, 25, 16384) == RCHAR_FRAME_OK);
	h.len = 0;
	CHECK(rchar_hdr_check(&h, 24, 16384) == RCHAR_FRAME_BAD_LENGTH);
}

TEST(every_wrong_field_has_its_error)
{
	struct rchar_hdr h = data_header();
	int op;

	CHECK(rchar_hdr_check(&h, 23, 16384) == RCHAR_FRAME_SHORT);
	CHECK(rchar_hdr_check(&h, 123, 16384) == RCHAR_FRAME_BAD_LENGTH);
	CHECK(rchar_hdr_check(&h, 125, 16384) == RCHAR_FRAME_BAD_LENGTH);
	CHECK(rchar_hdr_check(&h, 124, 99) == RCHAR_FRAME_BAD_LENGTH);
	h.len = 0;
	CHECK(rchar_hdr_check(&h, 24, 16384) == RCHAR_FRAME_BAD_LENGTH);
	h.len = 0xffffffff - 23;
	CHECK(rchar_hdr_check(&h, 0, 16384) == RCHAR_FRAME_SHORT);
	h = data_header();
	h.session = 0;
	CHECK(rchar_hdr_check(&h, 124, 16384) == RCHAR_FRAME_BAD_SESSION);
	h = data_header();
	h.flags = RCHAR_FRAME_FIRST;
	CHECK(rchar_hdr_check(&h, 124, 16384) == RCHAR_FRAME_BAD_FLAGS);
	h = (struct rchar_hdr){ .op = RCHAR_OP_PING, .session = 1 };
	CHECK(rchar_hdr_check(&h, 24, 16384) == RCHAR_FRAME_BAD_SESSION);
	h = (struct rchar_hdr){ .op = RCHAR_OP_CREDIT, .seq = 1 };
	CHECK(rchar_hdr_check(&h, 24, 16384) == RCHAR_FRAME_BAD_SEQ);
	for (op = 0; op < 256; op++) {
		bool known = (op >= RCHAR_OP_HELLO && op <= RCHAR_OP_TRIM) ||
			     (op >= RCHAR_OP_OPEN && op < RCHAR_OP_MAX);

		h = (struct rchar_hdr){ .op = op };
		CHECK((rchar_hdr_check(&h, 24, 16384) == RCHAR_FRAME_BAD_OP) == !known);
		CHECK(!known == !strcmp(rchar_op_name(op), "?"));
		CHECK(rchar_op_sequenced(op) == (known && op >= RCHAR_OP_OPEN));
	}
}

TEST(names_are_checked)
{
	static const char *const good[] = { "a", "0", "A.b_c-d",
					    "abcdefghijklmnopqrstuvwxyz01234" };
	static const char *const wrong[] = { "",
					     ".",
					     "..",
					     ".a",
					     "-a",
					     "_a",
					     "a/b",
					     "a b",
					     "a\n",
					     "\xc3\xa4",
					     "abcdefghijklmnopqrstuvwxyz012345" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++)
		CHECK(rchar_name_valid(good[i], strlen(good[i])));
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		CHECK(!rchar_name_valid(wrong[i], strlen(wrong[i])));
	CHECK(!rchar_name_valid("a\0b", 3));
}

TEST(open_payload_is_checked)
{
	struct rchar_wire_open o = { .type = 1, .name = "pipe" };

	CHECK(sizeof(o) == 40);
	CHECK(rchar_open_check(&o) == RCHAR_FRAME_OK);
	o.flags = RCHAR_OPEN_FLAGS;
	CHECK(rchar_open_check(&o) == RCHAR_FRAME_OK);
	o.flags = 4;
	CHECK(rchar_open_check(&o) == RCHAR_FRAME_BAD_PAYLOAD);
	o.flags = 0;
	o.name[6] = 'x';
	CHECK(rchar_open_check(&o) == RCHAR_FRAME_BAD_PAYLOAD);
	memset(o.name, 'a', sizeof(o.name));
	CHECK(rchar_open_check(&o) == RCHAR_FRAME_BAD_PAYLOAD);
	memset(o.name, 0, sizeof(o.name));
	CHECK(rchar_open_check(&o) == RCHAR_FRAME_BAD_PAYLOAD);
	o.name[0] = 'a';
	o.reserved[1] = 1;
	CHECK(rchar_open_check(&o) == RCHAR_FRAME_BAD_PAYLOAD);
}

TEST(max_message_fits_the_type)
{
	static const struct {
		u32 type, max_message;
		bool ok;
	} cases[] = {
		{ RCHAR_TYPE_STREAM, 0, true },
		{ RCHAR_TYPE_STREAM, 1, false },
		{ RCHAR_TYPE_MESSAGE, 0, false },
		{ RCHAR_TYPE_MESSAGE, 1, true },
		{ RCHAR_TYPE_MESSAGE, 64 << 20, true },
		{ RCHAR_TYPE_MESSAGE, (64 << 20) + 1, false },
		{ RCHAR_TYPE_MESSAGE, ~0u, false },
		{ 99, 5, true },
	};
	struct rchar_wire_opened opened = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rchar_wire_open o = { .type = cases[i].type,
					     .name = "m",
					     .max_message = cpu_to_le32(cases[i].max_message) };

		opened.max_message = o.max_message;
		CHECK((rchar_open_check(&o) == RCHAR_FRAME_OK) == cases[i].ok);
		CHECK((rchar_opened_check(&opened, cases[i].type) == RCHAR_FRAME_OK) ==
		      cases[i].ok);
	}
	opened = (struct rchar_wire_opened){ .reserved = { 0, 0, 0, 1 } };
	CHECK(rchar_opened_check(&opened, RCHAR_TYPE_STREAM) == RCHAR_FRAME_BAD_PAYLOAD);
}

TEST(a_rendezvous_is_of_64_kib_to_1_mib)
{
	const struct rchar_wire_rndv good = { .len = cpu_to_le32(1 << 20),
					      .offset = cpu_to_le32((1 << 20) - 1) };
	struct rchar_wire_rndv b = good;
	struct rchar_hdr h = data_header();

	CHECK(rchar_rndv_check(&b) == RCHAR_FRAME_OK);
	b.len = cpu_to_le32(65536);
	CHECK(rchar_rndv_check(&b) == RCHAR_FRAME_OK);
	b.len = cpu_to_le32(65535);
	CHECK(rchar_rndv_check(&b) == RCHAR_FRAME_BAD_PAYLOAD);
	b.len = cpu_to_le32((1 << 20) + 1);
	CHECK(rchar_rndv_check(&b) == RCHAR_FRAME_BAD_PAYLOAD);
	b = good;
	b.offset = cpu_to_le32(1 << 20);
	CHECK(rchar_rndv_check(&b) == RCHAR_FRAME_BAD_PAYLOAD);
	b = good;
	b.reserved = cpu_to_le32(1);
	CHECK(rchar_rndv_check(&b) == RCHAR_FRAME_BAD_PAYLOAD);
	h.flags = RCHAR_FRAME_INSTEAD;
	CHECK(rchar_hdr_check(&h, 124, 16384) == RCHAR_FRAME_OK);
	h.op = RCHAR_OP_MSG;
	CHECK(rchar_hdr_check(&h, 124, 16384) == RCHAR_FRAME_BAD_FLAGS);
}

TEST(a_region_says_what_it_is)
{
	const struct rchar_wire_region good = { .size = cpu_to_le64(4097),
						.access = RCHAR_ACCESS_RO,
						.atomics = RCHAR_ATOMICS_SW };
	struct rchar_wire_region r = good;

	CHECK(rchar_region_check(&r) == RCHAR_FRAME_OK);
	r.access = RCHAR_ACCESS_RW;
	CHECK(rchar_region_check(&r) == RCHAR_FRAME_OK);
	r.access = 0;
	CHECK(rchar_region_check(&r) == RCHAR_FRAME_BAD_PAYLOAD);
	r = good;
	r.size = 0;
	CHECK(rchar_region_check(&r) == RCHAR_FRAME_BAD_PAYLOAD);
	r = good;
	r.size = cpu_to_le64(RCHAR_REGION_SIZE_MAX + 1);
	CHECK(rchar_region_check(&r) == RCHAR_FRAME_BAD_PAYLOAD);
	r = good;
	r.atomics = RCHAR_ATOMICS_HW;
	CHECK(rchar_region_check(&r) == RCHAR_FRAME_OK);
	r = good;
	r.atomics = 3;
	CHECK(rchar_region_check(&r) == RCHAR_FRAME_BAD_PAYLOAD);
	r = good;
	r.reserved[4] = 1;
	CHECK(rchar_region_check(&r) == RCHAR_FRAME_BAD_PAYLOAD);
	r = good;
	r.by_call = RCHAR_BY_CALL_READ;
	CHECK(rchar_region_check(&r) == RCHAR_FRAME_OK);
	r.atomics = RCHAR_ATOMICS_HW;
	CHECK(rchar_region_check(&r) == RCHAR_FRAME_OK);
	r.by_call = RCHAR_BY_CALL_READ | RCHAR_BY_CALL_WRITE;
	CHECK(rchar_region_check(&r) == RCHAR_FRAME_BAD_PAYLOAD);
	r.atomics = RCHAR_ATOMICS_SW;
	CHECK(rchar_region_check(&r) == RCHAR_FRAME_OK);
	r.by_call = RCHAR_BY_CALL_WRITE;
	CHECK(rchar_region_check(&r) == RCHAR_FRAME_BAD_PAYLOAD);
	r.by_call = RCHAR_BY_CALL_FLAGS + 1;
	CHECK(rchar_region_check(&r) == RCHAR_FRAME_BAD_PAYLOAD);
}

static enum rchar_frame_error map(u32 first, u32 count, u8 shift, u32 extra, u64 size)
{
	struct rchar_wire_map m = { .first = cpu_to_le32(first),
				    .count = cpu_to_le32(count),
				    .shift = shift };

	return rchar_map_check(&m, sizeof(m) + count * 4 + extra, size);
}

TEST(keys_stay_within_the_region)
{
	const u64 gib = 1ull << 30;
	struct rchar_wire_map m = { .count = cpu_to_le32(1), .shift = 20, .reserved = { 0, 0, 1 } };

	CHECK(map(0, 1, 20, 0, 1) == RCHAR_FRAME_OK);
	CHECK(map(0, 1000, 20, 0, gib) == RCHAR_FRAME_OK);
	CHECK(map(1000, 24, 20, 0, gib) == RCHAR_FRAME_OK);
	CHECK(map(1000, 25, 20, 0, gib) == RCHAR_FRAME_BAD_PAYLOAD);
	CHECK(map(1000, 25, 20, 0, gib + 1) == RCHAR_FRAME_OK);
	CHECK(map(~0u, 1, 20, 0, gib) == RCHAR_FRAME_BAD_PAYLOAD);
	CHECK(map(0, 0, 20, 0, gib) == RCHAR_FRAME_BAD_PAYLOAD);
	CHECK(map(0, 1001, 20, 0, gib) == RCHAR_FRAME_BAD_PAYLOAD);
	CHECK(map(0, 1, 20, 1, gib) == RCHAR_FRAME_BAD_PAYLOAD);
	CHECK(map(0, 1, 11, 0, gib) == RCHAR_FRAME_BAD_PAYLOAD);
	CHECK(map(0, 1, 31, 0, gib) == RCHAR_FRAME_BAD_PAYLOAD);
	/* More chunks than keys are kept for. */
	CHECK(map(0, 1, 12, 0, 1ull << 32) == RCHAR_FRAME_OK);
	CHECK(map(0, 1, 12, 0, (1ull << 32) + 1) == RCHAR_FRAME_BAD_PAYLOAD);
	CHECK(rchar_map_check(&m, sizeof(m) + 4, gib) == RCHAR_FRAME_BAD_PAYLOAD);
}

TEST(a_window_has_room_for_its_max_message)
{
	CHECK(rchar_window_valid(0, 0) && rchar_window_valid(1 << 30, 0));
	CHECK(!rchar_window_valid((1 << 30) + 1, 0) && !rchar_window_valid(~0u, 1));
	CHECK(rchar_window_valid(1256, 1000) && !rchar_window_valid(1255, 1000));
	CHECK(!rchar_window_valid(0, 1));
}

/* ---- private data ---- */

static struct rchar_privdata good_conn(void)
{
	struct rchar_privdata c = { .link_id = 0x1122334455667788ull,
				    .epoch = 3,
				    .attempt = 4,
				    .frame_size = 16384,
				    .resume = 9,
				    .depth = 64,
				    .key = 0x1234,
				    .lanes = 1,
				    .keepalive = 250 };

	memset(c.nonce, 0xab, sizeof(c.nonce));
	return c;
}

TEST(private_data_survives_encode_and_decode)
{
	struct rchar_privdata a = good_conn(), b;
	unsigned char data[196] = { 0 }; /* padded, as InfiniBand does */

	CHECK(sizeof(struct rchar_wire_privdata) == 56);
	rchar_privdata_encode((void *)data, &a);
	memset(&b, 0, sizeof(b));
	CHECK(rchar_privdata_decode(&b, data, sizeof(data)) == RCHAR_PRIVDATA_OK);
	CHECK(a.link_id == b.link_id && a.epoch == b.epoch && a.attempt == b.attempt &&
	      a.caps == b.caps && a.frame_size == b.frame_size && a.resume == b.resume &&
	      a.depth == b.depth && a.lane == b.lane && a.lanes == b.lanes && a.key == b.key &&
	      a.keepalive == b.keepalive && !memcmp(a.nonce, b.nonce, sizeof(a.nonce)));
	/* Unaligned, and at its exact length. */
	memmove(data + 1, data, 56);
	CHECK(rchar_privdata_decode(&b, data + 1, 56) == RCHAR_PRIVDATA_OK);
}

TEST(wrong_private_data_is_refused)
{
	struct rchar_privdata a = good_conn(), b;
	struct rchar_wire_privdata w;

	rchar_privdata_encode(&w, &a);
	CHECK(rchar_privdata_decode(&b, NULL, 56) == RCHAR_PRIVDATA_SHORT);
	CHECK(rchar_privdata_decode(&b, &w, 55) == RCHAR_PRIVDATA_SHORT);
	w.magic ^= 1;
	CHECK(rchar_privdata_decode(&b, &w, 56) == RCHAR_PRIVDATA_MAGIC);
	w.magic ^= 1;
	w.major++;
	CHECK(rchar_privdata_decode(&b, &w, 56) == RCHAR_PRIVDATA_VERSION);
	w.major--;
	w.minor += 5; /* a newer minor version is fine */
	CHECK(rchar_privdata_decode(&b, &w, 56) == RCHAR_PRIVDATA_OK);
}

#define FIELD_REFUSED(field, value)                                               \
	do {                                                                      \
		struct rchar_privdata c = good_conn(), d;                         \
		struct rchar_wire_privdata w;                                     \
		c.field = (value);                                                \
		rchar_privdata_encode(&w, &c);                                    \
		CHECK(rchar_privdata_decode(&d, &w, 56) == RCHAR_PRIVDATA_FIELD); \
	} while (0)

TEST(every_wrong_field_of_private_data_is_refused)
{
	FIELD_REFUSED(link_id, 0);
	FIELD_REFUSED(frame_size, RCHAR_WIRE_FRAME_MIN - 1);
	FIELD_REFUSED(frame_size, RCHAR_WIRE_FRAME_MAX + 1);
	FIELD_REFUSED(depth, RCHAR_WIRE_DEPTH_MIN - 1);
	FIELD_REFUSED(depth, RCHAR_WIRE_DEPTH_MAX + 1);
	FIELD_REFUSED(lanes, 0);
	FIELD_REFUSED(lanes, RCHAR_WIRE_LANES_MAX + 1);
	FIELD_REFUSED(lane, 1);
}

TEST(rejects_are_recognised_by_their_magic)
{
	struct rchar_wire_reject w;
	u16 reason = 0;

	rchar_reject_encode(&w, RCHAR_REASON_BUSY, EBUSY);
	CHECK(rchar_reject_decode(&w, 148, &reason) && reason == RCHAR_REASON_BUSY);
	CHECK(!rchar_reject_decode(&w, sizeof(w) - 1, &reason));
	CHECK(!rchar_reject_decode(NULL, 148, &reason));
	w.magic = 0;
	CHECK(!rchar_reject_decode(&w, 148, &reason));
}

/* ---- authentication ---- */

static void fill_bytes(void *p, size_t len, unsigned char first)
{
	unsigned char *bytes = p;

	while (len--)
		*bytes++ = first++;
}

static bool is_hex(const void *p, size_t len, const char *hex)
{
	const unsigned char *bytes = p;
	char digits[3];

	for (; len--; hex += 2) {
		snprintf(digits, sizeof(digits), "%02x", *bytes++);
		if (memcmp(digits, hex, 2))
			return false;
	}
	return !*hex;
}

/* The handshake of the test vectors in protocol.rst, without the acceptor's public key. */
static void example(struct rchar_auth_transcript *t, struct rchar_auth_key *key, u32 caps)
{
	struct rchar_privdata request = { .link_id = 0x0807060504030201,
					  .attempt = 1,
					  .caps = caps,
					  .frame_size = 65536,
					  .depth = 32,
					  .lanes = 1 };
	struct rchar_privdata reply = request;
	unsigned char secret[RCHAR_AUTH_SECRET_LEN];

	fill_bytes(secret, sizeof(secret), 0);
	rchar_auth_derive(key, secret);
	request.key = reply.key = key->id;
	reply.epoch = 0x44332211;
	fill_bytes(request.nonce, 8, 0x20);
	fill_bytes(reply.nonce, 8, 0x30);
	memset(t, 0, sizeof(*t));
	rchar_privdata_encode(&t->request, &request);
	rchar_privdata_encode(&t->reply, &reply);
	memcpy(t->initiator + 10, "\xff\xff\x0a\x00\x00\x02", 6);
	memcpy(t->acceptor + 10, "\xff\xff\x0a\x00\x00\x01", 6);
	t->initiator_qpn = cpu_to_le32(17);
	t->acceptor_qpn = cpu_to_le32(18);
	rchar_auth_sign_request(t, key);
	rchar_auth_sign_reply(t, key);
}

/* The encrypted one: @seals has the keys of the initiator, then those of the acceptor. */
static void encrypted_example(struct rchar_auth_transcript *t, struct rchar_auth_key *key,
			      struct rchar_seal *seals)
{
	unsigned char secret[RCHAR_WIRE_PUBLIC_LEN];

	example(t, key, RCHAR_CAP_ENCRYPTED);
	fill_bytes(secret, sizeof(secret), 0x40);
	memset(seals, 0, 2 * sizeof(*seals));
	CHECK(rchar_seal_begin(&seals[0], t->initiator_public, secret));
	fill_bytes(secret, sizeof(secret), 0x60);
	CHECK(rchar_seal_begin(&seals[1], t->acceptor_public, secret));
	rchar_auth_sign_reply(t, key);
	CHECK(rchar_seal_derive(&seals[0], t, key, true));
	CHECK(rchar_seal_derive(&seals[1], t, key, false));
}

/* selftests/vectors.py computes the same in another language, and compares with protocol.rst. */
TEST(handshake_is_that_of_the_test_vectors)
{
	unsigned char hello[RCHAR_WIRE_MAC_LEN], ready[RCHAR_WIRE_MAC_LEN];
	struct rchar_auth_transcript t;
	struct rchar_auth_key key;

	example(&t, &key, 0);
	rchar_auth_greetings(hello, ready, &t, &key);
	CHECK(is_hex(key.mac, sizeof(key.mac), VECTOR_MAC_KEY));
	CHECK(is_hex(key.fingerprint, sizeof(key.fingerprint), VECTOR_FINGERPRINT));
	CHECK(is_hex(&t.request, sizeof(t.request), VECTOR_REQUEST));
	CHECK(is_hex(&t.reply, sizeof(t.reply), VECTOR_REPLY));
	CHECK(is_hex(hello, sizeof(hello), VECTOR_HELLO));
	CHECK(is_hex(ready, sizeof(ready), VECTOR_READY));
}

TEST(every_changed_bit_of_a_handshake_is_noticed)
{
	unsigned char hello[RCHAR_WIRE_MAC_LEN], ready[RCHAR_WIRE_MAC_LEN];
	unsigned char hello2[RCHAR_WIRE_MAC_LEN], ready2[RCHAR_WIRE_MAC_LEN];
	struct rchar_auth_transcript good, t;
	unsigned char *bytes = (void *)&t;
	struct rchar_auth_key key;
	size_t i, half = sizeof(t.request);

	example(&good, &key, 0);
	CHECK(rchar_auth_check_request(&good, &key) && rchar_auth_check_reply(&good, &key));
	rchar_auth_greetings(hello, ready, &good, &key);
	for (i = 0; i < 8 * sizeof(t); i++) {
		bool of_reply = i / 8 >= half && i / 8 < 2 * half;
		bool of_acceptor = i / 8 >= offsetof(struct rchar_auth_transcript, acceptor_qpn);
		bool of_hello = i / 8 >= offsetof(struct rchar_auth_transcript, initiator_public);

		t = good;
		bytes[i / 8] ^= 1 << i % 8;
		/* The reply and what is the acceptor's come after the request; then HELLO. */
		CHECK(rchar_auth_check_request(&t, &key) == (of_reply || of_acceptor));
		CHECK(rchar_auth_check_reply(&t, &key) == of_hello);
		rchar_auth_greetings(hello2, ready2, &t, &key);
		CHECK(memcmp(hello, hello2, sizeof(hello)) && memcmp(ready, ready2, sizeof(ready)));
	}
	t = good;
	key.mac[0] ^= 1;
	CHECK(!rchar_auth_check_request(&t, &key) && !rchar_auth_check_reply(&t, &key));
}

TEST(nothing_of_a_handshake_passes_for_something_else)
{
	unsigned char hello[RCHAR_WIRE_MAC_LEN], ready[RCHAR_WIRE_MAC_LEN];
	struct rchar_auth_transcript t, mirrored;
	struct rchar_auth_key key;

	example(&t, &key, 0);
	rchar_auth_greetings(hello, ready, &t, &key);
	CHECK(memcmp(hello, ready, sizeof(hello)));
	/* A request as a reply, a reply as a request, and both sent back to their sender. */
	mirrored = t;
	mirrored.reply = t.request;
	CHECK(!rchar_auth_check_reply(&mirrored, &key));
	mirrored = t;
	mirrored.request = t.reply;
	CHECK(!rchar_auth_check_request(&mirrored, &key));
	mirrored = t;
	memcpy(mirrored.initiator, t.acceptor, sizeof(t.acceptor));
	memcpy(mirrored.acceptor, t.initiator, sizeof(t.initiator));
	CHECK(!rchar_auth_check_request(&mirrored, &key));
}

/* ---- encryption ---- */

#define TEXT "attack at dawn"

static struct rchar_wire_hdr frame_of(u8 op, u32 session, u32 len)
{
	const struct rchar_hdr hdr = {
		.op = op, .credits = 1, .len = len, .session = session, .ack = 1, .window = 0x20000
	};
	struct rchar_wire_hdr wire;

	rchar_hdr_encode(&wire, &hdr);
	return wire;
}

/* A frame as it is on the wire, the payload in two pieces while it is sealed or opened. */
struct sealed {
	struct rchar_wire_sealed_hdr head;
	u8 payload[sizeof(TEXT) - 1];
	struct scatterlist sg[3];
};

static void list_pieces(struct sealed *f, u32 len)
{
	int i = 0;

	if (len) {
		sg_set_buf(&f->sg[i++], f->payload, 3);
		sg_set_buf(&f->sg[i++], f->payload + 3, len - 3);
	}
	sg_set_buf(&f->sg[i], f->head.tag, sizeof(f->head.tag));
}

static void seal_text(struct sealed *f, struct rchar_seal_key *key, const char *text, u32 len)
{
	f->head.hdr = frame_of(len ? RCHAR_OP_DATA : RCHAR_OP_PING, len ? 1 : 0, len);
	memcpy(f->payload, text, len);
	list_pieces(f, len);
	CHECK(rchar_seal_close(key, &f->head.hdr, f->sg, len));
}

TEST(encryption_is_that_of_the_test_vectors)
{
	unsigned char hello[RCHAR_WIRE_MAC_LEN], ready[RCHAR_WIRE_MAC_LEN];
	struct rchar_auth_transcript t;
	struct rchar_wire_reply reply;
	struct rchar_seal seals[2];
	struct rchar_auth_key key;
	struct sealed f;
	u32 i;

	encrypted_example(&t, &key, seals);
	rchar_auth_greetings(hello, ready, &t, &key);
	reply.privdata = t.reply;
	memcpy(reply.public, t.acceptor_public, sizeof(reply.public));
	CHECK(is_hex(t.initiator_public, 32, VECTOR_INITIATOR_PUBLIC));
	CHECK(is_hex(&t.request, sizeof(t.request), VECTOR_ENCRYPTED_REQUEST));
	CHECK(is_hex(&reply, sizeof(reply), VECTOR_ENCRYPTED_REPLY));
	CHECK(is_hex(hello, sizeof(hello), VECTOR_ENCRYPTED_HELLO));
	CHECK(is_hex(ready, sizeof(ready), VECTOR_ENCRYPTED_READY));
	CHECK(is_hex(seals[0].tx.key, 32, VECTOR_INITIATOR_KEY));
	CHECK(is_hex(seals[0].rx.key, 32, VECTOR_ACCEPTOR_KEY));
	CHECK(!memcmp(&seals[0].tx, &seals[1].rx, sizeof(seals[0].tx)));
	CHECK(!memcmp(&seals[0].rx, &seals[1].tx, sizeof(seals[0].tx)));
	seal_text(&f, &seals[0].tx, TEXT, strlen(TEXT));
	CHECK(is_hex(&f, sizeof(f.head) + strlen(TEXT), VECTOR_SEALED_DATA));
	seal_text(&f, &seals[0].tx, "", 0);
	CHECK(is_hex(&f, sizeof(f.head), VECTOR_SEALED_PING));
	/* The last frame of a key, and then the next key. */
	for (i = seals[0].tx.frames; i < RCHAR_SEAL_FRAMES; i++)
		seal_text(&f, &seals[0].tx, "", 0);
	CHECK(!seals[0].tx.frames);
	CHECK(is_hex(seals[0].tx.key, 32, VECTOR_NEXT_INITIATOR_KEY));
}

TEST(secrets_of_the_exchange_are_wiped)
{
	static const unsigned char zeros[RCHAR_WIRE_PUBLIC_LEN];
	struct rchar_auth_transcript t;
	struct rchar_seal seals[2];
	struct rchar_auth_key key;

	encrypted_example(&t, &key, seals);
	CHECK(!memcmp(seals[0].secret, zeros, sizeof(zeros)));
	CHECK(!memcmp(seals[1].secret, zeros, sizeof(zeros)));
	/* A point of low order would make the shared secret known: RFC 7748, 6.1. */
	CHECK(rchar_seal_begin(&seals[0], t.initiator_public, t.initiator_public));
	memset(t.acceptor_public, 0, sizeof(t.acceptor_public));
	CHECK(!rchar_seal_derive(&seals[0], &t, &key, true));
}

TEST(every_changed_bit_of_a_sealed_frame_is_noticed)
{
	struct rchar_auth_transcript t;
	struct rchar_seal seals[2];
	struct rchar_auth_key key;
	struct rchar_seal_key rx;
	struct sealed good, f;
	size_t i, len = strlen(TEXT);

	encrypted_example(&t, &key, seals);
	seal_text(&good, &seals[0].tx, TEXT, len);
	for (i = 0; i < 8 * (sizeof(good.head) + len); i++) {
		f = good;
		rx = seals[1].rx;
		((u8 *)&f)[i / 8] ^= 1 << i % 8;
		list_pieces(&f, len);
		CHECK(!rchar_seal_open(&rx, &f.head.hdr, f.sg, len));
	}
	/* Cut, and of another direction. */
	f = good;
	rx = seals[1].rx;
	list_pieces(&f, len - 1);
	CHECK(!rchar_seal_open(&rx, &f.head.hdr, f.sg, len - 1));
	f = good;
	rx = seals[1].tx;
	list_pieces(&f, len);
	CHECK(!rchar_seal_open(&rx, &f.head.hdr, f.sg, len));
	/* Right, then once more: a copy. Then the frame after the next. */
	f = good;
	list_pieces(&f, len);
	CHECK(rchar_seal_open(&seals[1].rx, &f.head.hdr, f.sg, len));
	CHECK(!memcmp(f.payload, TEXT, len));
	rx = seals[1].rx;
	f = good;
	list_pieces(&f, len);
	CHECK(!rchar_seal_open(&rx, &f.head.hdr, f.sg, len));
	seal_text(&f, &seals[0].tx, TEXT, len);
	seal_text(&f, &seals[0].tx, TEXT, len);
	CHECK(!rchar_seal_open(&seals[1].rx, &f.head.hdr, f.sg, len));
}

/* ---- credits ---- */

static void credits(struct rchar_credit *c, u16 tx, u16 rx)
{
	rchar_credit_init(c, tx, false, tx, rx, rx);
}

TEST(last_credit_only_carries_a_grant)
{
	struct rchar_credit c;
	bool large;

	credits(&c, 2, 8);
	CHECK(rchar_credit_may_send(&c));
	rchar_credit_send(&c, &large);
	CHECK(rchar_credits_total(&c.tx) == 1 && !rchar_credit_may_send(&c));
	rchar_credit_posted(&c, 1, false);
	CHECK(rchar_credit_may_send(&c));
	CHECK(rchar_credit_send(&c, &large) == 1 && !large);
	CHECK(!rchar_credits_total(&c.tx) && !rchar_credits_total(&c.grant));
	rchar_credit_posted(&c, 1, false);
	CHECK(!rchar_credit_may_send(&c));
}

TEST(more_credits_than_buffers_are_refused)
{
	struct rchar_credit c;
	bool large;

	credits(&c, 64, 64);
	CHECK(!rchar_credit_receive(&c, 1, false));
	CHECK(rchar_credit_receive(&c, 0, false));
	rchar_credit_send(&c, &large);
	CHECK(!rchar_credit_receive(&c, 2, false));
	CHECK(!rchar_credit_receive(&c, 65535, false));
	CHECK(rchar_credit_receive(&c, 1, false) && rchar_credits_total(&c.tx) == 64);
}

TEST(credits_keep_the_order_of_their_buffers)
{
	struct rchar_credit c;
	bool large;
	int i;

	rchar_credit_init(&c, 4, false, 128, 4, 32);
	CHECK(!rchar_credit_large(&c));
	CHECK(rchar_credit_receive(&c, 3, true));
	for (i = 0; i < 4; i++) {
		CHECK(!rchar_credit_large(&c));
		rchar_credit_send(&c, &large);
	}
	CHECK(rchar_credit_large(&c) && rchar_credits_total(&c.tx) == 3);
	CHECK(rchar_credit_receive(&c, 2, true) && rchar_credit_receive(&c, 5, false));
	CHECK(rchar_credit_large(&c) && rchar_credits_total(&c.tx) == 10);
	/* Large ones behind those small ones: the peer has not used up the first large ones. */
	CHECK(!rchar_credit_receive(&c, 1, true) && rchar_credits_total(&c.tx) == 10);
}

TEST(a_frame_grants_buffers_of_one_size)
{
	struct rchar_credit c;
	bool large;

	rchar_credit_init(&c, 8, false, 128, 8, 32);
	rchar_credit_posted(&c, 2, false);
	rchar_credit_posted(&c, 3, true);
	CHECK(rchar_credit_due(&c));
	CHECK(rchar_credit_send(&c, &large) == 2 && !large);
	CHECK(rchar_credit_send(&c, &large) == 3 && large);
	CHECK(rchar_credit_send(&c, &large) == 0);
}

/* One side of a lane with what is on its way to it. */
struct side {
	struct rchar_credit credit;
	u16 in_flight[65536];
	int head, tail;
	int to_send;
};

static bool side_step(struct side *me, struct side *peer)
{
	bool data = me->to_send > 0, due = rchar_credit_due(&me->credit), large;

	if (me->head != me->tail) {
		u16 grant = me->in_flight[me->tail++ % 65536];

		if (!rchar_credit_receive(&me->credit, grant, false))
			abort();
		rchar_credit_posted(&me->credit, 1, false);
		return true;
	}
	if ((!data && !due) || !rchar_credit_may_send(&me->credit))
		return false;
	if (peer->head - peer->tail >= peer->credit.rx_max)
		abort(); /* receiver not ready */
	peer->in_flight[peer->head++ % 65536] = rchar_credit_send(&me->credit, &large);
	me->to_send -= data;
	return true;
}

TEST(two_sides_never_deadlock_nor_overrun)
{
	static const u16 depths[] = { 4, 5, 8, 15, 16, 17, 64 };
	static struct side a, b;
	unsigned int i, round;

	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		for (round = 0; round < 200; round++) {
			int steps = 0;

			memset(&a, 0, sizeof(a));
			memset(&b, 0, sizeof(b));
			credits(&a.credit, depths[i], depths[i]);
			credits(&b.credit, depths[i], depths[i]);
			a.to_send = rand() % 3000;
			b.to_send = rand() % 2 ? rand() % 3000 : 0;
			for (;;) {
				bool first = rand() % 2;
				bool moved = side_step(first ? &a : &b, first ? &b : &a);

				if (!moved && !side_step(&a, &b) && !side_step(&b, &a))
					break;
				/* It also ends: nobody answers for ever. */
				CHECK(++steps < 100000);
			}
			CHECK(!a.to_send && !b.to_send);
		}
	}
}

static void arrives(struct rchar_credit *from, struct rchar_credit *to)
{
	bool large;

	CHECK(rchar_credit_may_send(from));
	CHECK(rchar_credit_receive(to, rchar_credit_send(from, &large), false));
	rchar_credit_posted(to, 1, false);
}

/* A frame of @from arrives at @to. Returns 1 if it leads to a CREDIT, which leads to no other. */
static int crosses(struct rchar_credit *from, struct rchar_credit *to)
{
	arrives(from, to);
	if (!rchar_credit_due(to))
		return 0;
	arrives(to, from);
	CHECK(!rchar_credit_due(from));
	return 1;
}

/* Each frame grants what the last one used, and a CREDIT in between does not lead to others. */
TEST(who_takes_turns_needs_no_frames_for_credits)
{
	static const u16 depths[] = { 8, 15, 16, 17, 32, 128 };
	unsigned int i, turn;

	for (i = 0; i < ARRAY_SIZE(depths); i++) {
		struct rchar_credit a, b;
		int extra = 0;

		credits(&a, depths[i], depths[i]);
		credits(&b, depths[i], depths[i]);
		crosses(&a, &b);
		for (turn = 0; turn < 100; turn++) {
			extra += crosses(&a, &b);
			extra += crosses(&b, &a);
		}
		CHECK(extra <= 1);
	}
}

/* ---- the rest ---- */

TEST(sequence_numbers_wrap)
{
	CHECK(rchar_seq_before(1, 2) && !rchar_seq_before(2, 1) && !rchar_seq_before(2, 2));
	CHECK(rchar_seq_before(0xffffffff, 0) && !rchar_seq_before(0, 0xffffffff));
	CHECK(rchar_seq_between(5, 5, 5) && rchar_seq_between(0xfffffff0, 3, 10));
	CHECK(!rchar_seq_between(5, 4, 10) && !rchar_seq_between(5, 11, 10));
	CHECK(!rchar_seq_between(0xfffffff0, 11, 10));
	CHECK(rchar_seq_max(0xffffffff, 0) == 0 && rchar_seq_max(7, 3) == 7);
}

TEST(windows_bound_what_is_sent)
{
	struct rchar_tx_window tx = { .edge = 1000 };
	struct rchar_rx_window rx = { .edge = 1000 };
	bool more;

	CHECK(rchar_tx_window_room(&tx, 5000) == 1000 && rchar_tx_window_room(&tx, 300) == 300);
	rchar_tx_window_send(&tx, 300);
	CHECK(rchar_tx_window_unacked(&tx) == 300 && rchar_tx_window_room(&tx, 300) == 0);
	rchar_tx_window_ack(&tx, 200);
	CHECK(rchar_tx_window_room(&tx, 300) == 200 && rchar_tx_window_room(&tx, 5000) == 700);
	/* The own window may have become smaller than what is on its way. */
	CHECK(rchar_tx_window_room(&tx, 50) == 0);
	CHECK(rchar_tx_window_grant(&tx, 200 + RCHAR_WIRE_WINDOW_MAX, &more) && more);
	CHECK(!rchar_tx_window_grant(&tx, 201 + RCHAR_WIRE_WINDOW_MAX, &more));
	CHECK(rchar_rx_window_receive(&rx, 1000) && !rchar_rx_window_receive(&rx, 1));
	CHECK(rchar_rx_window_receive(&rx, 0) && rchar_rx_window_unread(&rx) == 1000);
}

TEST(windows_never_move_back)
{
	struct rchar_tx_window tx = { .next = 10, .acked = 10, .edge = 100 };
	struct rchar_rx_window rx = { .next = 100, .read = 50, .edge = 100 };
	bool more = true;

	CHECK(rchar_tx_window_grant(&tx, 99, &more) && !more && tx.edge == 100);
	CHECK(rchar_tx_window_grant(&tx, 100, &more) && !more);
	rchar_tx_window_ack(&tx, 5);
	CHECK(tx.acked == 10);
	rchar_rx_window_advertise(&rx, 20);
	CHECK(rx.edge == 100);
	/* What shrank is not worth a frame. */
	CHECK(!rchar_rx_window_due(&rx, 20) && !rchar_rx_window_due(&rx, 64) &&
	      rchar_rx_window_due(&rx, 67));
	rchar_rx_window_advertise(&rx, 67);
	CHECK(rx.edge == 117 && !rchar_rx_window_due(&rx, 67));
}

TEST(windows_grow_with_what_a_path_delivers)
{
	struct rchar_rx_window rx = { .read = -500u };
	struct rchar_rx_tune tune = { 0 };
	const u32 rtt = 1000000;
	u64 now = 1000ull * rtt;

	/* Without a round trip, and in the first one, nothing is known. */
	CHECK(!rchar_rx_window_tune(&rx, &tune, now, 0));
	tune = (struct rchar_rx_tune){ .since = now, .read = rx.read };
	rx.read += 1000;
	CHECK(!rchar_rx_window_tune(&rx, &tune, now + rtt - 1, rtt));
	CHECK(rchar_rx_window_tune(&rx, &tune, now + rtt, rtt) == 2000);
	/* The rate counts, not the bytes. */
	rx.read += 1000;
	CHECK(rchar_rx_window_tune(&rx, &tune, now + 11 * rtt, rtt) == 200);
	/* A burst after a pause is no rate. */
	rx.read += 1000;
	CHECK(rchar_rx_window_tune(&rx, &tune, now + 100011ull * rtt, rtt) == 0);
	/* The largest numbers. */
	rx.read += RCHAR_WIRE_WINDOW_MAX;
	CHECK(rchar_rx_window_tune(&rx, &tune, now + 101011ull * rtt, 1000 * rtt) ==
	      RCHAR_WIRE_WINDOW_MAX);
}

TEST(windows_wrap)
{
	struct rchar_tx_window tx = { .next = -10u, .acked = -20u, .edge = 30 };
	struct rchar_rx_window rx = { .next = -10u, .read = -20u, .edge = 30 };
	bool more;

	CHECK(rchar_tx_window_room(&tx, 100) == 40 && rchar_tx_window_unacked(&tx) == 10);
	rchar_tx_window_send(&tx, 40);
	rchar_tx_window_ack(&tx, 25);
	CHECK(tx.acked == 25 && rchar_tx_window_room(&tx, 100) == 0);
	CHECK(rchar_tx_window_grant(&tx, 31, &more) && more);
	CHECK(rchar_rx_window_receive(&rx, 40) && !rchar_rx_window_receive(&rx, 1));
	rx.read += 50;
	CHECK(rx.read == 30 && !rchar_rx_window_unread(&rx) && rchar_rx_window_due(&rx, 4));
}

TEST(backoff_doubles_to_its_limit)
{
	u32 n, r;

	for (n = 1; n < 40; n++) {
		u32 full = rchar_backoff_ms(n, 0);

		CHECK(full == (n > 6 ? 5000 : 100u << (n - 1)));
		for (r = 0; r < 1000; r += 7) {
			u32 ms = rchar_backoff_ms(n, r * 2654435761u);

			CHECK(ms <= full && ms >= full - full / 4);
		}
	}
}

TEST(states_move_only_as_documented)
{
	int from, to, n = 0;

	for (from = RCHAR_LANE_INIT; from < RCHAR_LANE_CLOSING; from++)
		CHECK(rchar_lane_move_legal(from, RCHAR_LANE_CLOSING));
	for (from = 0; from <= RCHAR_LANE_DEAD + 3; from++)
		for (to = 0; to <= RCHAR_LANE_DEAD + 3; to++)
			n += rchar_lane_move_legal(from, to);
	CHECK(n == 15);
	for (to = 0; to < 40; to++) {
		CHECK(!rchar_lane_move_legal(RCHAR_LANE_DEAD, to));
		CHECK(!rchar_link_move_legal(RCHAR_LINK_DYING, to));
		CHECK(!rchar_session_move_legal(RCHAR_SESSION_DEAD, to));
	}
	for (from = RCHAR_SESSION_ACCEPTING; from < RCHAR_SESSION_DEAD; from++)
		CHECK(rchar_session_move_legal(from, RCHAR_SESSION_DEAD));
	CHECK(!rchar_link_move_legal(RCHAR_LINK_DOWN, RCHAR_LINK_UP));
	CHECK(!rchar_session_move_legal(RCHAR_SESSION_CLOSING, RCHAR_SESSION_OPEN));
}

TEST(every_state_and_reason_has_a_name)
{
	int i;

	for (i = RCHAR_LANE_INIT; i <= RCHAR_LANE_DEAD; i++)
		CHECK(strcmp(rchar_lane_state_name(i), "?"));
	for (i = RCHAR_LINK_DOWN; i <= RCHAR_LINK_DYING; i++)
		CHECK(strcmp(rchar_link_state_name(i), "?"));
	for (i = RCHAR_SESSION_ACCEPTING; i <= RCHAR_SESSION_DEAD; i++)
		CHECK(strcmp(rchar_session_state_name(i), "?"));
	for (i = 0; i < __RCHAR_REASON_MAX; i++) {
		CHECK(rchar_reason_name(i) && strcmp(rchar_reason_name(i), "?"));
		CHECK(!i == !rchar_reason_errno(i) && rchar_reason_errno(i) <= 0);
	}
	CHECK(!strcmp(rchar_reason_name(__RCHAR_REASON_MAX), "?"));
	CHECK(rchar_reason_errno(0x7fffffff) == -ECONNRESET);
	for (i = 0; i < __RCHAR_FRAME_ERROR_MAX; i++)
		CHECK(rchar_frame_error_name(i));
}

int main(void)
{
	const struct test *t;
	int n = 0;

	for (t = test_program.tests; t; t = t->next)
		n++;
	printf("TAP version 13\n1..%d\n", n);
	for (t = test_program.tests; t; t = t->next)
		test_result(test_run(t), t->name, "%s", "");
	return test_program.failed != 0;
}
