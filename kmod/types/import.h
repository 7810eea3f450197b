/* SPDX-License-Identifier: GPL-2.0 */
/* Memory channels, the connecting side: read and write of a region of the peer. */
#ifndef RCHAR_IMPORT_H
#define RCHAR_IMPORT_H

#include "link/onesided.h"

struct mm_struct;
struct rchar_type;

/**
 * struct rchar_import - what a memory session of ours knows: the private data of the type
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

extern const struct rchar_type rchar_import_type;

#endif /* RCHAR_IMPORT_H */
