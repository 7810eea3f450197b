/* SPDX-License-Identifier: GPL-2.0 */
#ifndef ASLEEP_H
#define ASLEEP_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#include "test.h"

/* Does a process or a thread sleep, so that a signal would wake it? proc(5), stat */
static inline bool asleep(pid_t pid)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(f);
	return state == 'S';
}

/* The same, and not a short sleep on the way to something else. */
static inline bool fast_asleep(pid_t pid)
{
	int looks = 0;

	while (asleep(pid) && ++looks < 5)
		test_pause();
	return looks == 5;
}

static inline bool has_open(pid_t pid, const char *file)
{
	char path[64], target[64];
	struct dirent *e;
	bool found = false;
	ssize_t n;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	fds = opendir(path);
	if (!fds)
		return false;
	while (!found && (e = readdir(fds))) {
		n = readlinkat(dirfd(fds), e->d_name, target, sizeof(target));
		found = n == (ssize_t)strlen(file) && !memcmp(target, file, n);
	}
	closedir(fds);
	return found;
}

/* Does a program sleep that has this file open? */
static inline bool user_asleep(const char *file)
{
	bool found = false;
	struct dirent *e;
	DIR *proc;

	proc = opendir("/proc");
	if (!proc)
		return false;
	while (!found && (e = readdir(proc))) {
		pid_t pid = atoi(e->d_name);

		found = pid > 0 && has_open(pid, file) && asleep(pid);
	}
	closedir(proc);
	return found;
}

#endif /* ASLEEP_H */
