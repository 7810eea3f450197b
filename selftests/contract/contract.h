/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests of the contract have in common. */
#ifndef CONTRACT_H
#define CONTRACT_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "linux/rdma_char.h"
#include "../helpers/asleep.h"

#define SRV "/dev/rchar/srv"
#define CLI "/dev/rchar/cli"
#define WINDOW 65536	/* of the channels, set in main.c */

#define CHECK(cond)							\
	do {								\
		if (!(cond)) {						\
			printf("# %s:%d: %s (errno %s)\n", __FILE__,	\
			       __LINE__, #cond, strerrorname_np(errno));		\
			fflush(stdout);					\
			_exit(1);					\
		}							\
	} while (0)

/* Ends a test that this kernel cannot run. */
#define SKIP(words)							\
	do {								\
		strcpy(skip_reason, words);				\
		_exit(0);						\
	} while (0)

#define CHECK_ERR(expr, err) CHECK((expr) == -1 && errno == (err))

/*
 * How long something may take that must happen: a hang of one test shall not cost the whole
 * suite. The same as 'limit' in ksft.sh.
 */
#define LONG_MS (120000 * patience)

/* What must become true; how long that takes says nothing. Evaluated more than once. */
#define EVENTUALLY(cond)						\
	do {								\
		long long end_ = now_ms() + LONG_MS;			\
									\
		while (!(cond) && now_ms() < end_)			\
			usleep(5000);					\
		CHECK(cond);						\
	} while (0)

/* Large enough for everything, and an address where nothing is. */
extern char big[1 << 20];
extern char *skip_reason;
extern int patience;	/* how many times slower than usual this machine may be */
extern void *volatile nowhere;

/* A system call in a thread of its own. */
struct call {
	pthread_t thread;
	volatile pid_t tid;
	int fd, ret, err, flags;
	const char *path;
	ssize_t (*fn)(int, void *, size_t);
};

void sh(const char *cmd);
long long now_ms(void);
void pair_flags(int *cli, int cli_flags, int *srv, int srv_flags);
void pair(int *cli, int *srv);
void new_pair(int *cli, int *srv, const char *type, const char *listen_settings,
	      const char *connect_settings);
short events(int fd, short want, int timeout);
void nonblock(int fd);
int unacknowledged(int fd);
long fill_window_by(int fd, size_t bytes);
long fill_window(int fd);
void read_exactly(int fd, long bytes);
void *call_open(void *arg);
void *call_read(void *arg);
void *call_write(void *arg);
void until_asleep(struct call *c);
void no_op(int sig);
void interrupt_with(const struct sigaction *sa);
char *half_mapped(void);
long largest(const char *command, const char *key);
long rx_memory(void);
void pattern(char *buf, size_t len, uint64_t at);
bool has_pattern(const char *buf, size_t len, uint64_t at);

struct test {
	const char *name;
	void (*fn)(void);
};

#define TEST(fn) { #fn, fn }

extern const struct test open_tests[];
extern const struct test stream_tests[];
extern const struct test rendezvous_tests[];
extern const struct test ready_tests[];
extern const struct test fault_tests[];
extern const struct test control_tests[];
extern const struct test end_tests[];
extern const struct test message_tests[];
extern const struct test uring_tests[];
extern const struct test memory_tests[];

#endif /* CONTRACT_H */
