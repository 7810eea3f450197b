/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Module parameters with bounds: module_param_cb(name, &rchar_param_ops, &PARAM, 0644). A value
 * beyond the bounds is refused with EINVAL.
 */
#ifndef RCHAR_PARAM_H
#define RCHAR_PARAM_H

#include <linux/moduleparam.h>

/**
 * struct rchar_param - a module parameter, the argument of rchar_param_ops
 * @value: its value; root may change it at any time, so it is read with READ_ONCE()
 * @least: the least value
 * @most: the greatest value
 */
struct rchar_param {
	unsigned int value;
	unsigned int least;
	unsigned int most;
};

extern const struct kernel_param_ops rchar_param_ops;

#endif /* RCHAR_PARAM_H */
