/* SPDX-License-Identifier: GPL-2.0 */
/* What link.c and accept.c share, and nobody else. */
#ifndef RCHAR_LINK_PRIV_H
#define RCHAR_LINK_PRIV_H

#include "link.h"

extern struct mutex rchar_links_lock;
extern struct list_head rchar_links;
extern struct workqueue_struct *rchar_link_wq;

/* link.c */
bool rchar_link_move(struct rchar_link *link, enum rchar_link_state to,
		     enum rchar_reason reason);
bool rchar_link_no_lanes(struct rchar_link *link);
void rchar_link_for_each_lane(struct rchar_link *link,
			      void (*fn)(struct rchar_lane *lane, enum rchar_reason reason),
			      enum rchar_reason reason);
bool rchar_link_slot_free(struct rchar_link *link, const struct rchar_lane *lane);
void rchar_link_forget(struct rchar_link *link, u32 epoch, enum rchar_reason reason);
u32 rchar_link_new_epoch(u32 old);
bool rchar_link_continues(struct rchar_link *link, const struct rchar_lane *lane);
void rchar_link_take_over(struct rchar_link *link, struct rchar_lane *lane, bool same);
struct rchar_link *rchar_link_create(struct net *net, bool initiator, u64 id, u8 nr_lanes,
				     const struct sockaddr_storage *local,
				     const struct sockaddr_storage *peer);

/* accept.c */
void rchar_link_evict_work(struct work_struct *work);
void rchar_link_fail_accepting(struct rchar_link *link, enum rchar_reason reason);
bool rchar_link_stop_accepting(struct rchar_link *link, struct rchar_lane *lane);
void rchar_link_admit_greeted(struct rchar_link *link);

#endif /* RCHAR_LINK_PRIV_H */
