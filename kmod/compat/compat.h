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

#endif /* RCHAR_COMPAT_H */
