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
#include "../lib/asleep.h"
#include "../lib/test.h"

#define SRV    "/dev/rchar/srv"
#define CLI    "/dev/rchar/cli"
#define WINDOW 65536 /* of the channels, set in main.c */

/* Large enough for everything, and an address where nothing is. */
extern char big[1 << 20];
extern void *volatile nowhere;

/* A system call in a thread of its own. */
struct call {
	pthread_t thread;
	volatile pid_t tid;
	int fd, ret, err, flags;
	const char *path;
	ssize_t (*fn)(int fd, void *buf, size_t len);
};

void sh(const char *cmd);
bool encrypted(void);
bool device_lacks(const char *limit);
long long device_limit(const char *limit);
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
long counter_of_there(const char *key);
pid_t reset_links(const char *counter);
bool resetting(pid_t pid);
long rx_memory(void);
void pattern(char *buf, size_t len, uint64_t at);
bool has_pattern(const char *buf, size_t len, uint64_t at);

#endif /* CONTRACT_H */
