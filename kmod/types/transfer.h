/* SPDX-License-Identifier: GPL-2.0 */
/* Transfers: data moved between local memory and the peer's region for one program request. */
#ifndef RCHAR_TRANSFER_H
#define RCHAR_TRANSFER_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/workqueue.h>
#include "link/onesided.h"

struct iov_iter;
struct kiocb;
struct mm_struct;
struct rchar_session;

/* Most pages of one transfer: 1 MiB at any alignment. */
#define RCHAR_TRANSFER_PAGES 257

struct rchar_transfer;

/* Moves the bytes of a transfer; @iter is its memory. Returns bytes or a negative errno. */
typedef ssize_t rchar_transfer_move(struct rchar_transfer *t, struct iov_iter *iter);

/**
 * struct rchar_transfer - one transfer
 * @io: the one-sided operation, executed by onesided.c
 * @ref: one reference for the creator, one for the submitted @io
 * @session: the session; the transfer holds a reference
 * @iocb: request to complete, or NULL when a thread waits for @done
 * @done: completed at the end of the transfer; @io.error is the result
 * @work: finishes the transfer when a soft interrupt must not, or executes it
 * @move: moves the bytes, when @work executes the transfer
 * @mm: the address space whose limit @pages count against, or NULL for bounce pages
 * @mm_held: the transfer holds a reference to @mm
 * @counted: count the transfer in the channel's statistics when the transfer succeeds
 * @nr_pages: length of @pages
 * @nr_vecs: length of @vecs
 * @max_pages: capacity of @pages and @vecs
 * @pages: pinned pages of a program, or bounce pages of the kernel
 * @vecs: the memory of @pages, with adjacent pages merged
 */
struct rchar_transfer {
	struct rchar_io io;
	struct kref ref;
	struct rchar_session *session;
	struct kiocb *iocb;
	struct completion done;
	struct work_struct work;
	rchar_transfer_move *move;
	struct mm_struct *mm;
	bool mm_held;
	bool counted;
	unsigned int nr_pages;
	unsigned int nr_vecs;
	unsigned int max_pages;
	struct page **pages;
	struct bio_vec vecs[];
};

struct rchar_transfer *rchar_transfer_create(struct rchar_session *session, struct rchar_keys *keys,
					     u64 offset, bool write, unsigned int pages, gfp_t gfp);
void rchar_transfer_put(struct rchar_transfer *t);
struct rchar_transfer *rchar_transfer_pin(struct rchar_session *session, struct rchar_keys *keys,
					  u64 offset, bool write, struct iov_iter *iter, size_t len,
					  const struct mm_struct *kept, gfp_t gfp);
int rchar_transfer_bounce(struct rchar_transfer *t, size_t len);
size_t rchar_transfer_copy(struct rchar_transfer *t, struct iov_iter *iter);
void rchar_transfer_start(struct rchar_transfer *t, struct kiocb *iocb);
int rchar_transfer_wait(struct rchar_transfer *t);
bool rchar_transfer_run(struct rchar_transfer *t, struct kiocb *iocb, rchar_transfer_move *move);

int rchar_transfer_init(void);
void rchar_transfer_exit(void);

#endif /* RCHAR_TRANSFER_H */
