/* SPDX-License-Identifier: GPL-2.0 */
/* Channels of type message: one write is one message, one read returns one. */
#ifndef RCHAR_MESSAGE_H
#define RCHAR_MESSAGE_H

#include <linux/fs.h>

extern const struct file_operations rchar_message_fops;

#endif /* RCHAR_MESSAGE_H */
