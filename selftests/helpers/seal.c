// SPDX-License-Identifier: GPL-2.0
#include "seal.h"
#include <nettle/chacha-poly1305.h>
#include <nettle/curve25519.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_OF_A_KEY 65536

int seal_depth = DEPTH;

static void begin(struct chacha_poly1305_ctx *ctx, struct seal_key *k, const void *header)
{
	uint8_t nonce[CHACHA_POLY1305_NONCE_SIZE] = {};

	for (int i = 0; i < 8; i++)
		nonce[4 + i] = k->frames >> 8 * i;
	chacha_poly1305_set_key(ctx, k->key);
	chacha_poly1305_set_nonce(ctx, nonce);
	chacha_poly1305_update(ctx, sizeof(struct rchar_wire_hdr), header);
	if (++k->frames == FRAMES_OF_A_KEY) {
		psk_hash(k->key, k->key, "rchar1 next", NULL, 0, NULL, 0);
		k->frames = 0;
	}
}

int seal_plain(uint8_t *out, const struct frame *f)
{
	int len = le32toh(f->h.len);

	memcpy(out, &f->h, sizeof(f->h));
	memset(out + sizeof(f->h), 0, SEAL_TAG_LEN);
	memcpy(out + sizeof(f->h) + SEAL_TAG_LEN, f->payload, len);
	return sizeof(f->h) + SEAL_TAG_LEN + len;
}

int seal_bytes(struct seal_key *k, uint8_t *out, const struct frame *f, int len)
{
	struct chacha_poly1305_ctx ctx;

	begin(&ctx, k, &f->h);
	memcpy(out, &f->h, sizeof(f->h));
	chacha_poly1305_encrypt(&ctx, len, out + sizeof(f->h) + SEAL_TAG_LEN, f->payload);
	chacha_poly1305_digest(&ctx, SEAL_TAG_LEN, out + sizeof(f->h));
	return sizeof(f->h) + SEAL_TAG_LEN + len;
}

int seal_frame(struct seal_key *k, uint8_t *out, const struct frame *f)
{
	return seal_bytes(k, out, f, le32toh(f->h.len));
}

static int wrap(struct conn *c, uint8_t *out, const struct frame *f)
{
	return f->h.op == RCHAR_OP_HELLO ? seal_plain(out, f) : seal_frame(&c->seal->tx, out, f);
}

bool seal_open(struct seal_key *k, struct frame *f, const uint8_t *in, int len)
{
	struct chacha_poly1305_ctx ctx;
	uint8_t digest[SEAL_TAG_LEN];

	len -= sizeof(f->h) + SEAL_TAG_LEN;
	if (len < 0)
		return false;
	memcpy(&f->h, in, sizeof(f->h));
	begin(&ctx, k, &f->h);
	chacha_poly1305_decrypt(&ctx, len, f->payload, in + sizeof(f->h) + SEAL_TAG_LEN);
	chacha_poly1305_digest(&ctx, SEAL_TAG_LEN, digest);
	return !memcmp(digest, in + sizeof(f->h), SEAL_TAG_LEN);
}

static bool unwrap(struct conn *c, struct frame *f, const uint8_t *in, int len)
{
	return seal_open(&c->seal->rx, f, in, len);
}

void seal_begin(struct seal *s, uint8_t *public)
{
	memset(s, 0, sizeof(*s));
	arc4random_buf(s->secret, sizeof(s->secret));
	curve25519_mul_g(public, s->secret);
}

void seal_conn(struct conn *c, struct seal *s, const struct psk_transcript *t, const struct psk *k,
	       bool initiator)
{
	uint8_t shared[32], root[32];

	curve25519_mul(shared, s->secret, initiator ? t->acceptor_public : t->initiator_public);
	psk_hash(root, k->mac, "rchar1 secrets", t, sizeof(*t), shared, sizeof(shared));
	psk_hash((initiator ? &s->tx : &s->rx)->key, root, "rchar1 initiator", NULL, 0, NULL, 0);
	psk_hash((initiator ? &s->rx : &s->tx)->key, root, "rchar1 acceptor", NULL, 0, NULL, 0);
	c->seal = s;
	c->wrap = wrap;
	c->unwrap = unwrap;
}

bool seal_dial_begin(struct conn *c, struct seal *s, struct psk_transcript *t, const struct psk *k)
{
	uint8_t tag[PSK_TAG_LEN];

	dial_prepare(c);
	memset(t, 0, sizeof(*t));
	good_request(&t->request);
	t->request.depth = htole16(seal_depth);
	t->request.caps = htole32(RCHAR_CAP_ENCRYPTED);
	t->request.key = htole16(k->id);
	arc4random_buf(t->request.nonce, PSK_TAG_AT);
	psk_ends(t, c, true);
	psk_request_tag(t->request.nonce + PSK_TAG_AT, t, k);
	dial_begin(c, &t->request, sizeof(t->request));
	if (dial_end(c) != RDMA_CM_EVENT_ESTABLISHED)
		return false;
	t->reply = c->reply;
	t->acceptor_qpn = htole32(c->peer_qpn);
	memcpy(t->acceptor_public, c->peer_public, sizeof(t->acceptor_public));
	psk_reply_tag(tag, t, k);
	if (memcmp(t->reply.nonce + PSK_TAG_AT, tag, sizeof(tag)) ||
	    !(t->reply.caps & htole32(RCHAR_CAP_ENCRYPTED)))
		return false;
	seal_begin(s, t->initiator_public);
	return true;
}

void seal_hello(struct frame *f, struct conn *c, const struct psk_transcript *t,
		const struct psk *k)
{
	struct rchar_wire_hello_public *h = (void *)f->payload;
	uint8_t ready_mac[32];

	fill(c, f, RCHAR_OP_HELLO, 0, sizeof(*h));
	memcpy(h->hello.nonce, c->reply.nonce, sizeof(h->hello.nonce));
	psk_greetings(h->hello.mac, ready_mac, t, k);
	memcpy(h->public, t->initiator_public, sizeof(h->public));
}

bool seal_dial(struct conn *c, struct seal *s, struct psk_transcript *t, const struct psk *k)
{
	uint8_t hello_mac[32], ready_mac[32];
	struct rchar_wire_hello *ready;
	struct frame f;

	if (!seal_dial_begin(c, s, t, k))
		return false;
	seal_hello(&f, c, t, k);
	seal_conn(c, s, t, k, true);
	send_frame(c, &f);
	if (!receive_op(c, &f, RCHAR_OP_READY))
		return false;
	ready = (void *)f.payload;
	psk_greetings(hello_mac, ready_mac, t, k);
	return !memcmp(ready->mac, ready_mac, sizeof(ready_mac)) &&
	       !memcmp(ready->nonce, t->request.nonce, sizeof(ready->nonce));
}
