// SPDX-License-Identifier: GPL-2.0
/*
 * badpsk ADDR FILE OTHER-FILE - peers that do not have the key, or do not keep to the handshake.
 *
 * Channels "guarded" (keys of both files) and "free" (no key) listen at ADDR. FILE and OTHER-FILE
 * hold secrets in base64. TAP lines.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "psk.h"

static struct psk key, other_key;

/* ---- as an initiator ---- */

/* What a test changes, before and after the tag is computed. */
struct spoiler {
	void (*before)(struct psk_transcript *t);
	int flip; /* byte of the request to change afterwards; -1: none */
	const struct psk *key;
};

static void begin(struct conn *c, struct psk_transcript *t, const struct rchar_wire_privdata *req,
		  const struct spoiler *s)
{
	struct psk_transcript sent;

	dial_prepare(c);
	memset(t, 0, sizeof(*t));
	t->request = *req;
	t->request.key = s->key ? htole16(s->key->id) : 0;
	arc4random_buf(t->request.nonce, PSK_TAG_AT);
	psk_ends(t, c, true);
	sent = *t;
	if (s->before)
		s->before(&sent);
	if (s->key)
		psk_request_tag(sent.request.nonce + PSK_TAG_AT, &sent, s->key);
	if (s->flip >= 0)
		((uint8_t *)&sent.request)[s->flip] ^= 1;
	t->request = sent.request;
	dial_begin(c, &t->request, sizeof(t->request));
}

/* Returns the event that ends the attempt; completes the transcript. */
static int finish(struct conn *c, struct psk_transcript *t)
{
	int event = dial_end(c);

	t->reply = c->reply;
	t->acceptor_qpn = htole32(c->peer_qpn);
	return event;
}

static bool reply_is_signed(const struct psk_transcript *t, const struct psk *k)
{
	uint8_t tag[PSK_TAG_LEN];

	psk_reply_tag(tag, t, k);
	return le16toh(t->reply.key) == k->id &&
	       !memcmp(t->reply.nonce + PSK_TAG_AT, tag, sizeof(tag));
}

/* Sends HELLO; returns whether any READY came, in *ready. */
static bool greet(struct conn *c, const uint8_t *mac, struct rchar_wire_hello *ready)
{
	struct rchar_wire_hello *h;
	struct frame f;

	fill(c, &f, RCHAR_OP_HELLO, 0, sizeof(*h));
	h = (void *)f.payload;
	memcpy(h->nonce, c->reply.nonce, sizeof(h->nonce));
	memcpy(h->mac, mac, sizeof(h->mac));
	send_frame(c, &f);
	if (!receive_op(c, &f, RCHAR_OP_READY))
		return false;
	*ready = *h;
	return true;
}

static bool keyed_link(struct conn *c, struct psk_transcript *t,
		       const struct rchar_wire_privdata *req, const struct psk *k)
{
	struct spoiler s = { .flip = -1, .key = k };
	uint8_t hello_mac[32], ready_mac[32];
	struct rchar_wire_hello ready;

	begin(c, t, req, &s);
	if (finish(c, t) != RDMA_CM_EVENT_ESTABLISHED || !reply_is_signed(t, k))
		return false;
	psk_greetings(hello_mac, ready_mac, t, k);
	return greet(c, hello_mac, &ready) && !memcmp(ready.mac, ready_mac, sizeof(ready.mac)) &&
	       !memcmp(ready.nonce, t->request.nonce, sizeof(ready.nonce));
}

static bool refused(const struct spoiler *s, int reason)
{
	struct rchar_wire_privdata req;
	struct psk_transcript t;
	struct conn c;
	bool ok;

	good_request(&req);
	begin(&c, &t, &req, s);
	ok = finish(&c, &t) == RDMA_CM_EVENT_REJECTED && c.reject_reason == reason;
	hang_up(&c);
	return ok;
}

static void the_document_suffices(void)
{
	struct rchar_wire_privdata req;
	struct psk_transcript t;
	struct conn c;

	good_request(&req);
	result("a_peer_with_the_key_gets_in", keyed_link(&c, &t, &req, &key) && alive(&c));
	hang_up(&c);
}

static void for_another_host(struct psk_transcript *t)
{
	t->acceptor[15] ^= 1;
}
static void from_another_host(struct psk_transcript *t)
{
	t->initiator[15] ^= 1;
}
static void of_another_qp(struct psk_transcript *t)
{
	t->initiator_qpn ^= htole32(1);
}

static void requests(void)
{
	struct psk unknown = { .id = key.id ^ 0x5555 }, wrong = { .id = key.id };
	struct spoiler s = { .flip = -1, .key = &unknown };
	bool ok = true;
	size_t i;

	result("a_request_with_an_unknown_key", refused(&s, RCHAR_REASON_NOT_AUTHORISED));
	s.key = &wrong;
	result("a_request_with_another_secret", refused(&s, RCHAR_REASON_NOT_AUTHORISED));
	s.key = &key;
	s.before = for_another_host;
	result("a_request_that_was_meant_for_another_host",
	       refused(&s, RCHAR_REASON_NOT_AUTHORISED));
	s.before = from_another_host;
	result("a_request_of_another_host", refused(&s, RCHAR_REASON_NOT_AUTHORISED));
	s.before = of_another_qp;
	result("a_request_for_another_queue_pair", refused(&s, RCHAR_REASON_NOT_AUTHORISED));
	s.before = NULL;
	/* Capabilities, version, tag and all; what makes it malformed has its own answer. */
	for (i = 0; i < sizeof(struct rchar_wire_privdata); i++) {
		int reason = RCHAR_REASON_NOT_AUTHORISED;

		if (i < offsetof(struct rchar_wire_privdata, major) ||
		    i == offsetof(struct rchar_wire_privdata, lane) ||
		    i == offsetof(struct rchar_wire_privdata, lanes) ||
		    i == offsetof(struct rchar_wire_privdata, frame_size) + 3)
			reason = RCHAR_REASON_PROTOCOL;
		if (i == offsetof(struct rchar_wire_privdata, major))
			reason = RCHAR_REASON_VERSION;
		s.flip = i;
		if (!refused(&s, reason)) {
			printf("# byte %zu of the request\n", i);
			ok = false;
		}
	}
	result("a_request_changed_in_any_byte", ok);
}

/* The bytes of a request that was accepted, from another queue pair. */
static void recorded(void)
{
	struct rchar_wire_privdata req;
	struct conn one, two;
	struct psk_transcript t;
	bool ok;

	good_request(&req);
	ok = keyed_link(&one, &t, &req, &key);
	dial_prepare(&two);
	dial_begin(&two, &t.request, sizeof(t.request));
	ok = ok && dial_end(&two) == RDMA_CM_EVENT_REJECTED &&
	     two.reject_reason == RCHAR_REASON_NOT_AUTHORISED && alive(&one);
	result("a_recorded_request", ok);
	hang_up(&two);
	hang_up(&one);
}

/* Returns the event that ends the attempt. */
static int play_again(struct conn *c, const struct psk_transcript *t)
{
	dial_prepare(c);
	dial_as(c, &t->request, sizeof(t->request), le32toh(t->initiator_qpn));
	return dial_end(c);
}

/*
 * The bytes of a request that was accepted, in the name of the queue pair that sent it. While the
 * connection lives, and some time after it, the CM refuses them as stale (cm_match_req() in
 * drivers/infiniband/core/cm.c). When the link is forgotten, too, they are as good as new, and the
 * recorded HELLO is not.
 */
static void recorded_with_its_qp(void)
{
	long long end = now_ms() + LONG_MS;
	uint8_t hello_mac[32], ready_mac[32];
	struct rchar_wire_privdata req;
	struct rchar_wire_hello ready;
	struct conn one, two;
	struct psk_transcript t;
	int event;
	bool ok;

	good_request(&req);
	ok = keyed_link(&one, &t, &req, &key);
	psk_greetings(hello_mac, ready_mac, &t, &key);
	ok = ok && play_again(&two, &t) == RDMA_CM_EVENT_REJECTED;
	result("a_recorded_request_in_the_name_of_its_queue_pair", ok);
	hang_up(&two);
	hang_up(&one);
	while ((event = play_again(&two, &t)) == RDMA_CM_EVENT_REJECTED && now_ms() < end)
		hang_up(&two);
	ok = event == RDMA_CM_EVENT_ESTABLISHED && !greet(&two, hello_mac, &ready) &&
	     disconnected(&two);
	result("a_recorded_handshake", ok);
	hang_up(&two);
}

/* Copies of one request cannot take all places of the peer: one of them is under way at a time. */
static void copies(void)
{
	struct spoiler s = { .flip = -1, .key = &key };
	struct rchar_wire_privdata req;
	struct psk_transcript t, t2;
	struct conn one, two;
	bool ok;

	good_request(&req);
	begin(&one, &t, &req, &s);
	ok = finish(&one, &t) == RDMA_CM_EVENT_ESTABLISHED;
	begin(&two, &t2, &req, &s);
	ok = ok && finish(&two, &t2) == RDMA_CM_EVENT_REJECTED &&
	     two.reject_reason == RCHAR_REASON_BUSY;
	hang_up(&two);
	/* A later attempt is no copy. */
	req.attempt = htole32(2);
	ok = ok && keyed_link(&two, &t2, &req, &key) && alive(&two);
	result("a_copy_of_a_request_that_is_under_way", ok);
	hang_up(&two);
	hang_up(&one);
}

/* HELLO with a MAC that is not that of this handshake. */
static void hello_with(const char *name, void (*make)(uint8_t *mac, const struct psk_transcript *t))
{
	struct spoiler s = { .flip = -1, .key = &key };
	struct rchar_wire_privdata req;
	struct rchar_wire_hello ready;
	struct psk_transcript t;
	uint8_t mac[32];
	struct conn c;
	bool ok;

	good_request(&req);
	begin(&c, &t, &req, &s);
	ok = finish(&c, &t) == RDMA_CM_EVENT_ESTABLISHED && reply_is_signed(&t, &key);
	make(mac, &t);
	ok = ok && !greet(&c, mac, &ready) && disconnected(&c);
	result(name, ok);
	hang_up(&c);
}

static void no_mac(uint8_t *mac, const struct psk_transcript *t)
{
	(void)t;
	memset(mac, 0, 32);
}
static void changed_mac(uint8_t *mac, const struct psk_transcript *t)
{
	uint8_t ready_mac[32];

	psk_greetings(mac, ready_mac, t, &key);
	mac[31] ^= 1;
}
static void mac_of_ready(uint8_t *mac, const struct psk_transcript *t)
{
	uint8_t hello_mac[32];

	psk_greetings(hello_mac, mac, t, &key);
}
static uint8_t old_mac[32];
static void mac_of_before(uint8_t *mac, const struct psk_transcript *t)
{
	(void)t;
	memcpy(mac, old_mac, 32);
}
static void remember_mac(void)
{
	struct rchar_wire_privdata req;
	uint8_t ready_mac[32];
	struct psk_transcript t;
	struct conn c;

	good_request(&req);
	if (!keyed_link(&c, &t, &req, &key))
		bail("a good handshake failed");
	psk_greetings(old_mac, ready_mac, &t, &key);
	hang_up(&c);
}

/* Others name a link that is up: without a key, or with a key of their own. */
static void others_links(void)
{
	struct spoiler none = { .flip = -1 };
	struct rchar_wire_privdata req, lane;
	struct conn one, two;
	struct psk_transcript t, t2;
	bool ok;

	good_request(&req);
	req.lanes = 2;
	ok = keyed_link(&one, &t, &req, &key);
	lane = req;
	lane.lane = 1;
	lane.epoch = t.reply.epoch;
	begin(&two, &t2, &lane, &none);
	ok = ok && finish(&two, &t2) == RDMA_CM_EVENT_REJECTED && alive(&one);
	result("a_lane_without_a_key_on_a_link_of_others", ok);
	hang_up(&two);
	ok = !keyed_link(&two, &t2, &lane, &other_key) && alive(&one);
	result("a_lane_with_another_key_on_a_link_of_others", ok);
	hang_up(&two);
	/* The next attempt of that link, by a host that has only another key: a link of its own. */
	lane = req;
	lane.attempt = htole32(2);
	lane.epoch = t.reply.epoch;
	ok = keyed_link(&two, &t2, &lane, &other_key) && t2.reply.epoch != t.reply.epoch &&
	     alive(&one);
	result("an_attempt_with_another_key_on_a_link_of_others", ok);
	hang_up(&two);
	hang_up(&one);
}

static int refusal(struct conn *c, const char *name, int type)
{
	struct rchar_wire_status *s;
	struct frame f;

	send_open(c, name, type, type == RCHAR_TYPE_MESSAGE ? 4096 : 0);
	if (!receive_op(c, &f, RCHAR_OP_REFUSED))
		return -1;
	s = (void *)f.payload;
	return le32toh(s->reason);
}

/* Name, type and right: a stranger gets one answer for all of them. */
static void names(void)
{
	struct rchar_wire_privdata next;
	struct conn c;
	bool ok;

	link_up(&c, &next);
	ok = refusal(&c, "guarded", RCHAR_TYPE_STREAM) == RCHAR_REASON_NOT_AUTHORISED;
	ok = ok && refusal(&c, "guarded", RCHAR_TYPE_MESSAGE) == RCHAR_REASON_NOT_AUTHORISED;
	ok = ok && refusal(&c, "nosuch", RCHAR_TYPE_STREAM) == RCHAR_REASON_NOT_AUTHORISED;
	result("an_open_without_a_key_learns_no_name", ok);
	hang_up(&c);
}

/* ---- as an acceptor: the module connects to us ---- */

struct answer {
	bool with_key; /* the reply names the key, and is signed */
	int flip;      /* byte of the reply to change afterwards; -1: none */
	enum { GOOD, NONE, CHANGED, HELLO } ready; /* the MAC of READY */
};

/* Accepts; true when the module has sent a HELLO with the right MAC. */
static bool accept_with(struct conn *c, struct psk_transcript *t, const struct answer *a,
			uint8_t *ready_mac)
{
	struct rchar_wire_hello *h;
	uint8_t hello_mac[32];
	struct frame f;
	struct rdma_conn_param param = {
		.private_data = &t->reply,
		.private_data_len = sizeof(t->reply),
		.responder_resources = 1,
		.initiator_depth = 1,
		.rnr_retry_count = 7,
	};

	psk_await(c, t, "7600");
	if (a->with_key) {
		t->reply.key = htole16(key.id);
		psk_reply_tag(t->reply.nonce + PSK_TAG_AT, t, &key);
	}
	if (a->flip >= 0)
		((uint8_t *)&t->reply)[a->flip] ^= 1;
	psk_greetings(hello_mac, ready_mac, t, &key);
	if (a->ready == NONE)
		memset(ready_mac, 0, 32);
	else if (a->ready == CHANGED)
		ready_mac[0] ^= 1;
	else if (a->ready == HELLO)
		memcpy(ready_mac, hello_mac, 32);
	if (rdma_accept(c->id, &param))
		bail("accepting a connection");
	h = (void *)f.payload;
	return receive_op(c, &f, RCHAR_OP_HELLO) && !memcmp(h->mac, hello_mac, sizeof(h->mac));
}

static void answer_with(const char *name, const struct answer *a, bool good)
{
	struct psk_transcript t;
	uint8_t ready_mac[32];
	struct frame f;
	struct conn c;
	bool greeted, ok;

	shell("rchar add calls stream connect %s:7600 key kb", peer_addr);
	greeted = accept_with(&c, &t, a, ready_mac);
	if (greeted)
		send_frame(&c, fill_ready(&c, &f, ready_mac));
	if (good)
		ok = greeted && alive(&c);
	else if (a->with_key && a->flip < 0)
		/* Only READY is wrong. Without an answer to PING it was not believed. */
		ok = greeted && !alive(&c) && disconnected(&c);
	else
		ok = !greeted && disconnected(&c); /* not even a HELLO for such a reply */
	result(name, ok);
	shell("rchar del calls");
	hang_up(&c);
}

static void answers(void)
{
	int at_caps = offsetof(struct rchar_wire_privdata, caps);
	int at_tag = offsetof(struct rchar_wire_privdata, nonce) + PSK_TAG_AT;

	answer_with("an_acceptor_with_the_key_is_believed", &(struct answer){ true, -1, GOOD },
		    true);
	answer_with("a_reply_without_a_key", &(struct answer){ false, -1, NONE }, false);
	answer_with("a_reply_with_other_capabilities", &(struct answer){ true, at_caps, GOOD },
		    false);
	answer_with("a_reply_with_a_changed_tag", &(struct answer){ true, at_tag, GOOD }, false);
	answer_with("a_ready_without_a_mac", &(struct answer){ true, -1, NONE }, false);
	answer_with("a_ready_with_a_changed_mac", &(struct answer){ true, -1, CHANGED }, false);
	answer_with("a_ready_that_repeats_hello", &(struct answer){ true, -1, HELLO }, false);
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: badpsk ADDR FILE OTHER-FILE\n");
		return 2;
	}
	peer_addr = argv[1];
	psk_read(&key, argv[2]);
	psk_read(&other_key, argv[3]);
	the_document_suffices();
	requests();
	recorded();
	recorded_with_its_qp();
	copies();
	hello_with("a_hello_without_a_mac", no_mac);
	hello_with("a_hello_with_a_changed_mac", changed_mac);
	hello_with("a_hello_with_the_mac_of_ready", mac_of_ready);
	remember_mac();
	hello_with("a_hello_with_the_mac_of_an_earlier_one", mac_of_before);
	others_links();
	names();
	answers();
	return test_program.failed != 0;
}
