// SPDX-License-Identifier: GPL-2.0
#include <linux/memcontrol.h>

bool probe(struct page *page);

bool probe(struct page *page)
{
	return PageMemcgKmem(page);
}
