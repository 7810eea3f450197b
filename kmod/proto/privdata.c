// SPDX-License-Identifier: GPL-2.0
#include "privdata.h"
#include <linux/kernel.h>
#include <linux/string.h>
#include <asm/byteorder.h>

/**
 * rchar_privdata_encode() - convert private data from host form to wire form
 * @wire: set to the wire form
 * @conn: the host form
 */
void rchar_privdata_encode(struct rchar_wire_privdata *wire, const struct rchar_privdata *conn)
{
	memset(wire, 0, sizeof(*wire));
	wire->magic = cpu_to_le32(RCHAR_WIRE_MAGIC);
	wire->major = RCHAR_WIRE_MAJOR;
	wire->minor = RCHAR_WIRE_MINOR;
	wire->lane = conn->lane;
	wire->lanes = conn->lanes;
	wire->link_id = cpu_to_le64(conn->link_id);
	wire->epoch = cpu_to_le32(conn->epoch);
	wire->attempt = cpu_to_le32(conn->attempt);
	wire->caps = cpu_to_le32((conn->caps & ~RCHAR_CAPS_KEEPALIVE_MASK) |
				 (u32)conn->keepalive << RCHAR_CAPS_KEEPALIVE_SHIFT);
	wire->frame_size = cpu_to_le32(conn->frame_size);
	wire->depth = cpu_to_le16(conn->depth);
	wire->key = cpu_to_le16(conn->key);
	wire->resume = cpu_to_le32(conn->resume);
	memcpy(wire->nonce, conn->nonce, sizeof(wire->nonce));
}

static bool fields_sane(const struct rchar_privdata *c)
{
	return c->link_id && c->frame_size >= RCHAR_WIRE_FRAME_MIN &&
	       c->frame_size <= RCHAR_WIRE_FRAME_MAX && c->depth >= RCHAR_WIRE_DEPTH_MIN &&
	       c->depth <= RCHAR_WIRE_DEPTH_MAX && c->lanes >= 1 &&
	       c->lanes <= RCHAR_WIRE_LANES_MAX && c->lane < c->lanes;
}

/**
 * rchar_privdata_decode() - check received private data, and convert the data to host form
 * @conn: set to the host form; valid only when RCHAR_PRIVDATA_OK is returned
 * @data: the private data; may be unaligned
 * @len: length that the CM reports. InfiniBand always reports the maximum and pads with zeros;
 *	 iWARP reports the exact length. @len is thus only an upper limit.
 *
 * Return: RCHAR_PRIVDATA_OK, or the first error found.
 */
enum rchar_privdata_error rchar_privdata_decode(struct rchar_privdata *conn, const void *data,
						size_t len)
{
	struct rchar_wire_privdata wire;

	if (!data || len < sizeof(wire))
		return RCHAR_PRIVDATA_SHORT;
	memcpy(&wire, data, sizeof(wire));
	if (wire.magic != cpu_to_le32(RCHAR_WIRE_MAGIC))
		return RCHAR_PRIVDATA_MAGIC;
	if (wire.major != RCHAR_WIRE_MAJOR)
		return RCHAR_PRIVDATA_VERSION;
	conn->lane = wire.lane;
	conn->lanes = wire.lanes;
	conn->link_id = le64_to_cpu(wire.link_id);
	conn->epoch = le32_to_cpu(wire.epoch);
	conn->attempt = le32_to_cpu(wire.attempt);
	conn->caps = le32_to_cpu(wire.caps) & ~RCHAR_CAPS_KEEPALIVE_MASK;
	conn->keepalive = le32_to_cpu(wire.caps) >> RCHAR_CAPS_KEEPALIVE_SHIFT;
	conn->frame_size = le32_to_cpu(wire.frame_size);
	conn->depth = le16_to_cpu(wire.depth);
	conn->key = le16_to_cpu(wire.key);
	conn->resume = le32_to_cpu(wire.resume);
	memcpy(conn->nonce, wire.nonce, sizeof(conn->nonce));
	if (!fields_sane(conn))
		return RCHAR_PRIVDATA_FIELD;
	return RCHAR_PRIVDATA_OK;
}

/**
 * rchar_reject_encode() - fill in the private data of a reject
 * @wire: set to the wire form
 * @reason: enum rchar_reason
 * @error: positive errno, for the peer's logs
 */
void rchar_reject_encode(struct rchar_wire_reject *wire, u16 reason, u32 error)
{
	memset(wire, 0, sizeof(*wire));
	wire->magic = cpu_to_le32(RCHAR_WIRE_MAGIC);
	wire->major = RCHAR_WIRE_MAJOR;
	wire->minor = RCHAR_WIRE_MINOR;
	wire->reason = cpu_to_le16(reason);
	wire->error = cpu_to_le32(error);
}

/**
 * rchar_reject_decode() - did this module's protocol, at the peer, send a reject?
 * @data: private data of the reject, or NULL
 * @len: upper limit of the length of @data
 * @reason: set to the peer's reason
 *
 * The CM's own answer to this question is wrong for siw and is not used:
 * rdma_is_consumer_reject() in drivers/infiniband/core/cma.c expects another errno than siw
 * reports.
 */
bool rchar_reject_decode(const void *data, size_t len, u16 *reason)
{
	struct rchar_wire_reject wire;

	if (!data || len < sizeof(wire))
		return false;
	memcpy(&wire, data, sizeof(wire));
	if (wire.magic != cpu_to_le32(RCHAR_WIRE_MAGIC))
		return false;
	*reason = le16_to_cpu(wire.reason);
	return true;
}
