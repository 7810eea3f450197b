// SPDX-License-Identifier: GPL-2.0
/*
 * fuzzcodec - the pure logic of the module under libFuzzer, compiled from its own sources:
 * frame.c privdata.c credit.c backoff.c state.c and seq.h.
 *
 * The first byte of an input says which part gets the rest. Each part is compared with a
 * second one, written from Documentation/protocol.rst with bytes and 64-bit numbers: what
 * is accepted, what is refused, and what comes back when it is encoded again.
 *
 * With FUZZ_REPLAY there is a main() that runs files and folders of inputs, for gcov.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <asm/byteorder.h>
#include "base/backoff.h"
#include "proto/privdata.h"
#include "proto/credit.h"
#include "proto/frame.h"
#include "base/seq.h"
#include "proto/state.h"
#include "proto/window.h"
#include <linux/kernel.h>

#define CHECK(cond)                                                        \
	do {                                                               \
		if (!(cond)) {                                             \
			fprintf(stderr, "line %d: %s\n", __LINE__, #cond); \
			abort();                                           \
		}                                                          \
	} while (0)

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* ---- the input ---- */

struct input {
	const u8 *p;
	size_t left;
};

static u8 take8(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->p++;
}

static u64 take(struct input *in, int bytes)
{
	u64 v = 0;

	while (bytes--)
		v = v << 8 | take8(in);
	return v;
}

/* Forget what is behind: more of the same takes longer and shows nothing new. */
static void first(struct input *in, size_t n)
{
	if (in->left > n)
		in->left = n;
}

/* The rest as the module gets it: aligned, and not a byte longer. */
static u8 *rest(const struct input *in)
{
	u8 *copy = malloc(in->left ? in->left : 1);

	if (in->left)
		memcpy(copy, in->p, in->left);
	return copy;
}

/* Little endian numbers out of bytes. */
static u64 le(const u8 *p, int bytes)
{
	u64 v = 0;

	while (bytes--)
		v = v << 8 | p[bytes];
	return v;
}

static bool zero(const u8 *p, size_t n)
{
	while (n--)
		if (*p++)
			return false;
	return true;
}

/* ---- frames ---- */

/* Tables 'Operations' and 'Flags' of protocol.rst. */
static const struct op {
	u8 number;
	u8 flags;
	u32 min;
	u32 max;
} ops[] = {
	{ 1, 0, 48, 80 },     { 2, 0, 48, 48 },	    { 3, 0, 0, 0 },    { 4, 0, 0, 0 },
	{ 5, 0, 0, 0 },	      { 6, 0, 0, 0 },	    { 16, 1, 40, 40 }, { 17, 1, 8, 24 },
	{ 18, 1, 8, 8 },      { 19, 9, 1, ~0u },    { 20, 7, 1, ~0u }, { 21, 1, 0, 0 },
	{ 22, 1, 0, 0 },      { 23, 1, 8, 8 },	    { 24, 1, 0, 0 },   { 25, 1, 16, ~0u },
	{ 26, 1, 32, 61472 }, { 27, 1, 16, 61456 }, { 28, 1, 24, 24 }, { 29, 1, 8, 8 },
};

static bool header_fine(const u8 *p, size_t arrived, u32 room)
{
	u64 len = le(p + 4, 4), session = le(p + 8, 4), seq = le(p + 12, 4);
	size_t i;

	if (arrived < 24 || len != arrived - 24 || len > room)
		return false;
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		if (ops[i].number == p[0])
			return !(p[1] & ~(ops[i].flags | 0x30)) && len >= ops[i].min &&
			       len <= ops[i].max && (p[0] < 16 ? !session && !seq : session != 0);
	return false;
}

static bool name_fine(const u8 *p, size_t n)
{
	size_t i;

	if (n < 1 || n > 31)
		return false;
	for (i = 0; i < n; i++)
		if (!p[i] || !(isalnum(p[i]) || (i && strchr("._-", p[i]))))
			return false;
	return true;
}

static bool max_message_fine(u32 type, u64 max)
{
	return type == 2 ? max >= 1 && max <= 64 << 20 : type != 1 && type != 3 ? true : !max;
}

static bool open_fine(const u8 *p)
{
	size_t n = 0;

	while (n < 32 && p[8 + n])
		n++;
	return !(p[1] & ~3) && zero(p + 2, 2) && max_message_fine(p[0], le(p + 4, 4)) &&
	       name_fine(p + 8, n) && zero(p + 8 + n, 32 - n);
}

static bool region_fine(const u8 *p)
{
	u64 size = le(p, 8);

	return size >= 1 && size <= 1ull << 39 && (p[8] == 1 || p[8] == 2) &&
	       (p[9] == 1 || p[9] == 2) &&
	       (p[10] == 0 || p[10] == 1 || (p[10] == 3 && p[9] == 1)) && zero(p + 11, 5);
}

static bool rndv_fine(const u8 *p)
{
	u64 offset = le(p + 12, 4), len = le(p + 16, 4);

	return len >= 64 << 10 && len <= 1 << 20 && offset < 1 << 20 && zero(p + 20, 4);
}

static bool map_fine(const u8 *p, size_t len, u64 size)
{
	u64 first = le(p + 4, 4), count = le(p + 8, 4);
	int shift = p[12];

	return zero(p + 13, 3) && shift >= 12 && shift <= 30 && count >= 1 && count <= 1000 &&
	       len == 16 + 4 * count && size && (size - 1) >> shift < 1 << 20 &&
	       /* The last chunk begins inside. */
	       (first + count - 1) << shift < size;
}

static void check_open(const u8 *p, u32 window)
{
	u64 max = le(p + 4, 4);
	bool ok = rchar_open_check((const void *)p) == RCHAR_FRAME_OK;

	CHECK(ok == open_fine(p));
	if (ok && p[0] == RCHAR_TYPE_MESSAGE)
		CHECK(rchar_window_valid(window, max) ==
		      (window <= 1 << 30 && window >= max + 256));
}

static void check_opened(const u8 *p, size_t len, u32 type)
{
	CHECK((rchar_opened_check((const void *)p, type) == RCHAR_FRAME_OK) ==
	      (zero(p + 4, 4) && max_message_fine(type, le(p, 4))));
	if (len == 24)
		CHECK((rchar_region_check((const void *)(p + 8)) == RCHAR_FRAME_OK) ==
		      region_fine(p + 8));
}

static void check_payload(const struct rchar_hdr *hdr, const u8 *p, u32 type, u64 size)
{
	switch (hdr->op) {
	case RCHAR_OP_OPEN:
		check_open(p, hdr->window);
		break;
	case RCHAR_OP_OPENED:
		check_opened(p, hdr->len, type);
		break;
	case RCHAR_OP_MAP:
		CHECK((rchar_map_check((const void *)p, hdr->len, size) == RCHAR_FRAME_OK) ==
		      map_fine(p, hdr->len, size));
		break;
	case RCHAR_OP_RNDV:
		CHECK((rchar_rndv_check((const void *)p) == RCHAR_FRAME_OK) == rndv_fine(p));
		break;
	}
	CHECK(rchar_op_carries_data(hdr->op) ==
	      (hdr->op == RCHAR_OP_DATA || hdr->op == RCHAR_OP_MSG));
}

/*
 * A byte of options: 0x01, the length is made right; 0x06, room for a payload; 0x18, the
 * type of the session. A byte for the size of the region. Then what arrived.
 */
static void fuzz_frame(struct input *in)
{
	static const u32 rooms[] = { 65536, 1024, 1 << 20, 0 };
	u8 options = take8(in), region = take8(in), raw[24] = { 0 }, *payload;
	u64 size = (1ull << region % 42) + (region / 42) - 2;
	u32 room = rooms[options >> 1 & 3];
	size_t arrived = in->left, n = arrived < 24 ? arrived : 24;
	struct rchar_wire_hdr wire, again;
	enum rchar_frame_error err;
	struct rchar_hdr hdr;

	memcpy(raw, in->p, n);
	if (options & 1 && arrived >= 24)
		for (n = 0; n < 4; n++)
			raw[4 + n] = (arrived - 24) >> 8 * n;
	memcpy(&wire, raw, sizeof(wire));
	memset(&hdr, 0xa5, sizeof(hdr));
	rchar_hdr_decode(&hdr, &wire);
	rchar_hdr_encode(&again, &hdr);
	CHECK(!memcmp(&wire, &again, sizeof(wire)));

	err = rchar_hdr_check(&hdr, arrived, room);
	CHECK((err == RCHAR_FRAME_OK) == header_fine(raw, arrived, room));
	CHECK(err < __RCHAR_FRAME_ERROR_MAX && rchar_frame_error_name(err));
	CHECK((arrived < 24) == (err == RCHAR_FRAME_SHORT));
	if (err)
		return;
	CHECK(rchar_op_sequenced(hdr.op) == (hdr.op >= 16) && *rchar_op_name(hdr.op) != '?');
	in->p += 24;
	in->left -= 24;
	payload = rest(in);
	check_payload(&hdr, payload, options >> 3 & 3, size);
	free(payload);
}

static void fuzz_name(struct input *in)
{
	u8 *name = rest(in);

	CHECK(rchar_name_valid((char *)name, in->left) == name_fine(name, in->left));
	free(name);
}

/* ---- private data ---- */

static enum rchar_privdata_error conn_expected(const u8 *p, size_t len)
{
	if (len < 56)
		return RCHAR_PRIVDATA_SHORT;
	if (memcmp(p, "RCHR", 4))
		return RCHAR_PRIVDATA_MAGIC;
	if (p[4] != 1)
		return RCHAR_PRIVDATA_VERSION;
	return p[6] < p[7] && p[7] <= 16 && !zero(p + 8, 8) && le(p + 28, 4) >= 1024 &&
			       le(p + 28, 4) <= 1 << 20 && le(p + 32, 2) >= 4 &&
			       le(p + 32, 2) <= 4096 ?
		       RCHAR_PRIVDATA_OK :
		       RCHAR_PRIVDATA_FIELD;
}

/* Unaligned, as the connection manager has it. */
static void fuzz_conn(struct input *in)
{
	struct rchar_privdata conn, again;
	struct rchar_wire_privdata wire;
	enum rchar_privdata_error err;
	u8 raw[56];

	memset(&conn, 0, sizeof(conn));
	memset(&again, 0, sizeof(again));
	err = rchar_privdata_decode(&conn, in->p, in->left);
	CHECK(err == conn_expected(in->p, in->left));
	if (err)
		return;
	rchar_privdata_encode(&wire, &conn);
	memcpy(raw, in->p, sizeof(raw));
	raw[5] = RCHAR_WIRE_MINOR;
	CHECK(!memcmp(&wire, raw, sizeof(raw)));
	CHECK(rchar_privdata_decode(&again, &wire, sizeof(wire)) == RCHAR_PRIVDATA_OK);
	CHECK(!memcmp(&conn, &again, sizeof(conn)));
}

static void fuzz_reject(struct input *in)
{
	bool ours = in->left >= 16 && !memcmp(in->p, "RCHR", 4);
	struct rchar_wire_reject wire;
	u16 reason = 0xbeef, again;

	CHECK(rchar_reject_decode(in->p, in->left, &reason) == ours);
	CHECK(reason == (ours ? le(in->p + 6, 2) : 0xbeef));
	CHECK(!rchar_reject_decode(NULL, in->left, &reason));
	rchar_reject_encode(&wire, reason, take(in, 4));
	CHECK(rchar_reject_decode(&wire, sizeof(wire), &again) && again == reason);
	CHECK(zero((u8 *)&wire + 12, 4));
}

/* ---- credits ---- */

#define FLIGHT 8192 /* more than frames can be on their way to one side */

struct side {
	struct rchar_credit credit;
	u16 flight[FLIGHT]; /* grants of frames on their way here */
	unsigned int head, tail;
	unsigned int granted;  /* sum of those */
	unsigned int unposted; /* received, and their buffers not posted again */
	unsigned int to_send;
};

/*
 * Each receive buffer of @to is in one place: known to @from, under way to it as a grant,
 * waiting to be granted, taken by a frame under way, or not posted again yet.
 */
static void check_conserved(const struct side *from, const struct side *to)
{
	unsigned int flight = to->head - to->tail;

	CHECK(rchar_credits_total(&from->credit.tx) + from->granted +
		      rchar_credits_total(&to->credit.grant) + flight + to->unposted ==
	      to->credit.rx_max);
	CHECK(rchar_credits_total(&from->credit.tx) <= from->credit.tx_max &&
	      rchar_credits_total(&to->credit.grant) <= to->credit.rx_max);
}

static bool send_frame(struct side *me, struct side *peer)
{
	bool data = me->to_send > 0, large;
	u16 tx = rchar_credits_total(&me->credit.tx), grant;

	if (!data && !rchar_credit_due(&me->credit))
		return false;
	CHECK(rchar_credit_may_send(&me->credit) ==
	      (tx > 1 || (tx == 1 && rchar_credits_total(&me->credit.grant))));
	if (!rchar_credit_may_send(&me->credit))
		return false;
	CHECK(peer->head - peer->tail + peer->unposted < peer->credit.rx_max);
	grant = rchar_credit_send(&me->credit, &large);
	peer->flight[peer->head++ % FLIGHT] = grant;
	peer->granted += grant;
	me->to_send -= data;
	return true;
}

static bool receive_frame(struct side *me)
{
	u16 grant;

	if (me->head == me->tail)
		return false;
	grant = me->flight[me->tail++ % FLIGHT];
	me->granted -= grant;
	CHECK(rchar_credit_receive(&me->credit, grant, false));
	me->unposted++;
	return true;
}

static bool post_buffer(struct side *me)
{
	if (!me->unposted)
		return false;
	me->unposted--;
	rchar_credit_posted(&me->credit, 1, false);
	return true;
}

/* More than it can have posted must be refused, and change nothing. */
static void forge_grant(struct side *me, u16 more)
{
	struct rchar_credit before = me->credit;
	unsigned int most = before.tx_max - rchar_credits_total(&before.tx);

	CHECK(!rchar_credit_receive(&me->credit, most + 1 + more, false));
	CHECK(!memcmp(&before, &me->credit, sizeof(before)));
}

static void one_step(struct side *me, struct side *peer, u8 what)
{
	switch (what >> 1 & 7) {
	case 0:
	case 1:
		me->to_send += what >> 4;
		send_frame(me, peer);
		break;
	case 2:
		send_frame(me, peer);
		break;
	case 3:
	case 4:
		receive_frame(me);
		break;
	case 5:
		post_buffer(me);
		break;
	case 6:
		if (receive_frame(me))
			post_buffer(me);
		break;
	case 7:
		forge_grant(me, (what >> 4) * (what >> 4) * 100);
		break;
	}
}

static u16 depth(struct input *in)
{
	u8 b = take8(in);

	return b < 255 ? 4 + b % 61 : 4 + take(in, 2) % 4093;
}

static struct side sides[2];

static void fuzz_credit(struct input *in)
{
	struct side *a = &sides[0], *b = &sides[1];
	int steps = 0, most;
	u16 da = depth(in), db = depth(in);

	a->head = a->tail = b->head = b->tail = 0;
	a->granted = b->granted = a->unposted = b->unposted = a->to_send = b->to_send = 0;
	rchar_credit_init(&a->credit, db, false, db, da, da);
	rchar_credit_init(&b->credit, da, false, da, db, db);
	first(in, 128);
	while (in->left) {
		u8 what = take8(in);

		one_step(what & 1 ? a : b, what & 1 ? b : a, what);
		check_conserved(a, b);
		check_conserved(b, a);
	}
	/* Left to themselves they send all, and fall silent. */
	most = 8 * (a->to_send + b->to_send + da + db);
	while (post_buffer(a) || post_buffer(b) || receive_frame(a) || receive_frame(b) ||
	       send_frame(a, b) || send_frame(b, a))
		CHECK(++steps < most);
	CHECK(!a->to_send && !b->to_send);
	check_conserved(a, b);
	check_conserved(b, a);
}

/* ---- serial numbers and windows ---- */

/* Numbers that do not wrap, less than half the 32-bit space apart. */
static void fuzz_serial(struct input *in)
{
	u64 base = (1ull << 62) + take(in, 4);

	first(in, 8 * 8);
	while (in->left) {
		u64 lo = base, hi = lo + (take(in, 4) & 0x7fffffff);
		s32 distance = take(in, 4);
		u64 x = lo + (distance == INT32_MIN ? 0 : distance);

		CHECK(rchar_seq_before(lo, x) == (lo < x) && rchar_seq_before(x, lo) == (x < lo));
		CHECK(rchar_seq_between(lo, x, hi) == (lo <= x && x <= hi));
		CHECK(rchar_seq_max(lo, x) == (u32)(lo > x ? lo : x));
		CHECK(rchar_seq_max(x, lo) == rchar_seq_max(lo, x));
		CHECK(rchar_seq_between(lo, lo, hi) && rchar_seq_between(lo, hi, hi));
		base = x;
	}
}

/* A session's window at both ends, beside offsets of 64 bits. */
struct window {
	u32 size; /* of the receiver's channel; may be changed */
	struct rchar_rx_window rx;
	struct rchar_tx_window tx;
	u64 next, read, edge; /* the receiver's, in full */
	u64 sent, known;      /* the sender's: what it sent, the edge that it knows */
};

static void window_advertise(struct window *w)
{
	rchar_rx_window_advertise(&w->rx, w->size);
	if (w->read + w->size > w->edge)
		w->edge = w->read + w->size;
	CHECK(w->rx.edge == (u32)w->edge);
}

static bool window_take(struct window *w, u32 len)
{
	bool fits = rchar_rx_window_receive(&w->rx, len);

	CHECK(fits == (w->next + len <= w->edge));
	if (fits)
		w->next += len;
	CHECK(w->rx.next == (u32)w->next);
	return fits;
}

static void window_step(struct window *w, struct input *in, u8 what)
{
	u32 n = take(in, 1 + (what >> 6 & 3)) & ((1 << 30) - 1), room;
	bool more;

	switch (what & 7) {
	case 0:
	case 1: /* as much as goes */
		room = rchar_tx_window_room(&w->tx, RCHAR_WIRE_WINDOW_MAX);
		CHECK(room == w->known - w->sent);
		if (n > room)
			n = room;
		rchar_tx_window_send(&w->tx, n);
		w->sent += n;
		CHECK(rchar_tx_window_unacked(&w->tx) == n);
		CHECK(rchar_tx_window_room(&w->tx, n) == 0);
		CHECK(window_take(w, n));
		rchar_tx_window_ack(&w->tx, w->tx.next);
		rchar_tx_window_ack(&w->tx, w->tx.next - n);
		CHECK(!rchar_tx_window_unacked(&w->tx));
		break;
	case 2:
	case 3: /* the program reads */
		if (n > w->next - w->read)
			n = w->next - w->read;
		w->rx.read += n;
		w->read += n;
		CHECK(rchar_rx_window_unread(&w->rx) == w->next - w->read);
		break;
	case 4:
	case 5:
		CHECK(rchar_rx_window_due(&w->rx, w->size) ==
		      (w->read + w->size >= w->edge + w->size / 4));
		window_advertise(w);
		CHECK(rchar_tx_window_grant(&w->tx, w->rx.edge, &more));
		CHECK(w->tx.edge == w->rx.edge && more == (w->known < w->edge));
		w->known = w->edge;
		/* Later than that nobody may allow. */
		CHECK(!rchar_tx_window_grant(&w->tx, w->tx.acked + (1u << 30) + 1 + n, &more));
		CHECK(w->tx.edge == w->rx.edge);
		break;
	case 6: /* one that sends too much is found out */
		if (w->next + n > w->edge)
			CHECK(!window_take(w, n));
		break;
	case 7:
		w->size = 65536 + n % (RCHAR_WIRE_WINDOW_MAX - 65535);
		break;
	}
	CHECK(w->edge - w->read <= RCHAR_WIRE_WINDOW_MAX && w->read <= w->next &&
	      w->next <= w->edge);
}

static void fuzz_window(struct input *in)
{
	struct window w = { .size = 65536 + take(in, 2) };
	u32 base = take(in, 4);

	/* An offset that is about to wrap is as good as 0. */
	w.rx = (struct rchar_rx_window){ base, base, base };
	w.tx = (struct rchar_tx_window){ base, base, base };
	w.next = w.read = w.edge = w.sent = w.known = base;
	first(in, 128);
	while (in->left)
		window_step(&w, in, take8(in));
}

/* ---- the rest ---- */

static void fuzz_tables(struct input *in)
{
	u32 a = take(in, 4), b = take(in, 4), ms = rchar_backoff_ms(a, b);
	u64 full = a > 6 ? 5000 : a ? 100ull << (a - 1) : 100;

	CHECK(ms <= full && ms >= full - full / 4);
	CHECK(!rchar_lane_move_legal(a, b) ||
	      (a >= 1 && a < RCHAR_LANE_DEAD && b > 1 && b <= RCHAR_LANE_DEAD));
	CHECK(!rchar_link_move_legal(a, b) ||
	      (a >= 1 && a < RCHAR_LINK_DYING && b >= 1 && b <= RCHAR_LINK_DYING));
	CHECK(!rchar_session_move_legal(a, b) ||
	      (a >= 1 && a < RCHAR_SESSION_DEAD && b > 1 && b <= RCHAR_SESSION_DEAD));
	CHECK(rchar_lane_state_name(a) && rchar_link_state_name(a) && rchar_session_state_name(a));
	CHECK(rchar_reason_name(a) && rchar_reason_errno(a) <= 0 && !a == !rchar_reason_errno(a));
	CHECK(rchar_op_name(a) && rchar_frame_error_name(a));
}

typedef void (*part_fn)(struct input *in);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static const part_fn parts[] = {
		fuzz_frame,  fuzz_conn,	  fuzz_reject, fuzz_credit,
		fuzz_serial, fuzz_window, fuzz_name,   fuzz_tables,
	};
	struct input in = { data, size };

	if (size)
		parts[take8(&in) % ARRAY_SIZE(parts)](&in);
	return 0;
}

#ifdef FUZZ_REPLAY
#include <dirent.h>

static void replay(const char *path)
{
	static u8 data[1 << 16];
	FILE *f = fopen(path, "r");
	size_t n;

	if (!f) {
		perror(path);
		exit(1);
	}
	n = fread(data, 1, sizeof(data), f);
	fclose(f);
	LLVMFuzzerTestOneInput(data, n);
}

int main(int argc, char **argv)
{
	char path[4096];
	struct dirent *e;
	DIR *d;
	int i;

	for (i = 1; i < argc; i++) {
		d = opendir(argv[i]);
		if (!d) {
			replay(argv[i]);
			continue;
		}
		while ((e = readdir(d))) {
			snprintf(path, sizeof(path), "%s/%s", argv[i], e->d_name);
			if (e->d_name[0] != '.')
				replay(path);
		}
		closedir(d);
	}
	return 0;
}
#endif
