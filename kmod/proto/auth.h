/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Authentication of a connection by a pre-shared key: what both ends compute from the key, and
 * from all that the handshake said. Pure functions. Documentation/protocol.rst, "Authentication",
 * has the same in words, and test vectors.
 */
#ifndef RCHAR_AUTH_H
#define RCHAR_AUTH_H

#include <linux/types.h>
#include "wire.h"

/* Bytes of the secret that two hosts share. */
#define RCHAR_AUTH_SECRET_LEN	   32
/* Bytes of the public name of a secret. */
#define RCHAR_AUTH_FINGERPRINT_LEN 8
/* The last bytes of &rchar_wire_privdata.nonce are a tag when &rchar_wire_privdata.key is set. */
#define RCHAR_AUTH_TAG_LEN	   8
/* Every hash has a label of at most so many bytes, padded with zeros. */
#define RCHAR_AUTH_LABEL_LEN	   16

/**
 * struct rchar_auth_key - what a host keeps of a secret
 * @mac: key of all tags and MACs
 * @fingerprint: public name of the secret, for administrators
 * @id: public name of the secret in connection requests; not 0. Two secrets may share an id.
 */
struct rchar_auth_key {
	__u8 mac[RCHAR_WIRE_MAC_LEN];
	__u8 fingerprint[RCHAR_AUTH_FINGERPRINT_LEN];
	__u16 id;
};

/**
 * struct rchar_auth_transcript - all that one handshake said; what tags and MACs cover
 * @request: private data of the initiator
 * @reply: private data of the acceptor
 * @initiator: IPv6 address of the initiator; IPv4 is mapped (RFC 4291, 2.5.5.2)
 * @acceptor: IPv6 address of the acceptor
 * @initiator_qpn: number of the initiator's queue pair; 0 on iWARP, which has no such number
 * @acceptor_qpn: number of the acceptor's queue pair
 * @acceptor_public: public key of the acceptor for this connection: seal.h. Zeros on a connection
 *		     that is not encrypted.
 * @initiator_public: the same of the initiator
 */
struct rchar_auth_transcript {
	struct rchar_wire_privdata request;
	struct rchar_wire_privdata reply;
	__u8 initiator[16];
	__u8 acceptor[16];
	__le32 initiator_qpn;
	__le32 acceptor_qpn;
	__u8 acceptor_public[RCHAR_WIRE_PUBLIC_LEN];
	__u8 initiator_public[RCHAR_WIRE_PUBLIC_LEN];
};

void rchar_auth_derive(struct rchar_auth_key *key, const __u8 *secret);
void rchar_auth_sign_request(struct rchar_auth_transcript *t, const struct rchar_auth_key *key);
bool rchar_auth_check_request(const struct rchar_auth_transcript *t,
			      const struct rchar_auth_key *key);
void rchar_auth_sign_reply(struct rchar_auth_transcript *t, const struct rchar_auth_key *key);
bool rchar_auth_check_reply(const struct rchar_auth_transcript *t,
			    const struct rchar_auth_key *key);
void rchar_auth_greetings(__u8 *hello, __u8 *ready, const struct rchar_auth_transcript *t,
			  const struct rchar_auth_key *key);
bool rchar_auth_same(const void *a, const void *b, size_t len);
void rchar_auth_hash(__u8 *out, const __u8 *key, const char *label, const void *data, size_t len,
		     const void *more, size_t more_len);

#endif /* RCHAR_AUTH_H */
