/* SPDX-License-Identifier: GPL-2.0 */
/* The life cycle of links: works and timers of one link, and functions for all links. */
#ifndef RCHAR_LINK_LIFE_H
#define RCHAR_LINK_LIFE_H

struct rchar_lane;
struct rchar_link;
struct rchar_link_ops;
struct rchar_psk;

void rchar_link_lane_gone(struct rchar_link *link, struct rchar_lane *lane);
int rchar_link_psk_deleted(struct rchar_psk *psk);
void rchar_link_reset(struct rchar_link *link);
void rchar_link_retry_all(void);
void rchar_link_trim_all(void);
void rchar_link_shutdown(void);
int rchar_link_life_init(const struct rchar_link_ops *ops);

#endif /* RCHAR_LINK_LIFE_H */
