/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What goes over the wire, protocol version 1. All integers are little endian, all
 * fields naturally aligned, all reserved fields zero. Documentation/protocol.rst is
 * the prose; frame.c and conn.c check every field that arrives.
 */
#ifndef RCHAR_WIRE_H
#define RCHAR_WIRE_H

#include <linux/types.h>

#define RCHAR_WIRE_MAGIC	0x52484352u	/* "RCHR" */
#define RCHAR_WIRE_MAJOR	1
#define RCHAR_WIRE_MINOR	0
#define RCHAR_WIRE_NONCE_LEN	16
#define RCHAR_WIRE_MAC_LEN	32
#define RCHAR_WIRE_NAME_LEN	32	/* zero padded */

/* Bounds of what a peer may announce for its receive side. */
#define RCHAR_WIRE_DEPTH_MIN	4
#define RCHAR_WIRE_DEPTH_MAX	4096
#define RCHAR_WIRE_FRAME_MIN	1024
#define RCHAR_WIRE_FRAME_MAX	(1u << 20)
#define RCHAR_WIRE_LANES_MAX	16
/* Largest receive window of a session: half the 32-bit space of byte offsets. */
#define RCHAR_WIRE_WINDOW_MAX	(1u << 30)
#define RCHAR_WIRE_MESSAGE_MAX	(64u << 20)
/*
 * A message counts for so many bytes more than its length, with its last fragment:
 * about what a small one costs in memory. So a window bounds many small messages, too.
 */
#define RCHAR_WIRE_MESSAGE_COST	256

/*
 * Private data of the connection request (56 bytes is all that an InfiniBand CM
 * REQ leaves a user of IP addresses, IBTA vol 1 A11) and, with the same layout, of
 * the reply.
 */
struct rchar_wire_privdata {
	__le32 magic;
	__u8 major;
	__u8 minor;
	__u8 lane;		/* index of the lane this connection is for */
	__u8 lanes;		/* how many the sender would like */
	__le64 link_id;		/* chosen by the initiator, random */
	__le32 epoch;		/* chosen by the acceptor; 0: the initiator knows none */
	__le32 attempt;		/* counted by the initiator; echoed */
	__le32 caps;		/* RCHAR_CAP_*; unknown bits are ignored */
	__le32 frame_size;	/* payload bytes of each receive buffer */
	__le16 depth;		/* receive buffers posted: the peer's first credits */
	__le16 flags;		/* reserved */
	__le32 resume;		/* next sequence number expected from the peer */
	__u8 nonce[RCHAR_WIRE_NONCE_LEN];
};

/* Private data of a rejected request (148 bytes at most). */
struct rchar_wire_reject {
	__le32 magic;
	__u8 major;		/* the newest version the sender speaks */
	__u8 minor;
	__le16 reason;		/* enum rchar_reason */
	__le32 error;		/* errno, asm-generic numbering, for logs */
	__le32 reserved;
};

/* One SEND is one frame: this, then len bytes of payload. */
struct rchar_wire_hdr {
	__u8 op;		/* enum rchar_op */
	__u8 flags;		/* RCHAR_FRAME_* */
	__le16 credits;		/* receive buffers newly posted by the sender */
	__le32 len;
	__le32 session;		/* 0 in frames that are about the lane */
	__le32 seq;		/* 0 in frames that are not sequenced */
	__le32 ack;		/* next sequence number the sender expects */
	__le32 window;		/* offset up to which the peer may send in this session */
};

/* HELLO and READY. */
struct rchar_wire_hello {
	__u8 nonce[RCHAR_WIRE_NONCE_LEN];	/* the receiver's, from its private data */
	__u8 mac[RCHAR_WIRE_MAC_LEN];		/* zero without authentication */
};

struct rchar_wire_open {
	__u8 type;		/* enum rchar_channel_type */
	__u8 flags;		/* RCHAR_OPEN_* */
	__u8 reserved[2];
	__le32 max_message;	/* of the opener's channel; 0 for streams */
	__u8 name[RCHAR_WIRE_NAME_LEN];
};

/* The smaller max_message of the two holds for both directions. */
struct rchar_wire_opened {
	__le32 max_message;	/* the smaller of both channels; 0 for streams */
	__u8 reserved[4];
};

/* Behind struct rchar_wire_opened for memory channels. */
struct rchar_wire_region {
	__le64 size;		/* bytes */
	__u8 access;		/* enum rchar_access */
	__u8 atomics;		/* enum rchar_atomics */
	__u8 reserved[6];
};

/* MAP: keys of the region, valid on one connection. */
struct rchar_wire_map {
	__le32 attempt;		/* of the connection: its private data */
	__le32 first;		/* index of the first block */
	__le32 count;		/* keys that follow, one for each block */
	__u8 shift;		/* a block has 1 << shift bytes; its own offsets from 0 */
	__u8 reserved[3];
	__le32 keys[];
};

/* CALL: have the exporter's kernel do something. */
struct rchar_wire_call {
	__u8 call;		/* enum rchar_call */
	__u8 reserved[3];
	__le32 id;		/* chosen by the caller; echoed */
	__le64 offset;		/* of the word, a multiple of 8; 0 when there is none */
	__le64 operand;
	__le64 compare;
};

/* RNDV: the next bytes of the stream can be read from the sender's memory. */
struct rchar_wire_rndv {
	__le32 id;		/* chosen by the sender; echoed */
	__le32 attempt;		/* of the connection on which the key is valid */
	__le32 key;
	__le32 offset;		/* where they begin */
	__le32 len;		/* bytes */
	__le32 reserved;
};

struct rchar_wire_rndv_done {
	__le32 id;
	__le32 status;		/* enum rchar_rndv_status */
};

enum rchar_rndv_status {
	RCHAR_RNDV_OK,		/* the receiver has them */
	RCHAR_RNDV_REFUSED,	/* send them in frames */
	__RCHAR_RNDV_STATUS_MAX
};

/* Bytes of one RNDV. Of fewer the memory would be more than the window counts. */
#define RCHAR_WIRE_RNDV_MIN	(64u << 10)
#define RCHAR_WIRE_RNDV_MAX	(1u << 20)

struct rchar_wire_result {
	__le32 id;
	__le32 status;		/* enum rchar_call_status */
	__le64 old;		/* what the word was before */
};

enum rchar_call {
	RCHAR_CALL_FENCE = 1,	/* nothing: what was written before is there */
	RCHAR_CALL_ADD,
	RCHAR_CALL_CAS,
	RCHAR_CALL_RING,	/* operand: what to ring with, 32 bits */
	__RCHAR_CALL_MAX
};

enum rchar_call_status {
	RCHAR_CALL_OK,
	RCHAR_CALL_RANGE,	/* outside of the region */
	RCHAR_CALL_READ_ONLY,
	RCHAR_CALL_UNSUPPORTED,	/* the device executes them, not the kernel */
	__RCHAR_CALL_STATUS_MAX
};

/* Chunks of a region: from one page to 1 GiB. */
#define RCHAR_WIRE_BLOCK_SHIFT_MIN	12
#define RCHAR_WIRE_BLOCK_SHIFT_MAX	30
/* Chunks of a region at most: keys are memory at who connects. */
#define RCHAR_WIRE_BLOCKS_MAX	(1u << 20)
/* Keys of one MAP at most: with what is before them less than a page. */
#define RCHAR_WIRE_MAP_KEYS		1000

/* REFUSED and RESET. */
struct rchar_wire_status {
	__le32 reason;		/* enum rchar_reason */
	__le32 error;		/* errno, asm-generic numbering, for logs */
};

enum rchar_op {
	/* about the lane: session 0, not sequenced, never replayed */
	RCHAR_OP_HELLO = 1,
	RCHAR_OP_READY,
	RCHAR_OP_CREDIT,	/* carries nothing but credits and ack */
	RCHAR_OP_PING,		/* answered by PONG at once */
	RCHAR_OP_PONG,
	/* about a session: sequenced, replayed after a reconnect */
	RCHAR_OP_OPEN = 16,
	RCHAR_OP_OPENED,
	RCHAR_OP_REFUSED,
	RCHAR_OP_DATA,
	RCHAR_OP_MSG,
	RCHAR_OP_FIN,		/* no more data from the sender of this */
	RCHAR_OP_STOP,		/* no more data wanted by the sender of this */
	RCHAR_OP_RESET,		/* the session is over */
	RCHAR_OP_WINDOW,	/* carries nothing but window */
	RCHAR_OP_MAP,		/* acceptor: keys of a region */
	RCHAR_OP_CALL,		/* initiator, of a memory session */
	RCHAR_OP_RESULT,	/* acceptor: answer to CALL */
	RCHAR_OP_RNDV,		/* of a stream: read the next bytes from here */
	RCHAR_OP_RNDV_DONE,		/* answer to RNDV */
	RCHAR_OP_MAX
};

#define RCHAR_FRAME_ACK		0x01	/* acknowledge at once */
#define RCHAR_FRAME_FIRST	0x02	/* MSG: first fragment */
#define RCHAR_FRAME_LAST	0x04	/* MSG: last fragment */
#define RCHAR_FRAME_FLAGS	0x07	/* of MSG */
#define RCHAR_FRAME_INSTEAD	0x08	/* DATA: bytes of the RNDV before, in its place */

#define RCHAR_OPEN_NOSEND	0x01	/* opened read-only: as if FIN followed */
#define RCHAR_OPEN_NORECV	0x02	/* opened write-only: as if STOP followed */
#define RCHAR_OPEN_FLAGS	0x03

/* Capabilities: none in version 1.0. */
#define RCHAR_CAP_NONE		0

#endif /* RCHAR_WIRE_H */
