// SPDX-License-Identifier: GPL-2.0
/* Mappings, pipes, descriptors, and what else there is. */
#define _GNU_SOURCE
#include "calls.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define SYS(expr)                         \
	({                                \
		long ret_ = (expr);       \
		ret_ < 0 ? -errno : ret_; \
	})

/* ---- mappings ---- */

static void map_one(struct worker *w, struct file *f)
{
	static const int kinds[] = { MAP_SHARED,
				     MAP_SHARED,
				     MAP_SHARED,
				     MAP_PRIVATE,
				     MAP_SHARED | MAP_POPULATE,
				     MAP_SHARED | MAP_LOCKED,
				     MAP_SHARED_VALIDATE,
				     MAP_SHARED | MAP_NORESERVE };
	struct map *m = &w->p->maps[below(&w->rng, NR_MAPS)];
	size_t len = (1 + below(&w->rng, 300)) * (size_t)PAGE;
	int prot = below(&w->rng, 8), flags = PICK(&w->rng, kinds);
	int64_t offset = below(&w->rng, 260) * (int64_t)PAGE;
	int mode = f->flags & O_ACCMODE, fixed = 0;
	void *at;

	if (one_in(&w->rng, 10))
		offset = boundary(&w->rng) & -(uint64_t)PAGE;
	if (one_in(&w->rng, 30))
		len = boundary(&w->rng) >> below(&w->rng, 20);
	/*
	 * At places where the kernel puts nothing by itself: a hole that another thread makes
	 * there is not filled by something that we need.
	 */
	if (len <= WINDOW && !one_in(&w->rng, 50))
		fixed = MAP_FIXED;
	log_input("mmap %s %zu prot %d flags %#x at %lld", node_names[f->kind], len, prot, flags,
		  (long long)offset);
	at = mmap(fixed ? m->window : NULL, len, prot, flags | fixed, f->fd, offset);
	if (at == MAP_FAILED) {
		check(w, f, MMAP, "mmap", -errno, 0);
		return;
	}
	if (!w->p->racy && !(1u << f->kind & EXPORT))
		finding("mmap", "%s was mapped", node_names[f->kind]);
	else if (!w->p->racy && (offset + len > ((region_size + PAGE - 1) & -(uint64_t)PAGE) ||
				 flags == MAP_PRIVATE || mode == O_WRONLY ||
				 (mode == O_RDONLY && prot & PROT_WRITE)))
		finding("mmap of the region", "prot %d flags %#x %zu at %lld, file %#o", prot,
			flags, len, (long long)offset, f->flags);
	if (!w->p->racy && mode == O_RDONLY && !mprotect(at, PAGE, PROT_READ | PROT_WRITE))
		finding("mprotect", "a region opened to read only became writable");
	if (fixed) {
		m->len = len;
		atomic_store(&m->at, at);
	} else {
		munmap(at, len);
	}
}

/* With the processor; what is not there or not allowed ends it. */
static void touch(struct worker *w, volatile uint8_t *at, size_t len)
{
	if (!sigsetjmp(w->fault, 1)) {
		w->may_fault = 1;
		for (size_t i = 0; i < len; i += PAGE) {
			if (one_in(&w->rng, 2))
				at[i] = i;
			else
				(void)at[i];
		}
	}
	w->may_fault = 0;
}

static void change_map(struct worker *w, uint8_t *at, size_t len)
{
	static const int advice[] = { MADV_DONTNEED,   MADV_DONTFORK,	   MADV_DOFORK,
				      MADV_HUGEPAGE,   MADV_NOHUGEPAGE,	   MADV_MERGEABLE,
				      MADV_WILLNEED,   MADV_FREE,	   MADV_REMOVE,
				      MADV_DODUMP,     MADV_COLD,	   MADV_PAGEOUT,
				      MADV_WIPEONFORK, MADV_POPULATE_WRITE };
	struct rng *r = &w->rng;
	size_t other = (1 + below(r, 300)) * (size_t)PAGE;
	void *moved;

	switch (below(r, 7)) {
	case 0:
		mprotect(at, len, below(r, 8));
		break;
	case 1:
	case 2:
		madvise(at, len, PICK(r, advice));
		break;
	case 3:
		moved = mremap(at, len, other, one_in(r, 3) ? 0 : MREMAP_MAYMOVE);
		if (moved != MAP_FAILED && moved != at)
			munmap(moved, other);
		break;
	case 4:
		munmap(at, len);
		break;
	case 5:
		msync(at, len, one_in(r, 2) ? MS_SYNC : MS_INVALIDATE);
		break;
	default:
		if (one_in(r, 2))
			mlock(at, len);
		else
			munlock(at, len);
	}
}

void op_map(struct worker *w, struct file *f)
{
	struct map *m = &w->p->maps[below(&w->rng, NR_MAPS)];
	uint8_t *at = atomic_load(&m->at);
	size_t skip, len;

	if (!at || one_in(&w->rng, 3)) {
		map_one(w, f);
		return;
	}
	skip = below(&w->rng, m->len / PAGE + 1) * (size_t)PAGE;
	len = (1 + below(&w->rng, 30)) * (size_t)PAGE;
	if (skip + len > m->len)
		skip = 0, len = m->len;
	log_input("mapping %p %zu", at + skip, len);
	if (one_in(&w->rng, 2))
		touch(w, at + skip, len);
	else
		change_map(w, at + skip, len);
}

/* ---- pipes ---- */

static unsigned int some_splice(struct rng *r)
{
	return (one_in(r, 6) ? 0 : SPLICE_F_NONBLOCK) | (one_in(r, 3) ? SPLICE_F_MOVE : 0) |
	       (one_in(r, 5) ? SPLICE_F_MORE : 0) | (one_in(r, 4) ? SPLICE_F_GIFT : 0);
}

static void through_pipe(struct worker *w, struct file *f, size_t len)
{
	off64_t offset = some_offset(&w->rng, len);
	bool in = one_in(&w->rng, 2);
	off64_t *at = one_in(&w->rng, 3) ? &offset : NULL;
	long ret;

	log_input("splice %s %s %zu", in ? "from" : "to", node_names[f->kind], len);
	if (in)
		ret = SYS(splice(f->fd, at, w->pipe[1], NULL, len, some_splice(&w->rng)));
	else
		ret = SYS(splice(w->pipe[0], NULL, f->fd, at, len, some_splice(&w->rng)));
	check(w, f, SPLICE, "splice", ret, len);
}

static void by_sendfile(struct worker *w, struct file *f, size_t len)
{
	struct file *other = one_in(&w->rng, 3) ? use_file(w) : NULL;
	off_t offset = below(&w->rng, 1 << 20);
	long ret;

	log_input("sendfile %s %s %zu", node_names[f->kind], other ? node_names[other->kind] : "-",
		  len);
	if (other)
		ret = SYS(sendfile(f->fd, other->fd, one_in(&w->rng, 2) ? &offset : NULL, len));
	else if (one_in(&w->rng, 2))
		ret = SYS(sendfile(f->fd, w->file, &offset, len));
	else
		ret = SYS(sendfile(w->pipe[1], f->fd, &offset, len));
	/* Of two files at once nobody says which one an error is of. */
	if (!other)
		check(w, f, SPLICE, "sendfile", ret, len);
	else
		put_file(other);
}

void op_splice(struct worker *w, struct file *f)
{
	size_t len = some_length(&w->rng);
	struct iovec v = { w->arena + below(&w->rng, ARENA / 2),
			   len < ARENA / 2 ? len : ARENA / 2 };
	char drop[4096];

	switch (below(&w->rng, 7)) {
	case 0:
	case 1:
	case 2:
		through_pipe(w, f, len);
		break;
	case 3:
		by_sendfile(w, f, len);
		break;
	case 4:
		vmsplice(w->pipe[1], &v, 1, SPLICE_F_NONBLOCK | some_splice(&w->rng));
		through_pipe(w, f, len);
		break;
	case 5:
		/* A second pipe would have room; into itself it must be refused. */
		tee(w->pipe[0], w->pipe[1], len, SPLICE_F_NONBLOCK);
		break;
	default:
		if (read(w->pipe[0], drop, sizeof(drop)) < 0)
			return;
	}
}

/* ---- descriptors ---- */

void op_fcntl(struct worker *w, struct file *f)
{
	struct f_owner_ex owner = { one_in(&w->rng, 2) ? F_OWNER_TID : F_OWNER_PID,
				    one_in(&w->rng, 2) ? getpid() : gettid() };
	int flags = fcntl(f->fd, F_GETFL);

	log_input("fcntl %s", node_names[f->kind]);
	switch (below(&w->rng, 7)) {
	case 0:
	case 1:
		flags ^= PICK(&w->rng, ((const int[]){ O_NONBLOCK, O_NONBLOCK, O_ASYNC, O_APPEND,
						       O_DIRECT }));
		if (!fcntl(f->fd, F_SETFL, flags) && flags & O_APPEND)
			f->flags |= O_APPEND;
		break;
	case 2:
		fcntl(f->fd, F_SETOWN, one_in(&w->rng, 2) ? getpid() : -getpgrp());
		break;
	case 3:
		fcntl(f->fd, F_SETOWN_EX, &owner);
		break;
	case 4:
		fcntl(f->fd, F_SETSIG, one_in(&w->rng, 2) ? 0 : SIGUSR1);
		break;
	case 5:
		fcntl(f->fd, F_SETFL, flags | O_ASYNC);
		break;
	default:
		fcntl(f->fd,
		      PICK(&w->rng, ((const int[]){ F_GETPIPE_SZ, F_GETLEASE, F_GETOWN, F_SETLEASE,
						    F_GETLK, F_ADD_SEALS })),
		      0);
	}
}

/* The same session under another number, for a moment or in another's place. */
static void duplicate(struct worker *w, struct file *f)
{
	struct file *other = &w->p->files[below(&w->rng, NR_FILES)];
	int none = 0, fd, old;

	log_input("dup %s", node_names[f->kind]);
	fd = one_in(&w->rng, 2) ? dup(f->fd) : fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (other == f || !atomic_compare_exchange_strong(&other->users, &none, -1)) {
		close(fd);
		return;
	}
	old = atomic_load(&other->fd);
	if (old >= 0 && dup2(fd, old) >= 0) {
		close(fd);
		fd = old;
	} else if (old >= 0) {
		close(fd);
	}
	if (old < 0 || fd == old) {
		other->kind = f->kind;
		other->flags = f->flags;
		atomic_store(&other->fd, fd);
	}
	atomic_store(&other->users, 0);
}

/* Over a socket, where it may be left behind. */
static void pass(struct worker *w, struct file *f)
{
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .h = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	char byte = 0;
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	int fd = f->fd;

	log_input("pass %s", node_names[f->kind]);
	memcpy(CMSG_DATA(&control.h), &fd, sizeof(fd));
	sendmsg(w->pair[0], &m, MSG_DONTWAIT);
	if (one_in(&w->rng, 3))
		return;
	m.msg_controllen = sizeof(control);
	if (recvmsg(w->pair[1], &m, MSG_DONTWAIT) != 1 || !CMSG_FIRSTHDR(&m))
		return;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	/* Perhaps one that was left behind before. */
	if (fcntl(fd, F_GETFL) < 0)
		finding("passed file", "a descriptor that came over a socket is bad");
	close(fd);
}

static void about(struct worker *w, struct file *f)
{
	char path[64], text[2048];
	struct statfs fs;
	struct stat st;
	int fd;

	log_input("about %s", node_names[f->kind]);
	fstat(f->fd, &st);
	fstatfs(f->fd, &fs);
	snprintf(path, sizeof(path), "/proc/self/%s/%d", one_in(&w->rng, 3) ? "fd" : "fdinfo",
		 f->fd);
	fd = open(path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return;
	if (strstr(path, "fdinfo") && read(fd, text, sizeof(text)) < 0 && !w->p->racy)
		finding("fdinfo", "cannot be read: %s", strerror(errno));
	close(fd);
}

void op_other(struct worker *w, struct file *f)
{
	struct rng *r = &w->rng;
	long ret;

	switch (below(r, 14)) {
	case 0:
	case 1:
	case 2:
		log_input("fsync %s", node_names[f->kind]);
		ret = SYS(one_in(r, 2) ? fsync(f->fd) : fdatasync(f->fd));
		check(w, f, FSYNC, "fsync", ret, 0);
		break;
	case 3:
	case 4:
		log_input("lseek %s", node_names[f->kind]);
		ret = SYS(lseek(f->fd, some_offset(r, 0), below(r, 6)));
		check(w, f, SEEK, "lseek", ret, 1u << f->kind & MEMORY ? ~0ul >> 1 : 0);
		break;
	case 5:
		log_input("range calls %s", node_names[f->kind]);
		ret = ftruncate(f->fd, below(r, 1 << 21));
		ret = fallocate(f->fd, below(r, 8), 0, 4096);
		ret = posix_fadvise(f->fd, 0, 4096, below(r, 6));
		ret = sync_file_range(f->fd, 0, 4096, below(r, 8));
		ret = readahead(f->fd, 0, 4096);
		break;
	case 6:
		log_input("copy_file_range %s", node_names[f->kind]);
		ret = copy_file_range(f->fd, NULL, w->file, NULL, 4096, 0);
		ret = copy_file_range(w->file, NULL, f->fd, NULL, 4096, 0);
		break;
	case 7:
		log_input("flock %s", node_names[f->kind]);
		flock(f->fd, (1u << below(r, 4)) | LOCK_NB);
		break;
	case 8:
	case 9:
		duplicate(w, f);
		break;
	case 10:
		pass(w, f);
		break;
	default:
		about(w, f);
	}
}
