// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions: life, state, the two halves, the end. How they begin is in open.c, what is
 * sent in send.c, what the peer sends in receive.c, what a type does with the bytes in its
 * own file.
 */
#include "session_priv.h"
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include "base/account.h"
#include "base/ledger.h"
#include "base/notify.h"
#include "base/seq.h"
#include "base/trace.h"
#include "channel.h"
#include "link/rxbuf.h"
#include "link/txbuf.h"
#include "type.h"

/* Memory was short for a control frame: try again. */
#define NOMEM_RETRY_MS		10

static struct workqueue_struct *session_wq;

/* ---- lifetime ---- */

static void free_work(struct work_struct *work)
{
	struct rchar_session *s = container_of(work, struct rchar_session, free_work);
	struct rchar_channel *channel = s->channel;

	spin_lock_bh(&channel->lock);
	list_del(&s->channel_entry);
	WRITE_ONCE(channel->nr_sessions, channel->nr_sessions - 1);
	spin_unlock_bh(&channel->lock);
	rchar_seg_free_list(&s->rx_queue);
	rchar_seg_free_list(&s->rx_dropped);
	rchar_session_release(s);
	if (s->type->free)
		s->type->free(s);
	rchar_channel_put(channel);
	if (s->link)
		rchar_link_unuse(s->link);
	kfree_rcu(s, rcu);
	rchar_ledger_del(RCHAR_OBJ_SESSION);
}

static void release(struct kref *ref)
{
	struct rchar_session *s = container_of(ref, struct rchar_session, ref);

	queue_work(session_wq, &s->free_work);
}

/**
 * rchar_session_put() - drop a reference
 * @session: the session
 *
 * Context: any but hard interrupt; what must sleep is done later.
 */
void rchar_session_put(struct rchar_session *session)
{
	kref_put(&session->ref, release);
}

static void session_sender_put(struct rchar_sender *sender)
{
	rchar_session_put(container_of(sender, struct rchar_session, sender));
}

static void timer_work(struct work_struct *work);

/*
 * The window of a message session. The peer must get room for the longest message once
 * nothing waits here, although it is told only of every quarter of the window.
 */
static u32 window_for(u32 window, u32 max_message)
{
	u32 need = max_message + RCHAR_WIRE_MESSAGE_COST;

	return max_message ? max(window, need + need / 3 + 4) : window;
}

/**
 * rchar_session_create() - a session, not yet one of its channel's and not bound to a link
 * @channel: its channel
 * @state: the first one
 * @gfp: how to allocate
 *
 * Return: the session, with one reference, or NULL. rchar_session_add() or
 * rchar_session_discard() comes next.
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
	INIT_WORK(&s->free_work, free_work);
	spin_lock_init(&s->lock);
	mutex_init(&s->read_mutex);
	mutex_init(&s->write_mutex);
	init_waitqueue_head(&s->read_wait);
	init_waitqueue_head(&s->write_wait);
	init_waitqueue_head(&s->ack_wait);
	INIT_DELAYED_WORK(&s->timer, timer_work);
	INIT_LIST_HEAD(&s->rx_queue);
	INIT_LIST_HEAD(&s->rx_dropped);
	INIT_LIST_HEAD(&s->sender.unsent);
	s->sender.put = session_sender_put;
	INIT_LIST_HEAD(&s->wait_entry);
	s->state = state;
	s->created = jiffies;
	s->type = type;
	s->max_message = READ_ONCE(channel->config.max_message);
	s->window = window_for(READ_ONCE(channel->config.window), s->max_message);
	s->rx_edge = s->window;
	s->channel = channel;
	if (type->create && type->create(s)) {
		rchar_ledger_del(RCHAR_OBJ_SESSION);
		kfree(s);
		return NULL;
	}
	return s;
}

/**
 * rchar_session_add() - a new session becomes one of its channel's
 * @s: after rchar_session_create(); the channel's lock is held, and it is not dead
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
 * @s: a session that was not added; or NULL
 *
 * Context: process.
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
 * rchar_session_bind() - the session gets its link, of which it becomes a user
 * @s: the session
 * @link: the link
 * @id: its id there
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
 * rchar_session_set_opened() - both sides know of it
 * @s: the session; its lock is held
 * @peer_window: the first window the peer gave
 * @peer_max_message: of the peer's channel; rchar_window_valid() with @peer_window
 */
void rchar_session_set_opened(struct rchar_session *s, u32 peer_window,
			      u32 peer_max_message)
{
	lockdep_assert_held(&s->lock);
	s->opened = true;
	s->opened_at = jiffies;
	WRITE_ONCE(s->max_message, min(s->max_message, peer_max_message));
	WRITE_ONCE(s->peer_window, peer_window);
}

/**
 * rchar_session_wake() - everybody who waits for anything looks again
 * @s: the session
 */
void rchar_session_wake(struct rchar_session *s)
{
	wake_up_interruptible_poll(&s->read_wait, EPOLLIN | EPOLLRDNORM | EPOLLRDHUP |
				   EPOLLHUP | EPOLLERR);
	wake_up_interruptible_poll(&s->write_wait, EPOLLOUT | EPOLLWRNORM | EPOLLHUP |
				   EPOLLERR);
	wake_up_interruptible(&s->ack_wait);
	kill_fasync(&s->async, SIGIO, POLL_IN);
}

/**
 * rchar_session_move() - the one place where a session changes state
 * @s: the session; its lock is held
 * @to: the new state
 *
 * Return: false when it is dead already.
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
	WRITE_ONCE(s->state, to);
	trace_rchar_session_state(s, from, to);
	if (to == RCHAR_SESSION_OPEN)
		rchar_stats_inc(&s->channel->stats.sessions);
	rchar_session_wake(s);
	rchar_notify_session(s);
	return true;
}

/* ---- timer ---- */

static void arm(struct rchar_session *s, unsigned long at)
{
	unsigned long delay = time_after(at, jiffies) ? at - jiffies : 0;

	rchar_session_get(s);
	if (mod_delayed_work(session_wq, &s->timer, delay))
		rchar_session_put(s);	/* it was armed: one reference is enough */
}

static unsigned long earlier(unsigned long a, unsigned long b)
{
	return time_before(a, b) ? a : b;
}

/**
 * rchar_session_rearm() - set the timer for what comes first
 * @s: the session; its lock is held
 */
void rchar_session_rearm(struct rchar_session *s)
{
	unsigned long never = jiffies + MAX_JIFFY_OFFSET, at = never;

	lockdep_assert_held(&s->lock);
	if (s->state == RCHAR_SESSION_OPENING ||
	    (s->state == RCHAR_SESSION_CLOSING && s->tx_frames))
		at = s->deadline;
	if (s->state == RCHAR_SESSION_OPENING && s->retry_at)
		at = earlier(at, s->retry_at);
	if (rchar_session_wanted_now(s))
		at = earlier(at, jiffies + msecs_to_jiffies(NOMEM_RETRY_MS));
	if (at != never)
		arm(s, at);
}

/* ---- ending ---- */

/* What was received goes to @dropped, to be freed without the lock. */
static void drop_received(struct rchar_session *s, struct list_head *dropped)
{
	lockdep_assert_held(&s->lock);
	list_splice_init(&s->rx_queue, dropped);
	s->rx_memory = 0;
	WRITE_ONCE(s->rx_messages, 0);
	s->rx_partial_memory = 0;
	s->rx_first = NULL;
	s->rx_read = s->rx_next;
}

/* The rest of a message that will not come. A reader may be copying what is before it. */
static void drop_partial(struct rchar_session *s)
{
	lockdep_assert_held(&s->lock);
	if (!s->rx_first)
		return;
	list_bulk_move_tail(&s->rx_dropped, &s->rx_first->entry, s->rx_queue.prev);
	s->rx_memory -= s->rx_partial_memory;
	s->rx_partial_memory = 0;
	s->rx_first = NULL;
}

/* Is there something that only process context gets rid of? */
static bool leaves_something(const struct rchar_session *s)
{
	return s->type->bury || READ_ONCE(s->in_backlog) || !list_empty(&s->rx_dropped) ||
	       s->tx_frames;
}

static void end(struct rchar_session *s, enum rchar_reason reason, int error)
{
	lockdep_assert_held(&s->lock);
	s->reason = reason;
	s->error = error;
	s->wanted = 0;
	rchar_session_move(s, RCHAR_SESSION_DEAD);
	if (s->type->dead)
		s->type->dead(s);
	drop_partial(s);
	rchar_session_recount(s);
	if (leaves_something(s))
		arm(s, jiffies);
	else if (cancel_delayed_work(&s->timer))
		rchar_session_put(s);	/* never the last */
}

/*
 * Only when RESET is queued: rchar_link_forget() ends what the table has, and then drops what is
 * queued. A RESET that came later could end a session of the peer's next life.
 */
static void leave_table(struct rchar_session *s)
{
	lockdep_assert_held(&s->lock);
	if (s->state != RCHAR_SESSION_DEAD || s->wanted || !s->link ||
	    xa_load(&s->link->sessions, s->id) != s)
		return;
	xa_erase_bh(&s->link->sessions, s->id);
	atomic_dec(&s->link->nr_sessions);
	rchar_session_put(s);	/* never the last */
}

/**
 * rchar_session_die() - the end; the peer is not told
 * @s: the session; its lock is held, and the caller has a reference of its own
 * @reason: why
 * @error: what programs are told: negative errno
 *
 * One that is dead already gives up telling the peer.
 */
void rchar_session_die(struct rchar_session *s, enum rchar_reason reason, int error)
{
	lockdep_assert_held(&s->lock);
	if (s->state != RCHAR_SESSION_DEAD)
		end(s, reason, error);
	s->wanted = 0;
	leave_table(s);
}

/* Does the peer have, or will it get, a session that it should be told about? */
static bool peer_knows(const struct rchar_session *s)
{
	switch (s->state) {
	case RCHAR_SESSION_OPENING:
		return s->open_sent;
	case RCHAR_SESSION_WAITING:
	case RCHAR_SESSION_OPEN:
	case RCHAR_SESSION_CLOSING:
		return true;
	default:
		return false;
	}
}

static void note_open_failure(struct rchar_session *s, enum rchar_reason reason)
{
	struct rchar_channel *channel = s->channel;

	rchar_stats_inc(&channel->stats.open_errors);
	WRITE_ONCE(channel->reason, reason);
	WRITE_ONCE(channel->reason_at, jiffies);
}

/**
 * rchar_session_fail_locked() - rchar_session_fail() for who holds the lock
 * @s: the session
 * @reason: why
 */
void rchar_session_fail_locked(struct rchar_session *s, enum rchar_reason reason)
{
	bool tell = peer_knows(s);

	lockdep_assert_held(&s->lock);
	if (s->state == RCHAR_SESSION_DEAD)
		return;
	if (s->state == RCHAR_SESSION_OPENING && reason != RCHAR_REASON_CLOSED)
		note_open_failure(s, reason);
	end(s, reason, rchar_reason_errno(reason));
	if (tell) {
		s->wanted = BIT(RCHAR_OP_RESET);
		rchar_session_send_wanted(s);
		rchar_session_recount(s);
	}
	leave_table(s);
}

/**
 * rchar_session_fail() - end a session from this side
 * @session: the session; the caller holds a reference
 * @reason: why; the peer is told
 */
void rchar_session_fail(struct rchar_session *session, enum rchar_reason reason)
{
	spin_lock_bh(&session->lock);
	rchar_session_fail_locked(session, reason);
	spin_unlock_bh(&session->lock);
}

/**
 * rchar_session_delete() - its channel is being deleted
 * @session: the session; the caller holds a reference
 *
 * What waits in the backlog will not be opened any more.
 *
 * Context: process.
 */
void rchar_session_delete(struct rchar_session *session)
{
	struct rchar_channel *channel = session->channel;
	LIST_HEAD(dropped);
	bool waiting;

	spin_lock_bh(&channel->lock);
	waiting = session->in_backlog;
	if (waiting)
		rchar_session_unlist_waiting(session);
	spin_unlock_bh(&channel->lock);
	spin_lock_bh(&session->lock);
	rchar_session_fail_locked(session, RCHAR_REASON_DELETED);
	if (waiting) {
		drop_received(session, &dropped);
		rchar_session_recount(session);
	}
	spin_unlock_bh(&session->lock);
	rchar_seg_free_list(&dropped);
	if (waiting)
		rchar_session_put(session);	/* the backlog's; never the last */
}

/**
 * rchar_session_maybe_finish() - closed here: over when all is acknowledged
 * @s: the session; its lock is held
 *
 * The peer has FIN and STOP then; what it still sends is for nobody.
 */
void rchar_session_maybe_finish(struct rchar_session *s)
{
	lockdep_assert_held(&s->lock);
	if (s->state == RCHAR_SESSION_CLOSING && !s->tx_frames && !s->wanted)
		rchar_session_die(s, RCHAR_REASON_NONE, 0);
}

/* Frames at once, so that the flow's lock is not held for long. */
#define PURGE_BATCH	64

/* Frames of a dead session that the peer will not get. */
static void purge_unsent(struct rchar_session *s)
{
	struct rchar_txbuf *txb;
	LIST_HEAD(taken);
	unsigned int n;

	do {
		spin_lock_bh(&s->lock);
		n = s->flow ? rchar_flow_take_unsent(s->flow, &s->sender, &taken, PURGE_BATCH) : 0;
		list_for_each_entry(txb, &taken, queue)
			rchar_session_frame_gone(s, txb);
		spin_unlock_bh(&s->lock);
		rchar_txbuf_put_list(&taken);
		cond_resched();
	} while (n == PURGE_BATCH);
}

/* Out of the backlog, when there is nothing to be read. */
static void leave_backlog(struct rchar_session *s)
{
	struct rchar_channel *channel = s->channel;
	bool last_ref = false;

	spin_lock_bh(&channel->lock);
	if (s->in_backlog && !rchar_session_readable(s)) {
		rchar_session_unlist_waiting(s);
		last_ref = true;
	}
	spin_unlock_bh(&channel->lock);
	if (last_ref)
		rchar_session_put(s);
}

/*
 * What die() leaves: it may run in a soft interrupt, and a peer or a program chooses how much
 * this is.
 */
static void bury(struct rchar_session *s)
{
	LIST_HEAD(dropped);

	purge_unsent(s);
	spin_lock_bh(&s->lock);
	s->buried = true;
	rchar_session_recount(s);
	list_splice_init(&s->rx_dropped, &dropped);
	spin_unlock_bh(&s->lock);
	rchar_seg_free_list(&dropped);
	if (s->type->bury)
		s->type->bury(s);
	leave_backlog(s);
}

static void timer_work(struct work_struct *work)
{
	struct rchar_session *s = container_of(to_delayed_work(work),
					       struct rchar_session, timer);
	bool late;

	if (READ_ONCE(s->state) == RCHAR_SESSION_DEAD)
		bury(s);
	spin_lock_bh(&s->lock);
	late = time_after_eq(jiffies, s->deadline);
	if (s->state == RCHAR_SESSION_OPENING && late) {
		rchar_session_fail_locked(s, RCHAR_REASON_TIMEOUT);
	} else if (s->state == RCHAR_SESSION_OPENING && s->retry_at &&
		   time_after_eq(jiffies, s->retry_at)) {
		s->retry_at = 0;
		if (READ_ONCE(s->link->state) == RCHAR_LINK_UP)
			s->wanted |= BIT(RCHAR_OP_OPEN);
	} else if (s->state == RCHAR_SESSION_CLOSING && s->tx_frames && late) {
		rchar_session_fail_locked(s, RCHAR_REASON_LINGER);
	}
	rchar_session_send_wanted(s);
	/* There may have been no memory for RESET before. */
	rchar_session_recount(s);
	leave_table(s);
	rchar_session_maybe_finish(s);
	spin_unlock_bh(&s->lock);
	rchar_session_put(s);
}

/**
 * rchar_session_shut() - half-close
 * @s: the session; its lock is held
 * @halves: RCHAR_SHUT_*
 */
void rchar_session_shut(struct rchar_session *s, u8 halves)
{
	lockdep_assert_held(&s->lock);
	if (halves & RCHAR_SHUT_WR && !(s->shut & RCHAR_SESSION_FIN_SENT)) {
		WRITE_ONCE(s->shut, s->shut | RCHAR_SESSION_FIN_SENT);
		s->wanted |= BIT(RCHAR_OP_FIN);
	}
	if (halves & RCHAR_SHUT_RD && !(s->shut & RCHAR_SESSION_STOP_SENT)) {
		WRITE_ONCE(s->shut, s->shut | RCHAR_SESSION_STOP_SENT);
		if (!(s->shut & RCHAR_SESSION_FIN_RECEIVED))
			s->wanted |= BIT(RCHAR_OP_STOP);
		if (s->type->stopped)
			s->type->stopped(s);
	}
	rchar_session_send_wanted(s);
	rchar_session_wake(s);
}

/**
 * rchar_session_shutdown() - half-close
 * @session: the session
 * @halves: RCHAR_SHUT_RD, RCHAR_SHUT_WR or both
 */
void rchar_session_shutdown(struct rchar_session *session, u8 halves)
{
	LIST_HEAD(dropped);

	spin_lock_bh(&session->lock);
	if (session->state == RCHAR_SESSION_OPEN)
		rchar_session_shut(session, halves);
	spin_unlock_bh(&session->lock);
	if (halves & RCHAR_SHUT_RD) {
		/* A reader copies without the lock. */
		mutex_lock(&session->read_mutex);
		spin_lock_bh(&session->lock);
		drop_received(session, &dropped);
		spin_unlock_bh(&session->lock);
		mutex_unlock(&session->read_mutex);
		rchar_seg_free_list(&dropped);
	}
}

/**
 * rchar_session_close() - the last close() of the file
 * @session: the session; the file's reference is dropped
 *
 * What is queued still goes out; linger bounds that.
 */
void rchar_session_close(struct rchar_session *session)
{
	struct rchar_channel *channel = session->channel;
	const struct rchar_type *type = session->type;
	bool cancel = false;
	LIST_HEAD(dropped);

	spin_lock_bh(&channel->lock);
	list_del_init(&session->wait_entry);
	spin_unlock_bh(&channel->lock);
	spin_lock_bh(&session->lock);
	drop_received(session, &dropped);
	rchar_session_recount(session);
	if (session->state == RCHAR_SESSION_OPEN && !rchar_session_may_linger(session)) {
		rchar_session_fail_locked(session, RCHAR_REASON_PEER_LIMIT);
	} else if (session->state == RCHAR_SESSION_OPEN) {
		session->deadline = jiffies +
			msecs_to_jiffies(READ_ONCE(channel->config.linger_ms));
		rchar_session_move(session, RCHAR_SESSION_CLOSING);
		cancel = type->cancel;
		if (type->closed)
			type->closed(session);
		/* Without halves a session is over with FIN. */
		rchar_session_shut(session, type->halves ? RCHAR_SHUT_RD | RCHAR_SHUT_WR :
							   RCHAR_SHUT_WR);
		rchar_session_maybe_finish(session);
	} else {
		rchar_session_fail_locked(session, RCHAR_REASON_CLOSED);
	}
	spin_unlock_bh(&session->lock);
	rchar_seg_free_list(&dropped);
	if (cancel)
		type->cancel(session);
	rchar_session_put(session);
}

/**
 * rchar_session_consume() - a reader has taken bytes: open the window
 * @session: the session; the caller holds its read mutex
 * @bytes: how many
 */
void rchar_session_consume(struct rchar_session *session, u32 bytes)
{
	u32 edge;

	spin_lock_bh(&session->lock);
	session->rx_read += bytes;
	edge = session->rx_read + session->window;
	if (edge - session->rx_edge >= session->window / 4 &&
	    session->state == RCHAR_SESSION_OPEN &&
	    !(session->shut & RCHAR_SESSION_FIN_RECEIVED)) {
		session->wanted |= BIT(RCHAR_OP_WINDOW);
		rchar_session_send_wanted(session);
	}
	spin_unlock_bh(&session->lock);
}

/**
 * rchar_session_readable() - does a read find bytes, or a whole message?
 * @session: the session
 */
bool rchar_session_readable(const struct rchar_session *session)
{
	return session->type->readable && session->type->readable(session);
}

/**
 * rchar_session_next_message() - length of the next message
 * @session: the session; its lock is held
 *
 * Return: bytes; 0 when no whole message waits.
 */
u32 rchar_session_next_message(const struct rchar_session *session)
{
	lockdep_assert_held(&session->lock);
	if (!session->rx_messages)
		return 0;
	return list_first_entry(&session->rx_queue, struct rchar_seg, entry)->message;
}

/**
 * rchar_session_rx_queued() - bytes received and not read
 * @session: the session; its lock is held
 */
u32 rchar_session_rx_queued(const struct rchar_session *session)
{
	return session->rx_next - session->rx_read -
	       session->rx_messages * RCHAR_WIRE_MESSAGE_COST -
	       (session->type->rx_missing ? session->type->rx_missing(session) : 0);
}

/**
 * rchar_session_tx_unacked() - bytes written that the peer has not acknowledged
 * @session: the session; its lock is held
 */
u32 rchar_session_tx_unacked(const struct rchar_session *session)
{
	return session->tx_next - session->tx_acked -
	       session->tx_messages * RCHAR_WIRE_MESSAGE_COST;
}

/**
 * rchar_session_tx_room() - bytes that one write() may take now
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
 * rchar_session_opening() - does open() still have to wait?
 * @session: the session
 */
bool rchar_session_opening(struct rchar_session *session)
{
	enum rchar_session_state state = READ_ONCE(session->state);

	return state == RCHAR_SESSION_ACCEPTING || state == RCHAR_SESSION_OPENING;
}

/**
 * rchar_session_poll() - what a program can do without waiting
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
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLOUT | EPOLLWRNORM | EPOLLERR |
			EPOLLHUP;
	else if (halves & (RCHAR_SESSION_FIN_SENT | RCHAR_SESSION_STOP_RECEIVED))
		mask |= EPOLLOUT | EPOLLWRNORM;	/* write would not wait: EPIPE */
	else if (session->state == RCHAR_SESSION_OPEN && rchar_session_writable(session))
		mask |= EPOLLOUT | EPOLLWRNORM;
	if (halves & RCHAR_SESSION_FIN_RECEIVED && halves & RCHAR_SESSION_FIN_SENT)
		mask |= EPOLLHUP;
	spin_unlock_bh(&session->lock);
	return mask;
}

/* ---- the table ---- */

/**
 * rchar_session_find() - by id
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
 * @id: the last one seen, 0 to begin; advanced
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
 * rchar_session_init() - at module load
 */
int rchar_session_init(void)
{
	session_wq = alloc_workqueue("rchar_session", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return session_wq ? 0 : -ENOMEM;
}

/**
 * rchar_session_exit() - at module unload, after the links
 */
void rchar_session_exit(void)
{
	rchar_ledger_wait(RCHAR_OBJ_SESSION);
	destroy_workqueue(session_wq);
}
