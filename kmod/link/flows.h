/* SPDX-License-Identifier: GPL-2.0 */
/* Functions for all flows of a link together. */
#ifndef RCHAR_FLOWS_H
#define RCHAR_FLOWS_H

#include "flow.h"

void rchar_flows_init(struct rchar_traffic *traffic, struct rchar_flow *flows, u8 nr_flows);
void rchar_flows_stop(struct rchar_traffic *traffic);
void rchar_flows_reset(struct rchar_traffic *traffic);
void rchar_flows_flush(struct rchar_traffic *traffic, unsigned long timeout);

#endif /* RCHAR_FLOWS_H */
