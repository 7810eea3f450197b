/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between kernel versions. The module is written for the newest kernel. Kbuild
 * compiles the probe-*.c files of this folder to find each difference. Version numbers are not
 * used: distributions backport changes.
 */
#ifndef RCHAR_COMPAT_H
#define RCHAR_COMPAT_H

/* Since 6.2, device_type.devnode() takes a const device. */
#ifdef RCHAR_HAVE_DEVNODE_CONST
#define rchar_compat_const const
#else
#define rchar_compat_const
#endif

/* In 6.5, copy_splice_read() replaced generic_file_splice_read(). */
#ifdef RCHAR_HAVE_COPY_SPLICE_READ
#define rchar_compat_splice_read copy_splice_read
#else
#define rchar_compat_splice_read generic_file_splice_read
#endif

/* 6.3 added vm_flags_set() and made vm_flags read-only. */
#ifdef RCHAR_HAVE_VM_FLAGS_SET
#define rchar_compat_vm_flags_set vm_flags_set
#else
#define rchar_compat_vm_flags_set(vma, flags) ((vma)->vm_flags |= (flags))
#endif

/*
 * The current segment of user memory of an iterator. 6.4 added iter_iov(). The length does not use
 * iter_iov_len(): in some kernels that function was wrong for an iterator with a single buffer.
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

/*
 * Does a memory cgroup count the page? PageMemcgKmem() was removed in favour of folio_memcg_kmem()
 * in about 6.15.
 */
#ifdef RCHAR_HAVE_PAGE_MEMCG_KMEM
#define rchar_compat_page_counted PageMemcgKmem
#else
#define rchar_compat_page_counted(page) folio_memcg_kmem(page_folio(page))
#endif

#endif /* RCHAR_COMPAT_H */
