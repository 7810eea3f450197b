/* SPDX-License-Identifier: GPL-2.0 */
/* Requests to the netlink family put together by hand, good ones and bad ones. */
#ifndef GENL_H
#define GENL_H

#include <stdint.h>

/* The words of the last refusal; empty when there were none. */
extern char genl_words[256];

/* A new socket, in place of the last; returns the family's id, or -1. */
int genl_open(void);

/* One request is under construction at a time. */
void genl_begin(int type, int cmd, int flags);
void genl_put(int type, const void *data, int len);
void genl_put_str(int type, const char *s);
void genl_put_u32(int type, uint32_t v);
void genl_put_addr(int type, const char *ip);

/* CHANNEL_NEW for 10.0.0.1; without a name when that is NULL. */
void genl_new_channel(int family, const char *name, uint32_t type, uint32_t role);

/* Sends it and waits for the answer's end; returns 0 or an errno. */
int genl_transact(void);

/* An attribute of the last message of that answer, or NULL. */
const void *genl_answer(int type);

#endif /* GENL_H */
