// SPDX-License-Identifier: GPL-2.0
/* Memory for calls: with guards around it, half there, not there, of the region itself. */
#define _GNU_SOURCE
#include "calls.h"
#include <string.h>

#define GUARD	   64
#define GUARD_BYTE 0xa5

size_t some_length(struct rng *r)
{
	static const size_t edges[] = {
		4095, 4096, 4097, 16384, 65535, 65536, 65537, 262143, 262144
	};
	uint32_t dice = below(r, 10000);

	if (dice < 6000)
		return below(r, 65);
	if (dice < 8900)
		return below(r, 5000);
	if (dice < 9400)
		return PICK(r, edges);
	if (dice < 9850)
		return below(r, 65536);
	if (dice < 9970)
		return below(r, 1 << 20);
	if (dice < 9990)
		return 1 << 20;
	return dice < 9994 ? BIG : 0;
}

int64_t some_offset(struct rng *r, size_t len)
{
	static const int64_t odd[] = {
		0,	   0,	      1,	 4095,	    4096, INT32_MAX,
		1ll << 31, 1ll << 32, INT64_MAX, INT64_MIN, -1,	  -4096,
	};
	int64_t size = region_size;

	switch (below(r, 8)) {
	case 0:
		return PICK(r, odd);
	case 1:
		return size - (int64_t)len + below(r, 3) - 1;
	case 2:
		return size + below(r, 3) - 1;
	case 3:
		return boundary(r);
	default:
		return below(r, size);
	}
}

void *bad_pointer(struct worker *w)
{
	uint8_t *bad[] = {
		NULL,
		(uint8_t *)1,
		(uint8_t *)-1,
		(uint8_t *)0xffff888000000000ull,
		(uint8_t *)0xdead000000000000ull,
		w->arena + ARENA,
		w->arena + ARENA - 1,
	};

	return PICK(&w->rng, bad);
}

/* Such memory is asked for with its length; what is there of it the caller must not know. */
static uint8_t *odd_memory(struct worker *w, size_t len)
{
	struct map *m = &w->p->maps[below(&w->rng, NR_MAPS)];
	uint8_t *end = w->arena + ARENA;

	switch (below(&w->rng, 4)) {
	case 0: /* the beginning is there */
		return end - below(&w->rng, len < 8192 ? len + 1 : 8192);
	case 1: /* to read only */
		return end + PAGE + below(&w->rng, PAGE);
	case 2:
		return atomic_load(&m->at) ?: bad_pointer(w);
	default:
		return bad_pointer(w);
	}
}

struct buffer take_buffer(struct worker *w, size_t len)
{
	struct buffer b = { .len = len };

	if (one_in(&w->rng, 7)) {
		b.at = odd_memory(w, len);
		return b;
	}
	if (len > ARENA - PAGE) {
		b.at = w->p->big + (len < BIG ? below(&w->rng, BIG - len) : 0);
		return b;
	}
	/* Often at the edge of a page. */
	b.at = w->arena + GUARD + below(&w->rng, ARENA - len - 2 * GUARD);
	if (one_in(&w->rng, 3) && b.at - w->arena > PAGE)
		b.at = (uint8_t *)((uintptr_t)b.at & -(uintptr_t)PAGE);
	memset(b.at - GUARD, GUARD_BYTE, GUARD);
	memset(b.at + len, GUARD_BYTE, GUARD);
	b.guarded = true;
	return b;
}

static bool intact(const uint8_t *p, size_t n)
{
	while (n && *p == GUARD_BYTE) {
		p++;
		n--;
	}
	return !n;
}

/* Nothing may have been written but to the buffer. */
void check_buffer(const struct buffer *b, const char *what)
{
	if (!b->guarded)
		return;
	if (!intact(b->at - GUARD, GUARD))
		finding("guard before a buffer", "%s of %zu bytes wrote before it", what, b->len);
	if (!intact(b->at + b->len, GUARD))
		finding("guard behind a buffer", "%s of %zu bytes wrote behind it", what, b->len);
}

#define GAP 8

/* Fills w->iov; returns the bytes. *@count: as many parts, of which some may be odd. */
size_t take_vector(struct worker *w, int *count)
{
	size_t at = 0, total = 0, max = 128;
	struct rng *r = &w->rng;
	int n = 1 + below(r, 8), i;

	if (one_in(r, 6))
		n = one_in(r, 3) ? 1024 : 1 + below(r, 300);
	if (n < 20 && one_in(r, 3))
		max = 20000;
	memset(w->arena, GUARD_BYTE, ARENA < n * (max + GAP) ? ARENA : n * (max + GAP));
	for (i = 0; i < n; i++) {
		size_t len = below(r, max);

		w->iov[i].iov_base = w->arena + at;
		w->iov[i].iov_len = len;
		at += len + GAP;
		total += len;
	}
	if (one_in(r, 10))
		w->iov[below(r, n)].iov_base = bad_pointer(w);
	w->odd_vector = one_in(r, 60);
	if (w->odd_vector) {
		w->iov[below(r, n)].iov_len = boundary(r);
		total = (size_t)-1 >> 1;
	}
	*count = n;
	return total;
}

/* The gaps between the parts. */
void check_vector(struct worker *w, int count, const char *what)
{
	uint8_t *end = w->arena + ARENA;
	int i;

	for (i = 0; i < count && !w->odd_vector; i++) {
		uint8_t *p = w->iov[i].iov_base;

		/* Behind a bad one there is no gap. */
		if (p < w->arena || p >= end - 40000)
			continue;
		if (!intact(p + w->iov[i].iov_len, GAP)) {
			finding("guard in a vector", "%s wrote behind part %d of %d, of %zu bytes",
				what, i, count, w->iov[i].iov_len);
			return;
		}
	}
}
