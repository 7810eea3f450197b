// SPDX-License-Identifier: GPL-2.0
#include "channel.h"
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/stringhash.h>
#include <linux/netlink.h>
#include <linux/poll.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include "addr.h"
#include "compat/compat.h"
#include "inject.h"
#include "ledger.h"
#include "link.h"
#include "listener.h"
#include "netlink.h"
#include "session.h"
#include "type.h"

static DEFINE_MUTEX(channels_mutex);	/* protects the table and settings */
static DEFINE_XARRAY_ALLOC(channels);	/* by id; lookups under RCU */
static DEFINE_HASHTABLE(names, 10);	/* the same by name: a peer may ask for one in each frame */
static dev_t first_dev;
static struct class channel_class = { .name = "rchar" };

static char *devnode(rchar_compat_const struct device *dev, umode_t *mode, kuid_t *uid,
		     kgid_t *gid)
{
	const struct rchar_channel *channel = container_of(dev, struct rchar_channel, dev);

	/* Asked for the name alone when the node goes. */
	if (mode)
		*mode = channel->config.mode;
	if (uid)
		*uid = channel->config.uid;
	if (gid)
		*gid = channel->config.gid;
	return kasprintf(GFP_KERNEL, "rchar/%s", channel->config.name);
}

static void free_priv(struct rchar_channel *channel)
{
	if (channel->type->channel_free)
		channel->type->channel_free(channel);
}

static void release(struct device *dev)
{
	struct rchar_channel *channel = container_of(dev, struct rchar_channel, dev);

	put_net(channel->net);
	free_priv(channel);
	rchar_ledger_del(RCHAR_OBJ_CHANNEL);
	kfree_rcu(channel, rcu);
}

static const struct device_type channel_device_type = {
	.name = "rchar_channel",
	.devnode = devnode,
	.release = release,
};

/* ---- the table ---- */

static u32 hash_of(const char *name)
{
	return full_name_hash(NULL, name, strlen(name));
}

static struct rchar_channel *find_by_name(const char *name)
{
	struct rchar_channel *channel;

	lockdep_assert_held(&channels_mutex);
	hash_for_each_possible(names, channel, name_entry, hash_of(name))
		if (!strcmp(channel->config.name, name))
			return channel;
	return NULL;
}

/**
 * rchar_channel_find() - by name
 * @net: network namespace
 * @name: the name
 *
 * Return: the channel, with a reference, or NULL.
 */
struct rchar_channel *rchar_channel_find(struct net *net, const char *name)
{
	struct rchar_channel *channel;

	mutex_lock(&channels_mutex);
	channel = find_by_name(name);
	if (channel && channel->net == net)
		rchar_channel_get(channel);
	else
		channel = NULL;
	mutex_unlock(&channels_mutex);
	return channel;
}

static bool listens_at(const struct rchar_channel *channel,
		       const struct sockaddr_storage *local)
{
	const struct sockaddr_storage *addr = &channel->config.local;

	return channel->config.role == RCHAR_ROLE_LISTEN &&
	       addr->ss_family == local->ss_family &&
	       rchar_addr_port(addr) == rchar_addr_port(local) &&
	       (rchar_addr_any(addr) || rchar_addr_same_host(addr, local));
}

/**
 * rchar_channel_find_listening() - the channel that a peer asks for
 * @net: network namespace
 * @local: the address and port it called
 * @name: the name
 *
 * Context: any but hard interrupt.
 * Return: the channel, with a reference, or NULL.
 */
struct rchar_channel *rchar_channel_find_listening(struct net *net,
						   const struct sockaddr_storage *local,
						   const char *name)
{
	struct rchar_channel *channel, *found = NULL;
	unsigned int walked = 0;

	rcu_read_lock();
	hash_for_each_possible_rcu(names, channel, name_entry, hash_of(name)) {
		walked++;
		if (channel->net == net && !strcmp(channel->config.name, name) &&
		    listens_at(channel, local) &&
		    kobject_get_unless_zero(&channel->dev.kobj)) {
			found = channel;
			break;
		}
	}
	rcu_read_unlock();
	rchar_inject_walked(walked);
	return found;
}

/**
 * rchar_channel_next() - walk the table
 * @id: where to look next, 0 to begin; advanced
 *
 * Return: the next channel, with a reference, or NULL.
 */
struct rchar_channel *rchar_channel_next(u32 *id)
{
	struct rchar_channel *channel;
	unsigned long index = *id;

	mutex_lock(&channels_mutex);
	channel = xa_find(&channels, &index, U32_MAX, XA_PRESENT);
	if (channel)
		rchar_channel_get(channel);
	mutex_unlock(&channels_mutex);
	*id = index + 1;
	return channel;
}

/**
 * rchar_channel_config_lock() - for who changes the settings of a channel
 */
void rchar_channel_config_lock(void)
{
	mutex_lock(&channels_mutex);
}

/**
 * rchar_channel_config_unlock() - undo rchar_channel_config_lock()
 */
void rchar_channel_config_unlock(void)
{
	mutex_unlock(&channels_mutex);
}

/* ---- add ---- */

static struct rchar_channel *create(struct net *net, const struct rchar_config *config,
				    const struct rchar_type *type)
{
	struct rchar_channel *channel = kzalloc(sizeof(*channel), GFP_KERNEL);

	if (!channel)
		return NULL;
	rchar_ledger_add(RCHAR_OBJ_CHANNEL);
	channel->net = get_net(net);
	channel->config = *config;
	channel->type = type;
	channel->reason_at = jiffies;
	spin_lock_init(&channel->lock);
	INIT_LIST_HEAD(&channel->sessions);
	INIT_LIST_HEAD(&channel->acceptors);
	INIT_LIST_HEAD(&channel->waiting);
	device_initialize(&channel->dev);
	channel->dev.class = &channel_class;
	channel->dev.type = &channel_device_type;
	cdev_init(&channel->cdev, type->fops);
	channel->cdev.owner = THIS_MODULE;
	return channel;
}

static int attach(struct rchar_channel *channel)
{
	struct rchar_config *config = &channel->config;

	if (config->role == RCHAR_ROLE_LISTEN)
		channel->listener = rchar_listener_get(channel->net, &config->local);
	else
		channel->link = rchar_link_connect(channel->net, &config->local,
						   &config->peer);
	return channel->listener || channel->link ? 0 : -ENOMEM;
}

/* The next of so many sessions, with a reference; NULL when that one is being freed. */
static struct rchar_session *rotate(struct rchar_channel *channel, u32 *left)
{
	struct rchar_session *s;

	lockdep_assert_held(&channel->lock);
	s = list_first_entry_or_null(&channel->sessions, struct rchar_session, channel_entry);
	*left = s ? *left - 1 : 0;
	if (!s)
		return NULL;
	list_move_tail(&s->channel_entry, &channel->sessions);
	return kref_get_unless_zero(&s->ref) ? s : NULL;
}

/*
 * Open files and waiting peers hear of it; what was closed before lingers on. One session at a
 * time: peers and programs choose how many there are.
 */
static void fail_sessions(struct rchar_channel *channel)
{
	struct rchar_session *s;
	u32 left;

	spin_lock_bh(&channel->lock);
	WRITE_ONCE(channel->dead, true);
	/* No new ones from here on; of those there are some may go meanwhile. */
	left = channel->nr_sessions;
	while (left) {
		s = rotate(channel, &left);
		spin_unlock_bh(&channel->lock);
		if (s && READ_ONCE(s->state) != RCHAR_SESSION_CLOSING)
			rchar_session_delete(s);
		if (s)
			rchar_session_put(s);
		cond_resched();
		spin_lock_bh(&channel->lock);
	}
	spin_unlock_bh(&channel->lock);
	if (channel->type->channel_dead)
		channel->type->channel_dead(channel);
}

static void detach(struct rchar_channel *channel)
{
	if (channel->listener)
		rchar_listener_put(channel->listener);
	WRITE_ONCE(channel->listener, NULL);
	if (channel->link)
		rchar_link_unuse(channel->link);
}

static int add(struct rchar_channel *channel, struct netlink_ext_ack *extack)
{
	struct rchar_channel *other;
	int ret;

	lockdep_assert_held(&channels_mutex);
	other = find_by_name(channel->config.name);
	if (other) {
		if (other->net == channel->net)
			NL_SET_ERR_MSG(extack, "a channel of that name exists");
		else
			NL_SET_ERR_MSG(extack, "a channel of that name exists in another network namespace");
		return -EEXIST;
	}
	/* Reserved, not found by anyone yet. */
	ret = xa_alloc(&channels, &channel->id, NULL,
		       XA_LIMIT(0, RCHAR_CHANNELS_MAX - 1), GFP_KERNEL);
	if (ret) {
		if (ret == -EBUSY)
			NL_SET_ERR_MSG(extack, "there are 4096 channels already");
		return ret == -EBUSY ? -ENOSPC : ret;
	}
	channel->dev.devt = MKDEV(MAJOR(first_dev), channel->id);
	ret = dev_set_name(&channel->dev, "%s", channel->config.name);
	if (ret)
		goto err_erase;
	ret = attach(channel);
	if (ret)
		goto err_erase;
	ret = cdev_device_add(&channel->cdev, &channel->dev);
	if (ret) {
		NL_SET_ERR_MSG(extack, "the device node could not be made");
		goto err_detach;
	}
	xa_store(&channels, channel->id, channel, GFP_KERNEL);	/* reserved: no failure */
	hash_add_rcu(names, &channel->name_entry, hash_of(channel->config.name));
	rchar_netlink_channel_event(channel, RCHAR_CMD_CHANNEL_NEW_NTF);
	return 0;

err_detach:
	fail_sessions(channel);	/* a node may have been open for a moment */
	detach(channel);
err_erase:
	xa_erase(&channels, channel->id);
	return ret;
}

/**
 * rchar_channel_add() - make a channel and its node
 * @net: network namespace
 * @config: checked by the caller
 * @type: the type and role that it says
 * @extack: takes the words of a refusal
 *
 * Context: process.
 * Return: 0, -EEXIST, -ENOSPC, -ENOMEM, or what the driver core said.
 */
int rchar_channel_add(struct net *net, const struct rchar_config *config,
		      const struct rchar_type *type, struct netlink_ext_ack *extack)
{
	struct rchar_channel *channel = create(net, config, type);
	int ret = 0;

	if (!channel)
		return -ENOMEM;
	if (type->channel_create)
		ret = type->channel_create(channel, extack);
	if (!ret) {
		mutex_lock(&channels_mutex);
		ret = add(channel, extack);
		mutex_unlock(&channels_mutex);
	}
	if (ret)
		rchar_channel_put(channel);
	return ret;
}

/* ---- delete ---- */

/* Out of the tables, its sessions and its node end. The table's reference is the caller's. */
static void unlist(struct rchar_channel *channel)
{
	lockdep_assert_held(&channels_mutex);
	xa_erase(&channels, channel->id);
	hash_del_rcu(&channel->name_entry);
	fail_sessions(channel);
	cdev_device_del(&channel->cdev, &channel->dev);
}

/*
 * The rest waits for peers and devices, so it must not hold the mutex: others add, delete and
 * look at channels meanwhile, also one of the same name.
 */
static void del(struct rchar_channel *channel)
{
	if (channel->type->channel_revoke)
		channel->type->channel_revoke(channel);
	rchar_netlink_channel_event(channel, RCHAR_CMD_CHANNEL_DEL_NTF);
	detach(channel);
	free_priv(channel);
	rchar_channel_put(channel);
}

/**
 * rchar_channel_del() - delete by name
 * @net: network namespace
 * @name: the name
 *
 * The initial namespace deletes channels of any. They hold their namespace, which may
 * have no other way left to be reached, and the name is taken for the whole host.
 *
 * Return: 0 or -ENODEV.
 */
int rchar_channel_del(struct net *net, const char *name)
{
	struct rchar_channel *channel;

	mutex_lock(&channels_mutex);
	channel = find_by_name(name);
	if (channel && channel->net != net && !net_eq(net, &init_net))
		channel = NULL;
	if (channel)
		unlist(channel);
	mutex_unlock(&channels_mutex);
	if (!channel)
		return -ENODEV;
	del(channel);
	return 0;
}

/**
 * rchar_channel_del_all() - at module unload
 */
void rchar_channel_del_all(void)
{
	struct rchar_channel *channel;
	unsigned long id = 0;

	do {
		mutex_lock(&channels_mutex);
		channel = xa_find(&channels, &id, ULONG_MAX, XA_PRESENT);
		if (channel)
			unlist(channel);
		mutex_unlock(&channels_mutex);
		if (channel)
			del(channel);
	} while (channel);
}

/* ---- state ---- */

static enum rchar_channel_state listen_state(struct rchar_listener *listener,
					     enum rchar_reason *reason,
					     unsigned long *at)
{
	*reason = READ_ONCE(listener->reason);
	*at = READ_ONCE(listener->reason_at);
	return READ_ONCE(listener->cm_id) ? RCHAR_CHANNEL_LISTENING :
					    RCHAR_CHANNEL_WAITING;
}

static enum rchar_channel_state connect_state(struct rchar_link *link,
					      enum rchar_reason *reason,
					      unsigned long *at)
{
	enum rchar_channel_state state;

	spin_lock_bh(&link->lock);
	*reason = link->reason;
	*at = link->reason_at;
	switch (link->state) {
	case RCHAR_LINK_UP:
		state = RCHAR_CHANNEL_UP;
		*reason = RCHAR_REASON_NONE;
		break;
	case RCHAR_LINK_CONNECTING:
		state = RCHAR_CHANNEL_CONNECTING;
		break;
	default:
		state = *reason ? RCHAR_CHANNEL_RETRYING : RCHAR_CHANNEL_CONNECTING;
	}
	spin_unlock_bh(&link->lock);
	return state;
}

/**
 * rchar_channel_state() - what a channel is doing, and what is wrong
 * @channel: the channel
 * @reason: set: of the listener or link when that does not work, else of the last
 *	    open() that failed
 * @age_ms: set: how long ago
 *
 * Context: the channel's listener and link must not go meanwhile: with
 * rchar_channel_config_lock(), or from an event of theirs.
 */
enum rchar_channel_state rchar_channel_state(struct rchar_channel *channel,
					     enum rchar_reason *reason, u64 *age_ms)
{
	enum rchar_channel_state state = RCHAR_CHANNEL_DELETED;
	struct rchar_listener *listener = READ_ONCE(channel->listener);
	struct rchar_link *link = channel->link;
	unsigned long at = jiffies;

	*reason = RCHAR_REASON_NONE;
	if (READ_ONCE(channel->dead))
		*reason = RCHAR_REASON_DELETED;
	else if (listener)
		state = listen_state(listener, reason, &at);
	else if (link)
		state = connect_state(link, reason, &at);
	if (!*reason) {
		*reason = READ_ONCE(channel->reason);
		at = READ_ONCE(channel->reason_at);
	}
	*age_ms = jiffies_to_msecs(jiffies - at);
	return state;
}

/* Under RCU and not the mutex: a link may change while a channel is being added. */
static void tell_changed(struct rchar_listener *listener, struct rchar_link *link)
{
	struct rchar_channel *channel;
	unsigned long id;

	rcu_read_lock();
	xa_for_each(&channels, id, channel)
		if ((listener && READ_ONCE(channel->listener) == listener) ||
		    (link && channel->link == link))
			rchar_netlink_channel_event(channel,
						    RCHAR_CMD_CHANNEL_STATE_NTF);
	rcu_read_unlock();
}

/**
 * rchar_channel_listener_changed() - a listener starts or stops to listen
 * @listener: the listener
 */
void rchar_channel_listener_changed(struct rchar_listener *listener)
{
	tell_changed(listener, NULL);
}

/**
 * rchar_channel_link_changed() - a link comes up or goes down
 * @link: the link
 */
void rchar_channel_link_changed(struct rchar_link *link)
{
	tell_changed(NULL, link);
}

/**
 * rchar_channel_init() - at module load
 */
int rchar_channel_init(void)
{
	int ret;

	ret = alloc_chrdev_region(&first_dev, 0, RCHAR_CHANNELS_MAX, KBUILD_MODNAME);
	if (ret)
		return ret;
	ret = class_register(&channel_class);
	if (ret)
		unregister_chrdev_region(first_dev, RCHAR_CHANNELS_MAX);
	return ret;
}

/**
 * rchar_channel_exit() - at module unload, after the sessions
 */
void rchar_channel_exit(void)
{
	rchar_ledger_wait(RCHAR_OBJ_CHANNEL);
	class_unregister(&channel_class);
	unregister_chrdev_region(first_dev, RCHAR_CHANNELS_MAX);
	xa_destroy(&channels);
}
