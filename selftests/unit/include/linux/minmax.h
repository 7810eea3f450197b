/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_LINUX_MINMAX_H
#define UNIT_LINUX_MINMAX_H
#define min_t(type, a, b) ((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#endif
