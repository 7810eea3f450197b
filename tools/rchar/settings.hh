// SPDX-License-Identifier: GPL-2.0
// What a command line says about a channel, into the request.
#pragma once

#include <string>

#include "../common/args.hh"
#include "request.hh"

// What follows 'add NAME': type, role, addresses, and KEY VALUE pairs.
void put_new_channel(Request &r, Words &words);
// What follows 'set NAME': KEY VALUE pairs of what may change.
void put_changes(Request &r, const std::string &name, Words &words);
