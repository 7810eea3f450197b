// SPDX-License-Identifier: GPL-2.0
/*
 * The ib_client of the module. The core removes clients in the reverse order of registration, so
 * this client is removed before the client of rdma_cm. The lanes on a device are therefore torn
 * down before rdma_cm would have to notify them. remove_device() does not return while a lane
 * uses the device.
 */
#include "ibdev.h"
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include "bounce.h"

/* The module keeps a separate list of devices: the core's client data may be stale for cm_ids
 * that outlive remove_device(). The lock also protects the lists of users.
 */
static DEFINE_SPINLOCK(devices_lock);
static LIST_HEAD(devices);
static void (*tell_added)(void);

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
	tell_added();
	return 0;
}

static void remove_device(struct ib_device *dev, void *data)
{
	struct rchar_ibdev *ibdev = data;
	struct rchar_ibdev_user *user;

	if (!ibdev)
		return;
	spin_lock(&devices_lock);
	list_del(&ibdev->entry); /* no new user can attach */
	list_for_each_entry(user, &ibdev->users, entry)
		user->removed(user);
	spin_unlock(&devices_lock);
	kref_put(&ibdev->ref, ibdev_release);
	wait_for_completion(&ibdev->gone);
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
 * @added: called in process context when a device is added
 *
 * Return: 0 or a negative errno.
 */
int rchar_ibdev_init(void (*added)(void))
{
	tell_added = added;
	return ib_register_client(&client);
}

/**
 * rchar_ibdev_exit() - unregister the ib_client; lanes that are left fail
 */
void rchar_ibdev_exit(void)
{
	ib_unregister_client(&client);
}
