// SPDX-License-Identifier: GPL-2.0
// A message of the module: its command and its attributes, not decoded.
#pragma once

#include <netlink/attr.h>

#include <string>

// The attributes of a message, or of one of its nests.
struct Attributes {
	const nlattr *first;
	int len;

	const nlattr *find(int attr) const { return nla_find(first, len, attr); }
	static Attributes of_nest(const nlattr *nest)
	{
		return {static_cast<const nlattr *>(nla_data(nest)), nla_len(nest)};
	}
};

struct Message {
	int cmd;
	std::string bytes;

	Attributes attributes() const
	{
		return {reinterpret_cast<const nlattr *>(bytes.data()),
			static_cast<int>(bytes.size())};
	}
};
