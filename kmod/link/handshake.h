/* SPDX-License-Identifier: GPL-2.0 */
/* The handshake of a lane: from the private data to the UP state. */
#ifndef RCHAR_HANDSHAKE_H
#define RCHAR_HANDSHAKE_H

#include "proto/frame.h"

struct rchar_lane;
struct rchar_rxbuf;

void rchar_handshake_introduce(struct rchar_lane *lane);
void rchar_handshake_established(struct rchar_lane *lane);
enum rchar_frame_error rchar_handshake_receive(struct rchar_lane *lane, const struct rchar_hdr *hdr,
					       struct rchar_rxbuf *rxb);
void rchar_handshake_done(struct rchar_lane *lane);

#endif /* RCHAR_HANDSHAKE_H */
