/* SPDX-License-Identifier: GPL-2.0 */
#define IS_REACHABLE(option) 1
