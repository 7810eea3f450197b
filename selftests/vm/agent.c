// SPDX-License-Identifier: GPL-2.0
/*
 * vmagent - run commands in another virtual machine of the test bench.
 *
 *   vmagent serve PORT             listen, run what the peer asks for
 *   vmagent call ADDR PORT CMD     run CMD over there with bash, show its output
 *                                  here, exit with its status
 *   on HOST CMD...                 the same by the name of a machine; or here. No script: tests
 *                                  call it all the time.
 *
 * One TCP connection is one command. The caller sends the command text and
 * closes its sending half; the answer is a series of records {u8 type, u32 len,
 * data}: 1 stdout, 2 stderr, 3 exit status (data is one byte). When the caller
 * goes away the command's process group is killed, so that a test that fails
 * half way leaves nothing running in the other machine.
 *
 * This rides on a network of its own (see selftests/vm/run), so that a test may
 * pull the cable of the one under test.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PORT 99 /* of init's */

enum { REC_OUT = 1, REC_ERR = 2, REC_EXIT = 3 };

struct rec {
	uint8_t type;
	uint32_t len;
} __attribute__((packed));

static void die(const char *what)
{
	perror(what);
	exit(255);
}

static int write_all(int fd, const void *buf, size_t len)
{
	const char *p = buf;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		p += n;
		len -= n;
	}
	return 0;
}

static int read_all(int fd, void *buf, size_t len)
{
	char *p = buf;

	while (len) {
		ssize_t n = read(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		p += n;
		len -= n;
	}
	return 0;
}

static int send_rec(int fd, int type, const void *buf, uint32_t len)
{
	struct rec r = { .type = type, .len = htonl(len) };

	return write_all(fd, &r, sizeof(r)) ?: write_all(fd, buf, len);
}

/* Returns 0 at the end of the pipe, -1 when the caller is gone. */
static int forward(int conn, int type, struct pollfd *p)
{
	char buf[65536];
	ssize_t n = read(p->fd, buf, sizeof(buf));

	if (n <= 0) {
		p->fd = -1;
		return 0;
	}
	return send_rec(conn, type, buf, n);
}

static void relay(int conn, int out, int err, pid_t pid)
{
	struct pollfd p[3] = {
		{ .fd = out, .events = POLLIN },
		{ .fd = err, .events = POLLIN },
		{ .fd = conn, .events = POLLRDHUP },
	};
	uint8_t code;
	int status;

	p[2].events = 0; /* only POLLHUP and POLLERR: the peer half-closed long ago */
	while (p[0].fd >= 0 || p[1].fd >= 0) {
		if (poll(p, 3, -1) < 0)
			continue;
		if ((p[2].revents & (POLLHUP | POLLERR)) ||
		    (p[0].revents && forward(conn, REC_OUT, &p[0])) ||
		    (p[1].revents && forward(conn, REC_ERR, &p[1]))) {
			kill(-pid, SIGKILL);
			break;
		}
	}
	waitpid(pid, &status, 0);
	code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	send_rec(conn, REC_EXIT, &code, 1);
}

static void serve_one(int conn)
{
	static char cmd[1 << 20];
	size_t len = 0;
	ssize_t n;
	int out[2], err[2];
	pid_t pid;

	while (len < sizeof(cmd) - 1 && (n = read(conn, cmd + len, sizeof(cmd) - 1 - len)) > 0)
		len += n;
	if (pipe(out) || pipe(err))
		die("pipe");
	pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		dup2(open("/dev/null", 0), 0);
		dup2(out[1], 1);
		dup2(err[1], 2);
		close(conn);
		close(out[0]);
		close(err[0]);
		if (out[1] > 2)
			close(out[1]);
		if (err[1] > 2)
			close(err[1]);
		signal(SIGPIPE, SIG_DFL);
		execl("/bin/bash", "bash", "-c", cmd, NULL);
		_exit(127);
	}
	close(out[1]);
	close(err[1]);
	relay(conn, out[0], err[0], pid);
}

static void serve(int port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(port) };
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (s < 0 || bind(s, (void *)&sa, sizeof(sa)) || listen(s, 64))
		die("listen");
	signal(SIGPIPE, SIG_IGN);
	for (;;) {
		int conn = accept4(s, NULL, NULL, SOCK_CLOEXEC);

		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (conn < 0)
			continue;
		setsockopt(conn, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		if (fork() == 0) {
			close(s);
			serve_one(conn);
			_exit(0);
		}
		close(conn);
	}
}

/* The other machine may still be booting: keep knocking for a while. */
static int dial(const char *addr, int port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(port) };
	int tries, s;

	if (inet_pton(AF_INET, addr, &sa.sin_addr) != 1)
		die(addr);
	for (tries = 0; tries < 300; tries++) {
		s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (!connect(s, (void *)&sa, sizeof(sa)))
			return s;
		close(s);
		usleep(200000);
	}
	die("connect");
	return -1;
}

static int call(const char *addr, int port, const char *cmd)
{
	int s = dial(addr, port), one = 1;
	static char buf[65536];
	struct rec r;

	setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	write_all(s, cmd, strlen(cmd));
	shutdown(s, SHUT_WR);
	while (!read_all(s, &r, sizeof(r))) {
		uint32_t len = ntohl(r.len);

		if (len > sizeof(buf) || read_all(s, buf, len))
			break;
		if (r.type == REC_EXIT)
			return (uint8_t)buf[0];
		write_all(r.type == REC_OUT ? 1 : 2, buf, len);
	}
	fprintf(stderr, "vmagent: %s: the other machine went away\n", addr);
	return 255;
}

/* The words, as "$*" has them in a shell. */
static char *joined(char **words)
{
	static char text[1 << 20];
	size_t len = 0;

	for (; *words; words++)
		len += snprintf(text + len, len < sizeof(text) ? sizeof(text) - len : 0, "%s%s",
				len ? " " : "", *words);
	if (len >= sizeof(text)) {
		fprintf(stderr, "on: the command is too long\n");
		exit(255);
	}
	return text;
}

static int on(const char *host, char **words)
{
	char here[64], addr[32];

	if (gethostname(here, sizeof(here)))
		die("gethostname");
	if (!strcmp(host, here)) {
		execl("/bin/bash", "bash", "-c", joined(words), NULL);
		die("/bin/bash");
	}
	snprintf(addr, sizeof(addr), "192.168.%d.2", host[0] - 'a' + 1);
	return call(addr, PORT, joined(words));
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/');

	if (!strcmp(name ? name + 1 : argv[0], "on") && argc > 2)
		return on(argv[1], argv + 2);
	if (argc == 3 && !strcmp(argv[1], "serve"))
		serve(atoi(argv[2]));
	if (argc == 5 && !strcmp(argv[1], "call"))
		return call(argv[2], atoi(argv[3]), argv[4]);
	fprintf(stderr, "usage: vmagent serve PORT | call ADDR PORT CMD; on HOST CMD...\n");
	return 255;
}
