/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The door between sessions and the types of channels. Channels and sessions know a type by
 * this table alone, and no type by its name: a new type is a table of its own, and an entry
 * in types.c.
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
 * struct rchar_type - a type of channels, in one role
 * @fops: operations of the device node
 * @halves: a session has a reading and a writing half, which FIN and STOP end one at a time
 * @priv_size: bytes of private data that follow each session, zeroed at first
 *
 * @channel_create: the channel is being added: set up @rchar_channel.priv. Process context.
 *	Returns 0, or a negative errno with the reason in the extack.
 * @channel_dead: the channel is deleted: wake whoever waits for it. Process context.
 * @channel_revoke: when this returns no peer uses the channel's memory. Process context.
 * @channel_free: drop @rchar_channel.priv; called with the delete, and once more with the last
 *	reference. Any context but hard interrupt.
 *
 * @create: a session is being made: set up the private data. Any context but hard interrupt.
 *	Returns 0 or a negative errno.
 * @free: undo @create. Process context; nobody has a reference.
 * @accept: a peer opens a session, and this type does not wait for a program's open(). Called
 *	with the channel's lock. Without it the session waits in the backlog.
 * @fill_opened: add to the payload of OPENED what the peer needs to know. Returns bytes.
 * @opened_len: bytes that follow struct rchar_wire_opened when the peer is of this type
 * @opened: initiator: OPENED brings those bytes
 * @up: acceptor: the link of the session came up
 * @receive: a frame with an op of the type's own. Returns 0; -ENOMEM to get the frame again
 *	after a reconnect; -ENOBUFS when the peer makes this host hold too much. Sets *@err when
 *	the frame breaks the protocol.
 * @fin: the peer sends FIN. May end the session.
 * @stopped: this host reads no more
 * @closed: the file is closed, and the session is open
 * @cancel: after @closed, without the session's lock. Process context.
 * @dead: the session has just become DEAD
 * @bury: after @dead, without the session's lock. Process context.
 *
 * @readable: does a read() find something? Any context.
 * @readable_bytes: the answer to FIONREAD
 * @rx_missing: bytes that the receive window counts as unread, and that no read() will find
 * @dropped: what was received and not read is dropped
 * @fill_info: the type's part of struct rchar_info
 *
 * Operations of sessions run with the session's lock unless they say otherwise. Those without
 * meaning for a type are NULL, but for @fops.
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
