// SPDX-License-Identifier: GPL-2.0
// The device node of a channel. Its mode, owner and group are those of the file, whatever the
// module gave it first: chmod and chown change it, and the module does not hear of it.
#pragma once

#include <string>
#include <vector>

#include "objects.hh"

std::string node_path(const std::string &name);
// What the node has, to the channel. Without the node, the channel keeps what the module says.
void read_node(Channel *channel);
// A shell that writes to /dev/rchar/NAME before there is such a channel makes a file, which keeps
// the bytes in memory. Warns of files in the way of these channels, and of all others when all is
// set.
void warn_of_files(const std::vector<Channel> &channels, bool all);
void check_node(const Channel &channel);  // Failure: it is not the device of the channel
// Gives the node the mode, owner and group of wanted, as far as it has them.
void change_node(const Channel &channel, const Channel &wanted);
