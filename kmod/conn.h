/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private data of connection requests, replies and rejects in host form: encode,
 * decode, check. Pure.
 */
#ifndef RCHAR_CONN_H
#define RCHAR_CONN_H

#include <linux/types.h>
#include "wire.h"

/**
 * struct rchar_conn - what one side says of itself when a connection is made
 * @link_id: the link this connection is a lane of
 * @epoch: the acceptor's mark of that link; 0 in a request that starts afresh
 * @attempt: counts the initiator's attempts
 * @caps: RCHAR_CAP_*
 * @frame_size: payload bytes of each of its receive buffers
 * @resume: next sequence number it expects
 * @depth: receive buffers it has posted
 * @lane: index of the lane
 * @lanes: lanes it would like
 * @nonce: random, fresh for every attempt
 */
struct rchar_conn {
	u64 link_id;
	u32 epoch;
	u32 attempt;
	u32 caps;
	u32 frame_size;
	u32 resume;
	u16 depth;
	u8 lane;
	u8 lanes;
	u8 nonce[RCHAR_WIRE_NONCE_LEN];
};

/* How well formed private data is. */
enum rchar_conn_error {
	RCHAR_CONN_OK,
	RCHAR_CONN_SHORT,
	RCHAR_CONN_MAGIC,
	RCHAR_CONN_VERSION,
	RCHAR_CONN_FIELD,
};

void rchar_conn_encode(struct rchar_wire_conn *wire, const struct rchar_conn *conn);
enum rchar_conn_error rchar_conn_decode(struct rchar_conn *conn, const void *data,
					size_t len);
void rchar_reject_encode(struct rchar_wire_reject *wire, u16 reason, u32 error);
bool rchar_reject_decode(const void *data, size_t len, u16 *reason);

#endif /* RCHAR_CONN_H */
