/* SPDX-License-Identifier: GPL-2.0 */
/* Channels of type message: one write is one message, one read returns one. */
#ifndef RCHAR_MESSAGE_H
#define RCHAR_MESSAGE_H

struct rchar_type;

extern const struct rchar_type rchar_message_type;

#endif /* RCHAR_MESSAGE_H */
