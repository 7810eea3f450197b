/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private data of connection requests, replies and rejects in host form: encode,
 * decode, check. Pure functions.
 */
#ifndef RCHAR_PRIVDATA_H
#define RCHAR_PRIVDATA_H

#include <linux/types.h>
#include "wire.h"

/**
 * struct rchar_privdata - parameters that one side sends when a connection is established
 * @link_id: the link to which the connection belongs as a lane
 * @epoch: the epoch that the acceptor chose for the link; 0 in a request that starts a new epoch
 * @attempt: number of the initiator's attempt
 * @caps: RCHAR_CAP_*
 * @frame_size: payload bytes of each of the sender's receive buffers
 * @resume: next sequence number that the sender expects
 * @depth: receive buffers that the sender has posted
 * @key: id of the key that authenticates the private data; 0: none
 * @lane: index of the lane
 * @lanes: number of lanes that the sender wants
 * @keepalive: keepalive interval that the sender wants, in seconds; 0: no wish
 * @nonce: random, new in every attempt; with a key, the last bytes are a tag, see auth.h
 */
struct rchar_privdata {
	u64 link_id;
	u32 epoch;
	u32 attempt;
	u32 caps;
	u32 frame_size;
	u32 resume;
	u16 depth;
	u16 key;
	u8 lane;
	u8 lanes;
	u8 keepalive;
	u8 nonce[RCHAR_WIRE_NONCE_LEN];
};

/* Errors of private data. */
enum rchar_privdata_error {
	RCHAR_PRIVDATA_OK,
	RCHAR_PRIVDATA_SHORT,
	RCHAR_PRIVDATA_MAGIC,
	RCHAR_PRIVDATA_VERSION,
	RCHAR_PRIVDATA_FIELD,
};

void rchar_privdata_encode(struct rchar_wire_privdata *wire, const struct rchar_privdata *conn);
enum rchar_privdata_error rchar_privdata_decode(struct rchar_privdata *conn, const void *data,
						size_t len);
void rchar_reject_encode(struct rchar_wire_reject *wire, u16 reason, u32 error);
bool rchar_reject_decode(const void *data, size_t len, u16 *reason);

#endif /* RCHAR_PRIVDATA_H */
