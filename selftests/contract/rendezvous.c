// SPDX-License-Identifier: GPL-2.0
/* Large writes, whose bytes the peer reads from where they are. */
#include "contract.h"

#define PIECE (1 << 20)
#define HALF  (PIECE / 2)

/* The reader declines, or nobody offers: everything comes in frames. */
static bool copies_all(void)
{
	return encrypted() || device_lacks("max_fast_reg_page_list_len") ||
	       device_limit("local_inv") == 0;
}

/* The device registers so little at once that a large write is many pieces. */
static bool pieces_are_small(void)
{
	return device_limit("max_fast_reg_page_list_len") * 4096 < PIECE;
}

/* Reads to the end of the file; what comes must be the stream from its beginning. */
struct reader {
	pthread_t thread;
	int fd;
	size_t at_once;
	volatile uint64_t bytes;
	bool same;
};

static void *read_all(void *arg)
{
	static char buf[PIECE];
	struct reader *r = arg;
	ssize_t n;

	r->same = true;
	while ((n = read(r->fd, buf, r->at_once)) > 0) {
		r->same = r->same && has_pattern(buf, n, r->bytes);
		r->bytes += n;
	}
	return NULL;
}

static void begin_by(int *cli, struct reader *r, const char *settings, size_t at_once)
{
	new_pair(cli, &r->fd, "stream", settings, settings);
	r->bytes = 0;
	r->at_once = at_once;
	CHECK(!pthread_create(&r->thread, NULL, read_all, r));
}

static void begin(int *cli, struct reader *r, const char *settings)
{
	begin_by(cli, r, settings, PIECE);
}

static void finish(int cli, struct reader *r, uint64_t written)
{
	CHECK(close(cli) == 0);
	pthread_join(r->thread, NULL);
	CHECK(r->same);
	CHECK(r->bytes == written);
}

/* Pieces that were read from the writer's memory. */
static long rndv_sent(void)
{
	return counter_of_there("rendezvous_sent");
}

/* From that place in the stream; at an odd address, again and again from the same memory. */
static uint64_t write_pieces(int fd, uint64_t pos, int n)
{
	static char buf[PIECE + 3];

	for (int i = 0; i < n; i++) {
		pattern(buf + 3, PIECE, pos + i * PIECE);
		CHECK(write(fd, buf + 3, PIECE) == PIECE);
	}
	return n * PIECE;
}

TEST(a_large_write_is_not_copied)
{
	struct reader r;
	int cli;

	begin(&cli, &r, "window 4m");
	finish(cli, &r, write_pieces(cli, 0, 20));
	if (copies_all())
		CHECK(rndv_sent() == 0);
	else
		CHECK(rndv_sent() >= 20);
}

TEST(a_smaller_write_is_copied)
{
	static char buf[PIECE - 1];
	struct reader r;
	int cli;

	begin(&cli, &r, "window 1m rendezvous-min 1m");
	for (int i = 0; i < 5; i++) {
		pattern(buf, sizeof(buf), i * sizeof(buf));
		CHECK(write(cli, buf, sizeof(buf)) == sizeof(buf));
	}
	finish(cli, &r, 5 * sizeof(buf));
	CHECK(rndv_sent() == 0);
	sh("rchar add x message listen 10.0.0.1");
	CHECK(system("rchar set x rendezvous-min 1m 2>&1 | grep -q 'only stream channels'") == 0);
}

TEST(large_writes_survive_a_lost_link)
{
	struct reader r;
	uint64_t n = 0;
	pid_t pid;
	int cli;

	begin(&cli, &r, "window 1m");
	pid = reset_links("tx_bytes");
	while (resetting(pid))
		n += write_pieces(cli, n, 1);
	finish(cli, &r, n);
}

TEST(a_signal_in_a_large_write_loses_nothing)
{
	struct itimerval it = { .it_value.tv_usec = 3000, .it_interval.tv_usec = 3000 };
	struct sigaction sa = { .sa_handler = no_op };
	static char buf[4 * PIECE];
	int cli, interrupted = 0;
	struct reader r;
	uint64_t pos = 0;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	/* Who reads small pieces is slow: write() has to wait. */
	begin_by(&cli, &r, "window 1m", 65536);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
	/* Where nothing is slow, few writes wait long enough to be interrupted. */
	while (pos < 1ull * rounds(40) * PIECE || interrupted <= 3) {
		ssize_t n;

		CHECK(pos < 4000ull * PIECE);
		pattern(buf, sizeof(buf), pos);
		n = write(cli, buf, sizeof(buf));
		CHECK(n > 0 || errno == EINTR);
		interrupted += n != sizeof(buf);
		pos += n > 0 ? n : 0;
	}
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	finish(cli, &r, pos);
}

TEST(fsync_covers_large_writes)
{
	struct reader r;
	uint64_t n;
	int cli;

	begin(&cli, &r, "window 4m");
	n = write_pieces(cli, 0, 3);
	CHECK(fsync(cli) == 0);
	CHECK(unacknowledged(cli) == 0);
	finish(cli, &r, n);
}

TEST(a_large_write_ends_at_a_fault)
{
	char *p = mmap(NULL, 2 * PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct reader r;
	int cli;

	CHECK(p != MAP_FAILED && munmap(p + PIECE, PIECE) == 0);
	pattern(p, PIECE, 0);
	begin(&cli, &r, "window 4m");
	CHECK(write(cli, p, 2 * PIECE) == PIECE);
	CHECK_ERR(write(cli, p + PIECE, PIECE), EFAULT);
	finish(cli, &r, PIECE);
}

static void *write_much(void *arg)
{
	static char buf[4 * PIECE];
	struct call *c = arg;
	uint64_t pos = 0;
	ssize_t n;

	do {
		pattern(buf, sizeof(buf), pos);
		n = write(c->fd, buf, sizeof(buf));
		pos += n > 0 ? n : 0;
	} while (n == sizeof(buf) && pos < 400 * PIECE);
	c->err = n < 0 ? errno : 0;
	c->ret = pos >> 10;
	return NULL;
}

TEST(a_half_close_ends_a_large_write)
{
	struct call c = { 0 };
	struct reader r;
	int cli;

	begin(&cli, &r, "window 1m");
	c.fd = cli;
	pthread_create(&c.thread, NULL, write_much, &c);
	/* More than its first write. */
	EVENTUALLY(r.bytes > 4 * PIECE);
	CHECK(ioctl(cli, RCHAR_IOC_SHUTDOWN, RCHAR_SHUT_WR) == 0);
	pthread_join(c.thread, NULL);
	CHECK(c.err == 0 || c.err == EPIPE);
	CHECK_ERR(write(cli, "x", 1), EPIPE);
	finish(cli, &r, (uint64_t)c.ret << 10);
}

/* What it had written comes, and perhaps some of the rest, in order; and then the end. */
TEST(a_killed_writer_sends_what_it_could)
{
	for (int i = 0; i < rounds(4); i++) {
		struct call c = { 0 };
		struct reader r;
		int status;
		pid_t pid;

		begin(&c.fd, &r, "window 1m");
		pid = fork();
		if (pid == 0) {
			write_much(&c);
			_exit(0);
		}
		EVENTUALLY(r.bytes > 0);
		/* At another point of its work each time. */
		usleep(50000 + i * 37000);
		kill(pid, SIGKILL);
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK(close(c.fd) == 0);
		pthread_join(r.thread, NULL);
		CHECK(r.same);
		CHECK(close(r.fd) == 0);
		sh("rchar del here; rchar del there");
	}
}

TEST(large_writes_end_when_the_reader_goes)
{
	struct call c = { 0 };
	int srv;

	new_pair(&c.fd, &srv, "stream", "window 1m", "window 1m");
	pthread_create(&c.thread, NULL, write_much, &c);
	read_exactly(srv, 3 * PIECE);
	CHECK(close(srv) == 0);
	pthread_join(c.thread, NULL);
	CHECK(c.err == EPIPE || c.err == 0);
	CHECK_ERR(write(c.fd, "x", 1), EPIPE);
}

/* ---- who reads ---- */

/* Pieces that went to where the reader wanted them. */
static long rndv_placed(void)
{
	return largest("rchar -j stats here", "rendezvous_placed");
}

/* One read(), in a thread, of a program's memory of any kind. */
struct one_read {
	pthread_t thread;
	volatile pid_t tid;
	int fd;
	struct iovec v[300];
	int nr;
	ssize_t ret;
	int err;
};

static void *read_once(void *arg)
{
	struct one_read *r = arg;

	r->tid = gettid();
	r->ret = readv(r->fd, r->v, r->nr);
	r->err = errno;
	return NULL;
}

static void sleep_in(struct one_read *r)
{
	r->tid = 0;
	CHECK(!pthread_create(&r->thread, NULL, read_once, r));
	EVENTUALLY(r->tid && asleep(r->tid));
}

static int waiting_bytes(int fd)
{
	int n;

	CHECK(ioctl(fd, FIONREAD, &n) == 0);
	return n;
}

TEST(a_large_write_goes_to_a_waiting_readers_memory)
{
	static char in[HALF + 4099], out[HALF];
	/* In pieces, and at odd addresses. */
	struct one_read r = { .v = { { in + 5, 4090 }, { NULL, 0 }, { in + 4099, HALF } },
			      .nr = 3 };
	int cli;

	new_pair(&cli, &r.fd, "stream", "window 1m", "window 1m");
	for (uint64_t pos = 0; pos < 20 * HALF; pos += HALF) {
		sleep_in(&r);
		pattern(out, HALF, pos);
		CHECK(write(cli, out, HALF) == HALF);
		memset(out, 0, HALF);
		pthread_join(r.thread, NULL);
		if (r.ret == HALF) {
			CHECK(has_pattern(in + 5, 4090, pos));
			CHECK(has_pattern(in + 4099, HALF - 4090, pos + 4090));
		} else {
			CHECK(copies_all() || pieces_are_small());
			read_exactly(r.fd, HALF - r.ret);
		}
		CHECK(waiting_bytes(r.fd) == 0);
	}
	CHECK(pieces_are_small() || rndv_placed() == (copies_all() ? 0 : 20));
	CHECK(copies_all() || rndv_placed() > 0);
}

/* The first read() gets what there is room for, or what can be; the rest waits. */
static void comes_after_all(struct one_read *r, ssize_t first, ssize_t last)
{
	static char out[PIECE], in[PIECE];
	ssize_t at = 0;
	int cli;

	new_pair(&cli, &r->fd, "stream", "window 1m", "window 1m");
	pattern(out, PIECE, 0);
	sleep_in(r);
	CHECK(write(cli, out, PIECE) == PIECE);
	pthread_join(r->thread, NULL);
	CHECK(r->ret >= first && r->ret <= last);
	CHECK(r->ret > 0 || r->err == EFAULT);
	for (int i = 0; at < r->ret; at += r->v[i++].iov_len)
		CHECK(has_pattern(r->v[i].iov_base,
				  r->ret - at < (ssize_t)r->v[i].iov_len ? r->ret - at :
									   (ssize_t)r->v[i].iov_len,
				  at));
	for (at = r->ret < 0 ? 0 : r->ret; at < PIECE; at += r->ret) {
		r->ret = read(r->fd, in, PIECE - at);
		CHECK(r->ret > 0 && has_pattern(in, r->ret, at));
	}
	CHECK(pieces_are_small() || rndv_placed() == 0);
	CHECK(waiting_bytes(r->fd) == 0);
	CHECK(close(cli) == 0 && close(r->fd) == 0);
	sh("rchar del here; rchar del there");
}

TEST(a_large_write_that_does_not_fit_is_queued)
{
	char *hole = mmap(NULL, 2 * PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);
	struct one_read r = { .v = { { hole, PIECE - 1 } }, .nr = 1 };

	CHECK(hole != MAP_FAILED);
	comes_after_all(&r, 1, PIECE - 1);
	/* Room, but for a hole; and not at all. */
	CHECK(munmap(hole + HALF, 4096) == 0);
	r = (struct one_read){ .v = { { hole, 2 * PIECE } }, .nr = 1 };
	comes_after_all(&r, 1, HALF);
	CHECK(mprotect(hole, 2 * 4096, PROT_READ) == 0);
	comes_after_all(&r, -1, -1);
	/* More pages than there are in one piece. */
	r = (struct one_read){ .nr = 300 };
	for (int i = 0; i < r.nr; i++)
		r.v[i] = (struct iovec){ big + i * 3496 + 1, 3496 };
	comes_after_all(&r, 1, PIECE);
}

static uint32_t write_room(int fd)
{
	struct rchar_info info;

	CHECK(ioctl(fd, RCHAR_IOC_INFO, &info) == 0);
	return info.tx_room;
}

static volatile bool told_to_end;

static void *write_until_told(void *arg)
{
	struct call *c = arg;
	uint64_t pos = 0;

	while (!told_to_end)
		pos += write_pieces(c->fd, pos, 1);
	c->ret = pos / PIECE;
	return NULL;
}

TEST(a_signal_in_a_large_read_loses_nothing)
{
	struct itimerval it = { .it_value.tv_usec = 3000, .it_interval.tv_usec = 3000 };
	struct sigaction sa = { .sa_handler = no_op };
	static char buf[PIECE], out[HALF];
	struct one_read r = { .v = { { buf, PIECE } }, .nr = 1 };
	struct call c = { 0 };
	int interrupted = 0;
	bool ended = false;
	uint64_t pos = 0;
	sigset_t set;
	ssize_t n;
	long placed;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	new_pair(&c.fd, &r.fd, "stream", "window 1m", "window 1m");
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_create(&c.thread, NULL, write_until_told, &c);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
	while (pos < 1ull * rounds(60) * PIECE || interrupted <= 3) {
		/* Where nothing is slow, few reads wait long enough to be interrupted. */
		CHECK(pos < 4000ull * PIECE);
		n = read(r.fd, buf, sizeof(buf));
		CHECK(n > 0 || (n < 0 && errno == EINTR));
		interrupted += n < 0;
		if (n < 0)
			continue;
		CHECK(has_pattern(buf, n, pos));
		pos += n;
	}
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	told_to_end = true;
	while (!ended || pos < (uint64_t)c.ret * PIECE) {
		ended = ended || pthread_tryjoin_np(c.thread, NULL) == 0;
		if (waiting_bytes(r.fd) == 0) {
			usleep(1000);
			continue;
		}
		n = read(r.fd, buf, sizeof(buf));
		CHECK(n > 0 && has_pattern(buf, n, pos));
		pos += n;
	}
	placed = rndv_placed();
	if (copies_all()) {
		CHECK(placed == 0);
		return;
	}
	if (pieces_are_small())
		return;
	/* The next offer is as good as the first. The window may lag by a quarter. */
	EVENTUALLY(write_room(c.fd) >= HALF);
	sleep_in(&r);
	pattern(out, HALF, pos);
	CHECK(write(c.fd, out, HALF) == HALF);
	pthread_join(r.thread, NULL);
	CHECK(r.ret == HALF && has_pattern(buf, HALF, pos));
	CHECK(rndv_placed() == placed + 1);
}

/* Its memory is written to no more when it is gone: a new program gets what comes next. */
TEST(a_killed_reader_leaves_the_rest)
{
	struct call c = { 0 };
	int status, srv;
	pid_t pid;

	for (int i = 0; i < rounds(4); i++) {
		new_pair(&c.fd, &srv, "stream", "window 1m", "window 1m");
		pid = fork();
		if (pid == 0) {
			for (;;)
				CHECK(read(srv, big, sizeof(big)) > 0);
		}
		pthread_create(&c.thread, NULL, write_much, &c);
		/* At another point of its work each time. */
		usleep(150000 + i * 37000);
		kill(pid, SIGKILL);
		CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
		read_exactly(srv, 3 * PIECE);
		CHECK(close(srv) == 0);
		pthread_join(c.thread, NULL);
		CHECK(c.err == EPIPE || c.err == 0);
		CHECK(close(c.fd) == 0);
		sh("rchar del here; rchar del there");
	}
}
