/* SPDX-License-Identifier: GPL-2.0 */
/* A local address and port where peers may call, shared by the channels there. */
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
 * struct rchar_listener - one cm_id that listens, or will when it can
 * @entry: of the table; listeners_lock
 * @users: channels; listeners_lock
 * @net: network namespace; holds a reference
 * @addr: address and port
 * @lock: protects @cm_id; not taken by the CM handler
 * @cm_id: NULL while there is no device with that address
 * @stale: the CM wants @cm_id destroyed
 * @dead: no new @cm_id is made
 * @reason: why there is none
 * @reason_at: jiffies of that
 * @work: (re)creates @cm_id
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

struct rchar_listener *rchar_listener_get(struct net *net,
					  const struct sockaddr_storage *addr);
void rchar_listener_put(struct rchar_listener *listener);
void rchar_listener_retry_all(void);
int rchar_listener_init(void (*changed)(struct rchar_listener *listener));
void rchar_listener_exit(void);

#endif /* RCHAR_LISTENER_H */
