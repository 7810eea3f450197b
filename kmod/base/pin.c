// SPDX-License-Identifier: GPL-2.0
#include "pin.h"
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

/*
 * Look and count in one step: of two threads that ask for the last pages one is refused.
 * RLIMIT_MEMLOCK limits what verbs register (ib_umem_get() in
 * drivers/infiniband/core/umem.c), so it limits this too.
 */
static bool pin_charge(struct mm_struct *mm, unsigned int nr)
{
	s64 limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	s64 pinned = atomic64_read(&mm->pinned_vm);

	do {
		if (pinned + nr > limit && !capable(CAP_IPC_LOCK))
			return false;
	} while (!atomic64_try_cmpxchg(&mm->pinned_vm, &pinned, pinned + nr));
	return true;
}

/**
 * rchar_pin() - pin pages of the calling program
 * @addr: any address in the first page
 * @nr: pages, at least 1
 * @write: the device will write to them
 * @pages: set to the pages
 *
 * Pages may stay pinned for as long as a peer likes, hence FOLL_LONGTERM.
 *
 * Context: process with an mm; may sleep to fault pages in.
 * Return: pages pinned, which may be fewer than @nr; -ENOMEM when RLIMIT_MEMLOCK is in the
 * way; -EFAULT when there is no memory at @addr; or what pin_user_pages_fast() says.
 */
int rchar_pin(unsigned long addr, unsigned int nr, bool write, struct page **pages)
{
	struct mm_struct *mm = current->mm;
	int got;

	if (!mm || !pin_charge(mm, nr))
		return -ENOMEM;
	got = pin_user_pages_fast(addr & PAGE_MASK, nr,
				  FOLL_LONGTERM | (write ? FOLL_WRITE : 0), pages);
	if (got < (int)nr)
		atomic64_sub(nr - max(got, 0), &mm->pinned_vm);
	return got ?: -EFAULT;
}

/**
 * rchar_unpin() - undo rchar_pin()
 * @mm: of the program that pinned them
 * @pages: the pages
 * @nr: how many
 * @dirty: the device wrote to them, and somebody may have cleaned them since
 *
 * Context: any but hard interrupt; with @dirty it may sleep.
 */
void rchar_unpin(struct mm_struct *mm, struct page **pages, unsigned int nr, bool dirty)
{
	unpin_user_pages_dirty_lock(pages, nr, dirty);
	atomic64_sub(nr, &mm->pinned_vm);
}
