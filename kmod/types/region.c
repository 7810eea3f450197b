// SPDX-License-Identifier: GPL-2.0
#include "region.h"
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/netlink.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include "base/addr.h"
#include "base/ledger.h"
#include "compat/compat.h"
#include "session/channel.h"
#include "session/chardev.h"

/* ---- life ---- */

/*
 * Frees regions. The last reference may be dropped in a soft interrupt, and freeing many pages
 * takes long.
 */
static struct workqueue_struct *region_wq;

/*
 * Pages in regions of deleted channels that are not freed yet: their importers and this work keep
 * them for a moment, and programs that have them open for as long as they like.
 */
static atomic_long_t pages_leaving;
static DECLARE_WAIT_QUEUE_HEAD(region_left);

/* So long does a new region wait for memory of those that leave. */
#define REGION_LEAVE_MS 10000

static void region_free_work(struct work_struct *work)
{
	struct rchar_region *region = container_of(work, struct rchar_region, free_work);
	unsigned long i;

	WARN_ON_ONCE(region->claims || region->executing);
	for (i = 0; i < region->nr_pages; i++) {
		if (region->pages[i])
			put_page(region->pages[i]);
		cond_resched();
	}
	kvfree(region->pages);
	rchar_ledger_del(RCHAR_OBJ_REGION);
	if (region->leaving) {
		atomic_long_sub(region->nr_pages, &pages_leaving);
		wake_up_all(&region_left);
	}
	kfree(region);
}

static void region_free_last(struct kref *ref)
{
	struct rchar_region *region = container_of(ref, struct rchar_region, ref);

	queue_work(region_wq, &region->free_work);
}

/**
 * rchar_region_put() - drop a reference to a region
 * @region: the region
 *
 * Context: any but hard interrupt.
 */
void rchar_region_put(struct rchar_region *region)
{
	kref_put(&region->ref, region_free_last);
}

/* Check the available memory again after this many pages: others allocate meanwhile. */
#define CHECK_PAGES (SZ_16M >> PAGE_SHIFT)

/* If a region took all available pages, the OOM killer would kill other programs. */
static bool region_fits(unsigned long pages)
{
	return (long)pages < si_mem_available();
}

static bool region_may_fit(unsigned long pages)
{
	return (long)pages < si_mem_available() + atomic_long_read(&pages_leaving);
}

/* Is there room, now or when the regions of deleted channels have left? */
static bool region_has_room(unsigned long pages)
{
	wait_event_killable_timeout(region_left, region_fits(pages) || !region_may_fit(pages),
				    msecs_to_jiffies(REGION_LEAVE_MS));
	return region_fits(pages);
}

static struct page *region_page_now(void)
{
	/* Do not invoke the OOM killer: a request for too much memory fails. */
	return alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
}

/* The limit of a memory cgroup, too, may count those that leave. */
static struct page *region_page(void)
{
	struct page *page = region_page_now();

	if (page)
		return page;
	wait_event_killable_timeout(region_left, !atomic_long_read(&pages_leaving),
				    msecs_to_jiffies(REGION_LEAVE_MS));
	return region_page_now();
}

static int alloc_pages_of(struct rchar_region *region)
{
	unsigned long i;

	if (!region_has_room(region->nr_pages))
		return -ENOMEM;
	region->pages = kvcalloc(region->nr_pages, sizeof(*region->pages),
				 GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!region->pages)
		return -ENOMEM;
	for (i = 0; i < region->nr_pages; i++) {
		region->pages[i] = region_page();
		if (!region->pages[i])
			return -ENOMEM;
		if (fatal_signal_pending(current))
			return -EINTR;
		if (i % CHECK_PAGES == 0 && !region_has_room(region->nr_pages - i))
			return -ENOMEM;
		cond_resched();
	}
	return 0;
}

/* Allocate zeroed memory to export. Sleeps. Returns an ERR_PTR on failure: -ENOMEM, -EINTR. */
static struct rchar_region *region_create(u64 size, u32 access, u32 atomics)
{
	struct rchar_region *region = kzalloc(sizeof(*region), GFP_KERNEL);
	int ret;

	if (!region)
		return ERR_PTR(-ENOMEM);
	rchar_ledger_add(RCHAR_OBJ_REGION);
	kref_init(&region->ref);
	INIT_WORK(&region->free_work, region_free_work);
	spin_lock_init(&region->lock);
	hash_init(region->grants);
	INIT_LIST_HEAD(&region->with_keys);
	init_waitqueue_head(&region->wait);
	region->size = size;
	region->access = access;
	region->atomics = atomics;
	region->nr_pages = DIV_ROUND_UP(size, PAGE_SIZE);
	ret = alloc_pages_of(region);
	if (ret) {
		if (!region->pages)
			region->nr_pages = 0;
		rchar_region_put(region);
		return ERR_PTR(ret);
	}
	return region;
}

/**
 * rchar_region_claim() - count a new session whose atomic operations a device will execute
 * @region: a region with %RCHAR_ATOMICS_HW
 * @executor: &rchar_limits.executor of the device
 *
 * Context: any but hard interrupt.
 * Return: %RCHAR_REASON_NONE, and the caller calls rchar_region_unclaim() later;
 * %RCHAR_REASON_NO_ATOMICS when another device executes those of other sessions; or
 * %RCHAR_REASON_BACKLOG when it did, and their connections are lost: they may return through any
 * device.
 */
enum rchar_reason rchar_region_claim(struct rchar_region *region, u32 executor)
{
	enum rchar_reason reason = RCHAR_REASON_NONE;

	spin_lock_bh(&region->lock);
	if (region->claims && region->executor != executor) {
		reason = region->executing ? RCHAR_REASON_NO_ATOMICS : RCHAR_REASON_BACKLOG;
	} else {
		region->claims++;
		region->executor = executor;
	}
	spin_unlock_bh(&region->lock);
	return reason;
}

/**
 * rchar_region_unclaim() - undo rchar_region_claim()
 * @region: the region
 *
 * Context: any but hard interrupt.
 */
void rchar_region_unclaim(struct rchar_region *region)
{
	spin_lock_bh(&region->lock);
	region->claims--;
	spin_unlock_bh(&region->lock);
}

/**
 * rchar_region_execute() - let a device execute the atomic operations of the sessions of a grant
 * @region: the region; they have claimed it, maybe for another device
 * @executor: &rchar_limits.executor of the device
 *
 * Return: false when another device executes those of other sessions; true, also when no device
 * does, and the caller calls rchar_region_execute_end() when the device has no keys of the grant
 * any more.
 */
bool rchar_region_execute(struct rchar_region *region, u32 executor)
{
	bool ok;

	if (!rchar_region_device_executes(region))
		return true;
	spin_lock_bh(&region->lock);
	ok = !region->executing || region->executor == executor;
	if (ok) {
		region->executing++;
		region->executor = executor;
	}
	spin_unlock_bh(&region->lock);
	return ok;
}

/**
 * rchar_region_execute_end() - undo rchar_region_execute()
 * @region: the region
 */
void rchar_region_execute_end(struct rchar_region *region)
{
	if (!rchar_region_device_executes(region))
		return;
	spin_lock_bh(&region->lock);
	region->executing--;
	spin_unlock_bh(&region->lock);
}

/**
 * rchar_region_channel_create() - create the region of a listening memory channel
 * @channel: the channel
 * @extack: receives the message of a failure
 *
 * Context: process.
 * Return: 0 or the error of region_create().
 */
int rchar_region_channel_create(struct rchar_channel *channel, struct netlink_ext_ack *extack)
{
	const struct rchar_config *config = &channel->config;
	struct rchar_region *region;

	region = region_create(config->size, config->access, config->atomics);
	if (IS_ERR(region)) {
		if (PTR_ERR(region) == -ENOMEM)
			NL_SET_ERR_MSG(extack, "there is not so much memory");
		return PTR_ERR(region);
	}
	channel->priv = region;
	return 0;
}

/* The channel is deleted, or was not added. Its reference keeps @region until this has returned. */
static void region_leaves(struct rchar_region *region)
{
	if (region->leaving)
		return;
	region->leaving = true;
	atomic_long_add(region->nr_pages, &pages_leaving);
}

/**
 * rchar_region_channel_dead() - count the pages as leaving, and wake all pollers
 * @channel: the channel
 */
void rchar_region_channel_dead(struct rchar_channel *channel)
{
	struct rchar_region *region = rchar_region_of(channel);

	region_leaves(region);
	wake_up_interruptible_all(&region->wait);
}

/**
 * rchar_region_channel_free() - drop the channel's reference to its region
 * @channel: the channel
 *
 * Sessions may hold the channel for a long time, so the delete of the channel drops the region
 * early. A second call does nothing.
 *
 * Context: any but hard interrupt.
 */
void rchar_region_channel_free(struct rchar_channel *channel)
{
	struct rchar_region *region;

	spin_lock_bh(&channel->lock);
	region = rchar_region_of(channel);
	channel->priv = NULL;
	spin_unlock_bh(&channel->lock);
	if (!region)
		return;
	region_leaves(region);
	rchar_region_put(region);
}

/* ---- calls that the kernel executes ---- */

static atomic64_t *region_word_at(struct rchar_region *region, u64 offset)
{
	return page_address(region->pages[offset >> PAGE_SHIFT]) + offset_in_page(offset);
}

static void region_ring(struct rchar_region *region, u32 value)
{
	spin_lock_bh(&region->lock);
	WRITE_ONCE(region->rings, region->rings + 1);
	region->last = value;
	spin_unlock_bh(&region->lock);
	/* Each program has its own count of rings, also one that polls with EPOLLEXCLUSIVE. */
	wake_up_interruptible_all(&region->wait);
}

/**
 * rchar_region_call() - execute a CALL on a region
 * @region: the region
 * @call: the CALL of a peer, or an equal request of a program of this host
 * @peer: true if a peer calls: &rchar_region.access then applies
 * @old: set to the value of the word before ADD or CAS; 0 for other calls
 *
 * ADD and CAS are atomic with operations of CPUs on the word through mmap().
 *
 * Context: any but hard interrupt.
 * Return: enum rchar_call_status.
 */
u32 rchar_region_call(struct rchar_region *region, const struct rchar_wire_call *call, bool peer,
		      u64 *old)
{
	u64 offset = le64_to_cpu(call->offset), operand = le64_to_cpu(call->operand);

	*old = 0;
	if (call->call == RCHAR_CALL_RING)
		region_ring(region, operand);
	if (call->call != RCHAR_CALL_ADD && call->call != RCHAR_CALL_CAS)
		return RCHAR_CALL_OK;
	/* Atomic operations of the device are not atomic with those of a CPU. */
	if (region->atomics != RCHAR_ATOMICS_SW)
		return RCHAR_CALL_UNSUPPORTED;
	if (offset % 8 || region->size < 8 || offset > region->size - 8)
		return RCHAR_CALL_RANGE;
	if (peer && region->access != RCHAR_ACCESS_RW)
		return RCHAR_CALL_READ_ONLY;
	if (call->call == RCHAR_CALL_ADD)
		*old = atomic64_fetch_add(operand, region_word_at(region, offset));
	else
		*old = atomic64_cmpxchg(region_word_at(region, offset), le64_to_cpu(call->compare),
					operand);
	return RCHAR_CALL_OK;
}

/**
 * rchar_region_call_errno() - convert the status of a call to an errno
 * @status: enum rchar_call_status, below __RCHAR_CALL_STATUS_MAX
 *
 * Return: 0 or a negative errno.
 */
int rchar_region_call_errno(u32 status)
{
	static const int errors[__RCHAR_CALL_STATUS_MAX] = {
		[RCHAR_CALL_OK] = 0,
		[RCHAR_CALL_RANGE] = -EINVAL,
		[RCHAR_CALL_READ_ONLY] = -EROFS,
		[RCHAR_CALL_UNSUPPORTED] = -EOPNOTSUPP,
	};

	return errors[status];
}

/* ---- files of this host ---- */

/**
 * struct region_file - one open file of a listening memory channel
 * @region: the region; the file holds a reference
 * @channel: the channel, kept alive by the open cdev
 * @lock: protects @seen
 * @seen: &rchar_region.rings at the time of the open() or of the last fetch
 */
struct region_file {
	struct rchar_region *region;
	struct rchar_channel *channel;
	struct mutex lock;
	u64 seen;
};

static int region_open(struct inode *inode, struct file *file)
{
	struct rchar_channel *channel = container_of(inode->i_cdev, struct rchar_channel, cdev);
	struct region_file *f = kzalloc(sizeof(*f), RCHAR_GFP_PROGRAM);

	if (!f)
		return -ENOMEM;
	spin_lock_bh(&channel->lock);
	if (!channel->dead) {
		f->region = rchar_region_of(channel);
		rchar_region_get(f->region);
	}
	spin_unlock_bh(&channel->lock);
	if (!f->region) {
		kfree(f);
		return -ENXIO;
	}
	f->channel = channel;
	f->seen = READ_ONCE(f->region->rings);
	mutex_init(&f->lock);
	file->private_data = f;
	file->f_mode |= FMODE_NOWAIT;
	return 0;
}

static int region_release(struct inode *inode, struct file *file)
{
	struct region_file *f = file->private_data;

	rchar_region_put(f->region);
	kfree(f);
	return 0;
}

/* Copy page by page. A fault in user memory ends the copy. */
static ssize_t region_copy(struct kiocb *iocb, struct iov_iter *iter,
			   size_t (*copy)(void *page, size_t n, struct iov_iter *iter))
{
	struct region_file *f = iocb->ki_filp->private_data;
	struct rchar_region *region = f->region;
	size_t left = min_t(u64, iov_iter_count(iter), region->size - iocb->ki_pos);
	ssize_t done = 0;

	while (left) {
		size_t at = offset_in_page(iocb->ki_pos);
		size_t n = min_t(size_t, left, PAGE_SIZE - at);
		size_t got;

		got = copy(page_address(region->pages[iocb->ki_pos >> PAGE_SHIFT]) + at, n, iter);
		iocb->ki_pos += got;
		done += got;
		left -= got;
		if (got < n)
			return done ?: -EFAULT;
		if (fatal_signal_pending(current))
			break;
		cond_resched();
	}
	return done;
}

static size_t copy_out(void *page, size_t n, struct iov_iter *iter)
{
	return copy_to_iter(page, n, iter);
}

static size_t region_copy_in(void *page, size_t n, struct iov_iter *iter)
{
	return copy_from_iter(page, n, iter);
}

static ssize_t region_read(struct kiocb *iocb, struct iov_iter *to)
{
	struct region_file *f = iocb->ki_filp->private_data;
	ssize_t ret;

	if (READ_ONCE(f->channel->dead))
		return -ENODEV;
	if (!iov_iter_count(to) || iocb->ki_pos >= f->region->size)
		return 0;
	ret = region_copy(iocb, to, copy_out);
	if (ret > 0)
		rchar_stats_inc(&f->channel->stats.reads);
	return ret;
}

static ssize_t region_write(struct kiocb *iocb, struct iov_iter *from)
{
	struct region_file *f = iocb->ki_filp->private_data;
	ssize_t ret;

	if (READ_ONCE(f->channel->dead))
		return -ENODEV;
	if (iocb->ki_flags & IOCB_APPEND)
		iocb->ki_pos = f->region->size;
	if (!iov_iter_count(from))
		return 0;
	if (iocb->ki_pos >= f->region->size)
		return -ENOSPC;
	ret = region_copy(iocb, from, region_copy_in);
	if (ret > 0)
		rchar_stats_inc(&f->channel->stats.writes);
	return ret;
}

static loff_t region_llseek(struct file *file, loff_t offset, int whence)
{
	struct region_file *f = file->private_data;

	return fixed_size_llseek(file, offset, whence, f->region->size);
}

/* The file has a reference to the region, and pages stay where they are: nothing to lock. */
static vm_fault_t region_fault(struct vm_fault *vmf)
{
	struct region_file *f = vmf->vma->vm_file->private_data;

	if (vmf->pgoff >= f->region->nr_pages)
		return VM_FAULT_SIGBUS;
	vmf->page = f->region->pages[vmf->pgoff];
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct region_vm_ops = {
	.fault = region_fault,
};

/*
 * Pages are mapped when they are used: a region may be large, and madvise(MADV_DONTNEED) unmaps
 * pages. The delete of the channel leaves mappings alone.
 */
static int region_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct region_file *f = file->private_data;

	if (READ_ONCE(f->channel->dead))
		return -ENODEV;
	/*
	 * A private mapping would be a copy of the region. Test VM_MAYSHARE: VM_SHARED is set only
	 * if the file is open for writing.
	 */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (vma->vm_pgoff >= f->region->nr_pages ||
	    vma_pages(vma) > f->region->nr_pages - vma->vm_pgoff)
		return -ENXIO;
	rchar_compat_vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_ops = &region_vm_ops;
	return 0;
}

static __poll_t region_poll(struct file *file, poll_table *wait)
{
	struct region_file *f = file->private_data;
	__poll_t mask = EPOLLOUT | EPOLLWRNORM;

	poll_wait(file, &f->region->wait, wait);
	if (READ_ONCE(f->region->rings) != READ_ONCE(f->seen))
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLPRI;
	if (READ_ONCE(f->channel->dead))
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLERR | EPOLLHUP;
	return mask;
}

/* Nothing to do: programs of this host write directly to the region's memory. */
static int region_fsync(struct file *file, loff_t start, loff_t end, int datasync)
{
	return 0;
}

static long fetch_rings(struct region_file *f, void __user *arg)
{
	struct rchar_rings rings = {};
	u64 seen;

	/* Who has it may wait for a page fault of another program. */
	if (mutex_lock_killable(&f->lock))
		return -EINTR;
	spin_lock_bh(&f->region->lock);
	seen = f->region->rings;
	rings.count = seen - f->seen;
	rings.last = f->region->last;
	spin_unlock_bh(&f->region->lock);
	/* Rings that could not be copied to the program stay unfetched. */
	if (copy_to_user(arg, &rings, sizeof(rings))) {
		mutex_unlock(&f->lock);
		return -EFAULT;
	}
	WRITE_ONCE(f->seen, seen);
	mutex_unlock(&f->lock);
	return 0;
}

static int region_execute(struct file *file, const struct rchar_atomic *a, u64 *old)
{
	struct region_file *f = file->private_data;
	struct rchar_wire_call call;

	rchar_region_atomic_call(a, &call);
	return rchar_region_call_errno(rchar_region_call(f->region, &call, false, old));
}

/**
 * rchar_region_atomic_ioctl() - check and execute RCHAR_IOC_ATOMIC
 * @file: the file
 * @arg: struct rchar_atomic of the program
 * @execute: executes the checked operation and sets @old; returns 0 or a negative errno
 *
 * Context: process.
 * Return: 0; -EBADF, -EFAULT, -EINVAL; or the error of @execute.
 */
long rchar_region_atomic_ioctl(struct file *file, struct rchar_atomic __user *arg,
			       int (*execute)(struct file *file, const struct rchar_atomic *a,
					      u64 *old))
{
	struct rchar_atomic a;
	int ret;

	/* The answer contains the previous value of the word, so the operation is also a read. */
	if (!(file->f_mode & FMODE_WRITE) || !(file->f_mode & FMODE_READ))
		return -EBADF;
	if (copy_from_user(&a, arg, sizeof(a)))
		return -EFAULT;
	if (a.flags || a.offset % 8 || (a.op != RCHAR_ATOMIC_ADD && a.op != RCHAR_ATOMIC_CAS))
		return -EINVAL;
	ret = execute(file, &a, &a.old);
	return ret ?: put_user(a.old, &arg->old);
}

/**
 * rchar_region_atomic_call() - build the CALL for RCHAR_IOC_ATOMIC
 * @a: the checked argument of the program
 * @call: set, except for its id
 */
void rchar_region_atomic_call(const struct rchar_atomic *a, struct rchar_wire_call *call)
{
	memset(call, 0, sizeof(*call));
	call->call = a->op == RCHAR_ATOMIC_ADD ? RCHAR_CALL_ADD : RCHAR_CALL_CAS;
	call->offset = cpu_to_le64(a->offset);
	call->operand = cpu_to_le64(a->operand);
	call->compare = cpu_to_le64(a->op == RCHAR_ATOMIC_CAS ? a->compare : 0);
}

static long get_info(struct region_file *f, unsigned int cmd, void __user *arg)
{
	const struct rchar_config *c = &f->channel->config;
	struct rchar_info info = {
		.type = c->type,
		.role = c->role,
		.state = RCHAR_SESSION_OPEN,
		.size = f->region->size,
		.access = f->region->access,
		.importers = READ_ONCE(f->channel->nr_sessions),
	};

	strscpy(info.name, c->name, sizeof(info.name));
	memcpy(info.local, &c->local, rchar_addr_len(&c->local));
	return rchar_chardev_put_info(&info, cmd, arg);
}

static long region_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct region_file *f = file->private_data;

	if (READ_ONCE(f->channel->dead))
		return -ENODEV;
	if (rchar_chardev_is_info(cmd))
		return get_info(f, cmd, (void __user *)arg);
	switch (cmd) {
	case RCHAR_IOC_RINGS:
		return fetch_rings(f, (void __user *)arg);
	case RCHAR_IOC_ATOMIC:
		return rchar_region_atomic_ioctl(file, (void __user *)arg, region_execute);
	default:
		return -ENOTTY;
	}
}

const struct file_operations rchar_region_fops = {
	.owner = THIS_MODULE,
	.open = region_open,
	.release = region_release,
	.read_iter = region_read,
	.write_iter = region_write,
	.llseek = region_llseek,
	.mmap = region_mmap,
	.poll = region_poll,
	.fsync = region_fsync,
	.splice_read = rchar_compat_splice_read,
	.splice_write = iter_file_splice_write,
	.unlocked_ioctl = region_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

/**
 * rchar_region_init() - create the workqueue at module load
 *
 * Return: 0 or -ENOMEM.
 */
int rchar_region_init(void)
{
	region_wq = alloc_workqueue("rchar_region", WQ_UNBOUND, 0);
	return region_wq ? 0 : -ENOMEM;
}

/**
 * rchar_region_exit() - destroy the workqueue at module unload, after the last channel
 */
void rchar_region_exit(void)
{
	destroy_workqueue(region_wq);
}
