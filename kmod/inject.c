// SPDX-License-Identifier: GPL-2.0
#include "inject.h"

#if defined(RCHAR_DEBUG) && defined(CONFIG_FAULT_INJECTION_DEBUG_FS)

#include <linux/debugfs.h>
#include <linux/fault-inject.h>

static struct fault_attr attrs[__RCHAR_FAULT_MAX];
static struct dentry *dir;

static const char *const names[__RCHAR_FAULT_MAX] = {
	[RCHAR_FAULT_QP] = "fail_qp",
	[RCHAR_FAULT_POST_SEND] = "fail_post_send",
	[RCHAR_FAULT_POST_RECV] = "fail_post_recv",
	[RCHAR_FAULT_MAP] = "fail_map",
	[RCHAR_FAULT_VERBS] = "fail_verbs",
};

/**
 * rchar_inject() - shall this fail now?
 * @fault: what would
 *
 * Context: any.
 */
bool rchar_inject(enum rchar_fault fault)
{
	return should_fail(&attrs[fault], 1);
}

/**
 * rchar_inject_init() - at module load, before anything can fail
 */
void rchar_inject_init(void)
{
	static const struct fault_attr never = FAULT_ATTR_INITIALIZER;
	int i;

	dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	for (i = 0; i < __RCHAR_FAULT_MAX; i++) {
		attrs[i] = never;
		attrs[i].verbose = 0;
		fault_create_debugfs_attr(names[i], dir, &attrs[i]);
	}
}

/**
 * rchar_inject_exit() - at module unload
 */
void rchar_inject_exit(void)
{
	debugfs_remove_recursive(dir);
}

#endif
