/* SPDX-License-Identifier: GPL-2.0 */
/* Message channels: each write() sends one message, and each read() returns one message. */
#ifndef RCHAR_MESSAGE_H
#define RCHAR_MESSAGE_H

struct rchar_type;

extern const struct rchar_type rchar_message_type;

#endif /* RCHAR_MESSAGE_H */
