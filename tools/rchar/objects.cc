// SPDX-License-Identifier: GPL-2.0
#include "objects.hh"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cstring>
#include <functional>
#include <map>

#include "../common/names.hh"

namespace {

struct Reason {
	rchar_reason reason;
	const char *text;
};

// In the order of enum rchar_reason.
constexpr Reason reasons[] = {
	{RCHAR_REASON_NONE, ""},
	{RCHAR_REASON_ADMIN, "ended with rchar"},
	{RCHAR_REASON_UNLOAD, "the module is being removed"},
	{RCHAR_REASON_NO_MEMORY, "out of memory"},
	{RCHAR_REASON_NO_DEVICE,
	 "no RDMA device has that local address (see 'rdma link', 'ip addr')"},
	{RCHAR_REASON_DEVICE_REMOVED, "the RDMA device was removed"},
	{RCHAR_REASON_ADDRESS_IN_USE, "another program listens at this address and port"},
	{RCHAR_REASON_ADDRESS, "the peer's address does not resolve: no such host on the network"},
	{RCHAR_REASON_ROUTE, "there is no RDMA route to the peer"},
	{RCHAR_REASON_UNREACHABLE, "the peer does not answer"},
	{RCHAR_REASON_NOT_LISTENING, "the peer is there, but nobody listens at that port"},
	{RCHAR_REASON_REJECTED, "the peer's connection manager refused"},
	{RCHAR_REASON_TIMEOUT, "no answer in time"},
	{RCHAR_REASON_VERSION, "the peer speaks another version of the protocol"},
	{RCHAR_REASON_PROTOCOL, "the peer broke the protocol, or is not rdma_char"},
	{RCHAR_REASON_BUSY, "the peer is still closing the old connection, or has too many"},
	{RCHAR_REASON_KEEPALIVE, "the peer fell silent"},
	{RCHAR_REASON_QP_ERROR, "the connection broke"},
	{RCHAR_REASON_PEER_CLOSED, "the peer disconnected"},
	{RCHAR_REASON_PEER_RESTARTED, "the peer restarted, or forgot this link"},
	{RCHAR_REASON_RECOVERY_TIMEOUT, "the link stayed down for longer than recovery-timeout"},
	{RCHAR_REASON_NO_CHANNEL, "the peer has no channel of that name"},
	{RCHAR_REASON_WRONG_TYPE, "the peer's channel of that name has another type"},
	{RCHAR_REASON_BACKLOG, "too many sessions wait at the peer"},
	{RCHAR_REASON_DELETED, "the channel was deleted"},
	{RCHAR_REASON_CLOSED, "given up before it was open"},
	{RCHAR_REASON_LINGER, "closed, and the rest could not be sent in time"},
	{RCHAR_REASON_WINDOW, "the peer sent more than its window"},
	{RCHAR_REASON_ADDRESS_CHANGED, "the address moved to another device or host"},
	{RCHAR_REASON_NO_ATOMICS, "the peer's RDMA device cannot execute atomic operations"},
	{RCHAR_REASON_PEER_LIMIT, "one host made the other hold as much memory as it may"},
};

constexpr bool in_order()
{
	for (uint32_t i = 0; i < __RCHAR_REASON_MAX; i++)
		if (reasons[i].reason != i)
			return false;
	return true;
}
static_assert(sizeof(reasons) / sizeof(reasons[0]) == __RCHAR_REASON_MAX && in_order(),
	      "one text for every reason");

std::string address_name(nlattr *attr)
{
	sockaddr_storage ss{};
	char text[INET6_ADDRSTRLEN] = "?";

	memcpy(&ss, nla_data(attr), std::min(sizeof(ss), static_cast<size_t>(nla_len(attr))));
	if (ss.ss_family == AF_INET) {
		auto *in = reinterpret_cast<sockaddr_in *>(&ss);
		std::string s = inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));

		return in->sin_port ? s + ":" + std::to_string(ntohs(in->sin_port)) : s;
	}
	auto *in6 = reinterpret_cast<sockaddr_in6 *>(&ss);
	std::string s = inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));

	if (in6->sin6_scope_id) {
		char name[IF_NAMESIZE];

		s += "%";
		s += if_indextoname(in6->sin6_scope_id, name) ? name : std::to_string(in6->sin6_scope_id);
	}
	s = "[" + s + "]";
	return in6->sin6_port ? s + ":" + std::to_string(ntohs(in6->sin6_port)) : s;
}

std::string hex_name(uint64_t id)
{
	char text[17];

	snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(id));
	return text;
}

Json u32_value(nlattr *a) { return nla_get_u32(a); }
Json u64_value(nlattr *a) { return nla_get_u64(a); }
Json bool_value(nlattr *a) { return nla_get_u32(a) != 0; }
Json string_value(nlattr *a) { return nla_get_string(a); }
Json address_value(nlattr *a) { return address_name(a); }
Json hex_value(nlattr *a) { return hex_name(nla_get_u64(a)); }
Json id_value(nlattr *a) { return std::to_string(nla_get_u64(a)); }

template <typename E>
Json name_value(nlattr *a)
{
	return name_of(Code<E>{nla_get_u32(a)});
}

Json mode_value(nlattr *a)
{
	char text[8];

	snprintf(text, sizeof(text), "%04o", nla_get_u32(a));
	return text;
}

// What becomes of one attribute. The order of the table is the order of the keys.
struct Field {
	int attr;
	const char *key;
	std::function<Json(nlattr *)> value;
};

Json object(const std::vector<Field> &fields, nlattr *attrs, int len)
{
	Json out = Json::object();

	for (const Field &f : fields) {
		nlattr *a = nla_find(attrs, len, f.attr);

		if (a)
			out[f.key] = f.value(a);
	}
	return out;
}

Json stats_value(nlattr *nest)
{
	static const std::vector<Field> fields = {
		{RCHAR_A_STATS_RX_BYTES, "rx_bytes", u64_value},
		{RCHAR_A_STATS_TX_BYTES, "tx_bytes", u64_value},
		{RCHAR_A_STATS_RX_FRAMES, "rx_frames", u64_value},
		{RCHAR_A_STATS_TX_FRAMES, "tx_frames", u64_value},
		{RCHAR_A_STATS_SESSIONS, "sessions", u64_value},
		{RCHAR_A_STATS_OPEN_ERRORS, "open_errors", u64_value},
		{RCHAR_A_STATS_RESETS, "resets", u64_value},
		{RCHAR_A_STATS_CONNECTS, "connects", u64_value},
		{RCHAR_A_STATS_FAILURES, "failures", u64_value},
		{RCHAR_A_STATS_REPLAYED, "replayed_frames", u64_value},
		{RCHAR_A_STATS_DUPLICATES, "duplicate_frames", u64_value},
		{RCHAR_A_STATS_BAD_FRAMES, "bad_frames", u64_value},
		{RCHAR_A_STATS_CREDIT_STALLS, "credit_stalls", u64_value},
		{RCHAR_A_STATS_STRAY_FRAMES, "stray_frames", u64_value},
		{RCHAR_A_STATS_READS, "reads", u64_value},
		{RCHAR_A_STATS_WRITES, "writes", u64_value},
		{RCHAR_A_STATS_CALLS, "calls", u64_value},
		{RCHAR_A_STATS_RENDEZVOUS_SENT, "rendezvous_sent", u64_value},
		{RCHAR_A_STATS_RENDEZVOUS_PLACED, "rendezvous_placed", u64_value},
	};

	return object(fields, static_cast<nlattr *>(nla_data(nest)), nla_len(nest));
}

Json lane_value(nlattr *nest)
{
	static const std::vector<Field> fields = {
		{RCHAR_A_LANE_INDEX, "index", u32_value},
		{RCHAR_A_LANE_DEVICE, "device", string_value},
		{RCHAR_A_LANE_DEVICE_PORT, "port", u32_value},
		{RCHAR_A_LANE_QPN, "qpn", u32_value},
		{RCHAR_A_LANE_TX_CREDITS, "tx_credits", u32_value},
		{RCHAR_A_LANE_UNACKED, "unacked_frames", u32_value},
		{RCHAR_A_LANE_FRAME_SIZE, "frame_size_bytes", u32_value},
		{RCHAR_A_LANE_DEPTH, "depth", u32_value},
	};

	return object(fields, static_cast<nlattr *>(nla_data(nest)), nla_len(nest));
}

std::string str(const Json &o, const char *key) { return o.value(key, std::string()); }
uint64_t num(const Json &o, const char *key) { return o.value(key, uint64_t{0}); }

std::string reason_line(const Json &o)
{
	if (!o.contains("reason"))
		return "";
	std::string text = "    reason " + str(o, "reason") + ": " + reason_text(str(o, "reason"));

	if (o.contains("reason_age_ms"))
		text += ", " + age_text(num(o, "reason_age_ms")) + " ago";
	return text + "\n";
}

}  // namespace

std::string reason_text(const std::string &reason)
{
	if (std::optional<rchar_reason> r = value_of<rchar_reason>(reason))
		return reasons[*r].text;
	return "not known to this version of rchar";
}

std::string age_text(uint64_t ms)
{
	uint64_t s = ms / 1000;

	if (s < 1)
		return std::to_string(ms) + " ms";
	if (s < 60)
		return std::to_string(s) + " s";
	if (s < 3600)
		return std::to_string(s / 60) + " min " + std::to_string(s % 60) + " s";
	return std::to_string(s / 3600) + " h " + std::to_string(s / 60 % 60) + " min";
}

std::string size_text(uint64_t bytes)
{
	if (bytes && bytes % (1 << 30) == 0)
		return std::to_string(bytes >> 30) + "g";
	if (bytes && bytes % (1 << 20) == 0)
		return std::to_string(bytes >> 20) + "m";
	if (bytes && bytes % (1 << 10) == 0)
		return std::to_string(bytes >> 10) + "k";
	return std::to_string(bytes);
}

std::string time_text(uint64_t ms)
{
	return ms % 1000 ? std::to_string(ms) + "ms" : std::to_string(ms / 1000) + "s";
}

Json channel_object(nlattr *attrs, int len)
{
	static const std::vector<Field> fields = {
		{RCHAR_A_CHANNEL_NAME, "name", string_value},
		{RCHAR_A_CHANNEL_TYPE, "type", name_value<rchar_channel_type>},
		{RCHAR_A_CHANNEL_ROLE, "role", name_value<rchar_role>},
		{RCHAR_A_CHANNEL_LOCAL, "local", address_value},
		{RCHAR_A_CHANNEL_PEER, "peer", address_value},
		{RCHAR_A_CHANNEL_REMOTE, "remote", string_value},
		{RCHAR_A_CHANNEL_STATE, "state", name_value<rchar_channel_state>},
		{RCHAR_A_CHANNEL_REASON, "reason", name_value<rchar_reason>},
		{RCHAR_A_CHANNEL_REASON_AGE_MS, "reason_age_ms", u64_value},
		{RCHAR_A_CHANNEL_SESSIONS, "sessions", u32_value},
		{RCHAR_A_CHANNEL_WAITING, "waiting", u32_value},
		{RCHAR_A_CHANNEL_LINK_ID, "link", id_value},
		{RCHAR_A_CHANNEL_MODE, "mode", mode_value},
		{RCHAR_A_CHANNEL_UID, "uid", u32_value},
		{RCHAR_A_CHANNEL_GID, "gid", u32_value},
		{RCHAR_A_CHANNEL_WINDOW, "window_bytes", u32_value},
		{RCHAR_A_CHANNEL_MAX_MESSAGE, "max_message_bytes", u32_value},
		{RCHAR_A_CHANNEL_RENDEZVOUS_MIN, "rendezvous_min_bytes", u32_value},
		{RCHAR_A_CHANNEL_SIZE, "size_bytes", u64_value},
		{RCHAR_A_CHANNEL_ACCESS, "access", name_value<rchar_access>},
		{RCHAR_A_CHANNEL_ATOMICS, "atomics", name_value<rchar_atomics>},
		{RCHAR_A_CHANNEL_PINNED, "pinned_bytes", u64_value},
		{RCHAR_A_CHANNEL_BACKLOG, "backlog", u32_value},
		{RCHAR_A_CHANNEL_OPEN_TIMEOUT_MS, "open_timeout_ms", u32_value},
		{RCHAR_A_CHANNEL_RECOVERY_TIMEOUT_MS, "recovery_timeout_ms", u32_value},
		{RCHAR_A_CHANNEL_LINGER_MS, "linger_ms", u32_value},
		{RCHAR_A_CHANNEL_DEV_MAJOR, "dev_major", u32_value},
		{RCHAR_A_CHANNEL_DEV_MINOR, "dev_minor", u32_value},
		{RCHAR_A_CHANNEL_STATS, "stats", stats_value},
	};

	return object(fields, attrs, len);
}

Json link_object(nlattr *attrs, int len)
{
	static const std::vector<Field> fields = {
		{RCHAR_A_LINK_ID, "link", id_value},
		{RCHAR_A_LINK_INITIATOR, "initiator", bool_value},
		{RCHAR_A_LINK_LOCAL, "local", address_value},
		{RCHAR_A_LINK_PEER, "peer", address_value},
		{RCHAR_A_LINK_STATE, "state", name_value<rchar_link_state>},
		{RCHAR_A_LINK_REASON, "reason", name_value<rchar_reason>},
		{RCHAR_A_LINK_REASON_AGE_MS, "reason_age_ms", u64_value},
		{RCHAR_A_LINK_ATTEMPTS, "attempts", u32_value},
		{RCHAR_A_LINK_NEXT_MS, "next_ms", u32_value},
		{RCHAR_A_LINK_WIRE_ID, "wire_id", hex_value},
		{RCHAR_A_LINK_EPOCH, "epoch", u32_value},
		{RCHAR_A_LINK_SESSIONS, "sessions", u32_value},
	};
	Json out = object(fields, attrs, len), lanes = Json::array();
	nlattr *a;
	int rem;

	nla_for_each_attr(a, attrs, len, rem)
		if (nla_type(a) == RCHAR_A_LINK_LANE)
			lanes.push_back(lane_value(a));
	out["lanes"] = lanes;
	if (nlattr *stats = nla_find(attrs, len, RCHAR_A_LINK_STATS))
		out["stats"] = stats_value(stats);
	return out;
}

Json session_object(nlattr *attrs, int len)
{
	static const std::vector<Field> fields = {
		{RCHAR_A_SESSION_LINK_ID, "link", id_value},
		{RCHAR_A_SESSION_ID, "session", u32_value},
		{RCHAR_A_SESSION_CHANNEL, "channel", string_value},
		{RCHAR_A_SESSION_INITIATOR, "initiator", bool_value},
		{RCHAR_A_SESSION_PEER, "peer", address_value},
		{RCHAR_A_SESSION_STATE, "state", name_value<rchar_session_state>},
		{RCHAR_A_SESSION_REASON, "reason", name_value<rchar_reason>},
		{RCHAR_A_SESSION_RX_QUEUED, "rx_queued_bytes", u64_value},
		{RCHAR_A_SESSION_RX_MEMORY, "rx_memory_bytes", u64_value},
		{RCHAR_A_SESSION_TX_UNACKED, "tx_unacked_bytes", u64_value},
		{RCHAR_A_SESSION_TX_WINDOW, "tx_window_bytes", u64_value},
		{RCHAR_A_SESSION_AGE_MS, "age_ms", u64_value},
	};

	return object(fields, attrs, len);
}

Json info_object(nlattr *attrs, int len)
{
	static const std::vector<Field> fields = {
		{RCHAR_A_INFO_VERSION, "module", string_value},
		{RCHAR_A_INFO_PROTOCOL, "protocol",
		 [](nlattr *a) -> Json {
			 uint32_t v = nla_get_u32(a);
			 return std::to_string(v >> 8) + "." + std::to_string(v & 0xff);
		 }},
		{RCHAR_A_INFO_DEVICES, "rdma_devices", u32_value},
		{RCHAR_A_INFO_CHANNELS, "channels", u32_value},
		{RCHAR_A_INFO_LINKS, "links", u32_value},
		{RCHAR_A_INFO_REQUESTS_ACCEPTED, "requests_accepted", u64_value},
		{RCHAR_A_INFO_REQUESTS_REFUSED, "requests_refused", u64_value},
		{RCHAR_A_INFO_REQUESTS_BAD, "requests_bad", u64_value},
		{RCHAR_A_INFO_BAD_FRAMES, "bad_frames", u64_value},
		{RCHAR_A_INFO_PEER_MEMORY, "peer_memory_bytes", u64_value},
	};

	return object(fields, attrs, len);
}

Json event_object(int cmd, nlattr *attrs, int len)
{
	Json out = Json::object();

	switch (cmd) {
	case RCHAR_CMD_CHANNEL_NEW_NTF:
		out["event"] = "channel-new";
		break;
	case RCHAR_CMD_CHANNEL_SET_NTF:
		out["event"] = "channel-set";
		break;
	case RCHAR_CMD_CHANNEL_DEL_NTF:
		out["event"] = "channel-del";
		break;
	case RCHAR_CMD_CHANNEL_STATE_NTF:
		out["event"] = "channel-state";
		break;
	case RCHAR_CMD_LINK_STATE_NTF:
		out["event"] = "link-state";
		out.update(link_object(attrs, len));
		return out;
	case RCHAR_CMD_SESSION_STATE_NTF:
		out["event"] = "session-state";
		out.update(session_object(attrs, len));
		return out;
	default:
		out["event"] = "unknown";
		return out;
	}
	out.update(channel_object(attrs, len));
	return out;
}

std::string channel_text(const Json &c, bool details)
{
	std::string text = str(c, "name") + ": " + str(c, "type") + " " + str(c, "role") + " ";

	if (str(c, "role") == "listen") {
		text += str(c, "local");
	} else {
		text += str(c, "peer") + "/" + str(c, "remote");
		if (c.contains("local"))
			text += " from " + str(c, "local");
	}
	text += "\n    state " + str(c, "state") + " sessions " + std::to_string(num(c, "sessions"));
	if (num(c, "waiting"))
		text += " waiting " + std::to_string(num(c, "waiting"));
	const Json &s = c["stats"];
	text += " rx " + std::to_string(num(s, "rx_bytes")) + " tx " + std::to_string(num(s, "tx_bytes"));
	text += " bytes\n" + reason_line(c);
	if (str(c, "type") == "memory") {
		text += "   ";
		if (c.contains("size_bytes"))
			text += " size " + size_text(num(c, "size_bytes")) + " access " +
				str(c, "access") + " atomics " + str(c, "atomics");
		text += " reads " + std::to_string(num(s, "reads")) + " writes " +
			std::to_string(num(s, "writes")) + " calls " + std::to_string(num(s, "calls"));
		if (num(c, "pinned_bytes"))
			text += " pinned " + size_text(num(c, "pinned_bytes"));
		text += "\n";
	}
	if (!details)
		return text;
	text += "    mode " + str(c, "mode") + " uid " + std::to_string(num(c, "uid")) + " gid " +
		std::to_string(num(c, "gid")) + " window " + size_text(num(c, "window_bytes")) +
		(c.contains("max_message_bytes") ?
			 " max-message " + size_text(num(c, "max_message_bytes")) : "") +
		(c.contains("rendezvous_min_bytes") ?
			 " rendezvous-min " + size_text(num(c, "rendezvous_min_bytes")) : "") +
		" backlog " + std::to_string(num(c, "backlog")) + "\n";
	text += "    open-timeout " + time_text(num(c, "open_timeout_ms")) + " recovery-timeout " +
		time_text(num(c, "recovery_timeout_ms")) + " linger " + time_text(num(c, "linger_ms")) +
		"\n";
	if (c.contains("link"))
		text += "    link " + str(c, "link") + "\n";
	return text;
}

std::string link_text(const Json &l, bool details)
{
	std::string text = str(l, "link") + ": " + (l.value("initiator", false) ? "to " : "from ") +
			   str(l, "peer");

	if (l.contains("local"))
		text += " local " + str(l, "local");
	text += "\n    state " + str(l, "state") + " sessions " + std::to_string(num(l, "sessions"));
	if (num(l, "attempts"))
		text += " attempts " + std::to_string(num(l, "attempts"));
	if (l.contains("next_ms"))
		text += " next in " + time_text(num(l, "next_ms"));
	text += "\n";
	if (str(l, "state") != "up" || details)
		text += reason_line(l);
	for (const Json &lane : l["lanes"]) {
		if (!lane.contains("device"))
			continue;
		text += "    lane " + std::to_string(num(lane, "index")) + " device " +
			str(lane, "device") + "/" + std::to_string(num(lane, "port")) +
			(lane.contains("qpn") ? " qp " + std::to_string(num(lane, "qpn")) : "") + " frame " +
			size_text(num(lane, "frame_size_bytes")) + " depth " +
			std::to_string(num(lane, "depth")) + " credits " +
			std::to_string(num(lane, "tx_credits")) + " unacked " +
			std::to_string(num(lane, "unacked_frames")) + "\n";
	}
	const Json &s = l["stats"];
	text += "    rx " + std::to_string(num(s, "rx_frames")) + " frames " +
		std::to_string(num(s, "rx_bytes")) + " bytes, tx " + std::to_string(num(s, "tx_frames")) +
		" frames " + std::to_string(num(s, "tx_bytes")) + " bytes\n";
	if (!details)
		return text;
	text += "    connects " + std::to_string(num(s, "connects")) + " failures " +
		std::to_string(num(s, "failures")) + " replayed " +
		std::to_string(num(s, "replayed_frames")) + " duplicates " +
		std::to_string(num(s, "duplicate_frames")) + " bad " +
		std::to_string(num(s, "bad_frames")) + " stray " +
		std::to_string(num(s, "stray_frames")) + " credit-stalls " +
		std::to_string(num(s, "credit_stalls")) + "\n";
	return text;
}

std::string session_text(const Json &s, bool)
{
	std::string text = str(s, "link") + "/" + std::to_string(num(s, "session")) + ": channel " +
			   str(s, "channel") + (s.value("initiator", false) ? " to " : " from ") +
			   str(s, "peer") + "\n    state " + str(s, "state") + " age " +
			   age_text(num(s, "age_ms")) + " rx-queued " +
			   std::to_string(num(s, "rx_queued_bytes")) + " (memory " +
			   std::to_string(num(s, "rx_memory_bytes")) + ") tx-unacked " +
			   std::to_string(num(s, "tx_unacked_bytes")) + " tx-window " +
			   std::to_string(num(s, "tx_window_bytes")) + "\n";

	return text + reason_line(s);
}

std::string event_text(const Json &e)
{
	std::string text = str(e, "event");

	if (text == "link-state")
		text += " " + str(e, "link") + (e.value("initiator", false) ? " to " : " from ") +
			str(e, "peer");
	else if (text == "session-state")
		text += " " + (e.contains("link") ? str(e, "link") + "/" : std::string("-/")) +
			std::to_string(num(e, "session")) + " channel " + str(e, "channel");
	else
		text += " " + str(e, "name");
	if (e.contains("state"))
		text += " " + str(e, "state");
	if (e.contains("reason"))
		text += " reason " + str(e, "reason");
	return text + "\n";
}
