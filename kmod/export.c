// SPDX-License-Identifier: GPL-2.0
/*
 * Keys of a region. Each session of a peer has its own, in the protection domain of its
 * connection: what one peer was told is of no use to another, and nothing of it is left
 * when the connection breaks.
 */
#include "export.h"
#include <linux/dma-mapping.h>
#include <linux/log2.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include "inject.h"
#include "lane.h"
#include "ledger.h"
#include "link.h"
#include "region.h"
#include "session.h"
#include "txbuf.h"

/* Pages of a chunk at most: 1 MiB. Devices may allow fewer. */
#define CHUNK_PAGES_MAX		256
/* Registrations posted at once. */
#define BATCH			RCHAR_LANE_REG

/*
 * A peer that takes frames one by one makes each batch slow, and others wait for the lock: so
 * many slow batches of one region end the lane.
 */
#define SLOW_MS			4000
#define SLOW_MAX		3

/* Registering waits for completions, teardown of lanes waits for registering. */
static struct workqueue_struct *export_wq;

/**
 * struct rchar_export_chunk - one memory region
 * @mr: its key is what the peer is told
 * @sgt: the pages, mapped for the device
 * @mapped: entries of @sgt that are
 */
struct rchar_export_chunk {
	struct ib_mr *mr;
	struct sg_table sgt;
	int mapped;
};

/* ---- one connection ---- */

static void free_chunk(struct rchar_export_chunk *c, struct ib_device *dev)
{
	/* First the key: from here on nothing comes in. */
	if (c->mr)
		ib_dereg_mr(c->mr);
	if (c->mapped)
		ib_dma_unmap_sg(dev, c->sgt.sgl, c->sgt.orig_nents, DMA_BIDIRECTIONAL);
	sg_free_table(&c->sgt);
}

static void set_lane(struct rchar_export *export, struct rchar_lane *lane)
{
	spin_lock(&export->lock);
	WRITE_ONCE(export->lane, lane);
	spin_unlock(&export->lock);
}

static struct rchar_lane *get_lane(struct rchar_export *export)
{
	struct rchar_lane *lane;

	spin_lock(&export->lock);
	lane = export->lane;
	if (lane)
		kref_get(&lane->ref);
	spin_unlock(&export->lock);
	return lane;
}

/* With exports_reg.lock of the lane. */
static void unmap(struct rchar_export *export)
{
	struct rchar_lane *lane = export->lane;
	u32 i;

	lockdep_assert_held(&lane->exports_reg.lock);
	for (i = 0; i < export->nr; i++) {
		free_chunk(&export->chunks[i], lane->cm_id->device);
		cond_resched();
	}
	kvfree(export->chunks);
	export->chunks = NULL;
	export->nr = 0;
	list_del_init(&export->entry);
	/* The last touch: who sees that there is no lane may free it. */
	set_lane(export, NULL);
	rchar_lane_put(lane);
}

/*
 * Peers and programs look at the same pages at any time: there is no moment to synchronize a
 * bounce buffer (swiotlb) or a cache that the device does not see.
 */
static bool bounced(struct ib_device *dev, const struct sg_table *sgt, int mapped)
{
	struct scatterlist *sg;
	int i;

	if (ib_uses_virt_dma(dev))
		return false;
	for_each_sg(sgt->sgl, sg, mapped, i)
		if (dma_need_sync(dev->dma_device, sg_dma_address(sg)))
			return true;
	return false;
}

static int map_chunk(struct rchar_export *export, struct rchar_lane *lane, u32 i)
{
	unsigned long first = (unsigned long)i << (export->shift - PAGE_SHIFT);
	unsigned long n = min(export->region->nr_pages - first,
			      1UL << (export->shift - PAGE_SHIFT));
	struct rchar_export_chunk *c = &export->chunks[i];
	struct ib_device *dev = lane->cm_id->device;
	int ret;

	ret = sg_alloc_table_from_pages(&c->sgt, export->region->pages + first, n, 0,
					n << PAGE_SHIFT,
					GFP_KERNEL | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	if (ret)
		return ret;
	c->mapped = ib_dma_map_sg(dev, c->sgt.sgl, c->sgt.orig_nents, DMA_BIDIRECTIONAL);
	if (!c->mapped)
		return -ENOMEM;
	if (bounced(dev, &c->sgt, c->mapped))
		return -EOPNOTSUPP;
	ret = rchar_inject_verbs();
	if (ret)
		return ret;
	/* One more than is used, where the device has room: at the end of a full memory
	 * region soft-RoCE in 6.1 looks for the next page (rxe_mr_copy()).
	 */
	c->mr = ib_alloc_mr(lane->pd, IB_MR_TYPE_MEM_REG,
			    min_t(u32, n + 1, dev->attrs.max_fast_reg_page_list_len));
	if (IS_ERR(c->mr)) {
		ret = PTR_ERR(c->mr);
		c->mr = NULL;
		return ret;
	}
	ret = ib_map_mr_sg(c->mr, c->sgt.sgl, c->mapped, NULL, PAGE_SIZE);
	if (ret != c->mapped)
		return ret < 0 ? ret : -EINVAL;
	/* The peer's offsets begin at 0: soft devices would tell it kernel addresses. */
	c->mr->iova = 0;
	ib_update_fast_reg_key(c->mr, ib_inc_rkey(c->mr->rkey));
	return 0;
}

static int register_chunks(struct rchar_export *export, struct rchar_lane *lane)
{
	int access = IB_ACCESS_REMOTE_READ;
	struct ib_reg_wr wrs[BATCH];
	u32 i, n, slow = 0;
	int ret;

	if (export->region->access == RCHAR_ACCESS_RW)
		access |= IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE;
	if (export->region->access == RCHAR_ACCESS_RW &&
	    export->region->atomics == RCHAR_ATOMICS_HW)
		access |= IB_ACCESS_REMOTE_ATOMIC;
	for (i = 0; i < export->nr; i += n) {
		unsigned long begun = jiffies;

		if (READ_ONCE(export->session->state) == RCHAR_SESSION_DEAD)
			return -ECONNRESET;
		for (n = 0; n < BATCH && i + n < export->nr; n++) {
			ret = map_chunk(export, lane, i + n);
			if (ret)
				return ret;
			wrs[n] = (struct ib_reg_wr){
				.wr.opcode = IB_WR_REG_MR,
				.mr = export->chunks[i + n].mr,
				.key = export->chunks[i + n].mr->rkey,
				.access = access,
			};
		}
		rchar_inject_delay(RCHAR_DELAY_REGISTER);
		ret = rchar_lane_register(lane, &lane->exports_reg, wrs, n);
		if (ret)
			return ret;
		slow += time_after(jiffies, begun + msecs_to_jiffies(SLOW_MS));
		if (slow > SLOW_MAX) {
			rchar_lane_fail(lane, RCHAR_REASON_TIMEOUT);
			return -ETIMEDOUT;
		}
	}
	return 0;
}

static u8 chunk_shift(const struct ib_device *dev)
{
	u32 pages = min_t(u32, dev->attrs.max_fast_reg_page_list_len, CHUNK_PAGES_MAX);

	return PAGE_SHIFT + ilog2(max(pages, 1u));
}

/* With exports_reg.lock of the lane. */
static int map(struct rchar_export *export, struct rchar_lane *lane)
{
	int ret;

	export->shift = chunk_shift(lane->cm_id->device);
	export->nr = ((export->region->size - 1) >> export->shift) + 1;
	export->chunks = kvcalloc(export->nr, sizeof(*export->chunks),
				  GFP_KERNEL | __GFP_NOWARN);
	if (!export->chunks) {
		export->nr = 0;
		return -ENOMEM;
	}
	kref_get(&lane->ref);
	set_lane(export, lane);
	list_add(&export->entry, &lane->exports);
	ret = register_chunks(export, lane);
	/* On a lane that is going some may still be in the send queue: they are freed when
	 * that is drained.
	 */
	if (ret && READ_ONCE(lane->state) == RCHAR_LANE_UP)
		unmap(export);
	return ret;
}

/* ---- telling the peer ---- */

static struct rchar_txbuf *map_frame(const struct rchar_export *export, u32 attempt,
				     u32 first, u32 count)
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
		__le32 key = cpu_to_le32(export->chunks[first + i].mr->rkey);

		rchar_txbuf_append(txb, &key, sizeof(key));
	}
	return txb;
}

static int tell(struct rchar_export *export, struct rchar_lane *lane)
{
	u32 room = (rchar_session_frame_max(export->session) -
		    sizeof(struct rchar_wire_map)) / sizeof(__le32);
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
	/* A peer that connects again and again and takes none of them. */
	if (READ_ONCE(export->session->tx_frames) > 2 * n + RCHAR_EXPORT_STALE_MAX) {
		rchar_txbuf_put_list(&frames);
		return -ENOMEM;
	}
	ret = rchar_session_send_control(export->session, &frames);
	rchar_txbuf_put_list(&frames);
	return ret;
}

/* Returns an error only when the session cannot go on. */
static int map_on(struct rchar_export *export, struct rchar_lane *lane)
{
	int ret = 0;

	mutex_lock(&lane->exports_reg.lock);
	if (READ_ONCE(lane->state) == RCHAR_LANE_UP && export->lane != lane) {
		ret = map(export, lane);
		if (!ret)
			ret = tell(export, lane);
		/* It is going: the next one gets keys of its own. */
		if (READ_ONCE(lane->state) != RCHAR_LANE_UP)
			ret = 0;
	}
	mutex_unlock(&lane->exports_reg.lock);
	return ret;
}

/* Frames that a peer does not acknowledge keep the session, but not so much memory. */
static void drop_region(struct rchar_export *export)
{
	struct rchar_session *s = export->session;
	struct rchar_region *region;

	spin_lock_bh(&s->lock);
	region = export->region;
	export->region = NULL;
	spin_unlock_bh(&s->lock);
	if (region)
		rchar_region_put(region);
}

static void export_work(struct work_struct *work)
{
	struct rchar_export *export = container_of(work, struct rchar_export, work);
	struct rchar_session *s = export->session;
	struct rchar_lane *lane;

	if (READ_ONCE(s->state) == RCHAR_SESSION_DEAD) {
		rchar_export_revoke(export);
		drop_region(export);
		rchar_session_export_gone(s);
	} else {
		lane = rchar_flow_get_lane(s->flow);
		if (lane) {
			if (map_on(export, lane))
				rchar_session_fail(s, RCHAR_REASON_NO_MEMORY);
			rchar_lane_put(lane);
		}
	}
	rchar_session_put(s);
}

/**
 * rchar_export_update() - the session's link came up, or it is over
 * @export: the keys
 *
 * Context: any but hard interrupt; it is done later.
 */
void rchar_export_update(struct rchar_export *export)
{
	rchar_session_get(export->session);
	if (!queue_work(export_wq, &export->work))
		rchar_session_put(export->session);	/* never the last */
}

/**
 * rchar_export_revoke() - take the keys back
 * @export: the keys; nothing makes new ones, as its session is over
 *
 * When it returns no peer can read or write a byte with them.
 *
 * Context: process.
 */
void rchar_export_revoke(struct rchar_export *export)
{
	struct rchar_lane *lane = get_lane(export);

	if (!lane)
		return;
	/* A lane that goes takes them back, too. */
	mutex_lock(&lane->exports_reg.lock);
	if (export->lane == lane)
		unmap(export);
	mutex_unlock(&lane->exports_reg.lock);
	rchar_lane_put(lane);
}

/**
 * rchar_export_create() - no keys yet
 * @session: the session that was opened by a peer
 * @region: the region
 *
 * Context: any but hard interrupt.
 * Return: the object, or NULL without memory.
 */
struct rchar_export *rchar_export_create(struct rchar_session *session,
					 struct rchar_region *region)
{
	struct rchar_export *export = kzalloc(sizeof(*export), GFP_ATOMIC | __GFP_NOWARN);

	if (!export)
		return NULL;
	rchar_ledger_add(RCHAR_OBJ_EXPORT);
	export->session = session;
	rchar_region_get(region);
	export->region = region;
	spin_lock_init(&export->lock);
	INIT_WORK(&export->work, export_work);
	INIT_LIST_HEAD(&export->entry);
	return export;
}

/**
 * rchar_export_free() - with its session
 * @export: the keys
 *
 * Context: process.
 */
void rchar_export_free(struct rchar_export *export)
{
	rchar_export_revoke(export);
	if (export->region)
		rchar_region_put(export->region);
	rchar_ledger_del(RCHAR_OBJ_EXPORT);
	kfree(export);
}

/**
 * rchar_export_lane_gone() - teardown of a lane: all keys on it go
 * @lane: the lane, drained
 *
 * Context: process.
 */
void rchar_export_lane_gone(struct rchar_lane *lane)
{
	struct rchar_export *export, *tmp;

	mutex_lock(&lane->exports_reg.lock);
	list_for_each_entry_safe(export, tmp, &lane->exports, entry)
		unmap(export);
	mutex_unlock(&lane->exports_reg.lock);
}

/**
 * rchar_export_init() - at module load
 */
int rchar_export_init(void)
{
	export_wq = alloc_workqueue("rchar_export", WQ_UNBOUND | WQ_MEM_RECLAIM,
				    WQ_UNBOUND_MAX_ACTIVE);
	return export_wq ? 0 : -ENOMEM;
}

/**
 * rchar_export_exit() - at module unload, when no session is left
 */
void rchar_export_exit(void)
{
	destroy_workqueue(export_wq);
}
