/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interface between sessions and the types of channels. Channels and sessions use a type only
 * through this table and never name a type. A new type adds a table of its own, and an entry in
 * types.c.
 */
#ifndef RCHAR_TYPE_H
#define RCHAR_TYPE_H

#include <linux/types.h>
#include "proto/frame.h"

struct file_operations;
struct netlink_ext_ack;
struct rchar_channel;
struct rchar_info;
struct rchar_link;
struct rchar_rxbuf;
struct rchar_session;

/**
 * struct rchar_type - operations of a type of channels, in one role
 * @fops: operations of the device node
 * @halves: a session has a reading and a writing half; FIN and STOP end one half each
 * @priv_size: bytes of private data in each session, zeroed when the session is created
 *
 * @channel_create: set up &rchar_channel.priv of a channel that is being added. Process context.
 *	Returns 0, or a negative errno with the reason in the extack.
 * @channel_dead: the channel is being deleted: wake programs that wait on it. Process context.
 * @channel_revoke: stop the access of peers to the channel's memory, if all sessions by which they
 *	had it are dead, before this returns. Process context.
 * @channel_free: drop &rchar_channel.priv. Called when the channel is deleted, and again when the
 *	last reference is dropped. Any context but hard interrupt.
 *
 * @create: set up the private data of a new session. Any context but hard interrupt. Returns 0
 *	or a negative errno.
 * @free: undo @create; no references are left. Process context, or, for a session that was never
 *	bound to a link, any but hard interrupt.
 * @accept: accept a session that a peer opens, without a program's open(). Called with the
 *	channel's lock. When NULL, an acceptor takes the session, or the session waits in the
 *	backlog.
 * @fill_opened: append the type's part to the payload of OPENED. Returns the bytes appended.
 * @opened_len: initiator: bytes that follow struct rchar_wire_opened in the OPENED of the peer
 * @opened: initiator: OPENED arrived; take the @opened_len bytes
 * @up: acceptor: the link of the session came up
 * @receive: take a frame whose op only the types handle. Returns 0; -ENOMEM to get the frame
 *	again after a reconnect; -ENOBUFS when the peer makes this host hold too much. Sets *@err
 *	when the frame violates the protocol.
 * @fin: FIN arrived. May end the session.
 * @stopped: this host shuts its reading half
 * @closed: the program closed the file while the session was OPEN
 * @cancel: continues @closed without the session's lock. Process context.
 * @dead: the session has just become DEAD
 * @bury: continues @dead without the session's lock. Process context.
 *
 * @readable: does a read() find something? Any context.
 * @readable_bytes: the result of FIONREAD
 * @rx_missing: bytes that the receive window counts as unread, but that a read() does not return
 * @dropped: all segments received and not read have just been dropped
 * @fill_info: fill in the type's part of struct rchar_info
 *
 * Operations on sessions run with the session's lock unless their description differs. Every
 * pointer but @fops may be NULL.
 */
struct rchar_type {
	const struct file_operations *fops;
	bool halves;
	size_t priv_size;

	int (*channel_create)(struct rchar_channel *channel, struct netlink_ext_ack *extack);
	void (*channel_dead)(struct rchar_channel *channel);
	void (*channel_revoke)(struct rchar_channel *channel);
	void (*channel_free)(struct rchar_channel *channel);

	int (*create)(struct rchar_session *s);
	void (*free)(struct rchar_session *s);
	enum rchar_reason (*accept)(struct rchar_channel *channel, struct rchar_link *link,
				    const struct rchar_hdr *hdr);
	u32 (*fill_opened)(const struct rchar_session *s, void *payload);
	u32 opened_len;
	enum rchar_frame_error (*opened)(struct rchar_session *s, const void *payload);
	void (*up)(struct rchar_session *s);
	int (*receive)(struct rchar_session *s, const struct rchar_hdr *hdr,
		       struct rchar_rxbuf *rxb, enum rchar_frame_error *err);
	enum rchar_frame_error (*fin)(struct rchar_session *s);
	void (*stopped)(struct rchar_session *s);
	void (*closed)(struct rchar_session *s);
	void (*cancel)(struct rchar_session *s);
	void (*dead)(struct rchar_session *s);
	void (*bury)(struct rchar_session *s);

	bool (*readable)(const struct rchar_session *s);
	u32 (*readable_bytes)(const struct rchar_session *s);
	u32 (*rx_missing)(const struct rchar_session *s);
	void (*dropped)(struct rchar_session *s);
	void (*fill_info)(const struct rchar_session *s, struct rchar_info *info);
};

#endif /* RCHAR_TYPE_H */
