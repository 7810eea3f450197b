// SPDX-License-Identifier: GPL-2.0
/*
 * What sessions hold for the peer: dead ones until their frames are acknowledged, those in a
 * backlog until a program opens them. design.rst, "What a peer can make this host hold".
 */
#include "session_priv.h"
#include "account.h"
#include "channel.h"
#include "export.h"

/* Only what goes with the link: that is what dropping it brings. */
static void add_dead(struct rchar_link *link, u64 bytes)
{
	atomic64_add(bytes, &link->dead_bytes);
	rchar_link_left_more(link);
}

/* Of a link that this host made they are the program's, whose cgroup has counted them. */
static bool peers_own(const struct rchar_session *s)
{
	return s->link && !s->link->initiator;
}

/**
 * rchar_session_hold_dead() - what a dead session still holds is held for the peer
 * @s: the session, dead, of a link; its lock is held
 *
 * Its own memory, and what waits in the backlog to be read. For its frames see
 * rchar_session_hold_frames().
 */
void rchar_session_hold_dead(struct rchar_session *s)
{
	u64 held = RCHAR_SESSION_COST;

	lockdep_assert_held(&s->lock);
	/* Its registrations are still there: rchar_session_export_gone() comes. */
	if (s->export && s->export->counted)
		return;
	if (READ_ONCE(s->in_backlog))
		held += s->rx_memory;
	if (held < s->held)
		rchar_account_release(s->link->account, s->held - held);
	else
		rchar_account_hold_always(s->link->account, held - s->held);
	s->held = held;
}

/**
 * rchar_session_hold_kept() - a frame of a dead session waits for the peer, and keeps it
 * @s: the session, dead; its lock is held
 */
void rchar_session_hold_kept(struct rchar_session *s)
{
	lockdep_assert_held(&s->lock);
	if (!peers_own(s) || s->kept || !s->tx_frames)
		return;
	s->kept = true;
	add_dead(s->link, RCHAR_SESSION_COST);
}

/**
 * rchar_session_hold_frames() - frames of a dead session that the peer has not acknowledged
 * @s: the session, dead; its lock is held. Frames that were never sent are gone.
 *
 * A peer that called answers for them.
 */
void rchar_session_hold_frames(struct rchar_session *s)
{
	rchar_session_hold_kept(s);
	if (!peers_own(s) || s->held_frames)
		return;
	s->held_frames = s->tx_memory;
	rchar_account_hold_always(s->link->account, s->held_frames);
	add_dead(s->link, s->held_frames);
}

static void release_frames(struct rchar_session *s, u64 bytes)
{
	if (!s->held_frames)
		return;
	rchar_account_release(s->link->account, bytes);
	atomic64_sub(bytes, &s->link->dead_bytes);
	s->held_frames -= bytes;
}

static void release_kept(struct rchar_session *s)
{
	if (!s->kept)
		return;
	atomic64_sub(RCHAR_SESSION_COST, &s->link->dead_bytes);
	s->kept = false;
}

/**
 * rchar_session_frame_gone() - a frame is no longer queued: acknowledged, or not sent at all
 * @s: the session; its lock is held
 * @txb: the frame
 */
void rchar_session_frame_gone(struct rchar_session *s, const struct rchar_txbuf *txb)
{
	u32 memory = rchar_txbuf_memory(txb);

	lockdep_assert_held(&s->lock);
	WRITE_ONCE(s->tx_frames, s->tx_frames - 1);
	if (!s->tx_frames)
		release_kept(s);
	if (txb->hdr.flags & RCHAR_FRAME_LAST)
		s->tx_messages--;
	if (!rchar_op_carries_data(txb->hdr.op))
		return;
	s->tx_memory -= memory;
	release_frames(s, memory);
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
	if (s->state == RCHAR_SESSION_DEAD) {
		rchar_session_hold_dead(s);
		return;
	}
	rchar_account_release(s->link->account, s->held);
	s->held = 0;
}

/**
 * rchar_session_export_gone() - the registrations of a dead session are
 * @s: the session
 *
 * Context: process.
 */
void rchar_session_export_gone(struct rchar_session *s)
{
	struct rchar_channel *channel = s->channel;

	spin_lock_bh(&channel->lock);
	spin_lock(&s->lock);
	if (s->export->counted) {
		s->export->counted = false;
		channel->nr_importers--;
		atomic_dec(&s->link->account->imports);
		rchar_account_release_beyond(s->export->beyond);
		rchar_session_hold_dead(s);
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
	if (s->held)
		rchar_account_release(s->link->account, s->held);
	release_frames(s, s->held_frames);
	release_kept(s);
}
