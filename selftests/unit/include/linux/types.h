/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's names for what user space has. */
#ifndef UNIT_LINUX_TYPES_H
#define UNIT_LINUX_TYPES_H
#include_next <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
#endif
