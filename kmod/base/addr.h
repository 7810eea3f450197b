/* SPDX-License-Identifier: GPL-2.0 */
/* Helpers for socket addresses. */
#ifndef RCHAR_ADDR_H
#define RCHAR_ADDR_H

#include <linux/socket.h>

struct net;
#include <linux/types.h>

u32 rchar_addr_hash_host(const struct sockaddr_storage *addr, u32 seed);
bool rchar_addr_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
bool rchar_addr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
bool rchar_addr_any(const struct sockaddr_storage *a);
u16 rchar_addr_port(const struct sockaddr_storage *a);
void rchar_addr_set_port(struct sockaddr_storage *a, u16 port);
u32 rchar_addr_scope(const struct sockaddr_storage *a);
void rchar_addr_set_scope(struct sockaddr_storage *a, u32 ifindex);
bool rchar_addr_is_of_device(struct net *net, const struct sockaddr_storage *a, int ifindex);
int rchar_addr_len(const struct sockaddr_storage *a);
void rchar_addr_to_bytes(u8 *bytes, const struct sockaddr_storage *a);

#endif /* RCHAR_ADDR_H */
