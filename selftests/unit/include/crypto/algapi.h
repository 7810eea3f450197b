/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_CRYPTO_ALGAPI_H
#define UNIT_CRYPTO_ALGAPI_H
#include <string.h>
#define crypto_memneq(a, b, len) (memcmp(a, b, len) != 0)
#endif
