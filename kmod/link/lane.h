/* SPDX-License-Identifier: GPL-2.0 */
/* One RC queue pair: its verbs objects, its credits, its life and its death. */
#ifndef RCHAR_LANE_H
#define RCHAR_LANE_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/rdma_cm.h>
#include "ibdev.h"
#include "mr.h"
#include "proto/credit.h"
#include "proto/privdata.h"
#include "proto/state.h"
#include "rxbuf.h"
#include "sq.h"
#include "txbuf.h"

struct rchar_flow;
struct rchar_io;
struct rchar_lane;
struct rchar_link;

/* Receive buffers of a lane: 2 MiB with 64 KiB frames. */
#define RCHAR_LANE_DEPTH	32
/* Work requests in the send queue, the drain's own not counted. */
#define RCHAR_LANE_SQ		128
/* RDMA READs in flight each way that we ask for. */
#define RCHAR_LANE_RD_ATOMIC	16
/* Frames of a lane's own that may be in the send queue at once. */
#define RCHAR_LANE_CONTROLS	8
/* One-sided work requests that may be in the send queue at once. */
#define RCHAR_LANE_ONESIDED		64
/* Pieces of local memory of one of them; a device may allow fewer. */
#define RCHAR_ONESIDED_SGE		8
/* From the first resolve, or the accept, to UP. */
#define RCHAR_LANE_TIMEOUT_MS	5000

/**
 * struct rchar_lane_ops - what a lane tells those whose connection it is
 * @receive_done: a receive completed: &rchar_rxbuf.cqe of the lane's buffers
 * @send_done: a frame completed: &rchar_txbuf.cqe
 * @reposted: a receive buffer found its memory late, and is posted again
 * @introduce: fill in &rchar_lane.self, what the peer is told. With the handler lock of the
 *	       cm_id.
 * @established: initiator: the reply came, and is in &rchar_lane.peer. CM event handler.
 * @connect: initiator: the route is resolved. Process context of the lane's own.
 * @adopt: acceptor: rchar_lane_adopt() was called
 * @detach: the lane fails: nothing is posted any more
 * @drained: the send queue is empty; one-sided work requests that did not come back go
 * @gone: the queue pair is destroyed; the CM may take longer
 * @release: a lane of that link is freed, and with it its reference
 *
 * Context: @receive_done and @send_done that of a completion queue, @release any but hard
 * interrupt, the others process.
 */
struct rchar_lane_ops {
	void (*receive_done)(struct ib_cq *cq, struct ib_wc *wc);
	void (*send_done)(struct ib_cq *cq, struct ib_wc *wc);
	void (*reposted)(struct rchar_lane *lane, bool posted);
	void (*introduce)(struct rchar_lane *lane);
	void (*established)(struct rchar_lane *lane);
	void (*connect)(struct rchar_lane *lane);
	void (*adopt)(struct rchar_lane *lane);
	void (*detach)(struct rchar_lane *lane);
	void (*drained)(struct rchar_lane *lane);
	void (*gone)(struct rchar_lane *lane);
	void (*release)(struct rchar_link *link);
};

/**
 * struct rchar_lane_tx - frames; &rchar_sq.lock of @rchar_lane.sq
 * @credit: credits of both directions
 * @posted: frames in the send queue, oldest first
 * @used: frames in the send queue
 * @wanted: set of BIT(op) control frames to be sent
 * @first: first of the chain being built for ib_post_send()
 * @last: last of it
 * @controls: frames for CREDIT, PING, PONG, HELLO, READY: never allocated late
 */
struct rchar_lane_tx {
	struct rchar_credit credit;
	struct list_head posted;
	u16 used;
	u32 wanted;
	struct rchar_txbuf *first;
	struct rchar_txbuf *last;
	struct rchar_txbuf *controls[RCHAR_LANE_CONTROLS];
};

/**
 * struct rchar_onesided_wr - one work request of a lane; &rchar_sq.lock
 * @entry: of rchar_lane_onesided.idle
 * @cqe: tells of its completion
 * @io: what it is part of; NULL while idle
 * @nr: length of @sge
 * @sge: mapped local memory
 * @rdma: the request
 * @atomic: the request
 */
struct rchar_onesided_wr {
	struct list_head entry;
	struct ib_cqe cqe;
	struct rchar_io *io;
	int nr;
	struct ib_sge sge[RCHAR_ONESIDED_SGE];
	union {
		struct ib_rdma_wr rdma;
		struct ib_atomic_wr atomic;
	};
};

/**
 * struct rchar_lane_onesided - what a lane has for them; &rchar_sq.lock
 * @slots: RCHAR_LANE_ONESIDED of them
 * @idle: those not in the send queue
 * @used: those in the send queue
 * @reads: of these, READs
 * @reads_max: so many the peer answers at once
 */
struct rchar_lane_onesided {
	struct rchar_onesided_wr *slots;
	struct list_head idle;
	unsigned int used;
	unsigned int reads;
	unsigned int reads_max;
};

/**
 * struct rchar_lane - one connection
 * @ref: one each for the link's slot, or its list of lanes being accepted, and for the cm_id
 * @ops: who is told of its life
 * @link: whose lane it is; for @ops
 * @flow: what of @link it carries; for @ops
 * @index: which lane of the link
 * @initiator: this side called
 * @lock: protects @state and @reason
 * @state: see rchar_lane_move_legal()
 * @reason: of the first failure
 * @cm_id: owned; set before any event can come
 * @ibdev: set while attached to a device
 * @ibdev_user: for @ibdev
 * @pd: one for each lane: a peer can never use a key of another
 * @device: name of the device
 * @port: of the device
 * @qpn: number of the queue pair
 * @cq: both queues complete here, so acks and completions keep their order
 * @self: what we told the peer
 * @peer: what the peer told us
 * @sq: the send queue
 * @tx: frames in it, and those to come
 * @onesided: one-sided work requests
 * @atomics: the device executes atomic operations
 * @rdma_sge: pieces of local memory in a WRITE
 * @rdma_sge_rd: in a READ
 * @mrs: what is registered here, by enum rchar_mrs_kind
 * @rx_lock: protects @rx_open, @refill and posting of receives
 * @rx_open: receives may be posted
 * @refill: buffers that wait for memory
 * @rxbufs: RCHAR_LANE_DEPTH of them
 * @hdrs: their header slots, one DMA mapping
 * @hdrs_dma: its address
 * @signal_all: iWARP: see rchar_lane_tx_stage()
 * @frame_size: payload bytes of a receive buffer
 * @last_rx: jiffies when something last arrived
 * @up_at: jiffies when it came up
 * @accepting_entry: of rchar_link.accepting, until it is in a slot; link lock
 * @continues: acceptor: the reply said that the link goes on where the last lane left
 * @adopt_work: acceptor: HELLO came, so the lane may take its slot
 * @started: whoever connects or accepts is done with it: teardown waits for that
 * @teardown: the only way to die
 * @connect_work: initiator: from the resolved route to the request
 * @refill_work: gets memory for @refill
 * @break_work: RCHAR_FAULT_QP
 * @notify_work: tells the CM that a frame came, but no RTU
 * @notified: it was told, and took it
 * @cm_connected: it has raised an event that says so, or that it is over
 * @timer: bounds the way to UP
 */
struct rchar_lane {
	struct kref ref;
	const struct rchar_lane_ops *ops;
	struct rchar_link *link;
	struct rchar_flow *flow;
	u8 index;
	bool initiator;
	spinlock_t lock;
	enum rchar_lane_state state;
	enum rchar_reason reason;
	struct rdma_cm_id *cm_id;
	struct rchar_ibdev *ibdev;
	struct rchar_ibdev_user ibdev_user;
	struct ib_pd *pd;
	struct ib_cq *cq;
	char device[IB_DEVICE_NAME_MAX];
	u32 port;
	u32 qpn;
	struct rchar_privdata self;
	struct rchar_privdata peer;
	struct rchar_sq sq;
	struct rchar_lane_tx tx;
	struct rchar_lane_onesided onesided;
	bool atomics;
	int rdma_sge;
	int rdma_sge_rd;
	struct rchar_mrs mrs[RCHAR_MRS_KINDS];
	spinlock_t rx_lock;
	bool rx_open;
	struct list_head refill;
	struct rchar_rxbuf *rxbufs;
	struct rchar_wire_hdr *hdrs;
	u64 hdrs_dma;
	bool signal_all;
	u32 frame_size;
	unsigned long last_rx;
	unsigned long up_at;
	struct list_head accepting_entry;
	bool continues;
	struct work_struct adopt_work;
	struct completion started;
	struct work_struct teardown;
	struct work_struct connect_work;
	struct work_struct refill_work;
	struct work_struct break_work;
	struct delayed_work notify_work;
	bool notified;
	struct completion cm_connected;
	struct delayed_work timer;
};

struct rchar_lane *rchar_lane_create(struct rchar_link *link, struct rchar_flow *flow,
				     spinlock_t *flow_lock, u8 index, bool initiator);
void rchar_lane_put(struct rchar_lane *lane);
void rchar_lane_start(struct rchar_lane *lane);
void rchar_lane_connect(struct rchar_lane *lane);
bool rchar_lane_move(struct rchar_lane *lane, enum rchar_lane_state to);
void rchar_lane_fail(struct rchar_lane *lane, enum rchar_reason reason);
int rchar_lane_setup(struct rchar_lane *lane);
bool rchar_lane_repost(struct rchar_lane *lane, struct rchar_rxbuf *rxb);
void rchar_lane_notify_cm(struct rchar_lane *lane);

/* For flow.c, all but the put under the flow's lock. */
bool rchar_lane_tx_room(struct rchar_lane *lane);
struct rchar_txbuf *rchar_lane_tx_control(struct rchar_lane *lane);
void rchar_lane_tx_stage(struct rchar_lane *lane, struct rchar_txbuf *txb, u32 ack);
void rchar_lane_tx_post(struct rchar_lane *lane);
void rchar_lane_tx_reap(struct rchar_lane *lane, struct rchar_txbuf *upto,
			struct list_head *reaped);
void rchar_lane_tx_put(struct list_head *reaped);

unsigned int rchar_lane_tx_stuck_ms(struct rchar_lane *lane);

int rchar_lane_init(const struct rchar_lane_ops *ops);
void rchar_lane_exit(void);

#endif /* RCHAR_LANE_H */
