// SPDX-License-Identifier: GPL-2.0
/*
 * Frames: a model of the sessions makes ones that mean something, and some of them are
 * changed before they are sent.
 */
#include "peerplay.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST	    16000u /* bytes of a frame of ours */
#define MAX_MESSAGE 30000u

struct mood some_mood(struct rng *r)
{
	static const uint32_t rates[] = { 0, 0, 1000, 300, 300, 100, 30, 10 };
	struct mood m = { .mutate = PICK(r, rates) };

	m.no_credits = one_in(r, 12);
	m.no_acks = one_in(r, 12);
	m.no_reading = one_in(r, 30);
	return m;
}

void mutate_conn(struct rng *r, struct rchar_wire_privdata *conn)
{
	uint8_t *bytes = (void *)conn;
	uint32_t at = below(r, sizeof(*conn) / 4) * 4;
	uint64_t odd = boundary(r);

	switch (below(r, 9)) {
	case 0:
		conn->epoch = htole32(odd);
		break;
	case 1:
		conn->attempt = htole32(odd);
		break;
	case 2:
		conn->resume = htole32(le32toh(conn->resume) + below(r, 5) - 2);
		break;
	case 3:
		conn->frame_size = htole32(one_in(r, 2) ? odd : 1024 + below(r, 4096));
		break;
	case 4:
		conn->depth = htole16(one_in(r, 2) ? odd : below(r, 40));
		break;
	case 5:
		conn->lanes = below(r, 18);
		conn->lane = below(r, 4);
		break;
	case 6:
		conn->resume = htole32(odd);
		break;
	case 7:
		memcpy(bytes + at, &odd, 4);
		break;
	default:
		bytes[below(r, sizeof(*conn))] ^= 1 << below(r, 8);
	}
}

/* ---- frames that are right ---- */

static struct lane *lane_of(struct peer *p, const struct session *s)
{
	return &p->lanes[p->nr_lanes ? s->id % p->nr_lanes : 0];
}

static int mutate_frame(struct peer *p, struct frame *f, int len)
{
	struct rng *r = &p->rng;
	uint32_t payload = len - sizeof(f->h), odd = boundary(r);

	switch (below(r, 14)) {
	case 0:
		f->h.op = one_in(r, 2) ? below(r, 32) : below(r, 256);
		break;
	case 1:
		f->h.flags ^= 1 << below(r, 8);
		break;
	case 2:
		f->h.credits = htole16(one_in(r, 2) ? odd : le16toh(f->h.credits) + 1);
		break;
	case 3:
		f->h.len = htole32(one_in(r, 2) ? odd : le32toh(f->h.len) + below(r, 3) - 1);
		break;
	case 4:
		f->h.session = htole32(one_in(r, 2) ? odd : p->sessions[below(r, NR_SESSIONS)].id);
		break;
	case 5:
		f->h.seq = htole32(le32toh(f->h.seq) + below(r, 5) - 2);
		break;
	case 6:
		f->h.seq = htole32(odd);
		break;
	case 7:
		f->h.ack = htole32(le32toh(f->h.ack) + below(r, 5) - 2);
		break;
	case 8:
		f->h.ack = htole32(odd);
		break;
	case 9:
		f->h.window = htole32(odd);
		break;
	case 10:
	case 11: /* a field of the payload */
		if (payload >= 4)
			memcpy(f->payload + below(r, payload / 4) * 4, &odd, 4);
		break;
	case 12: /* another length, in the header as well or not */
		payload = one_in(r, 2) ? below(r, payload + 9) : below(r, 2000);
		if (one_in(r, 3))
			f->h.len = htole32(payload);
		return sizeof(f->h) + payload;
	default:
		if (one_in(r, 2))
			return below(r, len + 1) ?: 1;
		if (payload)
			f->payload[below(r, payload)] ^= 1 << below(r, 8);
	}
	return len;
}

static bool has_credit(struct peer *p, struct lane *l)
{
	if (l->credits < 2) {
		long long begun = now_ms();

		pump(p, l, 10);
		atomic_fetch_add(&shared->count[CREDIT_MS], now_ms() - begun);
	}
	return l->there && !l->c.gone &&
	       (l->credits >= 2 || (p->mood.mutate && one_in(&p->rng, p->mood.mutate)));
}

/* Ours are all large, but the peer takes the first ones for small if we said so. */
static void grant(struct peer *p, struct lane *l, struct frame *f)
{
	if (f->h.credits && l->grows && !one_in(&p->rng, 400))
		f->h.flags |= RCHAR_FRAME_LARGE;
	if (one_in(&p->rng, 30))
		f->h.flags |= RCHAR_FRAME_WANT;
}

/* Uses the small buffers up, and asks for large ones. */
static bool has_large(struct peer *p, struct lane *l)
{
	struct frame f;
	int i;

	for (i = 0; l->small > 0 && i < 64; i++) {
		if (!has_credit(p, l))
			return false;
		fill(&l->c, &f, RCHAR_OP_PING, 0, 0);
		grant(p, l, &f);
		f.h.flags |= RCHAR_FRAME_WANT;
		post_bytes(p, l, &f, sizeof(f.h));
	}
	return !l->small;
}

/*
 * The header of a frame of that session, 0: of the lane. False when it may not be sent now:
 * nothing must be said of it then.
 */
static bool begin(struct peer *p, struct lane *l, struct frame *f, int op, const struct session *s,
		  uint32_t len)
{
	if (len > RCHAR_WIRE_SMALL && !has_large(p, l) && !one_in(&p->rng, 200))
		return false;
	if (!has_credit(p, l))
		return false;
	fill(&l->c, f, op, s ? s->id : 0, len);
	grant(p, l, f);
	if (s)
		f->h.window = htole32(s->given);
	if (s && one_in(&p->rng, 4))
		f->h.flags |= RCHAR_FRAME_ACK;
	if (l->withheld && one_in(&p->rng, 300))
		f->h.credits = htole16(l->withheld);
	return true;
}

static void finish(struct peer *p, struct lane *l, struct frame *f)
{
	int len = sizeof(f->h) + le32toh(f->h.len);
	struct rng *r = &p->rng;

	if (f->h.op >= RCHAR_OP_OPEN)
		memcpy(&p->kept[l - p->lanes][le32toh(f->h.seq) % KEPT], f, len);
	if (!p->mood.mutate || !one_in(r, p->mood.mutate)) {
		post_bytes(p, l, f, len);
		if (one_in(r, 50)) {
			memcpy(&p->last, f, len);
			p->last_len = len;
		}
		return;
	}
	switch (below(r, 8)) {
	case 0: /* twice: a duplicate */
		post_bytes(p, l, f, len);
		post_bytes(p, l, f, len);
		break;
	case 1: /* an old one instead, or never */
		if (p->last_len)
			post_bytes(p, l, &p->last, p->last_len);
		break;
	case 2: /* one of another lane */
		l = &p->lanes[below(r, p->nr_lanes)];
		if (l->there)
			post_bytes(p, l, f, len);
		break;
	default:
		post_bytes(p, l, f, mutate_frame(p, f, len));
	}
}

/* The connection is a new one: keys are of the last one. */
void keep_sessions(struct peer *p, struct lane *l)
{
	int i;

	for (i = 0; i < NR_SESSIONS; i++)
		if (lane_of(p, &p->sessions[i]) == l) {
			p->sessions[i].nr_keys = 0;
			p->sessions[i].offered = false;
		}
}

/* What the module has not got of the connections before. */
void replay(struct peer *p, struct lane *l)
{
	uint32_t next = p->next_seq[l - p->lanes];

	while (l->c.seq != next && next - l->c.seq < KEPT && !l->c.gone) {
		struct frame *f = &p->kept[l - p->lanes][l->c.seq % KEPT];

		if (le32toh(f->h.seq) != l->c.seq || !has_credit(p, l) ||
		    (le32toh(f->h.len) > RCHAR_WIRE_SMALL && !has_large(p, l)))
			return;
		f->h.ack = htole32(l->c.ack);
		f->h.credits = htole16(l->c.granted);
		l->c.granted = 0;
		f->h.flags &= ~RCHAR_FRAME_LANE;
		grant(p, l, f);
		post_bytes(p, l, f, sizeof(f->h) + le32toh(f->h.len));
		l->c.seq++;
	}
}

static void send_empty(struct peer *p, struct session *s, int op)
{
	struct lane *l = lane_of(p, s);
	struct frame f;

	if (!begin(p, l, &f, op, s, 0))
		return;
	if (op == RCHAR_OP_FIN)
		s->fin = true;
	if (op == RCHAR_OP_FIN && s->type == RCHAR_TYPE_MEMORY)
		s->state = OVER;
	finish(p, l, &f);
}

static void send_status(struct peer *p, struct session *s, int op)
{
	struct rchar_wire_status status = { .reason = htole32(
						    below(&p->rng, __RCHAR_REASON_MAX + 2)) };
	struct lane *l = lane_of(p, s);
	struct frame f;

	if (op == RCHAR_OP_REFUSED && one_in(&p->rng, 2))
		status.reason = htole32(RCHAR_REASON_BACKLOG);
	if (!begin(p, l, &f, op, s, sizeof(status)))
		return;
	memcpy(f.payload, &status, sizeof(status));
	if (op == RCHAR_OP_REFUSED)
		f.h.window = 0;
	finish(p, l, &f);
	s->state = OVER;
}

static void send_bytes(struct peer *p, struct session *s, int op, int flags, uint32_t len,
		       uint32_t cost)
{
	struct lane *l = lane_of(p, s);
	struct frame f;

	if (!begin(p, l, &f, op, s, len))
		return;
	f.h.flags |= flags;
	memset(f.payload, 'P', len);
	if (!(flags & RCHAR_FRAME_INSTEAD))
		s->sent += len + cost;
	finish(p, l, &f);
}

static void send_data(struct peer *p, struct session *s)
{
	uint32_t room = s->edge - s->sent,
		 len = 1 + below(&p->rng, one_in(&p->rng, 25) ? LONGEST : 200);

	if (one_in(&p->rng, 400))
		room = LONGEST;
	if ((int32_t)room <= 0)
		return;
	send_bytes(p, s, RCHAR_OP_DATA, 0, len < room ? len : room, 0);
}

static void send_message(struct peer *p, struct session *s)
{
	uint32_t len = 1 + below(&p->rng, one_in(&p->rng, 25) ? LONGEST : 300);
	int flags = (s->in_message ? 0 : RCHAR_FRAME_FIRST) | RCHAR_FRAME_LAST;

	if (one_in(&p->rng, 4) && s->in_message + LONGEST < s->max_message) {
		flags &= ~RCHAR_FRAME_LAST;
		if (len < RCHAR_WIRE_FRAME_MIN)
			len += RCHAR_WIRE_FRAME_MIN;
	}
	if (s->in_message + len > s->max_message && !one_in(&p->rng, 300))
		return;
	if ((int32_t)(s->edge - s->sent) < (int32_t)(len + RCHAR_WIRE_MESSAGE_COST) &&
	    !one_in(&p->rng, 400))
		return;
	send_bytes(p, s, RCHAR_OP_MSG, flags, len,
		   flags & RCHAR_FRAME_LAST ? RCHAR_WIRE_MESSAGE_COST : 0);
	s->in_message = flags & RCHAR_FRAME_LAST ? 0 : s->in_message + len;
}

static void send_window(struct peer *p, struct session *s)
{
	s->given = s->got + 65536 + below(&p->rng, 65536);
	send_empty(p, s, RCHAR_OP_WINDOW);
}

static void send_rndv(struct peer *p, struct session *s)
{
	struct rchar_wire_rndv b = { .id = htole32(++s->rndv_id) };
	struct lane *l = lane_of(p, s);
	uint32_t room = s->edge - s->sent,
		 len = RCHAR_WIRE_RNDV_MIN + below(&p->rng, RCHAR_WIRE_RNDV_MIN);
	struct frame f;

	if ((int32_t)room < (int32_t)len && !one_in(&p->rng, 100))
		return;
	b.attempt = p->conn.attempt;
	b.key = htole32(l->own_key);
	if (p->mood.mutate && one_in(&p->rng, p->mood.mutate))
		b.key = rng_next(&p->rng);
	if (one_in(&p->rng, 6))
		b.attempt = htole32(7); /* it need not answer */
	b.offset = htole32(below(&p->rng, OWN - len));
	b.len = htole32(len);
	if (!begin(p, l, &f, RCHAR_OP_RNDV, s, sizeof(b)))
		return;
	memcpy(f.payload, &b, sizeof(b));
	s->sent += len;
	s->rndv_left = len;
	finish(p, l, &f);
}

static void send_instead(struct peer *p, struct session *s)
{
	uint32_t len = s->rndv_left < LONGEST ? s->rndv_left : LONGEST;

	s->rndv_left -= len;
	send_bytes(p, s, RCHAR_OP_DATA, RCHAR_FRAME_INSTEAD, len, 0);
}

/* To what the module offered, with or without having read it. */
static void send_rndv_done(struct peer *p, struct session *s)
{
	struct rchar_wire_rndv_done t = { .id = s->offer.id, .status = htole32(below(&p->rng, 2)) };
	struct lane *l = lane_of(p, s);
	struct frame f;

	if (one_in(&p->rng, 2)) {
		uint32_t len = le32toh(s->offer.len);

		if (len > OWN)
			len = OWN;
		post_rdma(p, l, IBV_WR_RDMA_READ, le32toh(s->offer.key),
			  le32toh(s->offer.offset) +
				  (p->mood.mutate && one_in(&p->rng, p->mood.mutate) ? 4096 : 0),
			  len);
	}
	if (!begin(p, l, &f, RCHAR_OP_RNDV_DONE, s, sizeof(t)))
		return;
	memcpy(f.payload, &t, sizeof(t));
	s->offered = one_in(&p->rng, 20) && !getenv("FUZZPEER_ONE_ANSWER"); /* else once more */
	finish(p, l, &f);
}

/* ---- memory ---- */

/* READ and WRITE, mostly of bytes that the region has. */
static void send_move(struct peer *p, struct session *s)
{
	uint32_t len = 1 + below(&p->rng, 4000);
	bool write = one_in(&p->rng, 2);
	struct rchar_wire_call call = {
		.call = write ? RCHAR_CALL_WRITE : RCHAR_CALL_READ,
		.id = htole32(++s->call_id),
		.offset = htole64(one_in(&p->rng, 10) ? boundary(&p->rng) :
							below(&p->rng, s->size + 2)),
		.operand = htole64(one_in(&p->rng, 40) ? boundary(&p->rng) : len),
	};
	struct lane *l = lane_of(p, s);
	struct frame f;

	if (!begin(p, l, &f, RCHAR_OP_CALL, s, sizeof(call) + (write ? len : 0)))
		return;
	memset(f.payload, 'w', sizeof(call) + len);
	memcpy(f.payload, &call, sizeof(call));
	finish(p, l, &f);
}

static void send_call(struct peer *p, struct session *s)
{
	struct rchar_wire_call call = {
		.call = 1 + below(&p->rng, RCHAR_CALL_RING),
		.id = htole32(++s->call_id),
		.offset = htole64(one_in(&p->rng, 10) ? boundary(&p->rng) :
							8 * below(&p->rng, s->size / 8 + 2)),
		.operand = htole64(rng_next(&p->rng)),
		.compare = htole64(one_in(&p->rng, 2) ? 0 : rng_next(&p->rng)),
	};
	struct lane *l = lane_of(p, s);
	struct frame f;

	if (!begin(p, l, &f, RCHAR_OP_CALL, s, sizeof(call)))
		return;
	memcpy(f.payload, &call, sizeof(call));
	finish(p, l, &f);
}

static void reach_region(struct peer *p, struct session *s)
{
	static const int ops[] = { IBV_WR_RDMA_READ, IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE,
				   IBV_WR_RDMA_WRITE };
	uint32_t chunk = s->nr_keys ? below(&p->rng, s->nr_keys) : 0,
		 len = 1 + below(&p->rng, one_in(&p->rng, 10) ? 5000 : 100);
	uint32_t key = s->nr_keys ? s->keys[chunk] : 0;
	uint64_t size = s->shift ? 1ull << s->shift : 4096, at;
	int op = PICK(&p->rng, ops);

	if (size > s->size - chunk * size)
		size = s->size - chunk * size;
	at = below(&p->rng, size < len ? 1 : size - len);
	if (len > size)
		len = size;
	/* What is not allowed breaks the connection. */
	if (p->mood.mutate && one_in(&p->rng, p->mood.mutate)) {
		switch (below(&p->rng, 5)) {
		case 0:
			key = p->stale_keys[below(&p->rng, NR_KEYS)];
			break;
		case 1:
			key = rng_next(&p->rng);
			break;
		case 2:
			at = boundary(&p->rng);
			break;
		case 3:
			op = IBV_WR_ATOMIC_FETCH_AND_ADD;
			break;
		default:
			op = IBV_WR_RDMA_WRITE_WITH_IMM;
		}
	}
	post_rdma(p, lane_of(p, s), op, key, at, len);
}

static void send_map(struct peer *p, struct session *s)
{
	union {
		struct rchar_wire_map m;
		uint8_t space[sizeof(struct rchar_wire_map) + NR_KEYS * 4];
	} map = {};
	struct lane *l = lane_of(p, s);
	uint32_t i, n = 1, chunks = s->size >> 16 ?: 1;
	struct frame f;

	/* All keys are the same one: those of chunks behind the first reach the same bytes. */
	if (chunks > NR_KEYS)
		chunks = NR_KEYS;
	map.m.shift = 16;
	map.m.attempt = p->conn.attempt;
	map.m.first = htole32(s->nr_keys % chunks);
	n = one_in(&p->rng, 3) ? 1 : chunks - s->nr_keys % chunks;
	map.m.count = htole32(n);
	for (i = 0; i < n; i++)
		map.m.keys[i] = htole32(p->mood.mutate && one_in(&p->rng, p->mood.mutate) ?
						rng_next(&p->rng) :
						l->own_key);
	if (!begin(p, l, &f, RCHAR_OP_MAP, s, sizeof(map.m) + n * 4))
		return;
	memcpy(f.payload, &map, sizeof(map.m) + n * 4);
	s->nr_keys += n;
	finish(p, l, &f);
}

static void send_result(struct peer *p, struct session *s, uint32_t id)
{
	struct rchar_wire_result result = {
		.id = htole32(id),
		.status = htole32(one_in(&p->rng, 4) ? below(&p->rng, __RCHAR_CALL_STATUS_MAX) : 0),
	};
	struct lane *l = lane_of(p, s);
	struct frame f;

	if (!begin(p, l, &f, RCHAR_OP_RESULT, s, sizeof(result)))
		return;
	memcpy(f.payload, &result, sizeof(result));
	finish(p, l, &f);
}

/* ---- opening ---- */

static void ask_open(struct peer *p, struct session *s)
{
	static const char *const names[] = { "f-stream-l",  "f-stream-l",  "f-stream-l",
					     "f-message-l", "f-message-l", "f-memory-l",
					     "f-memory-l",  "nosuch" };
	static const int types[] = { RCHAR_TYPE_STREAM,	 RCHAR_TYPE_STREAM,  RCHAR_TYPE_STREAM,
				     RCHAR_TYPE_MESSAGE, RCHAR_TYPE_MESSAGE, RCHAR_TYPE_MEMORY,
				     RCHAR_TYPE_MEMORY,	 RCHAR_TYPE_STREAM };
	uint32_t which = below(&p->rng, 8), old = s->id;
	struct rchar_wire_open o = { .type = types[which] };
	struct lane *l;
	struct frame f;

	if (one_in(&p->rng, 60))
		o.type = below(&p->rng, 5);
	if (one_in(&p->rng, 12))
		o.flags = below(&p->rng, 4);
	memset(s, 0, sizeof(*s));
	s->id = one_in(&p->rng, 60) && old ? old : p->next_id++ ?: p->next_id++;
	s->type = o.type;
	s->given = 65536;
	s->fin = o.flags & RCHAR_OPEN_NOSEND;
	if (o.type == RCHAR_TYPE_MESSAGE) {
		s->max_message = 1 + below(&p->rng, MAX_MESSAGE);
		o.max_message = htole32(s->max_message);
	}
	snprintf((char *)o.name, sizeof(o.name), "%s", names[which]);
	if (p->encrypted && o.name[0] == 'f')
		o.name[0] = 'e';
	l = lane_of(p, s);
	if (!begin(p, l, &f, RCHAR_OP_OPEN, s, sizeof(o)))
		return;
	memcpy(f.payload, &o, sizeof(o));
	s->state = OPENING;
	finish(p, l, &f);
}

static void send_opened(struct peer *p, struct session *s)
{
	struct {
		struct rchar_wire_opened o;
		struct rchar_wire_region r;
	} answer = {};
	uint32_t len = sizeof(answer.o);
	struct lane *l = lane_of(p, s);
	struct frame f;

	answer.o.max_message = htole32(s->max_message);
	if (s->type == RCHAR_TYPE_MEMORY) {
		len = sizeof(answer);
		s->size = one_in(&p->rng, 3) ? 1 + below(&p->rng, OWN) : OWN;
		answer.r.size = htole64(s->size);
		answer.r.access = one_in(&p->rng, 8) ? RCHAR_ACCESS_RO : RCHAR_ACCESS_RW;
		answer.r.atomics = one_in(&p->rng, 8) ? RCHAR_ATOMICS_HW : RCHAR_ATOMICS_SW;
		/* On an encrypted link both are right, elsewhere any of three. */
		if (p->encrypted || one_in(&p->rng, 4))
			answer.r.by_call = RCHAR_BY_CALL_READ |
					   (p->encrypted || one_in(&p->rng, 2) ?
						    RCHAR_BY_CALL_WRITE :
						    0);
	}
	s->given = s->max_message * 2 + 65536;
	if (!begin(p, l, &f, RCHAR_OP_OPENED, s, len))
		return;
	memcpy(f.payload, &answer, len);
	s->state = OPENED;
	finish(p, l, &f);
	if (s->type == RCHAR_TYPE_MEMORY && !one_in(&p->rng, 10))
		send_map(p, s);
}

/* ---- what arrives ---- */

static struct session *find(struct peer *p, uint32_t id)
{
	int i;

	for (i = 0; i < NR_SESSIONS; i++)
		if (p->sessions[i].state != FREE && p->sessions[i].id == id)
			return &p->sessions[i];
	return NULL;
}

static void heard_open(struct peer *p, uint32_t id, uint32_t window,
		       const struct rchar_wire_open *o)
{
	struct session *s = &p->sessions[below(&p->rng, NR_SESSIONS)];

	memset(s, 0, sizeof(*s));
	s->id = id;
	s->type = o->type;
	s->edge = window;
	s->max_message = le32toh(o->max_message);
	s->state = OPENING;
}

static void heard_opened(struct session *s, const struct frame *f, uint32_t len)
{
	const struct rchar_wire_region *region = (const void *)(f->payload +
								sizeof(struct rchar_wire_opened));
	struct rchar_wire_opened o;

	memcpy(&o, f->payload, sizeof(o));
	if (s->type == RCHAR_TYPE_MEMORY && len >= sizeof(o) + sizeof(*region))
		s->size = le64toh(region->size);
	s->max_message = le32toh(o.max_message);
	s->state = OPENED;
}

static void heard_map(struct peer *p, struct session *s, const struct rchar_wire_map *m)
{
	uint32_t i, n = le32toh(m->count), first = le32toh(m->first);

	s->shift = m->shift;
	for (i = 0; i < n && first + i < NR_KEYS; i++) {
		s->keys[first + i] = le32toh(m->keys[i]);
		p->stale_keys[below(&p->rng, NR_KEYS)] = s->keys[first + i];
		s->nr_keys = first + i + 1;
	}
}

static void heard_session(struct peer *p, struct session *s, const struct frame *f, uint32_t len)
{
	uint32_t window = le32toh(f->h.window), id;

	if (f->h.op != RCHAR_OP_REFUSED && f->h.op != RCHAR_OP_RESET &&
	    (int32_t)(window - s->edge) > 0)
		s->edge = window;
	switch (f->h.op) {
	case RCHAR_OP_OPENED:
		heard_opened(s, f, len);
		break;
	case RCHAR_OP_REFUSED:
	case RCHAR_OP_RESET:
		s->state = OVER;
		break;
	case RCHAR_OP_DATA:
	case RCHAR_OP_MSG:
		if (f->h.flags & RCHAR_FRAME_INSTEAD)
			s->offered = false;
		else
			s->got += len;
		break;
	case RCHAR_OP_MAP:
		heard_map(p, s, (const void *)f->payload);
		break;
	case RCHAR_OP_RNDV:
		memcpy(&s->offer, f->payload, sizeof(s->offer));
		s->offered = true;
		s->got += le32toh(s->offer.len);
		break;
	case RCHAR_OP_RNDV_DONE:
		if (!f->payload[4])
			s->rndv_left = 0;
		break;
	case RCHAR_OP_CALL:
		memcpy(&id, f->payload + 4, 4);
		s->call_id = le32toh(id);
		if (!one_in(&p->rng, 20))
			send_result(p, s, s->call_id);
	}
}

void heard(struct peer *p, struct lane *l, const struct frame *f, uint32_t len)
{
	struct session *s;

	if (!(f->h.flags & RCHAR_FRAME_LARGE) && l->small == l->credits)
		l->small += le16toh(f->h.credits);
	l->credits += le16toh(f->h.credits);
	if (f->h.op == RCHAR_OP_READY)
		l->up = true;
	if (f->h.op == RCHAR_OP_HELLO && !p->initiator && !one_in(&p->rng, 60))
		l->up = l->greeted = greet(p, l, RCHAR_OP_READY, p->conn.nonce);
	if (f->h.op < RCHAR_OP_OPEN)
		return;
	if (!p->mood.no_acks)
		l->c.ack = le32toh(f->h.seq) + 1;
	if (f->h.op == RCHAR_OP_OPEN) {
		heard_open(p, le32toh(f->h.session), le32toh(f->h.window),
			   (const void *)f->payload);
		return;
	}
	s = find(p, le32toh(f->h.session));
	if (s)
		heard_session(p, s, f, len);
}

void forget_sessions(struct peer *p)
{
	memset(p->sessions, 0, sizeof(p->sessions));
}

/* ---- the next frame ---- */

static void play_memory(struct peer *p, struct session *s)
{
	if (!p->initiator) {
		if (one_in(&p->rng, 6))
			send_map(p, s);
		else
			send_result(p, s, s->call_id - below(&p->rng, 3));
	} else if (p->encrypted && !one_in(&p->rng, 4)) {
		send_move(p, s);
	} else if (one_in(&p->rng, 2) || !s->nr_keys) {
		send_call(p, s);
	} else {
		reach_region(p, s);
	}
}

static void play_open(struct peer *p, struct session *s)
{
	uint32_t dice = below(&p->rng, 1000);

	if (dice < 8)
		send_status(p, s, RCHAR_OP_RESET);
	else if (dice < 14 && !s->in_message && !s->rndv_left)
		send_empty(p, s, RCHAR_OP_FIN);
	else if (dice < 20)
		send_empty(p, s, RCHAR_OP_STOP);
	else if (s->type == RCHAR_TYPE_MEMORY)
		play_memory(p, s);
	else if (s->offered && dice < 500)
		send_rndv_done(p, s);
	else if (dice < 150)
		send_window(p, s);
	else if (s->rndv_left)
		dice < 600 ? send_instead(p, s) : (void)0;
	else if (s->fin && !(p->mood.mutate && one_in(&p->rng, p->mood.mutate)))
		return;
	else if (s->type == RCHAR_TYPE_MESSAGE)
		send_message(p, s);
	else if (dice < 165)
		send_rndv(p, s);
	else
		send_data(p, s);
}

/* Also what is not right in this state, or of this side. */
static void play_wrong(struct peer *p, struct session *s)
{
	switch (below(&p->rng, 9)) {
	case 0:
		send_status(p, s, RCHAR_OP_REFUSED);
		break;
	case 1:
		send_opened(p, s);
		break;
	case 2:
		send_data(p, s);
		break;
	case 3:
		send_message(p, s);
		break;
	case 4:
		send_rndv_done(p, s);
		break;
	case 5:
		send_map(p, s);
		break;
	case 6:
		send_result(p, s, 1);
		break;
	case 7:
		send_call(p, s);
		break;
	default:
		ask_open(p, s);
	}
}

static void play_lane(struct peer *p, struct lane *l)
{
	static const int ops[] = { RCHAR_OP_CREDIT, RCHAR_OP_PING, RCHAR_OP_PONG, RCHAR_OP_TRIM };
	struct frame f;

	if (p->mood.mutate && one_in(&p->rng, p->mood.mutate)) {
		greet(p, l, one_in(&p->rng, 2) ? RCHAR_OP_HELLO : RCHAR_OP_READY, l->c.reply.nonce);
		return;
	}
	if (!begin(p, l, &f, PICK(&p->rng, ops), NULL, 0))
		return;
	finish(p, l, &f);
}

void play(struct peer *p)
{
	struct session *s = &p->sessions[below(&p->rng, NR_SESSIONS)];

	if (one_in(&p->rng, 10)) {
		play_lane(p, &p->lanes[below(&p->rng, p->nr_lanes)]);
		return;
	}
	if (s->state != FREE && p->mood.mutate && one_in(&p->rng, p->mood.mutate * 3)) {
		play_wrong(p, s);
		return;
	}
	switch (s->state) {
	case FREE:
	case OVER:
		if (p->initiator && one_in(&p->rng, 4))
			ask_open(p, s);
		break;
	case OPENING:
		if (!p->initiator && one_in(&p->rng, 4))
			send_status(p, s, one_in(&p->rng, 3) ? RCHAR_OP_RESET : RCHAR_OP_REFUSED);
		else if (!p->initiator)
			send_opened(p, s);
		else if (one_in(&p->rng, 3000))
			send_status(p, s, RCHAR_OP_RESET);
		break;
	case OPENED:
		play_open(p, s);
	}
}
