/* SPDX-License-Identifier: GPL-2.0 */
/* Memory channels, the connecting side: read and write of a region of the peer. */
#ifndef RCHAR_MEMORY_H
#define RCHAR_MEMORY_H

#include "frame.h"
#include "rdma.h"

struct file_operations;
struct mm_struct;
struct rchar_rxbuf;
struct rchar_session;

/**
 * struct rchar_import - what a memory session of ours knows
 * @keys: of the region; flow->lock
 * @access: enum rchar_access
 * @atomics: enum rchar_atomics
 * @calls: waiting for RESULT; session->lock, like below
 * @next_call: id of the next one
 * @mm: of the program that opened, or NULL; holds a reference to the structure, so that
 *	transfers of its memory need none
 */
struct rchar_import {
	struct rchar_keys keys;
	u32 access;
	u32 atomics;
	struct list_head calls;
	u32 next_call;
	struct mm_struct *mm;
};

struct rchar_import *rchar_import_create(void);
void rchar_import_free(struct rchar_import *import, struct rchar_account *account);
void rchar_import_dead(struct rchar_session *session);
void rchar_import_bury(struct rchar_session *session);
void rchar_import_closed(struct rchar_session *session);
void rchar_import_cancel(struct rchar_session *session);
enum rchar_frame_error rchar_import_opened(struct rchar_session *session,
					   const struct rchar_wire_region *region);
int rchar_import_map(struct rchar_session *session, const struct rchar_hdr *hdr,
		     struct rchar_rxbuf *rxb, enum rchar_frame_error *err);
enum rchar_frame_error rchar_import_result(struct rchar_session *session,
					   struct rchar_rxbuf *rxb);

/* Of a memory channel that connects. */
extern const struct file_operations rchar_memory_fops;

#endif /* RCHAR_MEMORY_H */
