// SPDX-License-Identifier: GPL-2.0
/* Reading and writing, ioctls, poll. */
#define _GNU_SOURCE
#include "calls.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/uio.h>
#include <unistd.h>
#include "linux/rdma_char.h"

#define SYS(expr)                         \
	({                                \
		long ret_ = (expr);       \
		ret_ < 0 ? -errno : ret_; \
	})

/* A region has so many bytes from there on. */
static size_t at_most(const struct file *f, int64_t offset, size_t len)
{
	if (!(1u << f->kind & MEMORY))
		return len;
	if (offset < 0 || (uint64_t)offset >= region_size)
		return 0;
	return len < region_size - offset ? len : region_size - offset;
}

/* One write is one message, and so all of it. */
static void check_whole(struct worker *w, const struct file *f, const char *what, long ret,
			size_t len)
{
	if (1u << f->kind & MESSAGE && ret > 0 && (size_t)ret != len && !w->p->racy)
		finding("part of a message", "%s of %zu bytes returned %ld", what, len, ret);
}

/* Without a position of its own: that of the file, which others move. */
static void plain(struct worker *w, struct file *f, bool out)
{
	const char *what = out ? "write" : "read";
	struct buffer b = take_buffer(w, some_length(&w->rng));
	long ret;

	log_input("%s %s %p %zu", what, node_names[f->kind], b.at, b.len);
	ret = SYS(out ? write(f->fd, b.at, b.len) : read(f->fd, b.at, b.len));
	check(w, f, out ? WRITE : READ, what, ret, b.len);
	if (out)
		check_whole(w, f, what, ret, b.len);
	else
		check_buffer(&b, what);
}

static void positioned(struct worker *w, struct file *f, bool out)
{
	const char *what = out ? "pwrite" : "pread";
	struct buffer b = take_buffer(w, some_length(&w->rng));
	int64_t offset = some_offset(&w->rng, b.len);
	enum call call = out ? WRITE : READ;
	size_t max = at_most(f, offset, b.len);
	long ret;

	if (1u << f->kind & (STREAM | MESSAGE)) {
		call = POSITIONED;
		max = 0;
	}
	log_input("%s %s %p %zu at %lld", what, node_names[f->kind], b.at, b.len,
		  (long long)offset);
	ret = SYS(out ? pwrite(f->fd, b.at, b.len, offset) : pread(f->fd, b.at, b.len, offset));
	check(w, f, call, what, ret, f->flags & O_APPEND ? b.len : max);
	if (!out)
		check_buffer(&b, what);
}

static void vector(struct worker *w, struct file *f, bool out)
{
	const char *what = out ? "writev" : "readv";
	int count, asked;
	size_t len = take_vector(w, &count);
	long ret;

	asked = one_in(&w->rng, 60) ? (int)PICK(&w->rng, ((const int[]){ 0, -1, 1025, 1 << 30 })) :
				      count;
	log_input("%s %s %d parts %zu bytes", what, node_names[f->kind], asked, len);
	ret = SYS(out ? writev(f->fd, w->iov, asked) : readv(f->fd, w->iov, asked));
	check(w, f, out ? WRITE : READ, what, ret, len);
	if (!out)
		check_vector(w, count, what);
}

static int some_rwf(struct rng *r)
{
	static const int flags[] = { RWF_NOWAIT, RWF_NOWAIT, RWF_NOWAIT,
				     0,		 RWF_HIPRI,  RWF_DSYNC,
				     RWF_SYNC,	 RWF_APPEND, RWF_NOWAIT | RWF_APPEND,
				     1 << 20,	 -1 };

	return PICK(r, flags);
}

/* RWF_NOWAIT never waits; so much time shows that it did. */
#define NOWAIT_MS 20000

static void vector2(struct worker *w, struct file *f, bool out)
{
	const char *what = out ? "pwritev2" : "preadv2";
	bool session = 1u << f->kind & (STREAM | MESSAGE);
	int count, flags = some_rwf(&w->rng);
	size_t len = take_vector(w, &count), max = len;
	enum call call = out ? WRITE : READ;
	long long begun = now_ms();
	int64_t offset = -1;
	long ret;

	if (one_in(&w->rng, session ? 8 : 1)) {
		offset = some_offset(&w->rng, len);
		max = at_most(f, offset, len);
		if (session && offset != -1)
			call = POSITIONED, max = 0;
	}
	if (offset == -1 || flags & RWF_APPEND || f->flags & O_APPEND)
		max = len;
	log_input("%s %s %d parts %zu bytes at %lld %#x", what, node_names[f->kind], count, len,
		  (long long)offset, flags);
	ret = SYS(out ? pwritev2(f->fd, w->iov, count, offset, flags) :
			preadv2(f->fd, w->iov, count, offset, flags));
	check(w, f, call, what, ret, max);
	if (!out)
		check_vector(w, count, what);
	if (session && flags == RWF_NOWAIT && now_ms() - begun > NOWAIT_MS)
		finding("RWF_NOWAIT waited", "%s took %lld ms", what, now_ms() - begun);
}

void op_io(struct worker *w, struct file *f)
{
	/* Without a reader for each writer all would soon wait. */
	bool out = below(&w->rng, 100) < 45;

	switch (below(&w->rng, 10)) {
	case 0:
	case 1:
	case 2:
	case 3:
		plain(w, f, out);
		break;
	case 4:
	case 5:
		vector(w, f, out);
		break;
	case 6:
	case 7:
		vector2(w, f, out);
		break;
	default:
		positioned(w, f, out);
	}
}

/* ---- ioctls ---- */

static long do_ioctl(struct worker *w, struct file *f, enum call call, const char *what,
		     unsigned long request, void *arg)
{
	log_input("ioctl %s %s %#lx %p", what, node_names[f->kind], request, arg);
	return check(w, f, call, what, SYS(ioctl(f->fd, request, arg)), 0);
}

static void *some_argument(struct worker *w, struct buffer *b, size_t len)
{
	memset(b, 0, sizeof(*b));
	if (one_in(&w->rng, 8))
		return bad_pointer(w);
	*b = take_buffer(w, len);
	return b->at;
}

static void info(struct worker *w, struct file *f)
{
	static const size_t sizes[] = { 0, 1, 167, 168, 169, 4096, 16383 };
	size_t size = one_in(&w->rng, 2) ? sizeof(struct rchar_info) : PICK(&w->rng, sizes);
	struct buffer b;
	void *arg;
	long ret;

	if (one_in(&w->rng, 4))
		size = below(&w->rng, 16384);
	arg = some_argument(w, &b, size);
	ret = do_ioctl(w, f, INFO, "info", _IOC(_IOC_READ, RCHAR_IOC_MAGIC, 2, size), arg);
	check_buffer(&b, "info");
	if (!ret && b.guarded && size >= sizeof(struct rchar_info) && !w->p->racy) {
		struct rchar_info got;

		memcpy(&got, b.at, sizeof(got));
		if (strcmp(got.name, node_names[f->kind]))
			finding("info", "of %s says %.32s", node_names[f->kind], got.name);
		if (got.size && 1u << f->kind & MEMORY && got.size != region_size)
			finding("info size", "%llu", (unsigned long long)got.size);
	}
}

static void atomic(struct worker *w, struct file *f)
{
	struct rng *r = &w->rng;
	struct rchar_atomic a = {
		.op = one_in(r, 10) ? rng_next(r) : 1 + below(r, 2),
		.flags = one_in(r, 10) ? rng_next(r) : 0,
		.offset = one_in(r, 3) ? (uint64_t)some_offset(r, 8) : below(r, region_size) & ~7u,
		.operand = rng_next(r),
		.compare = one_in(r, 2) ? 0 : rng_next(r),
	};
	struct buffer b;
	void *arg = some_argument(w, &b, sizeof(a));

	if (b.guarded)
		memcpy(b.at, &a, sizeof(a));
	do_ioctl(w, f, ATOMIC, "atomic", RCHAR_IOC_ATOMIC, arg);
	check_buffer(&b, "atomic");
}

static void unknown(struct worker *w, struct file *f)
{
	unsigned int nr = 6 + below(&w->rng, 250), dir = below(&w->rng, 4);
	struct buffer b;
	void *arg;

	/* A known number with another size or direction is an unknown request as well. */
	if (one_in(&w->rng, 2)) {
		nr = PICK(&w->rng, ((const unsigned int[]){ 1, 3, 4, 5 }));
		dir = below(&w->rng, 4);
	}
	unsigned int request = _IOC(dir, RCHAR_IOC_MAGIC, nr, below(&w->rng, 16384));

	if (request == RCHAR_IOC_SHUTDOWN || request == RCHAR_IOC_ATOMIC ||
	    request == RCHAR_IOC_NOTIFY || request == RCHAR_IOC_RINGS)
		return;
	arg = some_argument(w, &b, 256);
	do_ioctl(w, f, UNKNOWN, "unknown ioctl", request, arg);
	check_buffer(&b, "unknown ioctl");
}

/* What is not ours the kernel answers itself, in many ways. */
static void foreign(struct worker *w, struct file *f)
{
	static const unsigned int known[] = { FIONBIO, FIOASYNC,   FIOQSIZE,	 FIOCLEX, FIONCLEX,
					      TCGETS,  TIOCGWINSZ, FIONREAD + 1, 0,	  ~0u };
	unsigned int request = one_in(&w->rng, 2) ? PICK(&w->rng, known) : rng_next(&w->rng);
	struct buffer b = take_buffer(w, 16384);

	if (_IOC_TYPE(request) == RCHAR_IOC_MAGIC)
		return;
	log_input("ioctl foreign %s %#x", node_names[f->kind], request);
	ioctl(f->fd, request, b.at);
}

void op_ioctl(struct worker *w, struct file *f)
{
	struct rng *r = &w->rng;
	struct buffer b;

	switch (below(r, 12)) {
	case 0:
	case 1:
	case 2:
		info(w, f);
		break;
	case 3:
	case 4:
		atomic(w, f);
		break;
	case 5:
		do_ioctl(w, f, SHUTDOWN, "shutdown", RCHAR_IOC_SHUTDOWN,
			 (void *)(one_in(r, 6) ? boundary(r) : 1ul + below(r, 3)));
		break;
	case 6:
		do_ioctl(w, f, NOTIFY, "notify", RCHAR_IOC_NOTIFY, (void *)boundary(r));
		break;
	case 7:
		do_ioctl(w, f, RINGS, "rings", RCHAR_IOC_RINGS,
			 some_argument(w, &b, sizeof(struct rchar_rings)));
		check_buffer(&b, "rings");
		break;
	case 8:
	case 9:
		do_ioctl(w, f, COUNT, "count", one_in(r, 2) ? FIONREAD : TIOCOUTQ,
			 some_argument(w, &b, sizeof(int)));
		check_buffer(&b, "count");
		break;
	case 10:
		unknown(w, f);
		break;
	default:
		foreign(w, f);
	}
}

/* ---- poll ---- */

#define POLL_BITS \
	(POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM | POLLRDHUP | POLLHUP | POLLERR | POLLPRI)

static void check_bits(struct worker *w, const struct file *f, unsigned int bits)
{
	unsigned int right = POLL_BITS;

	if (w->p->racy)
		return;
	if (1u << f->kind & (STREAM | MESSAGE))
		right &= ~POLLPRI;
	if (bits & ~right)
		finding("poll bits", "%#x of %s", bits, node_names[f->kind]);
}

static void by_epoll(struct worker *w, struct file *f)
{
	struct epoll_event e = { .events = rng_next(&w->rng) &
					   (POLL_BITS | EPOLLET | EPOLLONESHOT) };
	int ep = epoll_create1(EPOLL_CLOEXEC);

	if (ep < 0)
		return;
	epoll_ctl(ep, EPOLL_CTL_ADD, f->fd, &e);
	if (epoll_wait(ep, &e, 1, below(&w->rng, 3)) == 1)
		check_bits(w, f, e.events & ~(EPOLLET | EPOLLONESHOT));
	if (one_in(&w->rng, 2))
		epoll_ctl(ep, EPOLL_CTL_MOD, f->fd, &e);
	if (one_in(&w->rng, 2))
		epoll_ctl(ep, EPOLL_CTL_DEL, f->fd, NULL);
	close(ep);
}

void op_poll(struct worker *w, struct file *f)
{
	struct pollfd p = { .fd = f->fd, .events = rng_next(&w->rng) };
	struct timeval tv = { .tv_usec = below(&w->rng, 2000) };
	fd_set in, out, other;

	log_input("poll %s %#x", node_names[f->kind], p.events);
	switch (below(&w->rng, 3)) {
	case 0:
		if (poll(&p, 1, below(&w->rng, 3)) == 1)
			check_bits(w, f, p.revents);
		break;
	case 1:
		by_epoll(w, f);
		break;
	default:
		if (f->fd < 0 || f->fd >= FD_SETSIZE)
			return;
		FD_ZERO(&in);
		FD_ZERO(&out);
		FD_ZERO(&other);
		FD_SET(p.fd, &in);
		FD_SET(p.fd, &out);
		select(p.fd + 1, &in, &out, &other, &tv);
	}
}
