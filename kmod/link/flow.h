/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A flow is the part of a lane that survives the connection: the frames that the peer has not
 * acknowledged, and the sequence numbers of both directions. A lane that comes up is attached to
 * its flow. The flow then replays the frames that the peer has not received.
 */
#ifndef RCHAR_FLOW_H
#define RCHAR_FLOW_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include "proto/frame.h"
#include "traffic.h"
#include "turns.h"
#include "txbuf.h"

struct rchar_lane;
struct rchar_rxbuf;

/**
 * struct rchar_flow - both directions of one lane of a link
 * @traffic: state shared with the other flows of the link
 * @lock: protects the fields below, and the sending side of the attached lane
 * @lane: the lane to send on, or NULL
 * @queue: frames that have been posted and are not acknowledged, in sequence
 * @next: the first frame of @queue that is not posted on @lane, or NULL: the next one to replay
 * @turns: senders with frames that have never been posted. These frames have no sequence number
 *	   yet. The flow can therefore choose between senders, and remove the frames of a session
 *	   that is over.
 * @own: sender of the frames that belong to no session
 * @nr_unsent: number of frames that have never been posted
 * @nr_queued: number of frames that the peer has not acknowledged, with those of @nr_unsent
 * @nr_replies: the part of @nr_queued that answers requests of the peer; no window bounds them
 * @tx_next: sequence number of the next frame that is posted for the first time
 * @tx_una: sequence number of the first frame that the peer has not acknowledged
 * @rx_next: sequence number expected from the peer
 * @rx_acked: the last ack sent to the peer
 * @ack_now: the peer requested an ack, or the ack delay has expired
 * @rtt_ns: round trip of @lane, or of the one before it; 0 until that is known. May be read without
 *	    the lock, and so without a reference to the lane.
 * @ready: list of &struct rchar_io_queue with operations that can be posted: [0] READs and atomic
 *	   operations, [1] WRITEs
 * @parked: queues that were in @ready when the last lane was detached. Their operations need the
 *	    peer's keys for the next connection.
 */
struct rchar_flow {
	struct rchar_traffic *traffic;
	spinlock_t lock;
	struct rchar_lane *lane;
	struct list_head queue;
	struct rchar_txbuf *next;
	struct rchar_turns turns;
	struct rchar_sender own;
	unsigned int nr_unsent;
	unsigned int nr_queued;
	unsigned int nr_replies;
	u32 tx_next;
	u32 tx_una;
	u32 rx_next;
	u32 rx_acked;
	bool ack_now;
	u32 rtt_ns;
	struct list_head ready[2];
	struct list_head parked;
};

/* The flow that carries a session: one flow carries all frames of a session, in order. */
static inline struct rchar_flow *rchar_traffic_flow(const struct rchar_traffic *traffic,
						    u32 session)
{
	return &traffic->flows[session % traffic->nr_flows];
}

void rchar_flow_init(struct rchar_flow *flow, struct rchar_traffic *traffic);
void rchar_flow_queue(struct rchar_flow *flow, struct list_head *frames);
struct rchar_lane *rchar_flow_get_lane(struct rchar_flow *flow);
bool rchar_flow_busy(struct rchar_flow *flow);
u32 rchar_flow_expects(struct rchar_flow *flow);
bool rchar_flow_update_window(struct rchar_flow *flow, struct rchar_sender *sender, u32 window);
unsigned int rchar_flow_take_unsent(struct rchar_flow *flow, struct rchar_sender *sender,
				    struct list_head *taken, unsigned int max);
bool rchar_flow_cancel_reg(struct rchar_flow *flow, struct rchar_txbuf *txb,
			   struct rchar_txbuf_reg *reg, __le32 *attempt);
void rchar_flow_want_ack(struct rchar_flow *flow, struct rchar_sender *sender);
bool rchar_flow_submit(struct rchar_flow *flow, struct rchar_txbuf *txb, u32 max);
enum rchar_frame_error rchar_flow_receive(struct rchar_flow *flow, struct rchar_lane *lane,
					  const struct rchar_hdr *hdr, struct rchar_rxbuf *rxb);
bool rchar_flow_receive_header(struct rchar_flow *flow, struct rchar_lane *lane,
			       const struct rchar_hdr *hdr, enum rchar_frame_error *err);
void rchar_flow_receive_done(struct rchar_flow *flow, struct rchar_lane *lane);
void rchar_flow_retry(struct rchar_flow *flow, struct rchar_lane *lane);
void rchar_flow_send_done(struct rchar_flow *flow, struct rchar_lane *lane,
			  struct rchar_txbuf *txb);
void rchar_flow_prepare(struct rchar_flow *flow, struct rchar_lane *lane);
void rchar_flow_attach(struct rchar_flow *flow, struct rchar_lane *lane, u32 resume);
void rchar_flow_ready(struct rchar_flow *flow, struct rchar_lane *lane);
void rchar_flow_detach(struct rchar_flow *flow, struct rchar_lane *lane);
void rchar_flow_control(struct rchar_flow *flow, struct rchar_lane *lane, u8 op);
bool rchar_flow_resume_valid(struct rchar_flow *flow, u32 resume);
void rchar_flow_reset(struct rchar_flow *flow);
void rchar_flow_ack(struct rchar_flow *flow);
bool rchar_flow_sent(struct rchar_flow *flow);

#endif /* RCHAR_FLOW_H */
