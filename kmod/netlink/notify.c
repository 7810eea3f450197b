// SPDX-License-Identifier: GPL-2.0
#include "base/notify.h"
#include <net/genetlink.h>
#include "fill.h"
#include "link/link.h"
#include "link/psk.h"
#include "session/channel.h"
#include "session/session.h"

/* RCU. NULL once the module begins to unload: another family may get the number of its group. */
static const struct genl_family *family;

/* Tell the monitors, by ENOBUFS from their sockets, that they miss an event. */
static void lose_event(struct net *net)
{
	const struct genl_family *f;

	rcu_read_lock();
	f = READ_ONCE(family);
	if (f)
		genl_set_err(f, net, 0, 0, -ENOBUFS);
	rcu_read_unlock();
}

/* An event, to be filled in; NULL when no monitor listens or without memory. */
static struct sk_buff *begin_event(struct net *net, enum rchar_cmd cmd, size_t size, void **hdr)
{
	const struct genl_family *f;
	struct sk_buff *skb;
	bool heard;

	rcu_read_lock();
	f = READ_ONCE(family);
	heard = f && genl_has_listeners(f, net, 0);
	rcu_read_unlock();
	if (!heard)
		return NULL;
	skb = genlmsg_new(size, GFP_ATOMIC);
	if (!skb) {
		lose_event(net);
		return NULL;
	}
	*hdr = genlmsg_put(skb, 0, 0, f, 0, cmd);
	if (*hdr)
		return skb;
	nlmsg_free(skb);
	return NULL;
}

/* Send an event, or drop it when filling it in has failed. */
static void end_event(struct net *net, struct sk_buff *skb, void *hdr, int ret)
{
	const struct genl_family *f;

	rcu_read_lock();
	f = READ_ONCE(family);
	if (ret || !f) {
		nlmsg_free(skb);
		lose_event(net);
	} else {
		genlmsg_end(skb, hdr);
		genlmsg_multicast_netns(f, net, skb, 0, 0, GFP_ATOMIC);
	}
	rcu_read_unlock();
}

/**
 * rchar_notify_channel() - send an event about a channel to the monitors
 * @channel: the channel
 * @cmd: RCHAR_CMD_CHANNEL_*_NTF
 */
void rchar_notify_channel(struct rchar_channel *channel, enum rchar_cmd cmd)
{
	struct sk_buff *skb;
	void *hdr;

	if (cmd == RCHAR_CMD_CHANNEL_NEW_NTF || cmd == RCHAR_CMD_CHANNEL_DEL_NTF)
		rchar_fill_changed();
	skb = begin_event(channel->net, cmd, RCHAR_FILL_SIZE, &hdr);
	if (skb)
		end_event(channel->net, skb, hdr, rchar_fill_channel(skb, channel));
}

/**
 * rchar_notify_link() - send an event about a link to the monitors
 * @link: the link, which has changed state
 */
void rchar_notify_link(struct rchar_link *link)
{
	struct sk_buff *skb;
	void *hdr;

	rchar_fill_changed();
	skb = begin_event(link->net, RCHAR_CMD_LINK_STATE_NTF, GENLMSG_DEFAULT_SIZE, &hdr);
	if (skb)
		end_event(link->net, skb, hdr, rchar_fill_link(skb, link, false));
}

/**
 * rchar_notify_session() - send an event about a session to the monitors
 * @session: the session, which has changed state; its lock is held
 */
void rchar_notify_session(struct rchar_session *session)
{
	struct net *net = session->channel->net;
	struct sk_buff *skb;
	void *hdr;

	skb = begin_event(net, RCHAR_CMD_SESSION_STATE_NTF, GENLMSG_DEFAULT_SIZE, &hdr);
	if (skb)
		end_event(net, skb, hdr, rchar_fill_session_locked(skb, session));
}

/**
 * rchar_notify_key() - send an event about a key to the monitors
 * @psk: the key
 * @cmd: RCHAR_CMD_KEY_*_NTF
 */
void rchar_notify_key(struct rchar_psk *psk, enum rchar_cmd cmd)
{
	struct sk_buff *skb;
	void *hdr;

	rchar_fill_changed();
	skb = begin_event(psk->net, cmd, GENLMSG_DEFAULT_SIZE, &hdr);
	if (skb)
		end_event(psk->net, skb, hdr, rchar_fill_key_name(skb, psk));
}

/**
 * rchar_notify_init() - set the family for events
 * @f: the family, before it is registered; its first multicast group is the monitors' group. NULL,
 *     before it is unregistered: after the return there are no more events.
 *
 * Context: process.
 */
void rchar_notify_init(const struct genl_family *f)
{
	WRITE_ONCE(family, f);
	if (!f)
		synchronize_rcu();
}
