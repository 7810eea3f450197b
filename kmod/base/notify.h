/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events of the netlink family. All layers call these functions, although netlink is a higher
 * layer. Context: any but hard interrupt. An event is lost when memory is short, as netlink allows.
 */
#ifndef RCHAR_NOTIFY_H
#define RCHAR_NOTIFY_H

#include "uapi/linux/rdma_char.h"

struct genl_family;
struct rchar_channel;
struct rchar_link;
struct rchar_psk;
struct rchar_session;

void rchar_notify_channel(struct rchar_channel *channel, enum rchar_cmd cmd);
void rchar_notify_link(struct rchar_link *link);
void rchar_notify_key(struct rchar_psk *psk, enum rchar_cmd cmd);
void rchar_notify_session(struct rchar_session *session);

void rchar_notify_init(const struct genl_family *family);

#endif /* RCHAR_NOTIFY_H */
