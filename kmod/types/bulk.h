/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rendezvous: the bytes of a large write() stay in the program's memory until the peer's
 * kernel has read them from there by RDMA READ. See "Bulk" in Documentation/protocol.rst.
 */
#ifndef RCHAR_BULK_H
#define RCHAR_BULK_H

#include <linux/list.h>
#include "proto/frame.h"

struct iov_iter;
struct rchar_bulk_in;
struct rchar_bulk_out;
struct rchar_rxbuf;
struct rchar_session;

/**
 * struct rchar_bulk - rendezvous of one session: the private data of streams; session lock
 * @out: what the peer may read at this moment, or NULL
 * @id: of the last one
 * @in: what is being read from the peer, or NULL
 * @reader: a read() that sleeps and wants to place the next one itself, or NULL
 * @left: bytes of the peer's last BULK that frames may still bring
 * @got: they are there, by READ: frames that bring them are dropped
 */
struct rchar_bulk {
	struct rchar_bulk_out *out;
	u32 id;
	struct rchar_bulk_in *in;
	struct rchar_bulk_reader *reader;
	u32 left;
	bool got;
};

/* ---- who writes: bulkout.c ---- */
ssize_t rchar_bulk_write(struct rchar_session *session, struct iov_iter *from, u32 room);
enum rchar_frame_error rchar_bulk_taken(struct rchar_session *session,
					struct rchar_rxbuf *rxb);

/**
 * struct rchar_bulk_reader - a read() that sleeps
 * @room: bytes of its buffer
 * @bulk: that it is to take, or NULL; written with the session's lock
 */
struct rchar_bulk_reader {
	size_t room;
	struct rchar_bulk_in *bulk;
};

/* ---- who reads: bulkin.c ---- */
bool rchar_bulk_expect(struct rchar_session *session, struct rchar_bulk_reader *reader,
		       const struct iov_iter *to);
ssize_t rchar_bulk_place(struct rchar_session *session, struct rchar_bulk_reader *reader,
			 struct iov_iter *to);
enum rchar_frame_error rchar_bulk_receive(struct rchar_session *session,
					  struct rchar_rxbuf *rxb, int *ret);
bool rchar_bulk_open(const struct rchar_session *session);
void rchar_bulk_in_over(struct rchar_session *session);
void rchar_bulk_in_stop(struct rchar_session *session);

int rchar_bulk_init(void);
void rchar_bulk_exit(void);

#endif /* RCHAR_BULK_H */
