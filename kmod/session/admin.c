// SPDX-License-Identifier: GPL-2.0
/* Add and delete channels, and change who may use them. */
#include "admin.h"
#include <linux/netlink.h>
#include <net/net_namespace.h>
#include "acl.h"
#include "base/notify.h"
#include "channel.h"
#include "link/link.h"
#include "link/listener.h"
#include "link/psk.h"
#include "session.h"
#include "type.h"

/* ---- add ---- */

static struct rchar_link *admin_connect(struct rchar_channel *channel, const struct rchar_acl *acl)
{
	const struct rchar_endpoint ends = {
		.net = channel->net,
		.local = channel->config.local,
		.peer = channel->config.peer,
		.psk = rchar_acl_psk(acl),
		.encrypted = channel->config.encrypt,
		.settings = {
			.lanes = channel->config.lanes,
			.keepalive = DIV_ROUND_UP(channel->config.keepalive_ms, MSEC_PER_SEC),
			.tos = channel->config.tos,
		},
	};

	return rchar_link_connect(&ends);
}

static int admin_attach(struct rchar_channel *channel)
{
	struct rchar_config *config = &channel->config;

	if (config->role == RCHAR_ROLE_LISTEN)
		channel->listener = rchar_listener_get(channel->net, &config->local);
	else
		channel->link = admin_connect(channel, rchar_channel_acl(channel));
	if (channel->listener || channel->link)
		return 0;
	return rchar_psk_deleted(rchar_acl_psk(rchar_channel_acl(channel))) ? -ENOENT : -ENOMEM;
}

/*
 * Move the first session to the tail of the list. Return the session with a reference, or NULL when
 * the session is being freed. @left counts the sessions that the caller still has to visit.
 */
static struct rchar_session *admin_rotate(struct rchar_channel *channel, u32 *left)
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
 * End the sessions of open files and of waiting peers. Sessions that programs have closed continue
 * to linger. The lock is dropped between sessions, as peers and programs choose their number.
 */
static void fail_sessions(struct rchar_channel *channel)
{
	struct rchar_session *s;
	u32 left;

	spin_lock_bh(&channel->lock);
	WRITE_ONCE(channel->dead, true);
	/* No session is added from here on. Sessions may be freed while the lock is dropped. */
	left = channel->nr_sessions;
	while (left) {
		s = admin_rotate(channel, &left);
		spin_unlock_bh(&channel->lock);
		if (s && READ_ONCE(s->state) != RCHAR_SESSION_CLOSING)
			rchar_session_delete(s, RCHAR_REASON_DELETED);
		if (s)
			rchar_session_put(s);
		cond_resched();
		spin_lock_bh(&channel->lock);
	}
	spin_unlock_bh(&channel->lock);
	if (channel->type->channel_dead)
		channel->type->channel_dead(channel);
}

/* Give a channel another access list, and perhaps another link. */
static void admin_swap_acl(struct rchar_channel *channel, struct rchar_acl *acl,
			   struct rchar_link *link)
{
	struct rchar_acl *old;

	spin_lock_bh(&channel->lock);
	old = rcu_replace_pointer(channel->acl, acl, lockdep_is_held(&channel->lock));
	if (link)
		WRITE_ONCE(channel->link, link);
	spin_unlock_bh(&channel->lock);
	rchar_acl_put(old);
}

static void admin_detach(struct rchar_channel *channel)
{
	if (channel->listener)
		rchar_listener_put(channel->listener);
	WRITE_ONCE(channel->listener, NULL);
	if (channel->link)
		rchar_link_unuse(channel->link);
	/* Files that stay open keep the channel, and guard nothing. */
	admin_swap_acl(channel, NULL, NULL);
}

static int admin_add(struct rchar_channel *channel, struct netlink_ext_ack *extack)
{
	int ret = rchar_channel_reserve(channel, extack);

	if (ret)
		return ret;
	ret = admin_attach(channel);
	if (ret)
		goto err_unlist;
	ret = cdev_device_add(&channel->cdev, &channel->dev);
	if (ret) {
		NL_SET_ERR_MSG(extack, "the device node could not be made");
		goto err_detach;
	}
	rchar_channel_enlist(channel);
	rchar_notify_channel(channel, RCHAR_CMD_CHANNEL_NEW_NTF);
	return 0;

err_detach:
	fail_sessions(channel); /* a program may already have opened the node */
	admin_detach(channel);
err_unlist:
	rchar_channel_unlist(channel);
	return ret;
}

/**
 * rchar_channel_add() - create a channel and its device node
 * @net: network namespace
 * @config: configuration, checked by the caller
 * @type: operations of the type and role in @config
 * @acl: the access list, or NULL; taken over, also when this function fails
 * @extack: set to an explanation when the request fails
 *
 * Context: process.
 * Return: 0; -EEXIST; -ENOSPC; -ENOMEM; or an error of the type or of the driver core.
 */
int rchar_channel_add(struct net *net, const struct rchar_config *config,
		      const struct rchar_type *type, struct rchar_acl *acl,
		      struct netlink_ext_ack *extack)
{
	struct rchar_channel *channel = rchar_channel_create(net, config, type, acl);
	int ret;

	if (!channel)
		return -ENOMEM;
	/* Before the type takes memory for it. Another one of that name may still be quicker. */
	rchar_channel_config_lock();
	ret = rchar_channel_check_name(net, config->name, extack);
	rchar_channel_config_unlock();
	if (!ret && type->channel_create)
		ret = type->channel_create(channel, extack);
	if (!ret) {
		rchar_channel_config_lock();
		ret = admin_add(channel, extack);
		rchar_channel_config_unlock();
	}
	if (ret)
		rchar_channel_put(channel);
	return ret;
}

/* ---- change who may use a channel ---- */

static bool permits_session(const struct rchar_acl *acl, struct rchar_session *s)
{
	struct rchar_link *link;

	spin_lock_bh(&s->lock);
	link = s->link; /* set once, and held by the session; NULL while it waits for a peer */
	spin_unlock_bh(&s->lock);
	return !link || rchar_acl_permits_link(acl, link);
}

/*
 * End the sessions of peers that the access list does not permit any more, also those that linger.
 * Sessions of permitted peers do not notice.
 */
static void deny_sessions(struct rchar_channel *channel, const struct rchar_acl *acl)
{
	struct rchar_session *s;
	u32 left;

	spin_lock_bh(&channel->lock);
	/* Sessions that are added from here on have met the new list. */
	left = channel->nr_sessions;
	while (left) {
		s = admin_rotate(channel, &left);
		spin_unlock_bh(&channel->lock);
		if (s && !permits_session(acl, s))
			rchar_session_delete(s, RCHAR_REASON_NOT_AUTHORISED);
		if (s)
			rchar_session_put(s);
		cond_resched();
		spin_lock_bh(&channel->lock);
	}
	spin_unlock_bh(&channel->lock);
}

/**
 * rchar_channel_set_acl() - change the keys and addresses of a channel
 * @channel: the channel
 * @acl: the new access list; taken over, also when this function fails
 *
 * Listen: sessions of peers that the new list does not permit end. Connect: with another key the
 * channel gets another link; its sessions stay on the link on which they were opened.
 *
 * Context: process, with rchar_channel_config_lock().
 * Return: 0; -ENODEV when the channel was deleted; -ENOENT when the key was; -ENOMEM.
 */
int rchar_channel_set_acl(struct rchar_channel *channel, struct rchar_acl *acl)
{
	struct rchar_link *old_link = channel->link, *link = NULL;

	if (channel->dead) {
		rchar_acl_put(acl);
		return -ENODEV;
	}
	if (old_link && rchar_acl_psk(acl) != old_link->psk) {
		link = admin_connect(channel, acl);
		if (!link) {
			int ret = rchar_psk_deleted(rchar_acl_psk(acl)) ? -ENOENT : -ENOMEM;

			rchar_acl_put(acl);
			return ret;
		}
	}
	admin_swap_acl(channel, acl, link);
	if (link) {
		rchar_channel_unfollow(channel);
		/* rchar_channel_state() may be looking at the old link. */
		synchronize_rcu();
		rchar_channel_follow(channel);
		/* The new link may have changed before. */
		rchar_notify_channel(channel, RCHAR_CMD_CHANNEL_STATE_NTF);
		rchar_link_unuse(old_link);
	} else if (channel->listener) {
		deny_sessions(channel, acl);
	}
	return 0;
}

/**
 * rchar_channel_revoke() - wait until peers without a session cannot access memory any more
 * @channel: the channel
 *
 * Context: process, without rchar_channel_config_lock(): this waits for devices.
 */
void rchar_channel_revoke(struct rchar_channel *channel)
{
	if (channel->type->channel_revoke)
		channel->type->channel_revoke(channel);
}

/* ---- delete ---- */

/*
 * Remove a channel from the tables, end its sessions and remove its node. The caller takes over the
 * table's reference.
 */
static void admin_end(struct rchar_channel *channel)
{
	rchar_channel_unlist(channel);
	fail_sessions(channel);
	cdev_device_del(&channel->cdev, &channel->dev);
	/* Under the mutex: this event precedes that of a new channel of the name. */
	rchar_notify_channel(channel, RCHAR_CMD_CHANNEL_DEL_NTF);
}

/*
 * Finish the deletion without the channels' mutex, because this waits for peers and devices. Other
 * tasks can meanwhile add, delete and read channels, including a new one of the same name.
 */
static void admin_del(struct rchar_channel *channel)
{
	rchar_channel_revoke(channel);
	admin_detach(channel);
	if (channel->type->channel_free)
		channel->type->channel_free(channel);
	rchar_channel_put(channel);
}

/**
 * rchar_channel_del() - delete a channel by name
 * @net: network namespace
 * @name: the name
 *
 * The initial namespace can delete channels of any namespace. A channel holds its namespace, and
 * that namespace may not be reachable in any other way. The channel also occupies its name for the
 * whole host.
 *
 * Context: process.
 * Return: 0 or -ENODEV.
 */
int rchar_channel_del(struct net *net, const char *name)
{
	struct rchar_channel *channel;

	rchar_channel_config_lock();
	channel = rchar_channel_find_locked(net, name);
	if (channel)
		admin_end(channel);
	rchar_channel_config_unlock();
	if (!channel)
		return -ENODEV;
	admin_del(channel);
	return 0;
}

/**
 * rchar_channel_del_all() - delete all channels at module unload
 */
void rchar_channel_del_all(void)
{
	struct rchar_channel *channel;

	do {
		rchar_channel_config_lock();
		channel = rchar_channel_find_locked(&init_net, NULL);
		if (channel)
			admin_end(channel);
		rchar_channel_config_unlock();
		if (channel)
			admin_del(channel);
	} while (channel);
}
