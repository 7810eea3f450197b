/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The chapter "Authentication" of Documentation/protocol.rst, for peers that the tests play.
 * Written from the document, with libb2: it shares no code with the module.
 */
#ifndef PSK_H
#define PSK_H

#include "peer.h"

#define PSK_SECRET_LEN 32
#define PSK_TAG_AT     8 /* of the nonce; so long is the tag, too */
#define PSK_TAG_LEN    8
#define PSK_MAC_LEN    32

struct psk {
	uint8_t mac[PSK_MAC_LEN];
	uint16_t id;
};

/* As the document lays it out. */
struct psk_transcript {
	struct rchar_wire_privdata request;
	struct rchar_wire_privdata reply;
	uint8_t initiator[16];
	uint8_t acceptor[16];
	uint32_t initiator_qpn;
	uint32_t acceptor_qpn;
	uint8_t acceptor_public[32];  /* zeros without encryption */
	uint8_t initiator_public[32]; /* the same */
};

/* out may be k. */
void psk_hash(uint8_t *out, const uint8_t *k, const char *label, const void *data, size_t len,
	      const void *more, size_t more_len);
void psk_derive(struct psk *k, const uint8_t *secret);
/* From a file with the secret in base64. */
void psk_read(struct psk *k, const char *path);
/* The ends of a connection whose queue pair exists; the peer's number is not known yet. */
void psk_ends(struct psk_transcript *t, struct conn *c, bool initiator);
void psk_request_tag(uint8_t *tag, const struct psk_transcript *t, const struct psk *k);
void psk_reply_tag(uint8_t *tag, const struct psk_transcript *t, const struct psk *k);
void psk_greetings(uint8_t *hello_mac, uint8_t *ready_mac, const struct psk_transcript *t,
		   const struct psk *k);

/* Waits for a request to that port, and prepares a reply without a key. */
void psk_await(struct conn *c, struct psk_transcript *t, const char *port);

#endif /* PSK_H */
