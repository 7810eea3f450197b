/* SPDX-License-Identifier: GPL-2.0 */
/* Stream channels: an ordered sequence of bytes. */
#ifndef RCHAR_STREAM_H
#define RCHAR_STREAM_H

struct rchar_type;

extern const struct rchar_type rchar_stream_type;

#endif /* RCHAR_STREAM_H */
