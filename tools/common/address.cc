// SPDX-License-Identifier: GPL-2.0
#include "address.hh"

#include <arpa/inet.h>
#include <net/if.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace {

std::string with_port(const std::string &host, in_port_t port)
{
	return port ? host + ":" + std::to_string(ntohs(port)) : host;
}

// Others name interfaces: a terminal takes no commands from a name.
bool is_graphic(std::string_view text)
{
	return std::all_of(text.begin(), text.end(), [](unsigned char c) { return isgraph(c); });
}

}  // namespace

in_port_t *port_of(sockaddr_storage *address)
{
	if (address->ss_family == AF_INET)
		return &reinterpret_cast<sockaddr_in *>(address)->sin_port;
	return &reinterpret_cast<sockaddr_in6 *>(address)->sin6_port;
}

std::string host_text(const sockaddr_storage &address)
{
	char text[INET6_ADDRSTRLEN] = "?";

	if (address.ss_family == AF_INET) {
		auto *in = reinterpret_cast<const sockaddr_in *>(&address);

		return inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
	}
	auto *in6 = reinterpret_cast<const sockaddr_in6 *>(&address);
	std::string s = inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));

	if (uint32_t scope = in6->sin6_scope_id) {
		char name[IF_NAMESIZE];

		s += "%";
		s += if_indextoname(scope, name) && is_graphic(name) ? name : std::to_string(scope);
	}
	return s;
}

std::string address_text(const sockaddr_storage &address)
{
	if (address.ss_family == AF_INET) {
		auto *in = reinterpret_cast<const sockaddr_in *>(&address);

		return with_port(host_text(address), in->sin_port);
	}
	auto *in6 = reinterpret_cast<const sockaddr_in6 *>(&address);

	return with_port("[" + host_text(address) + "]", in6->sin6_port);
}
