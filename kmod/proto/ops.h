/* SPDX-License-Identifier: GPL-2.0 */
/* What a frame is for. For C and C++. */
#ifndef RCHAR_OPS_H
#define RCHAR_OPS_H

enum rchar_op {
	/* about the lane: session 0, not sequenced, never replayed */
	RCHAR_OP_HELLO = 1,
	RCHAR_OP_READY,
	RCHAR_OP_CREDIT, /* carries nothing but credits and ack */
	RCHAR_OP_PING,	 /* the receiver answers at once with PONG */
	RCHAR_OP_PONG,
	RCHAR_OP_TRIM, /* the receiver uses up its credits for large buffers */
	/* about a session: sequenced, replayed after a reconnect */
	RCHAR_OP_OPEN = 16,
	RCHAR_OP_OPENED,
	RCHAR_OP_REFUSED,
	RCHAR_OP_DATA,
	RCHAR_OP_MSG,
	RCHAR_OP_FIN,	    /* the sender of FIN sends no more data */
	RCHAR_OP_STOP,	    /* the sender of STOP wants no more data */
	RCHAR_OP_RESET,	    /* the session is over */
	RCHAR_OP_WINDOW,    /* carries nothing but window */
	RCHAR_OP_MAP,	    /* acceptor to initiator: keys of a region */
	RCHAR_OP_CALL,	    /* initiator to acceptor, in a memory session */
	RCHAR_OP_RESULT,    /* acceptor to initiator: answer to CALL */
	RCHAR_OP_RNDV,	    /* stream: offer the next bytes for a READ */
	RCHAR_OP_RNDV_DONE, /* answer to RNDV */
	RCHAR_OP_MAX
};

#define RCHAR_FRAME_ACK	    0x01 /* the receiver acknowledges at once */
#define RCHAR_FRAME_FIRST   0x02 /* MSG: first fragment */
#define RCHAR_FRAME_LAST    0x04 /* MSG: last fragment */
#define RCHAR_FRAME_FLAGS   0x07 /* flags allowed in MSG */
#define RCHAR_FRAME_INSTEAD 0x08 /* DATA: carries the bytes of the previous RNDV */
#define RCHAR_FRAME_LARGE   0x10 /* of any op: the buffers that credits counts are large */
#define RCHAR_FRAME_WANT    0x20 /* of any op: more or larger buffers would be used */
#define RCHAR_FRAME_LANE    0x30 /* flags allowed in all ops; not those of a replayed frame */

#endif /* RCHAR_OPS_H */
