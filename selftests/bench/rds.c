// SPDX-License-Identifier: GPL-2.0
/*
 * Round trips over RDS, which has no tool of its own here.
 *
 * rds serve ADDR PORT SIZE N           answer N datagrams, and 20 before them
 * rds ping OWN ADDR PORT SIZE N        print the median of N round trips, in us
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WARM_UP 20

static char buf[65536];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int rds_socket(const char *addr, int port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct timeval tv = { .tv_sec = 10 };
	int fd = socket(AF_RDS, SOCK_SEQPACKET, 0);

	inet_pton(AF_INET, addr, &sin.sin_addr);
	if (fd < 0 || bind(fd, (void *)&sin, sizeof(sin)))
		fail("RDS");
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	return fd;
}

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d < 0 ? -1 : d > 0;
}

static void serve(const char *addr, int port, int n)
{
	int fd = rds_socket(addr, port);

	for (n += WARM_UP; n; n--) {
		struct sockaddr_in from;
		socklen_t len = sizeof(from);
		ssize_t got = recvfrom(fd, buf, sizeof(buf), 0, (void *)&from, &len);

		if (got < 0 || sendto(fd, buf, got, 0, (void *)&from, len) != got)
			fail("serve");
	}
	sleep(1); /* until the last one is acknowledged */
}

static void ping(const char *own, const char *addr, int port, int size, int n)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	double *t = calloc(n, sizeof(*t));
	int fd = rds_socket(own, 0), i;

	inet_pton(AF_INET, addr, &to.sin_addr);
	for (i = -WARM_UP; i < n; i++) {
		double start = now_us();

		if (sendto(fd, buf, size, 0, (void *)&to, sizeof(to)) != size ||
		    recv(fd, buf, sizeof(buf), 0) != size)
			fail("ping");
		if (i >= 0)
			t[i] = now_us() - start;
	}
	qsort(t, n, sizeof(*t), compare);
	printf("%.1f\n", t[n / 2]);
}

int main(int argc, char **argv)
{
	if (argc == 6 && !strcmp(argv[1], "serve"))
		serve(argv[2], atoi(argv[3]), atoi(argv[5]));
	else if (argc == 7 && !strcmp(argv[1], "ping"))
		ping(argv[2], argv[3], atoi(argv[4]), atoi(argv[5]), atoi(argv[6]));
	else
		return 2;
	return 0;
}
