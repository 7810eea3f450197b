/* SPDX-License-Identifier: GPL-2.0 */
/* A lane: one RC queue pair with its verbs objects, its credits and its life cycle. */
#ifndef RCHAR_LANE_H
#define RCHAR_LANE_H

#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/rdma_cm.h>
#include "ibdev.h"
#include "inflight.h"
#include "limits.h"
#include "mr.h"
#include "proto/auth.h"
#include "proto/credit.h"
#include "proto/privdata.h"
#include "proto/seal.h"
#include "proto/state.h"
#include "rxbuf.h"
#include "sink.h"
#include "sq.h"
#include "txbuf.h"

struct rchar_flow;
struct rchar_io;
struct rchar_lane;
struct rchar_link;
struct rchar_sealbuf;

/* Control frames of a lane; each may be in the send queue. */
#define RCHAR_LANE_CONTROLS   8
/* Time limit from rchar_lane_start() until the lane is UP. */
#define RCHAR_LANE_TIMEOUT_MS 5000

/**
 * struct rchar_lane_ops - events of a lane, for the link and the flow that use the lane
 * @receive_done: a receive completed: &rchar_rxbuf.cqe of the lane's buffers
 * @send_done: a frame completed: &rchar_txbuf.cqe
 * @reposted: a receive buffer may have been posted for which rchar_lane_repost() found no memory
 * @introduce: fill in &rchar_lane.self, the private data for the peer
 * @seal: encrypted lane: &rchar_lane_tx.seal_work runs, because a large frame waits
 * @retry: &rchar_lane_tx.retry_work runs: DMA mappings were exhausted, and may be back
 * @sinks_ready: a READ that waits for a sink may be posted
 * @established: initiator: the reply arrived, and &rchar_lane.peer holds it. CM event handler.
 * @connect: initiator: the route is resolved; acceptor: the request is not refused. Runs in
 *	     &rchar_lane.connect_work.
 * @adopt: acceptor: &rchar_lane.adopt_work runs, because HELLO arrived or the slots are empty
 * @detach: the lane has failed: post nothing on the lane from now on. Teardown calls this twice.
 * @drained: the send queue is empty: end one-sided work requests that did not complete
 * @gone: the queue pair is destroyed; destroying the cm_id may take longer
 * @release: a lane of this link is freed: drop the lane's reference to the link
 *
 * Context: @receive_done and @send_done run in the context of a completion queue. @release runs
 * in any context but hard interrupt. All others run in process context.
 */
struct rchar_lane_ops {
	void (*receive_done)(struct ib_cq *cq, struct ib_wc *wc);
	void (*send_done)(struct ib_cq *cq, struct ib_wc *wc);
	void (*reposted)(struct rchar_lane *lane);
	void (*introduce)(struct rchar_lane *lane);
	void (*seal)(struct rchar_lane *lane);
	void (*retry)(struct rchar_lane *lane);
	void (*sinks_ready)(struct rchar_lane *lane);
	void (*established)(struct rchar_lane *lane);
	void (*connect)(struct rchar_lane *lane);
	void (*adopt)(struct rchar_lane *lane);
	void (*detach)(struct rchar_lane *lane);
	void (*drained)(struct rchar_lane *lane);
	void (*gone)(struct rchar_lane *lane);
	void (*release)(struct rchar_link *link);
};

/**
 * struct rchar_lane_tx - the sending side of a lane; &rchar_sq.lock of @rchar_lane.sq
 * @credit: credits of both directions
 * @posted: frames in the send queue, oldest first
 * @used: work requests for frames in the send queue
 * @inflight: bytes in the send queue. While there are enough, frames with a sequence number wait in
 *	      their flow, where a frame of another sender may still overtake them.
 * @yields: small messages probably follow the large frames of others, so the send queue gets no
 *	    more bytes than keep the path busy, or 128 KiB. Ends with the first completion after
 *	    @yield_until, not by itself: two looks at the send queue find the same.
 * @yield_until: get_jiffies_64()
 * @ping_late: the last PING followed one-sided requests, so its answer says nothing of the path
 * @unsignaled: bytes of the frames staged since the last signaled one
 * @wanted: set of BIT(op): control frames to send
 * @first: first work request of the chain being built for ib_post_send()
 * @last: last frame of that chain
 * @controls: frames for CREDIT, PING, PONG, HELLO and READY, allocated together with the lane
 * @spare: encrypted lane: memory to seal the next small frame, or NULL
 * @sealing: encrypted lane: @seal_work seals the last frame of @posted, without the lock. No other
 *	     frame may be staged meanwhile.
 * @unmapped: the last frame of @posted, for which there was no DMA mapping: it is staged when there
 *	      is one. No other frame may be staged before.
 * @want: what is staged next tells the peer that more or larger buffers would be used
 * @trim: large buffers that the peer wants back and has not got back yet
 * @pads: CREDITs that have used up small buffers since the peer last granted a large one
 * @seal_wanted: encrypted lane: @seal_work is queued or runs, and has frames to look for
 * @seal_work: encrypted lane: seals frames that may not be sealed with the lock held
 * @retry_work: posts what found no DMA mapping
 */
struct rchar_lane_tx {
	struct rchar_credit credit;
	struct list_head posted;
	u16 used;
	struct rchar_inflight inflight;
	bool yields;
	u64 yield_until;
	bool ping_late;
	u32 unsignaled;
	u32 wanted;
	struct ib_send_wr *first;
	struct rchar_txbuf *last;
	struct rchar_txbuf *controls[RCHAR_LANE_CONTROLS];
	struct rchar_sealbuf *spare;
	bool sealing;
	struct rchar_txbuf *unmapped;
	bool want;
	u16 trim;
	u16 pads;
	bool seal_wanted;
	struct work_struct seal_work;
	struct delayed_work retry_work;
};

/**
 * struct rchar_lane_rx - receive buffers of a lane; &rchar_lane.rx_lock
 * @posted: buffers in the receive queue: [0] small ones, [1] large ones
 * @nr: buffers in use: posted, or waiting for memory
 * @most: limit of @nr at present
 * @large: what is posted next is large. Changes only while all that is posted has one size.
 * @fresh: buffers that were posted and that the flow has not been told of
 * @idle: buffers that are not in use; they have no memory
 * @frames: frames about sessions since rchar_lane_rx_trim() last looked
 * @used_at: jiffies when the peer last had use for large buffers
 */
struct rchar_lane_rx {
	u16 posted[2];
	u16 nr;
	u16 most;
	bool large;
	struct rchar_credits fresh;
	struct list_head idle;
	unsigned int frames;
	unsigned long used_at;
};

/**
 * struct rchar_onesided_wr - one work request of a one-sided operation; &rchar_sq.lock
 * @entry: entry of rchar_lane_onesided.idle or rchar_lane_onesided.busy
 * @cqe: completion
 * @io: the operation that the request belongs to; NULL while idle
 * @sink: the memory region of @sge, if the READ registers one; otherwise NULL
 * @bytes: bytes of the request while it is in the send queue
 * @nr: number of mapped entries of @sge; 0 with @sink
 * @sge: mapped local memory
 * @rdma: the request, for a READ or WRITE
 * @atomic: the request, for an atomic operation
 */
struct rchar_onesided_wr {
	struct list_head entry;
	struct ib_cqe cqe;
	struct rchar_io *io;
	struct rchar_sink *sink;
	u32 bytes;
	int nr;
	struct ib_sge sge[RCHAR_ONESIDED_SGE];
	union {
		struct ib_rdma_wr rdma;
		struct ib_atomic_wr atomic;
	};
};

/**
 * struct rchar_lane_onesided - one-sided work requests of a lane; &rchar_sq.lock
 * @idle: work requests that are not in the send queue. One is allocated together with the lane,
 *	  others when they are needed and there is memory.
 * @busy: work requests in the send queue
 * @used: length of @busy
 * @reads: how many of @used are READs or atomic operations
 * @reads_moved_at: jiffies when @reads was zero last, or one of them completed
 * @reads_max: limit of @reads: how many the peer answers at once
 * @inflight: bytes of @busy: [0] READs and atomic operations, [1] WRITEs
 * @yield_until: get_jiffies_64(): until then, frames of programs probably follow requests, so @busy
 *		 gets no more bytes than @inflight finds enough
 * @unmapped: the last request found no DMA mapping
 * @unmapped_at: jiffies of the first of those requests
 * @tried_at: jiffies of the last of them
 * @sinks: memory regions for READs, where those need one
 */
struct rchar_lane_onesided {
	struct list_head idle;
	struct list_head busy;
	unsigned int used;
	unsigned int reads;
	unsigned long reads_moved_at;
	unsigned int reads_max;
	struct rchar_inflight inflight[2];
	u64 yield_until;
	bool unmapped;
	unsigned long unmapped_at;
	unsigned long tried_at;
	struct rchar_sinks sinks;
};

/**
 * struct rchar_lane_auth - what authenticates a connection
 * @transcript: the private data of both sides as sent, their addresses and QPNs
 * @hello: MAC that HELLO must carry; zero without a key
 * @ready: MAC that READY must carry; zero without a key
 *
 * The initiator fills in its half before the request, the acceptor all before the reply, the
 * initiator the rest when the reply arrives. Nothing changes after that.
 */
struct rchar_lane_auth {
	struct rchar_auth_transcript transcript;
	u8 hello[RCHAR_WIRE_MAC_LEN];
	u8 ready[RCHAR_WIRE_MAC_LEN];
};

/**
 * struct rchar_lane - one connection
 * @ref: one each for the cm_id, and for the link's slot or list of lanes being accepted
 * @ops: callbacks for events of the lane
 * @link: the link that the lane belongs to; for @ops
 * @flow: the flow of @link that the lane carries; for @ops
 * @index: index of the lane in its link
 * @initiator: this host sent the connection request
 * @encrypted: all frames but HELLO are sealed
 * @lock: protects @state and @reason
 * @state: see rchar_lane_move_legal()
 * @reason: why the lane failed; the first failure sets it
 * @cm_id: owned by the lane; set before any event can arrive
 * @ibdev: set while the lane is attached to a device
 * @ibdev_user: for @ibdev
 * @pd: protection domain of this lane only: a peer can never read or write by a key of another lane
 * @cq: both queues complete here, so acks and completions keep their order; shared with other
 *	lanes, unless the lane has its own
 * @nr_cqe: room for so many completions in @cq is for this lane
 * @vector: completion vector of @cq
 * @limits: what the device allows; set before the queue pair is created
 * @device: name of the device
 * @port: port number of the device
 * @qpn: number of the queue pair
 * @self: private data that this host sends to the peer
 * @peer: private data that the peer sent
 * @auth: what authenticates the connection; has @self and @peer as they are on the wire
 * @seal: keys of an encrypted lane
 * @sealed_rx: encrypted lane: the frames of the peer are sealed from now on
 * @sq: the send queue
 * @tx: frames in the send queue, and control frames to send
 * @onesided: one-sided work requests
 * @mrs: memory registrations on this lane, by enum rchar_mrs_kind
 * @rx_lock: protects @rx_open, @refill and posting of receives
 * @rx_open: receives may be posted
 * @refill: receive buffers that wait for memory
 * @rx: how many buffers there are, and of what size
 * @depth: the most receive buffers, and frames in the send queue, that the administrator allows
 * @rxbufs: array of @depth receive buffers
 * @hdrs: header slots of @rxbufs, one DMA mapping
 * @hdrs_dma: DMA address of @hdrs
 * @hdrs_mapped: @hdrs_dma is one
 * @last_rx: jiffies when the peer last sent a frame or answered a one-sided work request
 * @up_at: jiffies when the lane came up
 * @accepting_entry: acceptor: entry of rchar_link.accepting until the lane takes its slot; link
 *		     lock
 * @half_open: acceptor: while the lane is on that list, it counts as half open for its peer
 * @continues: acceptor: the reply states that the lane continues the flow of the last lane
 * @adopt_work: acceptor: after HELLO, moves the lane to its slot
 * @started: rchar_cm_resolve() or rchar_cm_accept() no longer uses the lane; teardown waits for
 *	     this
 * @teardown: frees everything; runs once, after rchar_lane_fail()
 * @connect_work: initiator: from the resolved route to the connection request; acceptor: from that
 *		  request to the reply
 * @refill_work: allocates memory for @refill
 * @break_work: RCHAR_FAULT_QP
 * @cm_connected: the CM has raised ESTABLISHED or DISCONNECTED
 * @accepted: acceptor: receives may be posted, and rdma_accept() is called
 * @requested_in: acceptor: &rdma_conn_param.responder_resources of the request
 * @requested_out: acceptor: &rdma_conn_param.initiator_depth of the request
 * @timer: fails a lane that is not UP in time
 */
struct rchar_lane {
	struct kref ref;
	const struct rchar_lane_ops *ops;
	struct rchar_link *link;
	struct rchar_flow *flow;
	u8 index;
	bool initiator;
	bool encrypted;
	spinlock_t lock;
	enum rchar_lane_state state;
	enum rchar_reason reason;
	struct rdma_cm_id *cm_id;
	struct rchar_ibdev *ibdev;
	struct rchar_ibdev_user ibdev_user;
	struct ib_pd *pd;
	struct ib_cq *cq;
	unsigned int nr_cqe;
	u32 vector;
	struct rchar_limits limits;
	char device[IB_DEVICE_NAME_MAX];
	u32 port;
	u32 qpn;
	struct rchar_privdata self;
	struct rchar_privdata peer;
	struct rchar_lane_auth auth;
	struct rchar_seal seal;
	bool sealed_rx;
	struct rchar_sq sq;
	struct rchar_lane_tx tx;
	struct rchar_lane_onesided onesided;
	struct rchar_mrs mrs[RCHAR_MRS_KINDS];
	spinlock_t rx_lock;
	bool rx_open;
	struct list_head refill;
	struct rchar_lane_rx rx;
	u16 depth;
	struct rchar_rxbuf *rxbufs;
	struct rchar_wire_sealed_hdr *hdrs;
	u64 hdrs_dma;
	bool hdrs_mapped;
	unsigned long last_rx;
	unsigned long up_at;
	struct list_head accepting_entry;
	bool half_open;
	bool continues;
	struct work_struct adopt_work;
	struct completion started;
	struct work_struct teardown;
	struct work_struct connect_work;
	struct work_struct break_work;
	struct delayed_work refill_work;
	bool cm_connected;
	bool accepted;
	u8 requested_in;
	u8 requested_out;
	struct delayed_work timer;
};

struct rchar_lane *rchar_lane_create(struct rchar_link *link, struct rchar_flow *flow,
				     spinlock_t *flow_lock, u8 index, u16 depth, bool initiator);
void rchar_lane_put(struct rchar_lane *lane);
void rchar_lane_start(struct rchar_lane *lane);
void rchar_lane_connect(struct rchar_lane *lane);
bool rchar_lane_move(struct rchar_lane *lane, enum rchar_lane_state to);
void rchar_lane_fail(struct rchar_lane *lane, enum rchar_reason reason);
int rchar_lane_setup(struct rchar_lane *lane);
int rchar_lane_rx_start(struct rchar_lane *lane);
void rchar_lane_repost(struct rchar_lane *lane, struct rchar_rxbuf *rxb,
		       const struct rchar_hdr *hdr);
u16 rchar_lane_rx_fresh(struct rchar_lane *lane, struct rchar_credits *fresh);
bool rchar_lane_rx_trim(struct rchar_lane *lane, unsigned int idle_ms);

/* For flow.c; with the flow's lock, but for rchar_lane_tx_seal(), _map() and _put(). */
bool rchar_lane_tx_room(struct rchar_lane *lane);
bool rchar_lane_tx_full(struct rchar_lane *lane);
bool rchar_lane_tx_control_idle(struct rchar_lane *lane);
struct rchar_txbuf *rchar_lane_tx_control(struct rchar_lane *lane);
void rchar_lane_tx_seal_later(struct rchar_lane *lane);
bool rchar_lane_tx_may_stage(struct rchar_lane *lane, u32 len);
void rchar_lane_tx_stage(struct rchar_lane *lane, struct rchar_txbuf *txb, u32 ack);
void rchar_lane_tx_begin(struct rchar_lane *lane, struct rchar_txbuf *txb, u32 ack);
void rchar_lane_tx_finish(struct rchar_lane *lane, struct rchar_txbuf *txb);
void rchar_lane_tx_resume(struct rchar_lane *lane);
void rchar_lane_tx_retry_later(struct rchar_lane *lane);
void rchar_lane_tx_post(struct rchar_lane *lane);
void rchar_lane_tx_reap(struct rchar_lane *lane, struct rchar_txbuf *upto,
			struct list_head *reaped);
bool rchar_lane_tx_map(struct rchar_lane *lane, struct rchar_txbuf *txb);
bool rchar_lane_tx_seal(struct rchar_lane *lane, struct rchar_txbuf *txb,
			struct rchar_sealbuf *buf);
void rchar_lane_tx_fail(struct rchar_lane *lane, enum rchar_reason reason);
bool rchar_lane_tx_put(struct rchar_lane *lane, struct list_head *reaped);

unsigned int rchar_lane_tx_stuck_ms(struct rchar_lane *lane);

int rchar_lane_init(const struct rchar_lane_ops *ops);
void rchar_lane_exit(void);

#endif /* RCHAR_LANE_H */
