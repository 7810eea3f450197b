/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pace of attempts to connect. A host with many links to a peer has as many to connect at once
 * after an outage, and the peer refuses those that it cannot handle at once (RCHAR_REASON_BUSY). So
 * the links to a peer take turns: RCHAR_PACE_ATTEMPTS attempts are under way, and the others wait
 * in the order in which they came. Those whose last attempt failed come after the others.
 */
#ifndef RCHAR_PACE_H
#define RCHAR_PACE_H

#include <linux/list.h>
#include <linux/types.h>
#include "base/account.h"

struct delayed_work;
struct workqueue_struct;

/*
 * Attempts to connect to one peer at once: as many as it handles at once for this host. A link of
 * several lanes connects the others when the first one is up.
 */
#define RCHAR_PACE_ATTEMPTS RCHAR_HALF_OPEN_PER_PEER

/**
 * struct rchar_pace - the turn of one link
 * @account: account of the peer, which the link holds
 * @wq: for @work
 * @work: makes the next attempt; the link cancels it last
 * @has_turn: an attempt may be under way
 * @entry: entry of rchar_account.waiting_attempts
 *
 * The lock of pace.c protects @has_turn and @entry.
 */
struct rchar_pace {
	struct rchar_account *account;
	struct workqueue_struct *wq;
	struct delayed_work *work;
	bool has_turn;
	struct list_head entry;
};

void rchar_pace_init(struct rchar_pace *pace, struct rchar_account *account,
		     struct workqueue_struct *wq, struct delayed_work *work);
bool rchar_pace_begin(struct rchar_pace *pace, bool again);
void rchar_pace_end(struct rchar_pace *pace);

#endif /* RCHAR_PACE_H */
