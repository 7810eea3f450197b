/* SPDX-License-Identifier: GPL-2.0 */
/* The generic netlink family "rchar": configuration in, state and events out. */
#ifndef RCHAR_NETLINK_H
#define RCHAR_NETLINK_H

#include "uapi/linux/rdma_char.h"

struct rchar_channel;
struct rchar_link;
struct rchar_session;

/* Events. Any context but hard interrupt; lost when memory is short, as netlink is. */
void rchar_netlink_channel_event(struct rchar_channel *channel, enum rchar_cmd cmd);
void rchar_netlink_link_event(struct rchar_link *link);
void rchar_netlink_session_event(struct rchar_session *session);

int rchar_netlink_init(void);
void rchar_netlink_exit(void);

#endif /* RCHAR_NETLINK_H */
