/* SPDX-License-Identifier: GPL-2.0 */
/* A read or write of a program, between its memory and that of the peer. */
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

/* Pages of one transfer at most: 1 MiB at any alignment. */
#define RCHAR_TRANSFER_PAGES	257

/**
 * struct rchar_transfer - one of them
 * @io: the part that rdma.c knows
 * @ref: one for who waits, one for @io
 * @session: holds a reference
 * @iocb: to complete, or NULL when somebody waits for @done
 * @done: it is over, @io.error says how
 * @work: for what is not for soft interrupts
 * @mm: whose limit @pages count against, or NULL: they are copies of our own
 * @mm_held: holds a reference to @mm
 * @counted: in the statistics of the channel, when it succeeds
 * @nr_pages: length of @pages
 * @max_pages: room in @pages and @vecs
 * @pages: pinned, or our own
 * @vecs: the same memory, contiguous pages joined
 */
struct rchar_transfer {
	struct rchar_io io;
	struct kref ref;
	struct rchar_session *session;
	struct kiocb *iocb;
	struct completion done;
	struct work_struct work;
	struct mm_struct *mm;
	bool mm_held;
	bool counted;
	unsigned int nr_pages;
	unsigned int max_pages;
	struct page **pages;
	struct bio_vec vecs[];
};

struct rchar_transfer *rchar_transfer_create(struct rchar_session *session,
					     struct rchar_keys *keys, u64 offset,
					     bool write, unsigned int pages, gfp_t gfp);
void rchar_transfer_put(struct rchar_transfer *t);
struct rchar_transfer *rchar_transfer_pin(struct rchar_session *session,
					  struct rchar_keys *keys, u64 offset, bool write,
					  struct iov_iter *iter, size_t len,
					  const struct mm_struct *kept, gfp_t gfp);
int rchar_transfer_bounce(struct rchar_transfer *t, size_t len);
size_t rchar_transfer_copy(struct rchar_transfer *t, struct iov_iter *iter);
void rchar_transfer_start(struct rchar_transfer *t, struct kiocb *iocb);
int rchar_transfer_wait(struct rchar_transfer *t);

int rchar_transfer_init(void);
void rchar_transfer_exit(void);

#endif /* RCHAR_TRANSFER_H */
