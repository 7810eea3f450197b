// SPDX-License-Identifier: GPL-2.0
#include "chardev.h"
#include <linux/sockios.h>
#include <linux/uaccess.h>
#include <asm/ioctls.h>
#include "channel.h"
#include "seq.h"
#include "session.h"

/**
 * rchar_chardev_lock() - a mutex of a session, for a system call
 * @mutex: the mutex
 * @nowait: do not sleep
 *
 * Return: 0, -EAGAIN or -ERESTARTSYS.
 */
int rchar_chardev_lock(struct mutex *mutex, bool nowait)
{
	if (nowait)
		return mutex_trylock(mutex) ? 0 : -EAGAIN;
	return mutex_lock_interruptible(mutex) ? -ERESTARTSYS : 0;
}

static int wait_open(struct rchar_session *s)
{
	int ret = wait_event_interruptible(s->read_wait, !rchar_session_opening(s));

	if (ret && rchar_session_opening(s))
		return ret;
	/* A session that was open and then ended may still have bytes to read. */
	if (READ_ONCE(s->state) == RCHAR_SESSION_DEAD && !s->opened)
		return s->error;
	return 0;
}

/**
 * rchar_chardev_open() - file_operations.open
 * @inode: of the node
 * @file: the file; its private data becomes the session
 *
 * Return: 0, or see "Open errors" in Documentation/uapi.rst.
 */
int rchar_chardev_open(struct inode *inode, struct file *file)
{
	struct rchar_channel *channel = container_of(inode->i_cdev, struct rchar_channel,
						     cdev);
	struct rchar_session *s;
	u8 flags = 0;
	int ret;

	if (!(file->f_mode & FMODE_WRITE))
		flags |= RCHAR_OPEN_NOSEND;
	if (!(file->f_mode & FMODE_READ))
		flags |= RCHAR_OPEN_NORECV;
	stream_open(inode, file);
	file->f_mode |= FMODE_NOWAIT;
	s = rchar_session_open(channel, flags);
	if (IS_ERR(s))
		return PTR_ERR(s);
	file->private_data = s;
	if (file->f_flags & O_NONBLOCK)
		return 0;
	ret = wait_open(s);
	if (ret)
		rchar_session_close(s);
	return ret;
}

/**
 * rchar_chardev_release() - file_operations.release
 * @inode: of the node
 * @file: the file
 */
int rchar_chardev_release(struct inode *inode, struct file *file)
{
	rchar_chardev_fasync(-1, file, 0);
	rchar_session_close(file->private_data);
	return 0;
}

/**
 * rchar_chardev_poll() - file_operations.poll
 * @file: the file
 * @wait: where to wait
 */
__poll_t rchar_chardev_poll(struct file *file, poll_table *wait)
{
	struct rchar_session *s = file->private_data;

	poll_wait(file, &s->read_wait, wait);
	poll_wait(file, &s->write_wait, wait);
	return rchar_session_poll(s);
}

/* 0: wait; 1: acknowledged; negative: it never will be. */
static int fsync_end(struct rchar_session *s, u32 target)
{
	int ret = 0;

	spin_lock_bh(&s->lock);
	if (!rchar_seq_before(s->tx_acked, target))
		ret = 1;
	else if (s->state == RCHAR_SESSION_DEAD)
		ret = s->error;
	spin_unlock_bh(&s->lock);
	return ret;
}

/**
 * rchar_chardev_fsync() - file_operations.fsync
 * @file: the file
 * @start: not used
 * @end: not used
 * @datasync: not used
 *
 * Return: 0 when the peer's kernel has every byte written so far; else why it will
 * not get them, or -ERESTARTSYS.
 */
int rchar_chardev_fsync(struct file *file, loff_t start, loff_t end, int datasync)
{
	struct rchar_session *s = file->private_data;
	u32 target = READ_ONCE(s->tx_next);
	int ret;

	if (rchar_session_opening(s) || !s->flow)
		return 0;
	rchar_flow_want_ack(s->flow);
	ret = wait_event_interruptible(s->ack_wait, fsync_end(s, target));
	return ret ?: min(fsync_end(s, target), 0);
}

/**
 * rchar_chardev_fasync() - file_operations.fasync
 * @fd: the descriptor
 * @file: the file
 * @on: start or stop
 */
int rchar_chardev_fasync(int fd, struct file *file, int on)
{
	struct rchar_session *s = file->private_data;

	return fasync_helper(fd, file, on, &s->async);
}

static int queued(struct rchar_session *s, bool tx)
{
	u32 n;

	spin_lock_bh(&s->lock);
	n = tx ? s->tx_next - s->tx_acked : s->rx_next - s->rx_read;
	spin_unlock_bh(&s->lock);
	return n;
}

/**
 * rchar_chardev_ioctl() - file_operations.unlocked_ioctl
 * @file: the file
 * @cmd: FIONREAD, TIOCOUTQ or RCHAR_IOC_*
 * @arg: its argument
 */
long rchar_chardev_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct rchar_session *s = file->private_data;

	switch (cmd) {
	case FIONREAD:
		return put_user(queued(s, false), (int __user *)arg);
	case TIOCOUTQ:
		return put_user(queued(s, true), (int __user *)arg);
	case RCHAR_IOC_SHUTDOWN:
		if (!arg || arg & ~(RCHAR_SHUT_RD | RCHAR_SHUT_WR))
			return -EINVAL;
		if (rchar_session_opening(s))
			return -ENOTCONN;
		rchar_session_shutdown(s, arg);
		return 0;
	default:
		return -ENOTTY;
	}
}

/**
 * rchar_chardev_fdinfo() - file_operations.show_fdinfo
 * @seq: where to print
 * @file: the file
 */
void rchar_chardev_fdinfo(struct seq_file *seq, struct file *file)
{
	struct rchar_session *s = file->private_data;

	spin_lock_bh(&s->lock);
	seq_printf(seq, "rchar-channel:\t%s\n", s->channel->config.name);
	seq_printf(seq, "rchar-state:\t%s\n", rchar_session_state_name(s->state));
	if (s->reason)
		seq_printf(seq, "rchar-reason:\t%s\n", rchar_reason_name(s->reason));
	if (s->link)
		seq_printf(seq, "rchar-peer:\t%pISpc\n", &s->link->peer);
	seq_printf(seq, "rchar-rx-queued:\t%u\n", s->rx_next - s->rx_read);
	seq_printf(seq, "rchar-tx-unacked:\t%u\n", s->tx_next - s->tx_acked);
	seq_printf(seq, "rchar-window:\t%u\n", s->window);
	spin_unlock_bh(&s->lock);
}
