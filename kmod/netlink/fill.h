/* SPDX-License-Identifier: GPL-2.0 */
/* Fill netlink messages with the attributes of objects. */
#ifndef RCHAR_FILL_H
#define RCHAR_FILL_H

#include <linux/types.h>

struct rchar_channel;
struct rchar_link;
struct rchar_psk;
struct rchar_session;
struct sk_buff;

/*
 * Room of a message for one object: a channel with all keys and prefixes is larger than
 * GENLMSG_DEFAULT_SIZE.
 */
#define RCHAR_FILL_SIZE (SKB_WITH_OVERHEAD(8192UL) - NLMSG_HDRLEN - GENL_HDRLEN)

u32 rchar_fill_generation(void);
void rchar_fill_changed(void);
int rchar_fill_channel(struct sk_buff *skb, struct rchar_channel *channel);
int rchar_fill_link(struct sk_buff *skb, struct rchar_link *link, bool admin);
int rchar_fill_session(struct sk_buff *skb, struct rchar_session *session);
int rchar_fill_session_locked(struct sk_buff *skb, struct rchar_session *session);
int rchar_fill_key(struct sk_buff *skb, const struct rchar_psk *psk);
int rchar_fill_key_name(struct sk_buff *skb, const struct rchar_psk *psk);
int rchar_fill_info(struct sk_buff *skb);

#endif /* RCHAR_FILL_H */
