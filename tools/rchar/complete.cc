// SPDX-License-Identifier: GPL-2.0
#include "complete.hh"

#include <arpa/inet.h>
#include <dirent.h>
#include <grp.h>
#include <ifaddrs.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "format.hh"
#include "module.hh"

namespace {

using List = std::vector<std::string>;

List operator+(List a, const List &b)
{
	a.insert(a.end(), b.begin(), b.end());
	return a;
}

// ---- what there is ----

// A key that is pressed does not load the module, and no error is printed into the line.
template <typename F> auto ask(F f) -> decltype(f(std::declval<Netlink &>()))
{
	try {
		if (!module_is_loaded())
			return {};
		Netlink nl;
		return f(nl);
	} catch (const Failure &) {
		return {};
	}
}

std::vector<Channel> channels()
{
	return ask([](Netlink &nl) { return dump_channels(nl); });
}

List channel_names()
{
	List names;

	for (const Channel &c : channels())
		names.push_back(c.name.value_or(""));
	return names;
}

List key_names()
{
	List names;

	for (const Key &k : ask([](Netlink &nl) { return dump<Key>(nl, RCHAR_CMD_KEY_GET); }))
		names.push_back(k.name.value_or(""));
	return names;
}

List link_ids()
{
	List ids;

	for (const Link &l : ask([](Netlink &nl) { return dump<Link>(nl, RCHAR_CMD_LINK_GET); }))
		ids.push_back(id_text(l.id.value_or(0)));
	return ids;
}

List session_ids()
{
	List ids;

	for (const Session &s :
	     ask([](Netlink &nl) { return dump<Session>(nl, RCHAR_CMD_SESSION_GET); }))
		ids.push_back(id_text(s.link.value_or(0)) + "/" + std::to_string(s.id.value_or(0)));
	return ids;
}

List traced_ids()
{
	List ids = link_ids(), sessions = session_ids();

	ids.insert(ids.end(), sessions.begin(), sessions.end());
	return ids;
}

List local_addresses()
{
	ifaddrs *first = nullptr;
	List out;

	if (getifaddrs(&first))
		return out;
	std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(first, freeifaddrs);
	for (ifaddrs *i = first; i; i = i->ifa_next) {
		sockaddr_storage addr{};

		if (!i->ifa_addr ||
		    (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6))
			continue;
		memcpy(&addr, i->ifa_addr,
		       i->ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in) :
							   sizeof(sockaddr_in6));
		out.push_back(address_text(addr));
	}
	return out;
}

List users()
{
	List names;

	setpwent();
	while (const passwd *p = getpwent())
		names.push_back(p->pw_name);
	endpwent();
	return names;
}

List groups()
{
	List names;

	setgrent();
	while (const group *g = getgrent())
		names.push_back(g->gr_name);
	endgrent();
	return names;
}

List namespaces()
{
	DIR *dir = opendir("/run/netns");
	List names;

	if (!dir)
		return names;
	while (const dirent *e = readdir(dir))
		if (e->d_name[0] != '.')
			names.push_back(e->d_name);
	closedir(dir);
	return names;
}

// ---- settings ----

template <typename E> List names_of()
{
	List words;

	for (const Name<E> &n : Names<E>::table)
		words.push_back(n.word);
	return words;
}

// Names of keys; behind a comma, with what stands in front of it.
List keys_after(const std::string &typed, const List &others)
{
	size_t comma = typed.rfind(',');
	List out;

	if (comma == std::string::npos)
		return key_names() + others;
	for (const std::string &name : key_names())
		out.push_back(typed.substr(0, comma + 1) + name);
	return out;
}

List values_of(const std::string &key, const std::string &typed)
{
	if (key == "from")
		return local_addresses();
	if (key == "uid")
		return users();
	if (key == "gid")
		return groups();
	for (const Setting &s : settings())
		if (key == s.key)
			return s.attr == RCHAR_A_CHANNEL_KEY ? keys_after(typed, s.choices()) :
							       s.choices();
	return {};
}

// KEY VALUE pairs: the keys that channel c may have and that no pair has yet, or values.
List complete_pairs(const Channel &c, const List &pairs, bool changes)
{
	List keys;

	if (pairs.size() % 2 == 0)
		return values_of(pairs[pairs.size() - 2], pairs.back());
	for (const Setting &s : settings())
		if (s.applies(c) && (!changes || s.change != Change::NEVER))
			keys.push_back(s.key);
	if (!changes && c.role == RCHAR_ROLE_CONNECT)
		keys.push_back("from");
	for (size_t i = 0; i + 1 < pairs.size(); i += 2)
		keys.erase(std::remove(keys.begin(), keys.end(), pairs[i]), keys.end());
	return keys;
}

// ---- commands; words[0] is the first behind the command ----

List complete_add(const List &words)
{
	Channel c;

	switch (words.size()) {
	case 1:
		return {};
	case 2:
		return names_of<rchar_channel_type>();
	case 3:
		return names_of<rchar_role>();
	case 4:
		return words[2] == "listen" ? local_addresses() : List{};
	}
	auto type = value_of<rchar_channel_type>(words[1]);
	auto role = value_of<rchar_role>(words[2]);
	if (!type || !role)
		return {};
	c.type = Code<rchar_channel_type>{static_cast<uint32_t>(*type)};
	c.role = Code<rchar_role>{static_cast<uint32_t>(*role)};
	return complete_pairs(c, List(words.begin() + 4, words.end()), false);
}

// check makes a memory channel.
List complete_check(const List &words)
{
	Channel c;

	if (words.size() == 1)
		return {};
	c.type = Code<rchar_channel_type>{RCHAR_TYPE_MEMORY};
	c.role = Code<rchar_role>{RCHAR_ROLE_CONNECT};
	return complete_pairs(c, List(words.begin() + 1, words.end()), false);
}

List complete_set(const List &words)
{
	if (words.size() == 1)
		return channel_names();
	for (const Channel &c : channels())
		if (c.name == words[0] && c.type && c.role)
			return complete_pairs(c, List(words.begin() + 1, words.end()), true);
	return {};
}

// NOUN [VERB [OBJECT]], with what the objects of each verb are; null: it has none, or no list of them.
List complete_noun(const List &words, const std::vector<std::pair<const char *, List (*)()>> &verbs)
{
	List names;

	for (const auto &[verb, objects] : verbs) {
		if (words.size() == 2 && words[0] == verb && objects)
			return objects();
		names.push_back(verb);
	}
	return words.size() == 1 ? names : List{};
}

List shown_sessions() { return channel_names() + traced_ids(); }

List complete_stats(const List &words)
{
	if (words.size() > 1 && words[words.size() - 2] == "every")
		return {};
	return words.size() == 1 ? channel_names() + List{"every"} : List{"every"};
}

List complete_arguments(const std::string &command, const List &words)
{
	if (command == "add")
		return complete_add(words);
	if (command == "check")
		return complete_check(words);
	if (command == "set")
		return complete_set(words);
	if (command == "del")
		return words.size() == 1 ? channel_names() + List{"all"} : List{};
	if (command == "show")
		return words.size() == 1 ? channel_names() : List{};
	if (command == "key")
		return complete_noun(words, {{"show", nullptr},
					     {"gen", nullptr},
					     {"add", nullptr},
					     {"del", key_names}});
	if (command == "link")
		return complete_noun(words, {{"show", link_ids}, {"reset", link_ids}});
	if (command == "session")
		return complete_noun(words, {{"show", shown_sessions}, {"kill", session_ids}});
	if (command == "stats")
		return complete_stats(words);
	if (command == "cdi")
		return channel_names();
	if (command == "top")
		return words.size() == 1 ? List{"every"} : List{};
	if (command == "trace")
		return words.size() == 1 ? traced_ids() : List{};
	return {};
}

List options_of(const std::string &command, const List &words)
{
	List options = {"--json", "--pretty", "--details", "--netns", "--help"};

	if (command == "add" || (command == "key" && !words.empty() && words[0] == "add"))
		options.push_back("--exist-ok");
	if (command == "del" || (command == "key" && !words.empty() && words[0] == "del"))
		options.push_back("--if-exists");
	if (command == "apply")
		options.push_back("--dry-run");
	if (command == "monitor")
		options.push_back("--timestamp");
	if (command == "add" || command == "show" || command == "monitor" || command == "trace" ||
	    command == "check")
		options.push_back("--wait");
	return options;
}

bool wants_value(const std::string &option)
{
	return option == "-n" || option == "--netns" || option == "-w" || option == "--wait";
}

}  // namespace

void complete_words(List words, const List &commands)
{
	std::string typed = words.empty() ? "" : words.back();
	std::string before = words.size() > 1 ? words[words.size() - 2] : "";
	List plain, fit;

	// Options and their values stand anywhere; the word being typed stays.
	for (size_t i = 0; i + 1 < words.size(); i++) {
		if (wants_value(words[i]))
			i++;
		else if (words[i][0] != '-')
			plain.push_back(words[i]);
	}
	std::string command = plain.empty() ? "" : plain[0];
	if (!plain.empty())
		plain.erase(plain.begin());
	if (wants_value(before)) {
		fit = before == "-n" || before == "--netns" ? namespaces() : List{};
	} else if (!typed.empty() && typed[0] == '-') {
		fit = options_of(command, plain);
	} else if (command.empty()) {
		fit = commands;
	} else {
		plain.push_back(typed);
		fit = complete_arguments(command, plain);
	}
	for (const std::string &word : fit)
		if (!word.compare(0, typed.size(), typed))
			printf("%s\n", word.c_str());
}
