/* SPDX-License-Identifier: GPL-2.0 */
/* Channels of type stream: bytes in order. */
#ifndef RCHAR_STREAM_H
#define RCHAR_STREAM_H

struct rchar_type;

extern const struct rchar_type rchar_stream_type;

#endif /* RCHAR_STREAM_H */
