// SPDX-License-Identifier: GPL-2.0
// A message of the module: its command and its attributes, not decoded.
#pragma once

#include <netlink/attr.h>

#include <string>

// The attributes of a message, or of one of its nests.
struct Attributes {
	nlattr *first;
	int len;

	nlattr *find(int attr) const { return nla_find(first, len, attr); }
	static Attributes of_nest(nlattr *nest)
	{
		return {static_cast<nlattr *>(nla_data(nest)), nla_len(nest)};
	}
};

struct Message {
	int cmd;
	std::string bytes;

	Attributes attributes()
	{
		return {reinterpret_cast<nlattr *>(bytes.data()), static_cast<int>(bytes.size())};
	}
};
