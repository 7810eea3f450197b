/* SPDX-License-Identifier: GPL-2.0 */
/* The connection manager: how a lane becomes connected. */
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
 * typedef rchar_cm_accept_fn - a peer asks for a connection
 * @net: network namespace it arrived in
 * @request: its private data, well formed
 * @local: our address and port
 * @peer: the peer's address
 * @lane: set to the new lane, with a reference for its cm_id
 *
 * Context: CM event handler.
 * Return: 0, or why it is refused.
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
