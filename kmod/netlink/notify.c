// SPDX-License-Identifier: GPL-2.0
#include "base/notify.h"
#include <net/genetlink.h>
#include "fill.h"
#include "link/link.h"
#include "session/channel.h"
#include "session/session.h"

static const struct genl_family *family;

static int notify_fill_channel(struct sk_buff *skb, const void *obj)
{
	return rchar_fill_channel(skb, (struct rchar_channel *)obj);
}

static int notify_fill_link(struct sk_buff *skb, const void *obj)
{
	return rchar_fill_link(skb, (struct rchar_link *)obj, false);
}

static void send_event(struct net *net, u8 cmd,
		       int (*fill)(struct sk_buff *skb, const void *obj),
		       const void *obj)
{
	struct sk_buff *skb;
	void *hdr;

	if (!genl_has_listeners(family, net, 0))
		return;
	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_ATOMIC);
	if (!skb)
		return;
	hdr = genlmsg_put(skb, 0, 0, family, 0, cmd);
	if (!hdr || fill(skb, obj)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, hdr);
	genlmsg_multicast_netns(family, net, skb, 0, 0, GFP_ATOMIC);
}

/**
 * rchar_notify_channel() - send an event about a channel to the monitors
 * @channel: the channel
 * @cmd: RCHAR_CMD_CHANNEL_*_NTF
 */
void rchar_notify_channel(struct rchar_channel *channel, enum rchar_cmd cmd)
{
	if (cmd == RCHAR_CMD_CHANNEL_NEW_NTF || cmd == RCHAR_CMD_CHANNEL_DEL_NTF)
		rchar_fill_changed();
	send_event(channel->net, cmd, notify_fill_channel, channel);
}

/**
 * rchar_notify_link() - send an event about a link to the monitors
 * @link: the link, which has changed state
 */
void rchar_notify_link(struct rchar_link *link)
{
	rchar_fill_changed();
	send_event(link->net, RCHAR_CMD_LINK_STATE_NTF, notify_fill_link, link);
}

static int fill_session_locked(struct sk_buff *skb, const void *obj)
{
	return rchar_fill_session_locked(skb, (struct rchar_session *)obj);
}

/**
 * rchar_notify_session() - send an event about a session to the monitors
 * @session: the session, which has changed state; its lock is held
 */
void rchar_notify_session(struct rchar_session *session)
{
	send_event(session->channel->net, RCHAR_CMD_SESSION_STATE_NTF,
		   fill_session_locked, session);
}

/**
 * rchar_notify_init() - set the family for events; before the family is registered
 * @f: the family; its first multicast group is the monitors' group
 */
void rchar_notify_init(const struct genl_family *f)
{
	family = f;
}
