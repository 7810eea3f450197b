/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rendezvous: the bytes of a large write() stay in the program's memory until the peer's
 * kernel has read them from there by RDMA READ. See "Rendezvous" in Documentation/protocol.rst.
 */
#ifndef RCHAR_RNDV_H
#define RCHAR_RNDV_H

#include <linux/list.h>
#include "proto/frame.h"

struct iov_iter;
struct rchar_rndv_in;
struct rchar_rndv_out;
struct rchar_rxbuf;
struct rchar_session;

/**
 * struct rchar_rndv - rendezvous of one session: the private data of streams; session lock
 * @out: what the peer may read at this moment, or NULL
 * @id: of the last one
 * @in: what is being read from the peer, or NULL
 * @reader: a read() that sleeps and wants to place the next one itself, or NULL
 * @left: bytes of the peer's last RNDV that frames may still bring
 * @got: they are there, by READ: frames that bring them are dropped
 */
struct rchar_rndv {
	struct rchar_rndv_out *out;
	u32 id;
	struct rchar_rndv_in *in;
	struct rchar_rndv_reader *reader;
	u32 left;
	bool got;
};

/* ---- who writes: rndv_out.c ---- */
ssize_t rchar_rndv_write(struct rchar_session *session, struct iov_iter *from, u32 room);
enum rchar_frame_error rchar_rndv_done(struct rchar_session *session,
					struct rchar_rxbuf *rxb);

/**
 * struct rchar_rndv_reader - a read() that sleeps
 * @room: bytes of its buffer
 * @in: that it is to take, or NULL; written with the session's lock
 */
struct rchar_rndv_reader {
	size_t room;
	struct rchar_rndv_in *in;
};

/* ---- who reads: rndv_in.c ---- */
bool rchar_rndv_expect(struct rchar_session *session, struct rchar_rndv_reader *reader,
		       const struct iov_iter *to);
ssize_t rchar_rndv_place(struct rchar_session *session, struct rchar_rndv_reader *reader,
			 struct iov_iter *to);
enum rchar_frame_error rchar_rndv_receive(struct rchar_session *session,
					  struct rchar_rxbuf *rxb, int *ret);
bool rchar_rndv_open(const struct rchar_session *session);
void rchar_rndv_in_over(struct rchar_session *session);
void rchar_rndv_in_stop(struct rchar_session *session);

int rchar_rndv_init(void);
void rchar_rndv_exit(void);

#endif /* RCHAR_RNDV_H */
