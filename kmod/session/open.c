// SPDX-License-Identifier: GPL-2.0
/* Start of sessions: open() by a program, OPEN from a peer. */
#include "base/account.h"
#include "base/seq.h"
#include "acl.h"
#include "channel.h"
#include "link/psk.h"
#include "link/rxbuf.h"
#include "link/txbuf.h"
#include "session_priv.h"
#include "type.h"

static u8 open_flags_shut(u8 open_flags)
{
	return (open_flags & RCHAR_OPEN_NOSEND ? RCHAR_SHUT_WR : 0) |
	       (open_flags & RCHAR_OPEN_NORECV ? RCHAR_SHUT_RD : 0);
}

/* ---- open() of the device ---- */

/* Add a session to the link's table, and send OPEN if the link is up. */
static int start_opening(struct rchar_session *s, struct rchar_link *link)
{
	u32 id;

	lockdep_assert_held(&s->lock);
	if (xa_alloc_cyclic_bh(&link->sessions, &id, s, xa_limit_32b, &link->next_session,
			       GFP_ATOMIC) < 0) {
		s->state = RCHAR_SESSION_DEAD;
		return -ENOMEM;
	}
	rchar_session_get(s); /* the table's reference */
	rchar_session_bind(s, link, id);
	/* Either this looks after rchar_psk_del(), or the walk of link_cut() finds the session. */
	smp_mb();
	if (rchar_psk_deleted(link->psk)) {
		rchar_session_cut_locked(s, RCHAR_REASON_KEY_DELETED);
		return 0;
	}
	/* When the link is down, session_up() sends OPEN later. */
	if (READ_ONCE(link->state) == RCHAR_LINK_UP)
		s->wanted |= BIT(RCHAR_OP_OPEN);
	rchar_session_send_wanted(s);
	return 0;
}

static struct rchar_session *open_connect(struct rchar_channel *channel, u8 open_flags)
{
	u32 timeout_ms = READ_ONCE(channel->config.open_timeout_ms);
	struct rchar_session *s;
	int ret;

	s = rchar_session_create(channel, RCHAR_SESSION_OPENING, RCHAR_GFP_PROGRAM);
	if (!s)
		return ERR_PTR(-ENOMEM);
	s->initiator = true;
	s->open_flags = open_flags;
	s->timer.deadline = jiffies + msecs_to_jiffies(timeout_ms);
	if (open_flags & RCHAR_OPEN_NOSEND)
		s->shut |= RCHAR_SESSION_FIN_SENT;
	if (open_flags & RCHAR_OPEN_NORECV)
		s->shut |= RCHAR_SESSION_STOP_SENT;
	/* A channel that is not dead is a user of its link, so the link is valid. */
	spin_lock_bh(&channel->lock);
	if (channel->dead) {
		spin_unlock_bh(&channel->lock);
		rchar_session_discard(s);
		return ERR_PTR(-ENXIO);
	}
	rchar_session_add(s);
	spin_lock(&s->lock);
	ret = start_opening(s, channel->link);
	spin_unlock(&s->lock);
	spin_unlock_bh(&channel->lock);
	if (ret)
		rchar_session_put(s);
	return ret ? ERR_PTR(ret) : s;
}

static struct rchar_session *first_waiting(struct rchar_channel *channel)
{
	lockdep_assert_held(&channel->lock);
	return list_first_entry_or_null(&channel->waiting, struct rchar_session, wait_entry);
}

/**
 * rchar_session_unlist_waiting() - remove a session from the backlog
 * @s: the session, in the backlog; the channel's lock is held. The caller takes over the
 *     backlog's reference.
 */
void rchar_session_unlist_waiting(struct rchar_session *s)
{
	lockdep_assert_held(&s->channel->lock);
	list_del_init(&s->wait_entry);
	WRITE_ONCE(s->in_backlog, false);
	WRITE_ONCE(s->channel->nr_waiting, s->channel->nr_waiting - 1);
	atomic_dec(&s->link->account->waiting);
}

/* Did the session end in the backlog, without bytes to read? */
static bool nothing_left(struct rchar_session *s)
{
	return READ_ONCE(s->state) == RCHAR_SESSION_DEAD && !rchar_session_readable(s);
}

/*
 * Take the first session out of the backlog that is alive or has bytes to read. Return the session
 * with the backlog's reference, or NULL.
 */
static struct rchar_session *take_waiting(struct rchar_channel *channel)
{
	struct rchar_session *s;

	while ((s = first_waiting(channel))) {
		rchar_session_unlist_waiting(s);
		if (!nothing_left(s))
			return s;
		rchar_session_put(s);
	}
	return NULL;
}

/* Give a session from the backlog to the program: widen its window to the channel's setting. */
static void take_over(struct rchar_session *s, u8 open_flags)
{
	spin_lock(&s->lock);
	s->open_flags = open_flags;
	rchar_session_held_by_program(s);
	if (s->state == RCHAR_SESSION_WAITING) {
		rchar_session_move(s, RCHAR_SESSION_OPEN);
		if (rchar_seq_before(s->rx.window.edge, s->rx.window.read + s->window))
			s->wanted |= BIT(RCHAR_OP_WINDOW);
		rchar_session_shut(s, open_flags_shut(open_flags));
	}
	spin_unlock(&s->lock);
}

static struct rchar_session *open_listen(struct rchar_channel *channel, u8 open_flags)
{
	struct rchar_session *s, *acceptor;

	/* Allocated without the lock; discarded when the backlog has a session. */
	acceptor = rchar_session_create(channel, RCHAR_SESSION_ACCEPTING, RCHAR_GFP_PROGRAM);
	if (!acceptor)
		return ERR_PTR(-ENOMEM);
	spin_lock_bh(&channel->lock);
	if (channel->dead) {
		spin_unlock_bh(&channel->lock);
		rchar_session_discard(acceptor);
		return ERR_PTR(-ENXIO);
	}
	s = take_waiting(channel);
	if (s) {
		take_over(s, open_flags);
	} else {
		s = acceptor;
		acceptor = NULL;
		s->open_flags = open_flags;
		rchar_session_add(s);
		list_add_tail(&s->wait_entry, &channel->acceptors);
	}
	spin_unlock_bh(&channel->lock);
	rchar_session_discard(acceptor);
	/* Nobody will read what arrived in the backlog. */
	if (open_flags & RCHAR_OPEN_NORECV)
		rchar_session_shutdown(s, RCHAR_SHUT_RD);
	return s;
}

/**
 * rchar_session_open() - start or take a session for an open() of the device
 * @channel: the channel
 * @open_flags: RCHAR_OPEN_NOSEND for O_RDONLY, RCHAR_OPEN_NORECV for O_WRONLY
 *
 * Context: process.
 * Return: the session, with a reference for the file; open() has to wait while
 * rchar_session_opening(). ERR_PTR(-ENXIO) when the channel is deleted; ERR_PTR(-ENOMEM).
 */
struct rchar_session *rchar_session_open(struct rchar_channel *channel, u8 open_flags)
{
	if (channel->config.role == RCHAR_ROLE_CONNECT)
		return open_connect(channel, open_flags);
	return open_listen(channel, open_flags);
}

/**
 * rchar_session_stop_waiting() - give up an open() that waits
 * @s: the session
 *
 * Return: true; or false when the session is not opening any more. From the return on, no peer gets
 * a session that is still accepting.
 */
bool rchar_session_stop_waiting(struct rchar_session *s)
{
	spin_lock_bh(&s->channel->lock);
	list_del_init(&s->wait_entry);
	spin_unlock_bh(&s->channel->lock);
	return rchar_session_opening(s);
}

/* ---- OPEN from the peer ---- */

static int session_refuse(struct rchar_link *link, u32 id, enum rchar_reason reason)
{
	struct rchar_txbuf *txb;
	LIST_HEAD(frames);

	txb = rchar_txbuf_alloc_reply(RCHAR_OP_REFUSED, sizeof(struct rchar_wire_status),
				      link->account);
	if (!txb)
		return -ENOBUFS;
	rchar_session_fill_status(txb, reason);
	txb->hdr.session = id;
	list_add(&txb->queue, &frames);
	rchar_flow_queue(rchar_link_flow(link, id), &frames);
	return 0;
}

/*
 * Create a session for the backlog. No program has asked for the session yet, so its memory counts
 * against the peer: twice the window, see "Memory bounds" in Documentation/design.rst. If that does
 * not fit in half the peer's budget, the window is smaller until a program opens the session.
 */
static struct rchar_session *create_waiting(struct rchar_channel *channel, struct rchar_link *link)
{
	u32 small = min(READ_ONCE(channel->config.window), RCHAR_WINDOW_MIN);
	struct rchar_session *s;

	s = rchar_session_create(channel, RCHAR_SESSION_WAITING, GFP_ATOMIC | __GFP_NOWARN);
	if (!s)
		return NULL;
	s->held.bytes = RCHAR_SESSION_COST + 2 * (u64)s->window;
	if (rchar_account_hold_half(link->account, s->held.bytes))
		return s;
	s->rx.window.edge = small;
	s->held.bytes = RCHAR_SESSION_COST + 2 * (u64)small;
	if (rchar_account_hold(link->account, s->held.bytes))
		return s;
	rchar_session_discard(s);
	return ERR_PTR(-ENOBUFS);
}

/* Undo take_peer() for a session that could not be added to the link's table. */
static void give_back(struct rchar_session *s, struct rchar_link *link)
{
	if (s->held.bytes)
		rchar_account_release(link->account, s->held.bytes);
	s->held.bytes = 0;
	rchar_session_put(s);
}

/* Give the peer's session to a program that waits in open(), or add the session to the backlog. */
static enum rchar_reason take_peer(struct rchar_channel *channel, struct rchar_link *link,
				   const struct rchar_hdr *hdr, const struct rchar_wire_open *open)
{
	struct rchar_session *s;

	lockdep_assert_held(&channel->lock);
	if (channel->dead)
		return RCHAR_REASON_NO_CHANNEL;
	s = list_first_entry_or_null(&channel->acceptors, struct rchar_session, wait_entry);
	if (!s) {
		if (!rchar_account_leaves_room(atomic_read(&link->account->waiting),
					       channel->nr_waiting,
					       READ_ONCE(channel->config.backlog)))
			return RCHAR_REASON_BACKLOG;
		s = create_waiting(channel, link);
		if (IS_ERR_OR_NULL(s))
			return s ? RCHAR_REASON_BACKLOG : RCHAR_REASON_NO_MEMORY;
		rchar_session_add(s);
	} else {
		rchar_session_get(s);
	}
	spin_lock(&s->lock);
	if (xa_insert_bh(&link->sessions, hdr->session, s, GFP_ATOMIC | __GFP_NOWARN)) {
		spin_unlock(&s->lock);
		give_back(s, link);
		return RCHAR_REASON_NO_MEMORY;
	}
	/* The reference made or taken above is the table's. */
	rchar_session_bind(s, link, hdr->session);
	rchar_session_set_opened(s, hdr->window, le32_to_cpu(open->max_message));
	WRITE_ONCE(s->tx.window.edge, hdr->window);
	if (open->flags & RCHAR_OPEN_NOSEND)
		WRITE_ONCE(s->shut, s->shut | RCHAR_SESSION_FIN_RECEIVED);
	if (open->flags & RCHAR_OPEN_NORECV)
		WRITE_ONCE(s->shut, s->shut | RCHAR_SESSION_STOP_RECEIVED);
	s->wanted |= BIT(RCHAR_OP_OPENED);
	if (s->state == RCHAR_SESSION_ACCEPTING) {
		list_del_init(&s->wait_entry);
		rchar_session_move(s, RCHAR_SESSION_OPEN);
		rchar_session_shut(s, open_flags_shut(s->open_flags));
	} else {
		rchar_session_get(s); /* the backlog's reference */
		list_add_tail(&s->wait_entry, &channel->waiting);
		WRITE_ONCE(s->in_backlog, true);
		WRITE_ONCE(channel->nr_waiting, channel->nr_waiting + 1);
		atomic_inc(&link->account->waiting);
		rchar_session_send_wanted(s);
	}
	spin_unlock(&s->lock);
	return RCHAR_REASON_NONE;
}

/* A host that guards a channel does not tell whether another name exists. */
static enum rchar_reason no_channel_reason(void)
{
	return rchar_acl_guarded() ? RCHAR_REASON_NOT_AUTHORISED : RCHAR_REASON_NO_CHANNEL;
}

/* Returns 0, or the reason to refuse the session. */
static enum rchar_reason receive_open_locked(struct rchar_channel *channel, struct rchar_link *link,
					     const struct rchar_hdr *hdr,
					     const struct rchar_wire_open *open)
{
	lockdep_assert_held(&channel->lock);
	/* With the lock, so that a session is refused, or ended by rchar_channel_set_acl(). */
	if (!rchar_acl_permits_link(rcu_dereference_protected(channel->acl,
							      lockdep_is_held(&channel->lock)),
				    link))
		return RCHAR_REASON_NOT_AUTHORISED;
	if (channel->config.encrypt != link->encrypted)
		return RCHAR_REASON_ENCRYPTION;
	if (channel->config.type != open->type)
		return RCHAR_REASON_WRONG_TYPE;
	return channel->type->accept ? channel->type->accept(channel, link, hdr) :
				       take_peer(channel, link, hdr, open);
}

/**
 * rchar_session_receive_open() - take an OPEN of the peer
 * @link: the link
 * @hdr: header of the frame
 * @rxb: buffer with the payload
 * @err: set when the frame violates the protocol
 *
 * Return: 0; -ENOMEM or -ENOBUFS to get the frame again after a reconnect.
 */
int rchar_session_receive_open(struct rchar_link *link, const struct rchar_hdr *hdr,
			       struct rchar_rxbuf *rxb, enum rchar_frame_error *err)
{
	struct sockaddr_storage local;
	struct rchar_channel *channel;
	struct rchar_wire_open open;
	enum rchar_reason reason;

	rchar_rxbuf_copy(rxb, &open, sizeof(open));
	/* The peer continues to send OPEN, but takes no replies. */
	if (rchar_session_too_many_replies(rchar_link_flow(link, hdr->session)))
		return -ENOBUFS;
	*err = link->initiator ? RCHAR_FRAME_BAD_STATE : rchar_open_check(&open);
	if (!*err && xa_load(&link->sessions, hdr->session))
		*err = RCHAR_FRAME_BAD_SESSION;
	if (!*err && !rchar_window_valid(hdr->window, rchar_open_max_message(&open)))
		*err = RCHAR_FRAME_BAD_PAYLOAD;
	if (*err)
		return 0;
	rchar_link_ends(link, &local, NULL);
	channel = rchar_channel_find_listening(link->net, &local, (const char *)open.name);
	if (!channel)
		return session_refuse(link, hdr->session, no_channel_reason());
	spin_lock_bh(&channel->lock);
	reason = receive_open_locked(channel, link, hdr, &open);
	spin_unlock_bh(&channel->lock);
	rchar_channel_put(channel);
	if (reason == RCHAR_REASON_NO_MEMORY)
		return -ENOMEM;
	if (reason == RCHAR_REASON_NO_CHANNEL)
		reason = no_channel_reason();
	return reason ? session_refuse(link, hdr->session, reason) : 0;
}
