// SPDX-License-Identifier: GPL-2.0
/* Send side of a session: control frames, and data within the windows. */
#include "session_priv.h"
#include <linux/poll.h>
#include "channel.h"
#include "link/txbuf.h"
#include "type.h"

/* Estimated memory of a queued frame, without its payload. */
#define FRAME_COST RCHAR_TXBUF_COST
/* Frames that a session may always have queued, however small its window is. */
#define FRAMES_MIN 64u

/* Move the edge. While the session is in the backlog, the edge of create_waiting() remains. */
static void advertise_window(struct rchar_session *s)
{
	if (s->state != RCHAR_SESSION_WAITING)
		rchar_rx_window_advertise(&s->rx.window, s->window);
}

/*
 * Put the new edge into a frame that still waits, if there is one. Otherwise each read() would
 * queue a WINDOW, and a peer that grants no credits would take none of them.
 */
static bool update_window(struct rchar_session *s)
{
	advertise_window(s);
	return rchar_flow_update_window(s->flow, &s->tx.sender, s->rx.window.edge);
}

/* Fill in the session's fields of a frame, and count the frame. */
static void session_prepare(struct rchar_session *s, struct rchar_txbuf *txb)
{
	if (rchar_hdr_takes_window(&txb->hdr))
		rchar_tx_window_send(&s->tx.window, txb->hdr.len);
	if (txb->hdr.flags & RCHAR_FRAME_LAST)
		rchar_tx_window_send(&s->tx.window, RCHAR_WIRE_MESSAGE_COST);
	rchar_session_get(s);
	txb->sender = &s->tx.sender;
	txb->hdr.session = s->id;
	txb->hdr.window = s->rx.window.edge;
	/* An ack of this frame must not cover bytes that no frame carries yet. */
	if (!(txb->hdr.flags & RCHAR_FRAME_INSTEAD))
		txb->end = s->tx.window.next - s->tx.unframed;
	rchar_session_frame_queued(s, txb);
}

/**
 * rchar_session_queue_locked() - queue frames
 * @s: the session; its lock is held
 * @frames: the frames, linked by rchar_txbuf.queue; taken over
 *
 * Counts payload bytes against the window, except in RCHAR_FRAME_INSTEAD frames: the RNDV before
 * them has counted their bytes.
 */
void rchar_session_queue_locked(struct rchar_session *s, struct list_head *frames)
{
	struct rchar_txbuf *txb;

	lockdep_assert_held(&s->lock);
	advertise_window(s);
	list_for_each_entry(txb, frames, queue)
		session_prepare(s, txb);
	rchar_flow_queue(s->flow, frames);
}

static void fill_open(struct rchar_session *s, struct rchar_txbuf *txb)
{
	struct rchar_wire_open *open = (void *)txb->data;

	open->type = s->channel->config.type;
	open->flags = s->open_flags;
	open->max_message = cpu_to_le32(s->max_message);
	strscpy(open->name, s->channel->config.remote, sizeof(open->name));
	txb->hdr.len = sizeof(*open);
}

static void fill_opened(struct rchar_session *s, struct rchar_txbuf *txb)
{
	struct rchar_wire_opened *opened = (void *)txb->data;

	opened->max_message = cpu_to_le32(s->max_message);
	txb->hdr.len = sizeof(*opened);
	if (s->type->fill_opened)
		txb->hdr.len += s->type->fill_opened(s, opened + 1);
}

/**
 * rchar_session_fill_status() - fill in the payload of REFUSED or RESET
 * @txb: the frame
 * @reason: enum rchar_reason
 */
void rchar_session_fill_status(struct rchar_txbuf *txb, enum rchar_reason reason)
{
	struct rchar_wire_status *status = (void *)txb->data;

	status->reason = cpu_to_le32(reason);
	status->error = cpu_to_le32(-rchar_reason_errno(reason));
	txb->hdr.len = sizeof(*status);
}

/**
 * rchar_session_send_wanted() - queue the control frames in rchar_session.wanted, in order
 * @s: the session; its lock is held
 *
 * The timer retries frames that find no memory.
 */
void rchar_session_send_wanted(struct rchar_session *s)
{
	u32 wanted;

	lockdep_assert_held(&s->lock);
	while ((wanted = rchar_session_wanted_now(s))) {
		u8 op = __ffs(wanted);
		struct rchar_txbuf *txb;
		LIST_HEAD(frames);

		if (op == RCHAR_OP_WINDOW && update_window(s)) {
			s->wanted &= ~BIT(op);
			continue;
		}
		txb = rchar_txbuf_alloc(op, sizeof(struct rchar_wire_open),
					GFP_ATOMIC | __GFP_NOWARN);
		if (!txb)
			break;
		s->wanted &= ~BIT(op);
		if (op == RCHAR_OP_OPEN) {
			fill_open(s, txb);
			s->open_sent = true;
		} else if (op == RCHAR_OP_OPENED) {
			fill_opened(s, txb);
		} else if (op == RCHAR_OP_RESET) {
			rchar_session_fill_status(txb, s->reason);
		}
		if (op == RCHAR_OP_FIN || op == RCHAR_OP_RESET)
			txb->hdr.flags = RCHAR_FRAME_ACK;
		list_add(&txb->queue, &frames);
		rchar_session_queue_locked(s, &frames);
	}
	rchar_session_rearm(s);
}

/**
 * rchar_session_send_control() - queue control frames of a type
 * @session: the session
 * @frames: the frames, linked by rchar_txbuf.queue; taken over when 0 is returned
 *
 * Return: 0; -ENOMEM; -ECONNRESET when the session is not open.
 */
int rchar_session_send_control(struct rchar_session *session, struct list_head *frames)
{
	int ret = 0;

	spin_lock_bh(&session->lock);
	/* The frames must not overtake an OPENED that has found no memory yet. */
	rchar_session_send_wanted(session);
	if (session->state != RCHAR_SESSION_OPEN)
		ret = -ECONNRESET;
	else if (session->wanted)
		ret = -ENOMEM;
	else
		rchar_session_queue_locked(session, frames);
	spin_unlock_bh(&session->lock);
	return ret;
}

/**
 * rchar_session_frame_max() - return the payload bytes that a frame to the peer may carry
 * @session: the session, open
 */
u32 rchar_session_frame_max(struct rchar_session *session)
{
	return READ_ONCE(session->link->traffic.tx_max) ?: RCHAR_WIRE_FRAME_MIN;
}

/**
 * rchar_session_data_max() - return the payload bytes that a frame with a program's bytes may carry
 * @session: the session, open
 *
 * Return: at least RCHAR_WIRE_FRAME_MIN, at most rchar_session_frame_max().
 */
u32 rchar_session_data_max(struct rchar_session *session)
{
	return min(rchar_session_frame_max(session), READ_ONCE(session->channel->config.frame));
}

/**
 * rchar_session_write_room() - return the bytes that a program may write now
 * @session: the session
 *
 * The peer's window limits the room. The largest that the session's own may be limits the bytes
 * that are not acknowledged, and the memory of queued frames: the peer's window may have grown.
 */
u32 rchar_session_write_room(struct rchar_session *session)
{
	u32 frames_max = max(session->window_max / FRAME_COST, FRAMES_MIN);

	if (READ_ONCE(session->tx.frames) >= frames_max)
		return 0;
	return rchar_tx_window_room(&session->tx.window, session->window_max);
}

/*
 * Is there enough room to wake a writer? It wakes for a quarter of the smaller window, not for each
 * acknowledged frame, and for at least one byte. If a message did not fit, the room must also be
 * enough for that message.
 */
static bool session_writable(struct rchar_session *session)
{
	u32 enough = min(session->window_max, READ_ONCE(session->tx.peer_window)) / 4;
	/* The limit may have shrunk since; the next write() reports that. */
	u32 need = min(READ_ONCE(session->tx.need),
		       READ_ONCE(session->max_message) + RCHAR_WIRE_MESSAGE_COST);

	return rchar_session_write_room(session) >= max3(enough, need, 1u);
}

/**
 * rchar_session_need_room() - set the room for which the next message waits
 * @session: the session; the caller holds its write mutex
 * @room: bytes, RCHAR_WIRE_MESSAGE_COST included, or 0
 */
void rchar_session_need_room(struct rchar_session *session, u32 room)
{
	WRITE_ONCE(session->tx.need, room);
}

static int write_error(struct rchar_session *s)
{
	if (s->state == RCHAR_SESSION_DEAD)
		return s->error;
	if (s->shut & (RCHAR_SESSION_FIN_SENT | RCHAR_SESSION_STOP_RECEIVED))
		return -EPIPE;
	if (s->state != RCHAR_SESSION_OPEN)
		return -EAGAIN;
	return 0;
}

/**
 * rchar_session_write_error() - may a program write?
 * @session: the session
 *
 * Return: 0; -EAGAIN before the session is open; -EPIPE when this host has shut its writing half
 * or the peer its reading half; or the error of a DEAD session.
 */
int rchar_session_write_error(struct rchar_session *session)
{
	int ret;

	spin_lock_bh(&session->lock);
	ret = write_error(session);
	spin_unlock_bh(&session->lock);
	return ret;
}

/**
 * rchar_session_ask_room() - is there enough room? If not, ask to be woken for it
 * @session: the session; its lock is held. The caller is on &rchar_session_tx.wait, or looks once
 *	     more when it is.
 *
 * Each frame is acknowledged. Only while somebody has asked does an ack walk over those who wait or
 * poll, as with SOCK_NOSPACE of sockets.
 */
bool rchar_session_ask_room(struct rchar_session *session)
{
	lockdep_assert_held(&session->lock);
	if (session_writable(session))
		return true;
	session->tx.asked = true;
	return false;
}

/**
 * rchar_session_ask_again() - a write ends with -EAGAIN for another reason than room
 * @session: the session
 *
 * The program may wait for EPOLLOUT: the next ack reports it, or this call if none will come.
 */
void rchar_session_ask_again(struct rchar_session *session)
{
	spin_lock_bh(&session->lock);
	session->tx.asked = true;
	if (!session->tx.frames)
		rchar_session_wake_writers(session);
	spin_unlock_bh(&session->lock);
}

/**
 * rchar_session_write_ready() - may a program write, and is there room?
 * @session: the session
 *
 * Return: 0; -EAGAIN before the session is open, or when rchar_session_wake_writers() will tell of
 * room; or an error of rchar_session_write_error().
 */
int rchar_session_write_ready(struct rchar_session *session)
{
	int ret;

	spin_lock_bh(&session->lock);
	ret = write_error(session);
	if (!ret && !rchar_session_ask_room(session))
		ret = -EAGAIN;
	spin_unlock_bh(&session->lock);
	return ret;
}

/**
 * rchar_session_wake_writers() - wake those that have asked for room, if there is enough
 * @session: the session; its lock is held
 */
void rchar_session_wake_writers(struct rchar_session *session)
{
	lockdep_assert_held(&session->lock);
	if (!session->tx.asked || !session_writable(session))
		return;
	session->tx.asked = false;
	wake_up_interruptible_poll(&session->tx.wait, EPOLLOUT | EPOLLWRNORM);
}

/* Return 0 if data may be queued now. */
static int may_submit(struct rchar_session *s)
{
	int ret = write_error(s);

	/* Data must not overtake an OPENED that has found no memory yet. */
	if (!ret && s->wanted)
		rchar_session_send_wanted(s);
	return !ret && s->wanted ? -ENOMEM : ret;
}

/**
 * rchar_session_submit_locked() - rchar_session_submit() for callers that hold the lock
 * @session: the session; its lock is held
 * @frames: as for rchar_session_submit()
 *
 * Return: as rchar_session_submit().
 */
int rchar_session_submit_locked(struct rchar_session *session, struct list_head *frames)
{
	int ret;

	lockdep_assert_held(&session->lock);
	ret = may_submit(session);
	if (!ret)
		rchar_session_queue_locked(session, frames);
	return ret;
}

/**
 * rchar_session_submit() - queue frames with data; no other frame is queued between them
 * @session: the session; the caller holds its write mutex
 * @frames: the frames, linked by rchar_txbuf.queue, within the room; taken over when 0 is
 *	    returned
 *
 * Return: 0; an error of rchar_session_write_error(); or -ENOMEM.
 */
int rchar_session_submit(struct rchar_session *session, struct list_head *frames)
{
	int ret;

	spin_lock_bh(&session->lock);
	ret = rchar_session_submit_locked(session, frames);
	spin_unlock_bh(&session->lock);
	return ret;
}

/**
 * rchar_session_submit_small() - queue a frame with data, or append its bytes to a waiting frame
 * @session: the session; the caller holds its write mutex
 * @txb: a DATA frame without chunks, within the room; taken over when 0 is returned
 *
 * Return: as rchar_session_submit().
 */
int rchar_session_submit_small(struct rchar_session *session, struct rchar_txbuf *txb)
{
	bool appended = false;
	int ret;

	spin_lock_bh(&session->lock);
	ret = may_submit(session);
	if (!ret) {
		advertise_window(session);
		session_prepare(session, txb);
		appended = !rchar_flow_submit(session->flow, txb, rchar_session_data_max(session));
		if (appended)
			rchar_session_frame_gone(session, txb);
	}
	spin_unlock_bh(&session->lock);
	if (appended)
		rchar_txbuf_put(txb);
	return ret;
}
