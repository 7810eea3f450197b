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

/* Of a process or a thread, by its folder: is it asleep, and would a signal wake it? proc(5) */
static inline bool task_asleep(const char *folder, const void *unused)
{
	char path[128], state = 0;
	FILE *f;

	(void)unused;
	snprintf(path, sizeof(path), "%.100s/stat", folder);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(f);
	return state == 'S';
}

static inline bool asleep(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return task_asleep(path, NULL);
}

/* The same, and not a short sleep on the way to something else. */
static inline bool fast_asleep(pid_t pid)
{
	int looks = 0;

	while (asleep(pid) && ++looks < 5)
		test_pause();
	return looks == 5;
}

static inline bool any_in(const char *folder, bool (*is)(const char *path, const void *arg),
			  const void *arg)
{
	DIR *dir = opendir(folder);
	bool found = false;
	struct dirent *e;
	char path[128];

	while (dir && !found && (e = readdir(dir))) {
		snprintf(path, sizeof(path), "%.60s/%.32s", folder, e->d_name);
		found = e->d_name[0] >= '0' && e->d_name[0] <= '9' && is(path, arg);
	}
	if (dir)
		closedir(dir);
	return found;
}

static inline bool leads_to(const char *path, const void *file)
{
	char target[64];
	ssize_t n = readlink(path, target, sizeof(target));

	return n == (ssize_t)strlen(file) && !memcmp(target, file, n);
}

static inline bool process_uses(const char *folder, const void *file)
{
	char path[128];

	snprintf(path, sizeof(path), "%.60s/fd", folder);
	return any_in(path, leads_to, file);
}

static inline bool process_sleeps_with(const char *folder, const void *file)
{
	char path[128];

	snprintf(path, sizeof(path), "%.60s/task", folder);
	return process_uses(folder, file) && any_in(path, task_asleep, NULL);
}

/* Has a program this file open? */
static inline bool in_use(const char *file)
{
	return any_in("/proc", process_uses, file);
}

/* And sleeps? */
static inline bool user_asleep(const char *file)
{
	return any_in("/proc", process_sleeps_with, file);
}

#endif /* ASLEEP_H */
