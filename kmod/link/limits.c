// SPDX-License-Identifier: GPL-2.0
#include "limits.h"
#include <linux/kernel.h>
#include <rdma/ib_verbs.h>
#include "base/chunk.h"
#include "base/inject.h"
#include "dma.h"
#include "mr.h"
#include "proto/wire.h"

/*
 * Work requests beside frames and one-sided requests: one batch of RCHAR_MRS_MANY, one of
 * RCHAR_MRS_ONE, the drain, and the registration before the last frame that has room.
 */
#define EXTRA_WR (RCHAR_MR_BATCH + 3)
/* Those before a READ that registers its sink. */
#define SINK_WR	 2
/* With fewer frames and one-sided requests a lane is not worth having; no adapter is known. */
#define WR_MIN	 23

/* What the device says, or what a test says for the device. */
static u32 said(int value, enum rchar_limit limit)
{
	return min_t(u32, max(value, 0), rchar_inject_limit(limit));
}

/*
 * READs that need a key of their sink, and register it. A device that cannot, or whose send queue
 * has no room for the registrations, never READs.
 */
static void fit_sinks(struct rchar_limits *l, u32 wr)
{
	l->sink_pages = min_t(u32, l->reg_pages, RCHAR_SINK_PAGES);
	l->sinks = min_t(u32, l->reads_out, (wr - EXTRA_WR - WR_MIN) / SINK_WR);
	l->reads = l->sink_pages > 1 && l->sinks;
	if (!l->reads)
		l->sinks = 0;
}

/* Divide the send queue; half of the completion queue is for each queue. */
static void share_queues(struct rchar_limits *l, u32 wr, u16 depth)
{
	u32 most = depth + RCHAR_LANE_ONESIDED;
	u32 left = min(wr - EXTRA_WR - SINK_WR * l->sinks, most);

	l->onesided = left * RCHAR_LANE_ONESIDED / most;
	l->frames = left - l->onesided;
	l->depth = min_t(u32, depth, wr - 1);
}

/*
 * A host announces one frame size: what it can receive, and what it can send. A frame is a header
 * and chunks, each with an SGE. With one SGE to send, a frame is one that follows its header. With
 * one SGE to receive, header and payload arrive in one chunk.
 */
static void fit_frames(struct rchar_limits *l, u32 send_sge, u32 recv_sge)
{
	u32 chunks = min3(send_sge - 1, max(recv_sge, 2u) - 1, (u32)RCHAR_FRAME_CHUNKS);

	l->joined = recv_sge == 1;
	l->frame_size = send_sge == 1 ? RCHAR_TXBUF_INLINE : chunks * RCHAR_CHUNK_SIZE;
	if (l->joined)
		l->frame_size = min_t(
			u32, l->frame_size,
			round_down(RCHAR_CHUNK_SIZE - sizeof(struct rchar_wire_sealed_hdr), SZ_1K));
	l->chunks = max(chunks, 1u);
	l->write_sge = min_t(u32, send_sge, RCHAR_ONESIDED_SGE);
	l->send_sge = max_t(u32, l->write_sge, 1 + chunks);
	BUILD_BUG_ON(RCHAR_TXBUF_INLINE < RCHAR_WIRE_FRAME_MIN);
}

/*
 * Registrations have pages of PAGE_SIZE. irdma takes a size that it does not have for 4 KiB
 * (irdma_sc_mr_fast_register()). ocrdma computes with the first I/O virtual address, which
 * rchar_mr_map() replaces.
 */
static bool may_register(const struct ib_device *dev)
{
	return dev->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS &&
	       dev->attrs.page_size_cap & PAGE_SIZE && dev->ops.driver_id != RDMA_DRIVER_OCRDMA;
}

/* hns with fast registration (hip09) knows no IB_WR_LOCAL_INV: set_rc_opcode() of the driver. */
static bool may_invalidate(const struct ib_device *dev)
{
	return dev->ops.driver_id != RDMA_DRIVER_HNS && rchar_inject_limit(RCHAR_LIMIT_LOCAL_INV);
}

static void fit_registrations(struct rchar_limits *l, const struct ib_device *dev)
{
	const struct ib_device_attr *attrs = &dev->attrs;

	if (may_register(dev))
		l->reg_pages = said(min_t(u32, attrs->max_fast_reg_page_list_len, INT_MAX),
				    RCHAR_LIMIT_REG_PAGES);
	l->mrs = said(attrs->max_mr, RCHAR_LIMIT_MR);
	if (!l->mrs)
		l->reg_pages = 0;
	if (may_invalidate(dev))
		l->rndv_pages = min_t(u32, l->reg_pages, RCHAR_MR_PAGES);
}

/*
 * mlx5 executes atomic operations, but refuses to request them for kernels (handle_qpt_rc() in
 * mlx5/wr.c).
 */
static void fit_atomics(struct rchar_limits *l, const struct ib_device *dev)
{
	u32 cap = said(dev->attrs.atomic_cap, RCHAR_LIMIT_ATOMIC_CAP);

	l->atomics = cap != IB_ATOMIC_NONE && !l->iwarp;
	l->atomics_out = l->atomics && dev->ops.driver_id != RDMA_DRIVER_MLX5 &&
			 rchar_inject_limit(RCHAR_LIMIT_POST_ATOMIC);
	l->executor = dev->attrs.atomic_cap == IB_ATOMIC_GLOB ? U32_MAX : dev->index + 1;
}

static int too_low(struct ib_device *dev, const char *attribute, u32 value, u32 least)
{
	pr_warn_ratelimited("%s: no connection: %s is %u, and at least %u is needed\n",
			    dev_name(&dev->dev), attribute, value, least);
	return -EOPNOTSUPP;
}

/**
 * rchar_limits_get() - derive the limits of a lane from the attributes of its device
 * @limits: set
 * @dev: the device
 * @port: port of the device
 * @depth: the most receive buffers, and frames in the send queue, that the lane may have
 *
 * Context: process.
 * Return: 0; -ENOMEM; -EOPNOTSUPP when the device cannot carry a lane. The log names the attribute
 * then.
 */
int rchar_limits_get(struct rchar_limits *limits, struct ib_device *dev, u32 port, u16 depth)
{
	const struct ib_device_attr *attrs = &dev->attrs;
	u32 send_sge = said(attrs->max_send_sge, RCHAR_LIMIT_SEND_SGE);
	u32 recv_sge = said(attrs->max_recv_sge, RCHAR_LIMIT_RECV_SGE);
	u32 wr = said(attrs->max_qp_wr, RCHAR_LIMIT_QP_WR);
	u32 cqe = said(attrs->max_cqe, RCHAR_LIMIT_CQE);
	int ret;

	memset(limits, 0, sizeof(*limits));
	if (!send_sge)
		return too_low(dev, "max_send_sge", 0, 1);
	if (!recv_sge)
		return too_low(dev, "max_recv_sge", 0, 1);
	if (wr < EXTRA_WR + WR_MIN)
		return too_low(dev, "max_qp_wr", wr, EXTRA_WR + WR_MIN);
	if (cqe / 2 < EXTRA_WR + WR_MIN)
		return too_low(dev, "max_cqe", cqe, 2 * (EXTRA_WR + WR_MIN));
	wr = min(wr, cqe / 2);
	fit_frames(limits, send_sge, recv_sge);
	limits->read_sge = clamp_t(u32, said(attrs->max_sge_rd, RCHAR_LIMIT_SGE_RD), 1,
				   limits->write_sge);
	limits->reads_in = min_t(u32, said(attrs->max_qp_rd_atom, RCHAR_LIMIT_QP_RD_ATOM),
				 RCHAR_LANE_RD_ATOMIC);
	limits->reads_out = min_t(u32,
				  said(attrs->max_qp_init_rd_atom, RCHAR_LIMIT_QP_INIT_RD_ATOM),
				  RCHAR_LANE_RD_ATOMIC);
	fit_registrations(limits, dev);
	limits->iwarp = rdma_protocol_iwarp(dev, port);
	limits->reads = !limits->iwarp && rchar_inject_limit(RCHAR_LIMIT_KEYLESS_READS);
	if (!limits->reads)
		fit_sinks(limits, wr);
	share_queues(limits, wr, depth);
	/* The pool counts with &ib_cq.cqe, which ocrdma_create_cq() does not set. */
	limits->own_cq = dev->ops.driver_id == RDMA_DRIVER_OCRDMA;
	fit_atomics(limits, dev);
	ret = rchar_dma_probe(dev, &limits->direct_dma);
	if (!ret && !limits->direct_dma)
		pr_info_ratelimited(
			"%s: accesses copies of memory (swiotlb), or not what caches have: peers get no keys of regions\n",
			dev_name(&dev->dev));
	return ret;
}

/**
 * rchar_limits_send_wr() - get the number of work requests that the send queue must hold
 * @limits: the limits
 *
 * Return: work requests, with that of the drain.
 */
u32 rchar_limits_send_wr(const struct rchar_limits *limits)
{
	return limits->frames + limits->onesided + EXTRA_WR + SINK_WR * limits->sinks;
}
