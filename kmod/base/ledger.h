/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The object ledger counts the live objects of each kind. Module exit waits until all are freed,
 * and warns about any that is left; the warning fails a test run.
 */
#ifndef RCHAR_LEDGER_H
#define RCHAR_LEDGER_H

#include <linux/types.h>

enum rchar_object {
	RCHAR_OBJ_CHANNEL,
	RCHAR_OBJ_LISTENER,
	RCHAR_OBJ_LINK,
	RCHAR_OBJ_LANE,
	RCHAR_OBJ_SESSION,
	RCHAR_OBJ_TXBUF,
	RCHAR_OBJ_SEALBUF,
	RCHAR_OBJ_SEG,
	RCHAR_OBJ_REGION,
	RCHAR_OBJ_EXPORT,
	RCHAR_OBJ_GRANT,
	RCHAR_OBJ_TRANSFER,
	RCHAR_OBJ_RNDV,
	RCHAR_OBJ_SINK,
	RCHAR_OBJ_PSK,
	RCHAR_OBJ_BOUNCE,
	__RCHAR_OBJ_MAX
};

void rchar_ledger_add(enum rchar_object kind);
void rchar_ledger_del(enum rchar_object kind);
const char *rchar_ledger_name(enum rchar_object kind);
unsigned int rchar_ledger_count(enum rchar_object kind);
void rchar_ledger_wait(enum rchar_object kind);
void rchar_ledger_check(void);

#endif /* RCHAR_LEDGER_H */
