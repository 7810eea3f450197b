// SPDX-License-Identifier: GPL-2.0
// What a channel shall be: complete, checked, compared with what it is, and as a command.
#pragma once

#include <string>
#include <vector>

#include "settings.hh"

// One thing in which a channel is not as it shall be. setting is nullptr for type, role and
// addresses.
struct Difference {
	std::string key;
	std::string is, desired;
	const Setting *setting;
};

// Fills in what the module fills in when a channel is added: ports, and settings not given.
void complete(Channel *channel);
// Fails as the module would for what no channel may have; what: "channel" or "key".
void check_name(const std::string &name, const char *what);
void check_channel(const ChannelWords &words);
void check_node_limits(const ChannelWords &words);
// Both are complete.
std::vector<Difference> differences(const Channel &is, const Channel &desired);
// 'add NAME ...' with the settings that are not those of every new channel. c is complete.
std::string add_command(const Channel &c);
