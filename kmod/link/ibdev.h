/* SPDX-License-Identifier: GPL-2.0 */
/* RDMA devices: addition, removal, and the state of their ports. */
#ifndef RCHAR_IBDEV_H
#define RCHAR_IBDEV_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <rdma/ib_verbs.h>

/**
 * struct rchar_ibdev_user - a user of a device, for example a lane
 * @entry: entry of rchar_ibdev.users; protected by devices_lock of ibdev.c
 * @removed: the device is being removed: free everything on the device, and finally call
 *	     rchar_ibdev_detach(). Must not sleep.
 * @port_down: a port of the device went down, and may come up again. Must not sleep.
 */
struct rchar_ibdev_user {
	struct list_head entry;
	void (*removed)(struct rchar_ibdev_user *user);
	void (*port_down)(struct rchar_ibdev_user *user, u32 port);
};

/**
 * struct rchar_ibdev - one RDMA device, from ib_client add to remove
 * @entry: entry of the list of devices
 * @dev: the device; valid while a reference is held
 * @ref: one for the client, one for each user
 * @gone: the last reference is dropped; remove_device() waits for this
 * @users: users of the device
 * @events: registration for the events of the device, such as those of its ports
 */
struct rchar_ibdev {
	struct list_head entry;
	struct ib_device *dev;
	struct kref ref;
	struct completion gone;
	struct list_head users;
	struct ib_event_handler events;
};

struct rchar_ibdev *rchar_ibdev_attach(struct ib_device *dev, struct rchar_ibdev_user *user);
void rchar_ibdev_detach(struct rchar_ibdev *ibdev, struct rchar_ibdev_user *user);
unsigned int rchar_ibdev_count(void);
int rchar_ibdev_init(void (*usable)(void));
void rchar_ibdev_exit(void);

#endif /* RCHAR_IBDEV_H */
