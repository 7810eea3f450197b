// SPDX-License-Identifier: GPL-2.0
/*
 * pingpong echo DEV            send back what comes, until the end
 * pingpong ping DEV SIZE N     median round trip of N, in us
 * pingpong accept DEV N        open and close N times
 * pingpong open DEV N          median time of N open() calls, in us
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char buf[65536];

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

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int open_dev(const char *dev)
{
	int fd = open(dev, O_RDWR);

	if (fd < 0)
		fail(dev);
	return fd;
}

static void move(int fd, size_t size)
{
	size_t got = 0;

	if (write(fd, buf, size) != (ssize_t)size)
		fail("write");
	while (got < size) {
		ssize_t n = read(fd, buf + got, size - got);

		if (n <= 0)
			fail("read");
		got += n;
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	int n = atoi(argc > 2 ? argv[argc - 1] : "0"), i, fd;
	double *t = calloc(n + 1, sizeof(*t)), start;
	ssize_t got;

	if (!strcmp(what, "echo")) {
		fd = open_dev(argv[2]);
		while ((got = read(fd, buf, sizeof(buf))) > 0)
			if (write(fd, buf, got) != got)
				fail("write");
		return 0;
	}
	if (!strcmp(what, "accept")) {
		for (i = 0; i < n; i++) {
			fd = open_dev(argv[2]);
			while (read(fd, buf, sizeof(buf)) > 0)
				;
			close(fd);
		}
		return 0;
	}
	if (!strcmp(what, "ping") && argc == 5) {
		fd = open_dev(argv[2]);
		for (i = 0; i < 100; i++)
			move(fd, atoi(argv[3]));
		for (i = 0; i < n; i++) {
			start = now_us();
			move(fd, atoi(argv[3]));
			t[i] = now_us() - start;
		}
	} else if (!strcmp(what, "open")) {
		for (i = 0; i < n; i++) {
			start = now_us();
			fd = open_dev(argv[2]);
			t[i] = now_us() - start;
			close(fd);
		}
	} else {
		return 2;
	}
	qsort(t, n, sizeof(*t), compare);
	printf("%.0f\n", t[n / 2]);
	return 0;
}
