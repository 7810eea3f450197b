// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions: the object, its state, and the queries of a program. Other files:
 *
 * open.c: start of a session
 * life.c: deadlines, half-close, close and cleanup
 * send.c: frames to the peer
 * receive.c: frames of the peer
 * link_events.c: events of the link
 * held.c: memory that the accounts count for a session
 */
#include "session_priv.h"
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include "base/ledger.h"
#include "base/notify.h"
#include "base/trace.h"
#include "channel.h"
#include "link/rxbuf.h"
#include "type.h"

struct workqueue_struct *rchar_session_wq;

/* ---- lifetime ---- */

static void session_free_work(struct work_struct *work)
{
	struct rchar_session *s = container_of(work, struct rchar_session, free_work);
	struct rchar_channel *channel = s->channel;

	spin_lock_bh(&channel->lock);
	list_del(&s->channel_entry);
	WRITE_ONCE(channel->nr_sessions, channel->nr_sessions - 1);
	spin_unlock_bh(&channel->lock);
	rchar_seg_free_list(&s->rx.queue);
	rchar_seg_free_list(&s->rx.dropped);
	rchar_session_release(s);
	if (s->type->free)
		s->type->free(s);
	rchar_channel_put(channel);
	if (s->link)
		rchar_link_unuse(s->link);
	kfree_rcu(s, rcu);
	rchar_ledger_del(RCHAR_OBJ_SESSION);
}

static void session_release(struct kref *ref)
{
	struct rchar_session *s = container_of(ref, struct rchar_session, ref);

	queue_work(rchar_session_wq, &s->free_work);
}

/**
 * rchar_session_put() - drop a reference
 * @session: the session
 *
 * Context: any but hard interrupt; work frees the session later in process context.
 */
void rchar_session_put(struct rchar_session *session)
{
	kref_put(&session->ref, session_release);
}

static void session_sender_put(struct rchar_sender *sender)
{
	rchar_session_put(container_of(sender, struct rchar_session, tx.sender));
}

/*
 * Return the window of a new session. Once a program has read everything, the peer must have room
 * for the longest message. A WINDOW is sent only when a quarter of the window is free to grant.
 */
static u32 window_for(u32 window, u32 max_message)
{
	u32 need = max_message + RCHAR_WIRE_MESSAGE_COST;

	return max_message ? max(window, need + need / 3 + 4) : window;
}

/**
 * rchar_session_create() - create a session that is not on its channel's list or bound to a link
 * @channel: the channel
 * @state: the initial state
 * @gfp: allocation flags
 *
 * Return: the session, with one reference, or NULL. The caller then calls rchar_session_add() or
 * rchar_session_discard().
 */
struct rchar_session *rchar_session_create(struct rchar_channel *channel,
					   enum rchar_session_state state, gfp_t gfp)
{
	const struct rchar_type *type = channel->type;
	struct rchar_session *s = kzalloc(sizeof(*s) + type->priv_size, gfp);

	if (!s)
		return NULL;
	rchar_ledger_add(RCHAR_OBJ_SESSION);
	kref_init(&s->ref);
	INIT_WORK(&s->free_work, session_free_work);
	spin_lock_init(&s->lock);
	mutex_init(&s->rx.mutex);
	mutex_init(&s->tx.mutex);
	init_waitqueue_head(&s->rx.wait);
	init_waitqueue_head(&s->tx.wait);
	init_waitqueue_head(&s->tx.ack_wait);
	INIT_DELAYED_WORK(&s->timer.work, rchar_session_timer_work);
	INIT_LIST_HEAD(&s->rx.queue);
	INIT_LIST_HEAD(&s->rx.dropped);
	INIT_LIST_HEAD(&s->tx.sender.unsent);
	s->tx.sender.put = session_sender_put;
	s->tx.sender.turn.priority = &channel->config.priority;
	INIT_LIST_HEAD(&s->wait_entry);
	s->state = state;
	s->created = jiffies;
	s->type = type;
	s->max_message = READ_ONCE(channel->config.max_message);
	s->window = window_for(READ_ONCE(channel->config.window), s->max_message);
	s->window_max = max(s->window,
			    window_for(READ_ONCE(channel->config.window_max), s->max_message));
	s->rx.window.edge = s->window;
	s->channel = channel;
	if (type->create && type->create(s)) {
		rchar_ledger_del(RCHAR_OBJ_SESSION);
		kfree(s);
		return NULL;
	}
	return s;
}

/**
 * rchar_session_add() - add a new session to its channel's list
 * @s: after rchar_session_create(); the channel's lock is held, and the channel is not dead
 */
void rchar_session_add(struct rchar_session *s)
{
	struct rchar_channel *channel = s->channel;

	lockdep_assert_held(&channel->lock);
	rchar_channel_get(channel);
	list_add_tail(&s->channel_entry, &channel->sessions);
	WRITE_ONCE(channel->nr_sessions, channel->nr_sessions + 1);
}

/**
 * rchar_session_discard() - undo rchar_session_create()
 * @s: a session that was not added to its channel; or NULL
 *
 * Context: any but hard interrupt.
 */
void rchar_session_discard(struct rchar_session *s)
{
	if (!s)
		return;
	if (s->type->free)
		s->type->free(s);
	kfree(s);
	rchar_ledger_del(RCHAR_OBJ_SESSION);
}

/**
 * rchar_session_bind() - bind a session to its link, which gains a user
 * @s: the session
 * @link: the link
 * @id: id of the session on @link
 */
void rchar_session_bind(struct rchar_session *s, struct rchar_link *link, u32 id)
{
	rchar_link_use(link);
	atomic_inc(&link->nr_sessions);
	s->link = link;
	s->id = id;
	s->flow = rchar_link_flow(link, id);
}

/**
 * rchar_session_set_opened() - record that both sides know the session
 * @s: the session; its lock is held
 * @peer_window: the first window that the peer granted
 * @peer_max_message: longest message of the peer's channel
 */
void rchar_session_set_opened(struct rchar_session *s, u32 peer_window, u32 peer_max_message)
{
	lockdep_assert_held(&s->lock);
	s->opened = true;
	s->opened_at = jiffies;
	WRITE_ONCE(s->max_message, min(s->max_message, peer_max_message));
	WRITE_ONCE(s->tx.peer_window, peer_window);
}

/**
 * rchar_session_wake() - wake all waiters of a session, and send SIGIO
 * @s: the session
 *
 * All, also those that poll with EPOLLEXCLUSIVE: what happens to a session concerns each of them.
 * Without a poll mask: io_uring reports the mask of a wakeup as the result, and aio does, too
 * (io_poll_wake() in io_uring/poll.c, aio_poll_wake() in fs/aio.c).
 */
void rchar_session_wake(struct rchar_session *s)
{
	wake_up_interruptible_all(&s->rx.wait);
	wake_up_interruptible_all(&s->tx.wait);
	wake_up_interruptible_all(&s->tx.ack_wait);
	kill_fasync(&s->async, SIGIO, POLL_IN);
}

/**
 * rchar_session_move() - move a session to another state
 * @s: the session; its lock is held
 * @to: the new state
 *
 * All changes of state use this function, except a failure in start_opening(), which sets DEAD
 * directly.
 *
 * Return: true; or false when the move is illegal. Only a move from DEAD fails without a warning.
 */
bool rchar_session_move(struct rchar_session *s, enum rchar_session_state to)
{
	enum rchar_session_state from = s->state;

	lockdep_assert_held(&s->lock);
	if (!rchar_session_move_legal(from, to)) {
		WARN_ONCE(from != RCHAR_SESSION_DEAD, "session: illegal move %s to %s\n",
			  rchar_session_state_name(from), rchar_session_state_name(to));
		return false;
	}
	/* Who sees the state without the lock sees what was set before: link, flow, import. */
	smp_store_release(&s->state, to);
	trace_rchar_session_state(s, from, to);
	if (to == RCHAR_SESSION_OPEN)
		rchar_stats_inc(&s->channel->stats.sessions);
	rchar_session_wake(s);
	rchar_notify_session(s);
	return true;
}

/**
 * rchar_session_count() - count payload in the session and in its channel
 * @session: the session
 * @bytes: bytes of payload
 * @write: written by a program; else received, or read from the region
 *
 * Context: any.
 */
void rchar_session_count(struct rchar_session *session, u64 bytes, bool write)
{
	struct rchar_stats *stats = &session->channel->stats;

	rchar_stats_add(write ? &session->tx_bytes : &session->rx_bytes, bytes);
	rchar_stats_add(write ? &stats->tx_bytes : &stats->rx_bytes, bytes);
}

/* Never smaller: the peer may send up to the edge. */
static void tune_window(struct rchar_session *s)
{
	u32 size;

	if (s->window >= s->window_max)
		return;
	size = rchar_rx_window_tune(&s->rx.window, &s->rx.tune, ktime_get_ns(),
				    READ_ONCE(s->flow->rtt_ns));
	if (size > s->window)
		WRITE_ONCE(s->window, min(size, s->window_max));
}

/**
 * rchar_session_took() - count bytes that a reader has taken
 * @session: the session; its lock is held
 * @bytes: bytes of the window that become free
 */
void rchar_session_took(struct rchar_session *session, u32 bytes)
{
	lockdep_assert_held(&session->lock);
	session->rx.window.read += bytes;
	tune_window(session);
}

/**
 * rchar_session_consume() - count bytes that a reader has taken, and extend the window when due
 * @session: the session; the caller holds its read mutex
 * @bytes: bytes of the window that become free
 */
void rchar_session_consume(struct rchar_session *session, u32 bytes)
{
	spin_lock_bh(&session->lock);
	rchar_session_took(session, bytes);
	if (rchar_rx_window_due(&session->rx.window, session->window) &&
	    session->state == RCHAR_SESSION_OPEN && !(session->shut & RCHAR_SESSION_FIN_RECEIVED)) {
		session->wanted |= BIT(RCHAR_OP_WINDOW);
		rchar_session_send_wanted(session);
	}
	spin_unlock_bh(&session->lock);
}

/**
 * rchar_session_readable() - does a read() find bytes, or a complete message?
 * @session: the session
 */
bool rchar_session_readable(const struct rchar_session *session)
{
	return session->type->readable && session->type->readable(session);
}

/**
 * rchar_session_rx_queued() - return the bytes received and not read
 * @session: the session; its lock is held
 */
u32 rchar_session_rx_queued(const struct rchar_session *session)
{
	u32 unread = rchar_rx_window_unread(&session->rx.window);

	/* Of an ended session whose reading half was shut, nothing is left that could be missed. */
	if (unread && session->type->rx_missing)
		unread -= session->type->rx_missing(session);
	return unread;
}

/**
 * rchar_session_tx_unacked() - return the bytes written that the peer has not acknowledged
 * @session: the session; its lock is held
 */
u32 rchar_session_tx_unacked(const struct rchar_session *session)
{
	return rchar_tx_window_unacked(&session->tx.window) -
	       session->tx.messages * RCHAR_WIRE_MESSAGE_COST;
}

/**
 * rchar_session_tx_room() - return the bytes that one write() can take now
 * @session: the session
 */
u32 rchar_session_tx_room(struct rchar_session *session)
{
	u32 room = rchar_session_write_room(session);
	u32 max_message = READ_ONCE(session->max_message);

	if (!max_message)
		return room;
	return min(room - min_t(u32, room, RCHAR_WIRE_MESSAGE_COST), max_message);
}

/**
 * rchar_session_opening() - does open() have to wait, as the session is ACCEPTING or OPENING?
 * @session: the session
 */
bool rchar_session_opening(struct rchar_session *session)
{
	/* Pairs with rchar_session_move(). */
	enum rchar_session_state state = smp_load_acquire(&session->state);

	return state == RCHAR_SESSION_ACCEPTING || state == RCHAR_SESSION_OPENING;
}

/**
 * rchar_session_poll() - return the poll mask: the operations that would not wait
 * @session: the session
 */
__poll_t rchar_session_poll(struct rchar_session *session)
{
	__poll_t mask = 0;
	u8 halves;

	spin_lock_bh(&session->lock);
	halves = session->shut;
	if (rchar_session_opening(session))
		halves = 0;
	if (rchar_session_readable(session))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (halves & (RCHAR_SESSION_FIN_RECEIVED | RCHAR_SESSION_STOP_SENT))
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	if (session->state == RCHAR_SESSION_DEAD)
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLOUT | EPOLLWRNORM | EPOLLERR | EPOLLHUP;
	else if (halves & (RCHAR_SESSION_FIN_SENT | RCHAR_SESSION_STOP_RECEIVED))
		mask |= EPOLLOUT | EPOLLWRNORM; /* write() fails with EPIPE, without waiting */
	else if (session->state == RCHAR_SESSION_OPEN && rchar_session_ask_room(session))
		mask |= EPOLLOUT | EPOLLWRNORM;
	if (halves & RCHAR_SESSION_FIN_RECEIVED && halves & RCHAR_SESSION_FIN_SENT)
		mask |= EPOLLHUP;
	spin_unlock_bh(&session->lock);
	return mask;
}

/* ---- the link's table ---- */

/**
 * rchar_session_find() - find a session of a link by id
 * @link: the link
 * @id: the id
 *
 * Return: the session, with a reference, or NULL.
 */
struct rchar_session *rchar_session_find(struct rchar_link *link, u32 id)
{
	struct rchar_session *s;

	rcu_read_lock();
	s = xa_load(&link->sessions, id);
	if (s && !kref_get_unless_zero(&s->ref))
		s = NULL;
	rcu_read_unlock();
	return s;
}

/**
 * rchar_session_next() - walk the sessions of a link
 * @link: the link
 * @id: id of the previous session, 0 to begin; advanced
 *
 * Return: the next session, with a reference, or NULL.
 */
struct rchar_session *rchar_session_next(struct rchar_link *link, u32 *id)
{
	unsigned long index = *id;
	struct rchar_session *s;

	rcu_read_lock();
	do {
		s = xa_find_after(&link->sessions, &index, U32_MAX, XA_PRESENT);
	} while (s && !kref_get_unless_zero(&s->ref));
	rcu_read_unlock();
	*id = index;
	return s;
}

/**
 * rchar_session_init() - create the workqueue at module load
 *
 * Return: 0 or -ENOMEM.
 */
int rchar_session_init(void)
{
	rchar_session_wq = alloc_workqueue("rchar_session", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return rchar_session_wq ? 0 : -ENOMEM;
}

/**
 * rchar_session_exit() - wait until all sessions are freed
 *
 * At module unload, after rchar_link_shutdown().
 */
void rchar_session_exit(void)
{
	rchar_ledger_wait(RCHAR_OBJ_SESSION);
	destroy_workqueue(rchar_session_wq);
}
