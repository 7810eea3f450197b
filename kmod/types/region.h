/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory that a listening memory channel exports, and the files through which programs of
 * this host access the same memory.
 */
#ifndef RCHAR_REGION_H
#define RCHAR_REGION_H

#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "proto/wire.h"
#include "session/channel.h"

struct file;
struct file_operations;
struct netlink_ext_ack;
struct rchar_atomic;
struct rchar_type;

/**
 * struct rchar_region - exported memory
 * @ref: one reference each for the channel, every open file and every session of a peer. Pages
 *	 mapped by programs have page references of their own.
 * @size: bytes
 * @access: enum rchar_access: what peers may do; does not restrict files of this host
 * @atomics: enum rchar_atomics: whether the kernel or the device executes atomic operations of
 *	     peers
 * @nr_pages: length of @pages
 * @pages: pages of the region, allocated one by one and initially zeroed
 * @lock: protects @rings, @last, @claims, @executing and @executor
 * @rings: number of rings received from peers
 * @last: value of the last ring
 * @claims: %RCHAR_ATOMICS_HW: sessions of peers that may need a device to execute their operations
 * @executing: grants with keys of @executor, which can execute operations now
 * @executor: &rchar_limits.executor of the device that executes, or of the last one
 * @grants: &rchar_grant.entry, by flow; lock of the channel
 * @with_keys: &rchar_export.with_keys, oldest first; lock of the channel. No more than the backlog,
 *	       however many sessions of the channel are dead.
 * @leaving: the channel is deleted; set before it drops its reference
 * @wait: pollers that wait for rings or for the delete of the channel
 * @free_work: frees the region in process context
 */
struct rchar_region {
	struct kref ref;
	u64 size;
	u32 access;
	u32 atomics;
	unsigned long nr_pages;
	struct page **pages;
	spinlock_t lock;
	u64 rings;
	u32 last;
	u32 claims;
	u32 executing;
	u32 executor;
	DECLARE_HASHTABLE(grants, 8);
	struct list_head with_keys;
	bool leaving;
	wait_queue_head_t wait;
	struct work_struct free_work;
};

void rchar_region_put(struct rchar_region *region);
long rchar_region_atomic_ioctl(struct file *file, struct rchar_atomic __user *arg,
			       int (*execute)(struct file *file, const struct rchar_atomic *a,
					      u64 *old));
void rchar_region_atomic_call(const struct rchar_atomic *a, struct rchar_wire_call *call);
u32 rchar_region_call(struct rchar_region *region, const struct rchar_wire_call *call, bool peer,
		      u64 *old);
int rchar_region_call_errno(u32 status);
enum rchar_reason rchar_region_claim(struct rchar_region *region, u32 executor);
void rchar_region_unclaim(struct rchar_region *region);
bool rchar_region_execute(struct rchar_region *region, u32 executor);
void rchar_region_execute_end(struct rchar_region *region);

/* Does a device execute atomic operations of peers? */
static inline bool rchar_region_device_executes(const struct rchar_region *region)
{
	return region->atomics == RCHAR_ATOMICS_HW && region->access == RCHAR_ACCESS_RW;
}

static inline void rchar_region_get(struct rchar_region *region)
{
	kref_get(&region->ref);
}

/*
 * The region of a listening memory channel. The delete of the channel sets the pointer to NULL with
 * the channel's lock held.
 */
static inline struct rchar_region *rchar_region_of(const struct rchar_channel *channel)
{
	return channel->priv;
}

extern const struct file_operations rchar_region_fops;
extern const struct rchar_type rchar_export_type;

int rchar_region_channel_create(struct rchar_channel *channel, struct netlink_ext_ack *extack);
void rchar_region_channel_dead(struct rchar_channel *channel);
void rchar_region_channel_free(struct rchar_channel *channel);
int rchar_region_init(void);
void rchar_region_exit(void);

#endif /* RCHAR_REGION_H */
