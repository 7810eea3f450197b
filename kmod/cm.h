/* SPDX-License-Identifier: GPL-2.0 */
/* The connection manager: how a lane becomes connected. */
#ifndef RCHAR_CM_H
#define RCHAR_CM_H

#include "uapi/linux/rdma_char.h"

struct net;
struct rchar_link;
struct rdma_cm_event;
struct rdma_cm_id;
struct work_struct;

enum rchar_reason rchar_cm_connect(struct rchar_link *link, int index);
void rchar_cm_connect_work(struct work_struct *work);
int rchar_cm_accept(struct net *net, struct rdma_cm_id *id,
		    struct rdma_cm_event *event);

/* Connection requests so far, for INFO_GET. */
struct rchar_cm_counts {
	u64 accepted;
	u64 refused;
	u64 bad;
};

struct rchar_cm_counts rchar_cm_counts(void);

#endif /* RCHAR_CM_H */
