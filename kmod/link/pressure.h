/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory pressure on the host: links that are idle give their large receive buffers back at once
 * instead of at the next look.
 */
#ifndef RCHAR_PRESSURE_H
#define RCHAR_PRESSURE_H

void rchar_pressure_count(long buffers);
int rchar_pressure_init(void (*trim)(void));
void rchar_pressure_exit(void);

#endif /* RCHAR_PRESSURE_H */
