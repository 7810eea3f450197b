/* SPDX-License-Identifier: GPL-2.0 */
/*
 * State machines: which moves are legal. Pure tables; each object has one function
 * that makes its moves, checks them here, wakes, traces and notifies.
 */
#ifndef RCHAR_STATE_H
#define RCHAR_STATE_H

#include <linux/types.h>
#include "uapi/linux/rdma_char.h"

/* One connection, from the first resolve to the last put. */
enum rchar_lane_state {
	RCHAR_LANE_INIT = 1,
	RCHAR_LANE_RESOLVING_ADDR,	/* initiator */
	RCHAR_LANE_RESOLVING_ROUTE,	/* initiator */
	RCHAR_LANE_CONNECTING,		/* initiator: REQ sent */
	RCHAR_LANE_ACCEPTING,		/* acceptor: REP sent, HELLO awaited */
	RCHAR_LANE_GREETING,		/* initiator: HELLO sent, READY awaited */
	RCHAR_LANE_UP,
	RCHAR_LANE_CLOSING,		/* failed or finished: teardown queued */
	RCHAR_LANE_DEAD,
};

bool rchar_lane_move_legal(enum rchar_lane_state from, enum rchar_lane_state to);
bool rchar_link_move_legal(enum rchar_link_state from, enum rchar_link_state to);
bool rchar_session_move_legal(enum rchar_session_state from,
			      enum rchar_session_state to);
const char *rchar_lane_state_name(enum rchar_lane_state state);
const char *rchar_link_state_name(enum rchar_link_state state);
const char *rchar_session_state_name(enum rchar_session_state state);
const char *rchar_reason_name(enum rchar_reason reason);
int rchar_reason_errno(enum rchar_reason reason);

#endif /* RCHAR_STATE_H */
