// SPDX-License-Identifier: GPL-2.0
/*
 * badkeys ADDR RW-CHANNEL RO-CHANNEL - a peer that wants memory which is not its own.
 *
 * It completes the handshake by the protocol document, and then reads and writes with keys
 * that are stolen, guessed, stale or good for less. Each test is a connection of its own.
 * It shows that what is not allowed breaks the connection; the caller watches that the
 * memory is untouched and that other importers go on. TAP lines; the plan is the caller's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "peer.h"

static const char *rw, *ro;

struct region {
	uint64_t size;
	uint32_t key;
	int shift;
};

static struct region import(struct conn *c, const char *name)
{
	struct rchar_wire_region *r;
	struct rchar_wire_map *m;
	struct region region;
	struct frame f;

	connect_well(c);
	send_open(c, name, RCHAR_TYPE_MEMORY, 0);
	if (!receive_op(c, &f, RCHAR_OP_OPENED))
		bail("no OPENED");
	r = (void *)(f.payload + sizeof(struct rchar_wire_opened));
	region.size = le64toh(r->size);
	if (!receive_op(c, &f, RCHAR_OP_MAP))
		bail("no MAP");
	m = (void *)f.payload;
	region.key = le32toh(m->keys[0]);
	region.shift = m->shift;
	return region;
}

static char *bytes(struct conn *c)
{
	return (char *)c->mem + DEPTH * BUF;
}

/* Into or from the first send buffer; true when it worked. */
static bool rdma(struct conn *c, int opcode, uint32_t key, uint64_t addr, int len)
{
	return rdma_by(c, opcode, bytes(c), c->mr, key, addr, len);
}

static void refused(const char *name, struct conn *c, int opcode, uint32_t key, uint64_t addr,
		    int len)
{
	memset(bytes(c), 'X', len);
	result(name, !rdma(c, opcode, key, addr, len));
	hang_up(c);
}

/* Of something that ends just now: as soon as a busy host has come to it. */
static void soon_refused(const char *name, struct conn *c, uint32_t key)
{
	result(name, BECOMES(!rdma(c, IBV_WR_RDMA_READ, key, 0, 16)));
	hang_up(c);
}

#define MANY 13 /* two frames of each: a peer must acknowledge some of 32 */

/* Sessions that are over, and stay: what the module has sent for them is not acknowledged. */
static void end_many(struct conn *c, const char *name)
{
	uint32_t i, acked = c->ack;
	struct frame f;

	for (i = 2; i < 2 + MANY; i++) {
		c->ack = acked;
		fill_open(c, &f, i, name, RCHAR_TYPE_MEMORY, 0);
		send_frame(c, &f);
		if (!receive_op(c, &f, RCHAR_OP_OPENED))
			bail("no OPENED");
		c->ack = acked;
		fill(c, &f, RCHAR_OP_FIN, i, 0);
		send_frame(c, &f);
	}
}

static void keys(void)
{
	struct region r, other;
	struct conn c, thief;
	struct frame f;

	r = import(&c, rw);
	result("the_right_key_reads",
	       rdma(&c, IBV_WR_RDMA_READ, r.key, 0, 9) && !memcmp(bytes(&c), "untouched", 9));
	strcpy(bytes(&c), "by peer");
	result("the_right_key_writes", rdma(&c, IBV_WR_RDMA_WRITE, r.key, 8192, 7) &&
					       rdma(&c, IBV_WR_RDMA_READ, r.key, 8192, 7) &&
					       !memcmp(bytes(&c), "by peer", 7));
	rdma(&c, IBV_WR_RDMA_WRITE_WITH_IMM, r.key, 8192, 7);
	result("a_write_with_immediate_data_breaks_the_connection", disconnected(&c));
	hang_up(&c);

	r = import(&c, rw);
	refused("behind_the_end", &c, IBV_WR_RDMA_READ, r.key, r.size + 4096, 16);

	r = import(&c, rw);
	refused("across_the_end", &c, IBV_WR_RDMA_WRITE, r.key, ((r.size + 4095) & ~4095ull) - 8,
		16);

	r = import(&c, rw);
	refused("addresses_of_the_exporters_kernel", &c, IBV_WR_RDMA_READ, r.key,
		0xffff888000000000ull, 16);

	r = import(&c, rw);
	refused("a_guessed_key", &c, IBV_WR_RDMA_WRITE, r.key ^ 1, 0, 16);

	r = import(&c, rw);
	refused("key_0", &c, IBV_WR_RDMA_READ, 0, 0, 16);

	r = import(&c, ro);
	refused("writing_with_a_read_only_key", &c, IBV_WR_RDMA_WRITE, r.key, 0, 16);

	r = import(&c, rw);
	refused("an_atomic_of_the_device", &c, IBV_WR_ATOMIC_FETCH_AND_ADD, r.key, 0, 8);

	/* Another peer's, while that is connected. */
	r = import(&c, rw);
	connect_well(&thief);
	refused("a_stolen_key_without_a_session", &thief, IBV_WR_RDMA_READ, r.key, 0, 16);
	other = import(&thief, ro);
	(void)other;
	refused("a_stolen_key_with_a_session_of_its_own", &thief, IBV_WR_RDMA_WRITE, r.key, 0, 16);
	result("who_it_was_stolen_from_goes_on",
	       rdma(&c, IBV_WR_RDMA_READ, r.key, 0, 9) && !memcmp(bytes(&c), "untouched", 9));
	hang_up(&c);

	/* Of the connection before. */
	import(&c, rw);
	refused("a_key_of_an_earlier_connection", &c, IBV_WR_RDMA_READ, r.key, 0, 16);

	r = import(&c, rw);
	fill(&c, &f, RCHAR_OP_FIN, 1, 0);
	send_frame(&c, &f);
	soon_refused("a_key_of_a_session_that_is_over", &c, r.key);

	r = import(&c, ro);
	end_many(&c, ro);
	forget_walks();
	if (system("rchar session kill $(rchar -j session | tr '{' '\\n' | "
		   "sed -n 's/\"link\":\"\\([0-9a-f]*\\)\",\"session\":1,.*\"initiator\":false.*/\\1/p' | "
		   "tail -n1)/1"))
		bail("rchar session kill");
	result("nobody_walks_over_sessions_that_are_over", longest_walk() < MANY);
	soon_refused("a_key_of_a_session_that_was_killed", &c, r.key);
}

/* ---- calls ---- */

static int call(struct conn *c, int what, uint64_t offset)
{
	struct rchar_wire_call *call;
	struct frame f;

	fill(c, &f, RCHAR_OP_CALL, 1, sizeof(*call));
	call = (void *)f.payload;
	memset(call, 0, sizeof(*call));
	call->call = what;
	call->id = htole32(7);
	call->offset = htole64(offset);
	call->operand = htole64(1);
	send_frame(c, &f);
	if (!receive_op(c, &f, RCHAR_OP_RESULT))
		return -1;
	return le32toh(((struct rchar_wire_result *)f.payload)->status);
}

static void sends(const char *name, const char *region, int op, int len)
{
	struct frame f;
	struct conn c;

	import(&c, region);
	memset(f.payload, 0, sizeof(f.payload));
	fill(&c, &f, op, 1, len);
	send_frame(&c, &f);
	result(name, disconnected(&c));
	hang_up(&c);
}

static void calls(void)
{
	struct region r;
	struct conn c;

	r = import(&c, rw);
	result("a_call_behind_the_end", call(&c, RCHAR_CALL_ADD, r.size) == RCHAR_CALL_RANGE);
	result("a_call_across_the_end",
	       call(&c, RCHAR_CALL_ADD, (r.size & ~7ull)) == RCHAR_CALL_RANGE);
	result("a_call_far_behind_the_end", call(&c, RCHAR_CALL_CAS, ~7ull) == RCHAR_CALL_RANGE);
	result("a_call_that_is_not_aligned", call(&c, RCHAR_CALL_ADD, 12) == RCHAR_CALL_RANGE);
	result("and_the_session_goes_on", call(&c, RCHAR_CALL_FENCE, 0) == RCHAR_CALL_OK);
	result("an_unknown_call_breaks_the_connection", call(&c, 9, 0) == -1 && disconnected(&c));
	hang_up(&c);
	import(&c, rw);
	result("reading_by_a_call_where_there_are_keys",
	       call(&c, RCHAR_CALL_READ, 0) == -1 && disconnected(&c));
	hang_up(&c);
	import(&c, ro);
	result("a_call_that_writes_to_a_read_only_region",
	       call(&c, RCHAR_CALL_ADD, 0) == RCHAR_CALL_READ_ONLY && alive(&c));
	hang_up(&c);
	sends("bytes_for_a_memory_session", rw, RCHAR_OP_DATA, 10);
	sends("keys_from_who_has_none", rw, RCHAR_OP_MAP, 20);
	sends("a_result_for_no_call", rw, RCHAR_OP_RESULT, sizeof(struct rchar_wire_result));
	sends("a_call_cut_short", rw, RCHAR_OP_CALL, 31);
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: badkeys ADDR RW-CHANNEL RO-CHANNEL\n");
		return 2;
	}
	peer_addr = argv[1];
	rw = argv[2];
	ro = argv[3];
	keys();
	calls();
	return test_program.failed != 0;
}
