// SPDX-License-Identifier: GPL-2.0
/* Signals and faults. */
#include "contract.h"

TEST(a_bad_buffer_is_efault_and_consumes_nothing)
{
	int cli, srv;

	pair(&cli, &srv);
	CHECK_ERR(write(cli, nowhere, 10), EFAULT);
	CHECK(write(cli, "abc", 3) == 3 && fsync(cli) == 0);
	CHECK_ERR(read(srv, nowhere, 10), EFAULT);
	CHECK(read(srv, big, 10) == 3 && !memcmp(big, "abc", 3));
}

TEST(a_fault_half_way_reports_the_bytes_before_it)
{
	char *p = half_mapped();
	int cli, srv, i;

	pair(&cli, &srv);
	for (i = 0; i < 4096; i++)
		p[i] = i;
	CHECK(write(cli, p + 1096, 8000) == 3000);
	CHECK(write(cli, "rest", 4) == 4);
	CHECK(fsync(cli) == 0);
	memset(p, 0, 4096);
	CHECK(read(srv, p + 3096, 3004) == 1000);
	CHECK(p[3096] == (char)1096 && p[4095] == (char)2095);
	CHECK(read(srv, big, 8000) == 2004);
	CHECK(big[0] == (char)2096 && !memcmp(big + 2000, "rest", 4));
}

TEST(a_signal_reports_the_bytes_moved_first)
{
	struct sigaction sa = { .sa_handler = no_op };
	int cli, srv;
	ssize_t n;

	pair(&cli, &srv);
	interrupt_with(&sa);
	n = write(cli, big, sizeof(big)); /* far more than the window */
	CHECK(n > 0 && n < (ssize_t)sizeof(big));
	n += fill_window(cli);
	CHECK(fcntl(cli, F_SETFL, 0) == 0);
	interrupt_with(&sa);
	CHECK_ERR(write(cli, big, sizeof(big)), EINTR);
	read_exactly(srv, n);
}

static volatile int *signals; /* shared with the child */

static void count_signal(int sig)
{
	(void)sig;
	(*signals)++;
}

TEST(sa_restart_restarts_a_call_that_moved_nothing)
{
	struct sigaction sa = { .sa_handler = count_signal, .sa_flags = SA_RESTART };
	int cli, srv;

	pair(&cli, &srv);
	signals = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(signals != MAP_FAILED);
	if (fork() == 0) {
		EVENTUALLY(*signals);
		_exit(write(cli, "late", 4) != 4);
	}
	interrupt_with(&sa);
	CHECK(read(srv, big, 100) == 4);
	CHECK(*signals == 1);
}

/* In a process of its own; it is killed while it waits. */
static void kill_while(ssize_t (*wait_in)(int fd), int fd)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(wait_in(fd) >= 0);
	EVENTUALLY(fast_asleep(pid));
	CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status));
}

static ssize_t in_open_srv(int fd)
{
	(void)fd;
	return open(SRV, O_RDWR);
}
static ssize_t in_open_slow(int fd)
{
	(void)fd;
	return open("/dev/rchar/slow", O_RDWR);
}
static ssize_t in_read(int fd)
{
	return read(fd, big, 100);
}
static ssize_t in_write(int fd)
{
	return write(fd, big, 30000) + write(fd, big, 30000);
}

TEST(a_killed_program_leaves_nothing_behind)
{
	static const char *const pairs[2][2] = { { CLI, SRV },
						 { "/dev/rchar/mcli", "/dev/rchar/msrv" } };
	int i;

	kill_while(in_open_srv, -1);
	kill_while(in_open_slow, -1);
	for (i = 0; i < 2; i++) {
		int cli = open(pairs[i][0], O_RDWR), srv = open(pairs[i][1], O_RDWR);

		CHECK(cli >= 0 && srv >= 0);
		kill_while(in_read, srv);
		CHECK(write(cli, big, 30000) == 30000);
		kill_while(in_write, cli);
		close(cli);
		close(srv);
	}
	EVENTUALLY(system("rchar -j | grep -q '\"sessions\":[1-9][0-9]*,\"waiting'"));
}
