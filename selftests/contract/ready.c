// SPDX-License-Identifier: GPL-2.0
/* Readiness: poll, epoll, RWF_NOWAIT, SIGIO. */
#include "contract.h"
#include <linux/userfaultfd.h>
#include <sys/select.h>
#include <sys/syscall.h>

TEST(rwf_nowait_never_waits)
{
	struct iovec v = { big, 10 };
	int cli, srv;

	pair(&cli, &srv);
	CHECK_ERR(preadv2(srv, &v, 1, -1, RWF_NOWAIT), EAGAIN);
	CHECK(pwritev2(cli, &v, 1, -1, RWF_NOWAIT) == 10 && fsync(cli) == 0);
	CHECK(preadv2(srv, &v, 1, -1, RWF_NOWAIT) == 10);
}

TEST(poll_tells_what_does_not_wait)
{
	int cli, srv;

	pair(&cli, &srv);
	CHECK(events(srv, POLLIN | POLLOUT, 0) == POLLOUT);
	CHECK(write(cli, "x", 1) == 1);
	CHECK(events(srv, POLLIN, LONG_MS) == POLLIN);
	CHECK(read(srv, big, 1) == 1);
	CHECK(events(srv, POLLIN | POLLRDHUP, 50) == 0);
	CHECK(ioctl(cli, RCHAR_IOC_SHUTDOWN, RCHAR_SHUT_WR) == 0);
	CHECK(events(srv, POLLIN | POLLRDHUP, LONG_MS) == (POLLIN | POLLRDHUP));
	CHECK(ioctl(srv, RCHAR_IOC_SHUTDOWN, RCHAR_SHUT_WR) == 0);
	CHECK(events(srv, POLLIN, LONG_MS) & POLLHUP);
}

TEST(edge_triggered_epoll_reports_each_arrival)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	int cli, srv, ep = epoll_create1(0), i;

	pair(&cli, &srv);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, srv, &ev) == 0);
	for (i = 0; i < 20; i++) {
		CHECK(epoll_wait(ep, &ev, 1, 0) == 0);
		CHECK(write(cli, "x", 1) == 1);
		CHECK(epoll_wait(ep, &ev, 1, LONG_MS) == 1);
		if (i % 2)
			CHECK(read(srv, big, 10) == 2);
	}
}

/* Pages that are there when the test says so. */
static int late_pages(char *pages, size_t len)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { (uintptr_t)pages, len },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		SKIP("this kernel has no userfaultfd");
	CHECK(pages != MAP_FAILED);
	CHECK(ioctl(fd, UFFDIO_API, &api) == 0 && ioctl(fd, UFFDIO_REGISTER, &range) == 0);
	return fd;
}

static void until_wanted(int fd)
{
	struct uffd_msg msg;

	CHECK(events(fd, POLLIN, LONG_MS) == POLLIN);
	CHECK(read(fd, &msg, sizeof(msg)) == sizeof(msg) && msg.event == UFFD_EVENT_PAGEFAULT);
}

static void page_comes(int fd, char *page)
{
	struct uffdio_zeropage zero = { .range = { (uintptr_t)page, 4096 } };

	CHECK(ioctl(fd, UFFDIO_ZEROPAGE, &zero) == 0);
}

static char *late;

static void *read_late(void *arg)
{
	struct call *c = arg;

	c->ret = read(c->fd, late, 1);
	return NULL;
}

static void *shut_reading(void *arg)
{
	struct call *c = arg;

	c->ret = ioctl(c->fd, RCHAR_IOC_SHUTDOWN, RCHAR_SHUT_RD);
	return NULL;
}

static void begin_call(struct call *c, int fd, void *(*fn)(void *))
{
	memset(c, 0, sizeof(*c));
	c->fd = fd;
	CHECK(!pthread_create(&c->thread, NULL, fn, c));
}

TEST(edge_triggered_epoll_reports_what_another_reader_left)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	int cli, srv, ep = epoll_create1(0), faults;
	struct call reader, shutter;
	ssize_t got;

	late = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	faults = late_pages(late, 8192);
	pair(&cli, &srv);
	nonblock(srv);
	CHECK(write(cli, "x", 1) == 1);
	CHECK(events(srv, POLLIN, LONG_MS) == POLLIN);
	begin_call(&reader, srv, read_late);
	until_wanted(faults);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, srv, &ev) == 0);
	CHECK(write(cli, "y", 1) == 1 && fsync(cli) == 0);
	CHECK(epoll_wait(ep, &ev, 1, LONG_MS) == 1);
	CHECK_ERR(read(srv, big, 10), EAGAIN);
	CHECK(epoll_wait(ep, &ev, 1, 0) == 0);
	page_comes(faults, late);
	CHECK(epoll_wait(ep, &ev, 1, LONG_MS) == 1);
	pthread_join(reader.thread, NULL);
	CHECK(reader.ret == 1 && late[0] == 'x');
	CHECK(read(srv, big, 10) == 1 && big[0] == 'y');

	/* The end, while one reader is at work, and who ends it waits for that one. */
	CHECK(write(cli, "z", 1) == 1);
	CHECK(epoll_wait(ep, &ev, 1, LONG_MS) == 1);
	late += 4096;
	begin_call(&reader, srv, read_late);
	until_wanted(faults);
	begin_call(&shutter, srv, shut_reading);
	CHECK(epoll_wait(ep, &ev, 1, LONG_MS) == 1);
	CHECK_ERR(read(srv, big, 10), EAGAIN);
	page_comes(faults, late);
	/* Now the one or the other is at work. */
	do {
		CHECK(epoll_wait(ep, &ev, 1, LONG_MS) == 1);
		got = read(srv, big, 10);
	} while (got == -1 && errno == EAGAIN);
	CHECK(got == 0);
	pthread_join(reader.thread, NULL);
	pthread_join(shutter.thread, NULL);
	CHECK(reader.ret == 1 && shutter.ret == 0);
}

static volatile sig_atomic_t got_sigio;

static void on_sigio(int sig)
{
	(void)sig;
	got_sigio = 1;
}

TEST(fasync_sends_sigio_when_bytes_arrive)
{
	int cli, srv;

	pair(&cli, &srv);
	signal(SIGIO, on_sigio);
	CHECK(fcntl(srv, F_SETOWN, getpid()) == 0);
	CHECK(fcntl(srv, F_SETFL, O_ASYNC) == 0);
	CHECK(write(cli, "x", 1) == 1);
	EVENTUALLY(got_sigio);
}

TEST(select_agrees_with_poll)
{
	struct timeval tv = { 0 };
	fd_set r, w;
	int cli, srv;

	pair(&cli, &srv);
	FD_ZERO(&r);
	FD_ZERO(&w);
	FD_SET(srv, &r);
	FD_SET(srv, &w);
	CHECK(select(srv + 1, &r, &w, NULL, &tv) == 1 && FD_ISSET(srv, &w));
	CHECK(write(cli, "x", 1) == 1);
	FD_SET(srv, &r);
	CHECK(select(srv + 1, &r, NULL, NULL, NULL) == 1 && FD_ISSET(srv, &r));
	CHECK(read(srv, big, 1) == 1);
	fill_window(cli);
	FD_SET(cli, &w);
	CHECK(select(cli + 1, NULL, &w, NULL, &tv) == 0);
}

TEST(pollout_waits_for_a_quarter_of_the_window)
{
	int cli, srv;

	pair(&cli, &srv);
	fill_window(cli);
	read_exactly(srv, WINDOW / 4 - 1);
	CHECK(events(cli, POLLOUT, 300) == 0);
	read_exactly(srv, 1);
	CHECK(events(cli, POLLOUT, LONG_MS) == POLLOUT);
	CHECK(write(cli, big, sizeof(big)) == WINDOW / 4);
}

TEST(edge_triggered_epoll_reports_room_once)
{
	struct epoll_event ev = { .events = EPOLLOUT | EPOLLET };
	int cli, srv, ep = epoll_create1(0);

	pair(&cli, &srv);
	fill_window(cli);
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, cli, &ev) == 0);
	CHECK(epoll_wait(ep, &ev, 1, 100) == 0);
	read_exactly(srv, WINDOW);
	CHECK(epoll_wait(ep, &ev, 1, LONG_MS) == 1 && ev.events == EPOLLOUT);
	/* Nobody has found too little room since: what the peer acknowledges is no news. */
	CHECK(write(cli, "x", 1) == 1 && fsync(cli) == 0);
	CHECK(epoll_wait(ep, &ev, 1, 0) == 0);
	read_exactly(srv, 1);
	read_exactly(srv, fill_window(cli));
	CHECK(epoll_wait(ep, &ev, 1, LONG_MS) == 1 && ev.events == EPOLLOUT);
}

TEST(fasync_sends_sigio_when_the_peer_closes)
{
	int cli, srv;

	pair(&cli, &srv);
	signal(SIGIO, on_sigio);
	CHECK(fcntl(srv, F_SETOWN, getpid()) == 0);
	CHECK(fcntl(srv, F_SETFL, O_ASYNC) == 0);
	CHECK(ioctl(cli, RCHAR_IOC_SHUTDOWN, RCHAR_SHUT_WR) == 0);
	EVENTUALLY(got_sigio);
	got_sigio = 0;
	sh("rchar session kill $(rchar session | sed -n 's/: channel cli.*//p' | head -n1)");
	EVENTUALLY(got_sigio);
}
