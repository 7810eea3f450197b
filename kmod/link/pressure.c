// SPDX-License-Identifier: GPL-2.0
/*
 * A shrinker (mm/shrinker.c). It runs in the context of whoever needs memory, with any lock held,
 * so it only queues work. A receive queue gives a buffer back when the peer has used it, so the
 * memory comes later: the shrinker frees nothing itself.
 */
#include "pressure.h"
#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/workqueue.h>
#include "base/chunk.h"
#include "compat/shrinker.h"

/* At most once in so long. */
#define PRESSURE_PAUSE HZ

static atomic_long_t large_buffers;
static void (*trim_idle)(void);
static struct shrinker *shrinker_of_lanes;
static unsigned long trimmed_at;

static void pressure_work(struct work_struct *work)
{
	trim_idle();
}

static DECLARE_WORK(trim_work, pressure_work);

static unsigned long pressure_count(struct shrinker *self, struct shrink_control *sc)
{
	return max(0L, atomic_long_read(&large_buffers)) * (RCHAR_FRAME_SIZE / PAGE_SIZE) ?:
		       SHRINK_EMPTY;
}

static unsigned long pressure_scan(struct shrinker *self, struct shrink_control *sc)
{
	unsigned long last = READ_ONCE(trimmed_at);

	if (time_after(jiffies, last + PRESSURE_PAUSE) &&
	    cmpxchg(&trimmed_at, last, jiffies) == last)
		schedule_work(&trim_work);
	return SHRINK_STOP;
}

/**
 * rchar_pressure_count() - a lane may have so many more large receive buffers
 * @buffers: the number; negative if fewer
 *
 * Context: any.
 */
void rchar_pressure_count(long buffers)
{
	atomic_long_add(buffers, &large_buffers);
}

/**
 * rchar_pressure_init() - take part in reclaim, at module load
 * @trim: asks the peers of idle lanes to use their large buffers up; called in process context,
 *	  at most once a second
 *
 * Return: 0 or -ENOMEM.
 */
int rchar_pressure_init(void (*trim)(void))
{
	trim_idle = trim;
	trimmed_at = jiffies - PRESSURE_PAUSE - 1;
	shrinker_of_lanes = rchar_compat_shrinker_add("rdma_char", pressure_count, pressure_scan);
	return shrinker_of_lanes ? 0 : -ENOMEM;
}

/**
 * rchar_pressure_exit() - undo rchar_pressure_init()
 */
void rchar_pressure_exit(void)
{
	rchar_compat_shrinker_del(shrinker_of_lanes);
	cancel_work_sync(&trim_work);
}
