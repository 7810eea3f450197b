// SPDX-License-Identifier: GPL-2.0
#include <linux/device.h>

static char *devnode(const struct device *dev, umode_t *mode, kuid_t *uid, kgid_t *gid)
{
	return NULL;
}

const struct device_type rchar_probe = { .devnode = devnode };
