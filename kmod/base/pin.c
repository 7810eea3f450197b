// SPDX-License-Identifier: GPL-2.0
#include "pin.h"
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

/*
 * Check the limit and count the pages in one atomic step: of two threads that ask for the last
 * pages, one is refused. RLIMIT_MEMLOCK limits memory that verbs register (ib_umem_get() in
 * drivers/infiniband/core/umem.c), so RLIMIT_MEMLOCK also limits the pages pinned here.
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

/*
 * A file system may hold the lock of a page of a file for as long as it likes, as FUSE does while
 * it waits for its program, and to mark a page dirty takes that lock. From 6.5 on, the kernel
 * itself refuses to pin such a page for long (writable_file_mapping_allowed() in mm/gup.c).
 */
static bool belongs_to_file(struct page *page)
{
	struct folio *folio = page_folio(page);

	return folio->mapping && !folio_test_anon(folio) && !folio_test_swapbacked(folio) &&
	       !folio_test_hugetlb(folio);
}

/* Unpin the pages from the first one of a file on. Return how many are left, or -EFAULT. */
static int without_files(struct page **pages, int nr)
{
	int n = 0;

	while (n < nr && !belongs_to_file(pages[n]))
		n++;
	if (n < nr)
		unpin_user_pages(pages + n, nr - n);
	return n ?: -EFAULT;
}

/**
 * rchar_pin() - pin pages of the calling program
 * @addr: any address in the first page
 * @nr: pages, at least 1
 * @write: the device will write to the pages
 * @pages: set to the pages
 *
 * A peer determines how long the pages stay pinned, hence FOLL_LONGTERM.
 *
 * Context: process with an mm; may sleep to fault pages in.
 * Return: the number of pages pinned, which may be less than @nr; -ENOMEM without an mm or when
 * RLIMIT_MEMLOCK does not allow @nr more pages; -EFAULT when no memory is mapped at @addr, or with
 * @write memory of a file; or an error of pin_user_pages_fast().
 */
int rchar_pin(unsigned long addr, unsigned int nr, bool write, struct page **pages)
{
	struct mm_struct *mm = current->mm;
	int got;

	if (!mm || !pin_charge(mm, nr))
		return -ENOMEM;
	got = pin_user_pages_fast(addr & PAGE_MASK, nr, FOLL_LONGTERM | (write ? FOLL_WRITE : 0),
				  pages);
	if (write && got > 0)
		got = without_files(pages, got);
	if (got < (int)nr)
		atomic64_sub(nr - max(got, 0), &mm->pinned_vm);
	return got ?: -EFAULT;
}

/**
 * rchar_unpin() - undo rchar_pin()
 * @mm: mm of the program that pinned the pages
 * @pages: the pages
 * @nr: number of pages
 * @dirty: mark the pages dirty: the device wrote to them, and they may have been cleaned since
 *
 * Context: any but hard interrupt; process context with @dirty, as this may sleep.
 */
void rchar_unpin(struct mm_struct *mm, struct page **pages, unsigned int nr, bool dirty)
{
	unpin_user_pages_dirty_lock(pages, nr, dirty);
	atomic64_sub(nr, &mm->pinned_vm);
}
