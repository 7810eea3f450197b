/* SPDX-License-Identifier: GPL-2.0 */
/* File operations that all session types share. */
#ifndef RCHAR_CHARDEV_H
#define RCHAR_CHARDEV_H

#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include "base/chunk.h"

struct rchar_info;
struct rchar_session;

static inline bool rchar_chardev_nowait(const struct kiocb *iocb)
{
	return iocb->ki_flags & IOCB_NOWAIT || iocb->ki_filp->f_flags & O_NONBLOCK;
}

/*
 * Only an IOCB_NOWAIT request must not sleep for memory. A request on an O_NONBLOCK file may
 * wait for memory.
 */
static inline gfp_t rchar_chardev_gfp(const struct kiocb *iocb)
{
	return (iocb->ki_flags & IOCB_NOWAIT ? GFP_NOWAIT : RCHAR_GFP_PROGRAM) | __GFP_ACCOUNT |
	       __GFP_NOWARN;
}

/* The error of a call that found no memory with rchar_chardev_gfp(). */
static inline int rchar_chardev_nomem(gfp_t gfp)
{
	return gfpflags_allow_blocking(gfp) ? -ENOMEM : -EAGAIN;
}

/*
 * Does libaio call fsync()? It waits on the system's work queue (aio_fsync_work() in fs/aio.c),
 * where no signal arrives: the exit of a killed program would wait for the link, and so would
 * others who use the work queue.
 */
static inline bool rchar_chardev_is_libaio(void)
{
	return current->flags & PF_WQ_WORKER;
}

int rchar_chardev_lock(struct mutex *mutex, bool nowait);
ssize_t rchar_chardev_read(struct kiocb *iocb, struct iov_iter *to,
			   ssize_t (*take)(struct rchar_session *s, struct iov_iter *to),
			   ssize_t (*wait)(struct rchar_session *s, struct iov_iter *to));
bool rchar_chardev_may_read(struct rchar_session *s);
void rchar_chardev_unlock_reader(struct rchar_session *s);
ssize_t rchar_chardev_wait_readable(struct rchar_session *s, struct iov_iter *to);
int rchar_chardev_wait_writable(struct rchar_session *s, bool nowait);
int rchar_chardev_open(struct inode *inode, struct file *file);
int rchar_chardev_release(struct inode *inode, struct file *file);
__poll_t rchar_chardev_poll(struct file *file, poll_table *wait);
int rchar_chardev_fsync(struct file *file, loff_t start, loff_t end, int datasync);
int rchar_chardev_fasync(int fd, struct file *file, int on);
bool rchar_chardev_is_info(unsigned int cmd);
long rchar_chardev_put_info(const struct rchar_info *info, unsigned int cmd, void __user *arg);
long rchar_chardev_info_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
long rchar_chardev_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
void rchar_chardev_fdinfo(struct seq_file *seq, struct file *file);

#endif /* RCHAR_CHARDEV_H */
