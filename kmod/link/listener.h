/* SPDX-License-Identifier: GPL-2.0 */
/* A local address and port on which peers can connect, shared by channels. */
#ifndef RCHAR_LISTENER_H
#define RCHAR_LISTENER_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/socket.h>
#include <linux/workqueue.h>
#include "uapi/linux/rdma_char.h"

struct net;
struct rdma_cm_id;

/**
 * struct rchar_listener - one cm_id that listens, or will listen as soon as possible
 * @entry: entry of the table; listeners_lock
 * @users: number of channels that listen here; listeners_lock
 * @net: network namespace; holds a reference
 * @addr: address and port
 * @lock: protects @cm_id and @dead; the CM event handler does not take this lock
 * @cm_id: NULL while the listener does not listen
 * @stale: the CM requires @cm_id to be destroyed
 * @dead: the last channel has released the listener: create no new @cm_id
 * @reason: why @cm_id is NULL
 * @reason_at: jiffies when @reason was set
 * @work: creates @cm_id, or destroys one that is stale or whose address has moved
 */
struct rchar_listener {
	struct list_head entry;
	unsigned int users;
	struct net *net;
	struct sockaddr_storage addr;
	struct mutex lock;
	struct rdma_cm_id *cm_id;
	bool stale;
	bool dead;
	enum rchar_reason reason;
	unsigned long reason_at;
	struct delayed_work work;
};

struct rchar_listener *rchar_listener_get(struct net *net, const struct sockaddr_storage *addr);
void rchar_listener_put(struct rchar_listener *listener);
void rchar_listener_retry_all(void);
int rchar_listener_init(void (*changed)(struct rchar_listener *listener));
void rchar_listener_exit(void);

#endif /* RCHAR_LISTENER_H */
