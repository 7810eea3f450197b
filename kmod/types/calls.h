/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls of an importer: requests that the exporter's kernel executes, each once and in order,
 * however often the link breaks. On an encrypted link, reads and writes are calls, too.
 */
#ifndef RCHAR_CALLS_H
#define RCHAR_CALLS_H

#include <linux/list.h>
#include <linux/types.h>
#include "proto/frame.h"

struct iov_iter;
struct rchar_rxbuf;
struct rchar_session;

/**
 * struct rchar_calls - calls of one session that wait for their RESULT
 * @waiting: list of &struct call, oldest first; session lock
 * @last: id of the last call; session lock
 * @slots: so many more pieces of reads and writes may be under way; session lock
 * @line: requests that wait for a slot, in their order; session lock
 */
struct rchar_calls {
	struct list_head waiting;
	u32 last;
	unsigned int slots;
	struct list_head line;
};

void rchar_calls_init(struct rchar_calls *calls);
int rchar_calls_execute(struct rchar_session *s, struct rchar_calls *calls,
			struct rchar_wire_call *wire, u64 *old);
ssize_t rchar_calls_transfer(struct rchar_session *s, struct rchar_calls *calls, u64 offset,
			     struct iov_iter *iter, size_t len, bool write);
enum rchar_frame_error rchar_calls_result(struct rchar_calls *calls, const struct rchar_hdr *hdr,
					  struct rchar_rxbuf *rxb);
void rchar_calls_fail(struct rchar_session *s, struct rchar_calls *calls, int error);

#endif /* RCHAR_CALLS_H */
