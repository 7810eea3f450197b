// SPDX-License-Identifier: GPL-2.0
/*
 * BLAKE2s (RFC 7693) is the only primitive: with a key it is a MAC by itself. Every kernel that the
 * module supports exports it, because the random number generator uses it. It allocates nothing and
 * runs in soft interrupts.
 */
#include "auth.h"
#include <linux/string.h>
#include <asm/byteorder.h>
#include <crypto/algapi.h>
#include <crypto/blake2s.h>
#include "compat/blake2s.h"

/*
 * Labels, zero padded, are the first bytes of everything that is hashed. So a value of one kind
 * never passes for one of another kind, in particular not a reply for a request.
 */
#define LABEL_MAC   "rchar1 mac"
#define LABEL_NAME  "rchar1 name"
#define LABEL_REQ   "rchar1 request"
#define LABEL_REP   "rchar1 reply"
#define LABEL_HELLO "rchar1 hello"
#define LABEL_READY "rchar1 ready"

/* The parts of a private data nonce. */
#define TAG_AT (RCHAR_WIRE_NONCE_LEN - RCHAR_AUTH_TAG_LEN)

/**
 * rchar_auth_hash() - hash with a key: BLAKE2s of a label and up to two pieces of data
 * @out: set to RCHAR_WIRE_MAC_LEN bytes; may be @key
 * @key: RCHAR_AUTH_SECRET_LEN bytes
 * @label: what the hash is for; at most RCHAR_AUTH_LABEL_LEN characters
 * @data: the first piece
 * @len: its length, or 0
 * @more: the second piece
 * @more_len: its length, or 0
 */
void rchar_auth_hash(__u8 *out, const __u8 *key, const char *label, const void *data, size_t len,
		     const void *more, size_t more_len)
{
	struct rchar_compat_blake2s state;
	__u8 padded[RCHAR_AUTH_LABEL_LEN] = {};

	memcpy(padded, label, strlen(label));
	blake2s_init_key(&state, RCHAR_WIRE_MAC_LEN, key, RCHAR_AUTH_SECRET_LEN);
	blake2s_update(&state, padded, sizeof(padded));
	if (len)
		blake2s_update(&state, data, len);
	if (more_len)
		blake2s_update(&state, more, more_len);
	blake2s_final(&state, out);
}

/**
 * rchar_auth_derive() - compute what a host keeps of a secret
 * @key: set to the result; the caller wipes @secret afterwards
 * @secret: RCHAR_AUTH_SECRET_LEN bytes
 */
void rchar_auth_derive(struct rchar_auth_key *key, const __u8 *secret)
{
	__u8 name[RCHAR_WIRE_MAC_LEN];

	rchar_auth_hash(key->mac, secret, LABEL_MAC, NULL, 0, NULL, 0);
	rchar_auth_hash(name, secret, LABEL_NAME, NULL, 0, NULL, 0);
	memcpy(key->fingerprint, name, sizeof(key->fingerprint));
	key->id = (name[0] | name[1] << 8) ?: 1;
}

/* The tag of a request covers what the initiator knows at that time. */
static void request_tag(__u8 *mac, const struct rchar_auth_transcript *t,
			const struct rchar_auth_key *key)
{
	struct rchar_auth_transcript half = *t;

	memset(half.request.nonce + TAG_AT, 0, RCHAR_AUTH_TAG_LEN);
	memset(&half.reply, 0, sizeof(half.reply));
	half.acceptor_qpn = 0;
	memset(half.acceptor_public, 0, sizeof(half.acceptor_public));
	memset(half.initiator_public, 0, sizeof(half.initiator_public));
	rchar_auth_hash(mac, key->mac, LABEL_REQ, &half, sizeof(half), NULL, 0);
}

/* HELLO brings the initiator's public key later. */
static void reply_tag(__u8 *mac, const struct rchar_auth_transcript *t,
		      const struct rchar_auth_key *key)
{
	struct rchar_auth_transcript all = *t;

	memset(all.reply.nonce + TAG_AT, 0, RCHAR_AUTH_TAG_LEN);
	memset(all.initiator_public, 0, sizeof(all.initiator_public));
	rchar_auth_hash(mac, key->mac, LABEL_REP, &all, sizeof(all), NULL, 0);
}

/**
 * rchar_auth_sign_request() - put the tag into a connection request
 * @t: &rchar_auth_transcript.request without the tag, both addresses, and the initiator's QPN
 * @key: the key
 */
void rchar_auth_sign_request(struct rchar_auth_transcript *t, const struct rchar_auth_key *key)
{
	__u8 mac[RCHAR_WIRE_MAC_LEN];

	request_tag(mac, t, key);
	memcpy(t->request.nonce + TAG_AT, mac, RCHAR_AUTH_TAG_LEN);
}

/**
 * rchar_auth_check_request() - does a holder of the key send the connection request?
 * @t: the request as it arrived, both addresses, and the initiator's QPN
 * @key: the key
 */
bool rchar_auth_check_request(const struct rchar_auth_transcript *t,
			      const struct rchar_auth_key *key)
{
	__u8 mac[RCHAR_WIRE_MAC_LEN];

	request_tag(mac, t, key);
	return rchar_auth_same(t->request.nonce + TAG_AT, mac, RCHAR_AUTH_TAG_LEN);
}

/**
 * rchar_auth_sign_reply() - put the tag into a reply
 * @t: the transcript, complete but for that tag
 * @key: the key
 */
void rchar_auth_sign_reply(struct rchar_auth_transcript *t, const struct rchar_auth_key *key)
{
	__u8 mac[RCHAR_WIRE_MAC_LEN];

	reply_tag(mac, t, key);
	memcpy(t->reply.nonce + TAG_AT, mac, RCHAR_AUTH_TAG_LEN);
}

/**
 * rchar_auth_check_reply() - does a holder of the key reply to this very request?
 * @t: the transcript, with the reply as it arrived
 * @key: the key
 */
bool rchar_auth_check_reply(const struct rchar_auth_transcript *t, const struct rchar_auth_key *key)
{
	__u8 mac[RCHAR_WIRE_MAC_LEN];

	reply_tag(mac, t, key);
	return rchar_auth_same(t->reply.nonce + TAG_AT, mac, RCHAR_AUTH_TAG_LEN);
}

/**
 * rchar_auth_greetings() - compute the MACs of HELLO and READY
 * @hello: set to RCHAR_WIRE_MAC_LEN bytes, which only the initiator sends
 * @ready: set to RCHAR_WIRE_MAC_LEN bytes, which only the acceptor sends
 * @t: the complete transcript
 * @key: the key
 */
void rchar_auth_greetings(__u8 *hello, __u8 *ready, const struct rchar_auth_transcript *t,
			  const struct rchar_auth_key *key)
{
	rchar_auth_hash(hello, key->mac, LABEL_HELLO, t, sizeof(*t), NULL, 0);
	rchar_auth_hash(ready, key->mac, LABEL_READY, t, sizeof(*t), hello, RCHAR_WIRE_MAC_LEN);
}

/**
 * rchar_auth_same() - compare secret bytes in a time that does not depend on them
 * @a: bytes
 * @b: bytes
 * @len: number of bytes
 */
bool rchar_auth_same(const void *a, const void *b, size_t len)
{
	return !crypto_memneq(a, b, len);
}
