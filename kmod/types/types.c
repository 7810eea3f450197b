// SPDX-License-Identifier: GPL-2.0
#include "types.h"
#include <linux/kernel.h>
#include "import.h"
#include "message.h"
#include "region.h"
#include "stream.h"
#include "uapi/linux/rdma_char.h"

/* Indexed by enum rchar_channel_type, then by enum rchar_role. */
static const struct rchar_type *const types[][RCHAR_ROLE_CONNECT + 1] = {
	[RCHAR_TYPE_STREAM] = {
		[RCHAR_ROLE_LISTEN] = &rchar_stream_type,
		[RCHAR_ROLE_CONNECT] = &rchar_stream_type,
	},
	[RCHAR_TYPE_MESSAGE] = {
		[RCHAR_ROLE_LISTEN] = &rchar_message_type,
		[RCHAR_ROLE_CONNECT] = &rchar_message_type,
	},
	[RCHAR_TYPE_MEMORY] = {
		[RCHAR_ROLE_LISTEN] = &rchar_export_type,
		[RCHAR_ROLE_CONNECT] = &rchar_import_type,
	},
};

/**
 * rchar_types_find() - find the operations of a channel type in one role
 * @type: enum rchar_channel_type
 * @role: enum rchar_role
 *
 * Return: the operations, or NULL when no such type exists.
 */
const struct rchar_type *rchar_types_find(u32 type, u32 role)
{
	if (type >= ARRAY_SIZE(types) || role >= ARRAY_SIZE(types[0]))
		return NULL;
	return types[type][role];
}
