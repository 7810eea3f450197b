// SPDX-License-Identifier: GPL-2.0
#include "interrupt.hh"

#include <signal.h>

#include <initializer_list>

namespace {

volatile sig_atomic_t interrupted;
void on_signal(int) { interrupted = 1; }

}  // namespace

void catch_interrupts()
{
	struct sigaction action {};

	action.sa_handler = on_signal;
	// SIGPIPE: a reader that goes, as in 'rchar check ADDR | head -n1'.
	for (int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGPIPE})
		sigaction(signal, &action, nullptr);
}

bool is_interrupted() { return interrupted; }
