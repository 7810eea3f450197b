// SPDX-License-Identifier: GPL-2.0
/* io_uring and libaio: requests that complete later, if they do at all. */
#define _GNU_SOURCE
#include "calls.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GUARD_BYTE 0xa5

/* A free one, with a new buffer around which nothing may be written. */
static struct slot *take_slot(struct worker *w, struct slot *slots, struct file *f)
{
	struct slot *s = &slots[below(&w->rng, NR_SLOTS)];

	if (s->used)
		return NULL;
	if (!s->buf) {
		s->buf = mmap(NULL, SLOT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			      0);
		if (s->buf == MAP_FAILED) {
			s->buf = NULL;
			return NULL;
		}
	}
	s->len = below(&w->rng, one_in(&w->rng, 2) ? 100 : SLOT / 2);
	memset(s->buf + s->len, GUARD_BYTE, 64);
	s->file = f;
	s->used = true;
	atomic_fetch_add(&f->users, 1);
	return s;
}

static void drop_slot(struct slot *s)
{
	s->used = false;
	put_file(s->file);
}

static void complete(struct worker *w, struct slot *s, long ret)
{
	int i;

	if (ret != -ECANCELED && ret != -ETIME && s->call != NR_CALLS)
		check(w, s->file, s->call, s->what, ret, s->len);
	for (i = 0; i < 64; i++)
		if (s->buf[s->len + i] != GUARD_BYTE) {
			finding("guard behind a request", "%s of %zu bytes on %s", s->what, s->len,
				node_names[s->file->kind]);
			break;
		}
	drop_slot(s);
}

/* ---- io_uring ---- */

static bool ring_start(struct worker *w)
{
	static const unsigned int setups[] = {
		0, 0, 0, IORING_SETUP_COOP_TASKRUN, IORING_SETUP_SUBMIT_ALL, IORING_SETUP_CLAMP,
	};
	unsigned int flags = one_in(&w->rng, 40) ? IORING_SETUP_SQPOLL : PICK(&w->rng, setups);
	struct iovec v[2] = { { w->arena, ARENA / 2 }, { w->p->big, 1 << 20 } };

	if (io_uring_queue_init(32, &w->ring, flags))
		return false;
	w->has_ring = true;
	io_uring_register_buffers(&w->ring, v, 2);
	return true;
}

/*
 * The requests under way are cancelled behind our back: their memory goes at once, too, or
 * stays where they may write to it.
 */
void ring_exit(struct worker *w)
{
	int i;

	if (!w->has_ring)
		return;
	for (i = 0; i < NR_SLOTS; i++) {
		struct slot *s = &w->ring_slots[i];

		if (!s->used)
			continue;
		if (one_in(&w->rng, 2))
			munmap(s->buf, SLOT);
		s->buf = NULL;
		drop_slot(s);
	}
	io_uring_queue_exit(&w->ring);
	w->has_ring = false;
}

static void reap_ring(struct worker *w)
{
	struct __kernel_timespec ts = { .tv_nsec = below(&w->rng, 2000000) };
	struct io_uring_cqe *cqe;

	if (one_in(&w->rng, 4))
		io_uring_wait_cqe_timeout(&w->ring, &cqe, &ts);
	while (!io_uring_peek_cqe(&w->ring, &cqe)) {
		uint64_t tag = io_uring_cqe_get_data64(cqe);
		bool more = cqe->flags & IORING_CQE_F_MORE;
		int res = cqe->res;

		io_uring_cqe_seen(&w->ring, cqe);
		if (tag && !more && tag <= NR_SLOTS && w->ring_slots[tag - 1].used)
			complete(w, &w->ring_slots[tag - 1], res);
	}
}

/* With the buffers that were registered: what comes of a request tells little. */
static void prepare_fixed(struct worker *w, struct io_uring_sqe *sqe, struct slot *s, int fd,
			  int64_t at)
{
	int index = below(&w->rng, 3);
	uint8_t *buf = (index == 1 ? w->p->big : w->arena) + below(&w->rng, ARENA);

	s->call = NR_CALLS;
	s->what = "fixed";
	if (one_in(&w->rng, 2))
		io_uring_prep_read_fixed(sqe, fd, buf, s->len, at, index);
	else
		io_uring_prep_write_fixed(sqe, fd, buf, s->len, at, index);
}

static void prepare(struct worker *w, struct io_uring_sqe *sqe, struct slot *s)
{
	int fd = s->file->fd;
	int64_t at = 1u << s->file->kind & MEMORY ? (int64_t)below(&w->rng, region_size + 10) : -1;

	s->call = NR_CALLS;
	s->what = "request";
	switch (below(&w->rng, 10)) {
	case 0:
	case 1:
	case 2:
		s->call = READ;
		s->what = "io_uring read";
		io_uring_prep_read(sqe, fd, s->buf, s->len, at);
		break;
	case 3:
	case 4:
	case 5:
		s->call = WRITE;
		s->what = "io_uring write";
		io_uring_prep_write(sqe, fd, s->buf, s->len, at);
		break;
	case 6:
		prepare_fixed(w, sqe, s, fd, at);
		break;
	case 7:
		if (one_in(&w->rng, 3))
			io_uring_prep_poll_multishot(sqe, fd, POLLIN | POLLOUT);
		else
			io_uring_prep_poll_add(sqe, fd, rng_next(&w->rng) & 0xffff);
		break;
	case 8:
		io_uring_prep_fsync(sqe, fd, 0);
		break;
	default:
		io_uring_prep_splice(sqe, w->pipe[0], -1, fd, -1, s->len, 0);
	}
}

/* About other requests. */
static void control(struct worker *w, struct io_uring_sqe *sqe)
{
	static struct __kernel_timespec ts = { .tv_nsec = 3000000 };
	uint64_t tag = 1 + below(&w->rng, NR_SLOTS);

	switch (below(&w->rng, 4)) {
	case 0:
	case 1:
		io_uring_prep_cancel64(sqe, tag, one_in(&w->rng, 4) ? IORING_ASYNC_CANCEL_ANY : 0);
		break;
	case 2:
		io_uring_prep_poll_remove(sqe, tag);
		break;
	default:
		io_uring_prep_timeout(sqe, &ts, 0, 0);
	}
	io_uring_sqe_set_data64(sqe, 0);
}

static unsigned int some_sqe_flags(struct rng *r)
{
	static const unsigned int flags[] = { 0,
					      0,
					      0,
					      0,
					      IOSQE_ASYNC,
					      IOSQE_ASYNC,
					      IOSQE_IO_LINK,
					      IOSQE_IO_HARDLINK,
					      IOSQE_IO_DRAIN,
					      IOSQE_IO_LINK | IOSQE_ASYNC };

	return PICK(r, flags);
}

void op_ring(struct worker *w, struct file *f)
{
	static struct __kernel_timespec ts = { .tv_nsec = 2000000 };
	struct io_uring_sqe *sqe;
	struct slot *s;
	unsigned int n;

	if (one_in(&w->rng, 150))
		ring_exit(w);
	if (!w->has_ring && !ring_start(w))
		return;
	for (n = 1 + below(&w->rng, 4); n; n--) {
		sqe = io_uring_get_sqe(&w->ring);
		s = sqe ? take_slot(w, w->ring_slots, f) : NULL;
		if (!sqe)
			break;
		if (!s) {
			control(w, sqe);
			continue;
		}
		prepare(w, sqe, s);
		io_uring_sqe_set_data64(sqe, s - w->ring_slots + 1);
		sqe->flags |= some_sqe_flags(&w->rng);
		log_input("io_uring op %d %s %zu flags %#x", sqe->opcode, node_names[f->kind],
			  s->len, sqe->flags);
		if (!(sqe->flags & IOSQE_IO_LINK) || !one_in(&w->rng, 2))
			continue;
		sqe = io_uring_get_sqe(&w->ring);
		if (!sqe)
			break;
		io_uring_prep_link_timeout(sqe, &ts, 0);
		io_uring_sqe_set_data64(sqe, 0);
	}
	io_uring_submit(&w->ring);
	reap_ring(w);
}

/* ---- libaio ---- */

static void reap_aio(struct worker *w)
{
	struct timespec ts = { .tv_nsec = below(&w->rng, 2) * 1000000 };
	struct io_event events[NR_SLOTS];
	int n, i;

	n = io_getevents(w->aio, 0, NR_SLOTS, events, &ts);
	for (i = 0; i < n; i++)
		complete(w, events[i].data, events[i].res);
}

/* It waits for the requests, or cancels them. */
static void aio_exit(struct worker *w)
{
	int i;

	io_destroy(w->aio);
	w->aio = NULL;
	for (i = 0; i < NR_SLOTS; i++)
		if (w->aio_slots[i].used)
			drop_slot(&w->aio_slots[i]);
}

void op_aio(struct worker *w, struct file *f)
{
	struct slot *s = take_slot(w, w->aio_slots, f);
	struct iocb *iocb = s ? &s->iocb : NULL;
	bool out = one_in(&w->rng, 2);
	int64_t at = below(&w->rng, region_size);
	struct io_event event;

	if (!w->aio && io_setup(NR_SLOTS, &w->aio)) {
		if (s)
			drop_slot(s);
		return;
	}
	if (s) {
		s->call = out ? WRITE : READ;
		s->what = out ? "aio write" : "aio read";
		if (one_in(&w->rng, 6)) {
			s->call = NR_CALLS;
			io_prep_poll(iocb, f->fd, POLLIN | POLLOUT);
		} else if (one_in(&w->rng, 10)) {
			s->call = FSYNC;
			s->what = "aio fsync";
			io_prep_fsync(iocb, f->fd);
		} else if (out) {
			io_prep_pwrite(iocb, f->fd, s->buf, s->len, at);
		} else {
			io_prep_pread(iocb, f->fd, s->buf, s->len, at);
		}
		iocb->data = s;
		log_input("%s %s %zu", s->what, node_names[f->kind], s->len);
		if (io_submit(w->aio, 1, &iocb) != 1)
			drop_slot(s);
	} else if (one_in(&w->rng, 4)) {
		/* Completes with its result, or does not. */
		io_cancel(w->aio, &w->aio_slots[below(&w->rng, NR_SLOTS)].iocb, &event);
	}
	reap_aio(w);
	if (one_in(&w->rng, 100))
		aio_exit(w);
}
