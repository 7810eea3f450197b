// SPDX-License-Identifier: GPL-2.0
/* io_uring. A request that goes to a worker thread shows as a thread of this process. */
#include "contract.h"
#include <dirent.h>
#include <liburing.h>

static struct io_uring ring;

static int threads(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	int n = 0;

	CHECK(d);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static void setup(void)
{
	CHECK(io_uring_queue_init(64, &ring, 0) == 0);
}

static void queue_read(int fd, void *buf, unsigned int len, uint64_t tag)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	io_uring_prep_read(sqe, fd, buf, len, -1);
	io_uring_sqe_set_data64(sqe, tag);
}

static void queue_write(int fd, const void *buf, unsigned int len, uint64_t tag)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	io_uring_prep_write(sqe, fd, buf, len, -1);
	io_uring_sqe_set_data64(sqe, tag);
}

static void submit(void)
{
	CHECK(io_uring_submit(&ring) >= 0);
}

/* The result of the next completion, and of which one it is. */
static int next_result(uint64_t *tag)
{
	struct __kernel_timespec ts = { .tv_sec = LONG_MS / 1000 };
	struct io_uring_cqe *cqe;
	int res;

	CHECK(io_uring_wait_cqe_timeout(&ring, &cqe, &ts) == 0);
	*tag = io_uring_cqe_get_data64(cqe);
	res = cqe->res;
	io_uring_cqe_seen(&ring, cqe);
	return res;
}

/* The result of the next completion, which must be that one. */
static int complete(uint64_t tag)
{
	uint64_t of;
	int res = next_result(&of);

	CHECK(of == tag);
	return res;
}

/* The result of that one, whatever else completes first. */
static int result_of(uint64_t tag)
{
	uint64_t of;
	int res;

	do
		res = next_result(&of);
	while (of != tag);
	return res;
}

static bool nothing_completes(void)
{
	struct __kernel_timespec ts = { .tv_nsec = 50000000 };
	struct io_uring_cqe *cqe;

	return io_uring_wait_cqe_timeout(&ring, &cqe, &ts) == -ETIME;
}

TEST(io_uring_reads_wait_without_a_worker_thread)
{
	int cli, srv, i;

	pair(&cli, &srv);
	setup();
	for (i = 0; i < 20; i++) {
		queue_read(srv, big, 100, 1);
		submit();
		CHECK(i || nothing_completes());
		CHECK(threads() == 1);
		queue_write(cli, "hello", 5, 2);
		submit();
		CHECK(complete(2) == 5);
		CHECK(complete(1) == 5 && !memcmp(big, "hello", 5));
	}
	CHECK(threads() == 1);
}

TEST(io_uring_writes_wait_without_a_worker_thread)
{
	int cli, srv;
	long total;

	pair(&cli, &srv);
	total = fill_window(cli);
	CHECK(fcntl(cli, F_SETFL, 0) == 0);
	setup();
	queue_write(cli, big, 20000, 1);
	submit();
	CHECK(nothing_completes());
	CHECK(threads() == 1);
	read_exactly(srv, total);
	CHECK(complete(1) == 20000);
	CHECK(threads() == 1);
	read_exactly(srv, 20000);
}

TEST(io_uring_polls_a_channel)
{
	struct io_uring_sqe *sqe;
	int cli, srv;

	pair(&cli, &srv);
	setup();
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_poll_add(sqe, srv, POLLIN);
	io_uring_sqe_set_data64(sqe, 1);
	submit();
	CHECK(nothing_completes());
	CHECK(write(cli, "x", 1) == 1);
	CHECK(complete(1) == POLLIN);
	CHECK(threads() == 1);
}

/* Twenty times: the request has to be there before the peer has answered. */
TEST(io_uring_polls_an_import_that_opens)
{
	struct io_uring_sqe *sqe;
	int fd, i;

	sh("rchar add polled memory listen 10.0.0.1 size 1m backlog 30;"
	   "rchar -w 60 add polls memory connect 10.0.0.1/polled");
	setup();
	for (i = 0; i < 20; i++) {
		fd = open("/dev/rchar/polls", O_RDWR | O_NONBLOCK);
		CHECK(fd >= 0);
		sqe = io_uring_get_sqe(&ring);
		io_uring_prep_poll_add(sqe, fd, POLLOUT);
		io_uring_sqe_set_data64(sqe, 1);
		submit();
		CHECK(complete(1) == POLLOUT);
		CHECK(pwrite(fd, "x", 1, 0) == 1);
		close(fd);
	}
}

TEST(io_uring_moves_whole_messages)
{
	int cli, srv, i;

	cli = open("/dev/rchar/mcli", O_RDWR);
	srv = open("/dev/rchar/msrv", O_RDWR);
	CHECK(cli >= 0 && srv >= 0);
	setup();
	/* More than the window holds: each waits for its turn. */
	for (i = 0; i < 5; i++) {
		memset(big, 'a' + i, 30000);
		queue_write(cli, big, 30000, 1);
		submit();
		queue_read(srv, big + 500000, 500000, 2);
		submit();
		CHECK(complete(1) == 30000);
		CHECK(complete(2) == 30000 && big[500000 + 29999] == 'a' + i);
	}
	CHECK(threads() == 1);
}

TEST(a_waiting_io_uring_request_can_be_cancelled)
{
	struct io_uring_sqe *sqe;
	int cli, srv;

	pair(&cli, &srv);
	setup();
	queue_read(srv, big, 100, 1);
	submit();
	CHECK(nothing_completes());
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_cancel64(sqe, 1, 0);
	sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
	submit();
	CHECK(complete(1) == -ECANCELED);
	/* Nothing of what comes then is lost to it. */
	CHECK(write(cli, "x", 1) == 1 && read(srv, big, 10) == 1);
	/* And a process may end with one waiting. */
	queue_read(srv, big, 100, 1);
	submit();
}

/* An open() of the listening side waits for a peer, in a thread of io_uring. */
TEST(a_waiting_io_uring_open_can_be_cancelled)
{
	struct io_uring_sqe *sqe;
	int cli, srv, res;

	setup();
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_openat(sqe, AT_FDCWD, SRV, O_RDWR, 0);
	io_uring_sqe_set_data64(sqe, 1);
	sqe->flags = IOSQE_ASYNC;
	submit();
	EVENTUALLY(!system("grep -qs rchar_chardev_open /proc/$PPID/task/*/stack"));
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_cancel64(sqe, 1, 0);
	io_uring_sqe_set_data64(sqe, 2);
	submit();
	res = result_of(1);
	CHECK(res == -EINTR || res == -ECANCELED);
	/* The peer meets no session of it. */
	pair(&cli, &srv);
	CHECK(write(cli, "x", 1) == 1 && read(srv, big, 10) == 1);
}

TEST(io_uring_has_fsync)
{
	int cli, srv, unacked, i;

	pair(&cli, &srv);
	setup();
	for (i = 0; i < 20; i++) {
		CHECK(write(cli, big, 3000) == 3000);
		io_uring_prep_fsync(io_uring_get_sqe(&ring), cli, 0);
		submit();
		CHECK(complete(0) == 0);
		CHECK(ioctl(cli, TIOCOUTQ, &unacked) == 0 && unacked == 0);
	}
}
