// SPDX-License-Identifier: GPL-2.0
/*
 * badturns ADDR CHANNEL - a peer that grants few credits, so that sessions have to take turns.
 *
 * CHANNEL is a stream that nobody has opened, with a window of at least LARGE. TAP lines; the plan
 * is the caller's.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "linux/rdma_char.h"
#include "peer.h"

#define CREDITS 8
#define LARGE	262144
#define SMALL	64

/* A session that a file of this host takes, and what the peer has got from it. */
struct end {
	int fd;
	size_t got;
};

static const char *channel;

static void open_end(struct conn *c, struct end *e, uint32_t id)
{
	struct rchar_wire_open *o;
	struct frame f;
	char path[64];

	snprintf(path, sizeof(path), "/dev/rchar/%s", channel);
	e->fd = open(path, O_RDWR | O_NONBLOCK);
	if (e->fd < 0)
		bail(path);
	fill(c, &f, RCHAR_OP_OPEN, id, sizeof(*o));
	f.h.window = htole32(1 << 20);
	o = (void *)f.payload;
	memset(o, 0, sizeof(*o));
	o->type = RCHAR_TYPE_STREAM;
	strcpy((char *)o->name, channel);
	send_frame(c, &f);
	if (!receive_op(c, &f, RCHAR_OP_OPENED))
		bail("no OPENED");
}

static void write_end(const struct end *e, size_t len)
{
	static char buf[LARGE];

	if (write(e->fd, buf, len) != (ssize_t)len)
		bail("write");
}

static void grant(struct conn *c)
{
	struct frame f;

	fill(c, &f, RCHAR_OP_CREDIT, 0, 0);
	send_frame(c, &f);
}

/* Takes a frame with data, and grants a credit for it. Returns its session; 0 if none came. */
static uint32_t take(struct conn *c, struct end *ends)
{
	struct frame f;
	uint32_t id;

	if (!receive_op(c, &f, RCHAR_OP_DATA))
		return 0;
	id = le32toh(f.h.session);
	if (id < 1 || id > 3)
		bail("a frame of another session");
	ends[id - 1].got += le32toh(f.h.len);
	grant(c);
	return id;
}

/* A frame of more than 4096 bytes waits for a large buffer; the small ones are used up for it. */
static void small_ones_only(void)
{
	struct rchar_wire_privdata r;
	struct end end = {};
	struct frame f;
	struct conn c;
	int n = 0;

	good_request(&r);
	r.caps = htole32(RCHAR_CAP_GROWS);
	connect_with(&c, &r);
	open_end(&c, &end, 1);
	write_end(&end, LARGE);
	while (receive_op(&c, &f, RCHAR_OP_CREDIT)) {
		n++;
		grant(&c);
	}
	printf("# %d frames that use up small buffers\n", n);
	result("a_peer_that_never_has_large_buffers_is_left", n > CREDITS && disconnected(&c));
	hang_up(&c);
	close(end.fd);
}

int main(int argc, char **argv)
{
	struct end ends[3] = {};
	struct rchar_wire_privdata r;
	struct conn c;
	int i, small = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: badturns ADDR CHANNEL\n");
		return 2;
	}
	peer_addr = argv[1];
	channel = argv[2];
	good_request(&r);
	r.depth = htole16(CREDITS);
	connect_with(&c, &r);
	for (i = 0; i < 3; i++)
		open_end(&c, &ends[i], i + 1);
	/* The first one has all credits; the others wait. */
	write_end(&ends[0], LARGE);
	write_end(&ends[1], LARGE);
	write_end(&ends[2], SMALL);
	for (i = 1; !small && take(&c, ends); i++)
		if (ends[2].got)
			small = i;
	printf("# the small write came in frame %d\n", small);
	result("a_small_write_does_not_wait_for_large_ones_of_others",
	       small && small <= CREDITS + 2);
	while (ends[0].got < LARGE && take(&c, ends))
		;
	printf("# beside the first %d bytes of one session, %zu of the other\n", LARGE,
	       ends[1].got);
	result("sessions_that_write_much_share_a_link_equally",
	       ends[0].got == LARGE && ends[1].got >= LARGE / 2);
	while (ends[1].got < LARGE && take(&c, ends))
		;
	result("and_nothing_is_lost", ends[1].got == LARGE && ends[2].got == SMALL && alive(&c));
	hang_up(&c);
	for (i = 0; i < 3; i++)
		close(ends[i].fd);
	small_ones_only();
	return test_program.failed != 0;
}
