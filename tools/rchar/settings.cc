// SPDX-License-Identifier: GPL-2.0
#include "settings.hh"

#include <map>

#include "../common/names.hh"
#include "parse.hh"

namespace {

// The module wants one empty name for "none".
void put_keys(Request &r, const std::string &key, const std::string &value)
{
	if (value == "none") {
		r.put_string(RCHAR_A_CHANNEL_KEY, "");
		return;
	}
	for (const std::string &name : parse_list(value, key.c_str()))
		r.put_string(RCHAR_A_CHANNEL_KEY, name);
}

void put_allow(Request &r, const std::string &value)
{
	for (const std::string &prefix : parse_list(value, "allow"))
		r.put_prefix(RCHAR_A_CHANNEL_ALLOW, parse_prefix(prefix));
}

// KEY VALUE pairs that add and set have in common.
bool put_setting(Request &r, const std::string &key, Words &words)
{
	struct Setting {
		int attr;
		uint32_t (*parse)(const std::string &, const char *);
	};
	static const std::map<std::string, Setting> settings = {
		{"window", {RCHAR_A_CHANNEL_WINDOW, parse_size}},
		{"max-message", {RCHAR_A_CHANNEL_MAX_MESSAGE, parse_size}},
		{"rendezvous-min", {RCHAR_A_CHANNEL_RENDEZVOUS_MIN, parse_size}},
		{"backlog", {RCHAR_A_CHANNEL_BACKLOG, parse_number}},
		{"open-timeout", {RCHAR_A_CHANNEL_OPEN_TIMEOUT_MS, parse_time_ms}},
		{"recovery-timeout", {RCHAR_A_CHANNEL_RECOVERY_TIMEOUT_MS, parse_time_ms}},
		{"linger", {RCHAR_A_CHANNEL_LINGER_MS, parse_time_ms}},
	};
	auto found = settings.find(key);

	if (key == "key" || key == "keys") {
		put_keys(r, key, words.take(("the value of " + key).c_str()));
		return true;
	}
	if (key == "allow") {
		put_allow(r, words.take("the value of allow"));
		return true;
	}
	if (found == settings.end())
		return false;
	std::string what = "the value of " + key;
	const Setting &s = found->second;
	r.put_u32(s.attr, s.parse(words.take(what.c_str()), key.c_str()));
	return true;
}

void put_fixed(Request &r, const std::string &key, Words &words)
{
	if (key == "size")
		r.put_u64(RCHAR_A_CHANNEL_SIZE, parse_size64(words.take("the size"), "size"));
	else if (key == "access")
		r.put_u32(RCHAR_A_CHANNEL_ACCESS,
			  parse_choice<rchar_access>(words.take("the value of access"), "access"));
	else if (key == "atomics")
		r.put_u32(RCHAR_A_CHANNEL_ATOMICS,
			  parse_choice<rchar_atomics>(words.take("the value of atomics"),
						      "atomics"));
	else if (key == "encrypt")
		r.put_u32(RCHAR_A_CHANNEL_ENCRYPT,
			  parse_choice<rchar_encrypt>(words.take("the value of encrypt"),
						      "encrypt"));
	else if (key == "mode")
		r.put_u32(RCHAR_A_CHANNEL_MODE, parse_mode(words.take("the value of mode")));
	else if (key == "uid")
		r.put_u32(RCHAR_A_CHANNEL_UID, parse_user(words.take("the value of uid")));
	else if (key == "gid")
		r.put_u32(RCHAR_A_CHANNEL_GID, parse_group(words.take("the value of gid")));
	else
		usage_error("'" + key +
			    "' is not a setting; there are: from key keys allow encrypt size "
			    "access atomics mode uid gid window max-message rendezvous-min backlog "
			    "open-timeout recovery-timeout linger");
}

// A word for a value of E; what: "type", for the error texts.
template <typename E> E take_choice(Words &words, const std::string &what)
{
	std::string word = words.take(("the " + what + " (" + choice_of<E>() + ")").c_str());
	std::optional<E> value = value_of<E>(word);

	if (!value)
		usage_error("'" + word + "' is not a " + what + ": " + choice_of<E>());
	return *value;
}

void put_role(Request &r, Words &words)
{
	rchar_role role = take_choice<rchar_role>(words, "role");

	r.put_u32(RCHAR_A_CHANNEL_ROLE, role);
	if (role == RCHAR_ROLE_LISTEN) {
		r.put_address(RCHAR_A_CHANNEL_LOCAL,
			      parse_address(words.take("the address to listen at"), false));
		return;
	}
	Address peer = parse_address(words.take("the peer's address"), true);

	r.put_address(RCHAR_A_CHANNEL_PEER, peer);
	if (!peer.remote.empty())
		r.put_string(RCHAR_A_CHANNEL_REMOTE, peer.remote);
	if (words.accept("from"))
		r.put_address(RCHAR_A_CHANNEL_LOCAL,
			      parse_address(words.take("the address after 'from'"), false));
}

}  // namespace

void put_new_channel(Request &r, Words &words)
{
	r.put_u32(RCHAR_A_CHANNEL_TYPE, take_choice<rchar_channel_type>(words, "type"));
	put_role(r, words);
	while (!words.empty()) {
		std::string key = words.take("a setting");

		if (!put_setting(r, key, words))
			put_fixed(r, key, words);
	}
}

void put_changes(Request &r, const std::string &name, Words &words)
{
	if (words.empty())
		usage_error("set what? a setting is missing (see 'rchar help')");
	while (!words.empty()) {
		std::string key = words.take("a setting");

		if (key == "encrypt")
			usage_error("'encrypt' is given when a channel is added: delete it and "
				    "add it again");
		if (key == "mode" || key == "uid" || key == "gid")
			usage_error("'" + key +
				    "' is given when a channel is added; later use "
				    "chmod or chown on /dev/rchar/" +
				    name);
		if (!put_setting(r, key, words))
			usage_error("'" + key +
				    "' cannot be set; there are: key keys allow window max-message "
				    "rendezvous-min backlog open-timeout recovery-timeout linger");
	}
}
