/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What tests in C are made of. A test is a function, and that is all there is to write:
 *
 *	TEST(what_must_hold)
 *	{
 *		CHECK(2 + 2 == 4);
 *	}
 *
 * It registers itself before main() begins. Tests of a file have the order of their lines;
 * the order of files is the program's. Each runs in a process of its own.
 */
#ifndef TEST_H
#define TEST_H

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct test {
	const char *name, *file; /* see test_sort() */
	int line;
	void (*fn)(void);
	struct test *next;
};

/* Of the program, however many files it has. */
struct test_program {
	struct test *tests; /* all of them, by line */
	int n, failed;	    /* results so far */
	bool broken;	    /* a MUST did not hold */
	char *skip_reason;  /* shared with the process of a test */
};

struct test_program test_program __attribute__((weak));

static inline void test_register(struct test *t)
{
	struct test **at = &test_program.tests;

	while (*at && (*at)->line < t->line)
		at = &(*at)->next;
	t->next = *at;
	*at = t;
}

#define TEST(name_)                                                                  \
	static void name_(void);                                                     \
	static void __attribute__((constructor)) register_##name_(void)              \
	{                                                                            \
		static struct test t_ = { #name_, __FILE__, __LINE__, name_, NULL }; \
		test_register(&t_);                                                  \
	}                                                                            \
	static void name_(void)

/* ---- inside a test ---- */

static inline void test_complain(const char *file, int line, const char *what)
{
	printf("# %s:%d: %s (errno %s)\n", file, line, what, strerrorname_np(errno));
	fflush(stdout);
}

/* Ends the test, or whatever program has it, when something does not hold. */
#define CHECK(cond)                                               \
	do {                                                      \
		if (!(cond)) {                                    \
			test_complain(__FILE__, __LINE__, #cond); \
			_exit(1);                                 \
		}                                                 \
	} while (0)

#define CHECK_ERR(expr, err) CHECK((expr) == -1 && errno == (err))

/* The same, but the test goes on: the caller looks at 'broken'. */
#define MUST(cond)                                                \
	do {                                                      \
		if (!(cond)) {                                    \
			test_complain(__FILE__, __LINE__, #cond); \
			test_program.broken = true;               \
		}                                                 \
	} while (0)

/* Ends a test that this kernel cannot run. */
#define SKIP(words)                                      \
	do {                                             \
		strcpy(test_program.skip_reason, words); \
		_exit(0);                                \
	} while (0)

static inline long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ll + ts.tv_nsec / 1000000;
}

/* How many times slower than usual this machine may be. */
static inline int patience(void)
{
	const char *slow = getenv("VM_PATIENCE");

	return slow && atoi(slow) > 0 ? atoi(slow) : 1;
}

/*
 * How long something may take that must happen: a hang of one test shall not cost the whole
 * suite. The same as 'limit' in lib/ksft.sh.
 */
#define LONG_MS (120000 * patience())

/* How often to do what is done so often only to meet a rare moment: less where all is slow. */
static inline int rounds(int n)
{
	n /= patience();
	return n > 2 ? n : 2;
}

/* Between two looks at what nothing tells of. Whoever sleeps elsewhere says what for. */
static inline void test_pause(void)
{
	usleep(5000);
}

/* Has it become true by then? Evaluated more than once. */
#define BECOMES_WITHIN(ms, cond)                             \
	({                                                   \
		long long end_ = now_ms() + (ms);            \
		bool true_;                                  \
		while (!(true_ = (cond)) && now_ms() < end_) \
			test_pause();                        \
		true_;                                       \
	})

/* How long it takes says nothing. */
#define BECOMES(cond) BECOMES_WITHIN(LONG_MS, cond)

/* It must. */
#define EVENTUALLY(cond) CHECK(BECOMES(cond))

/* ---- around it ---- */

/* Is it in NAME.c? */
static inline bool test_is_of(const struct test *t, const char *name)
{
	const char *slash = strrchr(t->file, '/'), *base = slash ? slash + 1 : t->file;
	size_t len = strlen(name);

	return !strncmp(base, name, len) && !strcmp(base + len, ".c");
}

/*
 * Brings the tests into the order of these files, whose names become those of the tests'. A test
 * of another file would never run: it ends the program.
 */
static inline void test_sort(const char *const *files)
{
	struct test *sorted = NULL, **end = &sorted, **from, *t;

	for (; *files; files++) {
		for (from = &test_program.tests; (t = *from);) {
			if (!test_is_of(t, *files)) {
				from = &t->next;
				continue;
			}
			*from = t->next;
			t->next = NULL;
			t->file = *files;
			*end = t;
			end = &t->next;
		}
	}
	t = test_program.tests;
	if (t)
		test_complain(t->file, t->line, "a test in a file of no order");
	CHECK(!t);
	test_program.tests = sorted;
}

/* The line of a result; MORE, a format, is what follows its name. */
static inline void __attribute__((format(printf, 3, 4)))
test_result(bool ok, const char *name, const char *more, ...)
{
	va_list args;

	printf("%sok %d %s", ok ? "" : "not ", ++test_program.n, name);
	va_start(args, more);
	vprintf(more, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	test_program.failed += !ok;
}

/* Did it pass? What it began ends with it. */
static inline bool test_run(const struct test *t)
{
	int status = -1;
	pid_t pid;

	if (!test_program.skip_reason)
		test_program.skip_reason = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
						MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(test_program.skip_reason != MAP_FAILED);
	*test_program.skip_reason = 0;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		alarm(900 * patience());
		t->fn();
		fflush(stdout);
		_exit(test_program.broken);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	kill(-pid, SIGKILL);
	if (WIFSIGNALED(status))
		printf("# killed by signal %d\n", WTERMSIG(status));
	return status == 0;
}

#endif /* TEST_H */
