// SPDX-License-Identifier: GPL-2.0
#include "param.h"

static int param_set(const char *text, const struct kernel_param *param)
{
	struct rchar_param *p = param->arg;
	const struct kernel_param value = { .arg = &p->value };

	return param_set_uint_minmax(text, &value, p->least, p->most);
}

static int param_get(char *text, const struct kernel_param *param)
{
	struct rchar_param *p = param->arg;
	const struct kernel_param value = { .arg = &p->value };

	return param_get_uint(text, &value);
}

const struct kernel_param_ops rchar_param_ops = {
	.set = param_set,
	.get = param_get,
};
