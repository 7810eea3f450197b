/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The turns of the senders of a flow: who sends the next frame.
 *
 * This is start-time fair queueing (Goyal, Vin, Cheng 1996): each sender has a virtual time, which
 * advances by the bytes that the sender sends, divided by its priority, and the sender with the
 * earliest time is next. The clock of the flow is the latest time at which a sender had its turn.
 * A sender that comes with its first frame gets the time of the clock minus RCHAR_TURNS_CREDIT, or
 * its own time if that is later. A sender that sends little therefore goes before all that send
 * much, and over a longer time nobody gets more than the share of its priority.
 *
 * Many senders that come one after another and send little would still keep the others from their
 * turns for ever. After RCHAR_TURNS_EARLY bytes of senders that are behind the clock, one that is
 * not has its turn.
 */
#ifndef RCHAR_TURNS_H
#define RCHAR_TURNS_H

#include <linux/compiler.h>
#include <linux/rbtree.h>
#include <linux/types.h>

/* The priority of a sender whose virtual time advances as its bytes do. */
#define RCHAR_TURNS_PRIORITY 100u
/* Bytes that a sender may be behind the clock: those of one large frame. */
#define RCHAR_TURNS_CREDIT   (64u << 10)
#define RCHAR_TURNS_EARLY    (4 * RCHAR_TURNS_CREDIT)
/* What a frame costs beside its payload, in bytes. */
#define RCHAR_TURNS_FRAME    256u

/**
 * struct rchar_turn - the place of one sender
 * @node: entry of rchar_turns.waiting, while the sender has frames
 * @time: virtual time of the sender, in bytes
 * @priority: of the sender, at least 1, at most what RCHAR_PRIORITY_MAX says; may change at any
 *	      time. NULL: RCHAR_TURNS_PRIORITY.
 */
struct rchar_turn {
	struct rb_node node;
	u64 time;
	const u32 *priority;
};

/**
 * struct rchar_turns - the senders with frames
 * @waiting: the senders, by rchar_turn.time
 * @clock: virtual time of the flow, in bytes. Never wraps: 64 bits of bytes.
 * @early: bytes of senders behind the clock since one that was not had its turn
 *
 * The owner serializes all calls.
 */
struct rchar_turns {
	struct rb_root_cached waiting;
	u64 clock;
	u32 early;
};

/* The value of &rchar_turn.priority. */
static inline u32 rchar_turns_priority(const u32 *priority)
{
	return priority ? READ_ONCE(*priority) : RCHAR_TURNS_PRIORITY;
}

void rchar_turns_add(struct rchar_turns *turns, struct rchar_turn *turn);
void rchar_turns_remove(struct rchar_turns *turns, struct rchar_turn *turn);
struct rchar_turn *rchar_turns_first(const struct rchar_turns *turns);
bool rchar_turns_behind(const struct rchar_turns *turns, const struct rchar_turn *turn);
void rchar_turns_sent(struct rchar_turns *turns, struct rchar_turn *turn, u32 bytes, bool more);

#endif /* RCHAR_TURNS_H */
