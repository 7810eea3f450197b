// SPDX-License-Identifier: GPL-2.0
#include "chardev.h"
#include <linux/in6.h>
#include <linux/sockios.h>
#include <linux/uaccess.h>
#include <asm/ioctls.h>
#include "base/addr.h"
#include "base/seq.h"
#include "channel.h"
#include "session_priv.h"
#include "type.h"

/**
 * rchar_chardev_lock() - lock a mutex of a session for a system call
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

/* Return 0 to read on or to wait, 1 at end of file, or the error of a DEAD session. */
static int read_end(struct rchar_session *s)
{
	int ret = 0;

	spin_lock_bh(&s->lock);
	if (rchar_session_readable(s))
		ret = 0;
	else if (!rchar_session_opening(s) &&
		 s->shut & (RCHAR_SESSION_FIN_RECEIVED | RCHAR_SESSION_STOP_SENT))
		ret = 1;
	else if (s->state == RCHAR_SESSION_DEAD)
		ret = s->error;
	spin_unlock_bh(&s->lock);
	return ret;
}

/**
 * rchar_chardev_may_read() - can a read() complete without waiting?
 * @s: the session
 */
bool rchar_chardev_may_read(struct rchar_session *s)
{
	return rchar_session_readable(s) || read_end(s);
}

/*
 * Bytes, or the end, may come while one reader copies, and another one is told of them. When it
 * finds the first one at work, nothing would tell it again: it leaves word.
 */
static int lock_reader(struct rchar_session *s, bool nowait)
{
	int ret = rchar_chardev_lock(&s->rx.mutex, nowait);

	if (ret != -EAGAIN)
		return ret;
	WRITE_ONCE(s->rx.asked, 1);
	smp_mb(); /* pairs with that of rchar_chardev_unlock_reader() */
	return rchar_chardev_lock(&s->rx.mutex, true);
}

/**
 * rchar_chardev_unlock_reader() - unlock the read mutex, and wake those who found it locked
 * @s: the session
 */
void rchar_chardev_unlock_reader(struct rchar_session *s)
{
	mutex_unlock(&s->rx.mutex);
	smp_mb(); /* pairs with that of lock_reader(): it gets the mutex, or @asked is seen here */
	if (!READ_ONCE(s->rx.asked) || !xchg(&s->rx.asked, 0) || !rchar_chardev_may_read(s))
		return;
	spin_lock_bh(&s->lock);
	rchar_session_tell_reader(s);
	spin_unlock_bh(&s->lock);
}

/**
 * rchar_chardev_wait_readable() - wait until a read() can complete; for rchar_chardev_read()
 * @s: the session
 * @to: not used
 *
 * Return: 0 or -ERESTARTSYS.
 */
ssize_t rchar_chardev_wait_readable(struct rchar_session *s, struct iov_iter *to)
{
	return wait_event_interruptible(s->rx.wait, rchar_chardev_may_read(s));
}

/**
 * rchar_chardev_read() - implement the waiting part of file_operations.read_iter
 * @iocb: the request
 * @to: destination
 * @take: moves received bytes to @to; called with the read mutex. Returns the bytes moved, 0 when
 *	  nothing is readable, or a negative errno.
 * @wait: sleeps; called without the read mutex. Returns 0 to try @take again, the bytes that @wait
 *	  has moved to @to, or a negative errno.
 *
 * A sleeping reader holds no lock and does not delay other readers.
 *
 * Return: bytes; 0 at end of file; or an error, see "Errno table" in Documentation/uapi.rst.
 */
ssize_t rchar_chardev_read(struct kiocb *iocb, struct iov_iter *to,
			   ssize_t (*take)(struct rchar_session *s, struct iov_iter *to),
			   ssize_t (*wait)(struct rchar_session *s, struct iov_iter *to))
{
	struct rchar_session *s = iocb->ki_filp->private_data;
	bool nowait = rchar_chardev_nowait(iocb);
	ssize_t ret;
	int end;

	if (!iov_iter_count(to))
		return 0;
	for (;;) {
		ret = lock_reader(s, nowait);
		if (ret)
			return ret;
		ret = take(s, to);
		end = ret ? 0 : read_end(s);
		rchar_chardev_unlock_reader(s);
		if (ret || end)
			return ret ?: min(end, 0);
		if (rchar_session_readable(s))
			continue;
		if (nowait)
			return -EAGAIN;
		ret = wait(s, to);
		if (ret)
			return ret;
	}
}

/**
 * rchar_chardev_wait_writable() - wait for room, or until the session is open
 * @s: the session; the caller holds its write mutex
 * @nowait: do not sleep
 *
 * Return: 0 to try again; -EAGAIN; -ERESTARTSYS; or an error of rchar_session_write_error().
 */
int rchar_chardev_wait_writable(struct rchar_session *s, bool nowait)
{
	int ret = rchar_session_write_ready(s);

	if (ret != -EAGAIN || nowait)
		return ret;
	return wait_event_interruptible(s->tx.wait, rchar_session_write_ready(s) != -EAGAIN);
}

static int wait_open(struct rchar_session *s)
{
	int ret = wait_event_interruptible(s->rx.wait, !rchar_session_opening(s));

	/* A peer that got the session in the meantime keeps it. */
	if (ret && rchar_session_stop_waiting(s))
		return ret;
	/* A session that was open and then ended may still have bytes to read. */
	if (READ_ONCE(s->state) == RCHAR_SESSION_DEAD && !s->opened)
		return s->error;
	return 0;
}

/**
 * rchar_chardev_open() - implement file_operations.open
 * @inode: inode of the device node
 * @file: the file; its private data is set to the session
 *
 * Return: 0 or an error, see "Errno table" in Documentation/uapi.rst.
 */
int rchar_chardev_open(struct inode *inode, struct file *file)
{
	struct rchar_channel *channel = container_of(inode->i_cdev, struct rchar_channel, cdev);
	struct rchar_session *s;
	u8 flags = 0;
	int ret;

	/* The VFS refuses this only after it has opened the file: with a session of a peer. */
	if (file->f_flags & O_DIRECT)
		return -EINVAL;
	/* Files of types without halves have a file position: they are not streams. */
	if (channel->type->halves) {
		if (!(file->f_mode & FMODE_WRITE))
			flags |= RCHAR_OPEN_NOSEND;
		if (!(file->f_mode & FMODE_READ))
			flags |= RCHAR_OPEN_NORECV;
		stream_open(inode, file);
	}
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
 * rchar_chardev_release() - implement file_operations.release
 * @inode: inode of the device node
 * @file: the file
 */
int rchar_chardev_release(struct inode *inode, struct file *file)
{
	rchar_chardev_fasync(-1, file, 0);
	rchar_session_close(file->private_data);
	return 0;
}

/**
 * rchar_chardev_poll() - implement file_operations.poll
 * @file: the file
 * @wait: poll table
 */
__poll_t rchar_chardev_poll(struct file *file, poll_table *wait)
{
	struct rchar_session *s = file->private_data;

	poll_wait(file, &s->rx.wait, wait);
	poll_wait(file, &s->tx.wait, wait);
	return rchar_session_poll(s);
}

/* Return 0 to wait, 1 when the peer has acknowledged @target, or the error of a DEAD session. */
static int fsync_end(struct rchar_session *s, u32 target)
{
	int ret = 0;

	spin_lock_bh(&s->lock);
	if (!rchar_seq_before(s->tx.window.acked, target))
		ret = 1;
	else if (s->state == RCHAR_SESSION_DEAD)
		ret = s->error;
	spin_unlock_bh(&s->lock);
	return ret;
}

/**
 * rchar_chardev_fsync() - implement file_operations.fsync
 * @file: the file
 * @start: not used
 * @end: not used
 * @datasync: not used
 *
 * Return: 0 when the peer's kernel has every byte written so far; the error of the session when the
 * peer's kernel will not get them; -EINVAL for libaio; or -ERESTARTSYS.
 */
int rchar_chardev_fsync(struct file *file, loff_t start, loff_t end, int datasync)
{
	struct rchar_session *s = file->private_data;
	u32 target = READ_ONCE(s->tx.window.next);
	int ret;

	if (rchar_chardev_is_libaio())
		return -EINVAL;
	if (rchar_session_opening(s) || !s->flow)
		return 0;
	rchar_flow_want_ack(s->flow, &s->tx.sender);
	ret = wait_event_interruptible(s->tx.ack_wait, fsync_end(s, target));
	return ret ?: min(fsync_end(s, target), 0);
}

/**
 * rchar_chardev_fasync() - implement file_operations.fasync
 * @fd: the descriptor
 * @file: the file
 * @on: whether to start or stop SIGIO
 */
int rchar_chardev_fasync(int fd, struct file *file, int on)
{
	struct rchar_session *s = file->private_data;

	return fasync_helper(fd, file, on, &s->async);
}

/*
 * FIONREAD counts as on a socket: all received bytes of a stream, the next message's length on
 * message channels.
 */
static int readable_bytes(struct rchar_session *s)
{
	u32 n;

	spin_lock_bh(&s->lock);
	n = s->type->readable_bytes ? s->type->readable_bytes(s) : rchar_session_rx_queued(s);
	spin_unlock_bh(&s->lock);
	return n;
}

static int unacked_bytes(struct rchar_session *s)
{
	u32 n;

	spin_lock_bh(&s->lock);
	n = rchar_session_tx_unacked(s);
	spin_unlock_bh(&s->lock);
	return n;
}

static u32 shut_halves(u8 shut, u8 wr, u8 rd)
{
	return (shut & wr ? RCHAR_SHUT_WR : 0) | (shut & rd ? RCHAR_SHUT_RD : 0);
}

static void fill_info(struct rchar_session *s, struct rchar_info *info)
{
	const struct rchar_config *c = &s->channel->config;
	struct sockaddr_storage local, peer;

	BUILD_BUG_ON(sizeof(struct rchar_info) != 208);
	BUILD_BUG_ON(sizeof(info->peer) < sizeof(struct sockaddr_in6));
	info->type = c->type;
	info->role = c->role;
	strscpy(info->name, c->name, sizeof(info->name));
	memcpy(info->local, &c->local, rchar_addr_len(&c->local));
	spin_lock_bh(&s->lock);
	info->state = s->state;
	info->reason = s->reason;
	info->shut = shut_halves(s->shut, RCHAR_SESSION_FIN_SENT, RCHAR_SESSION_STOP_SENT);
	info->peer_shut = shut_halves(s->shut, RCHAR_SESSION_FIN_RECEIVED,
				      RCHAR_SESSION_STOP_RECEIVED);
	info->window = READ_ONCE(s->window);
	info->max_message = s->max_message;
	info->rx_queued = rchar_session_rx_queued(s);
	info->tx_unacked = rchar_session_tx_unacked(s);
	info->tx_room = rchar_session_tx_room(s);
	if (s->link) {
		info->session = s->id;
		info->link = s->link->serial;
		rchar_link_ends(s->link, &local, &peer);
		memcpy(info->peer, &peer, rchar_addr_len(&peer));
		memcpy(info->local, &local, rchar_addr_len(&local));
		strscpy(info->key, rchar_link_key_name(s->link), sizeof(info->key));
		info->encrypted = s->link->encrypted;
	}
	if (s->type->fill_info)
		s->type->fill_info(s, info);
	spin_unlock_bh(&s->lock);
}

/**
 * rchar_chardev_is_info() - is an ioctl command RCHAR_IOC_INFO, with any size?
 * @cmd: the command
 */
bool rchar_chardev_is_info(unsigned int cmd)
{
	return _IOC_TYPE(cmd) == RCHAR_IOC_MAGIC && _IOC_DIR(cmd) == _IOC_READ &&
	       _IOC_NR(cmd) == _IOC_NR(RCHAR_IOC_INFO);
}

/**
 * rchar_chardev_put_info() - answer RCHAR_IOC_INFO
 * @info: the answer
 * @cmd: the command; its size is the size of the program's struct. Bytes of that struct beyond
 *	 @info are set to 0.
 * @arg: user address of the program's struct
 *
 * Return: 0; -EINVAL when the size is 0; -EFAULT.
 */
long rchar_chardev_put_info(const struct rchar_info *info, unsigned int cmd, void __user *arg)
{
	unsigned int size = _IOC_SIZE(cmd);
	unsigned int known = min_t(unsigned int, size, sizeof(*info));

	if (!size)
		return -EINVAL;
	if (copy_to_user(arg, info, known) || clear_user(arg + known, size - known))
		return -EFAULT;
	return 0;
}

/**
 * rchar_chardev_info_ioctl() - implement file_operations.unlocked_ioctl for RCHAR_IOC_INFO only
 * @file: the file
 * @cmd: the command
 * @arg: argument of the command
 *
 * Return: as rchar_chardev_put_info(), or -ENOTTY for any other command.
 */
long rchar_chardev_info_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct rchar_info info = {};

	if (!rchar_chardev_is_info(cmd))
		return -ENOTTY;
	fill_info(file->private_data, &info);
	return rchar_chardev_put_info(&info, cmd, (void __user *)arg);
}

/**
 * rchar_chardev_ioctl() - implement file_operations.unlocked_ioctl
 * @file: the file
 * @cmd: FIONREAD, TIOCOUTQ or RCHAR_IOC_*
 * @arg: argument of the command
 *
 * Return: 0 or an error, see "ioctls" in Documentation/uapi.rst.
 */
long rchar_chardev_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct rchar_session *s = file->private_data;

	switch (cmd) {
	case FIONREAD:
		return put_user(readable_bytes(s), (int __user *)arg);
	case TIOCOUTQ:
		return put_user(unacked_bytes(s), (int __user *)arg);
	case RCHAR_IOC_SHUTDOWN:
		if (!arg || arg & ~(RCHAR_SHUT_RD | RCHAR_SHUT_WR))
			return -EINVAL;
		if (rchar_session_opening(s))
			return -ENOTCONN;
		return rchar_session_shutdown(s, arg);
	default:
		return rchar_chardev_info_ioctl(file, cmd, arg);
	}
}

/**
 * rchar_chardev_fdinfo() - implement file_operations.show_fdinfo
 * @seq: output
 * @file: the file
 */
void rchar_chardev_fdinfo(struct seq_file *seq, struct file *file)
{
	struct rchar_session *s = file->private_data;
	struct sockaddr_storage peer;

	spin_lock_bh(&s->lock);
	seq_printf(seq, "rchar-channel:\t%s\n", s->channel->config.name);
	seq_printf(seq, "rchar-state:\t%s\n", rchar_session_state_name(s->state));
	if (s->reason)
		seq_printf(seq, "rchar-reason:\t%s\n", rchar_reason_name(s->reason));
	if (s->link) {
		rchar_link_ends(s->link, NULL, &peer);
		seq_printf(seq, "rchar-peer:\t%pISpc\n", &peer);
		if (s->link->psk)
			seq_printf(seq, "rchar-key:\t%s\n", rchar_link_key_name(s->link));
	}
	seq_printf(seq, "rchar-rx-queued:\t%u\n", rchar_session_rx_queued(s));
	seq_printf(seq, "rchar-tx-unacked:\t%u\n", rchar_session_tx_unacked(s));
	seq_printf(seq, "rchar-window:\t%u\n", READ_ONCE(s->window));
	if (s->max_message)
		seq_printf(seq, "rchar-max-message:\t%u\n", s->max_message);
	spin_unlock_bh(&s->lock);
}
