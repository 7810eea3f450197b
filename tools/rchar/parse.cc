// SPDX-License-Identifier: GPL-2.0
#include "parse.hh"

#include <arpa/inet.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pwd.h>

#include <cctype>
#include <cstring>

#include "../common/address.hh"

namespace {

uint16_t parse_port(const std::string &text)
{
	uint32_t port = parse_number(text, "port");

	if (port < 1 || port > 65535)
		usage_error("port: '" + text + "' is not 1 to 65535");
	return static_cast<uint16_t>(port);
}

void resolve(Address *a, const std::string &host, bool numeric)
{
	addrinfo hints{}, *found = nullptr;

	if (host.empty())
		usage_error("an address is missing");
	hints.ai_socktype = SOCK_STREAM;
	if (numeric)
		hints.ai_flags = AI_NUMERICHOST;
	int ret = getaddrinfo(host.c_str(), nullptr, &hints, &found);
	if (ret)
		usage_error("address '" + host + "': " + gai_strerror(ret));
	memcpy(&a->addr, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
}

}  // namespace

Address parse_address(const std::string &text, bool with_remote)
{
	Address a;
	std::string host = text, port;
	size_t slash = host.rfind('/');

	if (with_remote && slash != std::string::npos) {
		a.remote = host.substr(slash + 1);
		if (a.remote.empty())
			usage_error("'" + text + "': the name after '/' is missing");
		host.resize(slash);
	}
	if (!host.empty() && host[0] == '[') {
		size_t close = host.find(']');

		if (close == std::string::npos)
			usage_error("'" + text + "': ']' is missing");
		port = host.substr(close + 1);
		if (!port.empty() && port[0] != ':')
			usage_error("'" + text + "': only :PORT may follow ']'");
		resolve(&a, host.substr(1, close - 1), true);
	} else {
		size_t colon = host.find(':');

		// Two colons without brackets: an IPv6 address without a port.
		if (colon != std::string::npos && host.find(':', colon + 1) != std::string::npos)
			colon = std::string::npos;
		if (colon != std::string::npos)
			port = host.substr(colon);
		resolve(&a, host.substr(0, colon), false);
	}
	if (!port.empty())
		*port_of(&a.addr) = htons(parse_port(port.substr(1)));
	return a;
}

uint32_t parse_mode(const std::string &text, const char *what)
{
	uint32_t mode = 0;

	if (text.empty() || text.size() > 4)
		usage_error(std::string(what) + ": '" + text +
			    "' is not an octal number like 0660");
	for (char c : text) {
		if (c < '0' || c > '7')
			usage_error(std::string(what) + ": '" + text +
				    "' is not an octal number like 0660");
		mode = mode * 8 + static_cast<uint32_t>(c - '0');
	}
	return mode;
}

uint32_t parse_user(const std::string &text, const char *what)
{
	if (isdigit(static_cast<unsigned char>(text.empty() ? 'x' : text[0])))
		return parse_number(text, what);
	const passwd *user = getpwnam(text.c_str());
	if (!user)
		usage_error(std::string(what) + ": there is no user '" + text + "'");
	return user->pw_uid;
}

uint32_t parse_group(const std::string &text, const char *what)
{
	if (isdigit(static_cast<unsigned char>(text.empty() ? 'x' : text[0])))
		return parse_number(text, what);
	const group *g = getgrnam(text.c_str());
	if (!g)
		usage_error(std::string(what) + ": there is no group '" + text + "'");
	return g->gr_gid;
}

uint64_t parse_link_id(const std::string &text)
{
	if (text.empty() || text.size() > 10 ||
	    text.find_first_not_of("0123456789") != std::string::npos)
		usage_error("link: '" + text + "' is not an id as 'rchar link' shows it");
	return std::stoull(text);
}

LinkSession parse_link_session(const std::string &text)
{
	size_t slash = text.find('/');
	LinkSession id{parse_link_id(text.substr(0, slash)), {}};

	if (slash != std::string::npos)
		id.session = parse_number(text.substr(slash + 1), "session");
	return id;
}

// Not what resolve() takes: there, 10.0.0 is 10.0.0.0.
rchar_prefix parse_prefix(const std::string &text)
{
	size_t slash = text.find('/');
	std::string host = text.substr(0, slash);
	rchar_prefix out{};

	if (text == "any")
		return out;
	if (host.size() > 1 && host.front() == '[' && host.back() == ']')
		host = host.substr(1, host.size() - 2);
	if (inet_pton(AF_INET, host.c_str(), out.addr) == 1)
		out.family = AF_INET;
	else if (inet_pton(AF_INET6, host.c_str(), out.addr) == 1)
		out.family = AF_INET6;
	else
		usage_error("allow: '" + host + "' is not an IPv4 or IPv6 address");
	uint32_t max = out.family == AF_INET ? 32 : 128, bits = max;
	if (slash != std::string::npos)
		bits = parse_number(text.substr(slash + 1), "allow");
	if (bits > max)
		usage_error("allow: '" + text + "': the number after '/' is 0 to " +
			    std::to_string(max));
	out.bits = static_cast<uint8_t>(bits);
	return out;
}

std::vector<std::string> parse_list(const std::string &text, const char *what)
{
	std::vector<std::string> parts;
	size_t from = 0, comma;

	do {
		comma = text.find(',', from);
		parts.push_back(text.substr(from, comma - from));
		if (parts.back().empty())
			usage_error(std::string(what) + ": '" + text + "' has an empty part");
		from = comma + 1;
	} while (comma != std::string::npos);
	return parts;
}
