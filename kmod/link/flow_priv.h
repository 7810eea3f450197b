/* SPDX-License-Identifier: GPL-2.0 */
/* Functions that only flow.c, flow_rx.c and flow_seal.c share. */
#ifndef RCHAR_FLOW_PRIV_H
#define RCHAR_FLOW_PRIV_H

#include "flow.h"

void rchar_flow_wake_flusher(struct rchar_traffic *traffic);
void rchar_flow_pump(struct rchar_flow *flow);
struct rchar_txbuf *rchar_flow_next(struct rchar_flow *flow, struct rchar_lane *lane);
u32 rchar_flow_next_len(struct rchar_flow *flow, struct rchar_lane *lane);
void rchar_flow_staged(struct rchar_flow *flow, const struct rchar_txbuf *txb);
void rchar_flow_collect_acked(struct rchar_flow *flow, u32 ack, struct list_head *acked);
void rchar_flow_finish_acked(struct rchar_flow *flow, struct list_head *acked);
void rchar_flow_share_rtt(struct rchar_lane *lane, u32 rtt_ns);

#endif /* RCHAR_FLOW_PRIV_H */
