/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rendezvous: the bytes of a large write() stay in the program's memory. The peer's kernel
 * fetches these bytes by RDMA READ. See "Rendezvous" in Documentation/protocol.rst.
 */
#ifndef RCHAR_RNDV_H
#define RCHAR_RNDV_H

#include <linux/jiffies.h>
#include <linux/list.h>
#include "proto/frame.h"

/*
 * To take back what is in a send queue waits for all that was posted before. A peer may accept that
 * bit by bit, just often enough to keep the lane alive. The lane fails after so many jiffies.
 */
#define RCHAR_RNDV_UNDO_MAX (4 * HZ)

struct iov_iter;
struct rchar_rndv_in;
struct rchar_rndv_out;
struct rchar_rxbuf;
struct rchar_session;

/**
 * struct rchar_rndv - rendezvous state of one session: the private data of streams
 * @out: the outgoing rendezvous that the peer may read now, or NULL
 * @id: id of the last outgoing rendezvous
 * @in: the incoming rendezvous that this host is reading from the peer, or NULL
 * @reader: a sleeping read() that can take the next incoming rendezvous, or NULL
 * @left: bytes of the peer's last RNDV that DATA frames with INSTEAD may still carry
 * @got: a READ fetched the bytes of the peer's last RNDV: frames with the same bytes are dropped
 * @copy_until: jiffies until which writes are copied: a rendezvous spends its time waiting for the
 *		path. 0: they are not. Protected by the write mutex.
 *
 * The session's lock protects all other fields.
 */
struct rchar_rndv {
	struct rchar_rndv_out *out;
	u32 id;
	struct rchar_rndv_in *in;
	struct rchar_rndv_reader *reader;
	u32 left;
	bool got;
	unsigned long copy_until;
};

/* ---- the writing side: rndv_out.c ---- */
ssize_t rchar_rndv_write(struct rchar_session *session, struct iov_iter *from, u32 room);
enum rchar_frame_error rchar_rndv_done(struct rchar_session *session, struct rchar_rxbuf *rxb);

/**
 * struct rchar_rndv_reader - a sleeping read() that can take an incoming rendezvous
 * @room: free bytes in the buffer of the read()
 * @in: the rendezvous assigned to this reader, or NULL; written with the session's lock held
 */
struct rchar_rndv_reader {
	size_t room;
	struct rchar_rndv_in *in;
};

/* ---- the reading side: rndv_in.c ---- */
bool rchar_rndv_expect(struct rchar_session *session, struct rchar_rndv_reader *reader,
		       const struct iov_iter *to);
ssize_t rchar_rndv_place(struct rchar_session *session, struct rchar_rndv_reader *reader,
			 struct iov_iter *to);
enum rchar_frame_error rchar_rndv_receive(struct rchar_session *session, struct rchar_rxbuf *rxb,
					  int *ret);
bool rchar_rndv_open(const struct rchar_session *session);
void rchar_rndv_in_over(struct rchar_session *session);
void rchar_rndv_in_stop(struct rchar_session *session);

int rchar_rndv_init(void);
void rchar_rndv_exit(void);

#endif /* RCHAR_RNDV_H */
