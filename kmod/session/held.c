// SPDX-License-Identifier: GPL-2.0
/*
 * Count the memory that sessions hold for the peer. A session counts while it is in the backlog. A
 * closed or DEAD session counts until the peer has acknowledged its frames.
 * See Documentation/design.rst, "What a peer can make this host hold".
 */
#include "base/account.h"
#include "channel.h"
#include "link/evict.h"
#include "session_priv.h"

/*
 * Does the peer's account pay for the frames? On a link that this host initiated the program pays:
 * its cgroup has counted the memory of the frames.
 */
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

/* Set the part of the held bytes that forgetting the link's frames would release. */
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

/* The peer pays for the frames of a buried session: session_bury() has purged the unsent ones. */
static u64 frames_held(const struct rchar_session *s)
{
	return s->held.buried ? s->tx.memory : 0;
}

static u64 held_now(const struct rchar_session *s)
{
	/* It may still use registrations: rchar_session_importer_gone() counts again. */
	if (s->held.importer)
		return s->held.bytes;
	return RCHAR_SESSION_COST + frames_held(s) + (READ_ONCE(s->in_backlog) ? s->rx.memory : 0);
}

/**
 * rchar_session_recount() - update the accounts after a closed or DEAD session has changed
 * @s: the session; its lock is held
 *
 * Such a session holds its own memory, the bytes that wait in the backlog to be read, and the
 * frames that the peer has not acknowledged. They count against a peer that initiated the link.
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
 * rchar_session_may_linger() - count a session that a program closes and that is to linger
 * @s: the session, OPEN; its lock is held
 *
 * The frames that the program has written count as lingering, not against the peer's budget. The
 * session itself counts against the budget of a peer that initiated the link.
 *
 * Return: true; or false when the peer's other sessions leave no room. Nothing is counted then.
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

/*
 * RCHAR_SESSION_COST covers FIN and other control frames, but not MAP, nor calls and results with
 * the bytes of a read or write.
 */
static u32 memory_of(const struct rchar_txbuf *txb)
{
	if (rchar_op_carries_data(txb->hdr.op) || txb->hdr.op == RCHAR_OP_MAP || txb->nr_chunks)
		return rchar_txbuf_memory(txb);
	return 0;
}

/**
 * rchar_session_frame_queued() - count a frame that is queued
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
	if (txb->hdr.op == RCHAR_OP_MAP) {
		WRITE_ONCE(s->tx.maps, s->tx.maps + 1);
		s->tx.maps_memory += memory_of(txb);
	}
}

/**
 * rchar_session_frame_gone() - uncount a frame that is acknowledged or will not be sent
 * @s: the session; its lock is held
 * @txb: the frame
 */
void rchar_session_frame_gone(struct rchar_session *s, const struct rchar_txbuf *txb)
{
	lockdep_assert_held(&s->lock);
	WRITE_ONCE(s->tx.frames, s->tx.frames - 1);
	s->tx.memory -= memory_of(txb);
	if (txb->hdr.op == RCHAR_OP_MAP) {
		WRITE_ONCE(s->tx.maps, s->tx.maps - 1);
		s->tx.maps_memory -= memory_of(txb);
	}
	rchar_session_recount(s);
}

/**
 * rchar_session_held_by_program() - release the peer's account after a program's open()
 * @s: the session, just removed from the backlog; its lock is held
 *
 * From here on the window that the administrator gave the channel bounds the session's memory. The
 * frames of a DEAD session still count against the peer.
 */
void rchar_session_held_by_program(struct rchar_session *s)
{
	lockdep_assert_held(&s->lock);
	if (s->state == RCHAR_SESSION_DEAD)
		rchar_session_recount(s);
	else
		set_held(s, 0);
}

/* Count all in the peer's account: at most half of its budget, for its first importer. */
static bool hold_all(struct rchar_account *account, bool first, u64 bytes)
{
	return first ? rchar_account_hold_half(account, bytes) : rchar_account_hold(account, bytes);
}

/* Count RCHAR_SESSION_COST in the peer's account, and @beyond more for the host. */
static bool hold_first(struct rchar_account *account, u64 beyond)
{
	if (!rchar_account_hold(account, RCHAR_SESSION_COST))
		return false;
	if (rchar_account_hold_beyond(beyond))
		return true;
	rchar_account_release(account, RCHAR_SESSION_COST);
	return false;
}

/**
 * rchar_session_hold_importer() - count a session by which a peer imports memory of this host
 * @s: the session, new; the lock of its channel is held
 * @link: the link to which the session will be bound
 * @bytes: estimated memory of the session
 * @common: set to what is counted for the registrations, which sessions share. The caller releases
 *	    it when the last of them has left. May be NULL when @common_bytes is 0.
 * @common_bytes: estimated memory of the registrations; 0 when there are none, or when another
 *		  session has counted them
 *
 * The first importer of a peer gets its registrations even when they need more than half of the
 * peer's budget, because the administrator chose their size. In that case only RCHAR_SESSION_COST
 * counts against the peer. The rest is beyond that, and counts only for the host.
 *
 * Return: 0, or the reason to refuse the session. Nothing is counted then.
 */
enum rchar_reason rchar_session_hold_importer(struct rchar_session *s, struct rchar_link *link,
					      u64 bytes, struct rchar_common_held *common,
					      u64 common_bytes)
{
	struct rchar_account *account = link->account;
	u32 mine = atomic_fetch_inc(&account->imports);
	enum rchar_reason reason = RCHAR_REASON_BACKLOG;
	u64 all = bytes + common_bytes;

	lockdep_assert_held(&s->channel->lock);
	if (!rchar_account_leaves_room(mine, s->channel->nr_importers,
				       READ_ONCE(s->channel->config.backlog)))
		goto err_imports;
	if (hold_all(account, !mine, all)) {
		s->held.bytes = bytes;
		if (common_bytes)
			common->bytes = common_bytes;
		goto out;
	}
	/* An ending import frees memory soon: BACKLOG lets the peer retry, PEER_LIMIT does not. */
	if (mine && !atomic_read(&account->ending_imports) && !rchar_account_fits(account, all))
		reason = RCHAR_REASON_PEER_LIMIT;
	if (mine || !hold_first(account, all - RCHAR_SESSION_COST))
		goto err_imports;
	s->held.bytes = RCHAR_SESSION_COST;
	s->held.beyond = bytes - RCHAR_SESSION_COST;
	if (common_bytes)
		common->beyond = common_bytes;
out:
	s->channel->nr_importers++;
	s->held.importer = true;
	return RCHAR_REASON_NONE;

err_imports:
	atomic_dec(&account->imports);
	return reason;
}

/**
 * rchar_session_unhold_importer() - undo rchar_session_hold_importer()
 * @s: the session, not bound to @link; the lock of its channel is held
 * @link: the link given to rchar_session_hold_importer()
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
 * rchar_session_importer_gone() - uncount a DEAD session that does not use registrations any more
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
 * rchar_session_release() - release all that is counted for a session without references
 * @s: the session, before rchar_link_unuse() for its link; may have no link
 */
void rchar_session_release(struct rchar_session *s)
{
	if (!s->link)
		return;
	set_lingering(s, 0);
	set_left(s, 0);
	set_held(s, 0);
}
