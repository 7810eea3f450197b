/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between kernels. The code is written for the newest; each difference
 * is found by trying to compile (probe-*.c here, run from Kbuild), never by a version
 * number: distributions backport.
 */
#ifndef RCHAR_COMPAT_H
#define RCHAR_COMPAT_H

/* device_type.devnode() takes a const device since 6.2. */
#ifdef RCHAR_HAVE_DEVNODE_CONST
#define rchar_compat_const const
#else
#define rchar_compat_const
#endif

/* copy_splice_read() came in 6.5 and replaced generic_file_splice_read(). */
#ifdef RCHAR_HAVE_COPY_SPLICE_READ
#define rchar_compat_splice_read copy_splice_read
#else
#define rchar_compat_splice_read generic_file_splice_read
#endif

/* vm_flags_set() came in 6.3, and vm_flags became read-only. */
#ifdef RCHAR_HAVE_VM_FLAGS_SET
#define rchar_compat_vm_flags_set vm_flags_set
#else
#define rchar_compat_vm_flags_set(vma, flags) ((vma)->vm_flags |= (flags))
#endif

/* The segment of user memory that an iterator is at: iter_iov() came in 6.4. Its length
 * not by iter_iov_len(), which was wrong for one that is a single buffer for a while.
 */
#ifdef RCHAR_HAVE_ITER_IOV
#define rchar_compat_iter_iov iter_iov
#else
#define rchar_compat_iter_iov(iter) ((iter)->iov)
#endif
#define rchar_compat_iter_addr(iter) \
	((unsigned long)(iter_is_ubuf(iter) ? (iter)->ubuf : \
			 rchar_compat_iter_iov(iter)->iov_base) + (iter)->iov_offset)
#define rchar_compat_iter_len(iter) \
	(iter_is_ubuf(iter) ? iov_iter_count(iter) : \
	 min(iov_iter_count(iter), rchar_compat_iter_iov(iter)->iov_len - (iter)->iov_offset))

/* Is a page counted by a memory cgroup? PageMemcgKmem() became folio_memcg_kmem() alone in
 * 6.15, or so.
 */
#ifdef RCHAR_HAVE_PAGE_MEMCG_KMEM
#define rchar_compat_page_counted PageMemcgKmem
#else
#define rchar_compat_page_counted(page) folio_memcg_kmem(page_folio(page))
#endif

#endif /* RCHAR_COMPAT_H */
