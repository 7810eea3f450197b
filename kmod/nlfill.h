/* SPDX-License-Identifier: GPL-2.0 */
/* What netlink messages say of each object. */
#ifndef RCHAR_NLFILL_H
#define RCHAR_NLFILL_H

#include <linux/types.h>

struct rchar_channel;
struct rchar_link;
struct rchar_session;
struct sk_buff;

u32 rchar_nlfill_generation(void);
void rchar_nlfill_changed(void);
int rchar_nlfill_channel(struct sk_buff *skb, struct rchar_channel *channel);
int rchar_nlfill_link(struct sk_buff *skb, struct rchar_link *link, bool admin);
int rchar_nlfill_session(struct sk_buff *skb, struct rchar_session *session);
int rchar_nlfill_session_locked(struct sk_buff *skb, struct rchar_session *session);
int rchar_nlfill_info(struct sk_buff *skb);

#endif /* RCHAR_NLFILL_H */
