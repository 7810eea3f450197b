// SPDX-License-Identifier: GPL-2.0
#include "metrics.hh"

#include <utility>

#include "../common/address.hh"
#include "format.hh"

namespace {

using Labels = std::vector<std::pair<const char *, std::string>>;

std::string escaped(const std::string &value)
{
	std::string out;

	for (char c : value) {
		if (c == '\\' || c == '"')
			out += '\\';
		out += c;
	}
	return out;
}

std::string labels_text(const Labels &labels)
{
	std::string out;

	for (const auto &[name, value] : labels)
		out += (out.empty() ? "{" : ",") + std::string(name) + "=\"" + escaped(value) +
		       "\"";
	return out.empty() ? out : out + "}";
}

// All samples of one name, below its help and type. Without samples there is nothing.
class Family {
public:
	Family(std::string name, const char *type, const char *help)
		: name_("rchar_" + std::move(name)),
		  head_("# HELP " + name_ + " " + help + "\n# TYPE " + name_ + " " + type + "\n")
	{
	}
	void add(const Labels &labels, uint64_t value)
	{
		samples_ += name_ + labels_text(labels) + " " + std::to_string(value) + "\n";
	}
	template <typename T> void add(const Labels &labels, const std::optional<T> &value)
	{
		if (value)
			add(labels, uint64_t{*value});
	}
	std::string text() const { return samples_.empty() ? "" : head_ + samples_; }

private:
	std::string name_, head_, samples_;
};

Family counter(const std::string &name, const char *help)
{
	return Family(name + "_total", "counter", help);
}

Labels labels_of(const Channel &c)
{
	return {{"channel", c.name.value_or("")}, {"type", word_of(c.type)}};
}

// Without the port: that of a peer that connects changes with each connection.
std::string peer_text(sockaddr_storage address)
{
	*port_of(&address) = 0;
	return address_text(address);
}

Labels labels_of(const Link &l)
{
	return {{"link", l.id ? id_text(*l.id) : ""},
		{"peer", l.peer ? peer_text(*l.peer) : ""},
		{"key", l.key.value_or("")},
		{"direction", l.initiator.value_or(false) ? "to" : "from"}};
}

// One sample for each object that has the counter.
template <typename T>
std::string counters_text(const std::string &what, const std::vector<T> &objects)
{
	std::string out;

	for (const Counter &c : counters) {
		Family family = counter(what + "_" + c.key, c.help);

		for (const T &object : objects)
			if (object.stats)
				family.add(labels_of(object), (*object.stats).*c.value);
		out += family.text();
	}
	return out;
}

std::string channels_text(const std::vector<Channel> &channels)
{
	Family works("channel_works", "gauge",
		     "1 while the channel listens, or its link is up; else 0.");
	Family sessions("channel_open_sessions", "gauge", "Sessions of the channel now.");
	Family waiting("channel_waiting_sessions", "gauge",
		       "Sessions of peers that wait for a program to open the channel.");

	for (const Channel &c : channels) {
		works.add(labels_of(c), uint64_t{is_working(c)});
		sessions.add(labels_of(c), c.sessions);
		waiting.add(labels_of(c), c.waiting);
	}
	return works.text() + sessions.text() + waiting.text() + counters_text("channel", channels);
}

std::string links_text(const std::vector<Link> &links)
{
	Family up("link_up", "gauge", "1 while the link is up; else 0.");
	Family encrypted("link_encrypted", "gauge", "1 if the link encrypts; else 0.");
	Family sessions("link_open_sessions", "gauge", "Sessions of the link now.");
	Family credits("lane_credits", "gauge", "Frames that a lane may send now.");
	Family unacked("lane_unacked_frames", "gauge",
		       "Frames that the peer has not acknowledged.");

	for (const Link &l : links) {
		up.add(labels_of(l), uint64_t{l.state && *l.state == RCHAR_LINK_UP});
		encrypted.add(labels_of(l), uint64_t{l.encrypted.value_or(false)});
		sessions.add(labels_of(l), l.sessions);
		for (const Lane &lane : l.lanes) {
			Labels labels = labels_of(l);

			labels.emplace_back("lane", std::to_string(lane.index.value_or(0)));
			labels.emplace_back("device", lane.device.value_or(""));
			credits.add(labels, lane.tx_credits);
			unacked.add(labels, lane.unacked);
		}
	}
	return up.text() + encrypted.text() + sessions.text() + credits.text() + unacked.text() +
	       counters_text("link", links);
}

std::string module_text(const Info &info)
{
	struct {
		Family family;
		std::optional<uint64_t> value;
	} numbers[] = {
		{Family("rdma_devices", "gauge", "RDMA devices of the host."), info.devices},
		{Family("keys", "gauge", "Keys of the host."), info.keys},
		{Family("peer_memory_bytes", "gauge", "Memory that the host holds for its peers."),
		 info.peer_memory},
		{counter("requests_accepted", "Connection requests that were accepted."),
		 info.requests_accepted},
		{counter("requests_refused", "Connection requests that were refused."),
		 info.requests_refused},
		{counter("requests_bad", "Connection requests that broke the protocol."),
		 info.requests_bad},
		{counter("requests_denied", "Connection requests without the right key."),
		 info.requests_denied},
		{counter("bad_frames", "Frames that broke the protocol."), info.bad_frames},
	};
	Family version("module_info", "gauge", "Version of the module.");
	std::string out;

	version.add({{"version", info.version.value_or("")},
		     {"protocol", info.protocol ? protocol_text(*info.protocol) : ""}},
		    uint64_t{1});
	out = version.text();
	for (auto &n : numbers) {
		n.family.add({}, n.value);
		out += n.family.text();
	}
	return out;
}

}  // namespace

std::string metrics_text(const std::optional<Info> &info, const std::vector<Channel> &channels,
			 const std::vector<Link> &links)
{
	Family loaded("module_loaded", "gauge", "1 if the module is there; else 0.");

	loaded.add({}, uint64_t{info.has_value()});
	if (!info)
		return loaded.text();
	return loaded.text() + module_text(*info) + channels_text(channels) + links_text(links);
}
