/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A gate lets a few users in at once. The others wait in a line, in their order, and need no thread
 * for that.
 */
#ifndef RCHAR_GATE_H
#define RCHAR_GATE_H

#include <linux/list.h>
#include <linux/spinlock.h>

/**
 * struct rchar_gate - a gate
 * @lock: protects the other fields, and those of its users; taken with bottom halves disabled
 * @inside: users that are inside
 * @line: users that wait: &rchar_gate_user.entry
 */
struct rchar_gate {
	spinlock_t lock;
	unsigned int inside;
	struct list_head line;
};

/**
 * struct rchar_gate_user - one that wants to pass a gate
 * @entry: entry of &rchar_gate.line while it waits
 * @inside: it is inside
 * @enter: it is inside now, after it has waited. Called with &rchar_gate.lock held.
 */
struct rchar_gate_user {
	struct list_head entry;
	bool inside;
	void (*enter)(struct rchar_gate_user *user);
};

void rchar_gate_init(struct rchar_gate *gate);
void rchar_gate_user_init(struct rchar_gate_user *user,
			  void (*enter)(struct rchar_gate_user *user));
bool rchar_gate_enter(struct rchar_gate *gate, struct rchar_gate_user *user, unsigned int max);
void rchar_gate_leave(struct rchar_gate *gate, struct rchar_gate_user *user);

#endif /* RCHAR_GATE_H */
