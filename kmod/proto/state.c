// SPDX-License-Identifier: GPL-2.0
#include "state.h"
#include <linux/errno.h>
#include <linux/kernel.h>

#define TO(state) (1u << (state))

/* Indexed by the old state: the set of legal new states. */
static const unsigned int lane_moves[] = {
	[RCHAR_LANE_INIT] = TO(RCHAR_LANE_RESOLVING_ADDR) |
			    TO(RCHAR_LANE_ACCEPTING) | TO(RCHAR_LANE_CLOSING),
	[RCHAR_LANE_RESOLVING_ADDR] = TO(RCHAR_LANE_RESOLVING_ROUTE) |
				      TO(RCHAR_LANE_CLOSING),
	[RCHAR_LANE_RESOLVING_ROUTE] = TO(RCHAR_LANE_CONNECTING) |
				       TO(RCHAR_LANE_CLOSING),
	[RCHAR_LANE_CONNECTING] = TO(RCHAR_LANE_GREETING) | TO(RCHAR_LANE_CLOSING),
	[RCHAR_LANE_ACCEPTING] = TO(RCHAR_LANE_GREETING) | TO(RCHAR_LANE_CLOSING),
	[RCHAR_LANE_GREETING] = TO(RCHAR_LANE_UP) | TO(RCHAR_LANE_CLOSING),
	[RCHAR_LANE_UP] = TO(RCHAR_LANE_CLOSING),
	[RCHAR_LANE_CLOSING] = TO(RCHAR_LANE_DEAD),
	[RCHAR_LANE_DEAD] = 0,
};

static const unsigned int link_moves[] = {
	[RCHAR_LINK_DOWN] = TO(RCHAR_LINK_CONNECTING) | TO(RCHAR_LINK_DYING),
	[RCHAR_LINK_CONNECTING] = TO(RCHAR_LINK_UP) | TO(RCHAR_LINK_DOWN) |
				  TO(RCHAR_LINK_DYING),
	[RCHAR_LINK_UP] = TO(RCHAR_LINK_DOWN) | TO(RCHAR_LINK_DYING),
	[RCHAR_LINK_DYING] = 0,
};

static const unsigned int session_moves[] = {
	[RCHAR_SESSION_ACCEPTING] = TO(RCHAR_SESSION_OPEN) |
				    TO(RCHAR_SESSION_DEAD),
	[RCHAR_SESSION_OPENING] = TO(RCHAR_SESSION_OPEN) |
				  TO(RCHAR_SESSION_DEAD),
	[RCHAR_SESSION_WAITING] = TO(RCHAR_SESSION_OPEN) |
				  TO(RCHAR_SESSION_DEAD),
	[RCHAR_SESSION_OPEN] = TO(RCHAR_SESSION_CLOSING) |
			       TO(RCHAR_SESSION_DEAD),
	[RCHAR_SESSION_CLOSING] = TO(RCHAR_SESSION_DEAD),
	[RCHAR_SESSION_DEAD] = 0,
};

static bool legal(const unsigned int *moves, size_t n, unsigned int from,
		  unsigned int to)
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
bool rchar_session_move_legal(enum rchar_session_state from,
			      enum rchar_session_state to)
{
	return legal(session_moves, ARRAY_SIZE(session_moves), from, to);
}

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
	static const char *const names[] = {
		[RCHAR_LANE_INIT] = "init",
		[RCHAR_LANE_RESOLVING_ADDR] = "resolving-addr",
		[RCHAR_LANE_RESOLVING_ROUTE] = "resolving-route",
		[RCHAR_LANE_CONNECTING] = "connecting",
		[RCHAR_LANE_ACCEPTING] = "accepting",
		[RCHAR_LANE_GREETING] = "greeting",
		[RCHAR_LANE_UP] = "up",
		[RCHAR_LANE_CLOSING] = "closing",
		[RCHAR_LANE_DEAD] = "dead",
	};

	return name(names, ARRAY_SIZE(names), state);
}

/**
 * rchar_link_state_name() - return the name of a state, for traces and logs
 * @state: any value
 */
const char *rchar_link_state_name(enum rchar_link_state state)
{
	static const char *const names[] = {
		[RCHAR_LINK_DOWN] = "down",
		[RCHAR_LINK_CONNECTING] = "connecting",
		[RCHAR_LINK_UP] = "up",
		[RCHAR_LINK_DYING] = "dying",
	};

	return name(names, ARRAY_SIZE(names), state);
}

/**
 * rchar_session_state_name() - return the name of a state, for traces and logs
 * @state: any value
 */
const char *rchar_session_state_name(enum rchar_session_state state)
{
	static const char *const names[] = {
		[RCHAR_SESSION_ACCEPTING] = "accepting",
		[RCHAR_SESSION_OPENING] = "opening",
		[RCHAR_SESSION_WAITING] = "waiting",
		[RCHAR_SESSION_OPEN] = "open",
		[RCHAR_SESSION_CLOSING] = "closing",
		[RCHAR_SESSION_DEAD] = "dead",
	};

	return name(names, ARRAY_SIZE(names), state);
}

struct reason {
	const char *name;
	int error;	/* negative errno that a program's system calls return */
};

static const struct reason reasons[__RCHAR_REASON_MAX] = {
	[RCHAR_REASON_NONE] = { "none", 0 },
	[RCHAR_REASON_ADMIN] = { "admin", -ECONNRESET },
	[RCHAR_REASON_UNLOAD] = { "unload", -ENODEV },
	[RCHAR_REASON_NO_MEMORY] = { "no-memory", -ENOMEM },
	[RCHAR_REASON_NO_DEVICE] = { "no-device", -ENETDOWN },
	[RCHAR_REASON_DEVICE_REMOVED] = { "device-removed", -ENETDOWN },
	[RCHAR_REASON_ADDRESS_IN_USE] = { "address-in-use", -EADDRINUSE },
	[RCHAR_REASON_ADDRESS] = { "address", -EHOSTUNREACH },
	[RCHAR_REASON_ROUTE] = { "route", -ENETUNREACH },
	[RCHAR_REASON_UNREACHABLE] = { "unreachable", -EHOSTUNREACH },
	[RCHAR_REASON_NOT_LISTENING] = { "not-listening", -ECONNREFUSED },
	[RCHAR_REASON_REJECTED] = { "rejected", -ECONNREFUSED },
	[RCHAR_REASON_TIMEOUT] = { "timeout", -ETIMEDOUT },
	[RCHAR_REASON_VERSION] = { "version", -EPROTONOSUPPORT },
	[RCHAR_REASON_PROTOCOL] = { "protocol", -EPROTO },
	[RCHAR_REASON_BUSY] = { "busy", -EBUSY },
	[RCHAR_REASON_KEEPALIVE] = { "keepalive", -ETIMEDOUT },
	[RCHAR_REASON_QP_ERROR] = { "qp-error", -EIO },
	[RCHAR_REASON_PEER_CLOSED] = { "peer-closed", -ECONNRESET },
	[RCHAR_REASON_PEER_RESTARTED] = { "peer-restarted", -ECONNRESET },
	[RCHAR_REASON_RECOVERY_TIMEOUT] = { "recovery-timeout", -ECONNRESET },
	[RCHAR_REASON_NO_CHANNEL] = { "no-channel", -ECONNREFUSED },
	[RCHAR_REASON_WRONG_TYPE] = { "wrong-type", -ECONNREFUSED },
	[RCHAR_REASON_BACKLOG] = { "backlog", -EAGAIN },
	[RCHAR_REASON_DELETED] = { "deleted", -ENODEV },
	[RCHAR_REASON_CLOSED] = { "closed", -ECONNRESET },
	[RCHAR_REASON_LINGER] = { "linger", -ECONNRESET },
	[RCHAR_REASON_WINDOW] = { "window", -ECONNRESET },
	[RCHAR_REASON_ADDRESS_CHANGED] = { "address-changed", -EHOSTUNREACH },
	[RCHAR_REASON_NO_ATOMICS] = { "no-atomics", -EOPNOTSUPP },
	[RCHAR_REASON_PEER_LIMIT] = { "peer-limit", -ENOBUFS },
};

/**
 * rchar_reason_name() - return the name of a reason, for traces and logs
 * @reason: any value
 *
 * The command-line tool uses the same names.
 */
const char *rchar_reason_name(enum rchar_reason reason)
{
	return (unsigned int)reason < __RCHAR_REASON_MAX ? reasons[reason].name : "?";
}

/**
 * rchar_reason_errno() - return the errno of a reason, for a program's system calls
 * @reason: any value, also an unchecked value from the wire
 *
 * Return: a negative errno; 0 only for RCHAR_REASON_NONE.
 */
int rchar_reason_errno(enum rchar_reason reason)
{
	return (unsigned int)reason < __RCHAR_REASON_MAX ? reasons[reason].error :
							   -ECONNRESET;
}
