// SPDX-License-Identifier: GPL-2.0
/*
 * Makes each ib_req_notify_cq() of soft-RoCE take long, and counts the completion queues that are
 * destroyed meanwhile: /sys/module/slow_cq/parameters/slowed, .../destroyed and
 * .../destroyed_while_slow. See selftests/suites/local.sh.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/ptrace.h>

#define SLOW_MS 20
#define SLOTS	16

static uint slowed, destroyed, destroyed_while_slow;
module_param(slowed, uint, 0444);
MODULE_PARM_DESC(slowed, "calls of ib_req_notify_cq()");
module_param(destroyed, uint, 0444);
MODULE_PARM_DESC(destroyed, "completion queues that were destroyed");
module_param(destroyed_while_slow, uint, 0444);
MODULE_PARM_DESC(destroyed_while_slow, "of those, in use by ib_req_notify_cq() at that time");

/* The completion queues that are arguments of running calls. */
static atomic_long_t in_use[SLOTS];

/* What one call keeps until its return. */
struct call {
	atomic_long_t *slot;
};

static int notify_begins(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct call *call = (void *)instance->data;
	int i;

	call->slot = NULL;
	for (i = 0; i < SLOTS && !call->slot; i++)
		if (!atomic_long_cmpxchg(&in_use[i], 0, regs_get_kernel_argument(regs, 0)))
			call->slot = &in_use[i];
	slowed++;
	mdelay(SLOW_MS);
	return 0;
}

static int notify_ends(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct call *call = (void *)instance->data;

	if (call->slot)
		atomic_long_set(call->slot, 0);
	return 0;
}

static struct kretprobe notify_probe = {
	.kp.symbol_name = "rxe_req_notify_cq",
	.entry_handler = notify_begins,
	.handler = notify_ends,
	.data_size = sizeof(struct call),
	.maxactive = SLOTS,
};

static int destroy_begins(struct kprobe *probe, struct pt_regs *regs)
{
	int i;

	destroyed++;
	for (i = 0; i < SLOTS; i++)
		if (atomic_long_read(&in_use[i]) == (long)regs_get_kernel_argument(regs, 0))
			destroyed_while_slow++;
	return 0;
}

static struct kprobe destroy_probe = {
	.symbol_name = "rxe_destroy_cq",
	.pre_handler = destroy_begins,
};

static int __init slow_cq_init(void)
{
	int ret = register_kretprobe(&notify_probe);

	if (ret)
		return ret;
	ret = register_kprobe(&destroy_probe);
	if (ret)
		unregister_kretprobe(&notify_probe);
	return ret;
}

static void __exit slow_cq_exit(void)
{
	unregister_kprobe(&destroy_probe);
	unregister_kretprobe(&notify_probe);
}

module_init(slow_cq_init);
module_exit(slow_cq_exit);
MODULE_DESCRIPTION("soft-RoCE whose completion queues are slow to arm");
MODULE_LICENSE("GPL");
