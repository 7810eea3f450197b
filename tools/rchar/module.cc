// SPDX-License-Identifier: GPL-2.0
#include "module.hh"

#include <algorithm>

#include "node.hh"

std::vector<Channel> dump_channels(Netlink &nl)
{
	std::vector<Channel> channels = dump<Channel>(nl, RCHAR_CMD_CHANNEL_GET);

	for (Channel &c : channels)
		read_node(&c);
	return channels;
}

Channel get_channel(Netlink &nl, const std::string &name, const std::string &command)
{
	Request r(RCHAR_CMD_CHANNEL_GET);
	Channel out;

	r.put_string(RCHAR_A_CHANNEL_NAME, name);
	for (const Message &m : nl.call(r, command + " " + name))
		out = decode<Channel>(m);
	read_node(&out);
	return out;
}

namespace {

// Between two questions about a channel: more each time.
constexpr std::chrono::milliseconds PAUSE_STEP{2}, PAUSE_MAX{50};

}  // namespace

Channel wait_channel(const std::string &name, std::chrono::seconds limit,
		     const std::function<bool(const Channel &)> &done)
{
	using Clock = std::chrono::steady_clock;
	const Clock::time_point end = Clock::now() + limit;
	const auto left_until = [](Clock::time_point t) {
		return std::chrono::ceil<std::chrono::milliseconds>(t - Clock::now()).count();
	};
	Netlink events, nl;
	std::chrono::milliseconds pause{0};

	events.subscribe();
	for (;;) {
		const Clock::time_point again = Clock::now() + pause;
		Channel channel = get_channel(nl, name);

		if (done(channel) || left_until(end) <= 0)
			return channel;
		// DONE may ask for a signal, which comes just before this: so each second.
		events.wait_events(static_cast<int>(std::min<int64_t>(left_until(end), 1000)));
		// Events of a thousand other links are no reason to ask a thousand times.
		while (left_until(again) > 0)
			events.wait_events(static_cast<int>(left_until(again)));
		pause = std::min(pause + PAUSE_STEP, PAUSE_MAX);
	}
}

void add_channel(Netlink &nl, const ChannelWords &words)
{
	nl.call(new_channel_request(words), "add " + *words.channel.name);
}

namespace {

bool gives(const ChannelWords &words, Change change)
{
	return std::any_of(words.given.begin(), words.given.end(),
			   [&](const Setting *s) { return s->change == change; });
}

}  // namespace

void change_channel(Netlink &nl, const ChannelWords &words)
{
	const std::string &name = *words.channel.name;

	bool node = gives(words, Change::BY_NODE);

	// First, so that nothing is changed if there is no node.
	if (node)
		check_node(get_channel(nl, name, "set"));
	nl.call(change_request(words), "set " + name);
	if (!node)
		return;
	try {
		change_node(get_channel(nl, name), words.channel);
	} catch (const Failure &f) {
		if (!gives(words, Change::BY_SET))
			throw;
		throw Failure(f.code, f.what() + std::string("; the other settings are changed"));
	}
}

void delete_channel(Netlink &nl, const std::string &name)
{
	Request r(RCHAR_CMD_CHANNEL_DEL);

	r.put_string(RCHAR_A_CHANNEL_NAME, name);
	nl.call(r, "del " + name);
}

void add_key(Netlink &nl, const std::string &name, const Secret &secret)
{
	Request r(RCHAR_CMD_KEY_NEW);

	r.put_string(RCHAR_A_KEY_NAME, name);
	r.put_secret(RCHAR_A_KEY_SECRET, secret);
	nl.call(r, "key add " + name);
}

void delete_key(Netlink &nl, const std::string &name)
{
	Request r(RCHAR_CMD_KEY_DEL);

	r.put_string(RCHAR_A_KEY_NAME, name);
	nl.call(r, "key del " + name);
}
