/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of fuzzcalls. */
#ifndef FUZZ_CALLS_H
#define FUZZ_CALLS_H

#include <libaio.h>
#include <liburing.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/uio.h>
#include "common.h"

/* The nodes; a set of them is a bit mask. */
enum kind { STREAM_L, STREAM_C, MESSAGE_L, MESSAGE_C, MEMORY_L, MEMORY_C, NR_KINDS };

#define STREAM	(1u << STREAM_L | 1u << STREAM_C)
#define MESSAGE (1u << MESSAGE_L | 1u << MESSAGE_C)
#define EXPORT	(1u << MEMORY_L)
#define IMPORT	(1u << MEMORY_C)
#define MEMORY	(EXPORT | IMPORT)
#define ANY	(STREAM | MESSAGE | MEMORY)

/* What the errno table tells apart. */
enum call {
	OPEN,
	READ,
	WRITE,
	POSITIONED,
	FSYNC,
	SEEK,
	SHUTDOWN,
	INFO,
	ATOMIC,
	NOTIFY,
	RINGS,
	COUNT,
	UNKNOWN,
	MMAP,
	SPLICE,
	NR_CALLS
};

/* An open file. Its number goes away only while nobody uses it, but in a racy process. */
struct file {
	atomic_int fd;
	atomic_int users; /* -1: being opened or closed */
	enum kind kind;
	int flags;
};

#define NR_FILES 10
#define NR_MAPS	 4

#define WINDOW (16ul << 20) /* so much of it at most */

struct map {
	uint8_t *window;  /* where it is put */
	void *_Atomic at; /* the same, when there was one */
	size_t len;
};

/* One process that makes calls, with its threads. */
struct process {
	struct file files[NR_FILES];
	struct map maps[NR_MAPS]; /* of the region */
	bool racy;		  /* files are closed under their users: errnos say nothing */
	bool poor;		  /* limits were lowered */
	bool nobody;
	atomic_int stop;
	uint8_t *big; /* BIG bytes, then a page that is not there */
};

#define ARENA	 (256u << 10)
#define BIG	 (8u << 20)
#define NR_SLOTS 16 /* requests of io_uring and libaio under way, of each */
#define SLOT	 (16u << 10)
#define PAGE	 4096u

/* A request that completes later. */
struct slot {
	bool used;
	struct file *file; /* in use, too */
	enum call call;
	size_t len;
	uint8_t *buf;
	struct iocb iocb;
	const char *what;
};

struct worker {
	struct rng rng;
	struct process *p;
	pthread_t thread;
	atomic_llong since; /* ms, when the call at hand began; 0: none */
	uint8_t *arena;	    /* ARENA bytes, a page that is not there, one to read only */
	struct iovec *iov;
	bool odd_vector; /* one of its parts is of any length */
	int pipe[2];
	int pair[2]; /* sockets, to pass files */
	int file;    /* of ordinary kind, in memory */
	bool has_ring;
	struct io_uring ring;
	struct slot ring_slots[NR_SLOTS];
	io_context_t aio;
	struct slot aio_slots[NR_SLOTS];
	sigjmp_buf fault;
	volatile sig_atomic_t may_fault;
};

extern const char *const node_names[NR_KINDS];
extern uint64_t region_size;
extern __thread struct worker *self;

/* callfile.c */
struct file *use_file(struct worker *w);
void put_file(struct file *f);
void close_some(struct worker *w);
void open_one(struct worker *w, struct file *f);
long check(struct worker *w, const struct file *f, enum call call, const char *what, long ret,
	   size_t max);
void open_nodes(struct worker *w, int n);

/* callbuf.c */
struct buffer {
	uint8_t *at;
	size_t len;
	bool guarded;
};
size_t some_length(struct rng *r);
int64_t some_offset(struct rng *r, size_t len);
struct buffer take_buffer(struct worker *w, size_t len);
void check_buffer(const struct buffer *b, const char *what);
size_t take_vector(struct worker *w, int *count);
void check_vector(struct worker *w, int count, const char *what);
void *bad_pointer(struct worker *w);

/* callio.c, callmisc.c, callring.c */
void op_io(struct worker *w, struct file *f);
void op_ioctl(struct worker *w, struct file *f);
void op_poll(struct worker *w, struct file *f);
void op_map(struct worker *w, struct file *f);
void op_splice(struct worker *w, struct file *f);
void op_fcntl(struct worker *w, struct file *f);
void op_other(struct worker *w, struct file *f);
void op_ring(struct worker *w, struct file *f);
void op_aio(struct worker *w, struct file *f);
void ring_exit(struct worker *w);

#endif /* FUZZ_CALLS_H */
