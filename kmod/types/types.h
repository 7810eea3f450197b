/* SPDX-License-Identifier: GPL-2.0 */
/* The table of channel types. */
#ifndef RCHAR_TYPES_H
#define RCHAR_TYPES_H

#include <linux/types.h>

struct rchar_type;

const struct rchar_type *rchar_types_find(u32 type, u32 role);

#endif /* RCHAR_TYPES_H */
