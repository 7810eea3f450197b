/* SPDX-License-Identifier: GPL-2.0 */
/* Functions that only lane.c, lane_rx.c and lane_tx.c share. */
#ifndef RCHAR_LANE_PRIV_H
#define RCHAR_LANE_PRIV_H

#include "lane.h"

extern struct workqueue_struct *rchar_lane_wq;
extern struct workqueue_struct *rchar_seal_wq;

/* lane_rx.c */
int rchar_lane_rx_init(struct rchar_lane *lane);
void rchar_lane_rx_free(struct rchar_lane *lane);
int rchar_lane_rx_open(struct rchar_lane *lane);
void rchar_lane_rx_close(struct rchar_lane *lane);
void rchar_lane_rx_drained(struct rchar_lane *lane);

/* lane_tx.c */
int rchar_lane_tx_init(struct rchar_lane *lane);
void rchar_lane_tx_free(struct rchar_lane *lane);
void rchar_lane_tx_drained(struct rchar_lane *lane);

#endif /* RCHAR_LANE_PRIV_H */
