// SPDX-License-Identifier: GPL-2.0
#include "ledger.h"
#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/wait.h>

static atomic_t alive[__RCHAR_OBJ_MAX];
static DECLARE_WAIT_QUEUE_HEAD(ledger_wait);

/* clang-format off */

static const char *const names[__RCHAR_OBJ_MAX] = {
	[RCHAR_OBJ_CHANNEL] = "channel",
	[RCHAR_OBJ_LISTENER] = "listener",
	[RCHAR_OBJ_LINK] = "link",
	[RCHAR_OBJ_LANE] = "lane",
	[RCHAR_OBJ_SESSION] = "session",
	[RCHAR_OBJ_TXBUF] = "txbuf",
	[RCHAR_OBJ_SEALBUF] = "sealbuf",
	[RCHAR_OBJ_SEG] = "seg",
	[RCHAR_OBJ_REGION] = "region",
	[RCHAR_OBJ_EXPORT] = "export",
	[RCHAR_OBJ_GRANT] = "grant",
	[RCHAR_OBJ_TRANSFER] = "transfer",
	[RCHAR_OBJ_RNDV] = "rendezvous",
	[RCHAR_OBJ_SINK] = "sink",
	[RCHAR_OBJ_PSK] = "key",
	[RCHAR_OBJ_BOUNCE] = "bounce",
};

/* clang-format on */

/**
 * rchar_ledger_add() - count an object that is created
 * @kind: kind of the object
 */
void rchar_ledger_add(enum rchar_object kind)
{
	atomic_inc(&alive[kind]);
}

/**
 * rchar_ledger_del() - uncount an object that is freed
 * @kind: kind of the object
 */
void rchar_ledger_del(enum rchar_object kind)
{
	if (atomic_dec_and_test(&alive[kind]))
		wake_up_all(&ledger_wait);
}

/**
 * rchar_ledger_count() - return the number of live objects
 * @kind: kind of the objects
 */
unsigned int rchar_ledger_count(enum rchar_object kind)
{
	return atomic_read(&alive[kind]);
}

/**
 * rchar_ledger_name() - return the name of a kind of objects, for debugfs
 * @kind: kind of the objects
 */
const char *rchar_ledger_name(enum rchar_object kind)
{
	return names[kind];
}

/**
 * rchar_ledger_wait() - wait until all objects of a kind are freed
 * @kind: kind of the objects
 *
 * Context: process; only when no new object of the kind can be created.
 */
void rchar_ledger_wait(enum rchar_object kind)
{
	wait_event(ledger_wait, !atomic_read(&alive[kind]));
}

/**
 * rchar_ledger_check() - warn about objects that are still alive
 *
 * The last step of module exit.
 */
void rchar_ledger_check(void)
{
	int kind;

	for (kind = 0; kind < __RCHAR_OBJ_MAX; kind++)
		WARN(atomic_read(&alive[kind]), "%d objects leaked: %s\n",
		     atomic_read(&alive[kind]), names[kind]);
}
