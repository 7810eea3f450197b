/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A gate lets a few users in at once. The others wait in a line, in their order, and need no thread
 * for that. Users that may wait longer than the others have a line of their own.
 */
#ifndef RCHAR_GATE_H
#define RCHAR_GATE_H

#include <linux/list.h>
#include <linux/spinlock.h>

/**
 * struct rchar_gate - a gate
 * @lock: protects the fields below, and those of the users; taken with bottom halves disabled
 * @inside: users that are inside
 * @max: so many may be inside; while fewer are, nobody waits
 * @lines: users that wait: &rchar_gate_user.entry. Those of [1] enter when [0] is empty
 */
struct rchar_gate {
	spinlock_t lock;
	unsigned int inside;
	unsigned int max;
	struct list_head lines[2];
};

/**
 * struct rchar_gate_user - one that wants to pass a gate
 * @entry: entry of &rchar_gate.lines while it waits
 * @inside: it is inside
 * @later: it waits in the second line
 * @enter: it is inside now, after it has waited. Called with &rchar_gate.lock held.
 */
struct rchar_gate_user {
	struct list_head entry;
	bool inside;
	bool later;
	void (*enter)(struct rchar_gate_user *user);
};

void rchar_gate_init(struct rchar_gate *gate, unsigned int max);
void rchar_gate_user_init(struct rchar_gate_user *user,
			  void (*enter)(struct rchar_gate_user *user));
bool rchar_gate_enter(struct rchar_gate *gate, struct rchar_gate_user *user, bool later);
void rchar_gate_leave(struct rchar_gate *gate, struct rchar_gate_user *user);
bool rchar_gate_is_unused(const struct rchar_gate *gate);

#endif /* RCHAR_GATE_H */
