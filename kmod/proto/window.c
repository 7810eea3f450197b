// SPDX-License-Identifier: GPL-2.0
#include "window.h"
#include <linux/compiler.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include "base/seq.h"
#include "wire.h"

/**
 * rchar_tx_window_room() - return the bytes that may be written now
 * @w: the window; without the session's lock the result is a hint
 * @own: maximum number of unacknowledged bytes, whatever the peer allows
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
 * rchar_tx_window_unacked() - return the bytes written that the peer has not acknowledged
 * @w: the window
 */
u32 rchar_tx_window_unacked(const struct rchar_tx_window *w)
{
	return w->next - w->acked;
}

/**
 * rchar_tx_window_send() - count bytes that are written
 * @w: the window
 * @bytes: bytes written, within the room
 */
void rchar_tx_window_send(struct rchar_tx_window *w, u32 bytes)
{
	WRITE_ONCE(w->next, w->next + bytes);
}

/**
 * rchar_tx_window_ack() - record that the peer has acknowledged the bytes up to an offset
 * @w: the window
 * @end: the offset; an offset before the last one changes nothing
 */
void rchar_tx_window_ack(struct rchar_tx_window *w, u32 end)
{
	WRITE_ONCE(w->acked, rchar_seq_max(w->acked, end));
}

/**
 * rchar_tx_window_grant() - take the edge in a frame of the peer
 * @w: the window
 * @edge: edge in the header; an edge before the last one changes nothing
 * @more: set to whether @edge lies beyond the last edge
 *
 * Return: true; or false when @edge lies more than RCHAR_WIRE_WINDOW_MAX bytes beyond the last
 * acknowledged byte. The edge does not move then.
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
 * rchar_rx_window_receive() - count bytes that arrive
 * @w: the window
 * @bytes: bytes that arrive
 *
 * Return: true; or false when the bytes extend beyond the edge. Nothing is counted then.
 */
bool rchar_rx_window_receive(struct rchar_rx_window *w, u32 bytes)
{
	if (rchar_seq_before(w->edge, w->next + bytes))
		return false;
	w->next += bytes;
	return true;
}

/**
 * rchar_rx_window_advertise() - move the edge, before a frame carries the edge to the peer
 * @w: the window
 * @size: bytes for which the receiver has room; when @size shrinks, the edge does not move back
 */
void rchar_rx_window_advertise(struct rchar_rx_window *w, u32 size)
{
	w->edge = rchar_seq_max(w->edge, w->read + size);
}

/**
 * rchar_rx_window_due() - is a frame worthwhile to send the peer the edge?
 * @w: the window
 * @size: as for rchar_rx_window_advertise()
 *
 * Return: true when the edge would move by a quarter of the window.
 */
bool rchar_rx_window_due(const struct rchar_rx_window *w, u32 size)
{
	return (s32)(w->read + size - w->edge) >= (s32)(size / 4);
}

/**
 * rchar_rx_window_tune() - return the size of the window that the program has use for
 * @w: the window, after the program has read
 * @tune: the measurement, zeroed at first
 * @now: nanoseconds
 * @rtt: nanoseconds of the path's round trip, at most a second; 0: not known
 *
 * This is twice what the program reads in a round trip (Fisk, Feng 2001: Dynamic Right-Sizing;
 * tcp_rcv_space_adjust() in net/ipv4/tcp_input.c). If the window is what limits the peer, the
 * result is up to twice the window, and so the window doubles with each round trip. If the program
 * does not keep up, or the peer has no more, the result is less than the window.
 *
 * Return: bytes, at most RCHAR_WIRE_WINDOW_MAX; 0 while no round trip has passed.
 */
u32 rchar_rx_window_tune(const struct rchar_rx_window *w, struct rchar_rx_tune *tune, u64 now,
			 u32 rtt)
{
	u64 elapsed = now - tune->since, bytes = w->read - tune->read;

	if (!rtt || elapsed < rtt)
		return 0;
	tune->since = now;
	tune->read = w->read;
	return min_t(u64, div64_u64(2 * bytes * rtt, elapsed), RCHAR_WIRE_WINDOW_MAX);
}
