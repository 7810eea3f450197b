/* SPDX-License-Identifier: GPL-2.0 */
/* Channels of type stream: bytes in order. */
#ifndef RCHAR_STREAM_H
#define RCHAR_STREAM_H

#include <linux/fs.h>

extern const struct file_operations rchar_stream_fops;

#endif /* RCHAR_STREAM_H */
