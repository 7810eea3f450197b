// SPDX-License-Identifier: GPL-2.0
/* Close, deletion, failure. */
#include "contract.h"

TEST(closing_with_unread_bytes_tells_the_writer_epipe)
{
	int cli, srv;

	pair(&cli, &srv);
	CHECK(write(cli, big, 10000) == 10000 && fsync(cli) == 0);
	CHECK(close(srv) == 0);
	EVENTUALLY(write(cli, "x", 1) == -1);
	CHECK_ERR(write(cli, "x", 1), EPIPE);
}

TEST(dup_and_fork_share_the_session)
{
	int cli, srv, copy, status;

	pair(&cli, &srv);
	copy = dup(cli);
	CHECK(close(cli) == 0);
	if (fork() == 0)
		_exit(write(copy, "child", 5) != 5);
	CHECK(wait(&status) > 0 && status == 0);
	CHECK(read(srv, big, 10) == 5);
	nonblock(srv);
	CHECK_ERR(read(srv, big, 1), EAGAIN); /* still open */
	CHECK(close(copy) == 0);
	CHECK(events(srv, POLLIN, LONG_MS) & POLLIN);
	CHECK(read(srv, big, 1) == 0);
}

TEST(close_sends_queued_bytes_in_the_background)
{
	int cli, srv, i;

	cli = open(CLI, O_WRONLY);
	CHECK(cli >= 0);
	for (i = 0; i < 6; i++)
		CHECK(write(cli, big, 10000) == 10000);
	CHECK(close(cli) == 0);
	srv = open(SRV, O_RDONLY);
	read_exactly(srv, 60000);
	CHECK(read(srv, big, 1) == 0);
}

TEST(a_deleted_channel_wakes_readers_and_writers_with_enodev)
{
	struct call r = { 0 }, w = { 0 };
	int cli, srv, cli2;

	new_pair(&cli, &srv, "stream", "window 64k", "window 64k");
	cli2 = open("/dev/rchar/there", O_RDWR);
	CHECK(cli2 >= 0);
	fill_window(cli2);
	CHECK(fcntl(cli2, F_SETFL, 0) == 0);
	r.fd = cli;
	w.fd = cli2;
	pthread_create(&r.thread, NULL, call_read, &r);
	pthread_create(&w.thread, NULL, call_write, &w);
	until_asleep(&r);
	until_asleep(&w);
	sh("rchar del there");
	pthread_join(r.thread, NULL);
	pthread_join(w.thread, NULL);
	CHECK(r.ret == -1 && r.err == ENODEV && w.ret == -1 && w.err == ENODEV);
	CHECK((events(cli, POLLIN, 0) & (POLLERR | POLLHUP)) == (POLLERR | POLLHUP));
	/* Open files stay safe. */
	CHECK_ERR(write(cli, "x", 1), ENODEV);
	CHECK_ERR(fcntl(cli, F_SETFL, O_NONBLOCK) ?: read(cli, big, 1), ENODEV);
	/* The other side: a reset. */
	CHECK(events(srv, POLLIN, LONG_MS) & POLLHUP);
	CHECK_ERR(read(srv, big, 1), ECONNRESET);
}

TEST(received_bytes_come_before_an_error)
{
	int cli, srv;

	new_pair(&cli, &srv, "stream", "", "");
	CHECK(write(cli, big, 30000) == 30000 && fsync(cli) == 0);
	sh("rchar del there");
	EVENTUALLY(events(srv, POLLIN, 0) & POLLHUP);
	read_exactly(srv, 30000);
	CHECK_ERR(read(srv, big, 1), ECONNRESET);
}

TEST(a_killed_session_is_econnreset)
{
	int cli, srv;

	pair(&cli, &srv);
	sh("rchar session kill $(rchar session | awk '/channel cli to/ { id = $1 } /state open/ && id { print id; exit }' | tr -d :)");
	CHECK(events(cli, POLLIN, LONG_MS) & POLLHUP);
	CHECK_ERR(read(cli, big, 1), ECONNRESET);
	CHECK(events(srv, POLLIN, LONG_MS) & POLLHUP);
	CHECK_ERR(write(srv, big, 1), ECONNRESET);
}

/* A descriptor over a socket pair, to a process that did not have it. */
TEST(a_passed_descriptor_shares_the_session)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} u = { 0 };
	struct iovec v = { big, 1 };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = u.buf,
			    .msg_controllen = sizeof(u.buf) };
	int cli, srv, sv[2], status;
	struct cmsghdr *c;

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0);
	if (fork() == 0) {
		int fd;

		CHECK(recvmsg(sv[1], &m, 0) == 1);
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
		_exit(write(fd, "passed", 6) != 6);
	}
	pair(&cli, &srv);
	c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &cli, sizeof(int));
	CHECK(sendmsg(sv[0], &m, 0) == 1);
	CHECK(close(cli) == 0);
	CHECK(wait(&status) > 0 && status == 0);
	CHECK(read(srv, big, 100) == 6);
	CHECK(read(srv, big, 100) == 0); /* with the last of them */
}
