/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Windows: how many bytes of a session the peer may send. Pure functions.
 *
 * Both sides count the bytes of a session from 0, modulo 2^32, and compare offsets by serial
 * number arithmetic. The receiver sends the edge: the offset up to which the receiver has room. The
 * sender never sends beyond the last edge received. Only the edge of a window is on the wire.
 *
 * The fields of the sending side may be read without the session's lock, as hints.
 */
#ifndef RCHAR_WINDOW_H
#define RCHAR_WINDOW_H

#include <linux/types.h>

/**
 * struct rchar_tx_window - the sending side
 * @next: offset of the next byte that a program writes
 * @acked: offset up to which the peer has acknowledged the bytes
 * @edge: offset up to which the peer allows this side to send
 */
struct rchar_tx_window {
	u32 next;
	u32 acked;
	u32 edge;
};

/**
 * struct rchar_rx_window - the receiving side
 * @next: offset of the next byte to arrive
 * @read: offset up to which the program has read
 * @edge: offset up to which this side allows the peer to send
 */
struct rchar_rx_window {
	u32 next;
	u32 read;
	u32 edge;
};

/**
 * struct rchar_rx_tune - how fast the program reads, for the size of its window
 * @since: nanoseconds: when the measurement began
 * @read: &rchar_rx_window.read at that time
 */
struct rchar_rx_tune {
	u64 since;
	u32 read;
};

u32 rchar_tx_window_room(const struct rchar_tx_window *w, u32 own);
u32 rchar_tx_window_unacked(const struct rchar_tx_window *w);
void rchar_tx_window_send(struct rchar_tx_window *w, u32 bytes);
void rchar_tx_window_ack(struct rchar_tx_window *w, u32 end);
bool rchar_tx_window_grant(struct rchar_tx_window *w, u32 edge, bool *more);

bool rchar_rx_window_receive(struct rchar_rx_window *w, u32 bytes);
void rchar_rx_window_advertise(struct rchar_rx_window *w, u32 size);
bool rchar_rx_window_due(const struct rchar_rx_window *w, u32 size);
u32 rchar_rx_window_tune(const struct rchar_rx_window *w, struct rchar_rx_tune *tune, u64 now,
			 u32 rtt);

/* Return the bytes received and not read. */
static inline u32 rchar_rx_window_unread(const struct rchar_rx_window *w)
{
	return w->next - w->read;
}

#endif /* RCHAR_WINDOW_H */
