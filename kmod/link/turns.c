// SPDX-License-Identifier: GPL-2.0
#include "turns.h"
#include <linux/minmax.h>

static bool earlier(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct rchar_turn, node)->time <
	       rb_entry(b, struct rchar_turn, node)->time;
}

/**
 * rchar_turns_add() - a sender has its first frame
 * @turns: the senders with frames
 * @turn: the place of the sender, not among them
 */
void rchar_turns_add(struct rchar_turns *turns, struct rchar_turn *turn)
{
	u64 credit = min_t(u64, turns->clock, RCHAR_TURNS_CREDIT);

	turn->time = max(turn->time, turns->clock - credit);
	rb_add_cached(&turn->node, &turns->waiting, earlier);
}

/**
 * rchar_turns_remove() - a sender has no frames any more
 * @turns: the senders with frames
 * @turn: the place of the sender
 */
void rchar_turns_remove(struct rchar_turns *turns, struct rchar_turn *turn)
{
	rb_erase_cached(&turn->node, &turns->waiting);
}

/* The earliest sender that is not behind the clock, or NULL. */
static struct rb_node *first_not_behind(const struct rchar_turns *turns)
{
	struct rb_node *node = turns->waiting.rb_root.rb_node, *found = NULL;

	while (node) {
		if (rb_entry(node, struct rchar_turn, node)->time < turns->clock) {
			node = node->rb_right;
		} else {
			found = node;
			node = node->rb_left;
		}
	}
	return found;
}

/**
 * rchar_turns_first() - whose turn is it?
 * @turns: the senders with frames
 *
 * Return: the place of the sender, or NULL.
 */
struct rchar_turn *rchar_turns_first(const struct rchar_turns *turns)
{
	struct rb_node *first = NULL;

	if (turns->early >= RCHAR_TURNS_EARLY)
		first = first_not_behind(turns);
	if (!first)
		first = rb_first_cached(&turns->waiting);
	return first ? rb_entry(first, struct rchar_turn, node) : NULL;
}

/**
 * rchar_turns_behind() - has a sender sent less than others that sent meanwhile?
 * @turns: the senders with frames
 * @turn: the place of the sender
 *
 * Return: true when its virtual time is before the clock.
 */
bool rchar_turns_behind(const struct rchar_turns *turns, const struct rchar_turn *turn)
{
	return turn->time < turns->clock;
}

/**
 * rchar_turns_sent() - the sender whose turn it was has sent a frame
 * @turns: the senders with frames
 * @turn: the place of the sender
 * @bytes: payload of the frame
 * @more: the sender has more frames
 */
void rchar_turns_sent(struct rchar_turns *turns, struct rchar_turn *turn, u32 bytes, bool more)
{
	rb_erase_cached(&turn->node, &turns->waiting);
	if (rchar_turns_behind(turns, turn))
		turns->early = min(turns->early + bytes + RCHAR_TURNS_FRAME, RCHAR_TURNS_EARLY);
	else
		turns->early = 0;
	turns->clock = max(turns->clock, turn->time);
	turn->time += (bytes + RCHAR_TURNS_FRAME) * RCHAR_TURNS_PRIORITY /
		      rchar_turns_priority(turn->priority);
	if (more)
		rb_add_cached(&turn->node, &turns->waiting, earlier);
}
