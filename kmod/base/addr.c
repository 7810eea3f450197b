// SPDX-License-Identifier: GPL-2.0
#include "addr.h"
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/inetdevice.h>
#include <linux/jhash.h>
#include <linux/netdevice.h>
#include <net/addrconf.h>
#include <net/ipv6.h>

static const struct sockaddr_in *in4(const struct sockaddr_storage *a)
{
	return (const struct sockaddr_in *)a;
}

static const struct sockaddr_in6 *in6(const struct sockaddr_storage *a)
{
	return (const struct sockaddr_in6 *)a;
}

/**
 * rchar_addr_same_host() - do two addresses agree in all but the port?
 * @a: one address
 * @b: the other address
 *
 * Two addresses of family AF_UNSPEC agree. IPv6 addresses must also have the same scope.
 */
bool rchar_addr_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return in4(a)->sin_addr.s_addr == in4(b)->sin_addr.s_addr;
	if (a->ss_family == AF_INET6)
		return ipv6_addr_equal(&in6(a)->sin6_addr, &in6(b)->sin6_addr) &&
		       in6(a)->sin6_scope_id == in6(b)->sin6_scope_id;
	return true;
}

/**
 * rchar_addr_hash_host() - return a hash that rchar_addr_same_host() addresses share
 * @addr: the address
 * @seed: secret random number, so that peers cannot choose addresses that collide
 */
u32 rchar_addr_hash_host(const struct sockaddr_storage *addr, u32 seed)
{
	if (addr->ss_family == AF_INET)
		return jhash_1word((__force u32)in4(addr)->sin_addr.s_addr, seed);
	if (addr->ss_family == AF_INET6)
		return jhash2((__force const u32 *)in6(addr)->sin6_addr.s6_addr32, 4,
			      seed ^ in6(addr)->sin6_scope_id);
	return seed;
}

/**
 * rchar_addr_equal() - do two addresses agree, including the port?
 * @a: one address
 * @b: the other address
 */
bool rchar_addr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	return rchar_addr_same_host(a, b) && rchar_addr_port(a) == rchar_addr_port(b);
}

/**
 * rchar_addr_any() - is an address the wildcard address?
 * @a: the address
 */
bool rchar_addr_any(const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET)
		return in4(a)->sin_addr.s_addr == htonl(INADDR_ANY);
	return a->ss_family == AF_INET6 && ipv6_addr_any(&in6(a)->sin6_addr);
}

/**
 * rchar_addr_port() - return the port in host byte order; 0 for AF_UNSPEC
 * @a: the address
 */
u16 rchar_addr_port(const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET)
		return ntohs(in4(a)->sin_port);
	return a->ss_family == AF_INET6 ? ntohs(in6(a)->sin6_port) : 0;
}

/**
 * rchar_addr_set_port() - set the port of an IPv4 or IPv6 address
 * @a: the address
 * @port: the port in host byte order
 */
void rchar_addr_set_port(struct sockaddr_storage *a, u16 port)
{
	if (a->ss_family == AF_INET)
		((struct sockaddr_in *)a)->sin_port = htons(port);
	else if (a->ss_family == AF_INET6)
		((struct sockaddr_in6 *)a)->sin6_port = htons(port);
}

/**
 * rchar_addr_scope() - return the scope id of an IPv6 address; 0 for other families
 * @a: the address
 */
u32 rchar_addr_scope(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET6 ? in6(a)->sin6_scope_id : 0;
}

/**
 * rchar_addr_set_scope() - set the interface of a link-local address
 * @a: the address; unchanged unless link-local IPv6
 * @ifindex: index of the interface
 */
void rchar_addr_set_scope(struct sockaddr_storage *a, u32 ifindex)
{
	if (a->ss_family == AF_INET6 && ipv6_addr_type(&in6(a)->sin6_addr) & IPV6_ADDR_LINKLOCAL)
		((struct sockaddr_in6 *)a)->sin6_scope_id = ifindex;
}

/**
 * rchar_addr_is_of_device() - does an interface have an address?
 * @net: network namespace
 * @a: the address
 * @ifindex: index of the interface
 *
 * Context: process.
 */
bool rchar_addr_is_of_device(struct net *net, const struct sockaddr_storage *a, int ifindex)
{
	struct in_device *in_dev;
	struct net_device *dev;
	bool found = false;

	rcu_read_lock();
	dev = dev_get_by_index_rcu(net, ifindex);
	in_dev = dev ? __in_dev_get_rcu(dev) : NULL;
	if (dev && a->ss_family == AF_INET6)
		found = ipv6_chk_addr(net, &in6(a)->sin6_addr, dev, 1);
	else if (in_dev && a->ss_family == AF_INET)
		found = inet_confirm_addr(net, in_dev, 0, in4(a)->sin_addr.s_addr, RT_SCOPE_HOST);
	rcu_read_unlock();
	return found;
}

/**
 * rchar_addr_len() - return the size of the sockaddr in user space; 0 for AF_UNSPEC
 * @a: the address
 */
int rchar_addr_len(const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET)
		return sizeof(struct sockaddr_in);
	return a->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : 0;
}

/**
 * rchar_addr_to_bytes() - write an address as 16 bytes
 * @bytes: set to the IPv6 address, or the IPv4 address mapped (RFC 4291, 2.5.5.2), without port
 *	   and scope
 * @a: an address of family AF_INET or AF_INET6
 */
void rchar_addr_to_bytes(u8 *bytes, const struct sockaddr_storage *a)
{
	struct in6_addr addr;

	if (a->ss_family == AF_INET6)
		addr = in6(a)->sin6_addr;
	else
		ipv6_addr_set_v4mapped(in4(a)->sin_addr.s_addr, &addr);
	memcpy(bytes, &addr, sizeof(addr));
}
