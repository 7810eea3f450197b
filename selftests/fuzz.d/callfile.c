// SPDX-License-Identifier: GPL-2.0
/* Open files, and what Documentation/uapi.rst says that calls on them may fail with. */
#define _GNU_SOURCE
#include "calls.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "linux/rdma_char.h"

const char *const node_names[NR_KINDS] = {
	"f-stream-l", "f-stream-c", "f-message-l", "f-message-c", "f-memory-l", "f-memory-c",
};
uint64_t region_size = 1 << 20;

/* What an open that failed, or a session that is over, gives. */
#define ENDED	 ECONNRESET, ENODEV
#define UNOPENED ECONNREFUSED, ETIMEDOUT, ENXIO, ENOBUFS

struct rule {
	unsigned int kinds;
	enum call call;
	int errors[16];
};

/* "Errno table" and the chapters before it. */
static const struct rule documented[] = {
	{ ANY, OPEN, { UNOPENED, EINTR, ENODEV, ENOENT, EACCES, ECONNRESET, ENOMEM } },
	{ MEMORY, OPEN, { EOPNOTSUPP } },
	{ STREAM | MESSAGE, READ, { EAGAIN, EINTR, EFAULT, ENDED, UNOPENED, EBADF } },
	{ MESSAGE, READ, { EMSGSIZE } },
	{ STREAM | MESSAGE,
	  WRITE,
	  { EPIPE, EAGAIN, EINTR, EFAULT, ENDED, UNOPENED, ENOMEM, EBADF } },
	{ MESSAGE, WRITE, { EMSGSIZE } },
	{ EXPORT, READ, { EFAULT, EINVAL, ENODEV, EBADF } },
	{ EXPORT, WRITE, { EFAULT, EINVAL, ENODEV, EBADF, ENOSPC } },
	{ IMPORT, READ, { EAGAIN, EINTR, EFAULT, EINVAL, ENDED, UNOPENED, EBADF, ENOMEM } },
	{ IMPORT,
	  WRITE,
	  { EAGAIN, EINTR, EFAULT, EINVAL, ENDED, UNOPENED, EBADF, ENOSPC, EROFS, ENOMEM } },
	{ STREAM | MESSAGE, POSITIONED, { ESPIPE, EINVAL } },
	{ STREAM | MESSAGE, FSYNC, { EINTR, ENDED, UNOPENED } },
	{ IMPORT, FSYNC, { EINTR, ENDED, UNOPENED, EIO, ENOMEM } },
	{ STREAM | MESSAGE, SEEK, { ESPIPE } },
	{ EXPORT, SEEK, { EINVAL } },
	{ IMPORT, SEEK, { EINVAL, EAGAIN, EINTR, ENDED, UNOPENED } },
	{ STREAM | MESSAGE, SHUTDOWN, { EINVAL, ENOTCONN } },
	{ MEMORY, SHUTDOWN, { ENOTTY } },
	{ ANY, INFO, { EINVAL, EFAULT } },
	{ STREAM | MESSAGE, ATOMIC, { ENOTTY } },
	{ MEMORY, ATOMIC, { EBADF, EFAULT, EINVAL, EROFS, EOPNOTSUPP } },
	{ IMPORT, ATOMIC, { EAGAIN, EINTR, ENDED, UNOPENED, ENOMEM } },
	{ IMPORT, NOTIFY, { EBADF, EAGAIN, EINTR, ENDED, UNOPENED, ENOMEM } },
	{ ANY & ~IMPORT, NOTIFY, { ENOTTY } },
	{ EXPORT, RINGS, { EFAULT } },
	{ ANY & ~EXPORT, RINGS, { ENOTTY } },
	{ STREAM | MESSAGE, COUNT, { EFAULT } },
	{ MEMORY, COUNT, { ENOTTY } },
	{ ANY, UNKNOWN, { ENOTTY } },
	{ EXPORT, MMAP, { EINVAL, ENXIO, ENODEV, EACCES } },
	{ ANY & ~EXPORT, MMAP, { ENODEV } },
	{ STREAM | MESSAGE,
	  SPLICE,
	  { EPIPE, EAGAIN, EINTR, EFAULT, ENDED, UNOPENED, ENOMEM, EBADF, ESPIPE, EINVAL } },
	{ MEMORY,
	  SPLICE,
	  { EAGAIN, EINTR, EFAULT, EINVAL, ENDED, UNOPENED, EBADF, ENOSPC, EROFS, ENOMEM } },
	{ EXPORT, INFO, { ENODEV } },
	{ EXPORT, ATOMIC, { ENODEV } },
	{ EXPORT, RINGS, { ENODEV } },
	{ EXPORT, UNKNOWN, { ENODEV } },
};

/* What the kernel says before it asks the module. */
static const struct rule generic[] = {
	{ ANY, OPEN, { EINVAL, ENOTDIR, EEXIST, EPERM, ELOOP } }, /* O_DIRECT, O_DIRECTORY... */
	{ ANY, READ, { EINVAL, EOPNOTSUPP } },			  /* a vector too long, RWF_* */
	{ ANY, WRITE, { EINVAL, EOPNOTSUPP } },
	{ STREAM | MESSAGE, POSITIONED, { EBADF, EOPNOTSUPP, EFAULT } },
	{ ANY, FSYNC, { EINVAL } },
	{ ANY, SEEK, { EINVAL } },		/* not a place to seek from */
	{ MEMORY, SEEK, { ENXIO, EOVERFLOW } }, /* SEEK_DATA */
	{ ANY, MMAP, { EINVAL, EACCES, EPERM, ENOMEM, EAGAIN, EOVERFLOW } },
	{ ANY, SPLICE, { EINVAL, EAGAIN, EINTR, EBADF, ESPIPE, EPIPE } }, /* of the pipe */
};

static bool in_rules(const struct rule *rules, int n, unsigned int kinds, enum call call, int error)
{
	int i, k;

	for (i = 0; i < n; i++) {
		if (rules[i].call != call || !(rules[i].kinds & kinds))
			continue;
		for (k = 0; rules[i].errors[k]; k++)
			if (rules[i].errors[k] == error)
				return true;
	}
	return false;
}

#define IN_RULES(rules, kinds, call, error) \
	in_rules(rules, sizeof(rules) / sizeof((rules)[0]), kinds, call, error)

/* Of a process whose limits were lowered, or that closes what others use. */
static bool excused(const struct worker *w, int error)
{
	if (w->p->racy)
		return true;
	return w->p->poor && (error == EMFILE || error == ENFILE || error == ENOMEM);
}

/*
 * The oracle of all calls: @ret is what was returned, or -errno; 0 to @max is right.
 * Returns @ret.
 */
long check(struct worker *w, const struct file *f, enum call call, const char *what, long ret,
	   size_t max)
{
	unsigned int kind = 1u << f->kind;
	char key[48];

	if (ret >= 0) {
		if ((size_t)ret <= max || w->p->racy)
			return ret;
		snprintf(key, sizeof(key), "%s too-much %s", what, node_names[f->kind]);
		finding(key, "returned %ld, at most %zu is right", ret, max);
		return ret;
	}
	if (excused(w, -ret) || IN_RULES(documented, kind, call, -ret) ||
	    IN_RULES(generic, kind, call, -ret))
		return ret;
	snprintf(key, sizeof(key), "%s %s %s", what, strerrorname_np(-ret) ?: "?",
		 node_names[f->kind]);
	finding(key, "undocumented errno %ld, file flags %#o", -ret, f->flags);
	return ret;
}

/* ---- files ---- */

static int random_flags(struct rng *r)
{
	static const int modes[] = { O_RDWR, O_RDWR, O_RDWR, O_RDONLY, O_WRONLY };
	int flags = PICK(r, modes);

	if (!one_in(r, 4))
		flags |= O_NONBLOCK;
	if (one_in(r, 8))
		flags |= O_APPEND;
	if (one_in(r, 2))
		flags |= O_CLOEXEC;
	if (one_in(r, 40))
		flags |= O_DIRECT;
	if (one_in(r, 40))
		flags |= O_SYNC;
	if (one_in(r, 80))
		flags |= O_TRUNC;
	if (one_in(r, 200))
		flags |= PICK(r, ((const int[]){ O_DIRECTORY, O_PATH, O_NOATIME, O_CREAT | O_EXCL,
						 3 }));
	return flags;
}

void open_one(struct worker *w, struct file *f)
{
	char path[40];
	long ret;

	f->kind = below(&w->rng, NR_KINDS);
	f->flags = random_flags(&w->rng);
	snprintf(path, sizeof(path), "/dev/rchar/%s", node_names[f->kind]);
	log_input("open %s %#o", path, f->flags);
	ret = open(path, f->flags, 0600);
	if (ret < 0)
		ret = -errno;
	/* A number with nothing behind it: every call but close() fails. */
	if (ret >= 0 && f->flags & O_PATH) {
		close(ret);
		ret = -EINTR;
	}
	if ((f->flags & O_ACCMODE) == 3 && ret >= 0) {
		close(ret);
		ret = -EINTR;
	}
	check(w, f, OPEN, "open", ret, ~0u);
	if (ret >= 0)
		atomic_store(&f->fd, ret);
}

/* A file to make a call on, which is opened when it is not yet; NULL: not this time. */
struct file *use_file(struct worker *w)
{
	struct file *f = &w->p->files[below(&w->rng, NR_FILES)];
	int users = atomic_load(&f->users), none = 0;

	if (atomic_load(&f->fd) < 0) {
		if (!atomic_compare_exchange_strong(&f->users, &none, -1))
			return NULL;
		if (atomic_load(&f->fd) < 0)
			open_one(w, f);
		atomic_store(&f->users, 0);
		users = 0;
		if (atomic_load(&f->fd) < 0)
			return NULL;
	}
	while (users >= 0)
		if (atomic_compare_exchange_weak(&f->users, &users, users + 1)) {
			if (atomic_load(&f->fd) >= 0)
				return f;
			put_file(f);
			return NULL;
		}
	return NULL;
}

void put_file(struct file *f)
{
	atomic_fetch_sub(&f->users, 1);
}

/* Closes a file that nobody uses; in a racy process one that others do. */
void close_some(struct worker *w)
{
	struct file *f = &w->p->files[below(&w->rng, NR_FILES)];
	int none = 0, fd;

	if (w->p->racy) {
		fd = atomic_exchange(&f->fd, -1);
	} else {
		if (!atomic_compare_exchange_strong(&f->users, &none, -1))
			return;
		fd = atomic_exchange(&f->fd, -1);
	}
	if (fd >= 0) {
		log_input("close %s", node_names[f->kind]);
		close(fd);
	}
	if (!w->p->racy)
		atomic_store(&f->users, 0);
}

void open_nodes(struct worker *w, int n)
{
	int i;

	for (i = 0; i < n && i < NR_FILES; i++)
		if (atomic_load(&w->p->files[i].fd) < 0)
			open_one(w, &w->p->files[i]);
}
