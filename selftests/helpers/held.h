/* SPDX-License-Identifier: GPL-2.0 */
/* What this host holds for its peers: as the module counts it, and as memory. */
#ifndef HELD_H
#define HELD_H

#include <stdbool.h>

unsigned long long budget(void);
unsigned long long objects(const char *kind);
bool falls_to(const char *kind, unsigned long long most);
void begin(void);
long long taken_kib(void);
void measured(const char *name, bool ok);

#endif /* HELD_H */
