// SPDX-License-Identifier: GPL-2.0
#include "grant.h"
#include <linux/hashtable.h>
#include <linux/log2.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include "base/inject.h"
#include "base/ledger.h"
#include "link/dma.h"
#include "link/lane.h"
#include "region.h"

/* Most pages of a block. Devices may allow fewer. */
#define BLOCK_PAGES_MAX (SZ_1M >> PAGE_SHIFT)

/* ---- the object ---- */

static struct rchar_mrs *mrs_of(struct rchar_lane *lane)
{
	return &lane->mrs[RCHAR_MRS_MANY];
}

static void grant_lane_gone(struct rchar_mr_owner *owner)
{
	rchar_grant_unregister(container_of(owner, struct rchar_grant, owner));
}

static struct rchar_grant *grant_find(struct rchar_region *region, const struct rchar_flow *flow)
{
	struct rchar_grant *grant;
	unsigned int walked = 0;

	hash_for_each_possible(region->grants, grant, entry, (unsigned long)flow) {
		walked++;
		if (grant->flow == flow)
			break;
	}
	rchar_inject_walked(walked);
	return grant;
}

static struct rchar_grant *grant_create(struct rchar_region *region, const struct rchar_flow *flow)
{
	struct rchar_grant *grant = kzalloc(sizeof(*grant), GFP_ATOMIC | __GFP_NOWARN);

	if (!grant)
		return NULL;
	rchar_ledger_add(RCHAR_OBJ_GRANT);
	kref_init(&grant->ref);
	mutex_init(&grant->leaving);
	spin_lock_init(&grant->lock);
	INIT_LIST_HEAD(&grant->owner.entry);
	grant->owner.gone = grant_lane_gone;
	grant->flow = flow;
	hash_add(region->grants, &grant->entry, (unsigned long)flow);
	return grant;
}

/**
 * rchar_grant_join() - let a new session use the keys of a region on its flow
 * @region: the region; the lock of its channel is held, and the channel is not dead
 * @flow: the flow of the session
 *
 * Context: any but hard interrupt.
 * Return: the grant, with a reference, or NULL without memory. If the session is the only user,
 * the caller sets &rchar_grant.hold. The caller calls rchar_grant_leave() and rchar_grant_put().
 */
struct rchar_grant *rchar_grant_join(struct rchar_region *region, const struct rchar_flow *flow)
{
	struct rchar_grant *grant = grant_find(region, flow);

	if (grant)
		kref_get(&grant->ref);
	else
		grant = grant_create(region, flow);
	if (grant)
		grant->users++;
	return grant;
}

/**
 * rchar_grant_leave() - a session does not use the keys any more
 * @grant: the grant, which the session has joined; the lock of the region's channel is held
 *
 * Context: any but hard interrupt.
 * Return: true if nobody uses the keys now, and nobody will: the caller calls rchar_grant_revoke()
 * and releases &rchar_grant.hold.
 */
bool rchar_grant_leave(struct rchar_grant *grant)
{
	if (--grant->users)
		return false;
	hash_del(&grant->entry);
	return true;
}

static void grant_free(struct kref *ref)
{
	struct rchar_grant *grant = container_of(ref, struct rchar_grant, ref);

	WARN_ON_ONCE(grant->lane || grant->users);
	mutex_destroy(&grant->leaving);
	kfree(grant);
	rchar_ledger_del(RCHAR_OBJ_GRANT);
}

/**
 * rchar_grant_put() - drop a reference
 * @grant: the grant
 *
 * Context: any but hard interrupt.
 */
void rchar_grant_put(struct rchar_grant *grant)
{
	kref_put(&grant->ref, grant_free);
}

/* ---- blocks ---- */

/**
 * rchar_grant_shift() - get the size of the blocks that a lane registers
 * @lane: the lane
 *
 * Return: the size is 1 << this number of bytes.
 */
u8 rchar_grant_shift(const struct rchar_lane *lane)
{
	u32 pages = min_t(u32, lane->limits.reg_pages, BLOCK_PAGES_MAX);

	return PAGE_SHIFT + ilog2(max(pages, 1u));
}

/**
 * rchar_grant_blocks() - get the number of blocks, and thus of keys, of a region
 * @region: the region
 * @shift: size of the blocks, from rchar_grant_shift()
 *
 * Return: number of blocks.
 */
u64 rchar_grant_blocks(const struct rchar_region *region, u8 shift)
{
	return ((region->size - 1) >> shift) + 1;
}

/* ---- one connection ---- */

static void set_lane(struct rchar_grant *grant, struct rchar_lane *lane)
{
	spin_lock(&grant->lock);
	WRITE_ONCE(grant->lane, lane);
	spin_unlock(&grant->lock);
	/* Pairs with the barrier of prepare_to_wait() in rchar_grant_revoke(). */
	smp_mb();
	wake_up_var(&grant->lane);
}

static struct rchar_lane *grant_get_lane(struct rchar_grant *grant)
{
	struct rchar_lane *lane;

	spin_lock(&grant->lock);
	lane = grant->lane;
	if (lane)
		kref_get(&lane->ref);
	spin_unlock(&grant->lock);
	return lane;
}

static void free_blocks(struct rchar_grant *grant, u32 first, u32 n)
{
	for (; n; n--) {
		rchar_mr_free(mrs_of(grant->lane), &grant->blocks[first++]);
		cond_resched();
	}
}

/**
 * rchar_grant_unregister() - end the peer's access to the region, on the grant's lane
 * @grant: the grant, with a lane; the lock of the lane's registrations is held
 *
 * Drops a reference to the grant.
 *
 * Context: process. After the return, no peer can read or write with the keys.
 */
void rchar_grant_unregister(struct rchar_grant *grant)
{
	struct rchar_region *region = grant->region;
	struct rchar_lane *lane = grant->lane;

	lockdep_assert_held(&mrs_of(lane)->lock);
	free_blocks(grant, 0, grant->nr);
	kvfree(grant->blocks);
	grant->blocks = NULL;
	grant->nr = 0;
	grant->ready = 0;
	grant->region = NULL;
	list_del_init(&grant->owner.entry);
	set_lane(grant, NULL);
	rchar_region_execute_end(region);
	rchar_region_put(region);
	rchar_lane_put(lane);
	rchar_grant_put(grant);
}

/**
 * rchar_grant_revoke() - end the peer's access to the region
 * @grant: a grant that nobody uses: see rchar_grant_leave()
 *
 * Context: process. Waits for the teardown of the lane when &rchar_mrs.torn is set.
 */
void rchar_grant_revoke(struct rchar_grant *grant)
{
	struct rchar_lane *lane = grant_get_lane(grant);

	if (!lane)
		return;
	/* The teardown of the lane also revokes the keys: check with the lock held. */
	rchar_mrs_lock(mrs_of(lane));
	if (READ_ONCE(grant->lane) == lane && !mrs_of(lane)->torn)
		rchar_grant_unregister(grant);
	mutex_unlock(&mrs_of(lane)->lock);
	wait_var_event(&grant->lane, READ_ONCE(grant->lane) != lane);
	rchar_lane_put(lane);
}

/* Nothing is registered yet. */
static int grant_begin(struct rchar_grant *grant, struct rchar_region *region,
		       struct rchar_lane *lane)
{
	u8 shift = rchar_grant_shift(lane);
	u32 nr = rchar_grant_blocks(region, shift);
	struct rchar_mr *blocks;

	/* The teardown of the lane before this one has ended: see "Link" in design.rst. */
	if (WARN_ON_ONCE(grant->lane))
		return -EIO;
	if (!rchar_region_execute(region, lane->limits.executor))
		return -EXDEV;
	blocks = kvcalloc(nr, sizeof(*blocks), GFP_KERNEL | __GFP_NOWARN);
	if (!blocks) {
		rchar_region_execute_end(region);
		return -ENOMEM;
	}
	kref_get(&grant->ref);
	rchar_region_get(region);
	kref_get(&lane->ref);
	grant->region = region;
	grant->blocks = blocks;
	grant->nr = nr;
	grant->shift = shift;
	grant->generation++;
	list_add(&grant->owner.entry, &mrs_of(lane)->owners);
	set_lane(grant, lane);
	return 0;
}

static int map_block(struct rchar_grant *grant, u32 i)
{
	unsigned long first = (unsigned long)i << (grant->shift - PAGE_SHIFT);
	unsigned long n = min(grant->region->nr_pages - first, 1UL << (grant->shift - PAGE_SHIFT));
	struct rchar_lane *lane = grant->lane;
	struct rchar_mr *m = &grant->blocks[i];
	int ret;

	ret = rchar_mr_map(mrs_of(lane), m, grant->region->pages + first, n, 0, n << PAGE_SHIFT,
			   DMA_BIDIRECTIONAL);
	if (!ret && !rchar_dma_table_is_direct(lane->cm_id->device, &m->sgt)) {
		pr_warn_ratelimited(
			"%s: accesses copies of the region's pages (swiotlb), so no peer gets keys\n",
			lane->device);
		ret = -EOPNOTSUPP;
	}
	return ret;
}

static int map_blocks(struct rchar_grant *grant, u32 first, u32 n)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < n && !ret; i++)
		ret = map_block(grant, first + i);
	return ret;
}

static int access_of(const struct rchar_region *region)
{
	int access = IB_ACCESS_REMOTE_READ;

	if (region->access == RCHAR_ACCESS_RW)
		access |= IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE;
	if (rchar_region_device_executes(region))
		access |= IB_ACCESS_REMOTE_ATOMIC;
	return access;
}

/*
 * On failure, what the device has not seen is freed: another session may try again. The rest may be
 * in the send queue of a lane that has failed, and stays for its teardown to free.
 */
static int register_batch(struct rchar_grant *grant)
{
	u32 first = grant->ready, n = min_t(u32, grant->nr - first, RCHAR_MR_BATCH);
	int ret = map_blocks(grant, first, n);
	bool seen = false;

	if (!ret) {
		ret = rchar_mr_register(mrs_of(grant->lane), &grant->blocks[first], n,
					access_of(grant->region));
		seen = ret != -EOPNOTSUPP || READ_ONCE(grant->lane->state) != RCHAR_LANE_UP;
	}
	if (!ret)
		grant->ready += n;
	else if (!seen)
		free_blocks(grant, first, n);
	return ret;
}

/*
 * Let others have the lane's registrations, so that they wait for one batch and not for all: the
 * mutex is handed to a waiter that has failed to get it once. Returns false when they have ended
 * this grant's on the lane, or the lane has failed.
 */
static bool take_turns(struct rchar_grant *grant, struct rchar_lane *lane)
{
	mutex_unlock(&mrs_of(lane)->lock);
	rchar_mrs_lock(mrs_of(lane));
	return READ_ONCE(grant->lane) == lane && READ_ONCE(lane->state) == RCHAR_LANE_UP;
}

/**
 * rchar_grant_register() - register what is not registered yet of a region on a lane
 * @grant: the grant
 * @region: the region
 * @lane: a lane of the grant's flow, UP; the lock of its registrations is held, and dropped in
 *	  between
 * @s: a session that has joined. If it dies, this ends.
 *
 * Several sessions may do so at once, and each goes on where the last one has stopped.
 *
 * Context: process.
 * Return: 0; -ECONNRESET when @s is dead or the lane has failed; -EXDEV when another device
 * executes the atomic operations of the region; -ENOMEM; or the error of rchar_mr_map() or
 * rchar_mr_register().
 */
int rchar_grant_register(struct rchar_grant *grant, struct rchar_region *region,
			 struct rchar_lane *lane, const struct rchar_session *s)
{
	int ret = 0;

	lockdep_assert_held(&mrs_of(lane)->lock);
	if (READ_ONCE(grant->lane) != lane)
		ret = grant_begin(grant, region, lane);
	while (!ret && grant->ready < grant->nr) {
		if (READ_ONCE(s->state) == RCHAR_SESSION_DEAD)
			return -ECONNRESET;
		ret = register_batch(grant);
		if (!ret && grant->ready < grant->nr && !take_turns(grant, lane))
			return -ECONNRESET;
	}
	return ret;
}
