// SPDX-License-Identifier: GPL-2.0
#include "settings.hh"

#include <type_traits>

#include "../common/names.hh"
#include "format.hh"
#include "parse.hh"

namespace {

bool everywhere(const Channel &) { return true; }
bool listens(const Channel &c) { return c.role == RCHAR_ROLE_LISTEN; }
bool connects(const Channel &c) { return c.role == RCHAR_ROLE_CONNECT; }
bool streams(const Channel &c) { return c.type == RCHAR_TYPE_STREAM; }
bool messages(const Channel &c) { return c.type == RCHAR_TYPE_MESSAGE; }
bool exports(const Channel &c) { return c.type == RCHAR_TYPE_MEMORY && listens(c); }

std::string number_text(uint64_t value) { return std::to_string(value); }

template <typename E> Code<E> parse_code(const std::string &word, const char *key)
{
	return {static_cast<uint32_t>(parse_choice<E>(word, key))};
}

// A value is one of a few words when it is an enum; a number may have limits.
template <typename T> struct Kind {
	static constexpr bool is_number = std::is_integral_v<T>;
	static std::vector<std::string> choices() { return {}; }
};

template <typename E> struct Kind<Code<E>> {
	static constexpr bool is_number = false;
	static std::vector<std::string> choices()
	{
		std::vector<std::string> words;

		for (const Name<E> &n : Names<E>::table)
			words.push_back(n.word);
		return words;
	}
};

void put_value(Request &r, int attr, uint32_t value) { r.put_u32(attr, value); }
void put_value(Request &r, int attr, uint64_t value) { r.put_u64(attr, value); }
template <typename E> void put_value(Request &r, int attr, Code<E> value)
{
	r.put_u32(attr, value.number);
}

// A setting that is one member of a channel.
template <auto Member, auto Parse, auto Text>
constexpr Setting value(const char *key, int attr, Change change, bool (*applies)(const Channel &),
			const char *initial, uint64_t min = 0, uint64_t max = 0)
{
	Setting s{key, attr, change, applies, initial, min, max, {}, {}, {}, {}, {}, {}};

	s.parse = [](const std::string &word, const char *what, Channel *out) {
		out->*Member = Parse(word, what);
	};
	s.text = [](const Channel &c) {
		return c.*Member ? std::optional<std::string>(Text(*(c.*Member))) : std::nullopt;
	};
	s.put = [](Request &r, int a, const Channel &c) { put_value(r, a, *(c.*Member)); };
	using Value = typename std::decay_t<decltype(Channel{}.*Member)>::value_type;
	s.choices = Kind<Value>::choices;
	if constexpr (Kind<Value>::is_number) {
		s.number = [](const Channel &c) { return static_cast<uint64_t>(*(c.*Member)); };
		s.number_text = [](uint64_t n) { return Text(static_cast<Value>(n)); };
	}
	return s;
}

// ---- lists ----

std::vector<std::string> no_key() { return {"none"}; }
std::vector<std::string> any_address() { return {"any"}; }

std::string join(const std::vector<std::string> &parts, const char *none)
{
	std::string text;

	for (const std::string &p : parts)
		text += (text.empty() ? "" : ",") + p;
	return text.empty() ? none : text;
}

void parse_keys(const std::string &word, const char *key, Channel *out)
{
	out->keys.clear();
	if (word == "none")
		return;
	out->keys = parse_list(word, key);
	for (const std::string &name : out->keys)
		check_key_name(name);
}

std::optional<std::string> keys_text(const Channel &c) { return join(c.keys, "none"); }

// The module wants one empty name for "none".
void put_keys(Request &r, int attr, const Channel &c)
{
	for (const std::string &name : c.keys)
		r.put_string(attr, name);
	if (c.keys.empty())
		r.put_string(attr, "");
}

void parse_allow(const std::string &word, const char *key, Channel *out)
{
	out->allow.clear();
	if (word == "any")
		return;
	for (const std::string &prefix : parse_list(word, key))
		out->allow.push_back(parse_prefix(prefix));
}

std::optional<std::string> allow_text(const Channel &c)
{
	std::vector<std::string> parts;

	for (const rchar_prefix &prefix : c.allow)
		parts.push_back(prefix_text(prefix));
	return join(parts, "any");
}

// The module wants one prefix of no family for "any".
void put_allow(Request &r, int attr, const Channel &c)
{
	for (const rchar_prefix &prefix : c.allow)
		r.put_prefix(attr, prefix);
	if (c.allow.empty())
		r.put_prefix(attr, rchar_prefix{});
}

constexpr uint64_t K = 1 << 10, M = 1 << 20, G = 1 << 30, DAY_MS = 24 * 3600 * 1000;

}  // namespace

// The values of a channel that is added without them, and the limits, are those of the module:
// 'save' leaves the former out, 'apply' refuses a line beyond the latter.
const std::vector<Setting> &settings()
{
	using C = Channel;
	static const std::vector<Setting> table = {
		{"key", RCHAR_A_CHANNEL_KEY, Change::BY_SET, connects, "none", 0, 0, no_key,
		 parse_keys, keys_text, put_keys, nullptr, nullptr},
		{"keys", RCHAR_A_CHANNEL_KEY, Change::BY_SET, listens, "none", 0, 0, no_key,
		 parse_keys, keys_text, put_keys, nullptr, nullptr},
		{"allow", RCHAR_A_CHANNEL_ALLOW, Change::BY_SET, listens, "any", 0, 0, any_address,
		 parse_allow, allow_text, put_allow, nullptr, nullptr},
		value<&C::size, parse_size64, size_text>("size", RCHAR_A_CHANNEL_SIZE,
							 Change::NEVER, exports, nullptr, 1,
							 RCHAR_REGION_SIZE_MAX),
		value<&C::access, parse_code<rchar_access>, name_of<rchar_access>>(
			"access", RCHAR_A_CHANNEL_ACCESS, Change::NEVER, exports, "rw"),
		value<&C::atomics, parse_code<rchar_atomics>, name_of<rchar_atomics>>(
			"atomics", RCHAR_A_CHANNEL_ATOMICS, Change::NEVER, exports, "sw"),
		value<&C::encrypt, parse_code<rchar_encrypt>, name_of<rchar_encrypt>>(
			"encrypt", RCHAR_A_CHANNEL_ENCRYPT, Change::NEVER, everywhere, "off"),
		value<&C::lanes, parse_number, number_text>("lanes", RCHAR_A_CHANNEL_LANES,
							    Change::NEVER, connects, "0", 0, 16),
		value<&C::keepalive_ms, parse_time_ms, time_text>("keepalive",
								  RCHAR_A_CHANNEL_KEEPALIVE_MS,
								  Change::NEVER, connects, "0s", 0,
								  250000),
		value<&C::tos, parse_number, number_text>("tos", RCHAR_A_CHANNEL_TOS, Change::NEVER,
							  connects, "0", 0, 255),
		value<&C::mode, parse_mode, mode_text>("mode", RCHAR_A_CHANNEL_MODE,
						       Change::BY_NODE, everywhere, "0600", 0,
						       0777),
		value<&C::uid, parse_user, number_text>("uid", RCHAR_A_CHANNEL_UID, Change::BY_NODE,
							everywhere, "0", 0, UINT32_MAX - 1),
		value<&C::gid, parse_group, number_text>("gid", RCHAR_A_CHANNEL_GID,
							 Change::BY_NODE, everywhere, "0", 0,
							 UINT32_MAX - 1),
		value<&C::window, parse_size, size_text>("window", RCHAR_A_CHANNEL_WINDOW,
							 Change::BY_SET, everywhere, "1m", 64 * K,
							 256 * M),
		value<&C::window_max, parse_size, size_text>("window-max",
							     RCHAR_A_CHANNEL_WINDOW_MAX,
							     Change::BY_SET, everywhere, "0", 0,
							     256 * M),
		value<&C::frame, parse_size, size_text>("frame", RCHAR_A_CHANNEL_FRAME,
							Change::BY_SET, everywhere, "64k", 4 * K,
							64 * K),
		value<&C::max_message, parse_size, size_text>("max-message",
							      RCHAR_A_CHANNEL_MAX_MESSAGE,
							      Change::BY_SET, messages, "1m", 1,
							      64 * M),
		value<&C::rendezvous_min, parse_size, size_text>("rendezvous-min",
								 RCHAR_A_CHANNEL_RENDEZVOUS_MIN,
								 Change::BY_SET, streams, "256k", 0,
								 G),
		value<&C::backlog, parse_number, number_text>("backlog", RCHAR_A_CHANNEL_BACKLOG,
							      Change::BY_SET, everywhere, "128", 1,
							      65535),
		value<&C::open_timeout_ms, parse_time_ms, time_text>(
			"open-timeout", RCHAR_A_CHANNEL_OPEN_TIMEOUT_MS, Change::BY_SET, everywhere,
			"30s", 1, DAY_MS),
		value<&C::recovery_timeout_ms, parse_time_ms, time_text>(
			"recovery-timeout", RCHAR_A_CHANNEL_RECOVERY_TIMEOUT_MS, Change::BY_SET,
			everywhere, "60s", 1, DAY_MS),
		value<&C::linger_ms, parse_time_ms, time_text>("linger", RCHAR_A_CHANNEL_LINGER_MS,
							       Change::BY_SET, everywhere, "30s", 0,
							       DAY_MS),
		value<&C::priority, parse_number, number_text>("priority", RCHAR_A_CHANNEL_PRIORITY,
							       Change::BY_SET, everywhere, "100", 1,
							       1000),
	};

	return table;
}

namespace {

// " KEY KEY...": all settings, or those that may change.
std::string list_keys(bool changeable)
{
	std::string text;

	for (const Setting &s : settings())
		if (!changeable || s.change != Change::NEVER)
			text += std::string(" ") + s.key;
	return text;
}

const Setting *find_setting(const std::string &key)
{
	for (const Setting &s : settings())
		if (key == s.key)
			return &s;
	return nullptr;
}

void take_value(const Setting &s, Words &words, ChannelWords *out)
{
	for (const Setting *other : out->given)
		if (other->attr == s.attr)
			usage_error(std::string("'") + s.key + "' is given twice");
	s.parse(words.take((std::string("the value of ") + s.key).c_str()), s.key, &out->channel);
	out->given.push_back(&s);
}

// A word for a value of E; what: "type", for the error texts.
template <typename E> Code<E> take_choice(Words &words, const std::string &what)
{
	std::string word = words.take(("the " + what + " (" + choice_of<E>() + ")").c_str());
	std::optional<E> choice = value_of<E>(word);

	if (!choice)
		usage_error("'" + word + "' is not a " + what + ": " + choice_of<E>());
	return {static_cast<uint32_t>(*choice)};
}

void take_addresses(Words &words, Channel *out)
{
	if (out->role == RCHAR_ROLE_LISTEN) {
		out->local = parse_address(words.take("the address to listen at"), false).addr;
		return;
	}
	Address peer = parse_address(words.take("the peer's address"), true);

	out->peer = peer.addr;
	if (!peer.remote.empty())
		out->remote = peer.remote;
}

void take_from(Words &words, Channel *out)
{
	if (out->role == RCHAR_ROLE_LISTEN)
		usage_error("'from' is of a channel that connects");
	if (out->local)
		usage_error("'from' is given twice");
	out->local = parse_address(words.take("the address after 'from'"), false).addr;
}

void put_given(Request &r, const ChannelWords &words, bool changes)
{
	for (const Setting *s : words.given)
		if (!changes || s->change == Change::BY_SET)
			s->put(r, s->attr, words.channel);
}

}  // namespace

void check_key_name(const std::string &name)
{
	if (name == "none")
		usage_error("'none' is no name of a key: 'keys none' means no key");
}

ChannelWords take_new_channel(const std::string &name, Words &words)
{
	ChannelWords out;

	if (name == "all")
		usage_error("'all' is no name of a channel: 'del all' deletes all of them");
	out.channel.name = name;
	out.channel.type = take_choice<rchar_channel_type>(words, "type");
	out.channel.role = take_choice<rchar_role>(words, "role");
	take_addresses(words, &out.channel);
	while (!words.empty()) {
		std::string key = words.take("a setting");

		if (key == "from") {
			take_from(words, &out.channel);
			continue;
		}
		const Setting *s = find_setting(key);
		if (!s)
			usage_error("'" + key + "' is not a setting; there are: from" +
				    list_keys(false));
		take_value(*s, words, &out);
	}
	return out;
}

ChannelWords take_changes(const std::string &name, Words &words)
{
	ChannelWords out;

	out.channel.name = name;
	if (words.empty())
		usage_error("set what? a setting is missing (see 'rchar help')");
	while (!words.empty()) {
		std::string key = words.take("a setting");
		const Setting *s = find_setting(key);

		if (!s || s->change == Change::NEVER)
			usage_error("'" + key + "' cannot be set; there are:" + list_keys(true));
		take_value(*s, words, &out);
	}
	return out;
}

Request new_channel_request(const ChannelWords &words)
{
	Request r(RCHAR_CMD_CHANNEL_NEW);
	const Channel &c = words.channel;

	r.put_string(RCHAR_A_CHANNEL_NAME, *c.name);
	r.put_u32(RCHAR_A_CHANNEL_TYPE, c.type->number);
	r.put_u32(RCHAR_A_CHANNEL_ROLE, c.role->number);
	if (c.peer)
		r.put_address(RCHAR_A_CHANNEL_PEER, *c.peer);
	if (c.remote)
		r.put_string(RCHAR_A_CHANNEL_REMOTE, *c.remote);
	if (c.local)
		r.put_address(RCHAR_A_CHANNEL_LOCAL, *c.local);
	put_given(r, words, false);
	return r;
}

Request change_request(const ChannelWords &words)
{
	Request r(RCHAR_CMD_CHANNEL_SET);

	r.put_string(RCHAR_A_CHANNEL_NAME, *words.channel.name);
	put_given(r, words, true);
	return r;
}
