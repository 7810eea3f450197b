// SPDX-License-Identifier: GPL-2.0
// The commands.
#pragma once

#include "../common/args.hh"
#include "options.hh"

// Runs one command line, without the options in front. Fails with a Failure.
void run_command(Words words, const Options &options);
void print_help();
