// SPDX-License-Identifier: GPL-2.0
/*
 * Calls of importers, which this kernel executes. A sequenced frame is processed once, so a CALL is
 * executed once. The answer is allocated before the execution: after a failed allocation the peer
 * sends the CALL again.
 */
#include "export.h"
#include "link/link.h"
#include "link/rxbuf.h"
#include "region.h"
#include "session/channel.h"
#include "session/session_priv.h"

/* A small answer: the peer's account pays until the peer has acknowledged it. */
static struct rchar_txbuf *small_answer(struct rchar_session *s, u32 len)
{
	return rchar_txbuf_alloc_reply(RCHAR_OP_RESULT, sizeof(struct rchar_wire_result) + len,
				       s->link->account);
}

/**
 * rchar_export_answer_alloc() - allocate a RESULT for READ
 * @len: bytes of the region that must fit
 * @gfp: how to allocate
 *
 * Return: the frame, or NULL.
 */
struct rchar_txbuf *rchar_export_answer_alloc(u32 len, gfp_t gfp)
{
	return rchar_txbuf_alloc(RCHAR_OP_RESULT, sizeof(struct rchar_wire_result) + len, gfp);
}

/*
 * An answer with @len bytes. For large ones the peer's account has paid when the session began: as
 * many as a well-behaved importer can have under way. Returns -ENOBUFS when the peer asks for more.
 */
static int read_answer(struct rchar_session *s, u32 len, struct rchar_txbuf **txb)
{
	struct rchar_export *export = rchar_session_priv(s);

	if (sizeof(struct rchar_wire_result) + len <= RCHAR_TXBUF_INLINE) {
		*txb = small_answer(s, len);
		return *txb ? 0 : -ENOBUFS;
	}
	if (s->tx.memory - s->tx.maps_memory + len + RCHAR_TXBUF_COST > RCHAR_EXPORT_REPLIES_MAX)
		return -ENOBUFS;
	*txb = rchar_export_answer_alloc(len, GFP_ATOMIC | __GFP_NOWARN);
	if (*txb)
		return 0;
	*txb = export->spare;
	WRITE_ONCE(export->spare, NULL);
	rchar_export_update(s);
	if (!*txb)
		return -ENOMEM;
	if (WARN_ON_ONCE(rchar_txbuf_room(*txb) < sizeof(struct rchar_wire_result) + len)) {
		rchar_txbuf_put(*txb);
		return -ENOMEM;
	}
	return 0;
}

static void answer(struct rchar_session *s, struct rchar_txbuf *txb)
{
	LIST_HEAD(frames);

	list_add(&txb->queue, &frames);
	rchar_session_queue_locked(s, &frames);
}

static u32 check_range(const struct rchar_region *region, const struct rchar_wire_call *call)
{
	u64 offset = le64_to_cpu(call->offset), len = le64_to_cpu(call->operand);

	if (len > region->size || offset > region->size - len)
		return RCHAR_CALL_RANGE;
	if (call->call == RCHAR_CALL_WRITE && region->access != RCHAR_ACCESS_RW)
		return RCHAR_CALL_READ_ONLY;
	return RCHAR_CALL_OK;
}

/* The bytes of a region from @at on; reduces *@len to those that are contiguous. */
static void *region_bytes(const struct rchar_region *region, u64 at, u32 *len)
{
	*len = min_t(u32, *len, PAGE_SIZE - offset_in_page(at));
	return page_address(region->pages[at >> PAGE_SHIFT]) + offset_in_page(at);
}

static int call_read(struct rchar_session *s, const struct rchar_region *region,
		     const struct rchar_wire_call *call)
{
	u32 status = check_range(region, call), len = status ? 0 : le64_to_cpu(call->operand), n;
	const struct rchar_wire_result result = { .id = call->id, .status = cpu_to_le32(status) };
	u64 at = le64_to_cpu(call->offset);
	struct rchar_txbuf *txb;
	int ret = read_answer(s, len, &txb);

	if (ret)
		return ret;
	rchar_txbuf_append(txb, &result, sizeof(result));
	for (; len; len -= n, at += n) {
		const void *from;

		n = len;
		from = region_bytes(region, at, &n);
		rchar_txbuf_append(txb, from, n);
	}
	answer(s, txb);
	return 0;
}

static int call_write(struct rchar_session *s, const struct rchar_region *region,
		      const struct rchar_wire_call *call, struct rchar_rxbuf *rxb)
{
	u32 status = check_range(region, call), len = status ? 0 : le64_to_cpu(call->operand), n;
	const struct rchar_wire_result result = { .id = call->id, .status = cpu_to_le32(status) };
	struct rchar_txbuf *txb = small_answer(s, 0);
	u64 at = le64_to_cpu(call->offset);
	u32 from = sizeof(*call);

	if (!txb)
		return -ENOBUFS;
	for (; len; len -= n, at += n, from += n) {
		void *to;

		n = len;
		to = region_bytes(region, at, &n);
		rchar_rxbuf_copy_at(rxb, from, to, n);
	}
	rchar_txbuf_append(txb, &result, sizeof(result));
	answer(s, txb);
	return 0;
}

static int call_other(struct rchar_session *s, struct rchar_region *region,
		      const struct rchar_wire_call *call)
{
	struct rchar_txbuf *txb = small_answer(s, 0);
	struct rchar_wire_result result;
	u64 old;

	if (!txb)
		return -ENOBUFS;
	result.id = call->id;
	result.status = cpu_to_le32(rchar_region_call(region, call, true, &old));
	result.old = cpu_to_le64(old);
	rchar_txbuf_append(txb, &result, sizeof(result));
	answer(s, txb);
	rchar_stats_inc(&s->channel->stats.calls);
	return 0;
}

/* The payload of READ and WRITE: bytes that fit in one frame, and with WRITE the bytes. */
static bool moves_well(struct rchar_session *s, const struct rchar_hdr *hdr,
		       const struct rchar_wire_call *call)
{
	const struct rchar_export *export = rchar_session_priv(s);
	u64 len = le64_to_cpu(call->operand);

	if (!len || len > RCHAR_WIRE_PIECE_MAX)
		return false;
	if (call->call == RCHAR_CALL_WRITE)
		return export->by_call & RCHAR_BY_CALL_WRITE && hdr->len == sizeof(*call) + len;
	return export->by_call & RCHAR_BY_CALL_READ && hdr->len == sizeof(*call) &&
	       len + sizeof(struct rchar_wire_result) <= rchar_session_frame_max(s);
}

/**
 * rchar_export_call() - execute a CALL, and queue the answer
 * @s: the session; its lock is held
 * @hdr: header of the frame
 * @rxb: the payload
 * @err: set when the frame violates the protocol
 *
 * Return: 0; -ENOMEM or -ENOBUFS to receive the frame again after a reconnect.
 */
int rchar_export_call(struct rchar_session *s, const struct rchar_hdr *hdr, struct rchar_rxbuf *rxb,
		      enum rchar_frame_error *err)
{
	struct rchar_export *export = rchar_session_priv(s);
	struct rchar_wire_call call;
	bool moves, good;

	rchar_rxbuf_copy(rxb, &call, sizeof(call));
	moves = call.call == RCHAR_CALL_READ || call.call == RCHAR_CALL_WRITE;
	good = moves ? moves_well(s, hdr, &call) :
		       call.call && call.call < __RCHAR_CALL_MAX && hdr->len == sizeof(call);
	if (!good) {
		*err = RCHAR_FRAME_BAD_PAYLOAD;
		return 0;
	}
	/* Bound the answers for a peer that keeps calling and does not acknowledge answers. */
	if (rchar_session_too_many_replies(s->flow))
		return -ENOBUFS;
	if (call.call == RCHAR_CALL_READ)
		return call_read(s, export->region, &call);
	if (call.call == RCHAR_CALL_WRITE)
		return call_write(s, export->region, &call, rxb);
	return call_other(s, export->region, &call);
}
