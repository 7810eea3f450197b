/* SPDX-License-Identifier: GPL-2.0 */
/* What the fuzzers have in common: numbers from a seed, a log of inputs, findings. */
#ifndef FUZZ_COMMON_H
#define FUZZ_COMMON_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "../lib/test.h"

/* A sequence of numbers; each process and thread has one of its own. */
struct rng {
	uint64_t state;
};

/* In memory that all processes of a fuzzer share. */
struct shared {
	atomic_ulong inputs;
	atomic_ulong lines; /* written to the log */
	atomic_int stop;
	atomic_int findings;
	char known[64][48];	/* keys of findings that were printed */
	atomic_ulong count[20]; /* what a fuzzer counts beside */
};

struct options {
	uint64_t seed;
	int seconds;
	const char *rest; /* the argument that is no option */
};

extern struct shared *shared;

struct rng rng_make(uint64_t seed, uint64_t index);
uint64_t rng_next(struct rng *r);
uint32_t below(struct rng *r, uint32_t n);
bool one_in(struct rng *r, uint32_t n);
uint64_t boundary(struct rng *r);

struct options fuzz_start(int argc, char **argv, const char *usage);
int fuzz_end(void);
void log_input(const char *format, ...) __attribute__((format(printf, 1, 2)));
void finding(const char *key, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define PICK(r, array) ((array)[below((r), sizeof(array) / sizeof((array)[0]))])

#endif /* FUZZ_COMMON_H */
