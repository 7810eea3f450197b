// SPDX-License-Identifier: GPL-2.0
// What the module has and does, a function each. They fail with the kernel's words.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "decode.hh"
#include "keyfile.hh"
#include "netlink.hh"
#include "settings.hh"

template <typename T> std::vector<T> dump(Netlink &nl, int cmd)
{
	std::vector<T> out;

	for (const Message &m : nl.dump(cmd))
		out.push_back(decode<T>(m));
	return out;
}

// Channels have the mode, owner and group that their device nodes have.
std::vector<Channel> dump_channels(Netlink &nl);
Channel get_channel(Netlink &nl, const std::string &name, const std::string &command = "show");

// Looks at every change until DONE says so, for up to that long; the channel as it was last.
Channel wait_channel(const std::string &name, std::chrono::seconds limit,
		     const std::function<bool(const Channel &)> &done);

// The kernel does not mind a file in the place of the device: warn_of_files() tells.
void add_channel(Netlink &nl, const ChannelWords &words);
void change_channel(Netlink &nl, const ChannelWords &words);
void delete_channel(Netlink &nl, const std::string &name);

void add_key(Netlink &nl, const std::string &name, const Secret &secret);
void delete_key(Netlink &nl, const std::string &name);
