// SPDX-License-Identifier: GPL-2.0
#include "listener.h"
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/rdma_cm.h>
#include "base/addr.h"
#include "base/inject.h"
#include "base/ledger.h"
#include "cm.h"

/* Maximum number of connection requests that wait for the CM event handler. */
#define BACKLOG	 128
/* Retry interval while the address or its device is missing. When a device or an address is added,
 * all listeners retry at once.
 */
#define RETRY_MS 1000

static DEFINE_MUTEX(listeners_lock);
static LIST_HEAD(listeners);
static struct workqueue_struct *listener_wq;
static void (*tell_changed)(struct rchar_listener *listener);

static int listener_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct rchar_listener *listener = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return rchar_cm_accept(listener->net, id, event);
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
	case RDMA_CM_EVENT_ADDR_CHANGE:
		/* Removal of the device waits until the work has destroyed the id. */
		WRITE_ONCE(listener->stale, true);
		mod_delayed_work(listener_wq, &listener->work, 0);
		return 0;
	default:
		return 0;
	}
}

static enum rchar_reason listen_reason(int error)
{
	switch (error) {
	case -EADDRINUSE:
		return RCHAR_REASON_ADDRESS_IN_USE;
	case -ENOMEM:
		return RCHAR_REASON_NO_MEMORY;
	default:
		return RCHAR_REASON_NO_DEVICE;
	}
}

static int try_listen(struct rchar_listener *listener)
{
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(listener->net, listener_handler, listener, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = rchar_inject_verbs() ?: rdma_set_reuseaddr(id, 1);
	if (!ret && listener->addr.ss_family == AF_INET6)
		ret = rdma_set_afonly(id, 1);
	if (!ret)
		ret = rdma_bind_addr(id, (struct sockaddr *)&listener->addr);
	if (!ret)
		ret = rdma_listen(id, BACKLOG);
	if (ret) {
		rdma_destroy_id(id);
		return ret;
	}
	WRITE_ONCE(listener->cm_id, id);
	return 0;
}

static int probe_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return 0;
}

/* Does the CM bind the address to another device or interface now than when the listener began? */
static bool address_moved(const struct rchar_listener *listener)
{
	const struct rdma_cm_id *id = listener->cm_id;
	struct sockaddr_storage addr = listener->addr;
	struct rdma_cm_id *probe;
	bool moved;

	/* At the wildcard a listener listens on all devices, also on those that come later. */
	if (!id->device)
		return false;
	probe = rdma_create_id(listener->net, probe_handler, NULL, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(probe))
		return false;
	rchar_addr_set_port(&addr, 0);
	moved = !rdma_bind_addr(probe, (struct sockaddr *)&addr) && probe->device &&
		(probe->device != id->device ||
		 probe->route.addr.dev_addr.bound_dev_if != id->route.addr.dev_addr.bound_dev_if);
	rdma_destroy_id(probe);
	return moved;
}

static void listen_work(struct work_struct *work)
{
	struct rchar_listener *listener = container_of(to_delayed_work(work), struct rchar_listener,
						       work);
	bool was, is;
	int ret;

	mutex_lock(&listener->lock);
	was = listener->cm_id;
	if (listener->cm_id && (READ_ONCE(listener->stale) || address_moved(listener))) {
		rdma_destroy_id(listener->cm_id);
		WRITE_ONCE(listener->cm_id, NULL);
		WRITE_ONCE(listener->reason, RCHAR_REASON_DEVICE_REMOVED);
		WRITE_ONCE(listener->reason_at, jiffies);
		queue_delayed_work(listener_wq, &listener->work, 1);
	} else if (!listener->cm_id && !listener->dead) {
		WRITE_ONCE(listener->stale, false);
		ret = try_listen(listener);
		WRITE_ONCE(listener->reason, ret ? listen_reason(ret) : RCHAR_REASON_NONE);
		WRITE_ONCE(listener->reason_at, jiffies);
		if (ret)
			queue_delayed_work(listener_wq, &listener->work,
					   msecs_to_jiffies(RETRY_MS));
	}
	is = listener->cm_id;
	mutex_unlock(&listener->lock);
	if (was != is)
		tell_changed(listener);
}

/**
 * rchar_listener_get() - listen at an address, or share an existing listener
 * @net: network namespace
 * @addr: address and port
 *
 * If the address or its device does not exist yet, the listener keeps retrying.
 *
 * Context: process.
 * Return: the listener, with one more user, or NULL without memory.
 */
struct rchar_listener *rchar_listener_get(struct net *net, const struct sockaddr_storage *addr)
{
	struct rchar_listener *listener;

	mutex_lock(&listeners_lock);
	list_for_each_entry(listener, &listeners, entry) {
		if (listener->net == net && rchar_addr_equal(&listener->addr, addr)) {
			listener->users++;
			goto out;
		}
	}
	listener = kzalloc(sizeof(*listener), GFP_KERNEL);
	if (!listener)
		goto out;
	rchar_ledger_add(RCHAR_OBJ_LISTENER);
	listener->users = 1;
	listener->net = get_net(net);
	listener->addr = *addr;
	listener->reason = RCHAR_REASON_NO_DEVICE;
	listener->reason_at = jiffies;
	mutex_init(&listener->lock);
	INIT_DELAYED_WORK(&listener->work, listen_work);
	list_add_tail(&listener->entry, &listeners);
	queue_delayed_work(listener_wq, &listener->work, 0);
out:
	mutex_unlock(&listeners_lock);
	/* The program that adds a channel then sees at once whether the channel listens. */
	if (listener)
		flush_delayed_work(&listener->work);
	return listener;
}

/**
 * rchar_listener_put() - drop a user; dropping the last user frees the listener
 * @listener: from rchar_listener_get()
 *
 * Context: process; waits for a running handler.
 */
void rchar_listener_put(struct rchar_listener *listener)
{
	struct rdma_cm_id *id;

	mutex_lock(&listeners_lock);
	if (--listener->users) {
		mutex_unlock(&listeners_lock);
		return;
	}
	list_del(&listener->entry);
	mutex_unlock(&listeners_lock);
	mutex_lock(&listener->lock);
	listener->dead = true;
	id = listener->cm_id;
	WRITE_ONCE(listener->cm_id, NULL);
	mutex_unlock(&listener->lock);
	if (id)
		rdma_destroy_id(id);
	/* The last handler may have queued the work. */
	cancel_delayed_work_sync(&listener->work);
	put_net(listener->net);
	rchar_ledger_del(RCHAR_OBJ_LISTENER);
	kfree(listener);
}

/**
 * rchar_listener_retry_all() - look for the addresses of all listeners, after a device was added or
 *				an address was
 *
 * Listeners without a cm_id try again. The others listen anew if their address has moved.
 */
void rchar_listener_retry_all(void)
{
	struct rchar_listener *listener;

	mutex_lock(&listeners_lock);
	list_for_each_entry(listener, &listeners, entry)
		mod_delayed_work(listener_wq, &listener->work, 1);
	mutex_unlock(&listeners_lock);
}

/**
 * rchar_listener_init() - initialize at module load
 * @changed: called in process context when a listener starts or stops to listen
 *
 * Return: 0 or -ENOMEM.
 */
int rchar_listener_init(void (*changed)(struct rchar_listener *listener))
{
	tell_changed = changed;
	listener_wq = alloc_workqueue("rchar_listen", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return listener_wq ? 0 : -ENOMEM;
}

/**
 * rchar_listener_exit() - clean up at module unload, when no listener is left
 */
void rchar_listener_exit(void)
{
	destroy_workqueue(listener_wq);
}
