// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include "common.h"
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LINES 400
#define LINE  160

struct shared *shared;
static char (*lines)[LINE];

/* splitmix64: any seed is good, and so is any index. */
uint64_t rng_next(struct rng *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

struct rng rng_make(uint64_t seed, uint64_t index)
{
	struct rng r = { seed * 0x2545f4914f6cdd1dull + index };

	r.state = rng_next(&r);
	return r;
}

uint32_t below(struct rng *r, uint32_t n)
{
	return n ? (rng_next(r) >> 16) % n : 0;
}

bool one_in(struct rng *r, uint32_t n)
{
	return !below(r, n);
}

/* Near a power of two, of either sign. */
uint64_t boundary(struct rng *r)
{
	uint64_t n = 1ull << below(r, 64);

	n += below(r, 3) - 1ull;
	return one_in(r, 6) ? -n : n;
}

static void *map_shared(const char *path, size_t size)
{
	int fd = path ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	void *p;

	if (path && (fd < 0 || ftruncate(fd, size))) {
		perror(path);
		exit(2);
	}
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, path ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS,
		 fd, 0);
	if (p == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	if (fd >= 0)
		close(fd);
	return p;
}

struct options fuzz_start(int argc, char **argv, const char *usage)
{
	static const struct option known[] = { { "seed", required_argument, NULL, 's' },
					       { "seconds", required_argument, NULL, 't' },
					       { "log", required_argument, NULL, 'l' },
					       {} };
	struct options o = { .seed = 1, .seconds = 10 };
	const char *log = NULL;
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (c) {
		case 's':
			o.seed = strtoull(optarg, NULL, 0);
			break;
		case 't':
			o.seconds = atoi(optarg);
			break;
		case 'l':
			log = optarg;
			break;
		default:
			fprintf(stderr, "usage: %s\n", usage);
			exit(2);
		}
	}
	o.rest = argv[optind];
	setvbuf(stdout, NULL, _IOLBF, 0);
	shared = map_shared(NULL, sizeof(*shared));
	lines = map_shared(log, (size_t)LINES * LINE);
	return o;
}

/* The last line of a fuzzer, and its exit status. */
int fuzz_end(void)
{
	printf("inputs %lu\n", atomic_load(&shared->inputs));
	return atomic_load(&shared->findings) != 0;
}

/*
 * Counts an input, and notes it before it is tried. The file is a ring of lines in shared
 * memory, so that it has them whatever becomes of the process.
 */
void log_input(const char *format, ...)
{
	unsigned long n = atomic_fetch_add(&shared->lines, 1);
	char text[LINE], *line = lines[n % LINES];
	va_list args;
	int used;

	atomic_fetch_add(&shared->inputs, 1);
	used = snprintf(text, LINE, "%lu %d ", n, getpid());
	va_start(args, format);
	used += vsnprintf(text + used, LINE - used, format, args);
	va_end(args);
	if (used > LINE - 1)
		used = LINE - 1;
	memset(text + used, ' ', LINE - 1 - used);
	text[LINE - 1] = '\n';
	memcpy(line, text, LINE);
}

/* An oracle failed. Each @key is told once. */
void finding(const char *key, const char *format, ...)
{
	int max = sizeof(shared->known) / sizeof(shared->known[0]);
	char text[300];
	va_list args;
	int i, used;

	for (i = 0; i < max && shared->known[i][0]; i++)
		if (!strncmp(shared->known[i], key, sizeof(shared->known[i]) - 1))
			return;
	i = atomic_fetch_add(&shared->findings, 1);
	if (i < max)
		strncpy(shared->known[i], key, sizeof(shared->known[i]) - 1);
	used = snprintf(text, sizeof(text) - 1, "FAILED: %s: ", key);
	va_start(args, format);
	used += vsnprintf(text + used, sizeof(text) - 1 - used, format, args);
	va_end(args);
	if (used > (int)sizeof(text) - 2)
		used = sizeof(text) - 2;
	text[used++] = '\n';
	if (write(STDOUT_FILENO, text, used) < 0)
		_exit(1);
}
