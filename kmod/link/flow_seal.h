/* SPDX-License-Identifier: GPL-2.0 */
/* Large frames of an encrypted lane. */
#ifndef RCHAR_FLOW_SEAL_H
#define RCHAR_FLOW_SEAL_H

struct rchar_lane;

void rchar_flow_seal(struct rchar_lane *lane);

#endif /* RCHAR_FLOW_SEAL_H */
