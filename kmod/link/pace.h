/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pace of attempts to connect. A host with many links to a peer has as many to connect at once
 * after an outage, and the peer refuses those that it cannot handle at once (RCHAR_REASON_BUSY). So
 * the links to a peer take turns: RCHAR_PACE_ATTEMPTS attempts are under way, and the others wait
 * in the order in which they came.
 */
#ifndef RCHAR_PACE_H
#define RCHAR_PACE_H

#include <linux/list.h>
#include <linux/types.h>
#include "base/account.h"

struct rchar_link;

/*
 * Attempts to connect to one peer at once: as many as it handles at once for this host. A link of
 * several lanes connects the others when the first one is up.
 */
#define RCHAR_PACE_ATTEMPTS RCHAR_HALF_OPEN_PER_PEER

/**
 * struct rchar_pace - the turn of one link
 * @has_turn: an attempt may be under way
 * @entry: entry of rchar_account.waiting_attempts
 *
 * The lock of pace.c protects both.
 */
struct rchar_pace {
	bool has_turn;
	struct list_head entry;
};

void rchar_pace_init(struct rchar_link *link);
bool rchar_pace_begin(struct rchar_link *link);
void rchar_pace_end(struct rchar_link *link);

#endif /* RCHAR_PACE_H */
