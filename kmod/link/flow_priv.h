/* SPDX-License-Identifier: GPL-2.0 */
/* Functions that only flow.c and flow_rx.c share. */
#ifndef RCHAR_FLOW_PRIV_H
#define RCHAR_FLOW_PRIV_H

#include "flow.h"

void rchar_flow_pump(struct rchar_flow *flow);
void rchar_flow_collect_acked(struct rchar_flow *flow, u32 ack, struct list_head *acked);
void rchar_flow_finish_acked(struct rchar_flow *flow, struct list_head *acked);

#endif /* RCHAR_FLOW_PRIV_H */
