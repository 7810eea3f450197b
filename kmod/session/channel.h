/* SPDX-License-Identifier: GPL-2.0 */
/* A channel: the named device that 'rchar add' creates. */
#ifndef RCHAR_CHANNEL_H
#define RCHAR_CHANNEL_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/list.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include "base/chunk.h"
#include "base/stats.h"
#include "proto/wire.h"
#include "uapi/linux/rdma_char.h"

struct net;
struct netlink_ext_ack;
struct rchar_acl;
struct rchar_link;
struct rchar_listener;
struct rchar_psk;
struct rchar_type;

/* Defaults and limits of the settings; netlink/parse.c enforces the limits. */
#define RCHAR_WINDOW_DEFAULT	     (1u << 20)
#define RCHAR_RENDEZVOUS_MIN_DEFAULT (256u << 10)
#define RCHAR_RENDEZVOUS_MIN_MAX     (1u << 30)
#define RCHAR_WINDOW_MIN	     (64u << 10)
#define RCHAR_WINDOW_MAX	     (256u << 20)
#define RCHAR_FRAME_MIN		     (4u << 10)
#define RCHAR_FRAME_MAX		     RCHAR_FRAME_SIZE
#define RCHAR_MESSAGE_DEFAULT	     (1u << 20)
#define RCHAR_MESSAGE_MAX	     RCHAR_WIRE_MESSAGE_MAX
#define RCHAR_BACKLOG_DEFAULT	     128
#define RCHAR_BACKLOG_MAX	     65535
#define RCHAR_OPEN_TIMEOUT_MS	     30000
#define RCHAR_RECOVERY_TIMEOUT_MS    60000
#define RCHAR_LINGER_MS		     30000
#define RCHAR_TOS_MAX		     255
#define RCHAR_PRIORITY_MAX	     1000
#define RCHAR_TIMEOUT_MS_MAX	     (24u * 3600 * 1000)
#define RCHAR_CHANNELS_MAX	     4096

/**
 * struct rchar_config - configuration of a channel, set by the administrator
 * @name: name of the channel and of its device node
 * @type: enum rchar_channel_type
 * @role: enum rchar_role
 * @local: listen: address and port to listen on; connect: source address, or family
 *	   AF_UNSPEC
 * @peer: connect: address and port of the peer
 * @remote: connect: name of the peer's channel
 * @mode: permission bits of the node
 * @uid: owner of the node
 * @gid: group of the node
 * @rendezvous_min: length in bytes from which on a write() uses a rendezvous; 0: never
 * @window: bytes that a session may hold unread; also the limit of bytes sent but not
 *	    acknowledged
 * @window_max: bytes to which the window of a session may grow; not more than @window: it does not
 * @frame: longest payload of a frame with bytes that a program has written
 * @max_message: longest message, bytes; 0 unless the type is message
 * @backlog: sessions that may wait for a program's open()
 * @open_timeout_ms: how long open() waits for the peer's answer
 * @recovery_timeout_ms: how long a session waits for a lost link
 * @size: memory, listen: bytes to export
 * @access: memory, listen: enum rchar_access
 * @atomics: memory, listen: enum rchar_atomics
 * @encrypt: sessions use encrypted links only; otherwise links that are not encrypted
 * @lanes: connect: connections of the link; 0: as the module parameter says
 * @keepalive_ms: connect: keepalive interval of the link, which rounds up to seconds; 0: the module
 *		  parameter
 * @tos: connect: type of service of the link's packets; 0: as the host is configured
 * @priority: share of a link that the channel's sessions get when others want it as well; sessions
 *	      refer to it
 * @linger_ms: how long the session continues to send queued bytes after the last close()
 */
struct rchar_config {
	char name[RCHAR_NAME_MAX + 1];
	u32 type;
	u32 role;
	struct sockaddr_storage local;
	struct sockaddr_storage peer;
	char remote[RCHAR_NAME_MAX + 1];
	u32 mode;
	kuid_t uid;
	kgid_t gid;
	u32 rendezvous_min;
	u32 window;
	u32 window_max;
	u32 frame;
	u32 max_message;
	u32 backlog;
	u32 open_timeout_ms;
	u32 recovery_timeout_ms;
	u32 linger_ms;
	u64 size;
	u32 access;
	u32 atomics;
	bool encrypt;
	u32 lanes;
	u32 keepalive_ms;
	u32 tos;
	u32 priority;
};

/**
 * struct rchar_channel - one device
 * @dev: the device; its release function frees the channel
 * @cdev: character device; an open file holds a reference to @cdev, and @cdev one to @dev
 * @rcu: for kfree_rcu(): peers' requests look channels up under RCU
 * @name_entry: entry of the table of names
 * @way_entry: entry of the table of listeners and links
 * @id: index in the table of channels, and minor number
 * @net: network namespace in which the channel was added; the channel holds a reference
 * @config: configuration; the settings that can change are written under the channels' mutex
 *	    and read with READ_ONCE()
 * @type: operations of the channel's type, in the channel's role
 * @listener: listen role: the listener
 * @link: connect role: the link. Changes with the key: @lock, or RCU as long as the link is not
 *	  used.
 * @acl: keys and peers' addresses that the channel allows; NULL: no key, and every address. RCU;
 *	 written with the channels' mutex and @lock.
 * @lock: protects the lists and @dead; taken before a session's lock
 * @dead: the channel is deleted; no session may be added
 * @sessions: all sessions of the channel
 * @acceptors: sessions that programs opened and that wait for a peer
 * @waiting: the backlog: sessions that peers opened and that wait for open()
 * @nr_sessions: length of @sessions
 * @nr_waiting: length of @waiting
 * @nr_importers: sessions of @sessions that hold registrations of the channel's memory
 * @reason: why the last open() failed
 * @reason_at: jiffies at which @reason was set
 * @stats: counters
 * @priv: private data of the type, until the channel is deleted; protected by @lock
 * @pinned: bytes of programs' memory that are pinned
 */
struct rchar_channel {
	struct device dev;
	struct cdev cdev;
	struct rcu_head rcu;
	struct hlist_node name_entry;
	struct hlist_node way_entry;
	u32 id;
	struct net *net;
	struct rchar_config config;
	const struct rchar_type *type;
	struct rchar_listener *listener;
	struct rchar_link *link;
	struct rchar_acl __rcu *acl;
	spinlock_t lock;
	bool dead;
	struct list_head sessions;
	struct list_head acceptors;
	struct list_head waiting;
	u32 nr_sessions;
	u32 nr_waiting;
	u32 nr_importers;
	enum rchar_reason reason;
	unsigned long reason_at;
	struct rchar_stats stats;
	void *priv;
	atomic64_t pinned;
};

struct rchar_channel *rchar_channel_create(struct net *net, const struct rchar_config *config,
					   const struct rchar_type *type, struct rchar_acl *acl);
int rchar_channel_check_name(const struct net *net, const char *name,
			     struct netlink_ext_ack *extack);
int rchar_channel_reserve(struct rchar_channel *channel, struct netlink_ext_ack *extack);
void rchar_channel_follow(struct rchar_channel *channel);
void rchar_channel_unfollow(struct rchar_channel *channel);
void rchar_channel_enlist(struct rchar_channel *channel);
void rchar_channel_unlist(struct rchar_channel *channel);
struct rchar_channel *rchar_channel_find_locked(struct net *net, const char *name);
struct rchar_channel *rchar_channel_find(struct net *net, const char *name);
struct rchar_channel *rchar_channel_find_listening(struct net *net,
						   const struct sockaddr_storage *local,
						   const char *name);
enum rchar_reason rchar_channel_admits(struct net *net, const struct sockaddr_storage *local,
				       const struct sockaddr_storage *peer,
				       const struct rchar_psk *psk, bool encrypted);
struct rchar_acl *rchar_channel_acl(struct rchar_channel *channel);
struct rchar_channel *rchar_channel_next(u32 *id);
void rchar_channel_config_lock(void);
void rchar_channel_config_unlock(void);
enum rchar_channel_state rchar_channel_state(struct rchar_channel *channel,
					     enum rchar_reason *reason, u64 *age_ms);
void rchar_channel_listener_changed(struct rchar_listener *listener);
void rchar_channel_link_changed(struct rchar_link *link);

static inline void rchar_channel_get(struct rchar_channel *channel)
{
	get_device(&channel->dev);
}

/* Context: process. Dropping the last reference releases the device. */
static inline void rchar_channel_put(struct rchar_channel *channel)
{
	put_device(&channel->dev);
}

int rchar_channel_init(void);
void rchar_channel_exit(void);

#endif /* RCHAR_CHANNEL_H */
