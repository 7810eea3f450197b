// SPDX-License-Identifier: GPL-2.0
// 'rchar cdi': channels as devices of the Container Device Interface.
#pragma once

#include "../common/args.hh"
#include "options.hh"

// Of the channels that are named, or of all; on stdout.
void cdi(Words words, const Options &options);
