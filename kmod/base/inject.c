// SPDX-License-Identifier: GPL-2.0
#include "inject.h"

#if defined(RCHAR_DEBUG) && defined(CONFIG_DEBUG_FS)

#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/fault-inject.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include "account.h"
#include "ledger.h"

static struct dentry *dir;

/* ---- faults ---- */

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS

static struct fault_attr attrs[__RCHAR_FAULT_MAX];

static const char *const fault_names[__RCHAR_FAULT_MAX] = {
	[RCHAR_FAULT_QP] = "fail_qp",
	[RCHAR_FAULT_POST_SEND] = "fail_post_send",
	[RCHAR_FAULT_POST_RECV] = "fail_post_recv",
	[RCHAR_FAULT_POST_PART] = "fail_post_part",
	[RCHAR_FAULT_MAP] = "fail_map",
	[RCHAR_FAULT_VERBS] = "fail_verbs",
};

/**
 * rchar_inject() - must an operation fail now?
 * @fault: the operation
 *
 * Context: any.
 */
bool rchar_inject(enum rchar_fault fault)
{
	return should_fail(&attrs[fault], 1);
}

static void init_faults(void)
{
	static const struct fault_attr never = FAULT_ATTR_INITIALIZER;
	int i;

	for (i = 0; i < __RCHAR_FAULT_MAX; i++) {
		attrs[i] = never;
		attrs[i].verbose = 0;
		fault_create_debugfs_attr(fault_names[i], dir, &attrs[i]);
	}
}

#else

static void init_faults(void)
{
}

#endif

/* ---- live objects ---- */

static unsigned int longest_walk;
static atomic_t nr_delayed;

/**
 * rchar_inject_walked() - record the walk of a list that a peer can make long
 * @entries: list entries visited
 *
 * Context: any.
 */
void rchar_inject_walked(unsigned int entries)
{
	if (entries > READ_ONCE(longest_walk))
		WRITE_ONCE(longest_walk, entries);
}

static int objects_show(struct seq_file *seq, void *unused)
{
	int kind;

	for (kind = 0; kind < __RCHAR_OBJ_MAX; kind++)
		seq_printf(seq, "%s %u\n", rchar_ledger_name(kind), rchar_ledger_count(kind));
	seq_printf(seq, "held %llu\n", rchar_account_held());
	seq_printf(seq, "lingering %llu\n", rchar_account_lingering());
	seq_printf(seq, "delayed %d\n", atomic_read(&nr_delayed));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(objects);

/* ---- delays ---- */

static u32 delays_us[__RCHAR_DELAY_MAX];

static const char *const delay_names[__RCHAR_DELAY_MAX] = {
	[RCHAR_DELAY_CONCLUDE] = "delay_conclude",
	[RCHAR_DELAY_REGISTER] = "delay_register",
	[RCHAR_DELAY_DESTROY] = "delay_destroy",
};

/**
 * rchar_inject_delay() - sleep, when a test has set a delay, until that ends or the test sets zero
 * @delay: the point in the code
 *
 * Context: process; sleeps.
 */
void rchar_inject_delay(enum rchar_delay delay)
{
	u32 us = READ_ONCE(delays_us[delay]), slice;

	if (!us)
		return;
	atomic_inc(&nr_delayed);
	for (; us && READ_ONCE(delays_us[delay]); us -= slice) {
		slice = min_t(u32, us, 20 * USEC_PER_MSEC);
		usleep_range(slice, slice + 1);
	}
	atomic_dec(&nr_delayed);
}

/* ---- limits ---- */

static u32 limits[__RCHAR_LIMIT_MAX];

static const char *const limit_names[__RCHAR_LIMIT_MAX] = {
	[RCHAR_LIMIT_SEND_SGE] = "max_send_sge",
	[RCHAR_LIMIT_RECV_SGE] = "max_recv_sge",
	[RCHAR_LIMIT_SGE_RD] = "max_sge_rd",
	[RCHAR_LIMIT_QP_WR] = "max_qp_wr",
	[RCHAR_LIMIT_CQE] = "max_cqe",
	[RCHAR_LIMIT_MR] = "max_mr",
	[RCHAR_LIMIT_REG_PAGES] = "max_fast_reg_page_list_len",
	[RCHAR_LIMIT_QP_RD_ATOM] = "max_qp_rd_atom",
	[RCHAR_LIMIT_QP_INIT_RD_ATOM] = "max_qp_init_rd_atom",
	[RCHAR_LIMIT_ATOMIC_CAP] = "atomic_cap",
	[RCHAR_LIMIT_KEYLESS_READS] = "keyless_reads",
	[RCHAR_LIMIT_DIRECT_DMA] = "direct_dma",
	[RCHAR_LIMIT_BOUNCES] = "bounces",
	[RCHAR_LIMIT_REG_ATOMIC] = "reg_atomic",
	[RCHAR_LIMIT_POST_ATOMIC] = "post_atomic",
	[RCHAR_LIMIT_LOCAL_INV] = "local_inv",
};

/**
 * rchar_inject_limit() - get the limit that a test has set
 * @limit: the limit
 *
 * Return: the limit; U32_MAX when none is set.
 */
u32 rchar_inject_limit(enum rchar_limit limit)
{
	return READ_ONCE(limits[limit]);
}

static void init_limits(void)
{
	struct dentry *files = debugfs_create_dir("limits", dir);
	int i;

	for (i = 0; i < __RCHAR_LIMIT_MAX; i++) {
		limits[i] = U32_MAX;
		debugfs_create_u32(limit_names[i], 0600, files, &limits[i]);
	}
}

/**
 * rchar_inject_init() - create the debugfs files at module load, before any fault point is reached
 */
void rchar_inject_init(void)
{
	int i;

	dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("objects", 0400, dir, NULL, &objects_fops);
	debugfs_create_u32("longest_walk", 0600, dir, &longest_walk);
	init_faults();
	init_limits();
	for (i = 0; i < __RCHAR_DELAY_MAX; i++)
		debugfs_create_u32(delay_names[i], 0600, dir, &delays_us[i]);
}

/**
 * rchar_inject_exit() - remove the debugfs files at module unload
 */
void rchar_inject_exit(void)
{
	debugfs_remove_recursive(dir);
}

#endif
