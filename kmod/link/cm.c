// SPDX-License-Identifier: GPL-2.0
/*
 * Events of the RDMA connection manager. A handler runs with the cm_id's mutex held, on a work
 * queue that all RDMA users of the host share, one event at a time. A handler therefore must not
 * wait, leaves what creates verbs objects to &rchar_lane.connect_work, and must not destroy a cm_id
 * that a lane owns. The handler of a lane always returns 0 and reports failures with
 * rchar_lane_fail().
 */
#include "cm.h"
#include <rdma/ib_addr.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>
#include "base/addr.h"
#include "base/inject.h"
#include "base/trace.h"
#include "lane.h"

#define RESOLVE_TIMEOUT_MS 2000
/* Test builds do not retry: there, receiver-not-ready reveals a wrong credit count. */
#ifdef RCHAR_DEBUG
#define RNR_RETRY 0
#else
#define RNR_RETRY 7
#endif
#define RETRY		7
/* 4.096 us << 22, 17 s: longer than packets live in any fabric (IBTA vol 1, 12.7.34). */
#define PACKET_LIFE_MAX 22

static atomic64_t nr_accepted, nr_refused, nr_bad, nr_denied;
static rchar_cm_accept_fn accept_request;

/**
 * rchar_cm_init() - initialize at module load
 * @accept: function that decides on connection requests
 */
void rchar_cm_init(rchar_cm_accept_fn accept)
{
	accept_request = accept;
}

/**
 * rchar_cm_counts() - get the numbers of connection requests since module load
 *
 * Return: the numbers.
 */
struct rchar_cm_counts rchar_cm_counts(void)
{
	return (struct rchar_cm_counts){
		.accepted = atomic64_read(&nr_accepted),
		.refused = atomic64_read(&nr_refused),
		.bad = atomic64_read(&nr_bad),
		.denied = atomic64_read(&nr_denied),
	};
}

/* Fill in the parameters of a connection, except private data. */
static void fill_param(struct rchar_lane *lane, struct rdma_conn_param *param)
{
	memset(param, 0, sizeof(*param));
	param->responder_resources = lane->limits.reads_in;
	param->initiator_depth = lane->limits.reads_out;
	/* At most the resources of the other side: IBTA vol 1, 12.7.29 and 12.7.30. */
	if (!lane->initiator) {
		param->responder_resources = min(param->responder_resources, lane->requested_in);
		param->initiator_depth = min(param->initiator_depth, lane->requested_out);
	}
	param->retry_count = RETRY;
	param->rnr_retry_count = RNR_RETRY;
}

/* ---- initiator ---- */

static enum rchar_reason resolve_reason(int error)
{
	switch (error) {
	case 0:
		return RCHAR_REASON_NONE;
	case -ENODEV:
	case -EADDRNOTAVAIL:
		return RCHAR_REASON_NO_DEVICE;
	case -ENOMEM:
		return RCHAR_REASON_NO_MEMORY;
	case -ETIMEDOUT:
	case -EHOSTUNREACH:
		return RCHAR_REASON_ADDRESS;
	case -ECONNREFUSED: /* soft-iWARP connects TCP in rdma_connect() */
		return RCHAR_REASON_NOT_LISTENING;
	default:
		return RCHAR_REASON_ROUTE;
	}
}

static void on_addr_resolved(struct rchar_lane *lane)
{
	int ret;

	if (!rchar_lane_move(lane, RCHAR_LANE_RESOLVING_ROUTE))
		return;
	ret = rchar_inject_verbs() ?: rdma_resolve_route(lane->cm_id, RESOLVE_TIMEOUT_MS);
	if (ret)
		rchar_lane_fail(lane, resolve_reason(ret));
}

static enum rchar_reason setup_reason(int error)
{
	return error == -ENODEV ? RCHAR_REASON_DEVICE_REMOVED :
	       error == -ENOMEM ? RCHAR_REASON_NO_MEMORY :
				  RCHAR_REASON_DEVICE_LIMITS;
}

/* The QPN that a transcript has: iWARP does not tell the peer's. */
static u32 transcript_qpn(const struct rdma_cm_id *id, u32 qpn)
{
	return rdma_protocol_iwarp(id->device, id->port_num) ? 0 : qpn;
}

/* Initiator: the addresses of both ends, and the QPN of this end. */
static void set_transcript_ends(struct rchar_lane *lane)
{
	const struct rdma_addr *addr = &lane->cm_id->route.addr;
	struct rchar_auth_transcript *t = &lane->auth.transcript;

	rchar_addr_to_bytes(t->initiator, &addr->src_addr);
	rchar_addr_to_bytes(t->acceptor, &addr->dst_addr);
	t->initiator_qpn = cpu_to_le32(transcript_qpn(lane->cm_id, lane->qpn));
}

static void connect_locked(struct rchar_lane *lane)
{
	struct rdma_conn_param param;
	int ret;

	if (READ_ONCE(lane->state) != RCHAR_LANE_RESOLVING_ROUTE)
		return;
	ret = rchar_lane_setup(lane);
	if (ret) {
		rchar_lane_fail(lane, setup_reason(ret));
		return;
	}
	if (!rchar_lane_move(lane, RCHAR_LANE_CONNECTING))
		return;
	set_transcript_ends(lane);
	lane->ops->introduce(lane);
	fill_param(lane, &param);
	param.private_data = &lane->auth.transcript.request;
	param.private_data_len = sizeof(lane->auth.transcript.request);
	rdma_set_min_rnr_timer(lane->cm_id, IB_RNR_TIMER_000_64);
	ret = rchar_inject_verbs() ?: rdma_connect_locked(lane->cm_id, &param);
	if (ret)
		rchar_lane_fail(lane, resolve_reason(ret));
}

static bool reply_matches(const struct rchar_lane *lane)
{
	return lane->peer.link_id == lane->self.link_id &&
	       lane->peer.attempt == lane->self.attempt && lane->peer.lane == lane->self.lane &&
	       lane->peer.lanes == lane->self.lanes;
}

/*
 * Limit the READs in flight to the number that the peer answers at once. Which of the two fields
 * contains this number depends on the transport. The lane has its device's limits.
 */
static void set_reads_max(struct rchar_lane *lane, u8 responder_resources, u8 initiator_depth)
{
	u8 reads = min(responder_resources, initiator_depth);

	lane->onesided.reads_max = clamp(reads, 1, max(lane->limits.reads_out, 1));
}

static void on_established(struct rchar_lane *lane, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	struct rchar_auth_transcript *t = &lane->auth.transcript;
	const struct rchar_wire_reply *reply = param->private_data;
	enum rchar_privdata_error err;
	enum rchar_reason reason;

	/* The acceptor waits for HELLO instead, which may arrive before this event. */
	if (!lane->initiator)
		return;
	err = rchar_privdata_decode(&lane->peer, param->private_data, param->private_data_len);
	if (err || !reply_matches(lane)) {
		reason = err == RCHAR_PRIVDATA_VERSION ? RCHAR_REASON_VERSION :
							 RCHAR_REASON_PROTOCOL;
		rchar_lane_fail(lane, reason);
		return;
	}
	memcpy(&t->reply, &reply->privdata, sizeof(t->reply));
	/* A reply without public key does not have the right tag. */
	if (lane->encrypted && param->private_data_len >= sizeof(*reply))
		memcpy(t->acceptor_public, reply->public, sizeof(t->acceptor_public));
	t->acceptor_qpn = cpu_to_le32(transcript_qpn(lane->cm_id, param->qp_num));
	set_reads_max(lane, param->responder_resources, param->initiator_depth);
	/* On soft-iWARP also when the peer has closed the connection again. */
	if (rchar_lane_rx_start(lane))
		rchar_lane_fail(lane, RCHAR_REASON_QP_ERROR);
	else
		lane->ops->established(lane);
}

static void on_rejected(struct rchar_lane *lane, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;
	u16 reason;

	if (rchar_reject_decode(param->private_data, param->private_data_len, &reason)) {
		if (!reason || reason >= __RCHAR_REASON_MAX)
			reason = RCHAR_REASON_REJECTED;
		rchar_lane_fail(lane, reason);
		return;
	}
	/* InfiniBand and RoCE: the service id does not exist. iWARP: the TCP port is closed. */
	if (event->status == IB_CM_REJ_INVALID_SERVICE_ID || event->status == -ECONNREFUSED)
		rchar_lane_fail(lane, RCHAR_REASON_NOT_LISTENING);
	else
		rchar_lane_fail(lane, RCHAR_REASON_REJECTED);
}

static enum rchar_reason event_reason(enum rdma_cm_event_type event)
{
	switch (event) {
	case RDMA_CM_EVENT_ADDR_ERROR:
		return RCHAR_REASON_ADDRESS;
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return RCHAR_REASON_ROUTE;
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		return RCHAR_REASON_UNREACHABLE;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return RCHAR_REASON_DEVICE_REMOVED;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		return RCHAR_REASON_ADDRESS_CHANGED;
	default:
		return RCHAR_REASON_PEER_CLOSED;
	}
}

/* CM event handler of a lane's cm_id, on both sides. */
static int lane_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct rchar_lane *lane = id->context;

	trace_rchar_cm_event(lane, event->event, event->status);
	/* Also for a lane that is closing: its teardown asks. */
	if (event->event == RDMA_CM_EVENT_ESTABLISHED || event->event == RDMA_CM_EVENT_DISCONNECTED)
		WRITE_ONCE(lane->cm_connected, true);
	if (READ_ONCE(lane->state) >= RCHAR_LANE_CLOSING)
		return 0;
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		on_addr_resolved(lane);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		rchar_lane_connect(lane);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		on_established(lane, event);
		break;
	case RDMA_CM_EVENT_REJECTED:
		on_rejected(lane, event);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		rchar_lane_fail(lane, event_reason(event->event));
	}
	return 0;
}

/* Local ACK Timeout: 4.096 us * 2^19 = 2.1 s, as the CM of Linux 6.1 chooses over Ethernet. */
#define ACK_TIMEOUT_MAX 19

/*
 * The time after which the device sends again what the peer does not acknowledge is 4.096 us * 2^n
 * (IBTA vol 1, 9.7.6.1.3), and RETRY + 1 of these times pass before it gives up. The least n with
 * which the keepalive, which waits for three intervals, is not later than that. Newer kernels would
 * choose a quarter of ACK_TIMEOUT_MAX (CMA_IBOE_PACKET_LIFETIME in drivers/infiniband/core/cma.c).
 */
static u8 ack_timeout(u8 keepalive)
{
	u64 limit_ns = 3ull * keepalive * NSEC_PER_SEC;
	u8 n = 8;

	while (n < ACK_TIMEOUT_MAX && (RETRY + 1) * (4096ull << n) < limit_ns)
		n++;
	return n;
}

/**
 * rchar_cm_create_id() - create the cm_id of a lane
 * @lane: a lane of an initiator
 * @net: network namespace of the connection
 * @tos: type of service of all packets; 0: as the host is configured
 * @keepalive: seconds after which a silent peer is asked
 *
 * Context: process. rdma_destroy_id() undoes this function.
 * Return: 0, or the error of rdma_create_id().
 */
int rchar_cm_create_id(struct rchar_lane *lane, struct net *net, u8 tos, u8 keepalive)
{
	struct rdma_cm_id *id = rdma_create_id(net, lane_handler, lane, RDMA_PS_TCP, IB_QPT_RC);

	if (IS_ERR(id))
		return PTR_ERR(id);
	/* The peer takes both from the connection request. */
	if (tos)
		rdma_set_service_type(id, tos);
	rdma_set_ack_timeout(id, ack_timeout(keepalive));
	lane->cm_id = id;
	return 0;
}

/**
 * rchar_cm_resolve() - start to connect
 * @lane: the lane, after rchar_lane_start(); &rchar_lane.ops reports the result
 * @local: source address, or family AF_UNSPEC
 * @peer: address and port to connect to
 *
 * Context: process.
 */
void rchar_cm_resolve(struct rchar_lane *lane, const struct sockaddr_storage *local,
		      const struct sockaddr_storage *peer)
{
	struct sockaddr *from = local->ss_family == AF_UNSPEC ? NULL : (struct sockaddr *)local;
	int ret;

	ret = rchar_inject_verbs();
	if (!ret)
		ret = rdma_resolve_addr(lane->cm_id, from, (struct sockaddr *)peer,
					RESOLVE_TIMEOUT_MS);
	if (ret)
		rchar_lane_fail(lane, resolve_reason(ret));
}

/* ---- acceptor ---- */

static int cm_refuse(struct rdma_cm_id *id, enum rchar_reason reason)
{
	struct rchar_wire_reject data;

	rchar_reject_encode(&data, reason, -rchar_reason_errno(reason));
	rdma_reject(id, &data, sizeof(data), IB_CM_REJ_CONSUMER_DEFINED);
	atomic64_inc(&nr_refused);
	trace_rchar_refused(id, reason);
	/* Non-zero: the CM destroys the id. No lane uses the id. */
	return -ECONNREFUSED;
}

static enum rchar_reason decode_request(struct rchar_privdata *request,
					const struct rdma_conn_param *param)
{
	switch (rchar_privdata_decode(request, param->private_data, param->private_data_len)) {
	case RCHAR_PRIVDATA_OK:
		return RCHAR_REASON_NONE;
	case RCHAR_PRIVDATA_VERSION:
		return RCHAR_REASON_VERSION;
	default:
		return RCHAR_REASON_PROTOCOL;
	}
}

/*
 * The initiator may have given up while the queue pair was made. rdma_accept() would notice only
 * when receives are posted, and qedr never completes those of a queue pair in INIT; see end_qp().
 */
static bool still_wanted(struct rchar_lane *lane)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTR };
	int mask;

	return !rdma_init_qp_attr(lane->cm_id, &attr, &mask);
}

/* Without the handler lock: a peer that gives up meanwhile does not make the CM wait. */
static bool accept_setup(struct rchar_lane *lane)
{
	struct rchar_auth_transcript *t = &lane->auth.transcript;
	int ret;

	if (!rchar_lane_move(lane, RCHAR_LANE_ACCEPTING))
		return false;
	ret = rchar_lane_setup(lane);
	if (ret) {
		rchar_lane_fail(lane, setup_reason(ret));
		return false;
	}
	set_reads_max(lane, lane->requested_in, lane->requested_out);
	t->acceptor_qpn = cpu_to_le32(transcript_qpn(lane->cm_id, lane->qpn));
	lane->ops->introduce(lane);
	return true;
}

/*
 * HELLO may come before the RTU, which may be lost. The CM is not told of that (rdma_notify()): it
 * repeats the REP, and a living peer answers with another RTU. Once it is told, a DREQ in the wrong
 * moment leaves nobody to stop the REP (cm_establish_handler() in drivers/infiniband/core/cm.c).
 * rdma_destroy_id() then waits for as long as the peer's request has said, up to days.
 */
static void accept_locked(struct rchar_lane *lane)
{
	struct rchar_auth_transcript *t = &lane->auth.transcript;
	struct rdma_conn_param param;
	struct rchar_wire_reply reply;
	int ret;

	if (READ_ONCE(lane->state) != RCHAR_LANE_ACCEPTING)
		return;
	fill_param(lane, &param);
	reply.privdata = t->reply;
	memcpy(reply.public, t->acceptor_public, sizeof(reply.public));
	param.private_data = &reply;
	param.private_data_len = lane->encrypted ? sizeof(reply) : sizeof(reply.privdata);
	rdma_set_min_rnr_timer(lane->cm_id, IB_RNR_TIMER_000_64);
	if (!still_wanted(lane)) {
		rchar_lane_fail(lane, RCHAR_REASON_UNREACHABLE);
		return;
	}
	lane->accepted = true;
	if (rchar_lane_rx_start(lane)) {
		rchar_lane_fail(lane, RCHAR_REASON_QP_ERROR);
		return;
	}
	ret = rchar_inject_verbs() ?: rdma_accept(lane->cm_id, &param);
	if (ret)
		rchar_lane_fail(lane, RCHAR_REASON_UNREACHABLE);
	else
		atomic64_inc(&nr_accepted);
}

/*
 * On InfiniBand and RoCE, a request carries the addresses of both ends in private data (IBTA vol
 * 1, A11.6). A peer can claim any address there. On RoCE the peer's address must match the GID
 * that answers are sent to. This holds for every RoCE version: cma_resolve_iboe_route() derives
 * the GIDs from the addresses.
 */
static bool peer_is_its_gid(const struct rdma_cm_id *id, const struct sockaddr_storage *peer)
{
	struct sockaddr_storage gid = {};

	if (!rdma_protocol_roce(id->device, id->port_num) || !id->route.path_rec)
		return true;
	rdma_gid2ip((struct sockaddr *)&gid, &id->route.path_rec->dgid);
	rchar_addr_set_scope(&gid, rchar_addr_scope(peer));
	return rchar_addr_same_host(&gid, peer);
}

/* The local address must belong to the interface on which the request arrived. */
static bool local_is_its_device(const struct rdma_cm_id *id, struct net *net,
				const struct sockaddr_storage *local)
{
	int ifindex = id->route.addr.dev_addr.bound_dev_if;

	return !ifindex || rdma_protocol_iwarp(id->device, id->port_num) ||
	       rchar_addr_is_of_device(net, local, ifindex);
}

/**
 * rchar_cm_ends() - get the addresses of an accepted connection
 * @id: cm_id of the acceptor
 * @local: set to address and port of this host
 * @peer: set to address and port of the peer
 */
void rchar_cm_ends(const struct rdma_cm_id *id, struct sockaddr_storage *local,
		   struct sockaddr_storage *peer)
{
	const struct rdma_addr *addr = &id->route.addr;

	*local = addr->src_addr;
	*peer = addr->dst_addr;
	/* The CM leaves out the scope (cma_save_ip6_info() in drivers/infiniband/core/cma.c). */
	rchar_addr_set_scope(local, addr->dev_addr.bound_dev_if);
	rchar_addr_set_scope(peer, addr->dev_addr.bound_dev_if);
}

/*
 * The CM passes on what a request says of the path; there is none on iWARP. soft-RoCE takes a path
 * MTU of 0, and would compute packets of -1 bytes (rxe_qp_from_attr() in
 * drivers/infiniband/sw/rxe/rxe_qp.c). With the longest lifetime of a packet, the CM would keep
 * some memory of the connection for hours after its end (cm_enter_timewait() in
 * drivers/infiniband/core/cm.c).
 */
static bool path_is_valid(const struct rdma_cm_id *id)
{
	const struct sa_path_rec *path = id->route.path_rec;

	return !path || (path->mtu >= IB_MTU_256 && path->mtu <= IB_MTU_4096 &&
			 path->packet_life_time <= PACKET_LIFE_MAX);
}

/* Fill in what the request and the CM say. Returns 0, or the reason to refuse the request. */
static enum rchar_reason read_request(struct rchar_cm_request *request, struct net *net,
				      const struct rdma_cm_id *id,
				      const struct rdma_conn_param *param)
{
	struct rchar_auth_transcript *t = &request->transcript;
	enum rchar_reason reason;

	memset(request, 0, sizeof(*request));
	request->net = net;
	rchar_cm_ends(id, &request->local, &request->peer);
	reason = decode_request(&request->privdata, param);
	if (reason)
		return reason;
	if (!path_is_valid(id))
		return RCHAR_REASON_PROTOCOL;
	if (!peer_is_its_gid(id, &request->peer) || !local_is_its_device(id, net, &request->local))
		return RCHAR_REASON_ADDRESS;
	memcpy(&t->request, param->private_data, sizeof(t->request));
	rchar_addr_to_bytes(t->initiator, &request->peer);
	rchar_addr_to_bytes(t->acceptor, &request->local);
	t->initiator_qpn = cpu_to_le32(transcript_qpn(id, param->qp_num));
	return RCHAR_REASON_NONE;
}

/* Refuse a request that no well-behaved peer with the right key sends, and say so in the log. */
static int cm_refuse_bad(struct rdma_cm_id *id, const struct rchar_cm_request *request,
			 enum rchar_reason reason)
{
	pr_warn_ratelimited("connection request from %pISpc refused: %s\n", &request->peer,
			    rchar_reason_name(reason));
	return cm_refuse(id, reason);
}

/**
 * rchar_cm_accept() - process a connection request to a listener
 * @net: network namespace of the listener
 * @id: the new cm_id
 * @event: RDMA_CM_EVENT_CONNECT_REQUEST
 *
 * Context: CM event handler, with the mutexes of the listener and of @id held.
 * Return: return value for the handler: 0 when a lane has taken over @id.
 */
int rchar_cm_accept(struct net *net, struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct rchar_cm_request request;
	struct rchar_lane *lane;
	enum rchar_reason reason;

	reason = read_request(&request, net, id, &event->param.conn);
	if (reason) {
		atomic64_inc(&nr_bad);
		return cm_refuse_bad(id, &request, reason);
	}
	reason = accept_request(&request, &lane);
	if (rchar_reason_denies(reason)) {
		atomic64_inc(&nr_denied);
		return cm_refuse_bad(id, &request, reason);
	}
	if (reason)
		return cm_refuse(id, reason);
	lane->cm_id = id;
	lane->requested_in = event->param.conn.responder_resources;
	lane->requested_out = event->param.conn.initiator_depth;
	id->context = lane;
	id->event_handler = lane_handler;
	rchar_lane_start(lane);
	rchar_lane_connect(lane);
	complete(&lane->started);
	return 0;
}

/* ---- both ---- */

/**
 * rchar_cm_connect() - create the verbs objects; then request the connection, or accept it
 * @lane: a lane whose route is resolved, or of a request that is not refused. Its teardown waits
 *	  for this function.
 *
 * Not called from the event handler. A device needs milliseconds for a queue pair, and on
 * soft-iWARP rdma_connect() waits for TCP (siw_connect() in drivers/infiniband/sw/siw/siw_cm.c). In
 * the handler, that would block the CM's work queue for all users, and connections would be made
 * one after the other. As in a handler, the handler lock excludes events of this cm_id while the
 * connection is requested or accepted.
 */
void rchar_cm_connect(struct rchar_lane *lane)
{
	if (!lane->initiator && !accept_setup(lane))
		return;
	rdma_lock_handler(lane->cm_id);
	if (lane->initiator)
		connect_locked(lane);
	else
		accept_locked(lane);
	rdma_unlock_handler(lane->cm_id);
}
