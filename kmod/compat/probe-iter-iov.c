// SPDX-License-Identifier: GPL-2.0
#include <linux/uio.h>

size_t probe(const struct iov_iter *iter);
size_t probe(const struct iov_iter *iter)
{
	return iter_iov(iter)->iov_len;
}
