/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The chapter "Encryption" of Documentation/protocol.rst, for peers that the tests play. Written
 * from the document, with nettle: it shares no code with the module.
 */
#ifndef SEAL_H
#define SEAL_H

#include "psk.h"

#define SEAL_TAG_LEN 16

struct seal_key {
	uint8_t key[32];
	uint64_t frames;
};

struct seal {
	uint8_t secret[32];
	struct seal_key tx, rx;
};

extern int seal_depth; /* receive buffers that our requests announce */

/* A key pair for one connection. */
void seal_begin(struct seal *s, uint8_t *public);
/* The transcript is complete: seal and open all frames of @c but HELLO from now on. */
void seal_conn(struct conn *c, struct seal *s, const struct psk_transcript *t, const struct psk *k,
	       bool initiator);
/* Connects and greets as the document says, encrypted. False when the module does not agree. */
bool seal_dial(struct conn *c, struct seal *s, struct psk_transcript *t, const struct psk *k);
/* The same up to the reply. */
bool seal_dial_begin(struct conn *c, struct seal *s, struct psk_transcript *t, const struct psk *k);
/* The payload of HELLO for that connection. */
void seal_hello(struct frame *f, struct conn *c, const struct psk_transcript *t,
		const struct psk *k);
/* The same for a payload of @len bytes, whatever the header says. */
int seal_bytes(struct seal_key *k, uint8_t *out, const struct frame *f, int len);
/* Opens what came; false when it is not the next frame of the peer. */
bool seal_open(struct seal_key *k, struct frame *f, const uint8_t *in, int len);
/* A frame as it is on the wire; returns its length. */
int seal_frame(struct seal_key *k, uint8_t *out, const struct frame *f);
/* A frame that is not sealed: HELLO. */
int seal_plain(uint8_t *out, const struct frame *f);

#endif /* SEAL_H */
