/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The words for what has a number: the same in logs and traces of the module, in the tool,
 * and in the netlink specification (selftests/spec.py). For C and C++. Each list calls
 * X(value, word) for every value of one enum.
 */
#ifndef RCHAR_NAMES_H
#define RCHAR_NAMES_H

#include "uapi/linux/rdma_char.h"

/* clang-format off */

/* enum rchar_channel_type */
#define RCHAR_CHANNEL_TYPE_NAMES(X)				\
	X(RCHAR_TYPE_STREAM, "stream")				\
	X(RCHAR_TYPE_MESSAGE, "message")			\
	X(RCHAR_TYPE_MEMORY, "memory")

/* enum rchar_role */
#define RCHAR_ROLE_NAMES(X)					\
	X(RCHAR_ROLE_LISTEN, "listen")				\
	X(RCHAR_ROLE_CONNECT, "connect")

/* enum rchar_access */
#define RCHAR_ACCESS_NAMES(X)					\
	X(RCHAR_ACCESS_RO, "ro")				\
	X(RCHAR_ACCESS_RW, "rw")

/* enum rchar_atomics */
#define RCHAR_ATOMICS_NAMES(X)					\
	X(RCHAR_ATOMICS_SW, "sw")				\
	X(RCHAR_ATOMICS_HW, "hw")

/* enum rchar_encrypt */
#define RCHAR_ENCRYPT_NAMES(X)					\
	X(RCHAR_ENCRYPT_OFF, "off")				\
	X(RCHAR_ENCRYPT_ON, "on")

/* enum rchar_channel_state */
#define RCHAR_CHANNEL_STATE_NAMES(X)				\
	X(RCHAR_CHANNEL_WAITING, "waiting")			\
	X(RCHAR_CHANNEL_LISTENING, "listening")			\
	X(RCHAR_CHANNEL_CONNECTING, "connecting")		\
	X(RCHAR_CHANNEL_UP, "up")				\
	X(RCHAR_CHANNEL_RETRYING, "retrying")			\
	X(RCHAR_CHANNEL_DELETED, "deleted")

/* enum rchar_link_state */
#define RCHAR_LINK_STATE_NAMES(X)				\
	X(RCHAR_LINK_DOWN, "down")				\
	X(RCHAR_LINK_CONNECTING, "connecting")			\
	X(RCHAR_LINK_UP, "up")					\
	X(RCHAR_LINK_DYING, "dying")

/* enum rchar_session_state */
#define RCHAR_SESSION_STATE_NAMES(X)				\
	X(RCHAR_SESSION_ACCEPTING, "accepting")			\
	X(RCHAR_SESSION_OPENING, "opening")			\
	X(RCHAR_SESSION_WAITING, "waiting")			\
	X(RCHAR_SESSION_OPEN, "open")				\
	X(RCHAR_SESSION_CLOSING, "closing")			\
	X(RCHAR_SESSION_DEAD, "dead")

/* enum rchar_reason */
#define RCHAR_REASON_NAMES(X)					\
	X(RCHAR_REASON_NONE, "none")				\
	X(RCHAR_REASON_ADMIN, "admin")				\
	X(RCHAR_REASON_UNLOAD, "unload")			\
	X(RCHAR_REASON_NO_MEMORY, "no-memory")			\
	X(RCHAR_REASON_NO_DEVICE, "no-device")			\
	X(RCHAR_REASON_DEVICE_REMOVED, "device-removed")	\
	X(RCHAR_REASON_ADDRESS_IN_USE, "address-in-use")	\
	X(RCHAR_REASON_ADDRESS, "address")			\
	X(RCHAR_REASON_ROUTE, "route")				\
	X(RCHAR_REASON_UNREACHABLE, "unreachable")		\
	X(RCHAR_REASON_NOT_LISTENING, "not-listening")		\
	X(RCHAR_REASON_REJECTED, "rejected")			\
	X(RCHAR_REASON_TIMEOUT, "timeout")			\
	X(RCHAR_REASON_VERSION, "version")			\
	X(RCHAR_REASON_PROTOCOL, "protocol")			\
	X(RCHAR_REASON_BUSY, "busy")				\
	X(RCHAR_REASON_KEEPALIVE, "keepalive")			\
	X(RCHAR_REASON_QP_ERROR, "qp-error")			\
	X(RCHAR_REASON_PEER_CLOSED, "peer-closed")		\
	X(RCHAR_REASON_PEER_RESTARTED, "peer-restarted")	\
	X(RCHAR_REASON_RECOVERY_TIMEOUT, "recovery-timeout")	\
	X(RCHAR_REASON_NO_CHANNEL, "no-channel")		\
	X(RCHAR_REASON_WRONG_TYPE, "wrong-type")		\
	X(RCHAR_REASON_BACKLOG, "backlog")			\
	X(RCHAR_REASON_DELETED, "deleted")			\
	X(RCHAR_REASON_CLOSED, "closed")			\
	X(RCHAR_REASON_LINGER, "linger")			\
	X(RCHAR_REASON_WINDOW, "window")			\
	X(RCHAR_REASON_ADDRESS_CHANGED, "address-changed")	\
	X(RCHAR_REASON_NO_ATOMICS, "no-atomics")		\
	X(RCHAR_REASON_PEER_LIMIT, "peer-limit")		\
	X(RCHAR_REASON_NOT_AUTHORISED, "not-authorised")	\
	X(RCHAR_REASON_KEY_DELETED, "key-deleted")		\
	X(RCHAR_REASON_ENCRYPTION, "encryption")		\
	X(RCHAR_REASON_DEVICE_LIMITS, "device-limits")		\
	X(RCHAR_REASON_PORT_DOWN, "port-down")

/* clang-format on */

#endif /* RCHAR_NAMES_H */
