// SPDX-License-Identifier: GPL-2.0
#include "flows.h"
#include <linux/sched.h>

/**
 * rchar_flows_reset() - discard the frames and sequence numbers of all flows
 * @traffic: the flows; no lane is attached
 *
 * Context: process.
 */
void rchar_flows_reset(struct rchar_traffic *traffic)
{
	int i;

	for (i = 0; i < traffic->nr_flows; i++)
		rchar_flow_reset(&traffic->flows[i]);
	WRITE_ONCE(traffic->tx_max, 0);
}

static void flows_ack_all(struct rchar_traffic *traffic)
{
	int i;

	for (i = 0; i < traffic->nr_flows; i++)
		rchar_flow_ack(&traffic->flows[i]);
}

static void ack_work(struct work_struct *work)
{
	flows_ack_all(container_of(to_delayed_work(work), struct rchar_traffic, ack_work));
}

static bool all_sent(struct rchar_traffic *traffic)
{
	int i;

	for (i = 0; i < traffic->nr_flows; i++)
		if (!rchar_flow_sent(&traffic->flows[i]))
			return false;
	return true;
}

/**
 * rchar_flows_flush() - send acks, and wait until the devices have sent all frames
 * @traffic: the flows
 * @timeout: longest time to wait, in jiffies
 *
 * Context: process.
 */
void rchar_flows_flush(struct rchar_traffic *traffic, unsigned long timeout)
{
	flows_ack_all(traffic);
	wait_event_timeout(traffic->wait, all_sent(traffic), timeout);
}

/**
 * rchar_flows_stop() - cancel the delayed acks
 * @traffic: the flows; no lane is or will be attached
 *
 * Context: process.
 */
void rchar_flows_stop(struct rchar_traffic *traffic)
{
	cancel_delayed_work_sync(&traffic->ack_work);
}

/**
 * rchar_flows_init() - initialize empty flows
 * @traffic: the state that the flows share; the caller fills in @ops, @account and @wq
 * @flows: the flows, zeroed
 * @nr_flows: length of @flows
 */
void rchar_flows_init(struct rchar_traffic *traffic, struct rchar_flow *flows, u8 nr_flows)
{
	int i;

	init_waitqueue_head(&traffic->wait);
	INIT_DELAYED_WORK(&traffic->ack_work, ack_work);
	traffic->progress_at = jiffies;
	traffic->nr_flows = nr_flows;
	traffic->flows = flows;
	for (i = 0; i < nr_flows; i++)
		rchar_flow_init(&flows[i], traffic);
}
