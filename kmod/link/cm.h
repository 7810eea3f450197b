/* SPDX-License-Identifier: GPL-2.0 */
/* The connection manager: connects and accepts lanes. */
#ifndef RCHAR_CM_H
#define RCHAR_CM_H

#include <linux/socket.h>
#include "uapi/linux/rdma_char.h"

struct net;
struct rchar_privdata;
struct rchar_lane;
struct rdma_cm_event;
struct rdma_cm_id;

/**
 * typedef rchar_cm_accept_fn - decide on a connection request of a peer
 * @net: network namespace in which the request arrived
 * @request: private data of the request, well formed
 * @local: address and port of this host
 * @peer: address of the peer
 * @lane: set to the new lane, with a reference for its cm_id
 *
 * Context: CM event handler.
 * Return: 0, or the reason to refuse the request.
 */
typedef enum rchar_reason (*rchar_cm_accept_fn)(struct net *net,
						const struct rchar_privdata *request,
						const struct sockaddr_storage *local,
						const struct sockaddr_storage *peer,
						struct rchar_lane **lane);

void rchar_cm_init(rchar_cm_accept_fn accept);
int rchar_cm_create_id(struct rchar_lane *lane, struct net *net);
void rchar_cm_resolve(struct rchar_lane *lane, const struct sockaddr_storage *local,
		      const struct sockaddr_storage *peer);
void rchar_cm_connect(struct rchar_lane *lane);
int rchar_cm_accept(struct net *net, struct rdma_cm_id *id, struct rdma_cm_event *event);

/* Connection requests since module load, for INFO_GET. */
struct rchar_cm_counts {
	u64 accepted;
	u64 refused;
	u64 bad;
};

struct rchar_cm_counts rchar_cm_counts(void);

#endif /* RCHAR_CM_H */
