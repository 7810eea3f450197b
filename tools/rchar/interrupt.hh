// SPDX-License-Identifier: GPL-2.0
// The signals that end a program which has something to undo, and may say so first.
#pragma once

// From now on SIGINT, SIGTERM and SIGHUP only end what waits, and SIGPIPE makes writes fail.
void catch_interrupts();
bool is_interrupted();
