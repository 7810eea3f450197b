// SPDX-License-Identifier: GPL-2.0
/* Programs of this host at the other ends of what the peer plays with. */
#define _GNU_SOURCE
#include "peerplay.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#define MOST (600u << 10)

static char *buf;

static void on_signal(int sig)
{
	(void)sig;
}

/* Calls that wait are interrupted, so that there are always new ones. */
static void tick(struct rng *r)
{
	struct sigaction a = { .sa_handler = on_signal };
	int us = 20000 + below(r, 300000);
	struct itimerval t = { { 0, us }, { 0, us } };

	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
}

static size_t some_size(struct rng *r)
{
	uint32_t dice = below(r, 200);

	/* Bytes are what takes time under a debug kernel: each is in a checksum. */
	if (!dice)
		return below(r, MOST);
	if (dice < 4)
		return 262144 + below(r, 100000); /* not copied */
	if (dice < 10)
		return 65536 + below(r, 10);
	return below(r, dice < 40 ? 5000 : 300);
}

static void use_session(struct rng *r, int fd)
{
	struct rchar_info info;
	ssize_t n = 0;

	switch (below(r, 12)) {
	case 0:
	case 1:
	case 2:
	case 3:
		n = read(fd, buf, some_size(r));
		break;
	case 4:
	case 5:
	case 6:
	case 7:
		n = write(fd, buf, some_size(r));
		break;
	case 8:
		n = ioctl(fd, RCHAR_IOC_INFO, &info);
		break;
	case 9:
		n = poll(&(struct pollfd){ .fd = fd, .events = POLLIN | POLLOUT }, 1, 20);
		break;
	case 10:
		n = one_in(r, 4) ? fsync(fd) : 0;
		break;
	default:
		n = one_in(r, 8) ? ioctl(fd, RCHAR_IOC_SHUTDOWN, 1 + below(r, 3)) : 0;
	}
	atomic_fetch_add(&shared->count[LOCAL_IO], 1);
	(void)n;
}

static void use_memory(struct rng *r, int fd)
{
	struct rchar_atomic a = { .op = 1 + below(r, 2),
				  .offset = 8 * below(r, OWN / 8),
				  .operand = 1 };
	off_t at = below(r, OWN);
	struct rchar_rings rings;
	ssize_t n;
	void *p;

	switch (below(r, 7)) {
	case 0:
	case 1:
		n = pread(fd, buf, some_size(r), at);
		break;
	case 2:
	case 3:
		n = pwrite(fd, buf, some_size(r), at);
		break;
	case 4:
		n = ioctl(fd, RCHAR_IOC_ATOMIC, &a);
		break;
	case 5:
		n = ioctl(fd, RCHAR_IOC_NOTIFY, 7) + ioctl(fd, RCHAR_IOC_RINGS, &rings);
		break;
	default:
		n = fsync(fd);
		p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (p != MAP_FAILED) {
			memset(p, 1, 65536);
			munmap(p, 65536);
		}
	}
	atomic_fetch_add(&shared->count[LOCAL_IO], 1);
	(void)n;
}

/* Whatever the peer answers: "Errno table" in Documentation/uapi.rst. */
static void check_open(const char *node)
{
	static const int documented[] = { ECONNREFUSED, ETIMEDOUT,  EINTR,  ENODEV,
					  ENOENT,	ENXIO,	    EACCES, ECONNRESET,
					  ENOMEM,	EOPNOTSUPP, ENOBUFS };
	int error = errno;
	char key[48];
	size_t i;

	for (i = 0; i < sizeof(documented) / sizeof(documented[0]); i++)
		if (documented[i] == error)
			return;
	snprintf(key, sizeof(key), "open %s %s", strerrorname_np(error) ?: "?", node);
	finding(key, "undocumented errno %d", error);
}

/* Opens, uses and closes for ever; whoever started this kills it. */
void use_nodes(struct rng *r)
{
	static const char *const nodes[] = { "f-stream-l", "f-stream-l", "f-message-l",
					     "f-memory-l", "p-stream",	 "p-stream",
					     "p-message",  "p-memory" };

	buf = mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(buf, 'L', MOST);
	tick(r);
	for (;;) {
		const char *node = PICK(r, nodes);
		char path[40];
		int fd, n;

		snprintf(path, sizeof(path), "/dev/rchar/%s", node);
		fd = open(path, one_in(r, 3)  ? O_RDWR | O_NONBLOCK :
				one_in(r, 10) ? O_RDONLY :
						O_RDWR);
		if (fd < 0) {
			check_open(node);
			/* What it wants may be some time in coming. */
			usleep(1000);
			continue;
		}
		atomic_fetch_add(&shared->count[OPENS], 1);
		for (n = below(r, 60); n; n--) {
			if (strstr(node, "memory"))
				use_memory(r, fd);
			else
				use_session(r, fd);
			/* Slowly: the frames are what matters. */
			usleep(500);
		}
		close(fd);
	}
}
