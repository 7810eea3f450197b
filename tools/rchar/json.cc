// SPDX-License-Identifier: GPL-2.0
#include "json.hh"

#include "format.hh"

namespace {

Json value(uint32_t v) { return v; }
Json value(uint64_t v) { return v; }
Json value(bool v) { return v; }
Json value(const std::string &v) { return v; }
Json value(const sockaddr_storage &v) { return address_text(v); }
Json value(const rchar_prefix &v) { return prefix_text(v); }
Json value(const Fingerprint &v) { return fingerprint_text(v); }

template <typename E> Json value(Code<E> v) { return name_of(v); }

Json value(const Stats &stats)
{
	Json out = Json::object();

	for (const Counter &c : counters)
		if (stats.*c.value)
			out[c.key] = *(stats.*c.value);
	return out;
}

template <typename T> void put(Json *out, const char *key, const std::optional<T> &v)
{
	if (v)
		(*out)[key] = value(*v);
}

// No key for an empty list.
template <typename T> void put_list(Json *out, const char *key, const std::vector<T> &list)
{
	for (const T &v : list)
		(*out)[key].push_back(value(v));
}

template <typename T>
void put_text(Json *out, const char *key, const std::optional<T> &v, std::string (*text)(T))
{
	if (v)
		(*out)[key] = text(*v);
}

Json json_of(const Lane &lane)
{
	Json out = Json::object();

	put(&out, "index", lane.index);
	put(&out, "device", lane.device);
	put(&out, "port", lane.port);
	put(&out, "qpn", lane.qpn);
	put(&out, "tx_credits", lane.tx_credits);
	put(&out, "unacked_frames", lane.unacked);
	put(&out, "frame_size_bytes", lane.frame_size);
	put(&out, "depth", lane.depth);
	put(&out, "reads", lane.reads);
	put(&out, "vector", lane.vector);
	put(&out, "rtt_ns", lane.rtt_ns);
	return out;
}

}  // namespace

Json json_of(const Channel &c)
{
	Json out = Json::object();

	put(&out, "name", c.name);
	put(&out, "type", c.type);
	put(&out, "role", c.role);
	put(&out, "local", c.local);
	put(&out, "peer", c.peer);
	put(&out, "remote", c.remote);
	put(&out, "state", c.state);
	put(&out, "reason", c.reason);
	put(&out, "reason_age_ms", c.reason_age_ms);
	put(&out, "sessions", c.sessions);
	put(&out, "waiting", c.waiting);
	put_text(&out, "link", c.link, id_text);
	put_text(&out, "mode", c.mode, mode_text);
	put(&out, "uid", c.uid);
	put(&out, "gid", c.gid);
	put(&out, "window_bytes", c.window);
	put(&out, "window_max_bytes", c.window_max);
	put(&out, "frame_bytes", c.frame);
	put(&out, "max_message_bytes", c.max_message);
	put(&out, "rendezvous_min_bytes", c.rendezvous_min);
	put(&out, "size_bytes", c.size);
	put(&out, "access", c.access);
	put(&out, "atomics", c.atomics);
	put(&out, "pinned_bytes", c.pinned);
	put(&out, "backlog", c.backlog);
	put(&out, "open_timeout_ms", c.open_timeout_ms);
	put(&out, "recovery_timeout_ms", c.recovery_timeout_ms);
	put(&out, "linger_ms", c.linger_ms);
	put(&out, "priority", c.priority);
	put_list(&out, "keys", c.keys);
	put_list(&out, "keys_deleted", c.keys_deleted);
	put_list(&out, "allow", c.allow);
	put(&out, "encrypt", c.encrypt);
	put(&out, "lanes", c.lanes);
	put(&out, "keepalive_ms", c.keepalive_ms);
	put(&out, "tos", c.tos);
	put(&out, "dev_major", c.dev_major);
	put(&out, "dev_minor", c.dev_minor);
	put(&out, "node", c.node);
	put(&out, "stats", c.stats);
	return out;
}

Json json_of(const Link &l)
{
	Json out = Json::object(), lanes = Json::array();

	put_text(&out, "link", l.id, id_text);
	put(&out, "initiator", l.initiator);
	put(&out, "local", l.local);
	put(&out, "peer", l.peer);
	put(&out, "key", l.key);
	put(&out, "encrypted", l.encrypted);
	put(&out, "keepalive_ms", l.keepalive_ms);
	put(&out, "tos", l.tos);
	put(&out, "state", l.state);
	put(&out, "reason", l.reason);
	put(&out, "reason_age_ms", l.reason_age_ms);
	put(&out, "attempts", l.attempts);
	put(&out, "next_ms", l.next_ms);
	put_text(&out, "wire_id", l.wire_id, hex_text);
	put(&out, "epoch", l.epoch);
	put(&out, "sessions", l.sessions);
	for (const Lane &lane : l.lanes)
		lanes.push_back(json_of(lane));
	out["lanes"] = lanes;
	put(&out, "stats", l.stats);
	return out;
}

Json json_of(const Session &s)
{
	Json out = Json::object();

	put_text(&out, "link", s.link, id_text);
	put(&out, "session", s.id);
	put(&out, "channel", s.channel);
	put(&out, "initiator", s.initiator);
	put(&out, "peer", s.peer);
	put(&out, "key", s.key);
	put(&out, "encrypted", s.encrypted);
	put(&out, "state", s.state);
	put(&out, "reason", s.reason);
	put(&out, "rx_queued_bytes", s.rx_queued);
	put(&out, "rx_memory_bytes", s.rx_memory);
	put(&out, "tx_unacked_bytes", s.tx_unacked);
	put(&out, "tx_window_bytes", s.tx_window);
	put(&out, "rx_window_bytes", s.rx_window);
	put(&out, "age_ms", s.age_ms);
	put(&out, "rx_bytes", s.rx_bytes);
	put(&out, "tx_bytes", s.tx_bytes);
	return out;
}

Json json_of(const ChannelStats &c)
{
	Json out = Json::object();

	put(&out, "name", c.name);
	put(&out, "interval_ms", c.interval_ms);
	out.update(value(c.stats));
	if (c.difference)
		for (auto &[key, number] : out.items())
			if (number.is_number())
				number = static_cast<int64_t>(number.get<uint64_t>());
	return out;
}

Json json_of(const Event &e)
{
	Json out = Json::object();

	out["event"] = event_name(e.cmd);
	if (auto *channel = std::get_if<Channel>(&e.object))
		out.update(json_of(*channel));
	else if (auto *link = std::get_if<Link>(&e.object))
		out.update(json_of(*link));
	else if (auto *session = std::get_if<Session>(&e.object))
		out.update(json_of(*session));
	else if (auto *key = std::get_if<Key>(&e.object))
		out.update(json_of(*key));
	return out;
}

Json json_of(const Info &i)
{
	Json out = Json::object();

	put(&out, "module", i.version);
	put_text(&out, "protocol", i.protocol, protocol_text);
	for_each_number(i, [&](const char *key, const auto &number) { put(&out, key, number); });
	return out;
}

Json json_of(const Key &k)
{
	Json out = Json::object();

	put(&out, "name", k.name);
	put(&out, "fingerprint", k.fingerprint);
	put(&out, "channels", k.channels);
	put(&out, "links", k.links);
	return out;
}

// Names of the kernel's objects may be any bytes.
std::string json_text(const Json &value, int indent)
{
	return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}
