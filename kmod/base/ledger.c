// SPDX-License-Identifier: GPL-2.0
#include "ledger.h"
#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/wait.h>

static atomic_t alive[__RCHAR_OBJ_MAX];
static DECLARE_WAIT_QUEUE_HEAD(ledger_wait);

static const char *const names[__RCHAR_OBJ_MAX] = {
	[RCHAR_OBJ_CHANNEL] = "channel",
	[RCHAR_OBJ_LISTENER] = "listener",
	[RCHAR_OBJ_LINK] = "link",
	[RCHAR_OBJ_LANE] = "lane",
	[RCHAR_OBJ_SESSION] = "session",
	[RCHAR_OBJ_TXBUF] = "txbuf",
	[RCHAR_OBJ_SEG] = "seg",
	[RCHAR_OBJ_REGION] = "region",
	[RCHAR_OBJ_EXPORT] = "export",
	[RCHAR_OBJ_TRANSFER] = "transfer",
	[RCHAR_OBJ_RNDV] = "rendezvous",
};

/**
 * rchar_ledger_add() - an object was created
 * @kind: what it is
 */
void rchar_ledger_add(enum rchar_object kind)
{
	atomic_inc(&alive[kind]);
}

/**
 * rchar_ledger_del() - an object is about to be freed
 * @kind: what it is
 */
void rchar_ledger_del(enum rchar_object kind)
{
	if (atomic_dec_and_test(&alive[kind]))
		wake_up_all(&ledger_wait);
}

/**
 * rchar_ledger_count() - objects alive now
 * @kind: what they are
 */
unsigned int rchar_ledger_count(enum rchar_object kind)
{
	return atomic_read(&alive[kind]);
}

/**
 * rchar_ledger_name() - for tests
 * @kind: what they are
 */
const char *rchar_ledger_name(enum rchar_object kind)
{
	return names[kind];
}

/**
 * rchar_ledger_wait() - wait until all objects of a kind are gone
 * @kind: what they are
 *
 * Context: process; only when nothing can create another one.
 */
void rchar_ledger_wait(enum rchar_object kind)
{
	wait_event(ledger_wait, !atomic_read(&alive[kind]));
}

/**
 * rchar_ledger_check() - complain about anything that is still alive
 *
 * For the very end of module exit.
 */
void rchar_ledger_check(void)
{
	int kind;

	for (kind = 0; kind < __RCHAR_OBJ_MAX; kind++)
		WARN(atomic_read(&alive[kind]), "%d objects leaked: %s\n",
		     atomic_read(&alive[kind]), names[kind]);
}
