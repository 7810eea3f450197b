/* SPDX-License-Identifier: GPL-2.0 */
/* Connecting memory channels: programs read and write a region of the peer. */
#ifndef RCHAR_IMPORT_H
#define RCHAR_IMPORT_H

#include "calls.h"
#include "link/onesided.h"

struct mm_struct;
struct rchar_type;

/**
 * struct rchar_import - state of an importing session: the private data of the type
 * @keys: keys of the peer's region; flow->lock
 * @access: enum rchar_access of the region
 * @atomics: enum rchar_atomics of the region
 * @by_call: RCHAR_BY_CALL_*: what the exporter's kernel executes
 * @calls: calls that wait for RESULT
 * @running: asynchronous reads and writes that threads of the kernel execute by calls
 * @mm: address space of the program that called open(), or NULL. The session holds a reference
 *	to the structure, so transfers to this address space do not take another reference.
 */
struct rchar_import {
	struct rchar_keys keys;
	u32 access;
	u32 atomics;
	u8 by_call;
	struct rchar_calls calls;
	atomic_t running;
	struct mm_struct *mm;
};

extern const struct rchar_type rchar_import_type;

#endif /* RCHAR_IMPORT_H */
