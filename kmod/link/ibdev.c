// SPDX-License-Identifier: GPL-2.0
/*
 * An ib_client. The core calls remove in the reverse order of registration, so this
 * client goes before rdma_cm's: our lanes are gone before rdma_cm would have to tell
 * them, and remove does not return while one of them still uses the device.
 */
#include "ibdev.h"
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

/* The core's client data may be stale for cm_ids that outlive our remove: a list of our
 * own. The lock also protects the lists of users.
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
 * rchar_ibdev_attach() - from here on the device waits for its user
 * @dev: the device; the caller holds a cm_id bound to it
 * @user: told when the device is removed
 *
 * Return: what to pass to rchar_ibdev_detach(), or NULL when the device is going.
 */
struct rchar_ibdev *rchar_ibdev_attach(struct ib_device *dev,
				       struct rchar_ibdev_user *user)
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
 * rchar_ibdev_detach() - a user has freed all it had on a device
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
 * rchar_ibdev_count() - RDMA devices present
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
	list_del(&ibdev->entry);	/* no new user comes */
	list_for_each_entry(user, &ibdev->users, entry)
		user->removed(user);
	spin_unlock(&devices_lock);
	kref_put(&ibdev->ref, ibdev_release);
	wait_for_completion(&ibdev->gone);
	kfree(ibdev);
}

static struct ib_client client = {
	.name = KBUILD_MODNAME,
	.add = add_device,
	.remove = remove_device,
};

/**
 * rchar_ibdev_init() - start to follow devices
 * @added: called, in process context, when there is one more
 */
int rchar_ibdev_init(void (*added)(void))
{
	tell_added = added;
	return ib_register_client(&client);
}

/**
 * rchar_ibdev_exit() - stop to follow devices; fails what lanes are left
 */
void rchar_ibdev_exit(void)
{
	ib_unregister_client(&client);
}
