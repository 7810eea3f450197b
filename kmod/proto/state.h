/* SPDX-License-Identifier: GPL-2.0 */
/*
 * State machines: the legal moves. Pure tables. Each kind of object has one function for moves,
 * which checks the move here, wakes waiters, traces and notifies.
 */
#ifndef RCHAR_STATE_H
#define RCHAR_STATE_H

#include <linux/types.h>
#include "uapi/linux/rdma_char.h"

/* States of one connection, from address resolution to the last rchar_lane_put(). */
enum rchar_lane_state {
	RCHAR_LANE_INIT = 1,
	RCHAR_LANE_RESOLVING_ADDR,  /* initiator */
	RCHAR_LANE_RESOLVING_ROUTE, /* initiator */
	RCHAR_LANE_CONNECTING,	    /* initiator: REQ sent */
	RCHAR_LANE_ACCEPTING,	    /* acceptor: REP sent, HELLO awaited */
	RCHAR_LANE_GREETING,	    /* HELLO sent (initiator) or received (acceptor) */
	RCHAR_LANE_UP,
	RCHAR_LANE_CLOSING, /* failed or finished: teardown queued */
	RCHAR_LANE_DEAD,
};

bool rchar_lane_move_legal(enum rchar_lane_state from, enum rchar_lane_state to);
bool rchar_link_move_legal(enum rchar_link_state from, enum rchar_link_state to);
bool rchar_session_move_legal(enum rchar_session_state from, enum rchar_session_state to);
const char *rchar_lane_state_name(enum rchar_lane_state state);
const char *rchar_link_state_name(enum rchar_link_state state);
const char *rchar_session_state_name(enum rchar_session_state state);
const char *rchar_reason_name(enum rchar_reason reason);
int rchar_reason_errno(enum rchar_reason reason);
bool rchar_reason_denies(enum rchar_reason reason);

#endif /* RCHAR_STATE_H */
