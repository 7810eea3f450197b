/* SPDX-License-Identifier: GPL-2.0 */
/* As much of a scatterlist as sealing needs: pieces of memory. */
#ifndef UNIT_LINUX_SCATTERLIST_H
#define UNIT_LINUX_SCATTERLIST_H
#include <linux/types.h>

struct scatterlist {
	void *buf;
	unsigned int length;
};

static inline void sg_set_buf(struct scatterlist *sg, void *buf, unsigned int length)
{
	sg->buf = buf;
	sg->length = length;
}

#endif
