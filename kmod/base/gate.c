// SPDX-License-Identifier: GPL-2.0
#include "gate.h"

/**
 * rchar_gate_init() - initialize a gate that nobody has passed
 * @gate: the gate
 */
void rchar_gate_init(struct rchar_gate *gate)
{
	spin_lock_init(&gate->lock);
	gate->inside = 0;
	INIT_LIST_HEAD(&gate->line);
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
	user->enter = enter;
}

/**
 * rchar_gate_enter() - pass a gate, or wait for that
 * @gate: the gate
 * @user: the user; it stays until rchar_gate_leave() has returned
 * @max: so many users may be inside
 *
 * Context: any but hard interrupt.
 * Return: true when @user is inside, also when it already was; false when it waits in the line, as
 * it maybe already did: &rchar_gate_user.enter will be called. In either case the user calls
 * rchar_gate_leave() once.
 */
bool rchar_gate_enter(struct rchar_gate *gate, struct rchar_gate_user *user, unsigned int max)
{
	bool inside;

	spin_lock_bh(&gate->lock);
	if (!user->inside && gate->inside < max && list_empty(&gate->line)) {
		user->inside = true;
		gate->inside++;
	}
	inside = user->inside;
	if (!inside && list_empty(&user->entry))
		list_add_tail(&user->entry, &gate->line);
	spin_unlock_bh(&gate->lock);
	return inside;
}

/**
 * rchar_gate_leave() - leave a gate, or its line; whoever waits longest enters
 * @gate: the gate
 * @user: the user, inside, in the line, or neither
 *
 * Context: any but hard interrupt.
 */
void rchar_gate_leave(struct rchar_gate *gate, struct rchar_gate_user *user)
{
	struct rchar_gate_user *next = NULL;

	spin_lock_bh(&gate->lock);
	list_del_init(&user->entry);
	if (user->inside) {
		next = list_first_entry_or_null(&gate->line, struct rchar_gate_user, entry);
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
