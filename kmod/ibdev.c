// SPDX-License-Identifier: GPL-2.0
/*
 * An ib_client. The core calls remove in the reverse order of registration, so this
 * client goes before rdma_cm's: our lanes are gone before rdma_cm would have to tell
 * them, and remove does not return while one of them still uses the device.
 */
#include "ibdev.h"
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include "lane.h"
#include "link.h"
#include "listener.h"

/* The core's client data may be stale for cm_ids that outlive our remove: a list of our
 * own. The lock also protects the lists of lanes.
 */
static DEFINE_SPINLOCK(devices_lock);
static LIST_HEAD(devices);

static void release(struct kref *ref)
{
	struct rchar_ibdev *ibdev = container_of(ref, struct rchar_ibdev, ref);

	complete(&ibdev->gone);
}

/**
 * rchar_ibdev_attach() - a lane starts to use a device
 * @dev: the device; the caller holds a cm_id bound to it
 * @lane: the lane; failed when the device is removed
 *
 * Return: what to pass to rchar_ibdev_detach(), or NULL when the device is going.
 */
struct rchar_ibdev *rchar_ibdev_attach(struct ib_device *dev, struct rchar_lane *lane)
{
	struct rchar_ibdev *ibdev, *found = NULL;

	spin_lock(&devices_lock);
	list_for_each_entry(ibdev, &devices, entry) {
		if (ibdev->dev != dev)
			continue;
		kref_get(&ibdev->ref);
		list_add_tail(&lane->ibdev_entry, &ibdev->lanes);
		found = ibdev;
		break;
	}
	spin_unlock(&devices_lock);
	return found;
}

/**
 * rchar_ibdev_detach() - a lane has freed all it had on a device
 * @ibdev: from rchar_ibdev_attach()
 * @lane: the lane
 */
void rchar_ibdev_detach(struct rchar_ibdev *ibdev, struct rchar_lane *lane)
{
	spin_lock(&devices_lock);
	list_del_init(&lane->ibdev_entry);
	spin_unlock(&devices_lock);
	kref_put(&ibdev->ref, release);
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
	INIT_LIST_HEAD(&ibdev->lanes);
	spin_lock(&devices_lock);
	list_add_tail(&ibdev->entry, &devices);
	spin_unlock(&devices_lock);
	ib_set_client_data(dev, &client, ibdev);
	rchar_link_retry_all();
	rchar_listener_retry_all();
	return 0;
}

static void remove_device(struct ib_device *dev, void *data)
{
	struct rchar_ibdev *ibdev = data;
	struct rchar_lane *lane;

	if (!ibdev)
		return;
	spin_lock(&devices_lock);
	list_del(&ibdev->entry);	/* no new lane comes */
	list_for_each_entry(lane, &ibdev->lanes, ibdev_entry)
		rchar_lane_fail(lane, RCHAR_REASON_DEVICE_REMOVED);
	spin_unlock(&devices_lock);
	kref_put(&ibdev->ref, release);
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
 */
int rchar_ibdev_init(void)
{
	return ib_register_client(&client);
}

/**
 * rchar_ibdev_exit() - stop to follow devices; fails what lanes are left
 */
void rchar_ibdev_exit(void)
{
	ib_unregister_client(&client);
}
