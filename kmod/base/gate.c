// SPDX-License-Identifier: GPL-2.0
#include "gate.h"

/**
 * rchar_gate_init() - initialize a gate that nobody has passed
 * @gate: the gate
 * @max: so many users may be inside at once
 */
void rchar_gate_init(struct rchar_gate *gate, unsigned int max)
{
	spin_lock_init(&gate->lock);
	gate->inside = 0;
	gate->max = max;
	INIT_LIST_HEAD(&gate->lines[0]);
	INIT_LIST_HEAD(&gate->lines[1]);
}

/**
 * rchar_gate_user_init() - initialize a user that is outside
 * @user: the user
 * @enter: see &rchar_gate_user.enter
 */
void rchar_gate_user_init(struct rchar_gate_user *user, void (*enter)(struct rchar_gate_user *user))
{
	INIT_LIST_HEAD(&user->entry);
	user->inside = false;
	user->later = false;
	user->enter = enter;
}

/**
 * rchar_gate_enter() - pass a gate, or wait for that
 * @gate: the gate
 * @user: the user; it stays until rchar_gate_leave() has returned
 * @later: it may wait longer than others. A user that already waits keeps its place, but one that
 *	   waited with @later and comes without goes to the end of the first line
 *
 * Context: any but hard interrupt.
 * Return: true when @user is inside, also when it already was; false when it waits, as it maybe
 * already did: &rchar_gate_user.enter will be called. In either case the user calls
 * rchar_gate_leave() once.
 */
bool rchar_gate_enter(struct rchar_gate *gate, struct rchar_gate_user *user, bool later)
{
	bool inside;

	spin_lock_bh(&gate->lock);
	if (!user->inside && gate->inside < gate->max) {
		user->inside = true;
		gate->inside++;
	}
	inside = user->inside;
	if (!inside && (list_empty(&user->entry) || (user->later && !later))) {
		list_move_tail(&user->entry, &gate->lines[later]);
		user->later = later;
	}
	spin_unlock_bh(&gate->lock);
	return inside;
}

static struct rchar_gate_user *first_in_line(struct rchar_gate *gate)
{
	struct list_head *line = &gate->lines[list_empty(&gate->lines[0])];

	return list_first_entry_or_null(line, struct rchar_gate_user, entry);
}

/**
 * rchar_gate_leave() - leave a gate, or its line; whoever waits longest enters
 * @gate: the gate
 * @user: the user, inside, in a line, or neither
 *
 * Context: any but hard interrupt.
 */
void rchar_gate_leave(struct rchar_gate *gate, struct rchar_gate_user *user)
{
	struct rchar_gate_user *next = NULL;

	spin_lock_bh(&gate->lock);
	list_del_init(&user->entry);
	if (user->inside) {
		next = first_in_line(gate);
		gate->inside -= !next;
	}
	user->inside = false;
	if (next) {
		list_del_init(&next->entry);
		next->inside = true;
		next->enter(next);
	}
	spin_unlock_bh(&gate->lock);
}

/**
 * rchar_gate_is_unused() - is nobody inside, nor in a line?
 * @gate: the gate, which no other thread uses
 */
bool rchar_gate_is_unused(const struct rchar_gate *gate)
{
	return !gate->inside && list_empty(&gate->lines[0]) && list_empty(&gate->lines[1]);
}
