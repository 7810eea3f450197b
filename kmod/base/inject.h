/* SPDX-License-Identifier: GPL-2.0 */
/* Faults and delays on purpose, for test builds, in /sys/kernel/debug/rdma_char/. Faults
 * are what soft devices never do by themselves; they need a kernel with fault injection,
 * whose Documentation/fault-injection/ says how they are set. A delay is a number of
 * microseconds. The file "objects" counts what is alive, and the bytes held for peers; its
 * longest_walk is how many entries of a list one frame of a peer made this host look at.
 */
#ifndef RCHAR_INJECT_H
#define RCHAR_INJECT_H

#include <linux/types.h>

/**
 * enum rchar_fault - what can be made to fail
 * @RCHAR_FAULT_QP: the queue pair goes to the error state after a post
 * @RCHAR_FAULT_POST_SEND: ib_post_send() refuses
 * @RCHAR_FAULT_POST_RECV: ib_post_recv() refuses
 * @RCHAR_FAULT_MAP: a DMA mapping cannot be made
 * @RCHAR_FAULT_VERBS: what a connection or a listener is made of cannot be made
 * @__RCHAR_FAULT_MAX: behind the last
 */
enum rchar_fault {
	RCHAR_FAULT_QP,
	RCHAR_FAULT_POST_SEND,
	RCHAR_FAULT_POST_RECV,
	RCHAR_FAULT_MAP,
	RCHAR_FAULT_VERBS,
	__RCHAR_FAULT_MAX,
};

/**
 * enum rchar_delay - where a test build can be made to wait, so that a race is certain
 * @RCHAR_DELAY_CONCLUDE: a large write, between its decision and its end
 * @RCHAR_DELAY_REGISTER: a batch of registrations, as behind a peer that takes frames slowly
 * @__RCHAR_DELAY_MAX: behind the last
 */
enum rchar_delay {
	RCHAR_DELAY_CONCLUDE,
	RCHAR_DELAY_REGISTER,
	__RCHAR_DELAY_MAX,
};

/**
 * rchar_inject_verbs() - like a verb that fails
 *
 * Return: 0 or -ENOMEM.
 */
#define rchar_inject_verbs() (rchar_inject(RCHAR_FAULT_VERBS) ? -ENOMEM : 0)

#if defined(RCHAR_DEBUG) && defined(CONFIG_FAULT_INJECTION_DEBUG_FS)

bool rchar_inject(enum rchar_fault fault);

#else

static inline bool rchar_inject(enum rchar_fault fault)
{
	return false;
}

#endif

#if defined(RCHAR_DEBUG) && defined(CONFIG_DEBUG_FS)

void rchar_inject_delay(enum rchar_delay delay);
void rchar_inject_walked(unsigned int entries);
void rchar_inject_init(void);
void rchar_inject_exit(void);

#else

static inline void rchar_inject_delay(enum rchar_delay delay)
{
}

static inline void rchar_inject_walked(unsigned int entries)
{
}

static inline void rchar_inject_init(void)
{
}

static inline void rchar_inject_exit(void)
{
}

#endif

#endif /* RCHAR_INJECT_H */
