// SPDX-License-Identifier: GPL-2.0
#include "frame.h"
#include <linux/kernel.h>
#include <linux/string.h>
#include <asm/byteorder.h>
#include "uapi/linux/rdma_char.h"
#include "words.h"

/* In a rule, a maximum length of ANY means that only the receive buffer limits the length. */
#define ANY 0xffffffffu

struct op_rule {
	u32 min_len;
	u32 max_len;
	u8 flags;
	bool sequenced;
};

static const struct op_rule rules[RCHAR_OP_MAX] = {
	/* with the public key on an encrypted connection */
	[RCHAR_OP_HELLO] = { sizeof(struct rchar_wire_hello),
			     sizeof(struct rchar_wire_hello_public), 0, false },
	[RCHAR_OP_READY] = { sizeof(struct rchar_wire_hello), sizeof(struct rchar_wire_hello), 0,
			     false },
	[RCHAR_OP_CREDIT] = { 0, 0, 0, false },
	[RCHAR_OP_PING] = { 0, 0, 0, false },
	[RCHAR_OP_PONG] = { 0, 0, 0, false },
	[RCHAR_OP_TRIM] = { 0, 0, 0, false },
	[RCHAR_OP_OPEN] = { sizeof(struct rchar_wire_open), sizeof(struct rchar_wire_open),
			    RCHAR_FRAME_ACK, true },
	[RCHAR_OP_OPENED] = { sizeof(struct rchar_wire_opened),
			      sizeof(struct rchar_wire_opened) + sizeof(struct rchar_wire_region),
			      RCHAR_FRAME_ACK, true },
	[RCHAR_OP_REFUSED] = { sizeof(struct rchar_wire_status), sizeof(struct rchar_wire_status),
			       RCHAR_FRAME_ACK, true },
	[RCHAR_OP_DATA] = { 1, ANY, RCHAR_FRAME_ACK | RCHAR_FRAME_INSTEAD, true },
	[RCHAR_OP_MSG] = { 1, ANY, RCHAR_FRAME_FLAGS, true },
	[RCHAR_OP_FIN] = { 0, 0, RCHAR_FRAME_ACK, true },
	[RCHAR_OP_STOP] = { 0, 0, RCHAR_FRAME_ACK, true },
	[RCHAR_OP_RESET] = { sizeof(struct rchar_wire_status), sizeof(struct rchar_wire_status),
			     RCHAR_FRAME_ACK, true },
	[RCHAR_OP_WINDOW] = { 0, 0, RCHAR_FRAME_ACK, true },
	[RCHAR_OP_MAP] = { sizeof(struct rchar_wire_map), ANY, RCHAR_FRAME_ACK, true },
	/* more than the structure with READ and WRITE only */
	[RCHAR_OP_CALL] = { sizeof(struct rchar_wire_call),
			    sizeof(struct rchar_wire_call) + RCHAR_WIRE_PIECE_MAX, RCHAR_FRAME_ACK,
			    true },
	[RCHAR_OP_RESULT] = { sizeof(struct rchar_wire_result),
			      sizeof(struct rchar_wire_result) + RCHAR_WIRE_PIECE_MAX,
			      RCHAR_FRAME_ACK, true },
	[RCHAR_OP_RNDV] = { sizeof(struct rchar_wire_rndv), sizeof(struct rchar_wire_rndv),
			    RCHAR_FRAME_ACK, true },
	[RCHAR_OP_RNDV_DONE] = { sizeof(struct rchar_wire_rndv_done),
				 sizeof(struct rchar_wire_rndv_done), RCHAR_FRAME_ACK, true },
};

/**
 * rchar_hdr_encode() - convert a header from host form to wire form
 * @wire: set to the wire form
 * @hdr: the host form
 */
void rchar_hdr_encode(struct rchar_wire_hdr *wire, const struct rchar_hdr *hdr)
{
	wire->op = hdr->op;
	wire->flags = hdr->flags;
	wire->credits = cpu_to_le16(hdr->credits);
	wire->len = cpu_to_le32(hdr->len);
	wire->session = cpu_to_le32(hdr->session);
	wire->seq = cpu_to_le32(hdr->seq);
	wire->ack = cpu_to_le32(hdr->ack);
	wire->window = cpu_to_le32(hdr->window);
}

/**
 * rchar_hdr_decode() - convert a header from wire form to host form, without checks
 * @hdr: set to the host form
 * @wire: the wire form
 */
void rchar_hdr_decode(struct rchar_hdr *hdr, const struct rchar_wire_hdr *wire)
{
	hdr->op = wire->op;
	hdr->flags = wire->flags;
	hdr->credits = le16_to_cpu(wire->credits);
	hdr->len = le32_to_cpu(wire->len);
	hdr->session = le32_to_cpu(wire->session);
	hdr->seq = le32_to_cpu(wire->seq);
	hdr->ack = le32_to_cpu(wire->ack);
	hdr->window = le32_to_cpu(wire->window);
}

#define OP_NAME(op, word) [op] = word,

/* An op without a name does not exist. */
static const char *const op_names[RCHAR_OP_MAX] = { RCHAR_OP_NAMES(OP_NAME) };

static const struct op_rule *find_rule(u8 op)
{
	return op < RCHAR_OP_MAX && op_names[op] ? &rules[op] : NULL;
}

/**
 * rchar_hdr_check() - check that a received header is well formed
 * @hdr: the decoded header
 * @byte_len: bytes received, header included
 * @max_payload: size of the receive buffer after the header
 *
 * The flow and the lane check the sequence number, the ack and the credits.
 *
 * Return: RCHAR_FRAME_OK, or the first error found.
 */
enum rchar_frame_error rchar_hdr_check(const struct rchar_hdr *hdr, u32 byte_len, u32 max_payload)
{
	const struct op_rule *rule = find_rule(hdr->op);

	if (byte_len < sizeof(struct rchar_wire_hdr))
		return RCHAR_FRAME_SHORT;
	if (!rule)
		return RCHAR_FRAME_BAD_OP;
	if (hdr->flags & ~(rule->flags | RCHAR_FRAME_LANE))
		return RCHAR_FRAME_BAD_FLAGS;
	if (hdr->len != byte_len - sizeof(struct rchar_wire_hdr) || hdr->len > max_payload ||
	    hdr->len < rule->min_len || hdr->len > rule->max_len)
		return RCHAR_FRAME_BAD_LENGTH;
	if (rule->sequenced != (hdr->session != 0))
		return RCHAR_FRAME_BAD_SESSION;
	if (!rule->sequenced && hdr->seq)
		return RCHAR_FRAME_BAD_SEQ;
	return RCHAR_FRAME_OK;
}

/**
 * rchar_op_sequenced() - does a frame with this op carry a sequence number?
 * @op: any value; an unknown op is not sequenced
 */
bool rchar_op_sequenced(u8 op)
{
	const struct op_rule *rule = find_rule(op);

	return rule && rule->sequenced;
}

/**
 * rchar_op_name() - return the name of an op, for traces and logs
 * @op: any value
 */
const char *rchar_op_name(u8 op)
{
	return find_rule(op) ? op_names[op] : "?";
}

/**
 * rchar_frame_error_name() - return a description of a frame error
 * @err: enum rchar_frame_error
 */
const char *rchar_frame_error_name(enum rchar_frame_error err)
{
	static const char *const names[__RCHAR_FRAME_ERROR_MAX] = {
		[RCHAR_FRAME_OK] = "ok",
		[RCHAR_FRAME_SHORT] = "shorter than a header",
		[RCHAR_FRAME_BAD_OP] = "unknown op",
		[RCHAR_FRAME_BAD_FLAGS] = "flags not allowed for this op",
		[RCHAR_FRAME_BAD_LENGTH] = "wrong length",
		[RCHAR_FRAME_BAD_SESSION] = "wrong session id",
		[RCHAR_FRAME_BAD_SEQ] = "sequence number out of order",
		[RCHAR_FRAME_BAD_ACK] = "acknowledges what was not sent",
		[RCHAR_FRAME_BAD_CREDITS] = "more credits than receive buffers",
		[RCHAR_FRAME_BAD_PAYLOAD] = "malformed payload",
		[RCHAR_FRAME_BAD_STATE] = "not expected in this state",
		[RCHAR_FRAME_BAD_TAG] = "not sealed by the peer, or changed",
	};

	return (unsigned int)err < __RCHAR_FRAME_ERROR_MAX ? names[err] : "?";
}

static bool name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/**
 * rchar_name_valid() - is a string a channel name, [A-Za-z0-9][A-Za-z0-9._-]{0,30}?
 * @name: the string, not necessarily terminated
 * @len: bytes of the string
 *
 * A '/' or a leading '.' is not allowed, because the name is a file name under /dev/rchar.
 */
bool rchar_name_valid(const char *name, size_t len)
{
	size_t i;

	if (len < 1 || len > RCHAR_NAME_MAX || !name_char(name[0]))
		return false;
	for (i = 1; i < len; i++)
		if (!name_char(name[i]) && name[i] != '.' && name[i] != '_' && name[i] != '-')
			return false;
	return true;
}

static bool max_message_valid(u32 type, u32 max_message)
{
	switch (type) {
	case RCHAR_TYPE_STREAM:
	case RCHAR_TYPE_MEMORY:
		return !max_message;
	case RCHAR_TYPE_MESSAGE:
		return max_message && max_message <= RCHAR_WIRE_MESSAGE_MAX;
	default:
		return true; /* an unknown type is refused later */
	}
}

/**
 * rchar_open_check() - check the payload of an OPEN
 * @open: the payload; its length is correct
 *
 * An unknown type passes this check. The acceptor then answers REFUSED, and the lane stays up.
 *
 * Return: RCHAR_FRAME_OK or RCHAR_FRAME_BAD_PAYLOAD.
 */
enum rchar_frame_error rchar_open_check(const struct rchar_wire_open *open)
{
	size_t len = strnlen((const char *)open->name, sizeof(open->name));
	size_t i;

	if (open->flags & ~RCHAR_OPEN_FLAGS || open->reserved[0] || open->reserved[1] ||
	    !max_message_valid(open->type, le32_to_cpu(open->max_message)))
		return RCHAR_FRAME_BAD_PAYLOAD;
	if (len == sizeof(open->name) || !rchar_name_valid((const char *)open->name, len))
		return RCHAR_FRAME_BAD_PAYLOAD;
	for (i = len; i < sizeof(open->name); i++)
		if (open->name[i])
			return RCHAR_FRAME_BAD_PAYLOAD;
	return RCHAR_FRAME_OK;
}

/**
 * rchar_open_max_message() - return the length of the longest message that the peer announces
 * @open: payload of an OPEN, checked by rchar_open_check()
 *
 * Return: bytes; 0 for all types but message channels.
 */
u32 rchar_open_max_message(const struct rchar_wire_open *open)
{
	return open->type == RCHAR_TYPE_MESSAGE ? le32_to_cpu(open->max_message) : 0;
}

/**
 * rchar_opened_check() - check the fixed part of the payload of an OPENED
 * @opened: the payload; its length is correct
 * @type: enum rchar_channel_type of the session
 *
 * Return: RCHAR_FRAME_OK or RCHAR_FRAME_BAD_PAYLOAD.
 */
enum rchar_frame_error rchar_opened_check(const struct rchar_wire_opened *opened, u32 type)
{
	size_t i;

	for (i = 0; i < sizeof(opened->reserved); i++)
		if (opened->reserved[i])
			return RCHAR_FRAME_BAD_PAYLOAD;
	if (!max_message_valid(type, le32_to_cpu(opened->max_message)))
		return RCHAR_FRAME_BAD_PAYLOAD;
	return RCHAR_FRAME_OK;
}

/**
 * rchar_region_check() - check the description of a region in an OPENED
 * @region: the part after struct rchar_wire_opened
 *
 * Return: RCHAR_FRAME_OK or RCHAR_FRAME_BAD_PAYLOAD.
 */
enum rchar_frame_error rchar_region_check(const struct rchar_wire_region *region)
{
	size_t i;

	for (i = 0; i < sizeof(region->reserved); i++)
		if (region->reserved[i])
			return RCHAR_FRAME_BAD_PAYLOAD;
	if (!region->size || le64_to_cpu(region->size) > RCHAR_REGION_SIZE_MAX ||
	    (region->access != RCHAR_ACCESS_RO && region->access != RCHAR_ACCESS_RW) ||
	    (region->atomics != RCHAR_ATOMICS_SW && region->atomics != RCHAR_ATOMICS_HW) ||
	    region->by_call & ~RCHAR_BY_CALL_FLAGS || region->by_call == RCHAR_BY_CALL_WRITE)
		return RCHAR_FRAME_BAD_PAYLOAD;
	/* Without keys no device executes atomic operations. */
	if (region->by_call & RCHAR_BY_CALL_WRITE && region->atomics == RCHAR_ATOMICS_HW)
		return RCHAR_FRAME_BAD_PAYLOAD;
	return RCHAR_FRAME_OK;
}

/**
 * rchar_rndv_check() - check the payload of a RNDV
 * @rndv: the payload
 *
 * Return: RCHAR_FRAME_OK or RCHAR_FRAME_BAD_PAYLOAD.
 */
enum rchar_frame_error rchar_rndv_check(const struct rchar_wire_rndv *rndv)
{
	u32 len = le32_to_cpu(rndv->len);

	if (len < RCHAR_WIRE_RNDV_MIN || len > RCHAR_WIRE_RNDV_MAX || rndv->reserved ||
	    le32_to_cpu(rndv->offset) >= RCHAR_WIRE_RNDV_MAX)
		return RCHAR_FRAME_BAD_PAYLOAD;
	return RCHAR_FRAME_OK;
}

/**
 * rchar_map_check() - check the payload of a MAP
 * @map: the part before the keys
 * @len: payload bytes of the frame
 * @size: bytes of the region
 *
 * Return: RCHAR_FRAME_OK or RCHAR_FRAME_BAD_PAYLOAD.
 */
enum rchar_frame_error rchar_map_check(const struct rchar_wire_map *map, u32 len, u64 size)
{
	u64 first = le32_to_cpu(map->first), count = le32_to_cpu(map->count), all;

	if (map->reserved[0] || map->reserved[1] || map->reserved[2] ||
	    map->shift < RCHAR_WIRE_BLOCK_SHIFT_MIN || map->shift > RCHAR_WIRE_BLOCK_SHIFT_MAX ||
	    !count || count > RCHAR_WIRE_MAP_KEYS ||
	    len != sizeof(*map) + count * sizeof(map->keys[0]))
		return RCHAR_FRAME_BAD_PAYLOAD;
	all = ((size - 1) >> map->shift) + 1;
	if (all > RCHAR_WIRE_BLOCKS_MAX || first + count > all)
		return RCHAR_FRAME_BAD_PAYLOAD;
	return RCHAR_FRAME_OK;
}

/**
 * rchar_window_valid() - is the first window of a peer valid?
 * @window: window in the header of OPEN or OPENED
 * @max_message: longest message for which the window must have room; 0: none
 */
bool rchar_window_valid(u32 window, u32 max_message)
{
	return window <= RCHAR_WIRE_WINDOW_MAX &&
	       (!max_message || window >= max_message + RCHAR_WIRE_MESSAGE_COST);
}
