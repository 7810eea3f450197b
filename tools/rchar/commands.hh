// SPDX-License-Identifier: GPL-2.0
// The commands.
#pragma once

#include <string>

#include "../common/args.hh"

struct Options {
	bool json = false;
	bool pretty = false;
	bool details = false;
	bool timestamps = false;
	int wait_s = -1;  // -1: do not wait
};

// Runs one command line, without the options in front. Fails with a Failure.
void run_command(Words words, const Options &options);
void print_help();
