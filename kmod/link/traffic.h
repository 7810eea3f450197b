/* SPDX-License-Identifier: GPL-2.0 */
/* State that the flows of a link share, and their callbacks to the sessions. */
#ifndef RCHAR_TRAFFIC_H
#define RCHAR_TRAFFIC_H

#include <linux/wait.h>
#include <linux/workqueue.h>
#include "base/stats.h"
#include "proto/frame.h"

struct rchar_account;
struct rchar_flow;
struct rchar_rxbuf;
struct rchar_traffic;
struct rchar_txbuf;

/* How long an ack waits for a frame that can carry the ack. */
#define RCHAR_TRAFFIC_ACK_DELAY_MS 10

/**
 * struct rchar_traffic_ops - callbacks for frames, implemented by the sessions
 * @receive: a sequenced frame arrived; called once for each frame, in order. Returns 0 when the
 *	     frame is processed, or -ENOMEM or -ENOBUFS to receive the frame again after a
 *	     reconnect. Sets *@err when the frame violates the protocol.
 * @acked: the peer has received the frame
 * @dropped: rchar_flow_reset() has removed the frame, which the peer has not acknowledged
 *
 * Context: @dropped runs in process context. The others also run in the context of a completion
 * queue.
 */
struct rchar_traffic_ops {
	int (*receive)(struct rchar_traffic *traffic, const struct rchar_hdr *hdr,
		       struct rchar_rxbuf *rxb, enum rchar_frame_error *err);
	void (*acked)(struct rchar_txbuf *txb);
	void (*dropped)(struct rchar_txbuf *txb);
};

/**
 * struct rchar_traffic - state that the flows of a link share
 * @ops: callbacks to the sessions
 * @account: account of the peer's address, which counts the memory that the peer occupies
 * @stats: counters of the link
 * @tx_max: upper bound for the payload bytes of a queued frame
 * @progress_at: jiffies when a sequenced frame was last accepted or acknowledged, or a one-sided
 *		 work request completed; READ_ONCE and WRITE_ONCE
 * @wait: woken when frames complete and when a lane is detached
 * @wq: runs @ack_work
 * @ack_work: sends acks that no other frame has carried
 * @nr_flows: length of @flows
 * @flows: one for each lane
 */
struct rchar_traffic {
	const struct rchar_traffic_ops *ops;
	struct rchar_account *account;
	struct rchar_stats stats;
	u32 tx_max;
	unsigned long progress_at;
	wait_queue_head_t wait;
	struct workqueue_struct *wq;
	struct delayed_work ack_work;
	u8 nr_flows;
	struct rchar_flow *flows;
};

/* A sequenced frame arrived: acknowledge soon, even if no frame is sent meanwhile. */
static inline void rchar_traffic_ack_later(struct rchar_traffic *traffic)
{
	if (!delayed_work_pending(&traffic->ack_work))
		queue_delayed_work(traffic->wq, &traffic->ack_work,
				   msecs_to_jiffies(RCHAR_TRAFFIC_ACK_DELAY_MS));
}

#endif /* RCHAR_TRAFFIC_H */
