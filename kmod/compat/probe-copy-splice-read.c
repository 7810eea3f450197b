// SPDX-License-Identifier: GPL-2.0
#include <linux/fs.h>

const struct file_operations rchar_probe = { .splice_read = copy_splice_read };
