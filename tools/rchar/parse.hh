// SPDX-License-Identifier: GPL-2.0
// What single words of a command line mean. All of these fail with a Failure.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../common/args.hh"
#include "../common/names.hh"

struct Address {
	sockaddr_storage addr{};  // port 0: none was given
	std::string remote;	  // after '/', may be empty
};

// ADDR, ADDR:PORT, [V6], [V6%if]:PORT, a host name; with_remote allows "/NAME" after it.
Address parse_address(const std::string &text, bool with_remote);
// what: the setting, for the error texts.
uint32_t parse_mode(const std::string &text, const char *what);
uint32_t parse_user(const std::string &text, const char *what);
uint32_t parse_group(const std::string &text, const char *what);
uint64_t parse_link_id(const std::string &text);

// Of which session is empty: all of the link.
struct LinkSession {
	uint64_t link;
	std::optional<uint32_t> session;
};

// LINK or LINK/SESSION, as 'rchar link' and 'rchar session' show them.
LinkSession parse_link_session(const std::string &text);
// ADDR or ADDR/BITS, or "any": family AF_UNSPEC.
rchar_prefix parse_prefix(const std::string &text);
// What commas part. No part is empty.
std::vector<std::string> parse_list(const std::string &text, const char *what);

// One of the words for the values of E.
template <typename E> E parse_choice(const std::string &text, const char *what)
{
	std::optional<E> value = value_of<E>(text);

	if (!value)
		usage_error(std::string(what) + ": '" + text + "' is not " + choice_of<E>());
	return *value;
}
