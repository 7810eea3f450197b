// SPDX-License-Identifier: GPL-2.0
#include "desired.hh"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "../common/address.hh"
#include "format.hh"

namespace {

void set_default_port(std::optional<sockaddr_storage> *addr)
{
	if (*addr && !*port_of(&**addr))
		*port_of(&**addr) = htons(RCHAR_PORT);
}

bool is_wildcard(const sockaddr_storage &addr)
{
	if (addr.ss_family == AF_INET)
		return !reinterpret_cast<const sockaddr_in &>(addr).sin_addr.s_addr;
	return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6 &>(addr).sin6_addr);
}

std::string kind_of(const Channel &c)
{
	return std::string("a ") + name_of(*c.type) + " channel that " +
	       (c.role == RCHAR_ROLE_LISTEN ? "listens" : "connects");
}

void check_limits(const Setting &s, const Channel &c)
{
	if (s.number && s.max && (s.number(c) < s.min || s.number(c) > s.max))
		usage_error(std::string(s.key) + " must be " + s.number_text(s.min) + " to " +
			    s.number_text(s.max));
}

void check_given(const Setting &s, const Channel &c)
{
	std::string key = s.key;

	if (!s.applies(c))
		usage_error("'" + key + "': " + kind_of(c) + " has none");
	check_limits(s, c);
}

void check_keys(const Channel &c)
{
	std::set<std::string> names(c.keys.begin(), c.keys.end());

	for (const std::string &name : names)
		check_name(name, "key");
	if (names.size() < c.keys.size())
		usage_error("a key is given twice");
	if (names.size() > RCHAR_KEYS_MAX)
		usage_error("a channel has at most 64 keys");
	if (c.role == RCHAR_ROLE_CONNECT && names.size() > 1)
		usage_error("a connecting channel has one key");
}

void check_encrypt(const Channel &c)
{
	if (c.encrypt != RCHAR_ENCRYPT_ON)
		return;
	if (c.keys.empty())
		usage_error("encryption needs a key");
	if (c.atomics == RCHAR_ATOMICS_HW)
		usage_error("with encryption, atomics are sw");
}

void check_allow(const Channel &c)
{
	if (c.allow.size() > RCHAR_PREFIXES_MAX)
		usage_error("a channel allows at most 64 prefixes");
	for (const rchar_prefix &p : c.allow)
		for (unsigned bit = p.bits; bit < 8 * sizeof(p.addr); bit++)
			if (!p.family || p.addr[bit / 8] & (0x80 >> bit % 8))
				usage_error("allow takes ADDR/BITS without bits set beyond BITS, "
					    "or 'any' alone");
}

void check_addresses(const Channel &c)
{
	if (c.remote)
		check_name(*c.remote, "channel");
	if (!c.peer)
		return;
	if (is_wildcard(*c.peer))
		usage_error("the peer's address cannot be the wildcard");
	if (c.local && c.local->ss_family != c.peer->ss_family)
		usage_error("the peer's address and 'from' are of different families");
}

// ---- comparison ----

std::string text(const std::optional<sockaddr_storage> &addr)
{
	return addr ? address_text(*addr) : "none";
}

void compare(std::vector<Difference> *out, const char *key, const std::string &is,
	     const std::string &desired)
{
	if (is != desired)
		out->push_back({key, is, desired, nullptr});
}

// Lists mean the same in any order.
Channel sorted(Channel c)
{
	std::sort(c.keys.begin(), c.keys.end());
	std::sort(c.allow.begin(), c.allow.end(),
		  [](auto &a, auto &b) -> bool { return memcmp(&a, &b, sizeof(a)) < 0; });
	return c;
}

// A channel whose keys are all deleted opens for nobody: not the same as one without keys.
std::string text_of(const Setting &s, const Channel &c)
{
	if (s.attr == RCHAR_A_CHANNEL_KEY && c.keys.empty() && !c.keys_deleted.empty())
		return c.keys_deleted.front() + " (deleted)";
	return s.text(c).value_or(s.initial ? s.initial : "");
}

}  // namespace

void complete(Channel *channel)
{
	if (channel->role == RCHAR_ROLE_LISTEN) {
		set_default_port(&channel->local);
	} else {
		set_default_port(&channel->peer);
		if (!channel->remote)
			channel->remote = channel->name;
		if (channel->local)
			*port_of(&*channel->local) = 0;
	}
	for (const Setting &s : settings())
		if (s.applies(*channel) && s.initial && !s.text(*channel))
			s.parse(s.initial, s.key, channel);
}

void check_name(const std::string &name, const char *what)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789._-";

	if (name.empty() || name.size() > RCHAR_NAME_MAX || strchr("._-", name[0]) ||
	    name.find_first_not_of(letters) != std::string::npos)
		usage_error("'" + name + "' is no name of a " + what +
			    ": 1 to 31 of A-Z a-z 0-9 . _ -, the first a letter or digit");
}

// The module does not see these when they change.
void check_node_limits(const ChannelWords &words)
{
	for (const Setting *s : words.given)
		if (s->change == Change::BY_NODE)
			check_limits(*s, words.channel);
}

void check_channel(const ChannelWords &words)
{
	const Channel &c = words.channel;

	check_name(*c.name, "channel");
	check_addresses(c);
	for (const Setting *s : words.given)
		check_given(*s, c);
	check_keys(c);
	check_encrypt(c);
	check_allow(c);
	for (const Setting &s : settings())
		if (s.applies(c) && !s.initial && !s.text(c))
			usage_error(std::string("'") + s.key + "' is missing: " + kind_of(c) +
				    " needs it");
}

std::vector<Difference> differences(const Channel &is, const Channel &desired)
{
	std::vector<Difference> out;

	compare(&out, "type", name_of(*is.type), name_of(*desired.type));
	compare(&out, "role", name_of(*is.role), name_of(*desired.role));
	if (!out.empty())
		return out;
	bool listens = is.role == RCHAR_ROLE_LISTEN;
	compare(&out, listens ? "address" : "from", text(is.local), text(desired.local));
	compare(&out, "peer", text(is.peer), text(desired.peer));
	compare(&out, "remote", is.remote.value_or(""), desired.remote.value_or(""));
	for (const Setting &s : settings()) {
		if (!s.applies(is))
			continue;
		std::string a = text_of(s, sorted(is)), b = text_of(s, sorted(desired));
		if (a != b)
			out.push_back({s.key, a, b, &s});
	}
	return out;
}

std::string add_command(const Channel &c)
{
	std::string line = "add " + *c.name + " " + name_of(*c.type) + " " + name_of(*c.role);

	if (c.role == RCHAR_ROLE_LISTEN)
		line += " " + text(c.local);
	else
		line += " " + text(c.peer) + "/" + c.remote.value_or(*c.name);
	if (c.role == RCHAR_ROLE_CONNECT && c.local)
		line += " from " + text(c.local);
	for (const Setting &s : settings()) {
		if (!s.applies(c))
			continue;
		std::optional<std::string> value = s.text(c);
		if (value && (!s.initial || *value != s.initial))
			line += std::string(" ") + s.key + " " + *value;
	}
	return line;
}
