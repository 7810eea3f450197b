/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The words for numbers that only logs and traces tell, as names.h has them for those that
 * netlink tells. For C and C++, which include the header of the enum beside it.
 */
#ifndef RCHAR_WORDS_H
#define RCHAR_WORDS_H

/* clang-format off */

/* enum rchar_lane_state */
#define RCHAR_LANE_STATE_NAMES(X)				\
	X(RCHAR_LANE_INIT, "init")				\
	X(RCHAR_LANE_RESOLVING_ADDR, "resolving-addr")		\
	X(RCHAR_LANE_RESOLVING_ROUTE, "resolving-route")	\
	X(RCHAR_LANE_CONNECTING, "connecting")			\
	X(RCHAR_LANE_ACCEPTING, "accepting")			\
	X(RCHAR_LANE_GREETING, "greeting")			\
	X(RCHAR_LANE_UP, "up")					\
	X(RCHAR_LANE_CLOSING, "closing")			\
	X(RCHAR_LANE_DEAD, "dead")

/* enum rchar_op */
#define RCHAR_OP_NAMES(X)				\
	X(RCHAR_OP_HELLO, "HELLO")			\
	X(RCHAR_OP_READY, "READY")			\
	X(RCHAR_OP_CREDIT, "CREDIT")			\
	X(RCHAR_OP_PING, "PING")				\
	X(RCHAR_OP_PONG, "PONG")				\
	X(RCHAR_OP_TRIM, "TRIM")				\
	X(RCHAR_OP_OPEN, "OPEN")				\
	X(RCHAR_OP_OPENED, "OPENED")			\
	X(RCHAR_OP_REFUSED, "REFUSED")			\
	X(RCHAR_OP_DATA, "DATA")				\
	X(RCHAR_OP_MSG, "MSG")				\
	X(RCHAR_OP_FIN, "FIN")				\
	X(RCHAR_OP_STOP, "STOP")				\
	X(RCHAR_OP_RESET, "RESET")			\
	X(RCHAR_OP_WINDOW, "WINDOW")			\
	X(RCHAR_OP_MAP, "MAP")				\
	X(RCHAR_OP_CALL, "CALL")				\
	X(RCHAR_OP_RESULT, "RESULT")			\
	X(RCHAR_OP_RNDV, "RNDV")				\
	X(RCHAR_OP_RNDV_DONE, "RNDV_DONE")

/* RCHAR_FRAME_* */
#define RCHAR_FRAME_FLAG_NAMES(X)		\
	X(RCHAR_FRAME_ACK, "ack")		\
	X(RCHAR_FRAME_FIRST, "first")		\
	X(RCHAR_FRAME_LAST, "last")		\
	X(RCHAR_FRAME_INSTEAD, "instead")	\
	X(RCHAR_FRAME_LARGE, "large")		\
	X(RCHAR_FRAME_WANT, "want")

/* clang-format on */

#endif /* RCHAR_WORDS_H */
