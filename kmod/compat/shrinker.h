/* SPDX-License-Identifier: GPL-2.0 */
/* 6.7 replaced register_shrinker() by shrinker_alloc() and shrinker_register(). */
#ifndef RCHAR_COMPAT_SHRINKER_H
#define RCHAR_COMPAT_SHRINKER_H

#include <linux/shrinker.h>
#include <linux/slab.h>

#ifdef RCHAR_HAVE_SHRINKER_ALLOC
static inline struct shrinker *rchar_compat_shrinker_alloc(const char *name)
{
	return shrinker_alloc(0, "%s", name);
}

static inline int rchar_compat_shrinker_register(struct shrinker *shrinker, const char *name)
{
	shrinker_register(shrinker);
	return 0;
}

static inline void rchar_compat_shrinker_free(struct shrinker *shrinker)
{
	shrinker_free(shrinker);
}
#else
static inline struct shrinker *rchar_compat_shrinker_alloc(const char *name)
{
	struct shrinker *shrinker = kzalloc(sizeof(*shrinker), GFP_KERNEL);

	if (shrinker)
		shrinker->seeks = DEFAULT_SEEKS;
	return shrinker;
}

static inline int rchar_compat_shrinker_register(struct shrinker *shrinker, const char *name)
{
	return register_shrinker(shrinker, "%s", name);
}

/* Also one that was not registered. */
static inline void rchar_compat_shrinker_free(struct shrinker *shrinker)
{
	unregister_shrinker(shrinker);
	kfree(shrinker);
}
#endif

#endif /* RCHAR_COMPAT_SHRINKER_H */
