/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The limits of a lane, derived from what its device says about itself. No other file decides by
 * struct ib_device_attr. (mr.c asks for room for one page more, where the device has it.)
 */
#ifndef RCHAR_LIMITS_H
#define RCHAR_LIMITS_H

#include <linux/sizes.h>
#include <linux/types.h>

struct ib_device;

/* Receive buffers of an idle lane, which are small: 32 KiB. */
#define RCHAR_LANE_IDLE	     8
/* RDMA READs in flight that this host requests for each direction. */
#define RCHAR_LANE_RD_ATOMIC 16
/* One-sided work requests that may be in the send queue at once: all READs, and some WRITEs. */
#define RCHAR_LANE_ONESIDED  20
/* Most pages of a registered sink: what a READ may fetch in its turn, at any alignment. */
#define RCHAR_SINK_PAGES     (SZ_256K / PAGE_SIZE + 1)
/* SGEs of local memory in one one-sided work request. */
#define RCHAR_ONESIDED_SGE   8

/**
 * struct rchar_limits - limits of a lane; each is the module's own, or a lower one of the device
 * @frame_size: payload bytes of a frame in either direction
 * @chunks: chunks of a receive buffer
 * @joined: one SGE receives header and payload: the device allows no second one
 * @depth: the most receive buffers
 * @frames: work requests for frames in the send queue; a frame that announces memory has two
 * @onesided: one-sided work requests in the send queue
 * @send_sge: SGEs that any work request in the send queue may have
 * @write_sge: SGEs of local memory in a WRITE
 * @read_sge: SGEs of local memory in a READ
 * @reads_in: READs and atomic operations of the peer that the device executes at once
 * @reads_out: READs and atomic operations for the peer that the device has in flight at once
 * @reg_pages: pages of a memory region that a work request registers; 0: the device cannot
 * @rndv_pages: pages of a memory region that a large write announces; 0: large writes are copied.
 *		Such regions are invalidated, and registered again
 * @mrs: memory regions of the device, shared by all that use it
 * @direct_dma: the device accesses memory itself, and the CPU sees it at once: only then may a peer
 *		have keys of memory that programs use meanwhile
 * @atomics: the device executes atomic operations of peers
 * @atomics_out: this host can request atomic operations of peers
 * @executor: those of two devices are atomic with each other if both have the same number, which is
 *	      not 0: those of one device, or of all that are atomic with everything (IB_ATOMIC_GLOB)
 * @own_cq: the core's pool of completion queues cannot be used
 * @iwarp: the transport is iWARP
 * @reads: the lane can READ
 * @sinks: READs that the device has in flight at once with a registered sink, see link/sink.h;
 *	   0: a READ may write to memory without a registered key
 * @sink_pages: pages of a sink
 */
struct rchar_limits {
	u32 frame_size;
	u8 chunks;
	bool joined;
	u16 depth;
	u16 frames;
	u16 onesided;
	u8 send_sge;
	u8 write_sge;
	u8 read_sge;
	u8 reads_in;
	u8 reads_out;
	u32 reg_pages;
	u32 rndv_pages;
	u32 mrs;
	bool direct_dma;
	bool atomics;
	bool atomics_out;
	u32 executor;
	bool own_cq;
	bool iwarp;
	bool reads;
	u8 sinks;
	u32 sink_pages;
};

int rchar_limits_get(struct rchar_limits *limits, struct ib_device *dev, u32 port, u16 depth);
u32 rchar_limits_send_wr(const struct rchar_limits *limits);

#endif /* RCHAR_LIMITS_H */
