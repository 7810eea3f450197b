/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Encryption of a connection: fresh keys from an ephemeral Diffie-Hellman exchange, mixed with the
 * pre-shared key, and the sealing of frames with them. No state but that of the caller.
 * Documentation/protocol.rst, "Encryption", has the same in words, and test vectors.
 */
#ifndef RCHAR_SEAL_H
#define RCHAR_SEAL_H

#include "auth.h"

struct scatterlist;

#define RCHAR_SEAL_KEY_LEN 32
/* A key seals so many frames; the next key is derived from it. */
#define RCHAR_SEAL_FRAMES  (1u << 16)

/**
 * struct rchar_seal_key - the key of one direction
 * @key: for the next frame
 * @frames: frames sealed with @key; the nonce of the next one
 */
struct rchar_seal_key {
	__u8 key[RCHAR_SEAL_KEY_LEN];
	__u32 frames;
};

/**
 * struct rchar_seal - the keys of a connection
 * @secret: secret key of this host for the exchange; zeros once the keys are derived
 * @tx: for frames to the peer; the lock of the flow
 * @rx: for frames of the peer; one frame at a time
 */
struct rchar_seal {
	__u8 secret[RCHAR_WIRE_PUBLIC_LEN];
	struct rchar_seal_key tx;
	struct rchar_seal_key rx;
};

bool rchar_seal_available(void);
bool rchar_seal_begin(struct rchar_seal *seal, __u8 *public, const __u8 *random);
bool rchar_seal_derive(struct rchar_seal *seal, const struct rchar_auth_transcript *t,
		       const struct rchar_auth_key *key, bool initiator);
bool rchar_seal_close(struct rchar_seal_key *key, const struct rchar_wire_hdr *hdr,
		      struct scatterlist *sg, __u32 len);
bool rchar_seal_open(struct rchar_seal_key *key, const struct rchar_wire_hdr *hdr,
		     struct scatterlist *sg, __u32 len);

#endif /* RCHAR_SEAL_H */
