// SPDX-License-Identifier: GPL-2.0
/* Life and end of a session: deadlines, half-close, close, and cleanup after death. */
#include "session_priv.h"
#include <linux/slab.h>
#include "channel.h"
#include "chardev.h"
#include "link/rxbuf.h"
#include "link/txbuf.h"
#include "type.h"

/* Delay before the retry of a control frame that found no memory. */
#define NOMEM_RETRY_MS 10

/* ---- timer ---- */

static void session_arm(struct rchar_session *s, unsigned long at)
{
	unsigned long delay = time_after(at, jiffies) ? at - jiffies : 0;

	rchar_session_get(s);
	if (mod_delayed_work(rchar_session_wq, &s->timer.work, delay))
		rchar_session_put(s); /* the timer was armed and already has a reference */
}

static unsigned long session_earlier(unsigned long a, unsigned long b)
{
	return time_before(a, b) ? a : b;
}

/**
 * rchar_session_rearm() - arm the timer for the earliest deadline or retry
 * @s: the session; its lock is held
 */
void rchar_session_rearm(struct rchar_session *s)
{
	unsigned long never = jiffies + MAX_JIFFY_OFFSET, at = never;

	lockdep_assert_held(&s->lock);
	if (s->state == RCHAR_SESSION_OPENING ||
	    (s->state == RCHAR_SESSION_CLOSING && s->tx.frames))
		at = s->timer.deadline;
	if (s->state == RCHAR_SESSION_OPENING && s->timer.retry_at)
		at = session_earlier(at, s->timer.retry_at);
	if (rchar_session_wanted_now(s))
		at = session_earlier(at, jiffies + msecs_to_jiffies(NOMEM_RETRY_MS));
	if (at != never)
		session_arm(s, at);
}

/* ---- ending ---- */

/* Move the segments received to @dropped; the caller frees them without the lock. */
static void drop_received(struct rchar_session *s, struct list_head *dropped)
{
	lockdep_assert_held(&s->lock);
	list_splice_init(&s->rx.queue, dropped);
	s->rx.memory = 0;
	s->rx.window.read = s->rx.window.next;
	if (s->type->dropped)
		s->type->dropped(s);
}

/* Does the session need session_bury(), which runs in process context? */
static bool leaves_something(const struct rchar_session *s)
{
	return s->type->bury || READ_ONCE(s->in_backlog) || !list_empty(&s->rx.dropped) ||
	       s->tx.frames;
}

static void session_end(struct rchar_session *s, enum rchar_reason reason, int error)
{
	lockdep_assert_held(&s->lock);
	s->reason = reason;
	s->error = error;
	s->wanted = 0;
	rchar_session_move(s, RCHAR_SESSION_DEAD);
	if (s->type->dead)
		s->type->dead(s);
	rchar_session_recount(s);
	if (leaves_something(s))
		session_arm(s, jiffies);
	else if (cancel_delayed_work(&s->timer.work))
		rchar_session_put(s); /* never the last */
}

/*
 * Remove a DEAD session from the link's table, but only after its RESET is queued.
 * rchar_link_forget() ends all sessions in the table and then drops all queued frames. A session
 * outside the table could queue RESET later, and that RESET could end a new session of the peer
 * with the same id.
 */
static void leave_table(struct rchar_session *s)
{
	lockdep_assert_held(&s->lock);
	if (s->state != RCHAR_SESSION_DEAD || s->wanted || !s->link ||
	    xa_load(&s->link->sessions, s->id) != s)
		return;
	xa_erase_bh(&s->link->sessions, s->id);
	atomic_dec(&s->link->nr_sessions);
	rchar_session_put(s); /* never the last */
}

/**
 * rchar_session_die() - end a session without sending RESET to the peer
 * @s: the session; its lock is held, and the caller has its own reference
 * @reason: why the session ends
 * @error: negative errno for programs
 *
 * When the session is already DEAD, a RESET that is not queued yet is cancelled.
 */
void rchar_session_die(struct rchar_session *s, enum rchar_reason reason, int error)
{
	lockdep_assert_held(&s->lock);
	if (s->state != RCHAR_SESSION_DEAD)
		session_end(s, reason, error);
	s->wanted = 0;
	leave_table(s);
}

/* Does the peer know the session, or does a queued OPEN make the session known? */
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

/* EACCES is for an open() that fails. A program that had a session has lost it. */
static int session_errno(const struct rchar_session *s, enum rchar_reason reason)
{
	int error = rchar_reason_errno(reason);

	return s->opened && error == -EACCES ? -ECONNRESET : error;
}

/**
 * rchar_session_fail_locked() - rchar_session_fail() for callers that hold the lock
 * @s: the session; its lock is held, and the caller has its own reference
 * @reason: why the session ends; sent to the peer
 */
void rchar_session_fail_locked(struct rchar_session *s, enum rchar_reason reason)
{
	bool tell = peer_knows(s);

	lockdep_assert_held(&s->lock);
	if (s->state == RCHAR_SESSION_DEAD)
		return;
	if (s->state == RCHAR_SESSION_OPENING && reason != RCHAR_REASON_CLOSED)
		note_open_failure(s, reason);
	session_end(s, reason, session_errno(s, reason));
	if (tell) {
		s->wanted = BIT(RCHAR_OP_RESET);
		rchar_session_send_wanted(s);
		rchar_session_recount(s);
	}
	leave_table(s);
}

/**
 * rchar_session_cut_locked() - rchar_session_cut() for callers that hold the lock
 * @s: the session, not in the backlog; its lock is held, and the caller has its own reference
 * @reason: why the session ends
 */
void rchar_session_cut_locked(struct rchar_session *s, enum rchar_reason reason)
{
	lockdep_assert_held(&s->lock);
	if (s->state == RCHAR_SESSION_OPENING)
		note_open_failure(s, reason);
	rchar_session_die(s, reason, session_errno(s, reason));
}

/**
 * rchar_session_fail() - end a session from this side, with RESET if the peer knows the session
 * @session: the session; the caller holds a reference
 * @reason: why the session ends; sent to the peer
 */
void rchar_session_fail(struct rchar_session *session, enum rchar_reason reason)
{
	spin_lock_bh(&session->lock);
	rchar_session_fail_locked(session, reason);
	spin_unlock_bh(&session->lock);
}

/* End a session that its peer, or its channel, has lost. The backlog drops its received bytes. */
static void session_remove(struct rchar_session *session, enum rchar_reason reason,
			   void (*end)(struct rchar_session *s, enum rchar_reason reason))
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
	end(session, reason);
	if (waiting) {
		drop_received(session, &dropped);
		rchar_session_recount(session);
	}
	spin_unlock_bh(&session->lock);
	rchar_seg_free_list(&dropped);
	if (waiting)
		rchar_session_put(session); /* the backlog's reference; never the last */
}

/**
 * rchar_session_delete() - end a session because its channel, or its right to it, is deleted
 * @session: the session; the caller holds a reference
 * @reason: why the session ends; sent to the peer
 *
 * A session in the backlog also leaves the backlog, and its received bytes are dropped.
 *
 * Context: process.
 */
void rchar_session_delete(struct rchar_session *session, enum rchar_reason reason)
{
	session_remove(session, reason, rchar_session_fail_locked);
}

/**
 * rchar_session_cut() - end a session whose link never carries a frame again
 * @session: the session; the caller holds a reference
 * @reason: why the session ends; the peer is not told
 *
 * As rchar_session_delete() otherwise.
 *
 * Context: process.
 */
void rchar_session_cut(struct rchar_session *session, enum rchar_reason reason)
{
	session_remove(session, reason, rchar_session_cut_locked);
}

/**
 * rchar_session_maybe_finish() - end a CLOSING session once the peer has acknowledged all frames
 * @s: the session; its lock is held
 *
 * At that point the peer has FIN, and STOP if the type has halves. Frames that the peer still sends
 * are dropped as stray frames.
 */
void rchar_session_maybe_finish(struct rchar_session *s)
{
	lockdep_assert_held(&s->lock);
	if (s->state == RCHAR_SESSION_CLOSING && !s->tx.frames && !s->wanted)
		rchar_session_die(s, RCHAR_REASON_NONE, 0);
}

/* Frames taken under one hold of the flow's lock, to keep the hold short. */
#define PURGE_BATCH 64

/* Take back the frames of a DEAD session that were never sent. */
static void purge_unsent(struct rchar_session *s)
{
	struct rchar_txbuf *txb;
	LIST_HEAD(taken);
	unsigned int n;

	do {
		spin_lock_bh(&s->lock);
		n = s->flow ? rchar_flow_take_unsent(s->flow, &s->tx.sender, &taken, PURGE_BATCH) :
			      0;
		list_for_each_entry(txb, &taken, queue)
			rchar_session_frame_gone(s, txb);
		spin_unlock_bh(&s->lock);
		rchar_txbuf_put_list(&taken);
		cond_resched();
	} while (n == PURGE_BATCH);
}

/* Remove a DEAD session from the backlog, unless a program can still read received bytes. */
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
 * Clean up after session_end(), which may run in a soft interrupt. A peer or a program determines
 * how much there is to clean up.
 */
static void session_bury(struct rchar_session *s)
{
	LIST_HEAD(dropped);

	purge_unsent(s);
	spin_lock_bh(&s->lock);
	s->held.buried = true;
	rchar_session_recount(s);
	list_splice_init(&s->rx.dropped, &dropped);
	spin_unlock_bh(&s->lock);
	rchar_seg_free_list(&dropped);
	if (s->type->bury)
		s->type->bury(s);
	leave_backlog(s);
}

/**
 * rchar_session_timer_work() - handle a deadline, a retry, or the cleanup of a DEAD session
 * @work: rchar_session_timer.work
 *
 * Context: process.
 */
void rchar_session_timer_work(struct work_struct *work)
{
	struct rchar_session *s = container_of(to_delayed_work(work), struct rchar_session,
					       timer.work);
	bool late;

	if (READ_ONCE(s->state) == RCHAR_SESSION_DEAD)
		session_bury(s);
	spin_lock_bh(&s->lock);
	late = time_after_eq(jiffies, s->timer.deadline);
	if (s->state == RCHAR_SESSION_OPENING && late) {
		rchar_session_fail_locked(s, RCHAR_REASON_TIMEOUT);
	} else if (s->state == RCHAR_SESSION_OPENING && s->timer.retry_at &&
		   time_after_eq(jiffies, s->timer.retry_at)) {
		s->timer.retry_at = 0;
		if (READ_ONCE(s->link->state) == RCHAR_LINK_UP)
			s->wanted |= BIT(RCHAR_OP_OPEN);
	} else if (s->state == RCHAR_SESSION_CLOSING && s->tx.frames && late) {
		rchar_session_fail_locked(s, RCHAR_REASON_LINGER);
	}
	rchar_session_send_wanted(s);
	/* RESET may have found no memory before. */
	rchar_session_recount(s);
	leave_table(s);
	rchar_session_maybe_finish(s);
	spin_unlock_bh(&s->lock);
	rchar_session_put(s);
}

/**
 * rchar_session_shut() - shut halves of a session, for callers that hold the lock
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
 * rchar_session_shutdown() - shut halves of a session, as a program asks
 * @session: the session
 * @halves: RCHAR_SHUT_RD, RCHAR_SHUT_WR or both
 *
 * Received bytes are dropped when the reader that copies some has finished. The copy may wait for
 * a page fault of another program.
 *
 * Context: process.
 * Return: 0; or -EINTR when a fatal signal ends the wait for the reader: the halves are shut then.
 */
int rchar_session_shutdown(struct rchar_session *session, u8 halves)
{
	LIST_HEAD(dropped);

	spin_lock_bh(&session->lock);
	if (session->state == RCHAR_SESSION_OPEN)
		rchar_session_shut(session, halves);
	spin_unlock_bh(&session->lock);
	if (halves & RCHAR_SHUT_RD) {
		/* Readers copy with the mutex, but without the session lock. */
		if (mutex_lock_killable(&session->rx.mutex))
			return -EINTR;
		spin_lock_bh(&session->lock);
		drop_received(session, &dropped);
		spin_unlock_bh(&session->lock);
		rchar_chardev_unlock_reader(session);
		rchar_seg_free_list(&dropped);
	}
	return 0;
}

/**
 * rchar_session_close() - end the program's use of a session, at the last close() of the file
 * @session: the session; the file's reference is dropped
 *
 * The session continues to send queued frames, at most for the linger time.
 *
 * Context: process.
 */
void rchar_session_close(struct rchar_session *session)
{
	struct rchar_channel *channel = session->channel;
	const struct rchar_type *type = session->type;
	bool cancel = false;
	LIST_HEAD(dropped);

	rchar_session_stop_waiting(session);
	spin_lock_bh(&session->lock);
	drop_received(session, &dropped);
	rchar_session_recount(session);
	if (session->state == RCHAR_SESSION_OPEN && !rchar_session_may_linger(session)) {
		rchar_session_fail_locked(session, RCHAR_REASON_PEER_LIMIT);
	} else if (session->state == RCHAR_SESSION_OPEN) {
		session->timer.deadline = jiffies +
					  msecs_to_jiffies(READ_ONCE(channel->config.linger_ms));
		rchar_session_move(session, RCHAR_SESSION_CLOSING);
		cancel = type->cancel;
		if (type->closed)
			type->closed(session);
		/* FIN alone ends a session of a type without halves. */
		rchar_session_shut(session,
				   type->halves ? RCHAR_SHUT_RD | RCHAR_SHUT_WR : RCHAR_SHUT_WR);
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
