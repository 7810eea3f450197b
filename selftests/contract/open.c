// SPDX-License-Identifier: GPL-2.0
/* Opening. */
#include "contract.h"
#include <sys/stat.h>

TEST(connect_open_does_not_wait_for_the_peers_program)
{
	char buf[8] = "";
	int cli = open(CLI, O_WRONLY), srv;

	CHECK(cli >= 0);
	CHECK(write(cli, "early", 5) == 5);
	CHECK(close(cli) == 0);
	srv = open(SRV, O_RDONLY);
	CHECK(srv >= 0);
	CHECK(read(srv, buf, 8) == 5 && !memcmp(buf, "early", 5));
	CHECK(read(srv, buf, 8) == 0);
}

TEST(listen_open_waits_for_a_session)
{
	struct call c = { .path = SRV, .flags = O_RDWR };
	int cli;

	pthread_create(&c.thread, NULL, call_open, &c);
	until_asleep(&c);
	CHECK(pthread_tryjoin_np(c.thread, NULL) == EBUSY);
	cli = open(CLI, O_RDWR);
	CHECK(cli >= 0);
	pthread_join(c.thread, NULL);
	CHECK(c.ret >= 0);
	CHECK(write(cli, "x", 1) == 1 && read(c.ret, big, 1) == 1);
}

TEST(listen_open_takes_the_oldest_waiting_session)
{
	int i, cli[3];

	for (i = 0; i < 3; i++) {
		cli[i] = open(CLI, O_RDWR);
		CHECK(cli[i] >= 0 && write(cli[i], &i, sizeof(i)) == sizeof(i));
	}
	for (i = 0; i < 3; i++) {
		int srv = open(SRV, O_RDWR), got;

		CHECK(srv >= 0 && read(srv, &got, sizeof(got)) == sizeof(got));
		CHECK(got == i);
	}
}

TEST(nonblocking_connect_open_turns_writable)
{
	int cli = open(CLI, O_RDWR | O_NONBLOCK), srv;

	CHECK(cli >= 0);
	CHECK(events(cli, POLLOUT, LONG_MS) == POLLOUT);
	CHECK(write(cli, "x", 1) == 1);
	srv = open(SRV, O_RDWR);
	CHECK(srv >= 0 && read(srv, big, 1) == 1);
}

TEST(nonblocking_listen_open_turns_writable)
{
	int srv = open(SRV, O_RDWR | O_NONBLOCK), cli;

	CHECK(srv >= 0);
	CHECK_ERR(read(srv, big, 1), EAGAIN);
	CHECK_ERR(write(srv, big, 1), EAGAIN);
	CHECK(events(srv, POLLIN | POLLOUT, 50) == 0);
	cli = open(CLI, O_RDWR);
	CHECK(cli >= 0);
	CHECK(events(srv, POLLOUT, LONG_MS) == POLLOUT);
	CHECK(write(srv, "x", 1) == 1 && read(cli, big, 1) == 1);
}

TEST(open_of_an_unknown_name_is_econnrefused)
{
	CHECK_ERR(open("/dev/rchar/wrong", O_RDWR), encrypted() ? EACCES : ECONNREFUSED);
	if (!encrypted())
		sh("rchar -j show wrong | grep -q '\"reason\":\"no-channel\"'");
}

TEST(open_with_the_link_down_is_etimedout)
{
	struct call c = { .path = "/dev/rchar/slow", .flags = O_RDWR };

	/* It waits, and not for ever. */
	pthread_create(&c.thread, NULL, call_open, &c);
	until_asleep(&c);
	CHECK_ERR(open("/dev/rchar/nobody", O_RDWR), ETIMEDOUT);
	EVENTUALLY(!system("rchar -j show nobody | grep -q '\"reason\":\"not-listening\"'"));
}

TEST(open_ends_with_enodev_when_the_channel_is_deleted)
{
	struct call c = { .path = "/dev/rchar/gone", .flags = O_RDWR };

	sh("rchar add gone stream listen 10.0.0.1:7480");
	pthread_create(&c.thread, NULL, call_open, &c);
	until_asleep(&c);
	sh("rchar del gone");
	pthread_join(c.thread, NULL);
	CHECK(c.ret == -1 && c.err == ENODEV);
	CHECK_ERR(open("/dev/rchar/gone", O_RDWR), ENOENT);
}

TEST(a_signal_ends_open_with_eintr)
{
	struct sigaction sa = { .sa_handler = no_op };

	interrupt_with(&sa);
	CHECK_ERR(open(SRV, O_RDWR), EINTR);
	interrupt_with(&sa);
	CHECK_ERR(open("/dev/rchar/slow", O_RDWR), EINTR);
	EVENTUALLY(!system("rchar -j show srv | grep -q '\"sessions\":0'"));
	EVENTUALLY(!system("rchar -j show slow | grep -q '\"sessions\":0'"));
}

TEST(a_full_backlog_is_retried_not_refused)
{
	struct call c = { .path = "/dev/rchar/cli1", .flags = O_RDWR };
	int first, srv;

	sh("rchar add srv1 stream listen 10.0.0.1 backlog 1");
	sh("rchar -w 300 add cli1 stream connect 10.0.0.1/srv1 open-timeout 600s");
	first = open("/dev/rchar/cli1", O_RDWR);
	CHECK(first >= 0);
	pthread_create(&c.thread, NULL, call_open, &c);
	until_asleep(&c);
	CHECK(pthread_tryjoin_np(c.thread, NULL) == EBUSY);
	srv = open("/dev/rchar/srv1", O_RDWR);
	CHECK(srv >= 0);
	pthread_join(c.thread, NULL);
	CHECK(c.ret >= 0);
}

TEST(read_only_open_closes_the_sending_half)
{
	int cli, srv;

	pair_flags(&cli, O_RDONLY, &srv, O_RDWR);
	CHECK(read(srv, big, 1) == 0);
	CHECK_ERR(write(cli, big, 1), EBADF);
	CHECK(write(srv, "x", 1) == 1 && read(cli, big, 1) == 1);
}

TEST(write_only_open_closes_the_receiving_half)
{
	int cli, srv, unread = -1;

	pair_flags(&cli, O_RDWR, &srv, O_WRONLY);
	CHECK(events(cli, POLLOUT, LONG_MS) & POLLOUT);
	EVENTUALLY(write(cli, big, 1) == -1);
	CHECK_ERR(write(cli, big, 1), EPIPE);
	CHECK(write(srv, "x", 1) == 1 && read(cli, big, 1) == 1);
	cli = open(CLI, O_RDWR);
	CHECK(cli >= 0 && write(cli, big, 1000) == 1000 && fsync(cli) == 0);
	srv = open(SRV, O_WRONLY);
	CHECK(srv >= 0 && ioctl(srv, FIONREAD, &unread) == 0 && unread == 0);
}

TEST(open_of_another_type_is_econnrefused)
{
	sh("rchar -w 300 add other message connect 10.0.0.1/srv");
	CHECK_ERR(open("/dev/rchar/other", O_RDWR), ECONNREFUSED);
	sh("rchar -j show other | grep -q '\"reason\":\"wrong-type\"'");
}

TEST(a_nonblocking_open_that_fails_reports_it_through_the_file)
{
	int fd = open("/dev/rchar/wrong", O_RDWR | O_NONBLOCK);
	short got;

	CHECK(fd >= 0);
	got = events(fd, POLLIN | POLLOUT, LONG_MS);
	CHECK((got & (POLLERR | POLLHUP)) == (POLLERR | POLLHUP));
	CHECK_ERR(read(fd, big, 1), encrypted() ? EACCES : ECONNREFUSED);
	CHECK_ERR(write(fd, big, 1), encrypted() ? EACCES : ECONNREFUSED);
}

TEST(open_needs_permission_on_the_node)
{
	CHECK(setgid(65534) == 0 && setuid(65534) == 0);
	CHECK_ERR(open(CLI, O_RDWR), EACCES);
}

TEST(an_open_with_o_direct_takes_no_session)
{
	int cli = open(CLI, O_RDWR), srv;
	char buf[10];

	CHECK(cli >= 0 && write(cli, "waits", 5) == 5 && fsync(cli) == 0);
	CHECK_ERR(open(SRV, O_RDWR | O_DIRECT), EINVAL);
	srv = open(SRV, O_RDWR);
	CHECK(srv >= 0 && read(srv, buf, sizeof(buf)) == 5 && !memcmp(buf, "waits", 5));
}

TEST(the_node_of_a_deleted_channel_is_enxio)
{
	struct stat st;

	sh("rchar add old stream listen 10.0.0.1");
	CHECK(stat("/dev/rchar/old", &st) == 0);
	sh("rchar del old");
	CHECK(mknod("/tmp/old", S_IFCHR | 0600, st.st_rdev) == 0);
	CHECK_ERR(open("/tmp/old", O_RDWR), ENXIO);
	/* And it does not become that of the next channel. */
	sh("rchar add new stream listen 10.0.0.1");
	CHECK_ERR(open("/tmp/old", O_RDWR | O_NONBLOCK), ENXIO);
}
