// SPDX-License-Identifier: GPL-2.0
/*
 * What sessions hold for the peer: those in a backlog until a program opens them, and those that
 * are closed or dead until their frames are acknowledged. design.rst, "What a peer can make this
 * host hold".
 */
#include "base/account.h"
#include "channel.h"
#include "link/evict.h"
#include "session_priv.h"

/* Of a link that this host made they are the program's, whose cgroup has counted them. */
static bool peers_own(const struct rchar_session *s)
{
	return !s->link->initiator;
}

static void set_held(struct rchar_session *s, u64 held)
{
	if (held == s->held.bytes)
		return;
	if (held < s->held.bytes)
		rchar_account_release(s->link->account, s->held.bytes - held);
	else
		rchar_account_hold_always(s->link->account, held - s->held.bytes);
	s->held.bytes = held;
}

/* Of that, what dropping the link brings. */
static void set_left(struct rchar_session *s, u64 left)
{
	bool more = left > s->held.left;

	if (left == s->held.left)
		return;
	atomic64_add((s64)(left - s->held.left), &s->link->dead_bytes);
	s->held.left = left;
	if (more)
		rchar_link_left_more(s->link);
}

static void set_lingering(struct rchar_session *s, u64 lingering)
{
	if (lingering == s->held.lingering)
		return;
	rchar_account_unlinger(s->link->account, s->held.lingering - lingering);
	s->held.lingering = lingering;
}

static void end_closing(struct rchar_session *s)
{
	if (s->held.closing)
		atomic_dec(&s->link->account->closing);
	s->held.closing = false;
}

static void set_ending(struct rchar_session *s, bool ending)
{
	if (s->held.importer_ending == ending)
		return;
	s->held.importer_ending = ending;
	atomic_add(ending ? 1 : -1, &s->link->account->ending_imports);
}

/* Its frames are the peer's when bury() has taken back those that were never sent. */
static u64 frames_held(const struct rchar_session *s)
{
	return s->held.buried ? s->tx.memory : 0;
}

static u64 held_now(const struct rchar_session *s)
{
	/* Its registrations are still there: rchar_session_importer_gone() comes. */
	if (s->held.importer)
		return s->held.bytes;
	return RCHAR_SESSION_COST + frames_held(s) + (READ_ONCE(s->in_backlog) ? s->rx.memory : 0);
}

/**
 * rchar_session_recount() - after each change of what a closed or dead session has
 * @s: the session; its lock is held
 *
 * It holds for the peer its own memory, what waits in the backlog to be read, and frames that
 * the peer has not acknowledged. A peer that called answers for them.
 */
void rchar_session_recount(struct rchar_session *s)
{
	lockdep_assert_held(&s->lock);
	if (!s->link)
		return;
	set_lingering(s, s->held.buried ? 0 : min(s->held.lingering, s->tx.memory));
	if (!peers_own(s))
		return;
	if (s->state == RCHAR_SESSION_CLOSING || s->state == RCHAR_SESSION_DEAD)
		set_held(s, held_now(s));
	if (s->state != RCHAR_SESSION_DEAD)
		return;
	set_left(s, s->tx.frames ? RCHAR_SESSION_COST + frames_held(s) : 0);
	end_closing(s);
	set_ending(s, s->held.importer);
}

/**
 * rchar_session_may_linger() - a program closed it: is there room until the peer has it all?
 * @s: the session, OPEN; its lock is held
 *
 * What the program has written stays the program's memory; the rest is the peer's.
 *
 * Return: false when the peer has taken too little of other sessions. Nothing is counted then.
 */
bool rchar_session_may_linger(struct rchar_session *s)
{
	lockdep_assert_held(&s->lock);
	if (!rchar_account_linger(s->link->account, s->tx.memory))
		return false;
	s->held.lingering = s->tx.memory;
	if (!peers_own(s))
		return true;
	if (!rchar_account_hold_closing(s->link->account, RCHAR_SESSION_COST)) {
		set_lingering(s, 0);
		return false;
	}
	s->held.bytes += RCHAR_SESSION_COST;
	atomic_inc(&s->link->account->closing);
	s->held.closing = true;
	return true;
}

/* FIN and the like are in %RCHAR_SESSION_COST. */
static u32 memory_of(const struct rchar_txbuf *txb)
{
	return rchar_op_carries_data(txb->hdr.op) || txb->hdr.op == RCHAR_OP_MAP ?
	       rchar_txbuf_memory(txb) : 0;
}

/**
 * rchar_session_frame_queued() - a frame has been queued
 * @s: the session; its lock is held
 * @txb: the frame
 */
void rchar_session_frame_queued(struct rchar_session *s, const struct rchar_txbuf *txb)
{
	lockdep_assert_held(&s->lock);
	WRITE_ONCE(s->tx.frames, s->tx.frames + 1);
	if (txb->hdr.flags & RCHAR_FRAME_LAST)
		s->tx.messages++;
	s->tx.memory += memory_of(txb);
}

/**
 * rchar_session_frame_gone() - a frame is no longer queued: acknowledged, or not sent at all
 * @s: the session; its lock is held
 * @txb: the frame
 */
void rchar_session_frame_gone(struct rchar_session *s, const struct rchar_txbuf *txb)
{
	lockdep_assert_held(&s->lock);
	WRITE_ONCE(s->tx.frames, s->tx.frames - 1);
	if (txb->hdr.flags & RCHAR_FRAME_LAST)
		s->tx.messages--;
	s->tx.memory -= memory_of(txb);
	rchar_session_recount(s);
}

/**
 * rchar_session_held_by_program() - a program opened what waited in the backlog
 * @s: the session, out of the backlog; its lock is held
 *
 * Its memory is bounded by the window that the administrator gave the channel. Of a session
 * that is dead already the frames stay the peer's.
 */
void rchar_session_held_by_program(struct rchar_session *s)
{
	lockdep_assert_held(&s->lock);
	if (s->state == RCHAR_SESSION_DEAD)
		rchar_session_recount(s);
	else
		set_held(s, 0);
}

/**
 * rchar_session_hold_importer() - a peer opens memory of this host: is there room?
 * @s: the session, new; the lock of its channel is held
 * @link: the link it will have
 * @bytes: what its registrations hold, about
 *
 * The first one of a peer gets its registrations although they cost more than half of what a
 * peer may hold: their size is the administrator's choice. They are @beyond then, and do not
 * count against the peer.
 *
 * Return: 0, or why it is refused: nothing is counted then.
 */
enum rchar_reason rchar_session_hold_importer(struct rchar_session *s, struct rchar_link *link,
					      u64 bytes)
{
	struct rchar_account *account = link->account;
	u32 mine = atomic_fetch_inc(&account->imports);
	enum rchar_reason reason = RCHAR_REASON_BACKLOG;

	lockdep_assert_held(&s->channel->lock);
	s->held.bytes = bytes;
	if (!rchar_account_leaves_room(mine, s->channel->nr_importers,
				       READ_ONCE(s->channel->config.backlog)))
		goto err_imports;
	if (mine ? rchar_account_hold(account, bytes) : rchar_account_hold_half(account, bytes))
		goto out;
	/* What an import that has ended holds comes back soon. */
	if (mine && !atomic_read(&account->ending_imports) && !rchar_account_fits(account, bytes))
		reason = RCHAR_REASON_PEER_LIMIT;
	if (mine || !rchar_account_hold(account, RCHAR_SESSION_COST))
		goto err_imports;
	s->held.bytes = RCHAR_SESSION_COST;
	s->held.beyond = bytes - RCHAR_SESSION_COST;
	if (!rchar_account_hold_beyond(s->held.beyond))
		goto err_account;
out:
	s->channel->nr_importers++;
	s->held.importer = true;
	return RCHAR_REASON_NONE;

err_account:
	rchar_account_release(account, s->held.bytes);
	s->held.beyond = 0;
err_imports:
	s->held.bytes = 0;
	atomic_dec(&account->imports);
	return reason;
}

/**
 * rchar_session_unhold_importer() - undo rchar_session_hold_importer()
 * @s: the session, not bound to @link; the lock of its channel is held
 * @link: the link it would have had
 */
void rchar_session_unhold_importer(struct rchar_session *s, struct rchar_link *link)
{
	lockdep_assert_held(&s->channel->lock);
	rchar_account_release_beyond(s->held.beyond);
	rchar_account_release(link->account, s->held.bytes);
	atomic_dec(&link->account->imports);
	s->channel->nr_importers--;
	s->held.importer = false;
	s->held.beyond = 0;
	s->held.bytes = 0;
}

/**
 * rchar_session_importer_gone() - the registrations of a dead session are
 * @s: the session
 *
 * Context: process.
 */
void rchar_session_importer_gone(struct rchar_session *s)
{
	struct rchar_channel *channel = s->channel;

	spin_lock_bh(&channel->lock);
	spin_lock(&s->lock);
	if (s->held.importer) {
		s->held.importer = false;
		channel->nr_importers--;
		atomic_dec(&s->link->account->imports);
		rchar_account_release_beyond(s->held.beyond);
		rchar_session_recount(s);
	}
	spin_unlock(&s->lock);
	spin_unlock_bh(&channel->lock);
}

/**
 * rchar_session_release() - nobody has the session any more
 * @s: the session, before it lets go of its link
 */
void rchar_session_release(struct rchar_session *s)
{
	if (!s->link)
		return;
	set_lingering(s, 0);
	set_left(s, 0);
	set_held(s, 0);
}
