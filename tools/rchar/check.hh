// SPDX-License-Identifier: GPL-2.0
// Why does it not work? Step by step, up to a connection that is really tried.
#pragma once

#include "../common/args.hh"
#include "options.hh"

// Without words: this host alone. With ADDR[:PORT][/NAME] and settings of 'add': up to that peer.
// Prints each step. False: one is not in order.
bool check_host(Words words, const Options &options);
