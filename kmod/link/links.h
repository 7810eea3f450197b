/* SPDX-License-Identifier: GPL-2.0 */
/* The table of links. */
#ifndef RCHAR_LINKS_H
#define RCHAR_LINKS_H

#include <linux/types.h>
#include <linux/xarray.h>

struct net;
struct rchar_endpoint;
struct rchar_link;

/* The links by serial; rchar_links_lock. */
extern struct xarray rchar_links;

struct rchar_link *rchar_links_create(const struct rchar_endpoint *ends, bool initiator, u64 id);
void rchar_links_del(struct rchar_link *link);
struct rchar_link *rchar_links_find_initiated(const struct rchar_endpoint *ends);
struct rchar_link *rchar_links_find_accepted(const struct rchar_endpoint *ends, u64 id);

/* Call @body for each link, in the order of serials, with rchar_links_lock held. */
#define rchar_links_for_each(link, serial) xa_for_each(&rchar_links, serial, link)

#endif /* RCHAR_LINKS_H */
