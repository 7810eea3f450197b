/* SPDX-License-Identifier: GPL-2.0 */
/* A session: one conversation with a peer, started by one open(). */
#ifndef RCHAR_SESSION_H
#define RCHAR_SESSION_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "link/flow.h"
#include "link/link.h"
#include "link/txbuf.h"
#include "proto/state.h"
#include "proto/window.h"

struct rchar_channel;
struct rchar_type;

/*
 * How a program waits for its peer when only a fatal signal may end the wait: the host can suspend
 * meanwhile. "Unsafe" is for lockdep: splice() calls with the lock of a pipe held.
 */
#define RCHAR_PROGRAM_WAITS (TASK_KILLABLE | TASK_FREEZABLE_UNSAFE)

/* Halves that are shut. A bit that is set stays set. */
#define RCHAR_SESSION_FIN_SENT	    0x01 /* this host writes no more */
#define RCHAR_SESSION_STOP_SENT	    0x02 /* this host reads no more */
#define RCHAR_SESSION_FIN_RECEIVED  0x04 /* the peer writes no more */
#define RCHAR_SESSION_STOP_RECEIVED 0x08 /* the peer reads no more */

/**
 * struct rchar_session_tx - the sending half
 * @window: byte offsets of the sending side; each message adds RCHAR_WIRE_MESSAGE_COST bytes
 * @peer_window: the first window that the peer granted
 * @asked: somebody has found too little room, and waits to be woken
 * @frames: frames queued and not acknowledged
 * @messages: messages that @window counts and whose last frame is not acknowledged
 * @sender: the part of the session that the flow uses
 * @memory: bytes of memory in frames with data or keys, queued and not acknowledged
 * @maps: MAP frames among @frames
 * @maps_memory: the part of @memory in MAP frames
 * @unframed: the last bytes before @window.next, which no frame carries yet. Acks of later frames
 *	      do not cover these bytes, and FIN waits for them.
 * @need: room that the waiting message needs; writers are not woken for less
 * @mutex: admits one writer at a time; a sleeping writer keeps the mutex. Taken before the
 *	   session lock.
 * @wait: waiting writers
 * @ack_wait: waiting fsync() calls
 *
 * The session lock protects all fields but @mutex.
 */
struct rchar_session_tx {
	struct rchar_tx_window window;
	u32 peer_window;
	bool asked;
	u32 frames;
	u32 messages;
	struct rchar_sender sender;
	u64 memory;
	u32 maps;
	u64 maps_memory;
	u32 unframed;
	u32 need;
	struct mutex mutex;
	wait_queue_head_t wait;
	wait_queue_head_t ack_wait;
};

/**
 * struct rchar_session_rx - the receiving half
 * @window: byte offsets of the receiving side
 * @tune: how fast the program reads
 * @queue: segments received and not read
 * @memory: bytes of memory in @queue
 * @dropped: segments that no reader will take, to be freed without the session lock
 * @asked: a reader that does not wait has found another one at work, and waits to be woken
 * @mutex: admits one reader at a time to @queue; a sleeping reader does not hold the mutex.
 *	   Taken before the session lock.
 * @wait: waiting readers, and open()
 *
 * The session lock protects all fields but @mutex.
 */
struct rchar_session_rx {
	struct rchar_rx_window window;
	struct rchar_rx_tune tune;
	struct list_head queue;
	u32 memory;
	struct list_head dropped;
	int asked;
	struct mutex mutex;
	wait_queue_head_t wait;
};

/**
 * struct rchar_session_timer - deadlines, and retries of control frames that found no memory
 * @work: runs rchar_session_timer_work(); an armed timer holds a session reference
 * @deadline: jiffies: end of open-timeout or of linger
 * @retry_at: jiffies at which to send OPEN again after the peer's backlog was full; 0: no retry
 *	      is due
 */
struct rchar_session_timer {
	struct delayed_work work;
	unsigned long deadline;
	unsigned long retry_at;
};

/**
 * struct rchar_common_held - memory that sessions of one peer hold together
 * @bytes: bytes counted in the account of the peer
 * @beyond: bytes that the host counts and the peer's account does not
 */
struct rchar_common_held {
	u64 bytes;
	u64 beyond;
};

/**
 * struct rchar_session_held - memory that the accounts count for the session; see held.c
 * @bytes: bytes counted in the account of the peer's address
 * @left: the part of @bytes that &rchar_link.dead_bytes counts
 * @lingering: the part of &rchar_session_tx.memory that the program left unacknowledged when the
 *	       program closed the file
 * @beyond: bytes held for the session that the host counts and the peer's account does not
 * @closing: the session lingers, and counts in &rchar_account.closing
 * @buried: the session is DEAD, and its frames that were never sent have been taken back
 * @importer: the session counts as an importer of the channel and of the peer
 * @importer_ending: the session is DEAD, and still counts as an importer
 *
 * The session lock protects all fields.
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
 * @ref: one reference each for the link's table, the file, the backlog, an armed timer, every
 *	 frame, and the type's queued work, transfers and incoming rendezvous
 * @rcu: for kfree_rcu(): lookups by id run under RCU
 * @free_work: frees the session in process context
 * @type: operations of the channel's type
 * @channel: the channel; the session holds a reference
 * @link: the link, of which the session is a user; NULL while ACCEPTING
 * @flow: the flow that carries all frames of the session
 * @id: id of the session on @link
 * @initiator: this host opened the session
 * @channel_entry: entry of rchar_channel.sessions
 * @wait_entry: entry of rchar_channel.acceptors or rchar_channel.waiting
 * @in_backlog: @wait_entry is on rchar_channel.waiting; channel lock
 * @lock: protects all fields below but the mutexes; taken before the flow's lock
 * @state: see rchar_session_move_legal()
 * @reason: why the session is DEAD
 * @error: what system calls return once the session is DEAD: negative errno
 * @shut: set of RCHAR_SESSION_*
 * @wanted: set of BIT(op): control frames to be sent, in the order of enum rchar_op
 * @open_sent: initiator: OPEN is queued, so the peer may know of the session
 * @open_flags: RCHAR_OPEN_*: how the file was opened
 * @created: jiffies at which the session was created
 * @opened: both sides know of the session
 * @opened_at: jiffies at which @opened was set
 * @max_message: message channels: longest message; once the session is open, the smaller
 *		 limit of the two sides. 0 for other types.
 * @window: window of the channel when the session was created; larger when a message channel
 *	    needs more
 * @window_max: the window grows to so many bytes, see rchar_rx_window_tune(). Written bytes without
 *		an acknowledgment are at most as many. Never changes.
 * @tx: the sending half
 * @rx: the receiving half
 * @timer: deadlines and retries
 * @held: memory counted for the session
 * @rx_bytes: payload received: of memory channels, read from the region
 * @tx_bytes: payload that programs wrote
 * @async: files that want SIGIO
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
	u32 window_max;
	struct rchar_session_tx tx;
	struct rchar_session_rx rx;
	struct rchar_session_timer timer;
	struct rchar_session_held held;
	atomic64_t rx_bytes;
	atomic64_t tx_bytes;
	struct fasync_struct *async;
	u64 priv[];
};

/* Return the session that a frame belongs to, or NULL. */
static inline struct rchar_session *rchar_session_of(const struct rchar_txbuf *txb)
{
	return txb->sender ? container_of(txb->sender, struct rchar_session, tx.sender) : NULL;
}

/* Return the private data of the type: &rchar_type.priv_size bytes. */
static inline void *rchar_session_priv(const struct rchar_session *session)
{
	return (void *)session->priv;
}

/* ---- for the character device ---- */
struct rchar_session *rchar_session_open(struct rchar_channel *channel, u8 open_flags);
void rchar_session_close(struct rchar_session *session);
bool rchar_session_opening(struct rchar_session *session);
bool rchar_session_stop_waiting(struct rchar_session *session);
__poll_t rchar_session_poll(struct rchar_session *session);
int rchar_session_shutdown(struct rchar_session *session, u8 shut);
bool rchar_session_readable(const struct rchar_session *session);
u32 rchar_session_rx_queued(const struct rchar_session *session);
u32 rchar_session_tx_unacked(const struct rchar_session *session);
u32 rchar_session_tx_room(struct rchar_session *session);

/* ---- for the types ---- */
int rchar_session_write_error(struct rchar_session *session);
u32 rchar_session_frame_max(struct rchar_session *session);
u32 rchar_session_data_max(struct rchar_session *session);
u32 rchar_session_write_room(struct rchar_session *session);
bool rchar_session_ask_room(struct rchar_session *session);
void rchar_session_ask_again(struct rchar_session *session);
int rchar_session_write_ready(struct rchar_session *session);
void rchar_session_wake_writers(struct rchar_session *session);
void rchar_session_need_room(struct rchar_session *session, u32 room);
int rchar_session_submit(struct rchar_session *session, struct list_head *frames);
int rchar_session_submit_small(struct rchar_session *session, struct rchar_txbuf *txb);
void rchar_session_queue_locked(struct rchar_session *session, struct list_head *frames);
int rchar_session_send_control(struct rchar_session *session, struct list_head *frames);
void rchar_session_took(struct rchar_session *session, u32 bytes);
void rchar_session_consume(struct rchar_session *session, u32 bytes);
void rchar_session_count(struct rchar_session *session, u64 bytes, bool write);

/* ---- for channels, links and netlink ---- */
void rchar_session_delete(struct rchar_session *session, enum rchar_reason reason);
void rchar_session_cut(struct rchar_session *session, enum rchar_reason reason);
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
