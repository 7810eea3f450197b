// SPDX-License-Identifier: GPL-2.0
#include "window.h"
#include <linux/compiler.h>
#include "base/seq.h"
#include "wire.h"

/**
 * rchar_tx_window_room() - bytes that may be written now
 * @w: the window; a hint without the session's lock
 * @own: bytes that may be on their way, whatever the peer allows
 */
u32 rchar_tx_window_room(const struct rchar_tx_window *w, u32 own)
{
	u32 next = READ_ONCE(w->next);
	s32 peer = READ_ONCE(w->edge) - next;
	s32 mine = own - (next - READ_ONCE(w->acked));
	s32 room = peer < mine ? peer : mine;

	return room > 0 ? room : 0;
}

/**
 * rchar_tx_window_unacked() - bytes written that the peer has not acknowledged
 * @w: the window
 */
u32 rchar_tx_window_unacked(const struct rchar_tx_window *w)
{
	return w->next - w->acked;
}

/**
 * rchar_tx_window_send() - bytes are written
 * @w: the window
 * @bytes: how many, within the room
 */
void rchar_tx_window_send(struct rchar_tx_window *w, u32 bytes)
{
	WRITE_ONCE(w->next, w->next + bytes);
}

/**
 * rchar_tx_window_ack() - the peer has the bytes up to an offset
 * @w: the window
 * @end: the offset; an earlier one than before changes nothing
 */
void rchar_tx_window_ack(struct rchar_tx_window *w, u32 end)
{
	WRITE_ONCE(w->acked, rchar_seq_max(w->acked, end));
}

/**
 * rchar_tx_window_grant() - take the edge that a frame of the peer tells
 * @w: the window
 * @edge: from its header; an earlier one than before changes nothing
 * @more: set to whether the edge moved
 *
 * Return: false when the peer allows more than RCHAR_WIRE_WINDOW_MAX bytes after those that it
 * has acknowledged.
 */
bool rchar_tx_window_grant(struct rchar_tx_window *w, u32 edge, bool *more)
{
	*more = rchar_seq_before(w->edge, edge);
	if (!*more)
		return true;
	if (edge - w->acked > RCHAR_WIRE_WINDOW_MAX)
		return false;
	WRITE_ONCE(w->edge, edge);
	return true;
}

/**
 * rchar_rx_window_receive() - bytes arrive
 * @w: the window
 * @bytes: how many
 *
 * Return: false when they extend past the edge; nothing changes then.
 */
bool rchar_rx_window_receive(struct rchar_rx_window *w, u32 bytes)
{
	if (rchar_seq_before(w->edge, w->next + bytes))
		return false;
	w->next += bytes;
	return true;
}

/**
 * rchar_rx_window_advertise() - a frame is about to tell the peer the edge
 * @w: the window
 * @size: bytes that the receiver has room for; the edge never moves back when this shrinks
 */
void rchar_rx_window_advertise(struct rchar_rx_window *w, u32 size)
{
	w->edge = rchar_seq_max(w->edge, w->read + size);
}

/**
 * rchar_rx_window_due() - is it worth a frame to tell the peer the edge?
 * @w: the window
 * @size: as rchar_rx_window_advertise()
 *
 * Return: true when the edge would move by a quarter of the window.
 */
bool rchar_rx_window_due(const struct rchar_rx_window *w, u32 size)
{
	return (s32)(w->read + size - w->edge) >= (s32)(size / 4);
}
