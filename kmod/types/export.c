// SPDX-License-Identifier: GPL-2.0
/*
 * Keys of a region. Each session of a peer has its own keys, in the protection domain of its
 * connection. Another peer cannot use these keys. They become invalid when the connection breaks.
 */
#include "export.h"
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include "base/ledger.h"
#include "link/dma.h"
#include "link/lane.h"
#include "link/link.h"
#include "link/rxbuf.h"
#include "link/txbuf.h"
#include "region.h"
#include "session/channel.h"
#include "session/session_priv.h"
#include "session/type.h"

/* Most pages of a block. Devices may allow fewer. */
#define BLOCK_PAGES_MAX (SZ_1M >> PAGE_SHIFT)

/*
 * How long a session waits until the device of its new connection may execute the atomic operations
 * of the region, and how often it looks.
 */
#define EXECUTOR_WAIT_MS  60000
#define EXECUTOR_RETRY_MS 100

/*
 * A workqueue of its own: registering waits for completions, and the teardown of lanes waits for
 * registering.
 */
static struct workqueue_struct *export_wq;

/* ---- one connection ---- */

static void set_lane(struct rchar_export *export, struct rchar_lane *lane)
{
	spin_lock(&export->lock);
	WRITE_ONCE(export->lane, lane);
	spin_unlock(&export->lock);
}

static struct rchar_lane *export_get_lane(struct rchar_export *export)
{
	struct rchar_lane *lane;

	spin_lock(&export->lock);
	lane = export->lane;
	if (lane)
		kref_get(&lane->ref);
	spin_unlock(&export->lock);
	return lane;
}

static struct rchar_mrs *export_mrs_of(struct rchar_lane *lane)
{
	return &lane->mrs[RCHAR_MRS_MANY];
}

/* Does a device execute atomic operations of peers? */
static bool device_executes(const struct rchar_region *region)
{
	return region->atomics == RCHAR_ATOMICS_HW && region->access == RCHAR_ACCESS_RW;
}

static enum rchar_reason claim(struct rchar_export *export, const struct rchar_lane *lane)
{
	enum rchar_reason reason;

	if (!device_executes(export->region))
		return RCHAR_REASON_NONE;
	reason = rchar_region_claim(export->region, lane->limits.executor);
	export->claims = !reason;
	return reason;
}

static void unclaim(struct rchar_export *export)
{
	if (export->claims)
		rchar_region_unclaim(export->region);
	export->claims = false;
}

/* While @export->lane is set, its device executes; false when another one does. */
static bool begin_execution(const struct rchar_export *export, const struct rchar_lane *lane)
{
	return !device_executes(export->region) ||
	       rchar_region_execute(export->region, lane->limits.executor);
}

static void end_execution(const struct rchar_export *export)
{
	if (device_executes(export->region))
		rchar_region_execute_end(export->region);
}

static void export_unmap(struct rchar_export *export)
{
	struct rchar_lane *lane = export->lane;
	u32 i;

	lockdep_assert_held(&export_mrs_of(lane)->lock);
	for (i = 0; i < export->nr; i++) {
		rchar_mr_free(export_mrs_of(lane), &export->blocks[i]);
		cond_resched();
	}
	kvfree(export->blocks);
	export->blocks = NULL;
	export->nr = 0;
	end_execution(export);
	list_del_init(&export->owner.entry);
	/* The last access to @export: a thread that sees no lane may free the export. */
	set_lane(export, NULL);
	rchar_lane_put(lane);
}

static void export_lane_gone(struct rchar_mr_owner *owner)
{
	export_unmap(container_of(owner, struct rchar_export, owner));
}

static int export_map_block(struct rchar_export *export, struct rchar_lane *lane, u32 i)
{
	unsigned long first = (unsigned long)i << (export->shift - PAGE_SHIFT);
	unsigned long n = min(export->region->nr_pages - first,
			      1UL << (export->shift - PAGE_SHIFT));
	struct rchar_mr *m = &export->blocks[i];
	int ret;

	ret = rchar_mr_map(export_mrs_of(lane), m, export->region->pages + first, n, 0,
			   n << PAGE_SHIFT, DMA_BIDIRECTIONAL);
	if (!ret && !rchar_dma_table_is_direct(lane->cm_id->device, &m->sgt)) {
		pr_warn_ratelimited(
			"%s: accesses copies of the region's pages (swiotlb), so no peer gets keys\n",
			lane->device);
		ret = -EOPNOTSUPP;
	}
	return ret;
}

/*
 * Let others have the lane's registrations, so that they wait for one batch and not for all: the
 * mutex is handed to a waiter that has failed to get it once. Returns false when they have ended
 * this export's on the lane.
 */
static bool take_turns(struct rchar_export *export, struct rchar_lane *lane)
{
	mutex_unlock(&export_mrs_of(lane)->lock);
	rchar_mrs_lock(export_mrs_of(lane));
	return export->lane == lane;
}

static int register_blocks(struct rchar_export *export, struct rchar_lane *lane)
{
	int access = IB_ACCESS_REMOTE_READ;
	u32 i, n;
	int ret;

	if (export->region->access == RCHAR_ACCESS_RW)
		access |= IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE;
	if (export->region->access == RCHAR_ACCESS_RW &&
	    export->region->atomics == RCHAR_ATOMICS_HW)
		access |= IB_ACCESS_REMOTE_ATOMIC;
	for (i = 0; i < export->nr; i += n) {
		if (i && !take_turns(export, lane))
			return -ECONNRESET;
		if (READ_ONCE(export->session->state) == RCHAR_SESSION_DEAD)
			return -ECONNRESET;
		for (n = 0; n < RCHAR_MR_BATCH && i + n < export->nr; n++) {
			ret = export_map_block(export, lane, i + n);
			if (ret)
				return ret;
		}
		ret = rchar_mr_register(export_mrs_of(lane), &export->blocks[i], n, access);
		if (ret)
			return ret;
	}
	return 0;
}

static u8 block_shift(const struct rchar_lane *lane)
{
	u32 pages = min_t(u32, lane->limits.reg_pages, BLOCK_PAGES_MAX);

	return PAGE_SHIFT + ilog2(max(pages, 1u));
}

static u64 block_count(const struct rchar_region *region, u8 shift)
{
	return ((region->size - 1) >> shift) + 1;
}

/*
 * What must this kernel execute, as the devices cannot? On an encrypted link everything, because
 * keys of memory are no secret there. Where the exporter's device registers no memory, or less than
 * the region, also everything. Reads, where a lane like this one cannot READ.
 */
static u8 choose_calls(const struct rchar_lane *lane, const struct rchar_region *region)
{
	u32 blocks_max = min_t(u32, lane->limits.mrs, RCHAR_WIRE_BLOCKS_MAX);

	if (lane->encrypted || !lane->limits.reg_pages || !lane->limits.direct_dma ||
	    block_count(region, block_shift(lane)) > blocks_max)
		return RCHAR_BY_CALL_FLAGS;
	return lane->limits.reads ? 0 : RCHAR_BY_CALL_READ;
}

static int export_map(struct rchar_export *export, struct rchar_lane *lane)
{
	int ret;

	lockdep_assert_held(&export_mrs_of(lane)->lock);
	if (!begin_execution(export, lane))
		return -EXDEV;
	export->shift = block_shift(lane);
	export->nr = block_count(export->region, export->shift);
	export->blocks = kvcalloc(export->nr, sizeof(*export->blocks), GFP_KERNEL | __GFP_NOWARN);
	if (!export->blocks) {
		export->nr = 0;
		end_execution(export);
		return -ENOMEM;
	}
	kref_get(&lane->ref);
	set_lane(export, lane);
	/* Either register_blocks() sees DEAD, or export_channel_revoke() sees the lane. */
	smp_mb();
	list_add(&export->owner.entry, &export_mrs_of(lane)->owners);
	ret = register_blocks(export, lane);
	/*
	 * On a failed lane, registrations may still be in the send queue. The teardown of the lane
	 * drains the queue and then frees the registrations.
	 */
	if (ret && export->lane == lane && READ_ONCE(lane->state) == RCHAR_LANE_UP)
		export_unmap(export);
	return ret;
}

/* ---- MAP frames for the peer ---- */

static struct rchar_txbuf *map_frame(const struct rchar_export *export, u32 attempt, u32 first,
				     u32 count)
{
	u32 len = sizeof(struct rchar_wire_map) + count * sizeof(__le32), i;
	struct rchar_wire_map map = {
		.attempt = cpu_to_le32(attempt),
		.first = cpu_to_le32(first),
		.count = cpu_to_le32(count),
		.shift = export->shift,
	};
	struct rchar_txbuf *txb = rchar_txbuf_alloc(RCHAR_OP_MAP, len, GFP_KERNEL);

	if (!txb)
		return NULL;
	rchar_txbuf_append(txb, &map, sizeof(map));
	for (i = 0; i < count; i++) {
		__le32 key = cpu_to_le32(export->blocks[first + i].key);

		rchar_txbuf_append(txb, &key, sizeof(key));
	}
	return txb;
}

static int export_tell(struct rchar_export *export, struct rchar_lane *lane)
{
	u32 room = (rchar_session_frame_max(export->session) - sizeof(struct rchar_wire_map)) /
		   sizeof(__le32);
	u32 first, count, n = 0;
	LIST_HEAD(frames);
	int ret;

	for (first = 0; first < export->nr; first += count) {
		struct rchar_txbuf *txb;

		count = min3(export->nr - first, room, (u32)RCHAR_WIRE_MAP_KEYS);
		txb = map_frame(export, lane->peer.attempt, first, count);
		if (!txb) {
			rchar_txbuf_put_list(&frames);
			return -ENOMEM;
		}
		list_add_tail(&txb->queue, &frames);
		n++;
	}
	/* Bound the MAP frames for a peer that reconnects repeatedly and acknowledges none. */
	if (READ_ONCE(export->session->tx.maps) > 2 * n + RCHAR_EXPORT_STALE_MAX) {
		rchar_txbuf_put_list(&frames);
		return -ENOMEM;
	}
	ret = rchar_session_send_control(export->session, &frames);
	rchar_txbuf_put_list(&frames);
	return ret;
}

/*
 * Register the region on the lane. Return an error only if the session cannot continue, or not yet:
 * -EXDEV when another device executes the atomic operations of the region.
 */
static int export_map_on(struct rchar_export *export, struct rchar_lane *lane)
{
	int ret = 0;

	/* OPENED has said what is executed by calls, or by the device, maybe another one. */
	if (choose_calls(lane, export->region) & ~export->by_call ||
	    (device_executes(export->region) && !lane->limits.atomics))
		return -EOPNOTSUPP;

	rchar_mrs_lock(export_mrs_of(lane));
	if (READ_ONCE(lane->state) == RCHAR_LANE_UP && export->lane != lane) {
		ret = export_map(export, lane);
		if (!ret)
			ret = export_tell(export, lane);
		/* The lane has failed: the session gets new keys on the next lane. */
		if (READ_ONCE(lane->state) != RCHAR_LANE_UP)
			ret = 0;
	}
	mutex_unlock(&export_mrs_of(lane)->lock);
	return ret;
}

/*
 * Frames that a peer does not acknowledge hold references to the dead session. Drop its region
 * early, so that such a peer does not keep the region's memory allocated.
 */
static void drop_region(struct rchar_export *export)
{
	struct rchar_session *s = export->session;
	struct rchar_region *region;
	struct rchar_txbuf *spare;

	unclaim(export);
	spin_lock_bh(&s->lock);
	region = export->region;
	export->region = NULL;
	spare = export->spare;
	WRITE_ONCE(export->spare, NULL);
	spin_unlock_bh(&s->lock);
	if (region)
		rchar_region_put(region);
	if (spare)
		rchar_txbuf_put(spare);
}

/*
 * Revoke the keys. The session is dead, so no thread creates new keys. After the return, no peer
 * can read or write with the revoked keys.
 */
static void export_revoke(struct rchar_export *export)
{
	struct rchar_lane *lane = export_get_lane(export);

	if (!lane)
		return;
	/* The teardown of the lane also revokes the keys: check with the lock held. */
	rchar_mrs_lock(export_mrs_of(lane));
	if (export->lane == lane)
		export_unmap(export);
	mutex_unlock(&export_mrs_of(lane)->lock);
	rchar_lane_put(lane);
}

/* Reads by calls: an answer in reserve, so that a READ does not fail the lane without memory. */
static void export_refill(struct rchar_export *export)
{
	struct rchar_session *s = export->session;
	struct rchar_txbuf *txb;

	if (READ_ONCE(export->spare))
		return;
	/* For the longest READ: the frame size may grow while the session lives. */
	txb = rchar_export_answer_alloc(RCHAR_WIRE_PIECE_MAX, GFP_KERNEL | __GFP_NOWARN);
	spin_lock_bh(&s->lock);
	if (s->state != RCHAR_SESSION_DEAD && !export->spare) {
		WRITE_ONCE(export->spare, txb);
		txb = NULL;
	}
	spin_unlock_bh(&s->lock);
	if (txb)
		rchar_txbuf_put(txb);
}

static enum rchar_reason reason_of(int error)
{
	switch (error) {
	case -EXDEV:
		return RCHAR_REASON_NO_ATOMICS;
	case -EOPNOTSUPP:
		return RCHAR_REASON_DEVICE_LIMITS;
	default:
		return RCHAR_REASON_NO_MEMORY;
	}
}

/*
 * When an address moves to another device, its links arrive there one after the other. What is left
 * at the old device ends soon. Returns false when that has not happened for long.
 */
static bool map_later(struct rchar_export *export)
{
	if (!export->waits_since)
		export->waits_since = jiffies ?: 1;
	if (time_after(jiffies, export->waits_since + msecs_to_jiffies(EXECUTOR_WAIT_MS)))
		return false;
	rchar_session_get(export->session);
	if (!queue_delayed_work(export_wq, &export->work, msecs_to_jiffies(EXECUTOR_RETRY_MS)))
		rchar_session_put(export->session); /* never the last reference */
	return true;
}

/* Give the peer keys for its present connection, if it has one and lacks them. */
static void export_renew(struct rchar_export *export)
{
	struct rchar_lane *lane = rchar_flow_get_lane(export->session->flow);
	int ret = lane ? export_map_on(export, lane) : 0;

	if (ret != -EXDEV)
		export->waits_since = 0;
	if (ret && !(ret == -EXDEV && map_later(export)))
		rchar_session_fail(export->session, reason_of(ret));
	if (lane)
		rchar_lane_put(lane);
}

static void export_work(struct work_struct *work)
{
	struct rchar_export *export = container_of(work, struct rchar_export, work.work);
	struct rchar_session *s = export->session;

	if (READ_ONCE(s->state) == RCHAR_SESSION_DEAD) {
		export_revoke(export);
		drop_region(export);
		rchar_session_importer_gone(s);
	} else {
		if (export->by_call & RCHAR_BY_CALL_READ)
			export_refill(export);
		if (!(export->by_call & RCHAR_BY_CALL_WRITE))
			export_renew(export);
	}
	rchar_session_put(s);
}

/**
 * rchar_export_update() - let @export->work handle a change
 * @s: the session: its link came up, it is dead, or its spare answer is used
 *
 * A peer gets no keys when this kernel executes its reads and writes.
 *
 * Context: any but hard interrupt.
 */
void rchar_export_update(struct rchar_session *s)
{
	struct rchar_export *export = rchar_session_priv(s);

	rchar_session_get(s);
	if (mod_delayed_work(export_wq, &export->work, 0))
		rchar_session_put(s); /* never the last reference */
}

static int export_create(struct rchar_session *s)
{
	struct rchar_export *export = rchar_session_priv(s);

	lockdep_assert_held(&s->channel->lock);
	rchar_ledger_add(RCHAR_OBJ_EXPORT);
	export->session = s;
	export->region = rchar_region_of(s->channel);
	rchar_region_get(export->region);
	spin_lock_init(&export->lock);
	INIT_DELAYED_WORK(&export->work, export_work);
	INIT_LIST_HEAD(&export->owner.entry);
	export->owner.gone = export_lane_gone;
	return 0;
}

static void export_free(struct rchar_session *s)
{
	struct rchar_export *export = rchar_session_priv(s);

	/* export_accept() may discard a session without a link in a soft interrupt. */
	if (s->link)
		export_revoke(export);
	unclaim(export);
	if (export->region)
		rchar_region_put(export->region);
	if (export->spare)
		rchar_txbuf_put(export->spare);
	rchar_ledger_del(RCHAR_OBJ_EXPORT);
}

/* ---- sessions of peers ---- */

/*
 * The approximate memory cost of registering a region: a scatterlist entry and an address for each
 * page, a memory region for each block of 1 << @shift bytes, the MAP frames of two connections, and
 * stale MAP frames.
 */
static u64 export_cost_of(const struct rchar_region *region, u8 shift)
{
	u64 blocks = block_count(region, shift);
	u64 maps = 2 * DIV_ROUND_UP_ULL(blocks, RCHAR_WIRE_MAP_KEYS) + RCHAR_EXPORT_STALE_MAX;

	return RCHAR_SESSION_COST + region->nr_pages * 80 + blocks * 1024 + maps * PAGE_SIZE;
}

/* Memory that a session holds on behalf of the peer, with the blocks that @lane registers. */
static u64 session_cost_of(const struct rchar_region *region, const struct rchar_lane *lane,
			   u8 by_call)
{
	return (by_call & RCHAR_BY_CALL_READ ? RCHAR_EXPORT_REPLIES_MAX : 0) +
	       (by_call & RCHAR_BY_CALL_WRITE ? 0 : export_cost_of(region, block_shift(lane)));
}

/* Choose, for a new session, what this kernel executes, and hold what that needs. */
static enum rchar_reason export_begin(struct rchar_session *s, struct rchar_link *link,
				      const struct rchar_lane *lane)
{
	struct rchar_export *export = rchar_session_priv(s);
	struct rchar_region *region = export->region;
	enum rchar_reason reason;

	export->by_call = choose_calls(lane, region);
	if (region->atomics == RCHAR_ATOMICS_HW &&
	    (!lane->limits.atomics || export->by_call & RCHAR_BY_CALL_WRITE))
		return RCHAR_REASON_NO_ATOMICS;
	reason = claim(export, lane);
	if (reason)
		return reason;
	return rchar_session_hold_importer(s, link, session_cost_of(region, lane, export->by_call));
}

/* Add the session to the link's table and open it at once: no program's open() is needed. */
static bool open_session(struct rchar_session *s, struct rchar_link *link,
			 const struct rchar_hdr *hdr)
{
	lockdep_assert_held(&s->lock);
	if (xa_insert_bh(&link->sessions, hdr->session, s, GFP_ATOMIC | __GFP_NOWARN))
		return false;
	rchar_session_bind(s, link, hdr->session);
	rchar_session_set_opened(s, hdr->window, 0);
	WRITE_ONCE(s->tx.window.edge, hdr->window);
	rchar_session_move(s, RCHAR_SESSION_OPEN);
	s->wanted |= BIT(RCHAR_OP_OPENED);
	rchar_session_send_wanted(s);
	rchar_export_update(s);
	return true;
}

static enum rchar_reason accept_on(struct rchar_channel *channel, struct rchar_link *link,
				   const struct rchar_lane *lane, const struct rchar_hdr *hdr)
{
	struct rchar_session *s;
	enum rchar_reason reason;
	bool ok;

	s = rchar_session_create(channel, RCHAR_SESSION_WAITING, GFP_ATOMIC | __GFP_NOWARN);
	if (!s)
		return RCHAR_REASON_NO_MEMORY;
	reason = export_begin(s, link, lane);
	if (reason) {
		rchar_session_discard(s);
		return reason;
	}
	rchar_session_add(s);
	spin_lock(&s->lock);
	ok = open_session(s, link, hdr);
	spin_unlock(&s->lock);
	if (ok)
		return RCHAR_REASON_NONE; /* the link's table now owns the reference */
	rchar_session_unhold_importer(s, link);
	rchar_session_put(s);
	return RCHAR_REASON_NO_MEMORY;
}

static enum rchar_reason export_accept(struct rchar_channel *channel, struct rchar_link *link,
				       const struct rchar_hdr *hdr)
{
	enum rchar_reason reason;
	struct rchar_lane *lane;

	lockdep_assert_held(&channel->lock);
	if (channel->dead)
		return RCHAR_REASON_NO_CHANNEL;
	lane = rchar_flow_get_lane(rchar_link_flow(link, hdr->session));
	/* Without a connection nobody knows yet: the peer asks again, as for a full backlog. */
	if (!lane)
		return RCHAR_REASON_BACKLOG;
	reason = accept_on(channel, link, lane, hdr);
	rchar_lane_put(lane);
	return reason;
}

static u32 export_fill_opened(const struct rchar_session *s, void *payload)
{
	const struct rchar_export *export = rchar_session_priv(s);
	struct rchar_wire_region *region = payload;

	region->size = cpu_to_le64(export->region->size);
	region->access = export->region->access;
	region->atomics = export->region->atomics;
	region->by_call = export->by_call;
	return sizeof(*region);
}

static int export_receive(struct rchar_session *s, const struct rchar_hdr *hdr,
			  struct rchar_rxbuf *rxb, enum rchar_frame_error *err)
{
	if (hdr->op == RCHAR_OP_CALL)
		return rchar_export_call(s, hdr, rxb, err);
	*err = RCHAR_FRAME_BAD_STATE;
	return 0;
}

/* The importer has closed its file, and all frames of the importer have arrived. */
static enum rchar_frame_error export_fin(struct rchar_session *s)
{
	rchar_session_die(s, RCHAR_REASON_NONE, 0);
	return RCHAR_FRAME_OK;
}

/*
 * Find dead sessions with keys: up to @max, each with a reference. A peer chooses how many sessions
 * there are, and each call walks over those that are done.
 */
static unsigned int dead_with_keys(struct rchar_channel *channel, struct rchar_session **found,
				   unsigned int max)
{
	struct rchar_session *s;
	unsigned int n = 0;

	spin_lock_bh(&channel->lock);
	list_for_each_entry(s, &channel->sessions, channel_entry) {
		struct rchar_export *export = rchar_session_priv(s);

		if (READ_ONCE(s->state) == RCHAR_SESSION_DEAD && READ_ONCE(export->lane) &&
		    kref_get_unless_zero(&s->ref))
			found[n++] = s;
		if (n == max)
			break;
	}
	spin_unlock_bh(&channel->lock);
	return n;
}

/*
 * Revoke the keys of the sessions that died before this call. After the return, their peers do not
 * access the region. New sessions, which may come and end all the time, are behind these in the
 * list, so as many as there are now include them.
 */
static void export_channel_revoke(struct rchar_channel *channel)
{
	unsigned int i, n, left = READ_ONCE(channel->nr_sessions);
	struct rchar_session *found[32];

	smp_mb(); /* pairs with export_map(); the sessions that died before this call are DEAD */
	for (; left; left -= n) {
		n = dead_with_keys(channel, found, min_t(unsigned int, left, ARRAY_SIZE(found)));
		if (!n)
			return;
		for (i = 0; i < n; i++) {
			export_revoke(rchar_session_priv(found[i]));
			rchar_session_put(found[i]);
		}
	}
}

const struct rchar_type rchar_export_type = {
	.fops = &rchar_region_fops,
	.priv_size = sizeof(struct rchar_export),
	.channel_create = rchar_region_channel_create,
	.channel_dead = rchar_region_channel_dead,
	.channel_revoke = export_channel_revoke,
	.channel_free = rchar_region_channel_free,
	.create = export_create,
	.free = export_free,
	.accept = export_accept,
	.fill_opened = export_fill_opened,
	.up = rchar_export_update,
	.receive = export_receive,
	.fin = export_fin,
	.dead = rchar_export_update,
};

/**
 * rchar_export_init() - create the workqueue at module load
 *
 * Return: 0 or -ENOMEM.
 */
int rchar_export_init(void)
{
	export_wq = alloc_workqueue("rchar_export", WQ_UNBOUND | WQ_MEM_RECLAIM,
				    WQ_UNBOUND_MAX_ACTIVE);
	return export_wq ? 0 : -ENOMEM;
}

/**
 * rchar_export_exit() - destroy the workqueue at module unload, after the last session
 */
void rchar_export_exit(void)
{
	destroy_workqueue(export_wq);
}
