// SPDX-License-Identifier: GPL-2.0
/*
 * rio - move known bytes through a channel and check every one of them.
 *
 *   rio write DEV SEED BYTES    write, in pieces of random size, then close
 *   rio read DEV SEED           read to the end, in pieces of random size; check
 *   rio send DEV SEED COUNT     write COUNT messages of random length, then close
 *   rio receive DEV SEED        read messages to the end; check each, its length and its
 *                               number; print how many
 *   rio duplex DEV SEED BYTES   both at once on one file: write with SEED, read what
 *                               the other side writes with SEED + 1 (or - 1, when odd)
 *   rio open DEV MODE           open with r, w or rw; print ok or the errno's name
 *   rio add DEV OFFSET NUMBER   add to a word of a memory channel, by an atomic operation
 *   rio many DEV N SEED BYTES   N sessions at once: each writes BYTES, then closes
 *   rio serve DEV N SEED        accept N sessions at once; each is checked
 *   rio hold DEV MODE FILE      open, create FILE, sleep until killed
 *   rio poll DEV FILE           open to read, without waiting; create FILE; wait with
 *                               poll() for bytes, and print how many a read() gives
 *
 * The bytes are a function of seed and offset. With 'many' each session begins with
 * its number (8 bytes) and uses SEED + number. Exit 0: all as expected.
 *
 * With RIO_PATIENT in the environment calls that fail with ENOMEM are made again: for
 * tests that let allocations fail. What the call moved before still counts once.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/rdma_char.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CHUNK (192 << 10) /* the longest message */
#define LARGE (512 << 10) /* the longest write to a stream: its peer reads it */

static void die(const char *what)
{
	fprintf(stderr, "rio: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Of a session: with its enum rchar_reason, as a number. */
static void die_of(int fd, const char *what)
{
	int error = errno;
	struct rchar_info info;

	if (!ioctl(fd, RCHAR_IOC_INFO, &info))
		fprintf(stderr, "rio: session %u of link %llx, reason %u, %u bytes unread\n",
			info.session, (unsigned long long)info.link, info.reason, info.rx_queued);
	errno = error;
	die(what);
}

/* Is it worth another try? */
static int again(void)
{
	if (errno != ENOMEM || !getenv("RIO_PATIENT"))
		return 0;
	/* Nothing tells when there is memory again. */
	usleep(1000);
	return 1;
}

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/* Words of eight bytes, each a hash of seed and index. */
static void fill(uint8_t *buf, size_t len, uint64_t seed, uint64_t off)
{
	while (len) {
		uint64_t w = mix(seed * 0x100000001b3ull + off / 8);
		size_t skip = off % 8, n = 8 - skip < len ? 8 - skip : len;

		memcpy(buf, (uint8_t *)&w + skip, n);
		buf += n;
		off += n;
		len -= n;
	}
}

static size_t piece(unsigned int *rand, size_t left)
{
	/* Small, around page and frame borders, and large. */
	static const size_t kinds[] = { 16, 512, 4096, 4097, 16384, 16385, 65536, LARGE };
	size_t n = 1 + rand_r(rand) % kinds[rand_r(rand) % 8];

	return n < left ? n : left;
}

static void write_bytes(int fd, uint64_t seed, uint64_t bytes)
{
	uint8_t *buf = malloc(LARGE);
	unsigned int rand = seed;
	uint64_t off = 0;

	while (off < bytes) {
		size_t n = piece(&rand, bytes - off), done = 0;

		fill(buf, n, seed, off);
		while (done < n) {
			ssize_t ret = write(fd, buf + done, n - done);

			if (ret < 0 && again())
				continue;
			if (ret <= 0)
				die_of(fd, "write");
			done += ret;
		}
		off += n;
	}
	free(buf);
}

/* Until bytes, or the end when that is ~0. Returns how many. */
static uint64_t read_bytes(int fd, uint64_t seed, uint64_t off, uint64_t bytes)
{
	uint8_t *buf = malloc(LARGE), *want = malloc(LARGE);
	unsigned int rand = seed + 7;

	while (off < bytes) {
		/* Often with room for whatever comes. */
		size_t most = bytes - off < LARGE ? bytes - off : LARGE;
		ssize_t ret = read(fd, buf, rand_r(&rand) % 2 ? most : piece(&rand, most));

		if (ret < 0 && again())
			continue;
		if (ret < 0)
			die_of(fd, "read");
		if (!ret)
			break;
		fill(want, ret, seed, off);
		if (memcmp(buf, want, ret)) {
			fprintf(stderr, "rio: wrong bytes in %zd at offset %llu\n", ret,
				(unsigned long long)off);
			exit(1);
		}
		off += ret;
	}
	free(buf);
	free(want);
	return off;
}

static int open_dev(const char *dev, int flags)
{
	int fd;

	do
		fd = open(dev, flags | O_CLOEXEC);
	while (fd < 0 && again());
	if (fd < 0)
		die(dev);
	return fd;
}

/* Message i: its length and its bytes follow from seed and i. */
static size_t message(uint8_t *buf, uint64_t seed, uint64_t i)
{
	unsigned int rand = mix(seed + i);
	size_t len = piece(&rand, CHUNK);

	fill(buf, len, seed + i, 0);
	return len;
}

static void send_messages(int fd, uint64_t seed, uint64_t count)
{
	uint8_t *buf = malloc(CHUNK);
	uint64_t i;

	for (i = 0; i < count; i++) {
		size_t len = message(buf, seed, i);
		ssize_t ret;

		do
			ret = write(fd, buf, len);
		while (ret < 0 && again());
		if (ret != (ssize_t)len)
			die_of(fd, "write");
	}
	free(buf);
}

static uint64_t receive_messages(int fd, uint64_t seed)
{
	uint8_t *buf = malloc(CHUNK), *want = malloc(CHUNK);
	uint64_t i;

	for (i = 0;; i++) {
		size_t len = message(want, seed, i);
		ssize_t ret;

		do
			ret = read(fd, buf, CHUNK);
		while (ret < 0 && again());
		if (ret < 0)
			die_of(fd, "read");
		if (!ret)
			break;
		if (ret != (ssize_t)len || memcmp(buf, want, len)) {
			fprintf(stderr, "rio: message %llu has %zd bytes, sent were %zu\n",
				(unsigned long long)i, ret, len);
			exit(1);
		}
	}
	free(buf);
	free(want);
	return i;
}

struct job {
	pthread_t thread;
	const char *dev;
	int fd;
	uint64_t seed, bytes, number;
};

static void *duplex_writer(void *arg)
{
	struct job *j = arg;

	write_bytes(j->fd, j->seed, j->bytes);
	return NULL;
}

static void duplex(const char *dev, uint64_t seed, uint64_t bytes)
{
	struct job j = { .fd = open_dev(dev, O_RDWR), .seed = seed, .bytes = bytes };

	pthread_create(&j.thread, NULL, duplex_writer, &j);
	if (read_bytes(j.fd, seed ^ 1, 0, bytes) != bytes)
		die("duplex: early end");
	pthread_join(j.thread, NULL);
	if (fsync(j.fd))
		die_of(j.fd, "fsync");
	close(j.fd);
}

static void *many_one(void *arg)
{
	struct job *j = arg;
	int fd = open_dev(j->dev, O_WRONLY);

	while (write(fd, &j->number, sizeof(j->number)) != sizeof(j->number))
		if (!again())
			die_of(fd, "write");
	write_bytes(fd, j->seed + j->number, j->bytes);
	if (close(fd))
		die("close");
	return NULL;
}

static void *serve_one(void *arg)
{
	struct job *j = arg;
	int fd = open_dev(j->dev, O_RDONLY);

	while (read(fd, &j->number, sizeof(j->number)) != sizeof(j->number))
		if (!again())
			die_of(fd, "read number");
	j->bytes = read_bytes(fd, j->seed + j->number, 0, ~0ull);
	close(fd);
	return NULL;
}

static int all(const char *dev, int n, uint64_t seed, uint64_t bytes, void *(*fn)(void *))
{
	struct job *jobs = calloc(n, sizeof(*jobs));
	char *seen = calloc(n, 1);
	int i;

	for (i = 0; i < n; i++) {
		jobs[i] = (struct job){ .dev = dev, .seed = seed, .bytes = bytes, .number = i };
		if (pthread_create(&jobs[i].thread, NULL, fn, &jobs[i]))
			die("thread");
	}
	for (i = 0; i < n; i++) {
		pthread_join(jobs[i].thread, NULL);
		if (jobs[i].number >= (uint64_t)n || seen[jobs[i].number]++) {
			fprintf(stderr, "rio: session %llu twice\n",
				(unsigned long long)jobs[i].number);
			return 1;
		}
		printf("%llu\n", (unsigned long long)jobs[i].bytes);
	}
	return 0;
}

static void wait_with_poll(const char *dev, const char *file)
{
	struct pollfd p = { .fd = open_dev(dev, O_RDONLY | O_NONBLOCK), .events = POLLIN };
	char buf[4096];

	close(open(file, O_CREAT | O_WRONLY, 0600));
	if (poll(&p, 1, -1) != 1)
		die("poll");
	printf("%zd\n", read(p.fd, buf, sizeof(buf)));
}

static int mode_of(const char *s)
{
	return !strcmp(s, "r") ? O_RDONLY : !strcmp(s, "w") ? O_WRONLY : O_RDWR;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	int fd;

	if (!strcmp(what, "write") && argc == 5) {
		fd = open_dev(argv[2], O_WRONLY);
		write_bytes(fd, atoll(argv[3]), atoll(argv[4]));
		return close(fd) ? 1 : 0;
	}
	if (!strcmp(what, "read") && argc == 4) {
		fd = open_dev(argv[2], O_RDONLY);
		printf("%llu\n", (unsigned long long)read_bytes(fd, atoll(argv[3]), 0, ~0ull));
		return 0;
	}
	if (!strcmp(what, "send") && argc == 5) {
		fd = open_dev(argv[2], O_WRONLY);
		send_messages(fd, atoll(argv[3]), atoll(argv[4]));
		return close(fd) ? 1 : 0;
	}
	if (!strcmp(what, "receive") && argc == 4) {
		fd = open_dev(argv[2], O_RDONLY);
		printf("%llu\n", (unsigned long long)receive_messages(fd, atoll(argv[3])));
		return 0;
	}
	if (!strcmp(what, "duplex") && argc == 5) {
		duplex(argv[2], atoll(argv[3]), atoll(argv[4]));
		return 0;
	}
	if (!strcmp(what, "open") && argc == 4) {
		fd = open(argv[2], mode_of(argv[3]));
		puts(fd < 0 ? strerrorname_np(errno) : "ok");
		return 0;
	}
	if (!strcmp(what, "add") && argc == 5) {
		struct rchar_atomic add = { .op = RCHAR_ATOMIC_ADD,
					    .offset = strtoull(argv[3], NULL, 0),
					    .operand = strtoull(argv[4], NULL, 0) };

		if (ioctl(open_dev(argv[2], O_RDWR), RCHAR_IOC_ATOMIC, &add))
			die("RCHAR_IOC_ATOMIC");
		return 0;
	}
	if (!strcmp(what, "many") && argc == 6)
		return all(argv[2], atoi(argv[3]), atoll(argv[4]), atoll(argv[5]), many_one);
	if (!strcmp(what, "serve") && argc == 5)
		return all(argv[2], atoi(argv[3]), atoll(argv[4]), 0, serve_one);
	if (!strcmp(what, "hold") && argc == 5) {
		fd = open_dev(argv[2], mode_of(argv[3]));
		close(open(argv[4], O_CREAT | O_WRONLY, 0600));
		for (;;)
			pause();
	}
	if (!strcmp(what, "poll") && argc == 4) {
		wait_with_poll(argv[2], argv[3]);
		return 0;
	}
	fprintf(stderr, "usage: see the head of selftests/helpers/rio.c\n");
	return 2;
}
