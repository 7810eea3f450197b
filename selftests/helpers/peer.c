// SPDX-License-Identifier: GPL-2.0
#include "peer.h"
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *peer_addr, *peer_source;
bool peer_is_patient;
int links_made;

void bail(const char *what)
{
	perror(what);
	printf("Bail out! %s\n", what);
	exit(1);
}

void shell(const char *format, ...)
{
	char text[200];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (system(text))
		bail(text);
}

long shell_number(const char *text)
{
	FILE *p = popen(text, "r");
	long n;

	if (!p || fscanf(p, "%ld", &n) != 1)
		bail(text);
	pclose(p);
	return n;
}

long longest_walk(void)
{
	return shell_number("cat /sys/kernel/debug/rdma_char/longest_walk");
}

void forget_walks(void)
{
	shell("echo 0 >/sys/kernel/debug/rdma_char/longest_walk");
}

static void post_recv(struct conn *c, uint64_t i)
{
	struct ibv_sge sge = { (uintptr_t)(c->mem + i * BUF), BUF, c->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(c->qp, &wr, &bad))
		bail("ibv_post_recv");
}

/* The next CM event within ms, or -1. Keeps what is needed of it. */
int next_event(struct conn *c, int ms)
{
	struct pollfd p = { .fd = c->events->fd, .events = POLLIN };
	struct rdma_cm_event *e;
	int type;

	if (poll(&p, 1, ms) <= 0 || rdma_get_cm_event(c->events, &e))
		return -1;
	type = e->event;
	if ((type == RDMA_CM_EVENT_ESTABLISHED || type == RDMA_CM_EVENT_CONNECT_RESPONSE) &&
	    e->param.conn.private_data) {
		memcpy(&c->reply, e->param.conn.private_data, sizeof(c->reply));
		if (e->param.conn.private_data_len >= sizeof(struct rchar_wire_reply))
			memcpy(c->peer_public, e->param.conn.private_data + sizeof(c->reply),
			       sizeof(c->peer_public));
		c->peer_qpn = e->param.conn.qp_num;
		c->may_read = e->param.conn.responder_resources;
		c->reads = e->param.conn.initiator_depth;
	}
	if (type == RDMA_CM_EVENT_REJECTED) {
		const struct rchar_wire_reject *r = e->param.conn.private_data;

		c->reject_reason = r && r->magic == htole32(RCHAR_WIRE_MAGIC) ? le16toh(r->reason) :
										-1;
	}
	/* The latter when it broke before our RTU was there. */
	if (type == RDMA_CM_EVENT_DISCONNECTED || type == RDMA_CM_EVENT_REJECTED ||
	    type == RDMA_CM_EVENT_DEVICE_REMOVAL)
		c->gone = true;
	rdma_ack_cm_event(e);
	return type;
}

/*
 * The module under test asks who connects not to wait for receive buffers. A patient peer does
 * so all the same: its queue pair is its own business.
 */
static void move_qp(struct conn *c, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	if (rdma_init_qp_attr(c->id, &attr, &mask))
		bail("rdma_init_qp_attr");
	attr.rnr_retry = 7;
	if (ibv_modify_qp(c->qp, &attr, mask))
		bail("ibv_modify_qp");
}

void setup_qp(struct conn *c)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 64,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	int i;

	c->pd = ibv_alloc_pd(c->id->verbs);
	c->cq = ibv_create_cq(c->id->verbs, 128, NULL, NULL, 0);
	c->mem = calloc(DEPTH + SENDS, BUF);
	c->mr = ibv_reg_mr(c->pd, c->mem, (DEPTH + SENDS) * BUF, IBV_ACCESS_LOCAL_WRITE);
	attr.send_cq = c->cq;
	attr.recv_cq = c->cq;
	if (peer_is_patient)
		c->qp = c->mr ? ibv_create_qp(c->pd, &attr) : NULL;
	else if (c->mr && !rdma_create_qp(c->id, c->pd, &attr))
		c->qp = c->id->qp;
	if (!c->qp)
		bail("creating a queue pair");
	if (peer_is_patient)
		move_qp(c, IBV_QPS_INIT);
	for (i = 0; i < DEPTH; i++)
		post_recv(c, i);
}

void good_request(struct rchar_wire_privdata *r)
{
	memset(r, 0, sizeof(*r));
	r->magic = htole32(RCHAR_WIRE_MAGIC);
	r->major = RCHAR_WIRE_MAJOR;
	r->lanes = 1;
	r->link_id = htole64((uint64_t)getpid() << 32 | ++links_made);
	r->attempt = htole32(1);
	r->frame_size = htole32(FRAME);
	r->depth = htole16(DEPTH);
	memset(r->nonce, 0x5a, sizeof(r->nonce));
}

void good_reply(struct rchar_wire_privdata *r, const struct rchar_wire_privdata *request)
{
	good_request(r);
	r->lane = request->lane;
	r->lanes = request->lanes;
	r->link_id = request->link_id;
	r->attempt = request->attempt;
	r->epoch = htole32(getpid());
}

/* Everything that a request needs. */
void dial_prepare(struct conn *c)
{
	struct addrinfo *ai, *from = NULL;

	memset(c, 0, sizeof(*c));
	c->events = rdma_create_event_channel();
	if (getaddrinfo(peer_addr, "7471", NULL, &ai) ||
	    (peer_source && getaddrinfo(peer_source, NULL, NULL, &from)) ||
	    rdma_create_id(c->events, &c->id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(c->id, from ? from->ai_addr : NULL, ai->ai_addr, 20000) ||
	    next_event(c, LONG_MS) != RDMA_CM_EVENT_ADDR_RESOLVED ||
	    rdma_resolve_route(c->id, 20000) ||
	    next_event(c, LONG_MS) != RDMA_CM_EVENT_ROUTE_RESOLVED)
		bail("resolve");
	freeaddrinfo(ai);
	if (from)
		freeaddrinfo(from);
	setup_qp(c);
}

/*
 * Sends the request in the name of any queue pair. With a retry_count of 7 soft-RoCE in 6.1 asks a
 * queue pair that is gone for ever (rxe_comp.c).
 */
void dial_as(struct conn *c, const struct rchar_wire_privdata *req, int len, uint32_t qpn)
{
	struct ibv_qp *of_id = c->id->qp;
	struct rdma_conn_param param = {
		.private_data = req,
		.private_data_len = len,
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 6,
		.rnr_retry_count = 7,
		.qp_num = qpn,
	};

	/* librdmacm names the queue pair of the id, if there is one. */
	if (qpn != c->qp->qp_num)
		c->id->qp = NULL;
	if (rdma_connect(c->id, &param))
		bail("rdma_connect");
	c->id->qp = of_id;
}

void dial_begin(struct conn *c, const struct rchar_wire_privdata *req, int len)
{
	dial_as(c, req, len, c->qp->qp_num);
}

/* Returns the event that ends the attempt. */
int dial_end(struct conn *c)
{
	int event = next_event(c, LONG_MS);

	if (event != RDMA_CM_EVENT_CONNECT_RESPONSE)
		return event;
	move_qp(c, IBV_QPS_RTR);
	move_qp(c, IBV_QPS_RTS);
	if (rdma_establish(c->id))
		bail("rdma_establish");
	return RDMA_CM_EVENT_ESTABLISHED;
}

int dial(struct conn *c, const struct rchar_wire_privdata *req, int len)
{
	dial_prepare(c);
	dial_begin(c, req, len);
	return dial_end(c);
}

void hang_up(struct conn *c)
{
	rdma_disconnect(c->id);
	if (peer_is_patient)
		ibv_destroy_qp(c->qp);
	else
		rdma_destroy_qp(c->id);
	ibv_dereg_mr(c->mr);
	ibv_destroy_cq(c->cq);
	ibv_dealloc_pd(c->pd);
	rdma_destroy_id(c->id);
	rdma_destroy_event_channel(c->events);
	free(c->mem);
}

/* Sends exactly these bytes. */
void send_raw(struct conn *c, const void *data, int len)
{
	uint8_t *buf = c->mem + (DEPTH + c->sent++ % SENDS) * BUF;
	struct ibv_sge sge = { (uintptr_t)buf, len, c->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 1000,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;

	if (c->invalidates) {
		wr.opcode = IBV_WR_SEND_WITH_INV;
		wr.invalidate_rkey = c->invalidate_key;
	}
	memcpy(buf, data, len);
	if (ibv_post_send(c->qp, &wr, &bad))
		bail("ibv_post_send");
}

/* A header that is right in all fields; what it is about comes from the caller. */
void fill(struct conn *c, struct frame *f, int op, uint32_t session, uint32_t len)
{
	memset(&f->h, 0, sizeof(f->h));
	f->h.op = op;
	f->h.session = htole32(session);
	f->h.len = htole32(len);
	f->h.credits = htole16(c->granted);
	f->h.ack = htole32(c->ack);
	c->granted = 0;
	if (op >= RCHAR_OP_OPEN) {
		f->h.seq = htole32(c->seq++);
		f->h.window = htole32(65536);
	}
}

void send_frame(struct conn *c, struct frame *f)
{
	uint8_t sealed[BUF];

	if (c->wrap)
		send_raw(c, sealed, c->wrap(c, sealed, f));
	else
		send_raw(c, f, sizeof(f->h) + le32toh(f->h.len));
}

/* The next frame of the peer within ms: its op, or 0. Payload in *f. */
int receive(struct conn *c, struct frame *f, int ms)
{
	long long end = now_ms() + ms;
	struct ibv_wc wc;

	do {
		if (next_event(c, 0) >= 0 && c->gone)
			return 0;
		if (ibv_poll_cq(c->cq, 1, &wc) != 1) {
			cq_pause();
			continue;
		}
		if (wc.wr_id == 1000 || wc.status)
			continue;
		if (!c->unwrap)
			memcpy(f, c->mem + wc.wr_id * BUF, wc.byte_len);
		else if (!c->unwrap(c, f, c->mem + wc.wr_id * BUF, wc.byte_len))
			bail("a frame of the module is not sealed as it should be");
		/* Tests look at the flags of the op only. */
		f->h.flags &= ~RCHAR_FRAME_LANE;
		post_recv(c, wc.wr_id);
		c->granted++;
		if (f->h.op >= RCHAR_OP_OPEN)
			c->ack = le32toh(f->h.seq) + 1;
		return f->h.op;
	} while (now_ms() < end);
	return 0;
}

int receive_op(struct conn *c, struct frame *f, int op)
{
	int got;

	while ((got = receive(c, f, LONG_MS)) && got != op)
		;
	return got == op;
}

struct frame *fill_ready(struct conn *c, struct frame *f, const uint8_t *mac)
{
	struct rchar_wire_hello *h = (void *)f->payload;

	fill(c, f, RCHAR_OP_READY, 0, sizeof(*h));
	memcpy(h->nonce, c->reply.nonce, sizeof(h->nonce));
	memcpy(h->mac, mac, sizeof(h->mac));
	return f;
}

bool hello(struct conn *c, int spoil)
{
	struct rchar_wire_hello *h;
	struct frame f;

	fill(c, &f, RCHAR_OP_HELLO, 0, sizeof(*h));
	h = (void *)f.payload;
	memset(h, 0, sizeof(*h));
	memcpy(h->nonce, c->reply.nonce, sizeof(h->nonce));
	h->nonce[3] ^= spoil;
	send_frame(c, &f);
	return receive_op(c, &f, RCHAR_OP_READY);
}

/*
 * The small buffers that the module posts at first are used up then, and large ones follow: as many
 * as tests send frames without a look at their credits.
 */
void use_up_small(struct conn *c)
{
	int i, n = le16toh(c->reply.depth) + DEPTH;
	struct frame f;

	for (i = 0; i < n; i++) {
		fill(c, &f, RCHAR_OP_PING, 0, 0);
		f.h.flags = RCHAR_FRAME_WANT;
		send_frame(c, &f);
		if (!receive_op(c, &f, RCHAR_OP_PONG))
			bail("no PONG");
	}
}

/* A whole handshake with a request that is good. */
void connect_with(struct conn *c, const struct rchar_wire_privdata *request)
{
	if (dial(c, request, sizeof(*request)) != RDMA_CM_EVENT_ESTABLISHED || !hello(c, 0))
		bail("a good handshake failed");
}

/* A link that is up, and a request for its next attempt. */
void link_up(struct conn *c, struct rchar_wire_privdata *next)
{
	good_request(next);
	connect_with(c, next);
	use_up_small(c);
	next->attempt = htole32(2);
	next->epoch = c->reply.epoch;
}

void connect_well(struct conn *c)
{
	struct rchar_wire_privdata next;

	link_up(c, &next);
}

/* Waits for who calls at that port of @peer_addr; c->reply is the request. */
void wait_for_request(struct conn *c, const char *port)
{
	struct rdma_cm_id *listener;
	struct rdma_cm_event *e;
	struct addrinfo *ai;

	memset(c, 0, sizeof(*c));
	c->events = rdma_create_event_channel();
	if (getaddrinfo(peer_addr, port, NULL, &ai) ||
	    rdma_create_id(c->events, &listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener, ai->ai_addr) || rdma_listen(listener, 1) ||
	    rdma_get_cm_event(c->events, &e) || e->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		bail("waiting for a request");
	freeaddrinfo(ai);
	c->id = e->id;
	memcpy(&c->reply, e->param.conn.private_data, sizeof(c->reply));
	c->peer_qpn = e->param.conn.qp_num;
	rdma_ack_cm_event(e);
	rdma_destroy_id(listener);
}

/*
 * The acceptor's half of a good handshake, with who calls first at that port of @peer_addr.
 * c->reply is what the other side said of itself, which is the request here.
 */
void accept_well(struct conn *c, const char *port)
{
	struct rchar_wire_privdata reply;
	struct rdma_conn_param param = {
		.private_data = &reply,
		.private_data_len = sizeof(reply),
		.responder_resources = 1,
		.initiator_depth = 1,
		.rnr_retry_count = 7,
	};
	const uint8_t no_mac[RCHAR_WIRE_MAC_LEN] = { 0 };
	struct frame f;

	wait_for_request(c, port);
	good_reply(&reply, &c->reply);
	setup_qp(c);
	if (rdma_accept(c->id, &param) || !receive_op(c, &f, RCHAR_OP_HELLO))
		bail("accepting a connection");
	send_frame(c, fill_ready(c, &f, no_mac));
}

void fill_open(struct conn *c, struct frame *f, uint32_t session, const char *name, int type,
	       uint32_t max_message)
{
	struct rchar_wire_open *o = (void *)f->payload;

	fill(c, f, RCHAR_OP_OPEN, session, sizeof(*o));
	memset(o, 0, sizeof(*o));
	o->type = type;
	o->max_message = htole32(max_message);
	strcpy((char *)o->name, name);
}

/* Session 1. */
void send_open(struct conn *c, const char *name, int type, uint32_t max_message)
{
	struct frame f;

	fill_open(c, &f, 1, name, type, max_message);
	send_frame(c, &f);
}

#define RDMA_ID 2000

/*
 * Between memory here, which @mr registers, and that of @key; true when it worked. A peer that
 * hangs up may take the acknowledgment with it.
 */
bool rdma_by(struct conn *c, int opcode, void *mem, const struct ibv_mr *mr, uint32_t key,
	     uint64_t addr, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)mem, len, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = RDMA_ID,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	long long end;

	wr.wr.rdma.remote_addr = addr;
	wr.wr.rdma.rkey = key;
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = addr;
		wr.wr.atomic.rkey = key;
		wr.wr.atomic.compare_add = 1;
	}
	if (ibv_post_send(c->qp, &wr, &bad))
		bail("ibv_post_send");
	for (end = now_ms() + LONG_MS; now_ms() < end && !c->gone;) {
		if (ibv_poll_cq(c->cq, 1, &wc) == 1 && wc.wr_id == RDMA_ID)
			return wc.status == IBV_WC_SUCCESS;
		cq_pause();
		next_event(c, 0);
	}
	return false;
}

/* With the time since the one before: what takes longest is seen, nothing is judged by it. */
void result(const char *name, bool ok)
{
	static long long before;
	long long now = now_ms();

	if (before)
		test_result(ok, name, " # %lld ms", now - before);
	else
		test_result(ok, name, "%s", "");
	before = now;
}

bool disconnected(struct conn *c)
{
	struct frame f;
	long long end = now_ms() + LONG_MS;

	while (!c->gone && now_ms() < end)
		receive(c, &f, 10);
	return c->gone;
}

bool alive(struct conn *c)
{
	struct frame f;

	fill(c, &f, RCHAR_OP_PING, 0, 0);
	send_frame(c, &f);
	return receive_op(c, &f, RCHAR_OP_PONG);
}
