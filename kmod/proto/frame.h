/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frame headers in host form: encode, decode, check. Pure functions without state or side
 * effects; selftests/unit/ runs the same source in user space.
 */
#ifndef RCHAR_FRAME_H
#define RCHAR_FRAME_H

#include <linux/types.h>
#include "wire.h"

/**
 * struct rchar_hdr - a frame header in host byte order
 * @op: enum rchar_op
 * @flags: RCHAR_FRAME_*
 * @credits: receive buffers newly posted by the sender
 * @len: payload bytes
 * @session: session id, 0 in frames about the lane
 * @seq: sequence number, 0 in frames that are not sequenced
 * @ack: next sequence number that the sender expects
 * @window: byte offset up to which the receiver of the frame may send in this session
 */
struct rchar_hdr {
	u8 op;
	u8 flags;
	u16 credits;
	u32 len;
	u32 session;
	u32 seq;
	u32 ack;
	u32 window;
};

/* Errors of a frame; 0 means that the frame is valid. */
enum rchar_frame_error {
	RCHAR_FRAME_OK,
	RCHAR_FRAME_SHORT, /* fewer bytes than a header */
	RCHAR_FRAME_BAD_OP,
	RCHAR_FRAME_BAD_FLAGS,
	RCHAR_FRAME_BAD_LENGTH,
	RCHAR_FRAME_BAD_SESSION,
	RCHAR_FRAME_BAD_SEQ,
	RCHAR_FRAME_BAD_ACK,
	RCHAR_FRAME_BAD_CREDITS,
	RCHAR_FRAME_BAD_PAYLOAD,
	RCHAR_FRAME_BAD_STATE, /* well formed, but not allowed in the current state */
	RCHAR_FRAME_BAD_TAG,   /* encrypted connection: not the next frame that the peer sealed */
	__RCHAR_FRAME_ERROR_MAX
};

void rchar_hdr_encode(struct rchar_wire_hdr *wire, const struct rchar_hdr *hdr);
void rchar_hdr_decode(struct rchar_hdr *hdr, const struct rchar_wire_hdr *wire);
enum rchar_frame_error rchar_hdr_check(const struct rchar_hdr *hdr, u32 byte_len, u32 max_payload);
bool rchar_op_sequenced(u8 op);

/* Does a frame carry a program's bytes, which the window bounds? All other ops are control. */
static inline bool rchar_op_carries_data(u8 op)
{
	return op == RCHAR_OP_DATA || op == RCHAR_OP_MSG;
}

/* Do the bytes of the frame count against the window? Those of INSTEAD did with the RNDV before. */
static inline bool rchar_hdr_takes_window(const struct rchar_hdr *hdr)
{
	return rchar_op_carries_data(hdr->op) && !(hdr->flags & RCHAR_FRAME_INSTEAD);
}

const char *rchar_op_name(u8 op);
const char *rchar_frame_error_name(enum rchar_frame_error err);
bool rchar_name_valid(const char *name, size_t len);
enum rchar_frame_error rchar_open_check(const struct rchar_wire_open *open);
u32 rchar_open_max_message(const struct rchar_wire_open *open);
enum rchar_frame_error rchar_opened_check(const struct rchar_wire_opened *opened, u32 type);
enum rchar_frame_error rchar_region_check(const struct rchar_wire_region *region);
enum rchar_frame_error rchar_rndv_check(const struct rchar_wire_rndv *rndv);
enum rchar_frame_error rchar_map_check(const struct rchar_wire_map *map, u32 len, u64 size);
bool rchar_window_valid(u32 window, u32 max_message);

#endif /* RCHAR_FRAME_H */
