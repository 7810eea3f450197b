// SPDX-License-Identifier: GPL-2.0
/*
 * A program that takes what it can get, and says how much that was.
 *
 * greedy write FILE BYTES         without blocking, once the link is down, until an error or so
 *                                 many bytes
 * greedy open FILE FILES          without blocking, until an error or so many files
 * greedy cycle FILE FILES         opens so many without blocking, and closes each at once
 * greedy pin FILE PAGES THREADS   without capabilities, with RLIMIT_MEMLOCK of so many pages:
 *                                 threads that read into many pages each, from a memory channel
 *                                 whose link is down; prints the most pages pinned at any time
 *
 * greedy nobody COMMAND...        runs it as user and group 65534
 *
 * Prints the number, and the name of the error.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include "../lib/test.h"

#define SEGMENTS 257 /* of a read: 16 bytes at the end of a page each */

static const char *path;

static int say(long long n, int error)
{
	printf("%lld %s\n", n, error ? strerrorname_np(error) : "-");
	return 0;
}

/* The link is there until a file says that it is gone. */
static void wait_for_outage(void)
{
	printf("open\n");
	fflush(stdout);
	while (access("/tmp/link-is-down", F_OK))
		test_pause();
}

static int write_all(long long bytes)
{
	static char buf[65536];
	int fd = open(path, O_WRONLY);
	long long done = 0;

	if (fd < 0 || fcntl(fd, F_SETFL, O_WRONLY | O_NONBLOCK))
		return say(-1, errno);
	wait_for_outage();
	while (done < bytes) {
		ssize_t n = write(fd, buf, sizeof(buf));

		if (n < 0)
			return say(done, errno);
		done += n;
	}
	return say(done, 0);
}

static int open_all(long long files)
{
	struct rlimit limit = { files + 100, files + 100 };
	long long n;

	setrlimit(RLIMIT_NOFILE, &limit);
	for (n = 0; n < files; n++)
		if (open(path, O_RDWR | O_NONBLOCK) < 0)
			return say(n, errno);
	return say(n, 0);
}

static int cycle(long long files)
{
	long long n;

	for (n = 0; n < files; n++) {
		int fd = open(path, O_RDWR | O_NONBLOCK);

		if (fd < 0)
			return say(n, errno);
		close(fd);
	}
	return say(n, 0);
}

static void *read_pages(void *arg)
{
	struct iovec iov[SEGMENTS];
	char *pages = mmap(NULL, SEGMENTS * 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	for (i = 0; i < SEGMENTS; i++)
		iov[i] = (struct iovec){ pages + i * 4096 + 4080, 16 };
	preadv(*(int *)arg, iov, SEGMENTS, 0);
	return NULL;
}

static long pinned_pages(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[128];
	long kib = 0;

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmPin: %ld", &kib);
	if (f)
		fclose(f);
	return kib / 4;
}

static int pin(long pages, int threads)
{
	struct rlimit limit = { pages * 4096, pages * 4096 };
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = {};
	int fd = open(path, O_RDWR), i;
	time_t end;
	long most = 0;

	if (fd < 0 || setrlimit(RLIMIT_MEMLOCK, &limit) || syscall(SYS_capset, &head, none))
		return say(-1, errno);
	wait_for_outage();
	for (i = 0; i < threads; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, read_pages, &fd))
			return say(-1, errno);
	}
	for (end = time(NULL) + 3; time(NULL) < end;) {
		long now = pinned_pages();

		if (now > most)
			most = now;
	}
	say(most, 0);
	fflush(stdout);
	/* The threads wait, and are killed. */
	_exit(0);
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "nobody")) {
		if (!setgid(65534) && !setuid(65534))
			execvp(argv[2], argv + 2);
		return say(-1, errno);
	}
	if (argc > 3) {
		path = argv[2];
		if (!strcmp(argv[1], "write"))
			return write_all(atoll(argv[3]));
		if (!strcmp(argv[1], "cycle"))
			return cycle(atoll(argv[3]));
		if (!strcmp(argv[1], "open"))
			return open_all(atoll(argv[3]));
		if (!strcmp(argv[1], "pin") && argc == 5)
			return pin(atol(argv[3]), atoi(argv[4]));
	}
	fprintf(stderr, "usage: greedy write FILE BYTES | open FILE FILES | cycle FILE FILES |\n"
			"       pin FILE PAGES THREADS | nobody COMMAND...\n");
	return 2;
}
