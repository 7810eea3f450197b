// SPDX-License-Identifier: GPL-2.0
#include "decode.hh"

#include <algorithm>
#include <cstring>

#include "../common/args.hh"

namespace {

template <typename T> T number(const nlattr *a)
{
	T value;

	if (nla_len(a) != sizeof(value))
		throw Failure(EXIT_USAGE, "netlink: attribute " + std::to_string(nla_type(a)) +
						  " has " + std::to_string(nla_len(a)) +
						  " bytes, not " + std::to_string(sizeof(value)));
	memcpy(&value, nla_data(a), sizeof(value));
	return value;
}

// The type of a member decides how its attribute is read.
void read_value(const nlattr *a, uint32_t *out) { *out = number<uint32_t>(a); }
void read_value(const nlattr *a, uint64_t *out) { *out = number<uint64_t>(a); }
void read_value(const nlattr *a, bool *out) { *out = number<uint32_t>(a) != 0; }

template <typename E> void read_value(const nlattr *a, Code<E> *out)
{
	out->number = number<uint32_t>(a);
}

void read_value(const nlattr *a, std::string *out)
{
	auto *text = static_cast<const char *>(nla_data(a));

	out->assign(text, strnlen(text, static_cast<size_t>(nla_len(a))));
}

void read_value(const nlattr *a, sockaddr_storage *out)
{
	memcpy(out, nla_data(a), std::min(sizeof(*out), static_cast<size_t>(nla_len(a))));
}

void read_value(const nlattr *a, Lane *out);
void read_value(const nlattr *a, rchar_prefix *out) { *out = number<rchar_prefix>(a); }
void read_value(const nlattr *a, Fingerprint *out) { *out = number<Fingerprint>(a); }

// Every attribute of that number, in order.
template <typename T> void take_all(const Attributes &in, int attr, std::vector<T> *out)
{
	const nlattr *a;
	int rem;

	nla_for_each_attr(a, in.first, in.len, rem) if (nla_type(a) == attr)
		read_value(a, &out->emplace_back());
}

void read_value(const nlattr *a, Stats *out);

template <typename T> void take(const Attributes &in, int attr, std::optional<T> *out)
{
	if (const nlattr *a = in.find(attr))
		read_value(a, &out->emplace());
}

void read_value(const nlattr *a, Stats *out)
{
	Attributes in = Attributes::of_nest(a);

	for (const Counter &c : counters)
		take(in, c.attr, &(out->*c.value));
}

void read_value(const nlattr *a, Lane *out)
{
	Attributes in = Attributes::of_nest(a);

	take(in, RCHAR_A_LANE_INDEX, &out->index);
	take(in, RCHAR_A_LANE_DEVICE, &out->device);
	take(in, RCHAR_A_LANE_DEVICE_PORT, &out->port);
	take(in, RCHAR_A_LANE_QPN, &out->qpn);
	take(in, RCHAR_A_LANE_TX_CREDITS, &out->tx_credits);
	take(in, RCHAR_A_LANE_UNACKED, &out->unacked);
	take(in, RCHAR_A_LANE_FRAME_SIZE, &out->frame_size);
	take(in, RCHAR_A_LANE_DEPTH, &out->depth);
	take(in, RCHAR_A_LANE_RTT_NS, &out->rtt_ns);
	take(in, RCHAR_A_LANE_READS, &out->reads);
	take(in, RCHAR_A_LANE_VECTOR, &out->vector);
}

}  // namespace

void decode(const Attributes &in, Channel *out)
{
	take(in, RCHAR_A_CHANNEL_NAME, &out->name);
	take(in, RCHAR_A_CHANNEL_TYPE, &out->type);
	take(in, RCHAR_A_CHANNEL_ROLE, &out->role);
	take(in, RCHAR_A_CHANNEL_LOCAL, &out->local);
	take(in, RCHAR_A_CHANNEL_PEER, &out->peer);
	take(in, RCHAR_A_CHANNEL_REMOTE, &out->remote);
	take(in, RCHAR_A_CHANNEL_STATE, &out->state);
	take(in, RCHAR_A_CHANNEL_REASON, &out->reason);
	take(in, RCHAR_A_CHANNEL_REASON_AGE_MS, &out->reason_age_ms);
	take(in, RCHAR_A_CHANNEL_SESSIONS, &out->sessions);
	take(in, RCHAR_A_CHANNEL_WAITING, &out->waiting);
	take(in, RCHAR_A_CHANNEL_LINK_ID, &out->link);
	take(in, RCHAR_A_CHANNEL_MODE, &out->mode);
	take(in, RCHAR_A_CHANNEL_UID, &out->uid);
	take(in, RCHAR_A_CHANNEL_GID, &out->gid);
	take(in, RCHAR_A_CHANNEL_WINDOW, &out->window);
	take(in, RCHAR_A_CHANNEL_WINDOW_MAX, &out->window_max);
	take(in, RCHAR_A_CHANNEL_FRAME, &out->frame);
	take(in, RCHAR_A_CHANNEL_MAX_MESSAGE, &out->max_message);
	take(in, RCHAR_A_CHANNEL_RENDEZVOUS_MIN, &out->rendezvous_min);
	take(in, RCHAR_A_CHANNEL_SIZE, &out->size);
	take(in, RCHAR_A_CHANNEL_ACCESS, &out->access);
	take(in, RCHAR_A_CHANNEL_ATOMICS, &out->atomics);
	take(in, RCHAR_A_CHANNEL_PINNED, &out->pinned);
	take(in, RCHAR_A_CHANNEL_BACKLOG, &out->backlog);
	take(in, RCHAR_A_CHANNEL_OPEN_TIMEOUT_MS, &out->open_timeout_ms);
	take(in, RCHAR_A_CHANNEL_RECOVERY_TIMEOUT_MS, &out->recovery_timeout_ms);
	take(in, RCHAR_A_CHANNEL_LINGER_MS, &out->linger_ms);
	take(in, RCHAR_A_CHANNEL_PRIORITY, &out->priority);
	take_all(in, RCHAR_A_CHANNEL_KEY, &out->keys);
	take_all(in, RCHAR_A_CHANNEL_KEY_DELETED, &out->keys_deleted);
	take_all(in, RCHAR_A_CHANNEL_ALLOW, &out->allow);
	take(in, RCHAR_A_CHANNEL_ENCRYPT, &out->encrypt);
	take(in, RCHAR_A_CHANNEL_LANES, &out->lanes);
	take(in, RCHAR_A_CHANNEL_KEEPALIVE_MS, &out->keepalive_ms);
	take(in, RCHAR_A_CHANNEL_TOS, &out->tos);
	take(in, RCHAR_A_CHANNEL_DEV_MAJOR, &out->dev_major);
	take(in, RCHAR_A_CHANNEL_DEV_MINOR, &out->dev_minor);
	take(in, RCHAR_A_CHANNEL_STATS, &out->stats);
}

void decode(const Attributes &in, Link *out)
{
	take(in, RCHAR_A_LINK_ID, &out->id);
	take(in, RCHAR_A_LINK_INITIATOR, &out->initiator);
	take(in, RCHAR_A_LINK_LOCAL, &out->local);
	take(in, RCHAR_A_LINK_PEER, &out->peer);
	take(in, RCHAR_A_LINK_KEY, &out->key);
	take(in, RCHAR_A_LINK_ENCRYPTED, &out->encrypted);
	take(in, RCHAR_A_LINK_KEEPALIVE_MS, &out->keepalive_ms);
	take(in, RCHAR_A_LINK_TOS, &out->tos);
	take(in, RCHAR_A_LINK_STATE, &out->state);
	take(in, RCHAR_A_LINK_REASON, &out->reason);
	take(in, RCHAR_A_LINK_REASON_AGE_MS, &out->reason_age_ms);
	take(in, RCHAR_A_LINK_ATTEMPTS, &out->attempts);
	take(in, RCHAR_A_LINK_NEXT_MS, &out->next_ms);
	take(in, RCHAR_A_LINK_WIRE_ID, &out->wire_id);
	take(in, RCHAR_A_LINK_EPOCH, &out->epoch);
	take(in, RCHAR_A_LINK_SESSIONS, &out->sessions);
	take_all(in, RCHAR_A_LINK_LANE, &out->lanes);
	take(in, RCHAR_A_LINK_STATS, &out->stats);
}

void decode(const Attributes &in, Session *out)
{
	take(in, RCHAR_A_SESSION_LINK_ID, &out->link);
	take(in, RCHAR_A_SESSION_ID, &out->id);
	take(in, RCHAR_A_SESSION_CHANNEL, &out->channel);
	take(in, RCHAR_A_SESSION_INITIATOR, &out->initiator);
	take(in, RCHAR_A_SESSION_PEER, &out->peer);
	take(in, RCHAR_A_SESSION_KEY, &out->key);
	take(in, RCHAR_A_SESSION_ENCRYPTED, &out->encrypted);
	take(in, RCHAR_A_SESSION_STATE, &out->state);
	take(in, RCHAR_A_SESSION_REASON, &out->reason);
	take(in, RCHAR_A_SESSION_RX_QUEUED, &out->rx_queued);
	take(in, RCHAR_A_SESSION_RX_MEMORY, &out->rx_memory);
	take(in, RCHAR_A_SESSION_TX_UNACKED, &out->tx_unacked);
	take(in, RCHAR_A_SESSION_TX_WINDOW, &out->tx_window);
	take(in, RCHAR_A_SESSION_RX_WINDOW, &out->rx_window);
	take(in, RCHAR_A_SESSION_AGE_MS, &out->age_ms);
	take(in, RCHAR_A_SESSION_RX_BYTES, &out->rx_bytes);
	take(in, RCHAR_A_SESSION_TX_BYTES, &out->tx_bytes);
}

void decode(const Attributes &in, Info *out)
{
	take(in, RCHAR_A_INFO_VERSION, &out->version);
	take(in, RCHAR_A_INFO_PROTOCOL, &out->protocol);
	take(in, RCHAR_A_INFO_DEVICES, &out->devices);
	take(in, RCHAR_A_INFO_CHANNELS, &out->channels);
	take(in, RCHAR_A_INFO_LINKS, &out->links);
	take(in, RCHAR_A_INFO_REQUESTS_ACCEPTED, &out->requests_accepted);
	take(in, RCHAR_A_INFO_REQUESTS_REFUSED, &out->requests_refused);
	take(in, RCHAR_A_INFO_REQUESTS_BAD, &out->requests_bad);
	take(in, RCHAR_A_INFO_BAD_FRAMES, &out->bad_frames);
	take(in, RCHAR_A_INFO_PEER_MEMORY, &out->peer_memory);
	take(in, RCHAR_A_INFO_REQUESTS_DENIED, &out->requests_denied);
	take(in, RCHAR_A_INFO_KEYS, &out->keys);
}

void decode(const Attributes &in, Key *out)
{
	take(in, RCHAR_A_KEY_NAME, &out->name);
	take(in, RCHAR_A_KEY_FINGERPRINT, &out->fingerprint);
	take(in, RCHAR_A_KEY_CHANNELS, &out->channels);
	take(in, RCHAR_A_KEY_LINKS, &out->links);
}

Event decode_event(const Message &message)
{
	switch (message.cmd) {
	case RCHAR_CMD_CHANNEL_NEW_NTF:
	case RCHAR_CMD_CHANNEL_SET_NTF:
	case RCHAR_CMD_CHANNEL_DEL_NTF:
	case RCHAR_CMD_CHANNEL_STATE_NTF:
		return {message.cmd, decode<Channel>(message)};
	case RCHAR_CMD_LINK_STATE_NTF:
		return {message.cmd, decode<Link>(message)};
	case RCHAR_CMD_SESSION_STATE_NTF:
		return {message.cmd, decode<Session>(message)};
	case RCHAR_CMD_KEY_NEW_NTF:
	case RCHAR_CMD_KEY_DEL_NTF:
		return {message.cmd, decode<Key>(message)};
	default:
		return {message.cmd, {}};
	}
}
