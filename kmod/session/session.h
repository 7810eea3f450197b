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
#include "proto/window.h"

struct rchar_channel;
struct rchar_seg;
struct rchar_type;

/* Halves that are shut; they only ever grow. */
#define RCHAR_SESSION_FIN_SENT		0x01	/* we write no more */
#define RCHAR_SESSION_STOP_SENT		0x02	/* we read no more */
#define RCHAR_SESSION_FIN_RECEIVED	0x04	/* the peer writes no more */
#define RCHAR_SESSION_STOP_RECEIVED	0x08	/* the peer reads no more */

/**
 * struct rchar_session_tx - the sending half; session lock, but for the mutex
 * @window: offsets of what is written; a message counts RCHAR_WIRE_MESSAGE_COST more
 * @peer_window: the first window that the peer gave
 * @frames: frames queued and not acknowledged
 * @messages: messages whose last frame is not acknowledged
 * @sender: what the flow knows of the session
 * @memory: bytes of memory in frames with data or keys, queued and not acknowledged
 * @unframed: bytes at the end of @window.next that no frame carries yet: frames that come after
 *	      them do not acknowledge them, and FIN waits
 * @need: room that a message did not find: there is no point in waking for less
 * @mutex: one writer at a time, also while it sleeps; taken before the session lock
 * @wait: writers
 * @ack_wait: fsync
 */
struct rchar_session_tx {
	struct rchar_tx_window window;
	u32 peer_window;
	u32 frames;
	u32 messages;
	struct rchar_sender sender;
	u64 memory;
	u32 unframed;
	u32 need;
	struct mutex mutex;
	wait_queue_head_t wait;
	wait_queue_head_t ack_wait;
};

/**
 * struct rchar_session_rx - the receiving half; session lock, but for the mutex
 * @window: offsets of what arrives
 * @queue: segments received and not read
 * @memory: bytes of memory in @queue
 * @dropped: segments that nobody can read any more, to be freed without the lock
 * @mutex: one reader at a time takes bytes; not held while it sleeps; taken before the session
 *	   lock
 * @wait: readers, and open()
 */
struct rchar_session_rx {
	struct rchar_rx_window window;
	struct list_head queue;
	u32 memory;
	struct list_head dropped;
	struct mutex mutex;
	wait_queue_head_t wait;
};

/**
 * struct rchar_session_timer - deadlines, and control frames that found no memory
 * @work: runs session_timer_work(); while it is armed it holds a reference
 * @deadline: jiffies: end of open-timeout or of linger
 * @retry_at: jiffies: when to send OPEN again to a full backlog; 0: it was not full
 */
struct rchar_session_timer {
	struct delayed_work work;
	unsigned long deadline;
	unsigned long retry_at;
};

/**
 * struct rchar_session_held - what is counted for the session; session lock; see held.c
 * @bytes: count against the peer's account
 * @left: of these, those in &rchar_link.dead_bytes
 * @lingering: of @rchar_session_tx.memory, what a program left when it closed
 * @beyond: bytes held for the session that do not count against the peer
 * @closing: the session lingers, and counts in &rchar_account.closing
 * @buried: the session is dead, and has no frames left that were never sent
 * @importer: the session counts as an importer of the channel and of the peer
 * @importer_ending: the session is dead, and still counts as an importer
 */
struct rchar_session_held {
	u64 bytes;
	u64 left;
	u64 lingering;
	u64 beyond;
	bool closing;
	bool buried;
	bool importer;
	bool importer_ending;
};

/**
 * struct rchar_session - one conversation
 * @ref: one each for the link's table, the file, the backlog, an armed timer, every
 *	 frame, and what is read of a rendezvous of the peer
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
 * @open_sent: initiator: OPEN is queued, the peer may know of the session
 * @open_flags: RCHAR_OPEN_*: how the file was opened
 * @created: jiffies
 * @opened: both sides know of it
 * @opened_at: jiffies of that
 * @max_message: message channels: longest message, the smaller of both sides once
 *		 open; 0 for streams
 * @window: of the channel, when the session was made; of messages perhaps more
 * @tx: the sending half
 * @rx: the receiving half
 * @timer: deadlines
 * @held: what is counted for the session
 * @async: who wants SIGIO
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
	u32 max_message;
	u32 window;
	struct rchar_session_tx tx;
	struct rchar_session_rx rx;
	struct rchar_session_timer timer;
	struct rchar_session_held held;
	struct fasync_struct *async;
	u64 priv[];
};

/* The session that a frame belongs to, or NULL. */
static inline struct rchar_session *rchar_session_of(const struct rchar_txbuf *txb)
{
	return txb->sender ? container_of(txb->sender, struct rchar_session, tx.sender) : NULL;
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
int rchar_session_submit(struct rchar_session *session, struct list_head *frames);
int rchar_session_submit_small(struct rchar_session *session, struct rchar_txbuf *txb);
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
