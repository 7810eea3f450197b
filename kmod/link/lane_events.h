/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RCHAR_LANE_EVENTS_H
#define RCHAR_LANE_EVENTS_H

struct rchar_lane_ops;

/* For rchar_lane_init(): callbacks that connect lanes to their flows and links. */
extern const struct rchar_lane_ops rchar_lane_events;

#endif /* RCHAR_LANE_EVENTS_H */
