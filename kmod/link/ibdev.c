// SPDX-License-Identifier: GPL-2.0
/*
 * The ib_client of the module. The core removes clients in the reverse order of registration, so
 * this client is removed before the client of rdma_cm. The lanes on a device are therefore torn
 * down before rdma_cm would have to notify them. remove_device() does not return while a lane
 * uses the device.
 */
#include "ibdev.h"
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include "bounce.h"

/* The module keeps a separate list of devices: the core's client data may be stale for cm_ids
 * that outlive remove_device(). The lock also protects the lists of users.
 */
static DEFINE_SPINLOCK(devices_lock);
static LIST_HEAD(devices);
static void (*tell_usable)(void);

static void ibdev_release(struct kref *ref)
{
	struct rchar_ibdev *ibdev = container_of(ref, struct rchar_ibdev, ref);

	complete(&ibdev->gone);
}

/**
 * rchar_ibdev_attach() - register a user of a device; removal then waits for the user
 * @dev: the device; the caller holds a cm_id bound to the device
 * @user: notified when the device is removed
 *
 * Return: value to pass to rchar_ibdev_detach(), or NULL when the device is being removed.
 */
struct rchar_ibdev *rchar_ibdev_attach(struct ib_device *dev, struct rchar_ibdev_user *user)
{
	struct rchar_ibdev *ibdev, *found = NULL;

	spin_lock(&devices_lock);
	list_for_each_entry(ibdev, &devices, entry) {
		if (ibdev->dev != dev)
			continue;
		kref_get(&ibdev->ref);
		list_add_tail(&user->entry, &ibdev->users);
		found = ibdev;
		break;
	}
	spin_unlock(&devices_lock);
	return found;
}

/**
 * rchar_ibdev_detach() - unregister a user that has freed everything on a device
 * @ibdev: from rchar_ibdev_attach()
 * @user: the user
 */
void rchar_ibdev_detach(struct rchar_ibdev *ibdev, struct rchar_ibdev_user *user)
{
	spin_lock(&devices_lock);
	list_del_init(&user->entry);
	spin_unlock(&devices_lock);
	kref_put(&ibdev->ref, ibdev_release);
}

/**
 * rchar_ibdev_count() - count the RDMA devices
 *
 * Return: number of devices.
 */
unsigned int rchar_ibdev_count(void)
{
	struct rchar_ibdev *ibdev;
	unsigned int n = 0;

	spin_lock(&devices_lock);
	list_for_each_entry(ibdev, &devices, entry)
		n++;
	spin_unlock(&devices_lock);
	return n;
}

static struct ib_client client;

static void port_down(struct rchar_ibdev *ibdev, u32 port)
{
	struct rchar_ibdev_user *user;

	spin_lock(&devices_lock);
	list_for_each_entry(user, &ibdev->users, entry)
		user->port_down(user, port);
	spin_unlock(&devices_lock);
}

/*
 * Runs in a work of the core (ib_dispatch_event_clients() in drivers/infiniband/core/device.c),
 * after the core's caches have changed. A connection over a port that is down would be noticed
 * only when the device has sent again for seconds, or by the keepalive.
 */
static void device_event(struct ib_event_handler *handler, struct ib_event *event)
{
	switch (event->event) {
	case IB_EVENT_PORT_ERR:
		port_down(container_of(handler, struct rchar_ibdev, events),
			  event->element.port_num);
		break;
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_GID_CHANGE:
		tell_usable();
		break;
	default:
		break;
	}
}

static int add_device(struct ib_device *dev)
{
	struct rchar_ibdev *ibdev = kzalloc(sizeof(*ibdev), GFP_KERNEL);

	if (!ibdev)
		return -ENOMEM;
	ibdev->dev = dev;
	kref_init(&ibdev->ref);
	init_completion(&ibdev->gone);
	INIT_LIST_HEAD(&ibdev->users);
	spin_lock(&devices_lock);
	list_add_tail(&ibdev->entry, &devices);
	spin_unlock(&devices_lock);
	ib_set_client_data(dev, &client, ibdev);
	INIT_IB_EVENT_HANDLER(&ibdev->events, dev, device_event);
	ib_register_event_handler(&ibdev->events);
	tell_usable();
	return 0;
}

static void remove_device(struct ib_device *dev, void *data)
{
	struct rchar_ibdev *ibdev = data;
	struct rchar_ibdev_user *user;

	if (!ibdev)
		return;
	ib_unregister_event_handler(&ibdev->events);
	spin_lock(&devices_lock);
	list_del(&ibdev->entry); /* no new user can attach */
	list_for_each_entry(user, &ibdev->users, entry)
		user->removed(user);
	spin_unlock(&devices_lock);
	kref_put(&ibdev->ref, ibdev_release);
	wait_for_completion(&ibdev->gone);
	/*
	 * Now the core frees the completion queues that lanes have shared. ib_poll_handler() lets
	 * go of one before it asks for the next event, and ib_free_cq() does not wait for that
	 * (drivers/infiniband/core/cq.c). The handler runs with bottom halves off, so a grace
	 * period of RCU waits for it.
	 */
	synchronize_rcu();
	rchar_bounce_check_gone(dev);
	kfree(ibdev);
}

static struct ib_client client = {
	.name = KBUILD_MODNAME,
	.add = add_device,
	.remove = remove_device,
};

/**
 * rchar_ibdev_init() - register the ib_client
 * @usable: called in process context when a device is added, a port comes up or has a new address
 *
 * Return: 0 or a negative errno.
 */
int rchar_ibdev_init(void (*usable)(void))
{
	tell_usable = usable;
	return ib_register_client(&client);
}

/**
 * rchar_ibdev_exit() - unregister the ib_client; lanes that are left fail
 */
void rchar_ibdev_exit(void)
{
	ib_unregister_client(&client);
}
