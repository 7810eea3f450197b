// SPDX-License-Identifier: GPL-2.0
// Brings the host to a configuration, with the smallest changes.
#pragma once

#include "conf.hh"
#include "options.hh"

// Stops at the first request that fails, and says what was done and what not.
void apply(const Conf &conf, const Options &options);
// The configuration of the host as lines of a configuration file, to stdout.
void save();
