/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * rdma_char - RDMA as a file: the interface between programs and the module.
 *
 * Documentation/netlink/specs/rdma_char.yaml specifies the netlink part. Change the
 * specification first. Numbers are never reused or renumbered.
 */
#ifndef _UAPI_LINUX_RDMA_CHAR_H
#define _UAPI_LINUX_RDMA_CHAR_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define RCHAR_GENL_NAME		"rchar"
#define RCHAR_GENL_VERSION	1
#define RCHAR_MCGRP_MONITOR	"monitor"

/* Default port, in the RDMA_PS_TCP port space of the RDMA connection manager. */
#define RCHAR_PORT		7471

/* Longest channel name in bytes, without the terminating NUL. */
#define RCHAR_NAME_MAX		31

/* Bytes of a key: a secret that two hosts share. */
#define RCHAR_KEY_LEN		32

/* Keys, and address prefixes, that one channel may list. */
#define RCHAR_KEYS_MAX		64
#define RCHAR_PREFIXES_MAX	64

/* Peer addresses that a listening channel allows. */
struct rchar_prefix {
	__u16 family;			/* AF_INET or AF_INET6; AF_UNSPEC alone: every address */
	__u8 bits;			/* leading bits of addr that count: 0 to 32 or 128 */
	__u8 reserved;			/* must be 0 */
	__u8 addr[16];			/* network byte order; IPv4 uses 4 bytes */
};

enum rchar_channel_type {
	RCHAR_TYPE_STREAM = 1,	/* an ordered sequence of bytes */
	RCHAR_TYPE_MESSAGE,	/* messages, with their boundaries */
	RCHAR_TYPE_MEMORY,	/* a region of memory that peers read and write */
};

enum rchar_role {
	RCHAR_ROLE_LISTEN = 1,	/* accepts sessions at a local address */
	RCHAR_ROLE_CONNECT,	/* opens sessions to a channel of a peer */
};

/* Memory channels: access that importers have to the region. */
enum rchar_access {
	RCHAR_ACCESS_RO = 1,	/* read only */
	RCHAR_ACCESS_RW,	/* read, write and atomic operations */
};

/* Memory channels: the executor of the importers' atomic operations. */
enum rchar_atomics {
	RCHAR_ATOMICS_SW = 1,	/* the exporter's kernel */
	RCHAR_ATOMICS_HW,	/* the exporter's RDMA device */
};

enum rchar_encrypt {
	RCHAR_ENCRYPT_OFF = 1,	/* sessions use links that are not encrypted */
	RCHAR_ENCRYPT_ON,	/* sessions use encrypted links */
};

/* Largest region of a memory channel, in bytes. */
#define RCHAR_REGION_SIZE_MAX	(1ULL << 39)

/* State of a channel, derived from the state of its listener or link. */
enum rchar_channel_state {
	RCHAR_CHANNEL_WAITING = 1,	/* listen: no such local address or device yet */
	RCHAR_CHANNEL_LISTENING,
	RCHAR_CHANNEL_CONNECTING,
	RCHAR_CHANNEL_UP,
	RCHAR_CHANNEL_RETRYING,		/* connect: the next attempt is scheduled */
	RCHAR_CHANNEL_DELETED,
};

enum rchar_link_state {
	RCHAR_LINK_DOWN = 1,	/* waits for the next attempt of this host or of the peer */
	RCHAR_LINK_CONNECTING,	/* a lane is resolving, connecting or shaking hands */
	RCHAR_LINK_UP,
	RCHAR_LINK_DYING,	/* no users are left, or the module is being removed */
};

enum rchar_session_state {
	RCHAR_SESSION_ACCEPTING = 1,	/* opened on this host, waits for a peer */
	RCHAR_SESSION_OPENING,		/* opened on this host, waits for the peer's answer */
	RCHAR_SESSION_WAITING,		/* opened by the peer, waits for open() on this host */
	RCHAR_SESSION_OPEN,
	RCHAR_SESSION_CLOSING,		/* closed on this host, still sends queued bytes */
	RCHAR_SESSION_DEAD,
};

/*
 * The reason why a channel, link or session does not work, or has ended. The values also
 * appear on the wire: in REFUSED and RESET frames with 32 bits, and in rejected connection
 * requests with 16 bits.
 */
enum rchar_reason {
	RCHAR_REASON_NONE,
	RCHAR_REASON_ADMIN,		/* requested by an administrator with rchar */
	RCHAR_REASON_UNLOAD,		/* the module is being removed */
	RCHAR_REASON_NO_MEMORY,
	RCHAR_REASON_NO_DEVICE,		/* no RDMA device has the local address */
	RCHAR_REASON_DEVICE_REMOVED,
	RCHAR_REASON_ADDRESS_IN_USE,	/* another listener uses the port */
	RCHAR_REASON_ADDRESS,		/* an address is unresolved or not that of its device */
	RCHAR_REASON_ROUTE,		/* no RDMA route to the peer */
	RCHAR_REASON_UNREACHABLE,	/* the peer does not answer */
	RCHAR_REASON_NOT_LISTENING,	/* the peer answers, but has no listener at the port */
	RCHAR_REASON_REJECTED,		/* the peer refused without a known reason */
	RCHAR_REASON_TIMEOUT,		/* the time limit of an operation expired */
	RCHAR_REASON_VERSION,		/* the peer uses another protocol version */
	RCHAR_REASON_PROTOCOL,		/* the peer violated the protocol */
	RCHAR_REASON_BUSY,		/* the peer still closes a connection, or has too many */
	RCHAR_REASON_KEEPALIVE,		/* the peer stopped answering */
	RCHAR_REASON_QP_ERROR,		/* the queue pair failed: device, cable or peer */
	RCHAR_REASON_PEER_CLOSED,	/* the peer disconnected */
	RCHAR_REASON_PEER_RESTARTED,	/* the peer no longer knows this link */
	RCHAR_REASON_RECOVERY_TIMEOUT,	/* the link stayed down too long */
	RCHAR_REASON_NO_CHANNEL,	/* the peer has no channel of that name */
	RCHAR_REASON_WRONG_TYPE,	/* the peer's channel has another type */
	RCHAR_REASON_BACKLOG,		/* too many sessions wait at the peer; open() tries again */
	RCHAR_REASON_DELETED,		/* the channel was deleted */
	RCHAR_REASON_CLOSED,		/* the opener gave up, or the link is unused */
	RCHAR_REASON_LINGER,		/* closed, and not all bytes were acknowledged in time */
	RCHAR_REASON_WINDOW,		/* the peer exceeded a window or the message limit */
	RCHAR_REASON_ADDRESS_CHANGED,	/* the address moved to another device or host */
	RCHAR_REASON_NO_ATOMICS,	/* the exporter's device cannot, or another does */
	RCHAR_REASON_PEER_LIMIT,	/* a host holds as much for its peer as it may */
	/* the key is missing or wrong, or does not allow the channel, which may not exist */
	RCHAR_REASON_NOT_AUTHORISED,
	RCHAR_REASON_KEY_DELETED,	/* the key of the link was deleted on this host */
	RCHAR_REASON_ENCRYPTION,	/* one host encrypts, and the other does not */
	RCHAR_REASON_DEVICE_LIMITS,	/* the device cannot carry a connection; the log says why */
	RCHAR_REASON_PORT_DOWN,		/* the port of the device went down: cable, switch, admin */

	__RCHAR_REASON_MAX
};

/*
 * ioctls on a channel's file. FIONREAD and TIOCOUTQ work as on a socket. FIONREAD returns the
 * bytes that wait to be read, or the length of the next message. TIOCOUTQ returns the bytes
 * written that the peer's kernel has not acknowledged.
 */
#define RCHAR_IOC_MAGIC		0xBB

#define RCHAR_SHUT_RD		1
#define RCHAR_SHUT_WR		2

/* Half-close; the argument is RCHAR_SHUT_RD, RCHAR_SHUT_WR or both. */
#define RCHAR_IOC_SHUTDOWN	_IO(RCHAR_IOC_MAGIC, 1)

/*
 * Information about the session of a file. New versions only add fields at the end. A program
 * built with an older header receives the fields of that header. A program built with a newer
 * header receives zeros in all fields that the module does not know. So 0 means "not known" in
 * every later field.
 */
struct rchar_info {
	__u32 type;			/* enum rchar_channel_type */
	__u32 role;			/* enum rchar_role */
	__u32 state;			/* enum rchar_session_state */
	__u32 reason;			/* enum rchar_reason of a session that has ended */
	__u32 shut;			/* RCHAR_SHUT_*: halves closed on this side */
	__u32 peer_shut;		/* RCHAR_SHUT_*: halves closed by the peer */
	__u32 window;			/* bytes this side may hold unread */
	__u32 max_message;		/* longest message, bytes; 0 for streams */
	__u32 rx_queued;		/* bytes received and not read */
	__u32 tx_unacked;		/* bytes written and not acknowledged */
	__u32 tx_room;			/* bytes one write() may take; see state and shut */
	__u32 session;			/* id of the session on the link; 0 while accepting */
	__u64 link;			/* id of the link; 0 while accepting */
	char name[RCHAR_NAME_MAX + 1];	/* name of the channel */
	__u8 peer[32];			/* sockaddr_in or sockaddr_in6; family 0 while accepting */
	__u8 local[32];			/* sockaddr_in or sockaddr_in6; family 0: any address */
	__u64 size;			/* memory channels: bytes of the region */
	__u32 access;			/* memory channels: enum rchar_access */
	__u32 importers;		/* listening memory channels: sessions of peers */
	/* name on this host of the key that the peer proved to have; empty: none, or accepting */
	char key[RCHAR_NAME_MAX + 1];
	__u32 encrypted;		/* 1: the link is encrypted */
	__u32 reserved;
};

#define RCHAR_IOC_INFO		_IOR(RCHAR_IOC_MAGIC, 2, struct rchar_info)

#define RCHAR_ATOMIC_ADD	1	/* fetch and add */
#define RCHAR_ATOMIC_CAS	2	/* compare and swap */

/* One atomic operation on a 64-bit word of a region, in the exporter's byte order. */
struct rchar_atomic {
	__u32 op;		/* RCHAR_ATOMIC_* */
	__u32 flags;		/* must be 0 */
	__u64 offset;		/* in the region, a multiple of 8 */
	__u64 operand;		/* ADD: the addend; CAS: the new value */
	__u64 compare;		/* CAS: exchange only if the word has this value */
	__u64 old;		/* output: value of the word before the operation */
};

#define RCHAR_IOC_ATOMIC	_IOWR(RCHAR_IOC_MAGIC, 3, struct rchar_atomic)

/* Connecting memory channels: ring at the exporter; the argument is a 32-bit value. */
#define RCHAR_IOC_NOTIFY	_IO(RCHAR_IOC_MAGIC, 4)

/* Listening memory channels: fetch the rings since the open() or the last fetch of this file. */
struct rchar_rings {
	__u64 count;		/* number of rings */
	__u32 last;		/* value of the last ring, even if it was already fetched */
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
	/* events, sent to the multicast group "monitor" */
	RCHAR_CMD_CHANNEL_NEW_NTF,
	RCHAR_CMD_CHANNEL_SET_NTF,
	RCHAR_CMD_CHANNEL_DEL_NTF,
	RCHAR_CMD_CHANNEL_STATE_NTF,
	RCHAR_CMD_LINK_STATE_NTF,
	RCHAR_CMD_SESSION_STATE_NTF,

	RCHAR_CMD_KEY_GET,
	RCHAR_CMD_KEY_NEW,
	RCHAR_CMD_KEY_DEL,
	/* events */
	RCHAR_CMD_KEY_NEW_NTF,
	RCHAR_CMD_KEY_DEL_NTF,

	__RCHAR_CMD_MAX
};

/* An address is a struct sockaddr_in or struct sockaddr_in6 of exactly its own length. */
enum rchar_channel_attr {
	RCHAR_A_CHANNEL_PAD = 1,
	RCHAR_A_CHANNEL_NAME,			/* string */
	RCHAR_A_CHANNEL_TYPE,			/* u32 enum rchar_channel_type */
	RCHAR_A_CHANNEL_ROLE,			/* u32 enum rchar_role */
	RCHAR_A_CHANNEL_LOCAL,			/* sockaddr */
	RCHAR_A_CHANNEL_PEER,			/* sockaddr */
	RCHAR_A_CHANNEL_REMOTE,			/* string: the channel's name at the peer */
	RCHAR_A_CHANNEL_STATE,			/* u32 enum rchar_channel_state */
	RCHAR_A_CHANNEL_REASON,			/* u32 enum rchar_reason, the last reason */
	RCHAR_A_CHANNEL_REASON_AGE_MS,		/* u64 */
	RCHAR_A_CHANNEL_MODE,			/* u32, permission bits of the device node */
	RCHAR_A_CHANNEL_UID,			/* u32 */
	RCHAR_A_CHANNEL_GID,			/* u32 */
	RCHAR_A_CHANNEL_WINDOW,			/* u32, bytes each session may hold unread */
	RCHAR_A_CHANNEL_BACKLOG,		/* u32, sessions that may wait for open() */
	RCHAR_A_CHANNEL_OPEN_TIMEOUT_MS,	/* u32 */
	RCHAR_A_CHANNEL_RECOVERY_TIMEOUT_MS,	/* u32 */
	RCHAR_A_CHANNEL_LINGER_MS,		/* u32 */
	RCHAR_A_CHANNEL_DEV_MAJOR,		/* u32 */
	RCHAR_A_CHANNEL_DEV_MINOR,		/* u32 */
	RCHAR_A_CHANNEL_SESSIONS,		/* u32, sessions in any state */
	RCHAR_A_CHANNEL_WAITING,		/* u32, sessions that wait for open() */
	RCHAR_A_CHANNEL_LINK_ID,		/* u64, equal to RCHAR_A_LINK_ID */
	RCHAR_A_CHANNEL_STATS,			/* nest of enum rchar_stats_attr */
	RCHAR_A_CHANNEL_MAX_MESSAGE,		/* u32, bytes; message channels only */
	RCHAR_A_CHANNEL_SIZE,			/* u64, bytes; listening memory channels */
	RCHAR_A_CHANNEL_ACCESS,			/* u32 enum rchar_access; listening memory */
	RCHAR_A_CHANNEL_ATOMICS,		/* u32 enum rchar_atomics; listening memory */
	/* u64, bytes of programs' memory that requests have pinned; memory channels */
	RCHAR_A_CHANNEL_PINNED,
	/* u32, bytes: smallest write() sent by rendezvous; 0: never; stream channels */
	RCHAR_A_CHANNEL_RENDEZVOUS_MIN,
	/*
	 * string, once for each key; connect: the key that authenticates this host and the peer;
	 * listen: keys of the hosts that may open the channel. In requests an empty string alone
	 * stands for no key.
	 */
	RCHAR_A_CHANNEL_KEY,
	/* string: like RCHAR_A_CHANNEL_KEY, but the key was deleted and no longer helps */
	RCHAR_A_CHANNEL_KEY_DELETED,
	/* struct rchar_prefix, once for each; listen */
	RCHAR_A_CHANNEL_ALLOW,
	RCHAR_A_CHANNEL_ENCRYPT,		/* u32 enum rchar_encrypt */
	/*
	 * For the link of a channel that connects; channels share a link only if they agree. 0: as
	 * the module parameters lanes and keepalive say.
	 */
	RCHAR_A_CHANNEL_LANES,			/* u32, connections of the link */
	RCHAR_A_CHANNEL_KEEPALIVE_MS,		/* u32, rounded up to seconds */
	RCHAR_A_CHANNEL_TOS,			/* u32, IP type of service, or traffic class */
	RCHAR_A_CHANNEL_PRIORITY,		/* u32, share of the link, 1 to 1000 */
	RCHAR_A_CHANNEL_WINDOW_MAX,		/* u32, bytes to which the window may grow */
	RCHAR_A_CHANNEL_FRAME,			/* u32, longest payload of a frame, bytes */

	__RCHAR_A_CHANNEL_MAX
};

enum rchar_link_attr {
	RCHAR_A_LINK_PAD = 1,
	RCHAR_A_LINK_ID,		/* u64: number of the link on this host, never reused */
	RCHAR_A_LINK_INITIATOR,		/* u32: 1 for the initiator, 0 for the acceptor */
	RCHAR_A_LINK_LOCAL,		/* sockaddr */
	RCHAR_A_LINK_PEER,		/* sockaddr */
	RCHAR_A_LINK_STATE,		/* u32 enum rchar_link_state */
	RCHAR_A_LINK_REASON,		/* u32 enum rchar_reason of the last failure */
	RCHAR_A_LINK_REASON_AGE_MS,	/* u64 */
	RCHAR_A_LINK_EPOCH,		/* u32; only with CAP_NET_ADMIN, and not in events */
	RCHAR_A_LINK_ATTEMPTS,		/* u32, consecutive failed attempts */
	RCHAR_A_LINK_NEXT_MS,		/* u32, milliseconds until the next attempt */
	RCHAR_A_LINK_SESSIONS,		/* u32 */
	RCHAR_A_LINK_LANE,		/* nest of enum rchar_lane_attr, one nest for each lane */
	RCHAR_A_LINK_STATS,		/* nest of enum rchar_stats_attr */
	RCHAR_A_LINK_WIRE_ID,		/* u64: equal on both hosts; as RCHAR_A_LINK_EPOCH */
	RCHAR_A_LINK_KEY,		/* string: name of the key that the peer must have */
	RCHAR_A_LINK_ENCRYPTED,		/* u32: 1: everything that the link carries is encrypted */
	RCHAR_A_LINK_KEEPALIVE_MS,	/* u32: the shorter interval of those that the hosts want */
	RCHAR_A_LINK_TOS,		/* u32: IP type of service, or traffic class; initiator */

	__RCHAR_A_LINK_MAX
};

enum rchar_lane_attr {
	RCHAR_A_LANE_INDEX = 1,		/* u32 */
	RCHAR_A_LANE_DEVICE,		/* string: name of the RDMA device */
	RCHAR_A_LANE_DEVICE_PORT,	/* u32 */
	RCHAR_A_LANE_QPN,		/* u32; as RCHAR_A_LINK_EPOCH */
	RCHAR_A_LANE_TX_CREDITS,	/* u32: frames that may be sent now */
	RCHAR_A_LANE_UNACKED,		/* u32: frames kept until the peer acknowledges them */
	RCHAR_A_LANE_FRAME_SIZE,	/* u32: most payload bytes of a frame to the peer */
	RCHAR_A_LANE_DEPTH,		/* u32: receive buffers posted on this host */
	RCHAR_A_LANE_RTT_NS,		/* u32: shortest round trip; absent while unknown */
	RCHAR_A_LANE_READS,		/* u32: RDMA READs that this host has in flight at most */
	RCHAR_A_LANE_VECTOR,		/* u32: completion vector of the device */

	__RCHAR_A_LANE_MAX
};

enum rchar_session_attr {
	RCHAR_A_SESSION_PAD = 1,
	RCHAR_A_SESSION_LINK_ID,	/* u64, equal to RCHAR_A_LINK_ID */
	RCHAR_A_SESSION_ID,		/* u32 */
	RCHAR_A_SESSION_INITIATOR,	/* u32: 1 if this host opened the session, 0 if the peer */
	RCHAR_A_SESSION_CHANNEL,	/* string */
	RCHAR_A_SESSION_STATE,		/* u32 enum rchar_session_state */
	RCHAR_A_SESSION_REASON,		/* u32 enum rchar_reason */
	RCHAR_A_SESSION_PEER,		/* sockaddr */
	RCHAR_A_SESSION_RX_QUEUED,	/* u64, bytes received and not read */
	RCHAR_A_SESSION_RX_MEMORY,	/* u64, bytes of memory that hold received data */
	RCHAR_A_SESSION_TX_UNACKED,	/* u64, bytes written and not acknowledged */
	RCHAR_A_SESSION_TX_WINDOW,	/* u64, bytes that one write() may take now */
	RCHAR_A_SESSION_AGE_MS,		/* u64 */
	RCHAR_A_SESSION_KEY,		/* string: as RCHAR_A_LINK_KEY */
	RCHAR_A_SESSION_ENCRYPTED,	/* u32: as RCHAR_A_LINK_ENCRYPTED */
	RCHAR_A_SESSION_RX_BYTES,	/* u64, bytes received, or read from a region */
	RCHAR_A_SESSION_TX_BYTES,	/* u64, bytes that programs wrote */
	RCHAR_A_SESSION_RX_WINDOW,	/* u64, bytes that may wait unread */

	__RCHAR_A_SESSION_MAX
};

/* All counters are u64 and are never reset. */
enum rchar_stats_attr {
	RCHAR_A_STATS_PAD = 1,
	RCHAR_A_STATS_RX_BYTES,
	RCHAR_A_STATS_TX_BYTES,
	RCHAR_A_STATS_RX_FRAMES,
	RCHAR_A_STATS_TX_FRAMES,
	RCHAR_A_STATS_SESSIONS,		/* sessions opened so far */
	RCHAR_A_STATS_OPEN_ERRORS,
	RCHAR_A_STATS_RESETS,		/* RESET frames of the peer that ended a session */
	RCHAR_A_STATS_CONNECTS,		/* links: number of times the link came up */
	RCHAR_A_STATS_FAILURES,		/* links: attempts and connections that failed */
	RCHAR_A_STATS_REPLAYED,		/* frames sent again after a reconnect */
	RCHAR_A_STATS_DUPLICATES,	/* frames received again and dropped */
	RCHAR_A_STATS_BAD_FRAMES,	/* frames that violated the protocol */
	RCHAR_A_STATS_CREDIT_STALLS,	/* times a frame had to wait for a credit */
	RCHAR_A_STATS_STRAY_FRAMES,	/* frames for sessions that no longer exist */
	RCHAR_A_STATS_READS,		/* memory channels: read operations */
	RCHAR_A_STATS_WRITES,		/* memory channels: write operations */
	RCHAR_A_STATS_CALLS,		/* memory channels: atomic operations, rings and fences */
	/* streams: rendezvous that the peer read from the memory of a writing program */
	RCHAR_A_STATS_RENDEZVOUS_SENT,
	/* streams: rendezvous that this host read directly to the memory of a reading program */
	RCHAR_A_STATS_RENDEZVOUS_PLACED,
	RCHAR_A_STATS_MAP_STALLS,	/* links: times something waited for a DMA mapping */

	__RCHAR_A_STATS_MAX
};

enum rchar_key_attr {
	RCHAR_A_KEY_NAME = 1,		/* string */
	RCHAR_A_KEY_SECRET,		/* RCHAR_KEY_LEN bytes; only in KEY_NEW, never in a reply */
	RCHAR_A_KEY_FINGERPRINT,	/* 8 bytes, equal on all hosts that have the key */
	RCHAR_A_KEY_CHANNELS,		/* u32, channels that list the key */
	RCHAR_A_KEY_LINKS,		/* u32, links that use the key */

	__RCHAR_A_KEY_MAX
};

/* INFO_GET: attributes of the module. */
enum rchar_info_attr {
	RCHAR_A_INFO_PAD = 1,
	RCHAR_A_INFO_VERSION,		/* string */
	RCHAR_A_INFO_PROTOCOL,		/* u32: major << 8 | minor */
	RCHAR_A_INFO_CHANNELS,		/* u32 */
	RCHAR_A_INFO_LINKS,		/* u32 */
	RCHAR_A_INFO_DEVICES,		/* u32, RDMA devices present */
	RCHAR_A_INFO_REQUESTS_ACCEPTED,	/* u64 */
	RCHAR_A_INFO_REQUESTS_REFUSED,	/* u64, connection requests refused */
	RCHAR_A_INFO_REQUESTS_BAD,	/* u64, of these, with bad private data or address */
	RCHAR_A_INFO_BAD_FRAMES,	/* u64, protocol violations on all links so far */
	RCHAR_A_INFO_PEER_MEMORY,	/* u64, bytes that this host holds for peers */
	RCHAR_A_INFO_REQUESTS_DENIED,	/* u64, of the requests refused, without a right key */
	RCHAR_A_INFO_KEYS,		/* u32 */

	__RCHAR_A_INFO_MAX
};

#define RCHAR_CMD_MAX		(__RCHAR_CMD_MAX - 1)
#define RCHAR_A_CHANNEL_MAX	(__RCHAR_A_CHANNEL_MAX - 1)
#define RCHAR_A_LINK_MAX	(__RCHAR_A_LINK_MAX - 1)
#define RCHAR_A_LANE_MAX	(__RCHAR_A_LANE_MAX - 1)
#define RCHAR_A_SESSION_MAX	(__RCHAR_A_SESSION_MAX - 1)
#define RCHAR_A_STATS_MAX	(__RCHAR_A_STATS_MAX - 1)
#define RCHAR_A_KEY_MAX		(__RCHAR_A_KEY_MAX - 1)
#define RCHAR_A_INFO_MAX	(__RCHAR_A_INFO_MAX - 1)

#endif /* _UAPI_LINUX_RDMA_CHAR_H */
