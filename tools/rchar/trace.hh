// SPDX-License-Identifier: GPL-2.0
// 'rchar trace': the module's trace events, in words, as they come.
#pragma once

#include "../common/args.hh"
#include "options.hh"

// Of everything, of a link, or of a session; until a signal, or for options.wait_s.
void trace(Words words, const Options &options);
