// SPDX-License-Identifier: GPL-2.0
#include "text.hh"

#include "format.hh"

namespace {

std::string word(const std::optional<std::string> &v) { return v.value_or(""); }
std::string word(const std::optional<sockaddr_storage> &v) { return v ? address_text(*v) : ""; }

template <typename E> std::string word(const std::optional<Code<E>> &v) { return word_of(v); }

template <typename T> std::string number(const std::optional<T> &v)
{
	return std::to_string(v.value_or(0));
}

template <typename T> std::string size(const std::optional<T> &v)
{
	return size_text(v.value_or(0));
}

std::string time(const std::optional<uint32_t> &v) { return time_text(v.value_or(0)); }

std::string id(const std::optional<uint64_t> &v) { return v ? id_text(*v) : ""; }

std::string reason_line(const std::optional<Code<rchar_reason>> &reason,
			const std::optional<uint64_t> &age_ms)
{
	if (!reason)
		return "";
	std::string text = "    reason " + name_of(*reason) + ": " + reason_text(*reason);

	if (age_ms)
		text += ", " + age_text(*age_ms) + " ago";
	return text + "\n";
}

template <typename T> std::string join(const std::vector<T> &list, std::string (*text)(const T &))
{
	std::string out;

	for (const T &v : list)
		out += (out.empty() ? "" : ", ") + text(v);
	return out;
}

std::string plain(const std::string &text) { return text; }
std::string deleted(const std::string &name) { return name + " (deleted)"; }

// The key of the peer, and whether it also encrypts.
std::string key_text(const std::optional<std::string> &key, const std::optional<bool> &encrypted)
{
	if (!key)
		return "";
	return " key " + word(key) + (encrypted.value_or(false) ? " encrypted" : "");
}

// Who may open the channel; for a connecting one, the key it uses.
std::string access_line(const Channel &c)
{
	std::string keys = join(c.keys, plain), gone = join(c.keys_deleted, deleted);

	if (!keys.empty() && !gone.empty())
		keys += ", ";
	keys += gone;
	std::string encrypt = c.encrypt == RCHAR_ENCRYPT_ON ? " encrypt on" : "";

	if (c.role == RCHAR_ROLE_CONNECT)
		return keys.empty() ? "" : "    key " + keys + encrypt + "\n";
	std::string text = keys.empty() ? "    no keys: every host may open it" :
					  "    keys " + keys;
	if (!c.allow.empty())
		text += (keys.empty() ? " from " : " allow ") + join(c.allow, prefix_text);
	return text + encrypt + "\n";
}

std::string memory_line(const Channel &c, const Stats &s)
{
	std::string text = "   ";

	if (c.size)
		text += " size " + size(c.size) + " access " + word(c.access) + " atomics " +
			word(c.atomics);
	text += " reads " + number(s.reads) + " writes " + number(s.writes) + " calls " +
		number(s.calls);
	if (c.pinned.value_or(0))
		text += " pinned " + size(c.pinned);
	return text + "\n";
}

// What the administrator chose for the link; nothing if it is as the module says.
std::string link_settings_line(const Channel &c)
{
	std::string text;

	if (c.lanes.value_or(0))
		text += " lanes " + number(c.lanes);
	if (c.keepalive_ms.value_or(0))
		text += " keepalive " + time(c.keepalive_ms);
	if (c.tos.value_or(0))
		text += " tos " + number(c.tos);
	return text.empty() ? "" : "   " + text + "\n";
}

std::string channel_details(const Channel &c)
{
	std::string text = "    mode " + (c.mode ? mode_text(*c.mode) : "") + " uid " +
			   number(c.uid) + " gid " + number(c.gid) + " window " + size(c.window);

	if (c.window_max.value_or(0))
		text += " window-max " + size(c.window_max);
	text += " frame " + size(c.frame);
	if (c.max_message)
		text += " max-message " + size(c.max_message);
	if (c.rendezvous_min)
		text += " rendezvous-min " + size(c.rendezvous_min);
	text += " backlog " + number(c.backlog) + "\n";
	text += "    open-timeout " + time(c.open_timeout_ms) + " recovery-timeout " +
		time(c.recovery_timeout_ms) + " linger " + time(c.linger_ms) + " priority " +
		number(c.priority) + "\n";
	text += link_settings_line(c);
	if (c.link)
		text += "    link " + id(c.link) + "\n";
	return text;
}

// Nothing for a lane that is not up.
std::string lane_line(const Lane &l)
{
	if (!l.device)
		return "";
	return "    lane " + number(l.index) + " device " + word(l.device) + "/" + number(l.port) +
	       (l.qpn ? " qp " + number(l.qpn) : "") + " vector " + number(l.vector) + " frame " +
	       size(l.frame_size) + " depth " + number(l.depth) + " reads " + number(l.reads) +
	       " credits " + number(l.tx_credits) + " unacked " + number(l.unacked) +
	       (l.rtt_ns ? " rtt " + std::to_string(*l.rtt_ns / 1000) + "us" : "") + "\n";
}

std::string link_details(const Link &l, const Stats &s)
{
	return "    keepalive " + time(l.keepalive_ms) +
	       (l.tos.value_or(0) ? " tos " + number(l.tos) : "") + "\n    connects " +
	       number(s.connects) + " failures " + number(s.failures) + " replayed " +
	       number(s.replayed) + " duplicates " + number(s.duplicates) + " bad " +
	       number(s.bad_frames) + " stray " + number(s.stray_frames) + " credit-stalls " +
	       number(s.credit_stalls) + " map-stalls " + number(s.map_stalls) + "\n";
}

template <typename T> std::string state_and_reason(const T &object)
{
	std::string text;

	if (object.state)
		text += " " + word(object.state);
	if (object.reason)
		text += " reason " + word(object.reason);
	return text;
}

}  // namespace

std::string text_of(const Channel &c, bool details)
{
	std::string text = word(c.name) + ": " + word(c.type) + " " + word(c.role) + " ";
	Stats s = c.stats.value_or(Stats{});

	if (c.role == RCHAR_ROLE_LISTEN) {
		text += word(c.local);
	} else {
		text += word(c.peer) + "/" + word(c.remote);
		if (c.local)
			text += " from " + word(c.local);
	}
	text += "\n    state " + word(c.state) + " sessions " + number(c.sessions);
	if (c.waiting.value_or(0))
		text += " waiting " + number(c.waiting);
	text += " rx " + number(s.rx_bytes) + " tx " + number(s.tx_bytes) + " bytes\n";
	text += reason_line(c.reason, c.reason_age_ms);
	if (c.node == "other")
		text += "    no device: /dev/rchar/" + word(c.name) + " is another file\n";
	text += access_line(c);
	if (c.type == RCHAR_TYPE_MEMORY)
		text += memory_line(c, s);
	if (details)
		text += channel_details(c);
	return text;
}

std::string text_of(const Link &l, bool details)
{
	std::string text = id(l.id) + ": " + direction_text(l.initiator) + word(l.peer);
	Stats s = l.stats.value_or(Stats{});

	if (l.local)
		text += " local " + word(l.local);
	text += key_text(l.key, l.encrypted) + "\n    state " + word(l.state) + " sessions " +
		number(l.sessions);
	if (l.attempts.value_or(0))
		text += " attempts " + number(l.attempts);
	if (l.next_ms)
		text += " next in " + time(l.next_ms);
	text += "\n";
	if (l.state != RCHAR_LINK_UP || details)
		text += reason_line(l.reason, l.reason_age_ms);
	for (const Lane &lane : l.lanes)
		text += lane_line(lane);
	text += "    rx " + number(s.rx_frames) + " frames " + number(s.rx_bytes) + " bytes, tx " +
		number(s.tx_frames) + " frames " + number(s.tx_bytes) + " bytes\n";
	if (details)
		text += link_details(l, s);
	return text;
}

std::string text_of(const Session &s, bool)
{
	return id(s.link) + "/" + number(s.id) + ": channel " + word(s.channel) + " " +
	       direction_text(s.initiator) + word(s.peer) + key_text(s.key, s.encrypted) +
	       "\n    state " + word(s.state) + " age " + age_text(s.age_ms.value_or(0)) + " rx " +
	       number(s.rx_bytes) + " tx " + number(s.tx_bytes) + " bytes rx-queued " +
	       number(s.rx_queued) + " (memory " + number(s.rx_memory) + ") rx-window " +
	       number(s.rx_window) + " tx-unacked " + number(s.tx_unacked) + " tx-window " +
	       number(s.tx_window) + "\n" + reason_line(s.reason, {});
}

std::string text_of(const ChannelStats &c, bool)
{
	std::string text = word(c.name) + ":";

	if (c.interval_ms)
		text += " in " + number(c.interval_ms) + " ms";
	for (const Counter &counter : counters)
		if (std::optional<uint64_t> value = c.stats.*counter.value)
			text += std::string(" ") + counter.key + " " +
				std::to_string(static_cast<int64_t>(*value));
	return text + "\n";
}

std::string text_of(const Info &i, bool details)
{
	std::string text = "rdma_char " + word(i.version) + " protocol " +
			   (i.protocol ? protocol_text(*i.protocol) : "") + "\n";

	if (details)
		for_each_number(i, [&](const char *key, const auto &value) {
			if (value)
				text += std::string("    ") + key + " " + number(value) + "\n";
		});
	return text;
}

std::string text_of(const Key &k, bool)
{
	return word(k.name) + ": fingerprint " +
	       (k.fingerprint ? fingerprint_text(*k.fingerprint) : "") + " channels " +
	       number(k.channels) + " links " + number(k.links) + "\n";
}

std::string text_of(const Event &e)
{
	std::string text = event_name(e.cmd) + " ";

	if (auto *l = std::get_if<Link>(&e.object))
		text += id(l->id) + " " + direction_text(l->initiator) + word(l->peer) +
			(l->key ? " key " + word(l->key) : "") + state_and_reason(*l);
	else if (auto *s = std::get_if<Session>(&e.object))
		text += (s->link ? id(s->link) : "-") + "/" + number(s->id) + " channel " +
			word(s->channel) + state_and_reason(*s);
	else if (auto *c = std::get_if<Channel>(&e.object))
		text += word(c->name) + state_and_reason(*c);
	else if (auto *k = std::get_if<Key>(&e.object))
		text += word(k->name);
	return text + "\n";
}
