/* SPDX-License-Identifier: GPL-2.0 */
/* What the flows of a link share, and what they know of who sends and receives. */
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

/* How long an ack waits for a frame to ride on. */
#define RCHAR_TRAFFIC_ACK_DELAY_MS	10

/**
 * struct rchar_traffic_ops - what happens to frames, for those who send and receive them
 * @receive: a sequenced frame came, once and in order. It returns 0 when the frame is
 *	     processed; -ENOMEM or -ENOBUFS to get it again after a reconnect. It sets *@err when
 *	     the frame breaks the protocol.
 * @acked: the peer has that frame
 * @dropped: the flow forgets the frame, as the peer knows nothing of what was before
 *
 * Context: @dropped in process context, the others also in that of a completion queue.
 */
struct rchar_traffic_ops {
	int (*receive)(struct rchar_traffic *traffic, const struct rchar_hdr *hdr,
		       struct rchar_rxbuf *rxb, enum rchar_frame_error *err);
	void (*acked)(struct rchar_txbuf *txb);
	void (*dropped)(struct rchar_txbuf *txb);
};

/**
 * struct rchar_traffic - what the flows of a link share
 * @ops: who sends and receives
 * @account: what the peer's address makes this host hold
 * @stats: counters of the link
 * @tx_max: payload bytes of the frames queued so far at most
 * @progress_at: jiffies when a sequenced frame was last taken or acknowledged; READ_ONCE and
 *		 WRITE_ONCE
 * @wait: woken when a send queue becomes empty
 * @wq: runs @ack_work
 * @ack_work: sends acks that found no frame to ride on
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

/* A sequenced frame arrived: acknowledge it soon even if nothing is sent meanwhile. */
static inline void rchar_traffic_ack_later(struct rchar_traffic *traffic)
{
	if (!delayed_work_pending(&traffic->ack_work))
		queue_delayed_work(traffic->wq, &traffic->ack_work,
				   msecs_to_jiffies(RCHAR_TRAFFIC_ACK_DELAY_MS));
}

#endif /* RCHAR_TRAFFIC_H */
