/* SPDX-License-Identifier: GPL-2.0 */
/* The connection manager: connects and accepts lanes. */
#ifndef RCHAR_CM_H
#define RCHAR_CM_H

#include <linux/socket.h>
#include "proto/auth.h"
#include "proto/privdata.h"
#include "uapi/linux/rdma_char.h"

struct net;
struct rchar_lane;
struct rdma_cm_event;
struct rdma_cm_id;

/**
 * struct rchar_cm_request - a connection request of a peer
 * @net: network namespace in which the request arrived
 * @privdata: private data of the request, well formed
 * @transcript: the initiator's half of the transcript
 * @local: address and port of this host
 * @peer: address of the peer
 */
struct rchar_cm_request {
	struct net *net;
	struct rchar_privdata privdata;
	struct rchar_auth_transcript transcript;
	struct sockaddr_storage local;
	struct sockaddr_storage peer;
};

/**
 * typedef rchar_cm_accept_fn - decide on a connection request of a peer
 * @request: the request
 * @lane: set to the new lane, with a reference for its cm_id
 *
 * Context: CM event handler.
 * Return: 0, or the reason to refuse the request.
 */
typedef enum rchar_reason (*rchar_cm_accept_fn)(const struct rchar_cm_request *request,
						struct rchar_lane **lane);

void rchar_cm_init(rchar_cm_accept_fn accept);
int rchar_cm_create_id(struct rchar_lane *lane, struct net *net, u8 tos, u8 keepalive);
void rchar_cm_resolve(struct rchar_lane *lane, const struct sockaddr_storage *local,
		      const struct sockaddr_storage *peer);
void rchar_cm_connect(struct rchar_lane *lane);
void rchar_cm_ends(const struct rdma_cm_id *id, struct sockaddr_storage *local,
		   struct sockaddr_storage *peer);
int rchar_cm_accept(struct net *net, struct rdma_cm_id *id, struct rdma_cm_event *event);

/* Connection requests since module load, for INFO_GET. */
struct rchar_cm_counts {
	u64 accepted;
	u64 refused;
	u64 bad;
	u64 denied;
};

struct rchar_cm_counts rchar_cm_counts(void);

#endif /* RCHAR_CM_H */
