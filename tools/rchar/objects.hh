// SPDX-License-Identifier: GPL-2.0
// What the module says about its objects. A member is absent when its attribute was.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "../common/names.hh"
#include "stats.hh"

struct Channel {
	std::optional<std::string> name;
	std::optional<Code<rchar_channel_type>> type;
	std::optional<Code<rchar_role>> role;
	std::optional<sockaddr_storage> local;
	std::optional<sockaddr_storage> peer;
	std::optional<std::string> remote;
	std::optional<Code<rchar_channel_state>> state;
	std::optional<Code<rchar_reason>> reason;
	std::optional<uint64_t> reason_age_ms;
	std::optional<uint32_t> sessions;
	std::optional<uint32_t> waiting;
	std::optional<uint64_t> link;
	std::optional<uint32_t> mode;
	std::optional<uint32_t> uid;
	std::optional<uint32_t> gid;
	std::optional<uint32_t> window;
	std::optional<uint32_t> window_max;
	std::optional<uint32_t> frame;
	std::optional<uint32_t> max_message;
	std::optional<uint32_t> rendezvous_min;
	std::optional<uint64_t> size;
	std::optional<Code<rchar_access>> access;
	std::optional<Code<rchar_atomics>> atomics;
	std::optional<uint64_t> pinned;
	std::optional<uint32_t> backlog;
	std::optional<uint32_t> open_timeout_ms;
	std::optional<uint32_t> recovery_timeout_ms;
	std::optional<uint32_t> linger_ms;
	std::optional<uint32_t> priority;
	std::vector<std::string> keys;
	std::vector<std::string> keys_deleted;
	std::vector<rchar_prefix> allow;
	std::optional<Code<rchar_encrypt>> encrypt;
	std::optional<uint32_t> lanes;
	std::optional<uint32_t> keepalive_ms;
	std::optional<uint32_t> tos;
	std::optional<uint32_t> dev_major;
	std::optional<uint32_t> dev_minor;
	std::optional<Stats> stats;
	// "device", "absent" or "other": what /dev/rchar/NAME is. The module does not say it.
	std::optional<std::string> node;
};

// It listens, or its link is up.
inline bool is_working(const Channel &c)
{
	return c.state && (*c.state == RCHAR_CHANNEL_UP || *c.state == RCHAR_CHANNEL_LISTENING);
}

// All but the index is absent while the lane is not up.
struct Lane {
	std::optional<uint32_t> index;
	std::optional<std::string> device;
	std::optional<uint32_t> port;
	std::optional<uint32_t> qpn;
	std::optional<uint32_t> tx_credits;
	std::optional<uint32_t> unacked;
	std::optional<uint32_t> frame_size;
	std::optional<uint32_t> depth;
	std::optional<uint32_t> rtt_ns;
	std::optional<uint32_t> reads;
	std::optional<uint32_t> vector;
};

struct Link {
	std::optional<uint64_t> id;
	std::optional<bool> initiator;
	std::optional<sockaddr_storage> local;
	std::optional<sockaddr_storage> peer;
	std::optional<std::string> key;
	std::optional<bool> encrypted;
	std::optional<uint32_t> keepalive_ms;
	std::optional<uint32_t> tos;
	std::optional<Code<rchar_link_state>> state;
	std::optional<Code<rchar_reason>> reason;
	std::optional<uint64_t> reason_age_ms;
	std::optional<uint32_t> attempts;
	std::optional<uint32_t> next_ms;
	std::optional<uint64_t> wire_id;
	std::optional<uint32_t> epoch;
	std::optional<uint32_t> sessions;
	std::vector<Lane> lanes;
	std::optional<Stats> stats;
};

struct Session {
	std::optional<uint64_t> link;
	std::optional<uint32_t> id;
	std::optional<std::string> channel;
	std::optional<bool> initiator;
	std::optional<sockaddr_storage> peer;
	std::optional<std::string> key;
	std::optional<bool> encrypted;
	std::optional<Code<rchar_session_state>> state;
	std::optional<Code<rchar_reason>> reason;
	std::optional<uint64_t> rx_queued;
	std::optional<uint64_t> rx_memory;
	std::optional<uint64_t> tx_unacked;
	std::optional<uint64_t> tx_window;
	std::optional<uint64_t> rx_window;
	std::optional<uint64_t> age_ms;
	std::optional<uint64_t> rx_bytes;
	std::optional<uint64_t> tx_bytes;
};

struct Info {
	std::optional<std::string> version;
	std::optional<uint32_t> protocol;  // major << 8 | minor
	std::optional<uint32_t> devices;
	std::optional<uint32_t> channels;
	std::optional<uint32_t> links;
	std::optional<uint64_t> requests_accepted;
	std::optional<uint64_t> requests_refused;
	std::optional<uint64_t> requests_bad;
	std::optional<uint64_t> bad_frames;
	std::optional<uint64_t> peer_memory;
	std::optional<uint64_t> requests_denied;
	std::optional<uint32_t> keys;
};

using Fingerprint = std::array<uint8_t, 8>;

// A key: never its secret.
struct Key {
	std::optional<std::string> name;
	std::optional<Fingerprint> fingerprint;
	std::optional<uint32_t> channels;
	std::optional<uint32_t> links;
};

// Calls f(key, member) for the numbers of it, in the order in which they are printed.
template <typename F> void for_each_number(const Info &info, F f)
{
	f("rdma_devices", info.devices);
	f("channels", info.channels);
	f("links", info.links);
	f("requests_accepted", info.requests_accepted);
	f("requests_refused", info.requests_refused);
	f("requests_bad", info.requests_bad);
	f("bad_frames", info.bad_frames);
	f("peer_memory_bytes", info.peer_memory);
	f("requests_denied", info.requests_denied);
	f("keys", info.keys);
}

// No object: an event that only a newer module knows.
struct Event {
	int cmd = 0;
	std::variant<std::monostate, Channel, Link, Session, Key> object;
};
