/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The wire format, protocol version 1. All integers are little endian, all fields are naturally
 * aligned, and all reserved fields are zero. Documentation/protocol.rst describes the protocol;
 * frame.c and privdata.c check the fields that arrive.
 */
#ifndef RCHAR_WIRE_H
#define RCHAR_WIRE_H

#include <linux/types.h>
#include "ops.h"

#define RCHAR_WIRE_MAGIC      0x52484352u /* "RCHR" */
#define RCHAR_WIRE_MAJOR      1
#define RCHAR_WIRE_MINOR      0
#define RCHAR_WIRE_NONCE_LEN  16
#define RCHAR_WIRE_MAC_LEN    32
#define RCHAR_WIRE_PUBLIC_LEN 32 /* public key of X25519 (RFC 7748) */
#define RCHAR_WIRE_TAG_LEN    16 /* tag of ChaCha20-Poly1305 (RFC 8439) */
#define RCHAR_WIRE_NAME_LEN   32 /* zero padded */

/* Limits of the values that a peer may announce for its receive side. */
#define RCHAR_WIRE_DEPTH_MIN	4
#define RCHAR_WIRE_DEPTH_MAX	4096
/* The most credits that a host uses at once, and that one with RCHAR_CAP_GROWS grants. */
#define RCHAR_WIRE_CREDITS_MAX	128
/* Payload bytes of a small receive buffer; a large one has frame_size bytes. */
#define RCHAR_WIRE_SMALL	4096
#define RCHAR_WIRE_FRAME_MIN	1024
#define RCHAR_WIRE_FRAME_MAX	(1u << 20)
#define RCHAR_WIRE_LANES_MAX	16
/* Largest receive window of a session: half the 32-bit space of byte offsets. */
#define RCHAR_WIRE_WINDOW_MAX	(1u << 30)
#define RCHAR_WIRE_MESSAGE_MAX	(64u << 20)
/*
 * The last fragment of a message takes this many bytes of the window in addition to its length:
 * about the memory that a small message uses. The window thus bounds many small messages, too.
 */
#define RCHAR_WIRE_MESSAGE_COST 256

/*
 * Private data of the connection request and, with the same layout, of the reply. An InfiniBand
 * CM REQ leaves 56 bytes to a user of IP addresses (IBTA vol 1 A11).
 */
struct rchar_wire_privdata {
	__le32 magic;
	__u8 major;
	__u8 minor;
	__u8 lane;	   /* index of the lane that this connection serves */
	__u8 lanes;	   /* number of lanes that the sender wants */
	__le64 link_id;	   /* chosen by the initiator, random */
	__le32 epoch;	   /* chosen by the acceptor; 0: the initiator has no epoch */
	__le32 attempt;	   /* counted by the initiator; echoed */
	__le32 caps;	   /* RCHAR_CAP_*, unknown bits are ignored; keepalive: bits 24 to 31 */
	__le32 frame_size; /* payload bytes of a (large) receive buffer */
	__le16 depth;	   /* receive buffers posted: the peer's first credits */
	__le16 key;	   /* id of the key that authenticates this; 0: none */
	__le32 resume;	   /* next sequence number expected from the peer */
	__u8 nonce[RCHAR_WIRE_NONCE_LEN]; /* with a key, the last 8 bytes are a tag: auth.h */
};

/* Private data of the reply on an encrypted connection (at most 196 bytes). */
struct rchar_wire_reply {
	struct rchar_wire_privdata privdata;
	__u8 public[RCHAR_WIRE_PUBLIC_LEN];
};

/* Private data of a reject (at most 148 bytes). */
struct rchar_wire_reject {
	__le32 magic;
	__u8 major; /* the newest version that the sender supports */
	__u8 minor;
	__le16 reason; /* enum rchar_reason */
	__le32 error;  /* errno, asm-generic numbering, for logs */
	__le32 reserved;
};

/*
 * One SEND is one frame: this header, then len bytes of payload. On an encrypted connection the tag
 * stands between them.
 */
struct rchar_wire_hdr {
	__u8 op;	/* enum rchar_op */
	__u8 flags;	/* RCHAR_FRAME_* */
	__le16 credits; /* receive buffers newly posted by the sender */
	__le32 len;
	__le32 session; /* 0 in frames about the lane */
	__le32 seq;	/* 0 in frames that are not sequenced */
	__le32 ack;	/* next sequence number that the sender expects */
	__le32 window;	/* offset up to which the receiver may send in this session */
};

/* A header with the tag, which covers header and payload. HELLO is not sealed: zeros. */
struct rchar_wire_sealed_hdr {
	struct rchar_wire_hdr hdr;
	__u8 tag[RCHAR_WIRE_TAG_LEN];
};

/* HELLO and READY. */
struct rchar_wire_hello {
	__u8 nonce[RCHAR_WIRE_NONCE_LEN]; /* from the receiver's private data */
	__u8 mac[RCHAR_WIRE_MAC_LEN];	  /* zero without a key */
};

/* HELLO on an encrypted connection. */
struct rchar_wire_hello_public {
	struct rchar_wire_hello hello;
	__u8 public[RCHAR_WIRE_PUBLIC_LEN];
};

struct rchar_wire_open {
	__u8 type;  /* enum rchar_channel_type */
	__u8 flags; /* RCHAR_OPEN_* */
	__u8 reserved[2];
	__le32 max_message; /* of the opener's channel; 0 for streams */
	__u8 name[RCHAR_WIRE_NAME_LEN];
};

/* Both directions use the smaller of the two channels' max_message. */
struct rchar_wire_opened {
	__le32 max_message; /* the smaller limit of both channels; 0 for streams */
	__u8 reserved[4];
};

/* Follows struct rchar_wire_opened in the OPENED of a memory channel. */
struct rchar_wire_region {
	__le64 size;  /* bytes */
	__u8 access;  /* enum rchar_access */
	__u8 atomics; /* enum rchar_atomics */
	__u8 by_call; /* RCHAR_BY_CALL_*; without it, by RDMA with the keys of MAP */
	__u8 reserved[5];
};

/* MAP: keys of the region's blocks, valid on one connection. */
struct rchar_wire_map {
	__le32 attempt; /* identifies the connection: attempt of its private data */
	__le32 first;	/* index of the first block */
	__le32 count;	/* keys that follow, one for each block */
	__u8 shift;	/* a block has 1 << shift bytes; offsets in a block start at 0 */
	__u8 reserved[3];
	__le32 keys[];
};

/* CALL: ask the exporter's kernel to execute an operation. */
struct rchar_wire_call {
	__u8 call; /* enum rchar_call */
	__u8 reserved[3];
	__le32 id;     /* chosen by the caller; echoed */
	__le64 offset; /* of the word, a multiple of 8, or of the bytes; else 0 */
	__le64 operand;
	__le64 compare;
};

/* RNDV offers a rendezvous: the receiver can READ the next bytes from the sender's memory. */
struct rchar_wire_rndv {
	__le32 id;	/* chosen by the sender; echoed */
	__le32 attempt; /* identifies the connection on which the key is valid */
	__le32 key;
	__le32 offset; /* where the bytes begin, under the key */
	__le32 len;    /* bytes */
	__le32 reserved;
};

struct rchar_wire_rndv_done {
	__le32 id;
	__le32 status; /* enum rchar_rndv_status */
};

enum rchar_rndv_status {
	RCHAR_RNDV_OK,	    /* the receiver has the bytes */
	RCHAR_RNDV_REFUSED, /* the receiver wants the bytes in frames */
	__RCHAR_RNDV_STATUS_MAX
};

/*
 * Limits of the length of one RNDV. A shorter rendezvous would use more memory than the number of
 * bytes that the window counts.
 */
#define RCHAR_WIRE_RNDV_MIN (64u << 10)
#define RCHAR_WIRE_RNDV_MAX (1u << 20)

struct rchar_wire_result {
	__le32 id;
	__le32 status; /* enum rchar_call_status */
	__le64 old;    /* the word before the call */
};

enum rchar_call {
	RCHAR_CALL_FENCE = 1, /* no operation: RESULT shows that earlier writes are complete */
	RCHAR_CALL_ADD,
	RCHAR_CALL_CAS,
	RCHAR_CALL_RING, /* ring the doorbell; operand: 32-bit value for the exporter */
	/* only as struct rchar_wire_region.by_call says; operand: bytes at offset */
	RCHAR_CALL_READ,  /* the bytes follow struct rchar_wire_result */
	RCHAR_CALL_WRITE, /* the bytes follow struct rchar_wire_call */
	__RCHAR_CALL_MAX
};

enum rchar_call_status {
	RCHAR_CALL_OK,
	RCHAR_CALL_RANGE, /* outside of the region */
	RCHAR_CALL_READ_ONLY,
	RCHAR_CALL_UNSUPPORTED, /* the device executes atomics of this region, not the kernel */
	__RCHAR_CALL_STATUS_MAX
};

/* Most bytes of one READ or WRITE, and how many of them an importer may have under way at once. */
#define RCHAR_WIRE_PIECE_MAX  (60u << 10)
#define RCHAR_WIRE_PIECES_MAX 8

/* Limits of the size of a block: 4 KiB to 1 GiB. */
#define RCHAR_WIRE_BLOCK_SHIFT_MIN 12
#define RCHAR_WIRE_BLOCK_SHIFT_MAX 30
/* Maximum number of blocks of a region: the importer needs memory for their keys. */
#define RCHAR_WIRE_BLOCKS_MAX	   (1u << 20)
/* Maximum number of keys in one MAP: with the header, MAP is smaller than a page. */
#define RCHAR_WIRE_MAP_KEYS	   1000

/* REFUSED and RESET. */
struct rchar_wire_status {
	__le32 reason; /* enum rchar_reason */
	__le32 error;  /* errno, asm-generic numbering, for logs */
};

#define RCHAR_OPEN_NOSEND 0x01 /* opened read-only: as if FIN followed */
#define RCHAR_OPEN_NORECV 0x02 /* opened write-only: as if STOP followed */
#define RCHAR_OPEN_FLAGS  0x03

#define RCHAR_BY_CALL_READ  0x01 /* the exporter's kernel executes reads */
#define RCHAR_BY_CALL_WRITE 0x02 /* the exporter's kernel executes writes; then also reads */
#define RCHAR_BY_CALL_FLAGS 0x03

/* Capabilities. */
#define RCHAR_CAP_ENCRYPTED  0x01 /* the connection is encrypted; reply: and so is this side */
#define RCHAR_CAP_INVALIDATE 0x02 /* RNDV_DONE may be a SEND that invalidates the key of RNDV */
#define RCHAR_CAP_GROWS	     0x04 /* the buffers posted at first are small; large ones may follow */

/* Bits of caps with the seconds of silence after which the sender wants PING; 0: no wish. */
#define RCHAR_CAPS_KEEPALIVE_SHIFT 24
#define RCHAR_CAPS_KEEPALIVE_MASK  0xff000000u

#endif /* RCHAR_WIRE_H */
