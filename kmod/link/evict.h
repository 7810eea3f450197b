/* SPDX-License-Identifier: GPL-2.0 */
/* Eviction: a peer over its budget loses what this host keeps for the peer. */
#ifndef RCHAR_EVICT_H
#define RCHAR_EVICT_H

struct rchar_link;
struct work_struct;

void rchar_link_left_more(struct rchar_link *link);
void rchar_link_drop_evicted(struct rchar_link *link);
void rchar_link_evict_work(struct work_struct *work);

#endif /* RCHAR_EVICT_H */
