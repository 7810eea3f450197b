// SPDX-License-Identifier: GPL-2.0
#include "held.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "peer.h"

static unsigned long long free_before;

static unsigned long long counted(const char *file, const char *key)
{
	unsigned long long value = 0;
	char line[128];
	FILE *f = fopen(file, "r");

	if (!f)
		bail(file);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)) && strchr(" :", line[strlen(key)]))
			sscanf(line + strlen(key) + 1, "%llu", &value);
	fclose(f);
	return value;
}

/* How many of a kind are alive; "held": bytes. */
unsigned long long objects(const char *kind)
{
	return counted("/sys/kernel/debug/rdma_char/objects", kind);
}

static unsigned long long parameter(const char *path)
{
	unsigned long long n = 0;
	FILE *f = fopen(path, "r");

	if (!f || fscanf(f, "%llu", &n) != 1)
		bail(path);
	fclose(f);
	return n;
}

/* Bytes that the module grants one peer address. */
unsigned long long budget(void)
{
	unsigned long long peer = parameter("/sys/module/rdma_char/parameters/peer_memory");
	unsigned long long host = parameter("/sys/module/rdma_char/parameters/host_memory");

	return (host && host < peer ? host : peer) << 20;
}

static unsigned long long free_kib(void)
{
	return counted("/proc/meminfo", "MemAvailable");
}

/* Until at most so many are alive: what is freed is freed by work queues. */
bool falls_to(const char *kind, unsigned long long most)
{
	return BECOMES_WITHIN(30000, objects(kind) <= most);
}

/* taken_kib() counts from here. */
void begin(void)
{
	free_before = free_kib();
}

long long taken_kib(void)
{
	return (long long)(free_before - free_kib());
}

/* A result, and what the host holds. */
void measured(const char *name, bool ok)
{
	long long taken = taken_kib();

	result(name, ok);
	printf("# held %llu KiB, memory taken %lld KiB, txbuf %llu seg %llu session %llu\n",
	       objects("held") >> 10, taken, objects("txbuf"), objects("seg"), objects("session"));
	fflush(stdout);
}
