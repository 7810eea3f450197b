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
#include "base/addr.h"
#include "base/inject.h"
#include "base/ledger.h"
#include "base/notify.h"
#include "compat/compat.h"
#include "link/link.h"
#include "link/listener.h"
#include "acl.h"
#include "type.h"

static DEFINE_MUTEX(channels_mutex);  /* protects the tables, and the settings */
static DEFINE_XARRAY_ALLOC(channels); /* by id; lookups under RCU */
static u32 next_id;		      /* where the search for a free one begins */
static DEFINE_HASHTABLE(names, 10);   /* by name: each frame of a peer may cause a lookup */
static DEFINE_HASHTABLE(ways, 10);    /* by listener or link, of which each change is an event */
static dev_t first_dev;
static struct class channel_class = { .name = "rchar" };

static char *channel_devnode(rchar_compat_const struct device *dev, umode_t *mode, kuid_t *uid,
			     kgid_t *gid)
{
	const struct rchar_channel *channel = container_of(dev, struct rchar_channel, dev);

	/*
	 * The pointers are NULL when the node is removed and only the name is needed. devtmpfs
	 * takes a mode of 0 for none, so it gets the file type, too.
	 */
	if (mode)
		*mode = S_IFCHR | channel->config.mode;
	if (uid)
		*uid = channel->config.uid;
	if (gid)
		*gid = channel->config.gid;
	return kasprintf(GFP_KERNEL, "rchar/%s", channel->config.name);
}

static void channel_release(struct device *dev)
{
	struct rchar_channel *channel = container_of(dev, struct rchar_channel, dev);

	put_net(channel->net);
	rchar_acl_put(rcu_dereference_protected(channel->acl, true));
	if (channel->type->channel_free)
		channel->type->channel_free(channel);
	rchar_ledger_del(RCHAR_OBJ_CHANNEL);
	kfree_rcu(channel, rcu);
}

static const struct device_type channel_device_type = {
	.name = "rchar_channel",
	.devnode = channel_devnode,
	.release = channel_release,
};

/* ---- the tables ---- */

static u32 channel_hash_of(const char *name)
{
	return full_name_hash(NULL, name, strlen(name));
}

static struct rchar_channel *find_by_name(const char *name)
{
	struct rchar_channel *channel;

	lockdep_assert_held(&channels_mutex);
	hash_for_each_possible(names, channel, name_entry, channel_hash_of(name))
		if (!strcmp(channel->config.name, name))
			return channel;
	return NULL;
}

/**
 * rchar_channel_find_locked() - find a channel by name
 * @net: network namespace; the initial namespace finds channels of any namespace
 * @name: the name; NULL: the first channel of any namespace
 *
 * Context: with rchar_channel_config_lock().
 * Return: the channel, without a reference, or NULL.
 */
struct rchar_channel *rchar_channel_find_locked(struct net *net, const char *name)
{
	struct rchar_channel *channel;
	unsigned long id = 0;

	lockdep_assert_held(&channels_mutex);
	if (!name)
		return xa_find(&channels, &id, ULONG_MAX, XA_PRESENT);
	channel = find_by_name(name);
	return channel && (channel->net == net || net_eq(net, &init_net)) ? channel : NULL;
}

/**
 * rchar_channel_find() - find a channel of a namespace by name
 * @net: network namespace
 * @name: the name
 *
 * Context: process.
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

static bool listens_at(const struct rchar_channel *channel, const struct sockaddr_storage *local)
{
	const struct sockaddr_storage *addr = &channel->config.local;

	return channel->config.role == RCHAR_ROLE_LISTEN && addr->ss_family == local->ss_family &&
	       rchar_addr_port(addr) == rchar_addr_port(local) &&
	       (rchar_addr_any(addr) || rchar_addr_same_host(addr, local));
}

/**
 * rchar_channel_find_listening() - find the channel that a peer asks for
 * @net: network namespace
 * @local: the address and port to which the peer connected
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
	hash_for_each_possible_rcu(names, channel, name_entry, channel_hash_of(name)) {
		walked++;
		if (channel->net == net && !strcmp(channel->config.name, name) &&
		    listens_at(channel, local) && kobject_get_unless_zero(&channel->dev.kobj)) {
			found = channel;
			break;
		}
	}
	rcu_read_unlock();
	rchar_inject_walked(walked);
	return found;
}

/**
 * rchar_channel_acl() - return the access list of a channel, or NULL
 * @channel: the channel, not dead
 *
 * Context: with rchar_channel_config_lock(), for as long as the caller uses the list.
 */
struct rchar_acl *rchar_channel_acl(struct rchar_channel *channel)
{
	return rcu_dereference_protected(channel->acl, lockdep_is_held(&channels_mutex));
}

/**
 * rchar_channel_admits() - may a peer connect, because of any channel that listens at an address?
 * @net: network namespace
 * @local: the address and port to which the peer connects
 * @peer: address of the peer
 * @psk: key that the peer proved to have, or NULL
 * @encrypted: the peer wants to encrypt
 *
 * Context: process. The walk is as long as the administrator's list of channels.
 * Return: 0; NOT_AUTHORISED; ENCRYPTION when a channel lets this peer in, but not in this way; BUSY
 * when no channel listens there yet, or any more.
 */
enum rchar_reason rchar_channel_admits(struct net *net, const struct sockaddr_storage *local,
				       const struct sockaddr_storage *peer,
				       const struct rchar_psk *psk, bool encrypted)
{
	enum rchar_reason reason = RCHAR_REASON_BUSY;
	struct rchar_channel *channel;
	unsigned long id;

	rcu_read_lock();
	xa_for_each(&channels, id, channel) {
		if (channel->net != net || !listens_at(channel, local))
			continue;
		if (reason == RCHAR_REASON_BUSY)
			reason = RCHAR_REASON_NOT_AUTHORISED;
		if (!rchar_acl_permits(rcu_dereference(channel->acl), peer, psk))
			continue;
		reason = RCHAR_REASON_ENCRYPTION;
		if (channel->config.encrypt == encrypted) {
			reason = RCHAR_REASON_NONE;
			break;
		}
	}
	rcu_read_unlock();
	return reason;
}

/**
 * rchar_channel_next() - walk the table of channels
 * @id: first id to look at, 0 to begin; advanced
 *
 * Context: process.
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
 * rchar_channel_config_lock() - lock the table of channels and the settings
 *
 * Context: process.
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

/* ---- for admin.c ---- */

/**
 * rchar_channel_create() - create a channel that is not in the table yet
 * @net: network namespace
 * @config: configuration
 * @type: operations of the type and role in @config
 * @acl: the access list, or NULL; taken over, also when this function fails
 *
 * Context: process.
 * Return: the channel, with one reference, or NULL.
 */
struct rchar_channel *rchar_channel_create(struct net *net, const struct rchar_config *config,
					   const struct rchar_type *type, struct rchar_acl *acl)
{
	struct rchar_channel *channel = kzalloc(sizeof(*channel), GFP_KERNEL);

	if (!channel) {
		rchar_acl_put(acl);
		return NULL;
	}
	rchar_ledger_add(RCHAR_OBJ_CHANNEL);
	RCU_INIT_POINTER(channel->acl, acl);
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

/**
 * rchar_channel_check_name() - may a new channel have a name?
 * @net: network namespace of the new channel
 * @name: the name
 * @extack: set to an explanation when it may not
 *
 * Context: with rchar_channel_config_lock().
 * Return: 0 or -EEXIST.
 */
int rchar_channel_check_name(const struct net *net, const char *name,
			     struct netlink_ext_ack *extack)
{
	const struct rchar_channel *other;

	lockdep_assert_held(&channels_mutex);
	other = find_by_name(name);
	if (!other)
		return 0;
	if (other->net == net)
		NL_SET_ERR_MSG(extack, "a channel of that name exists");
	else
		NL_SET_ERR_MSG(extack,
			       "a channel of that name exists in another network namespace");
	return -EEXIST;
}

/**
 * rchar_channel_reserve() - check the name and reserve a minor number
 * @channel: the channel; lookups do not find it yet
 * @extack: set to an explanation when the name or the number is not available
 *
 * Context: with rchar_channel_config_lock(), which the caller keeps until the channel is enlisted.
 * Return: 0, -EEXIST, -ENOSPC or -ENOMEM.
 */
int rchar_channel_reserve(struct rchar_channel *channel, struct netlink_ext_ack *extack)
{
	int ret;

	lockdep_assert_held(&channels_mutex);
	ret = rchar_channel_check_name(channel->net, channel->config.name, extack);
	if (ret)
		return ret;
	/* Not the id that became free last: somebody may have kept a node of that number. */
	ret = xa_alloc_cyclic(&channels, &channel->id, NULL, XA_LIMIT(0, RCHAR_CHANNELS_MAX - 1),
			      &next_id, GFP_KERNEL);
	if (ret < 0) {
		if (ret == -EBUSY)
			NL_SET_ERR_MSG(extack, "there are 4096 channels already");
		return ret == -EBUSY ? -ENOSPC : ret;
	}
	channel->dev.devt = MKDEV(MAJOR(first_dev), channel->id);
	ret = dev_set_name(&channel->dev, "%s", channel->config.name);
	if (ret)
		xa_erase(&channels, channel->id);
	return ret;
}

/* The listener or link of a channel, only to compare it. */
static const void *way_of(const struct rchar_channel *channel)
{
	const struct rchar_listener *listener = READ_ONCE(channel->listener);

	return listener ? (const void *)listener : READ_ONCE(channel->link);
}

/**
 * rchar_channel_follow() - from now on, events of the channel's listener or link are told
 * @channel: the channel; after rchar_channel_unfollow(), a grace period of RCU has passed
 *
 * Context: with rchar_channel_config_lock().
 */
void rchar_channel_follow(struct rchar_channel *channel)
{
	lockdep_assert_held(&channels_mutex);
	hash_add_rcu(ways, &channel->way_entry, (unsigned long)way_of(channel));
}

/**
 * rchar_channel_unfollow() - undo rchar_channel_follow()
 * @channel: the channel
 *
 * Context: with rchar_channel_config_lock().
 */
void rchar_channel_unfollow(struct rchar_channel *channel)
{
	lockdep_assert_held(&channels_mutex);
	hash_del_rcu(&channel->way_entry);
}

/**
 * rchar_channel_enlist() - add a channel to the tables
 * @channel: after rchar_channel_reserve(); the tables take over the caller's reference
 *
 * Context: with rchar_channel_config_lock().
 */
void rchar_channel_enlist(struct rchar_channel *channel)
{
	lockdep_assert_held(&channels_mutex);
	xa_store(&channels, channel->id, channel, GFP_KERNEL); /* reserved: cannot fail */
	hash_add_rcu(names, &channel->name_entry, channel_hash_of(channel->config.name));
	rchar_channel_follow(channel);
}

/**
 * rchar_channel_unlist() - undo rchar_channel_reserve() and rchar_channel_enlist()
 * @channel: the channel; if enlisted, the caller takes over the tables' reference
 *
 * Context: with rchar_channel_config_lock().
 */
void rchar_channel_unlist(struct rchar_channel *channel)
{
	lockdep_assert_held(&channels_mutex);
	xa_erase(&channels, channel->id);
	hash_del_rcu(&channel->name_entry);
	rchar_channel_unfollow(channel);
}

/* ---- state ---- */

static enum rchar_channel_state listen_state(struct rchar_listener *listener,
					     enum rchar_reason *reason, unsigned long *at)
{
	*reason = READ_ONCE(listener->reason);
	*at = READ_ONCE(listener->reason_at);
	return READ_ONCE(listener->cm_id) ? RCHAR_CHANNEL_LISTENING : RCHAR_CHANNEL_WAITING;
}

static enum rchar_channel_state connect_state(struct rchar_link *link, enum rchar_reason *reason,
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
 * rchar_channel_state() - report the state of a channel and its last failure
 * @channel: the channel
 * @reason: set to the reason of the listener or link when that has failed; otherwise to the
 *	    reason of the last open() that failed
 * @age_ms: set to the age of @reason in milliseconds
 *
 * Context: the channel's listener and link must stay valid: with rchar_channel_config_lock(), or
 * with rcu_read_lock() in an event of the listener or link.
 * Return: the state.
 */
enum rchar_channel_state rchar_channel_state(struct rchar_channel *channel,
					     enum rchar_reason *reason, u64 *age_ms)
{
	enum rchar_channel_state state = RCHAR_CHANNEL_DELETED;
	struct rchar_listener *listener = READ_ONCE(channel->listener);
	struct rchar_link *link = READ_ONCE(channel->link);
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
	*age_ms = jiffies64_to_msecs(jiffies - at);
	return state;
}

/*
 * Send an event for each channel of a listener or link. The walk uses RCU and not the mutex: a link
 * may change while a channel is being added.
 */
static void tell_changed(const void *way)
{
	struct rchar_channel *channel;

	rcu_read_lock();
	hash_for_each_possible_rcu(ways, channel, way_entry, (unsigned long)way)
		if (way_of(channel) == way)
			rchar_notify_channel(channel, RCHAR_CMD_CHANNEL_STATE_NTF);
	rcu_read_unlock();
}

/**
 * rchar_channel_listener_changed() - report that a listener has started or stopped to listen
 * @listener: the listener
 */
void rchar_channel_listener_changed(struct rchar_listener *listener)
{
	tell_changed(listener);
}

/**
 * rchar_channel_link_changed() - report that a link has changed state
 * @link: the link
 */
void rchar_channel_link_changed(struct rchar_link *link)
{
	tell_changed(link);
}

/**
 * rchar_channel_init() - set up the device class and numbers at module load
 *
 * Return: 0 or a negative errno.
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
 * rchar_channel_exit() - wait until all channels are freed; at module unload, after the sessions
 */
void rchar_channel_exit(void)
{
	rchar_ledger_wait(RCHAR_OBJ_CHANNEL);
	class_unregister(&channel_class);
	unregister_chrdev_region(first_dev, RCHAR_CHANNELS_MAX);
	xa_destroy(&channels);
}
