/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * rdma_char - RDMA as a file: what user space shares with the module.
 *
 * The netlink part follows Documentation/netlink/specs/rdma_char.yaml, which is
 * the place to change it first. Numbers are never reused or renumbered.
 */
#ifndef _UAPI_LINUX_RDMA_CHAR_H
#define _UAPI_LINUX_RDMA_CHAR_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define RCHAR_GENL_NAME		"rchar"
#define RCHAR_GENL_VERSION	1
#define RCHAR_MCGRP_MONITOR	"monitor"

/* TCP-like port in the RDMA_PS_TCP space of the connection manager. */
#define RCHAR_PORT		7471

/* Longest channel name in bytes, without the terminating NUL. */
#define RCHAR_NAME_MAX		31

enum rchar_channel_type {
	RCHAR_TYPE_STREAM = 1,	/* bytes in order */
	RCHAR_TYPE_MESSAGE,	/* boundaries kept */
	RCHAR_TYPE_MEMORY,	/* a remote region */
};

enum rchar_role {
	RCHAR_ROLE_LISTEN = 1,	/* waits at a local address */
	RCHAR_ROLE_CONNECT,	/* calls a peer's channel */
};

/* Memory channels: what those who connect may do. */
enum rchar_access {
	RCHAR_ACCESS_RO = 1,
	RCHAR_ACCESS_RW,
};

/* Memory channels: who executes the atomic operations of those who connect. */
enum rchar_atomics {
	RCHAR_ATOMICS_SW = 1,	/* the kernel of the host that listens */
	RCHAR_ATOMICS_HW,	/* its RDMA device */
};

/* Largest region of a memory channel, bytes. */
#define RCHAR_REGION_SIZE_MAX	(1ULL << 39)

/* What a channel is doing, derived from its listener or link. */
enum rchar_channel_state {
	RCHAR_CHANNEL_WAITING = 1,	/* listen: no such address or device yet */
	RCHAR_CHANNEL_LISTENING,
	RCHAR_CHANNEL_CONNECTING,
	RCHAR_CHANNEL_UP,
	RCHAR_CHANNEL_RETRYING,		/* connect: the next attempt is scheduled */
	RCHAR_CHANNEL_DELETED,
};

enum rchar_link_state {
	RCHAR_LINK_DOWN = 1,	/* waiting for the next attempt, or for the peer's */
	RCHAR_LINK_CONNECTING,	/* a lane is resolving, connecting or shaking hands */
	RCHAR_LINK_UP,
	RCHAR_LINK_DYING,	/* no users left, or the module goes */
};

enum rchar_session_state {
	RCHAR_SESSION_ACCEPTING = 1,	/* opened here, waits for a peer */
	RCHAR_SESSION_OPENING,		/* opened here, waits for the peer's answer */
	RCHAR_SESSION_WAITING,		/* opened by the peer, waits for open() here */
	RCHAR_SESSION_OPEN,
	RCHAR_SESSION_CLOSING,		/* closed here, queued bytes still go out */
	RCHAR_SESSION_DEAD,
};

/*
 * Why something is not, or no longer, working. Also on the wire, in REFUSED and
 * RESET frames and in rejected connection requests (there as 16 bits).
 */
enum rchar_reason {
	RCHAR_REASON_NONE,
	RCHAR_REASON_ADMIN,		/* asked for with rchar */
	RCHAR_REASON_UNLOAD,		/* the module is being removed */
	RCHAR_REASON_NO_MEMORY,
	RCHAR_REASON_NO_DEVICE,		/* no RDMA device has that local address */
	RCHAR_REASON_DEVICE_REMOVED,
	RCHAR_REASON_ADDRESS_IN_USE,	/* somebody else listens at this port */
	RCHAR_REASON_ADDRESS,		/* the peer's address cannot be resolved */
	RCHAR_REASON_ROUTE,		/* no RDMA route to the peer */
	RCHAR_REASON_UNREACHABLE,	/* the peer does not answer */
	RCHAR_REASON_NOT_LISTENING,	/* the peer answers: nobody listens at that port */
	RCHAR_REASON_REJECTED,		/* the peer's connection manager said no */
	RCHAR_REASON_TIMEOUT,		/* no answer within the time allowed */
	RCHAR_REASON_VERSION,		/* the peer speaks another protocol version */
	RCHAR_REASON_PROTOCOL,		/* the peer broke the protocol */
	RCHAR_REASON_BUSY,		/* the peer still closes the old connection, or has too many */
	RCHAR_REASON_KEEPALIVE,		/* the peer fell silent */
	RCHAR_REASON_QP_ERROR,		/* the queue pair failed: link, cable, peer */
	RCHAR_REASON_PEER_CLOSED,	/* the peer disconnected */
	RCHAR_REASON_PEER_RESTARTED,	/* the peer no longer knows this link */
	RCHAR_REASON_RECOVERY_TIMEOUT,	/* the link stayed down too long */
	RCHAR_REASON_NO_CHANNEL,	/* the peer has no channel of that name */
	RCHAR_REASON_WRONG_TYPE,	/* the peer's channel has another type */
	RCHAR_REASON_BACKLOG,		/* too many sessions wait there: tried again */
	RCHAR_REASON_DELETED,		/* the channel was deleted */
	RCHAR_REASON_CLOSED,		/* the opener or program gave up */
	RCHAR_REASON_LINGER,		/* closed, and the rest could not be sent in time */
	RCHAR_REASON_WINDOW,		/* the peer sent more than its window, or too long a message */
	RCHAR_REASON_ADDRESS_CHANGED,	/* the address moved to another device or host */
	RCHAR_REASON_NO_ATOMICS,	/* the peer's device cannot execute atomic operations */
	RCHAR_REASON_PEER_LIMIT,	/* one host made the other hold as much as it may */

	__RCHAR_REASON_MAX
};

/*
 * ioctls on a channel's file. FIONREAD and TIOCOUTQ work as on a socket: bytes
 * waiting to be read, and bytes written that the peer's kernel has not
 * acknowledged.
 */
#define RCHAR_IOC_MAGIC		0xB7

#define RCHAR_SHUT_RD		1
#define RCHAR_SHUT_WR		2

/* Half-close; the argument is RCHAR_SHUT_RD, RCHAR_SHUT_WR or both. */
#define RCHAR_IOC_SHUTDOWN	_IO(RCHAR_IOC_MAGIC, 1)

/*
 * About the session of a file. Fields are only ever added at the end: a program built
 * with an older header gets the beginning, one built with a newer header gets zeros
 * behind what the module knows. So 0 means "not known" in every later field.
 */
struct rchar_info {
	__u32 type;			/* enum rchar_channel_type */
	__u32 role;			/* enum rchar_role */
	__u32 state;			/* enum rchar_session_state */
	__u32 reason;			/* enum rchar_reason, when it has ended */
	__u32 shut;			/* RCHAR_SHUT_*: halves closed on this side */
	__u32 peer_shut;		/* RCHAR_SHUT_*: halves closed by the peer */
	__u32 window;			/* bytes this side may hold unread */
	__u32 max_message;		/* longest message, bytes; 0 for streams */
	__u32 rx_queued;		/* bytes received and not read */
	__u32 tx_unacked;		/* bytes written and not acknowledged */
	__u32 tx_room;			/* bytes the windows have room for; see state and shut */
	__u32 session;			/* id on the link; 0 while accepting */
	__u64 link;			/* id; 0 while accepting */
	char name[RCHAR_NAME_MAX + 1];	/* of the channel */
	__u8 peer[32];			/* sockaddr_in or _in6; family 0 while accepting */
	__u8 local[32];			/* likewise; family 0: any */
	__u64 size;			/* memory: bytes of the region */
	__u32 access;			/* memory: enum rchar_access */
	__u32 importers;		/* memory, listening: sessions of peers */
};

#define RCHAR_IOC_INFO		_IOR(RCHAR_IOC_MAGIC, 2, struct rchar_info)

#define RCHAR_ATOMIC_ADD	1	/* fetch and add */
#define RCHAR_ATOMIC_CAS	2	/* compare and swap */

/* One atomic operation on a 64-bit word of a region, in the exporter's byte order. */
struct rchar_atomic {
	__u32 op;		/* RCHAR_ATOMIC_* */
	__u32 flags;		/* 0 */
	__u64 offset;		/* a multiple of 8 */
	__u64 operand;		/* ADD: what to add; CAS: the new value */
	__u64 compare;		/* CAS: only if the word is that */
	__u64 old;		/* out: what the word was before */
};

#define RCHAR_IOC_ATOMIC	_IOWR(RCHAR_IOC_MAGIC, 3, struct rchar_atomic)

/* Connecting memory channel: ring at the exporter; the argument is a 32-bit value. */
#define RCHAR_IOC_NOTIFY	_IO(RCHAR_IOC_MAGIC, 4)

/* Listening memory channel: fetch the rings since this file's last fetch. */
struct rchar_rings {
	__u64 count;		/* how many */
	__u32 last;		/* the value of the last one ever */
	__u32 reserved;
};

#define RCHAR_IOC_RINGS		_IOR(RCHAR_IOC_MAGIC, 5, struct rchar_rings)

/* ---- generic netlink ---- */

enum rchar_cmd {
	RCHAR_CMD_CHANNEL_GET = 1,
	RCHAR_CMD_CHANNEL_NEW,
	RCHAR_CMD_CHANNEL_SET,
	RCHAR_CMD_CHANNEL_DEL,
	RCHAR_CMD_LINK_GET,
	RCHAR_CMD_LINK_RESET,
	RCHAR_CMD_SESSION_GET,
	RCHAR_CMD_SESSION_KILL,
	RCHAR_CMD_INFO_GET,
	/* events, multicast to the group "monitor" */
	RCHAR_CMD_CHANNEL_NEW_NTF,
	RCHAR_CMD_CHANNEL_SET_NTF,
	RCHAR_CMD_CHANNEL_DEL_NTF,
	RCHAR_CMD_CHANNEL_STATE_NTF,
	RCHAR_CMD_LINK_STATE_NTF,
	RCHAR_CMD_SESSION_STATE_NTF,

	__RCHAR_CMD_MAX
};

/* Addresses are a struct sockaddr_in or sockaddr_in6, at its exact length. */
enum rchar_channel_attr {
	RCHAR_A_CHANNEL_PAD = 1,
	RCHAR_A_CHANNEL_NAME,			/* string */
	RCHAR_A_CHANNEL_TYPE,			/* u32 enum rchar_channel_type */
	RCHAR_A_CHANNEL_ROLE,			/* u32 enum rchar_role */
	RCHAR_A_CHANNEL_LOCAL,			/* sockaddr */
	RCHAR_A_CHANNEL_PEER,			/* sockaddr */
	RCHAR_A_CHANNEL_REMOTE,			/* string: the channel's name at the peer */
	RCHAR_A_CHANNEL_STATE,			/* u32 enum rchar_channel_state */
	RCHAR_A_CHANNEL_REASON,			/* u32 enum rchar_reason, the last one */
	RCHAR_A_CHANNEL_REASON_AGE_MS,		/* u64 */
	RCHAR_A_CHANNEL_MODE,			/* u32, permission bits of the node */
	RCHAR_A_CHANNEL_UID,			/* u32 */
	RCHAR_A_CHANNEL_GID,			/* u32 */
	RCHAR_A_CHANNEL_WINDOW,			/* u32, bytes each session may hold unread */
	RCHAR_A_CHANNEL_BACKLOG,		/* u32, sessions that may wait for open() */
	RCHAR_A_CHANNEL_OPEN_TIMEOUT_MS,	/* u32 */
	RCHAR_A_CHANNEL_RECOVERY_TIMEOUT_MS,	/* u32 */
	RCHAR_A_CHANNEL_LINGER_MS,		/* u32 */
	RCHAR_A_CHANNEL_DEV_MAJOR,		/* u32 */
	RCHAR_A_CHANNEL_DEV_MINOR,		/* u32 */
	RCHAR_A_CHANNEL_SESSIONS,		/* u32, in any state */
	RCHAR_A_CHANNEL_WAITING,		/* u32, of these, waiting for open() */
	RCHAR_A_CHANNEL_LINK_ID,		/* u64, as RCHAR_A_LINK_ID */
	RCHAR_A_CHANNEL_STATS,			/* nest of enum rchar_stats_attr */
	RCHAR_A_CHANNEL_MAX_MESSAGE,		/* u32, bytes; message channels only */
	RCHAR_A_CHANNEL_SIZE,			/* u64, bytes; memory channels that listen */
	RCHAR_A_CHANNEL_ACCESS,			/* u32 enum rchar_access; likewise */
	RCHAR_A_CHANNEL_ATOMICS,		/* u32 enum rchar_atomics; likewise */
	RCHAR_A_CHANNEL_PINNED,			/* u64, bytes of programs' memory in use; memory channels */
	RCHAR_A_CHANNEL_RENDEZVOUS_MIN,		/* u32, bytes of a write; 0: never; stream channels only */

	__RCHAR_A_CHANNEL_MAX
};

enum rchar_link_attr {
	RCHAR_A_LINK_PAD = 1,
	RCHAR_A_LINK_ID,		/* u64: its number on this host, never reused */
	RCHAR_A_LINK_INITIATOR,		/* u32: 1 when this host calls, 0 when it is called */
	RCHAR_A_LINK_LOCAL,		/* sockaddr */
	RCHAR_A_LINK_PEER,		/* sockaddr */
	RCHAR_A_LINK_STATE,		/* u32 enum rchar_link_state */
	RCHAR_A_LINK_REASON,		/* u32 enum rchar_reason: of the last failure */
	RCHAR_A_LINK_REASON_AGE_MS,	/* u64 */
	RCHAR_A_LINK_EPOCH,		/* u32; only for CAP_NET_ADMIN, and not in events */
	RCHAR_A_LINK_ATTEMPTS,		/* u32, failed in a row */
	RCHAR_A_LINK_NEXT_MS,		/* u32, until the next attempt */
	RCHAR_A_LINK_SESSIONS,		/* u32 */
	RCHAR_A_LINK_LANE,		/* nest of enum rchar_lane_attr, one for each */
	RCHAR_A_LINK_STATS,		/* nest of enum rchar_stats_attr */
	RCHAR_A_LINK_WIRE_ID,		/* u64: the same at both ends; as RCHAR_A_LINK_EPOCH */

	__RCHAR_A_LINK_MAX
};

enum rchar_lane_attr {
	RCHAR_A_LANE_INDEX = 1,		/* u32 */
	RCHAR_A_LANE_DEVICE,		/* string: name of the RDMA device */
	RCHAR_A_LANE_DEVICE_PORT,	/* u32 */
	RCHAR_A_LANE_QPN,		/* u32; as RCHAR_A_LINK_EPOCH */
	RCHAR_A_LANE_TX_CREDITS,	/* u32: frames that may be sent now */
	RCHAR_A_LANE_UNACKED,		/* u32: frames kept until the peer has them */
	RCHAR_A_LANE_FRAME_SIZE,	/* u32: payload bytes of a frame to the peer */
	RCHAR_A_LANE_DEPTH,		/* u32: receive buffers posted here */

	__RCHAR_A_LANE_MAX
};

enum rchar_session_attr {
	RCHAR_A_SESSION_PAD = 1,
	RCHAR_A_SESSION_LINK_ID,	/* u64, as RCHAR_A_LINK_ID */
	RCHAR_A_SESSION_ID,		/* u32 */
	RCHAR_A_SESSION_INITIATOR,	/* u32: as for links */
	RCHAR_A_SESSION_CHANNEL,	/* string */
	RCHAR_A_SESSION_STATE,		/* u32 enum rchar_session_state */
	RCHAR_A_SESSION_REASON,		/* u32 enum rchar_reason */
	RCHAR_A_SESSION_PEER,		/* sockaddr */
	RCHAR_A_SESSION_RX_QUEUED,	/* u64, bytes received and not read */
	RCHAR_A_SESSION_RX_MEMORY,	/* u64, bytes of memory that hold them */
	RCHAR_A_SESSION_TX_UNACKED,	/* u64, bytes written and not acknowledged */
	RCHAR_A_SESSION_TX_WINDOW,	/* u64, bytes that may be written now */
	RCHAR_A_SESSION_AGE_MS,		/* u64 */

	__RCHAR_A_SESSION_MAX
};

/* All u64, never reset. */
enum rchar_stats_attr {
	RCHAR_A_STATS_PAD = 1,
	RCHAR_A_STATS_RX_BYTES,
	RCHAR_A_STATS_TX_BYTES,
	RCHAR_A_STATS_RX_FRAMES,
	RCHAR_A_STATS_TX_FRAMES,
	RCHAR_A_STATS_SESSIONS,		/* opened so far */
	RCHAR_A_STATS_OPEN_ERRORS,
	RCHAR_A_STATS_RESETS,		/* sessions that ended by RESET */
	RCHAR_A_STATS_CONNECTS,		/* links: times it came up */
	RCHAR_A_STATS_FAILURES,		/* links: attempts and connections that failed */
	RCHAR_A_STATS_REPLAYED,		/* frames sent again after a reconnect */
	RCHAR_A_STATS_DUPLICATES,	/* frames received again and dropped */
	RCHAR_A_STATS_BAD_FRAMES,	/* frames refused */
	RCHAR_A_STATS_CREDIT_STALLS,	/* times a frame had to wait for a credit */
	RCHAR_A_STATS_STRAY_FRAMES,	/* frames for sessions that are gone */
	RCHAR_A_STATS_READS,		/* memory: read operations */
	RCHAR_A_STATS_WRITES,		/* memory: write operations */
	RCHAR_A_STATS_CALLS,		/* memory: atomic operations, rings and fences */
	RCHAR_A_STATS_RENDEZVOUS_SENT,		/* streams: pieces that the peer read from the writer's memory */
	RCHAR_A_STATS_RENDEZVOUS_PLACED,		/* streams: those that went to a reader's memory without a copy */

	__RCHAR_A_STATS_MAX
};

/* INFO_GET: about the module. */
enum rchar_info_attr {
	RCHAR_A_INFO_PAD = 1,
	RCHAR_A_INFO_VERSION,		/* string */
	RCHAR_A_INFO_PROTOCOL,		/* u32: major << 8 | minor */
	RCHAR_A_INFO_CHANNELS,		/* u32 */
	RCHAR_A_INFO_LINKS,		/* u32 */
	RCHAR_A_INFO_DEVICES,		/* u32, RDMA devices present */
	RCHAR_A_INFO_REQUESTS_ACCEPTED,	/* u64 */
	RCHAR_A_INFO_REQUESTS_REFUSED,	/* u64, connection requests turned down */
	RCHAR_A_INFO_REQUESTS_BAD,	/* u64, of these, with private data not ours */
	RCHAR_A_INFO_BAD_FRAMES,	/* u64, frames refused, on all links ever */
	RCHAR_A_INFO_PEER_MEMORY,	/* u64, bytes that peers make this host hold */

	__RCHAR_A_INFO_MAX
};

#define RCHAR_CMD_MAX		(__RCHAR_CMD_MAX - 1)
#define RCHAR_A_CHANNEL_MAX	(__RCHAR_A_CHANNEL_MAX - 1)
#define RCHAR_A_LINK_MAX	(__RCHAR_A_LINK_MAX - 1)
#define RCHAR_A_LANE_MAX	(__RCHAR_A_LANE_MAX - 1)
#define RCHAR_A_SESSION_MAX	(__RCHAR_A_SESSION_MAX - 1)
#define RCHAR_A_STATS_MAX	(__RCHAR_A_STATS_MAX - 1)
#define RCHAR_A_INFO_MAX	(__RCHAR_A_INFO_MAX - 1)

#endif /* _UAPI_LINUX_RDMA_CHAR_H */
