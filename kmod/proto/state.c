// SPDX-License-Identifier: GPL-2.0
#include "state.h"
#include <linux/errno.h>
#include <linux/kernel.h>
#include "names.h"
#include "words.h"

#define TO(state) (1u << (state))

/* Indexed by the old state: the set of legal new states. */
static const unsigned int lane_moves[] = {
	[RCHAR_LANE_INIT] = TO(RCHAR_LANE_RESOLVING_ADDR) | TO(RCHAR_LANE_ACCEPTING) |
			    TO(RCHAR_LANE_CLOSING),
	[RCHAR_LANE_RESOLVING_ADDR] = TO(RCHAR_LANE_RESOLVING_ROUTE) | TO(RCHAR_LANE_CLOSING),
	[RCHAR_LANE_RESOLVING_ROUTE] = TO(RCHAR_LANE_CONNECTING) | TO(RCHAR_LANE_CLOSING),
	[RCHAR_LANE_CONNECTING] = TO(RCHAR_LANE_GREETING) | TO(RCHAR_LANE_CLOSING),
	[RCHAR_LANE_ACCEPTING] = TO(RCHAR_LANE_GREETING) | TO(RCHAR_LANE_CLOSING),
	[RCHAR_LANE_GREETING] = TO(RCHAR_LANE_UP) | TO(RCHAR_LANE_CLOSING),
	[RCHAR_LANE_UP] = TO(RCHAR_LANE_CLOSING),
	[RCHAR_LANE_CLOSING] = TO(RCHAR_LANE_DEAD),
	[RCHAR_LANE_DEAD] = 0,
};

static const unsigned int link_moves[] = {
	[RCHAR_LINK_DOWN] = TO(RCHAR_LINK_CONNECTING) | TO(RCHAR_LINK_DYING),
	[RCHAR_LINK_CONNECTING] = TO(RCHAR_LINK_UP) | TO(RCHAR_LINK_DOWN) | TO(RCHAR_LINK_DYING),
	[RCHAR_LINK_UP] = TO(RCHAR_LINK_DOWN) | TO(RCHAR_LINK_DYING),
	[RCHAR_LINK_DYING] = 0,
};

static const unsigned int session_moves[] = {
	[RCHAR_SESSION_ACCEPTING] = TO(RCHAR_SESSION_OPEN) | TO(RCHAR_SESSION_DEAD),
	[RCHAR_SESSION_OPENING] = TO(RCHAR_SESSION_OPEN) | TO(RCHAR_SESSION_DEAD),
	[RCHAR_SESSION_WAITING] = TO(RCHAR_SESSION_OPEN) | TO(RCHAR_SESSION_DEAD),
	[RCHAR_SESSION_OPEN] = TO(RCHAR_SESSION_CLOSING) | TO(RCHAR_SESSION_DEAD),
	[RCHAR_SESSION_CLOSING] = TO(RCHAR_SESSION_DEAD),
	[RCHAR_SESSION_DEAD] = 0,
};

static bool legal(const unsigned int *moves, size_t n, unsigned int from, unsigned int to)
{
	return from < n && to < n && moves[from] & TO(to);
}

/**
 * rchar_lane_move_legal() - may a lane move from one state to another?
 * @from: the old state
 * @to: the new state
 */
bool rchar_lane_move_legal(enum rchar_lane_state from, enum rchar_lane_state to)
{
	return legal(lane_moves, ARRAY_SIZE(lane_moves), from, to);
}

/**
 * rchar_link_move_legal() - may a link move from one state to another?
 * @from: the old state
 * @to: the new state
 */
bool rchar_link_move_legal(enum rchar_link_state from, enum rchar_link_state to)
{
	return legal(link_moves, ARRAY_SIZE(link_moves), from, to);
}

/**
 * rchar_session_move_legal() - may a session move from one state to another?
 * @from: the old state
 * @to: the new state
 */
bool rchar_session_move_legal(enum rchar_session_state from, enum rchar_session_state to)
{
	return legal(session_moves, ARRAY_SIZE(session_moves), from, to);
}

/* An entry of a table of words, indexed by the value. */
#define NAME(value, word) [value] = word,

static const char *name(const char *const *names, size_t n, unsigned int i)
{
	return i < n && names[i] ? names[i] : "?";
}

/**
 * rchar_lane_state_name() - return the name of a state, for traces and logs
 * @state: any value
 */
const char *rchar_lane_state_name(enum rchar_lane_state state)
{
	static const char *const names[] = { RCHAR_LANE_STATE_NAMES(NAME) };

	return name(names, ARRAY_SIZE(names), state);
}

/**
 * rchar_link_state_name() - return the name of a state, for traces and logs
 * @state: any value
 */
const char *rchar_link_state_name(enum rchar_link_state state)
{
	static const char *const names[] = { RCHAR_LINK_STATE_NAMES(NAME) };

	return name(names, ARRAY_SIZE(names), state);
}

/**
 * rchar_session_state_name() - return the name of a state, for traces and logs
 * @state: any value
 */
const char *rchar_session_state_name(enum rchar_session_state state)
{
	static const char *const names[] = { RCHAR_SESSION_STATE_NAMES(NAME) };

	return name(names, ARRAY_SIZE(names), state);
}

/**
 * rchar_reason_name() - return the name of a reason, for traces and logs
 * @reason: any value
 *
 * The command-line tool uses the same names.
 */
const char *rchar_reason_name(enum rchar_reason reason)
{
	static const char *const names[] = { RCHAR_REASON_NAMES(NAME) };

	return name(names, ARRAY_SIZE(names), reason);
}

/* What a program's system call returns for a reason. */
static const int reason_errors[__RCHAR_REASON_MAX] = {
	[RCHAR_REASON_NONE] = 0,
	[RCHAR_REASON_ADMIN] = -ECONNRESET,
	[RCHAR_REASON_UNLOAD] = -ENODEV,
	[RCHAR_REASON_NO_MEMORY] = -ENOMEM,
	[RCHAR_REASON_NO_DEVICE] = -ENETDOWN,
	[RCHAR_REASON_DEVICE_REMOVED] = -ENETDOWN,
	[RCHAR_REASON_ADDRESS_IN_USE] = -EADDRINUSE,
	[RCHAR_REASON_ADDRESS] = -EHOSTUNREACH,
	[RCHAR_REASON_ROUTE] = -ENETUNREACH,
	[RCHAR_REASON_UNREACHABLE] = -EHOSTUNREACH,
	[RCHAR_REASON_NOT_LISTENING] = -ECONNREFUSED,
	[RCHAR_REASON_REJECTED] = -ECONNREFUSED,
	[RCHAR_REASON_TIMEOUT] = -ETIMEDOUT,
	[RCHAR_REASON_VERSION] = -EPROTONOSUPPORT,
	[RCHAR_REASON_PROTOCOL] = -EPROTO,
	[RCHAR_REASON_BUSY] = -EBUSY,
	[RCHAR_REASON_KEEPALIVE] = -ETIMEDOUT,
	[RCHAR_REASON_QP_ERROR] = -EIO,
	[RCHAR_REASON_PEER_CLOSED] = -ECONNRESET,
	[RCHAR_REASON_PEER_RESTARTED] = -ECONNRESET,
	[RCHAR_REASON_RECOVERY_TIMEOUT] = -ECONNRESET,
	[RCHAR_REASON_NO_CHANNEL] = -ECONNREFUSED,
	[RCHAR_REASON_WRONG_TYPE] = -ECONNREFUSED,
	[RCHAR_REASON_BACKLOG] = -EAGAIN,
	[RCHAR_REASON_DELETED] = -ENODEV,
	[RCHAR_REASON_CLOSED] = -ECONNRESET,
	[RCHAR_REASON_LINGER] = -ECONNRESET,
	[RCHAR_REASON_WINDOW] = -ECONNRESET,
	[RCHAR_REASON_ADDRESS_CHANGED] = -EHOSTUNREACH,
	[RCHAR_REASON_NO_ATOMICS] = -EOPNOTSUPP,
	[RCHAR_REASON_PEER_LIMIT] = -ENOBUFS,
	[RCHAR_REASON_NOT_AUTHORISED] = -EACCES,
	[RCHAR_REASON_KEY_DELETED] = -EACCES,
	[RCHAR_REASON_ENCRYPTION] = -EACCES,
	[RCHAR_REASON_DEVICE_LIMITS] = -EOPNOTSUPP,
	[RCHAR_REASON_PORT_DOWN] = -ENETDOWN,
};

/**
 * rchar_reason_errno() - return the errno of a reason, for a program's system calls
 * @reason: any value, also an unchecked value from the wire
 *
 * Return: a negative errno; 0 only for RCHAR_REASON_NONE.
 */
int rchar_reason_errno(enum rchar_reason reason)
{
	return (unsigned int)reason < __RCHAR_REASON_MAX ? reason_errors[reason] : -ECONNRESET;
}

/**
 * rchar_reason_denies() - check whether a reason means that one host does not let the other in
 * @reason: reason of a connection attempt
 *
 * Return: true when only an administrator can change it.
 */
bool rchar_reason_denies(enum rchar_reason reason)
{
	return reason == RCHAR_REASON_NOT_AUTHORISED || reason == RCHAR_REASON_ENCRYPTION;
}
