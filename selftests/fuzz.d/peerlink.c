// SPDX-License-Identifier: GPL-2.0
/* Connections that may fail at any point: nothing here ends the program. */
#include "peerplay.h"
#include <netdb.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEND_ID	       1000
#define RDMA_ID	       2000
#define MOST_UNDER_WAY (SENDS - 4)

uint8_t own_memory[OWN] __attribute__((aligned(4096)));
struct psk fuzz_key;

static bool post_receive(struct conn *c, uint64_t i)
{
	struct ibv_sge sge = { (uintptr_t)(c->mem + i * BUF), BUF, c->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	return !ibv_post_recv(c->id->qp, &wr, &bad);
}

/*
 * What connections of this process have in common, and buffers that they use in turn: to
 * register memory takes longer than to connect.
 */
static struct ibv_pd *pd;
static struct ibv_mr *local, *own;
static struct spare {
	uint8_t *mem;
	struct ibv_mr *mr;
	bool used;
} spares[NR_LANES];

static bool register_memory(struct ibv_context *verbs)
{
	int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
		  IBV_ACCESS_REMOTE_ATOMIC;

	if (!pd)
		pd = ibv_alloc_pd(verbs);
	if (pd && !local)
		local = ibv_reg_mr(pd, own_memory, OWN, IBV_ACCESS_LOCAL_WRITE);
	if (pd && !own)
		own = ibv_reg_mr_iova(pd, own_memory, OWN, 0, all);
	return local && own;
}

static struct spare *take_spare(void)
{
	struct spare *s = spares;

	while (s < spares + NR_LANES && s->used)
		s++;
	if (s == spares + NR_LANES)
		return NULL;
	if (!s->mem)
		s->mem = calloc(DEPTH + SENDS, BUF);
	if (s->mem && !s->mr)
		s->mr = ibv_reg_mr(pd, s->mem, (DEPTH + SENDS) * BUF, IBV_ACCESS_LOCAL_WRITE);
	if (!s->mr)
		return NULL;
	s->used = true;
	return s;
}

static bool set_up(struct lane *l)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 64,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct conn *c = &l->c;
	int i;

	l->there = true;
	if (!register_memory(c->id->verbs))
		return false;
	l->spare = take_spare();
	if (!l->spare)
		return false;
	c->pd = pd;
	c->mem = l->spare->mem;
	c->mr = l->spare->mr;
	l->own_key = own->rkey;
	c->cq = ibv_create_cq(c->id->verbs, 256, NULL, NULL, 0);
	attr.send_cq = c->cq;
	attr.recv_cq = c->cq;
	if (!c->cq || rdma_create_qp(c->id, pd, &attr))
		return false;
	for (i = 0; i < DEPTH; i++)
		if (!post_receive(c, i))
			return false;
	return true;
}

/* Sometimes with what is under way on it. */
void drop_lane(struct lane *l, struct rng *r)
{
	struct conn *c = &l->c;

	if (c->id && c->id->qp && one_in(r, 2))
		rdma_disconnect(c->id);
	if (c->id && c->id->qp)
		rdma_destroy_qp(c->id);
	if (c->cq)
		ibv_destroy_cq(c->cq);
	if (c->id)
		rdma_destroy_id(c->id);
	if (c->events)
		rdma_destroy_event_channel(c->events);
	if (l->spare)
		l->spare->used = false;
	/* What it was told of is another key's. */
	if (own && one_in(r, 8)) {
		ibv_dereg_mr(own);
		own = NULL;
	}
	memset(l, 0, sizeof(*l));
}

static struct addrinfo *address(int port)
{
	struct addrinfo *ai;
	char text[8];

	snprintf(text, sizeof(text), "%d", port);
	return getaddrinfo(peer_addr, text, NULL, &ai) ? NULL : ai;
}

static bool resolve(struct conn *c, int port)
{
	struct addrinfo *ai = address(port);
	bool ok;

	ok = ai && c->events && !rdma_create_id(c->events, &c->id, NULL, RDMA_PS_TCP) &&
	     !rdma_resolve_addr(c->id, NULL, ai->ai_addr, 2000) &&
	     next_event(c, 3000) == RDMA_CM_EVENT_ADDR_RESOLVED &&
	     !rdma_resolve_route(c->id, 2000) &&
	     next_event(c, 3000) == RDMA_CM_EVENT_ROUTE_RESOLVED;
	if (ai)
		freeaddrinfo(ai);
	return ok;
}

/* The request with a tag, which may be spoilt afterwards. */
static void sign(struct peer *p, struct lane *l)
{
	struct psk_transcript *t = &l->said;

	l->keyed = true;
	l->encrypted = p->encrypted;
	t->request.key = htole16(fuzz_key.id);
	if (l->encrypted)
		t->request.caps |= htole32(RCHAR_CAP_ENCRYPTED);
	l->c.qp = l->c.id->qp;
	psk_ends(t, &l->c, true);
	psk_request_tag(t->request.nonce + PSK_TAG_AT, t, &fuzz_key);
	if (p->mood.mutate && one_in(&p->rng, 12))
		((uint8_t *)&t->request)[below(&p->rng, sizeof(t->request))] ^= 1 << below(&p->rng,
											   8);
}

/* Returns the event that ends the attempt; -1: none within @wait_ms, or nothing was sent. */
int dial_any(struct peer *p, struct lane *l, const struct rchar_wire_privdata *req, int len,
	     int wait_ms)
{
	struct rdma_conn_param param = {
		.private_data = &l->said.request,
		.private_data_len = len,
		.responder_resources = 1 + below(&p->rng, 4),
		.initiator_depth = 1 + below(&p->rng, 4),
		.retry_count = 6,
		.rnr_retry_count = below(&p->rng, 8),
	};
	int event;

	memset(l, 0, sizeof(*l));
	l->c.events = rdma_create_event_channel();
	if (!resolve(&l->c, RCHAR_PORT) || !set_up(l))
		return -1;
	l->said.request = *req;
	if (p->keyed)
		sign(p, l);
	log_input(
		"request lane %u/%u link %llx epoch %x attempt %u frame_size %u depth %u resume %u len %d key %x",
		req->lane, req->lanes, (unsigned long long)le64toh(req->link_id),
		le32toh(req->epoch), le32toh(req->attempt), le32toh(req->frame_size),
		le16toh(req->depth), le32toh(req->resume), len, le16toh(l->said.request.key));
	atomic_fetch_add(&shared->count[REQUESTS], 1);
	if (rdma_connect(l->c.id, &param))
		return -1;
	event = next_event(&l->c, wait_ms);
	l->said.reply = l->c.reply;
	l->said.acceptor_qpn = htole32(l->c.peer_qpn);
	if (l->encrypted) {
		memcpy(l->said.acceptor_public, l->c.peer_public, sizeof(l->said.acceptor_public));
		seal_begin(&l->seal, l->said.initiator_public);
	}
	l->credits = le16toh(l->c.reply.depth);
	l->small = l->c.reply.caps & htole32(RCHAR_CAP_GROWS) ? l->credits : 0;
	l->grows = l->said.request.caps & htole32(RCHAR_CAP_GROWS);
	return event;
}

/* Takes @id over, and accepts with that reply. */
int answer_any(struct peer *p, struct lane *l, struct rdma_cm_id *id,
	       const struct rchar_wire_privdata *rep, int len)
{
	struct rdma_conn_param param = {
		.private_data = rep,
		.private_data_len = len,
		.responder_resources = 1 + below(&p->rng, 4),
		.initiator_depth = 1 + below(&p->rng, 4),
		.rnr_retry_count = 7,
	};

	memset(l, 0, sizeof(*l));
	l->c.id = id;
	l->c.events = rdma_create_event_channel();
	if (!l->c.events || rdma_migrate_id(id, l->c.events) || !set_up(l))
		return -1;
	log_input("reply lane %u/%u epoch %x attempt %u frame_size %u depth %u resume %u len %d",
		  rep->lane, rep->lanes, le32toh(rep->epoch), le32toh(rep->attempt),
		  le32toh(rep->frame_size), le16toh(rep->depth), le32toh(rep->resume), len);
	atomic_fetch_add(&shared->count[REQUESTS], 1);
	l->credits = le16toh(p->conn.depth);
	l->small = p->conn.caps & htole32(RCHAR_CAP_GROWS) ? l->credits : 0;
	l->grows = rep->caps & htole32(RCHAR_CAP_GROWS);
	return rdma_accept(id, &param);
}

bool listen_here(struct conn *c)
{
	struct addrinfo *ai = address(OWN_PORT);
	bool ok;

	memset(c, 0, sizeof(*c));
	c->events = rdma_create_event_channel();
	ok = ai && c->events && !rdma_create_id(c->events, &c->id, NULL, RDMA_PS_TCP) &&
	     !rdma_bind_addr(c->id, ai->ai_addr) && !rdma_listen(c->id, 16);
	if (ai)
		freeaddrinfo(ai);
	return ok;
}

static void received(struct peer *p, struct lane *l, const struct ibv_wc *wc)
{
	const struct frame *f = (void *)(l->c.mem + wc->wr_id * BUF);
	int len = wc->byte_len - (l->encrypted ? SEAL_TAG_LEN : 0);
	static struct frame plain;

	atomic_fetch_add(&shared->count[HEARD], 1);
	if (l->encrypted && l->c.seal) {
		if (seal_open(&l->seal.rx, &plain, (const uint8_t *)f, wc->byte_len))
			atomic_fetch_add(&shared->count[SEALED], 1);
		else
			finding("a bad seal", "of %u bytes, op %u", wc->byte_len, f->h.op);
		f = &plain;
	}
	if (len < (int)sizeof(f->h) || le32toh(f->h.len) != len - sizeof(f->h))
		finding("a bad frame", "of %u bytes came, op %u", wc->byte_len, f->h.op);
	else
		heard(p, l, f, len - sizeof(f->h));
	if (p->mood.no_reading && one_in(&p->rng, 2))
		return;
	if (!post_receive(&l->c, wc->wr_id))
		l->c.gone = true;
	else if (p->mood.no_credits)
		l->withheld++;
	else
		l->c.granted++;
}

/* What completed, for @ms at most while there is nothing. */
void pump(struct peer *p, struct lane *l, int ms)
{
	long long end = now_ms() + ms;
	struct ibv_wc wc;
	int n = 0;

	while (l->there && !l->c.gone && n < 200) {
		if (ibv_poll_cq(l->c.cq, 1, &wc) == 1) {
			n++;
			if (wc.wr_id >= SEND_ID)
				l->under_way--;
			if (wc.status)
				l->c.gone = true;
			else if (wc.wr_id < SEND_ID)
				received(p, l, &wc);
			continue;
		}
		if (n || now_ms() >= end)
			break;
		cq_pause();
	}
	/* A look at the events is a system call. */
	if (l->there && one_in(&p->rng, 16))
		next_event(&l->c, 0);
}

static bool post(struct peer *p, struct lane *l, struct ibv_send_wr *wr)
{
	long long end = now_ms() + 2000;
	struct ibv_send_wr *bad;

	while (l->under_way >= MOST_UNDER_WAY && !l->c.gone && now_ms() < end)
		pump(p, l, 5);
	if (!l->there || l->c.gone || l->under_way >= MOST_UNDER_WAY)
		return false;
	wr->send_flags = IBV_SEND_SIGNALED;
	if (ibv_post_send(l->c.id->qp, wr, &bad)) {
		l->c.gone = true;
		return false;
	}
	l->under_way++;
	return true;
}

/* The frame as an encrypted link has it; sometimes spoilt, sometimes not sealed. */
static int sealed(struct peer *p, struct lane *l, uint8_t *out, const struct frame *f, int len)
{
	bool whole = len >= (int)sizeof(f->h) && len <= (int)sizeof(*f) && l->c.seal;

	if (!whole || (p->mood.mutate && one_in(&p->rng, p->mood.mutate * 8))) {
		len = len > (int)sizeof(*f) ? (int)sizeof(*f) : len;
		memcpy(out, f, len);
		return len;
	}
	len = seal_bytes(&l->seal.tx, out, f, len - sizeof(f->h));
	if (p->mood.mutate && one_in(&p->rng, p->mood.mutate * 8))
		out[below(&p->rng, len)] ^= 1 << below(&p->rng, 8);
	return len;
}

static uint8_t *send_buffer(struct lane *l)
{
	return l->c.mem + (DEPTH + l->c.sent++ % SENDS) * BUF;
}

/* What is in a buffer to send from; counts as a frame. */
static bool post_buffer(struct peer *p, struct lane *l, uint8_t *buf, int len, int opcode)
{
	struct ibv_sge sge = { (uintptr_t)buf, len, l->c.mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = SEND_ID, .sg_list = &sge, .num_sge = 1, .opcode = opcode
	};

	atomic_fetch_add(&shared->count[FRAMES], 1);
	l->credits--;
	if (l->small)
		l->small--;
	return post(p, l, &wr);
}

/* Exactly these bytes. */
bool post_bytes(struct peer *p, struct lane *l, const struct frame *f, int len)
{
	int opcode = one_in(&p->rng, 3000) ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
	uint8_t *buf = send_buffer(l);

	log_input("frame op %u flags %#x session %u len %u/%d seq %u ack %u credits %u window %u",
		  f->h.op, f->h.flags, le32toh(f->h.session), le32toh(f->h.len), len,
		  le32toh(f->h.seq), le32toh(f->h.ack), le16toh(f->h.credits),
		  le32toh(f->h.window));
	if (l->encrypted)
		len = sealed(p, l, buf, f, len);
	else
		memcpy(buf, f, len);
	return post_buffer(p, l, buf, len, opcode);
}

/* From or to memory of ours; nobody waits for it. */
bool post_rdma(struct peer *p, struct lane *l, int opcode, uint32_t key, uint64_t at, uint32_t len)
{
	uint32_t from = below(&p->rng, OWN - len + 1) & ~7u;
	struct ibv_sge sge = { (uintptr_t)own_memory + from, len, local->lkey };
	struct ibv_send_wr wr = {
		.wr_id = RDMA_ID, .sg_list = &sge, .num_sge = 1, .opcode = opcode
	};

	wr.wr.rdma.remote_addr = at;
	wr.wr.rdma.rkey = key;
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		sge.length = 8;
		wr.wr.atomic.remote_addr = at;
		wr.wr.atomic.rkey = key;
		wr.wr.atomic.compare_add = 1;
	}
	log_input("rdma %d key %x at %llx len %u", opcode, key, (unsigned long long)at, len);
	atomic_fetch_add(&shared->count[RDMAS], 1);
	return post(p, l, &wr);
}

/* HELLO of an encrypted connection is not sealed, and all that follows is. */
static bool greet_encrypted(struct peer *p, struct lane *l)
{
	uint8_t *buf = send_buffer(l);
	struct frame f;
	int len;

	seal_hello(&f, &l->c, &l->said, &fuzz_key);
	len = seal_plain(buf, &f);
	if (p->mood.mutate && one_in(&p->rng, p->mood.mutate * 4))
		buf[below(&p->rng, len)] ^= 1 << below(&p->rng, 8);
	seal_conn(&l->c, &l->seal, &l->said, &fuzz_key, true);
	return post_buffer(p, l, buf, len, IBV_WR_SEND);
}

/* HELLO or READY. */
bool greet(struct peer *p, struct lane *l, int op, const uint8_t *nonce)
{
	struct rchar_wire_hello *h;
	uint8_t ready_mac[PSK_MAC_LEN];
	struct frame f;

	if (l->encrypted && !l->c.seal)
		return greet_encrypted(p, l);
	fill(&l->c, &f, op, 0, sizeof(*h));
	h = (void *)f.payload;
	memset(h, 0, sizeof(*h));
	memcpy(h->nonce, nonce, sizeof(h->nonce));
	if (l->keyed)
		psk_greetings(h->mac, ready_mac, &l->said, &fuzz_key);
	if (p->mood.mutate && one_in(&p->rng, p->mood.mutate * 4))
		((uint8_t *)h)[below(&p->rng, sizeof(*h))] ^= 1 << below(&p->rng, 8);
	return post_bytes(p, l, &f, sizeof(f.h) + sizeof(*h));
}
