/* SPDX-License-Identifier: GPL-2.0 */
/* One conversation, made by one open(). */
#ifndef RCHAR_SESSION_H
#define RCHAR_SESSION_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "link/flow.h"
#include "link/link.h"
#include "link/txbuf.h"
#include "proto/state.h"

struct rchar_channel;
struct rchar_seg;
struct rchar_type;

/* Halves that are shut; they only ever grow. */
#define RCHAR_SESSION_FIN_SENT		0x01	/* we write no more */
#define RCHAR_SESSION_STOP_SENT		0x02	/* we read no more */
#define RCHAR_SESSION_FIN_RECEIVED	0x04	/* the peer writes no more */
#define RCHAR_SESSION_STOP_RECEIVED	0x08	/* the peer reads no more */

/**
 * struct rchar_session - one conversation
 * @ref: one each for the link's table, the file, the backlog, an armed @timer, every
 *	 frame, and what is read of a large write of the peer
 * @rcu: lookups by id run under RCU
 * @free_work: the end, in process context
 * @type: of the channel
 * @channel: holds a reference
 * @link: NULL while ACCEPTING; the session is one of its users
 * @flow: carries all its frames
 * @id: on the link
 * @initiator: opened on this side
 * @channel_entry: of rchar_channel.sessions
 * @wait_entry: of rchar_channel.acceptors or .waiting
 * @in_backlog: it is .waiting; channel lock
 * @lock: protects all below but the mutexes; taken before the flow's lock
 * @state: see rchar_session_move_legal()
 * @reason: why it is DEAD
 * @error: what a program is told then: negative errno
 * @shut: set of RCHAR_SESSION_*
 * @wanted: set of BIT(op): control frames to be sent, in the order of enum rchar_op
 * @open_sent: initiator: OPEN is queued, the peer may know of us
 * @open_flags: RCHAR_OPEN_*: how the file was opened
 * @created: jiffies
 * @opened: both sides know of it
 * @opened_at: jiffies of that
 * @deadline: jiffies: end of open-timeout or of linger
 * @retry_at: jiffies: when to send OPEN again to a full backlog
 * @max_message: message channels: longest message, the smaller of both sides once
 *		 open; 0 for streams
 * @tx_next: byte offset of the next byte written; of messages each counts
 *	     RCHAR_WIRE_MESSAGE_COST more
 * @peer_window: of the peer, when the session was made
 * @tx_edge: offset up to which the peer lets us send
 * @tx_acked: offset up to which the peer has it
 * @tx_frames: frames queued and not acknowledged
 * @tx_messages: messages whose last frame is not acknowledged
 * @sender: of these, frames that were never posted
 * @tx_memory: bytes of memory in frames with data or keys, queued and not acknowledged
 * @tx_unframed: bytes at the end of @tx_next that no frame carries yet: frames that come after
 *		 do not acknowledge them, and FIN waits
 * @tx_need: room that a message did not find: there is no point in waking for less
 * @rx_next: offset of the next byte to arrive
 * @rx_read: offset up to which it is read
 * @rx_edge: offset up to which we let the peer send
 * @rx_queue: segments received and not read
 * @rx_memory: bytes of memory in @rx_queue
 * @rx_dropped: what nobody can read any more, to be freed without the lock
 * @rx_messages: complete messages in @rx_queue
 * @rx_partial: bytes of the message that is arriving, also while it is dropped
 * @rx_partial_memory: bytes of memory that it has in @rx_queue
 * @rx_first: its first segment in @rx_queue, or NULL
 * @window: of the channel, when the session was made; of messages perhaps more
 * @read_mutex: one reader at a time takes bytes; not held while it sleeps; taken before
 *		@lock
 * @write_mutex: one writer at a time, also while it sleeps; taken before @lock
 * @read_wait: readers, and open()
 * @write_wait: writers
 * @ack_wait: fsync
 * @timer: deadlines, and control frames that found no memory
 * @async: who wants SIGIO
 * @buried: it is dead, and has no frames left that were never sent
 * @closing: it lingers, and counts in &rchar_account.closing
 * @held: bytes of this session that count against the peer
 * @left: of these, those in &rchar_link.dead_bytes
 * @lingering: of @tx_memory, what a program left when it closed
 * @importer: it counts as an importer of the channel and of the peer
 * @importer_ending: it is dead, and still counts
 * @beyond: bytes held for it that do not count against the peer
 * @priv: private data of the type: rchar_session_priv()
 */
struct rchar_session {
	struct kref ref;
	struct rcu_head rcu;
	struct work_struct free_work;
	const struct rchar_type *type;
	struct rchar_channel *channel;
	struct rchar_link *link;
	struct rchar_flow *flow;
	u32 id;
	bool initiator;
	struct list_head channel_entry;
	struct list_head wait_entry;
	bool in_backlog;
	spinlock_t lock;
	enum rchar_session_state state;
	enum rchar_reason reason;
	int error;
	u8 shut;
	u32 wanted;
	bool open_sent;
	u8 open_flags;
	unsigned long created;
	bool opened;
	unsigned long opened_at;
	unsigned long deadline;
	unsigned long retry_at;
	u32 max_message;
	u32 tx_next;
	u32 peer_window;
	u32 tx_edge;
	u32 tx_acked;
	u32 tx_frames;
	u32 tx_messages;
	struct rchar_sender sender;
	u64 tx_memory;
	u32 tx_unframed;
	u32 tx_need;
	u32 rx_next;
	u32 rx_read;
	u32 rx_edge;
	struct list_head rx_queue;
	struct list_head rx_dropped;
	u32 rx_memory;
	u32 rx_messages;
	u32 rx_partial;
	u32 rx_partial_memory;
	struct rchar_seg *rx_first;
	u32 window;
	struct mutex read_mutex;
	struct mutex write_mutex;
	wait_queue_head_t read_wait;
	wait_queue_head_t write_wait;
	wait_queue_head_t ack_wait;
	struct delayed_work timer;
	struct fasync_struct *async;
	bool buried;
	bool closing;
	u64 held;
	u64 left;
	u64 lingering;
	bool importer;
	bool importer_ending;
	u64 beyond;
	u64 priv[];
};

/* The session that a frame belongs to, or NULL. */
static inline struct rchar_session *rchar_session_of(const struct rchar_txbuf *txb)
{
	return txb->sender ? container_of(txb->sender, struct rchar_session, sender) : NULL;
}

/* The private data of the type, of &rchar_type.priv_size bytes. */
static inline void *rchar_session_priv(const struct rchar_session *session)
{
	return (void *)session->priv;
}

/* ---- for the character device ---- */
struct rchar_session *rchar_session_open(struct rchar_channel *channel, u8 open_flags);
void rchar_session_close(struct rchar_session *session);
bool rchar_session_opening(struct rchar_session *session);
__poll_t rchar_session_poll(struct rchar_session *session);
void rchar_session_shutdown(struct rchar_session *session, u8 shut);
bool rchar_session_readable(const struct rchar_session *session);
u32 rchar_session_next_message(const struct rchar_session *session);
u32 rchar_session_rx_queued(const struct rchar_session *session);
u32 rchar_session_tx_unacked(const struct rchar_session *session);
u32 rchar_session_tx_room(struct rchar_session *session);

/* ---- for the types ---- */
int rchar_session_write_error(struct rchar_session *session);
u32 rchar_session_frame_max(struct rchar_session *session);
u32 rchar_session_write_room(struct rchar_session *session);
bool rchar_session_writable(struct rchar_session *session);
void rchar_session_wake_writers(struct rchar_session *session);
void rchar_session_need_room(struct rchar_session *session, u32 room);
int rchar_session_send(struct rchar_session *session, struct list_head *frames);
bool rchar_session_append(struct rchar_session *session, const void *data, u32 len);
void rchar_session_queue_locked(struct rchar_session *session, struct list_head *frames);
int rchar_session_send_control(struct rchar_session *session, struct list_head *frames);
void rchar_session_consume(struct rchar_session *session, u32 bytes);

/* ---- for channels, links and netlink ---- */
void rchar_session_delete(struct rchar_session *session);
void rchar_session_fail(struct rchar_session *session, enum rchar_reason reason);
struct rchar_session *rchar_session_find(struct rchar_link *link, u32 id);
struct rchar_session *rchar_session_next(struct rchar_link *link, u32 *id);
void rchar_session_put(struct rchar_session *session);

static inline void rchar_session_get(struct rchar_session *session)
{
	kref_get(&session->ref);
}

extern const struct rchar_link_ops rchar_session_link_ops;

int rchar_session_init(void);
void rchar_session_exit(void);

#endif /* RCHAR_SESSION_H */
