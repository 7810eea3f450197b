/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_ASM_BYTEORDER_H
#define UNIT_ASM_BYTEORDER_H
#include <endian.h>
#define cpu_to_le16 htole16
#define cpu_to_le32 htole32
#define cpu_to_le64 htole64
#define le16_to_cpu le16toh
#define le32_to_cpu le32toh
#define le64_to_cpu le64toh
#endif
