// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions of peers that access a region. The sessions of a flow share the keys of the region, in
 * the protection domain of its connection: see grant.h. Another peer cannot use these keys. They
 * become invalid when the connection breaks, or when the last of these sessions has ended.
 */
#include "export.h"
#include <linux/math64.h>
#include <linux/slab.h>
#include "base/account.h"
#include "base/inject.h"
#include "base/ledger.h"
#include "grant.h"
#include "link/lane.h"
#include "link/link.h"
#include "link/rxbuf.h"
#include "link/txbuf.h"
#include "region.h"
#include "session/channel.h"
#include "session/session_priv.h"
#include "session/type.h"

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

/* ---- who executes what ---- */

static enum rchar_reason claim(struct rchar_export *export, const struct rchar_lane *lane)
{
	enum rchar_reason reason;

	if (!rchar_region_device_executes(export->region))
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

/*
 * What must this kernel execute, as the devices cannot? On an encrypted link everything, because
 * keys of memory are no secret there. Where the exporter's device registers no memory, or less than
 * the region, also everything. Reads, where a lane like this one cannot READ.
 */
static u8 choose_calls(const struct rchar_lane *lane, const struct rchar_region *region)
{
	u32 blocks_max = min_t(u32, lane->limits.mrs, RCHAR_WIRE_BLOCKS_MAX);

	if (lane->encrypted || !lane->limits.reg_pages || !lane->limits.direct_dma ||
	    rchar_grant_blocks(region, rchar_grant_shift(lane)) > blocks_max)
		return RCHAR_BY_CALL_FLAGS;
	return lane->limits.reads ? 0 : RCHAR_BY_CALL_READ;
}

/* ---- MAP frames for the peer ---- */

static struct rchar_txbuf *map_frame(const struct rchar_grant *grant, u32 attempt, u32 first,
				     u32 count)
{
	u32 len = sizeof(struct rchar_wire_map) + count * sizeof(__le32), i;
	struct rchar_wire_map map = {
		.attempt = cpu_to_le32(attempt),
		.first = cpu_to_le32(first),
		.count = cpu_to_le32(count),
		.shift = grant->shift,
	};
	struct rchar_txbuf *txb = rchar_txbuf_alloc(RCHAR_OP_MAP, len, GFP_KERNEL);

	if (!txb)
		return NULL;
	rchar_txbuf_append(txb, &map, sizeof(map));
	for (i = 0; i < count; i++) {
		__le32 key = cpu_to_le32(grant->blocks[first + i].key);

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

	for (first = 0; first < export->grant->nr; first += count) {
		struct rchar_txbuf *txb;

		count = min3(export->grant->nr - first, room, (u32)RCHAR_WIRE_MAP_KEYS);
		txb = map_frame(export->grant, lane->peer.attempt, first, count);
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

/* Register what is missing, and tell the peer what it has not been told on this connection. */
static int register_and_tell(struct rchar_export *export, struct rchar_lane *lane)
{
	struct rchar_grant *grant = export->grant;
	int ret;

	ret = rchar_grant_register(grant, export->region, lane, export->session);
	if (!ret && export->told != grant->generation)
		ret = export_tell(export, lane);
	if (!ret)
		export->told = grant->generation;
	return ret;
}

/*
 * Have all sessions left the grant? Who let the last one leave may have found no lane yet, while
 * another one, which is dead, was about to register.
 */
static bool is_abandoned(const struct rchar_export *export)
{
	struct rchar_channel *channel = export->session->channel;
	bool abandoned;

	spin_lock_bh(&channel->lock);
	abandoned = !export->grant->users;
	spin_unlock_bh(&channel->lock);
	return abandoned;
}

/*
 * Register the region on the lane. Return an error only if the session cannot continue, or not yet:
 * -EXDEV when another device executes the atomic operations of the region.
 */
static int export_map_on(struct rchar_export *export, struct rchar_lane *lane)
{
	struct rchar_mrs *mrs = &lane->mrs[RCHAR_MRS_MANY];
	int ret = 0;

	/* OPENED has said what is executed by calls, or by the device, maybe another one. */
	if (choose_calls(lane, export->region) & ~export->by_call ||
	    (rchar_region_device_executes(export->region) && !lane->limits.atomics))
		return -EOPNOTSUPP;

	rchar_mrs_lock(mrs);
	if (READ_ONCE(lane->state) == RCHAR_LANE_UP) {
		ret = register_and_tell(export, lane);
		/* The lane has failed: the session gets new keys on the next lane. */
		if (READ_ONCE(lane->state) != RCHAR_LANE_UP)
			ret = 0;
	}
	/* Of a lane that fails, the teardown frees what the device may not have seen yet. */
	if (READ_ONCE(export->grant->lane) == lane && READ_ONCE(lane->state) == RCHAR_LANE_UP &&
	    is_abandoned(export))
		rchar_grant_unregister(export->grant);
	mutex_unlock(&mrs->lock);
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

static bool uses_keys(const struct rchar_export *export)
{
	return !list_empty(&export->with_keys);
}

/* Returns true if that was the last session. */
static bool leave(struct rchar_export *export)
{
	struct rchar_channel *channel = export->session->channel;
	bool last;

	spin_lock_bh(&channel->lock);
	last = rchar_grant_leave(export->grant);
	spin_unlock_bh(&channel->lock);
	return last;
}

static void release_common(struct rchar_grant *grant, struct rchar_account *account)
{
	rchar_account_release(account, grant->hold.bytes);
	rchar_account_release_beyond(grant->hold.beyond);
	grant->hold = (struct rchar_common_held){};
}

/*
 * Give the keys back. The session is dead. After the return, no peer can read or write with them,
 * unless another session of the flow uses them.
 */
static void export_revoke(struct rchar_export *export)
{
	struct rchar_channel *channel = export->session->channel;
	struct rchar_grant *grant = export->grant;

	if (!grant)
		return;
	mutex_lock(&grant->leaving);
	if (uses_keys(export)) {
		if (leave(export)) {
			rchar_grant_revoke(grant);
			release_common(grant, export->session->link->account);
		}
		spin_lock_bh(&channel->lock);
		list_del_init(&export->with_keys);
		spin_unlock_bh(&channel->lock);
	}
	mutex_unlock(&grant->leaving);
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

/* It waits without a thread: when its turn comes, @work runs again. */
static void export_renew_in_turn(struct rchar_export *export)
{
	struct rchar_gate *gate = &export->session->link->account->registering;

	if (!rchar_gate_enter(gate, &export->turn, false))
		return;
	export_renew(export);
	rchar_gate_leave(gate, &export->turn);
}

static void export_work(struct work_struct *work)
{
	struct rchar_export *export = container_of(work, struct rchar_export, work.work);
	struct rchar_session *s = export->session;

	if (READ_ONCE(s->state) == RCHAR_SESSION_DEAD) {
		if (s->link)
			rchar_gate_leave(&s->link->account->registering, &export->turn);
		export_revoke(export);
		drop_region(export);
		rchar_session_importer_gone(s);
	} else {
		if (export->by_call & RCHAR_BY_CALL_READ)
			export_refill(export);
		if (!(export->by_call & RCHAR_BY_CALL_WRITE))
			export_renew_in_turn(export);
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

/* A session that waits is alive, or @work has yet to run for its death, with a reference. */
static void export_has_turn(struct rchar_gate_user *turn)
{
	rchar_export_update(container_of(turn, struct rchar_export, turn)->session);
}

static int export_create(struct rchar_session *s)
{
	struct rchar_export *export = rchar_session_priv(s);

	lockdep_assert_held(&s->channel->lock);
	rchar_ledger_add(RCHAR_OBJ_EXPORT);
	INIT_LIST_HEAD(&export->with_keys);
	export->session = s;
	export->region = rchar_region_of(s->channel);
	rchar_region_get(export->region);
	INIT_DELAYED_WORK(&export->work, export_work);
	rchar_gate_user_init(&export->turn, export_has_turn);
	return 0;
}

static void export_free(struct rchar_session *s)
{
	struct rchar_export *export = rchar_session_priv(s);

	/*
	 * Without a link it uses no keys: see discard_keys(). That may be in a soft interrupt. With
	 * one, its work has let it leave: others that still leave need not be waited for.
	 */
	if (WARN_ON_ONCE(s->link && uses_keys(export)))
		export_revoke(export);
	WARN_ON_ONCE(export->turn.inside || !list_empty(&export->turn.entry));
	if (export->grant)
		rchar_grant_put(export->grant);
	unclaim(export);
	if (export->region)
		rchar_region_put(export->region);
	if (export->spare)
		rchar_txbuf_put(export->spare);
	rchar_ledger_del(RCHAR_OBJ_EXPORT);
}

/* ---- sessions of peers ---- */

/*
 * The approximate memory cost of the keys of a region, for all sessions of a flow: a scatterlist
 * entry and an address for each page, and a memory region for each block.
 */
static u64 common_cost_of(const struct rchar_region *region, u8 shift)
{
	return region->nr_pages * 80 + rchar_grant_blocks(region, shift) * 1024;
}

/* The most that export_tell() leaves unacknowledged, when the payload of a frame is @max bytes. */
static u64 maps_cost_of(u64 blocks, u32 max)
{
	u32 room = (max - sizeof(struct rchar_wire_map)) / sizeof(__le32);
	u32 keys = min_t(u32, room, RCHAR_WIRE_MAP_KEYS);
	u64 frames = 3 * DIV_ROUND_UP_ULL(blocks, keys) + RCHAR_EXPORT_STALE_MAX;

	return frames * (max + RCHAR_TXBUF_COST);
}

/*
 * That of a session with keys: MAP frames. The peer chooses the size of the frames, and another one
 * with each connection.
 */
static u64 keys_cost_of(const struct rchar_region *region, u8 shift)
{
	u64 blocks = rchar_grant_blocks(region, shift);

	return RCHAR_SESSION_COST + max(maps_cost_of(blocks, RCHAR_WIRE_SMALL),
					maps_cost_of(blocks, RCHAR_WIRE_FRAME_MIN));
}

/* Memory that a session holds on behalf of the peer, beside what it shares with others. */
static u64 session_cost_of(const struct rchar_region *region, u8 shift, u8 by_call)
{
	return (by_call & RCHAR_BY_CALL_READ ? RCHAR_EXPORT_REPLIES_MAX : 0) +
	       (by_call & RCHAR_BY_CALL_WRITE ? 0 : keys_cost_of(region, shift));
}

static enum rchar_reason hold_for_peer(struct rchar_session *s, struct rchar_link *link,
				       const struct rchar_lane *lane)
{
	struct rchar_export *export = rchar_session_priv(s);
	u8 shift = rchar_grant_shift(lane);
	u64 cost = session_cost_of(export->region, shift, export->by_call), common = 0;
	struct rchar_common_held *held = export->grant ? &export->grant->hold : NULL;

	if (held && export->grant->users == 1)
		common = common_cost_of(export->region, shift);
	return rchar_session_hold_importer(s, link, cost, held, common);
}

/* Undo the joining of a session that is not accepted, and so has registered nothing. */
static void discard_keys(struct rchar_export *export, struct rchar_link *link)
{
	lockdep_assert_held(&export->session->channel->lock);
	/* If it is the last one, it was the first one, too: others could not leave meanwhile. */
	if (uses_keys(export) && rchar_grant_leave(export->grant))
		release_common(export->grant, link->account);
	list_del_init(&export->with_keys);
}

/* Choose, for a new session, what this kernel executes, and hold what that needs. */
static enum rchar_reason export_begin(struct rchar_session *s, struct rchar_link *link,
				      const struct rchar_hdr *hdr, const struct rchar_lane *lane)
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
	if (!(export->by_call & RCHAR_BY_CALL_WRITE)) {
		export->grant = rchar_grant_join(region, rchar_link_flow(link, hdr->session));
		if (!export->grant)
			return RCHAR_REASON_NO_MEMORY;
		list_add_tail(&export->with_keys, &region->with_keys);
	}
	reason = hold_for_peer(s, link, lane);
	if (reason)
		discard_keys(export, link);
	return reason;
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
	reason = export_begin(s, link, hdr, lane);
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
	discard_keys(rchar_session_priv(s), link);
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
 * Find dead sessions that use keys: up to @max, each with a reference. There are none once the
 * channel has dropped its region.
 */
static unsigned int dead_with_keys(struct rchar_channel *channel, struct rchar_session **found,
				   unsigned int max)
{
	unsigned int n = 0, walked = 0;
	struct rchar_region *region;
	struct rchar_export *export;

	spin_lock_bh(&channel->lock);
	region = rchar_region_of(channel);
	if (!region)
		goto out;
	list_for_each_entry(export, &region->with_keys, with_keys) {
		struct rchar_session *s = export->session;

		walked++;
		if (READ_ONCE(s->state) == RCHAR_SESSION_DEAD && kref_get_unless_zero(&s->ref))
			found[n++] = s;
		if (n == max)
			break;
	}
out:
	spin_unlock_bh(&channel->lock);
	rchar_inject_walked(walked);
	return n;
}

/*
 * Let the sessions that died before this call leave. After the return, their peers do not access
 * the region, unless by other sessions. New sessions, which may come and end all the time, are
 * added at the tail of &rchar_region.with_keys: visiting as many as use keys now reaches all of
 * those.
 */
static void export_channel_revoke(struct rchar_channel *channel)
{
	struct rchar_session *found[32];
	unsigned int i, n, left;

	spin_lock_bh(&channel->lock);
	left = channel->nr_importers;
	spin_unlock_bh(&channel->lock);
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
