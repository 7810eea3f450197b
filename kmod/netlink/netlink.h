/* SPDX-License-Identifier: GPL-2.0 */
/* The generic netlink family "rchar": takes configuration, reports state and events. */
#ifndef RCHAR_NETLINK_H
#define RCHAR_NETLINK_H

int rchar_netlink_init(void);
void rchar_netlink_exit(void);

#endif /* RCHAR_NETLINK_H */
