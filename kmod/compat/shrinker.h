/* SPDX-License-Identifier: GPL-2.0 */
/* 6.7 replaced register_shrinker() by shrinker_alloc() and shrinker_register(). */
#ifndef RCHAR_COMPAT_SHRINKER_H
#define RCHAR_COMPAT_SHRINKER_H

#include <linux/shrinker.h>
#include <linux/slab.h>

/* Returns the shrinker, at work; or NULL. */
static inline struct shrinker *
rchar_compat_shrinker_add(const char *name,
			  unsigned long (*count)(struct shrinker *shrinker,
						 struct shrink_control *sc),
			  unsigned long (*scan)(struct shrinker *shrinker,
						struct shrink_control *sc))
{
#ifdef RCHAR_HAVE_SHRINKER_ALLOC
	struct shrinker *shrinker = shrinker_alloc(0, "%s", name);
#else
	struct shrinker *shrinker = kzalloc(sizeof(*shrinker), GFP_KERNEL);
#endif

	if (!shrinker)
		return NULL;
	shrinker->count_objects = count;
	shrinker->scan_objects = scan;
	shrinker->seeks = DEFAULT_SEEKS;
#ifdef RCHAR_HAVE_SHRINKER_ALLOC
	shrinker_register(shrinker);
#else
	if (register_shrinker(shrinker, "%s", name)) {
		kfree(shrinker);
		return NULL;
	}
#endif
	return shrinker;
}

static inline void rchar_compat_shrinker_del(struct shrinker *shrinker)
{
#ifdef RCHAR_HAVE_SHRINKER_ALLOC
	shrinker_free(shrinker);
#else
	unregister_shrinker(shrinker);
	kfree(shrinker);
#endif
}

#endif /* RCHAR_COMPAT_SHRINKER_H */
