// SPDX-License-Identifier: GPL-2.0
/* Readiness: poll, epoll, RWF_NOWAIT, SIGIO. */
#include "contract.h"
#include <sys/select.h>

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
