/* SPDX-License-Identifier: GPL-2.0 */
/* Pin pages of a program for a device, and charge them to the program's RLIMIT_MEMLOCK. */
#ifndef RCHAR_PIN_H
#define RCHAR_PIN_H

#include <linux/types.h>

struct mm_struct;
struct page;

int rchar_pin(unsigned long addr, unsigned int nr, bool write, struct page **pages);
void rchar_unpin(struct mm_struct *mm, struct page **pages, unsigned int nr, bool dirty);

#endif /* RCHAR_PIN_H */
