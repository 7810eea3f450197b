// SPDX-License-Identifier: GPL-2.0
#include "format.hh"

#include <arpa/inet.h>

#include <cstdio>

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
	{RCHAR_REASON_NO_ATOMICS,
	 "the peer's RDMA device cannot execute atomic operations, or another does"},
	{RCHAR_REASON_PEER_LIMIT, "one host made the other hold as much memory as it may"},
	{RCHAR_REASON_NOT_AUTHORISED,
	 "the key is missing or wrong, or not allowed there; or there is no channel of that name"},
	{RCHAR_REASON_KEY_DELETED, "its key was deleted (see 'rchar key', 'rchar set')"},
	{RCHAR_REASON_ENCRYPTION, "one host encrypts, the other does not (see encrypt of both)"},
	{RCHAR_REASON_DEVICE_LIMITS,
	 "the RDMA device refused what a connection needs ('dmesg' names it)"},
	{RCHAR_REASON_PORT_DOWN, "the port of the RDMA device went down ('rdma link')"},
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

}  // namespace

std::string id_text(uint64_t id) { return std::to_string(id); }

std::string hex_text(uint64_t id)
{
	char text[17];

	snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(id));
	return text;
}

std::string fingerprint_text(const Fingerprint &fingerprint)
{
	std::string text;
	char digits[3];

	for (uint8_t byte : fingerprint) {
		snprintf(digits, sizeof(digits), "%02x", byte);
		text += digits;
	}
	return text;
}

std::string prefix_text(const rchar_prefix &prefix)
{
	char text[INET6_ADDRSTRLEN] = "?";

	inet_ntop(prefix.family, prefix.addr, text, sizeof(text));
	return std::string(text) + "/" + std::to_string(prefix.bits);
}

std::string mode_text(uint32_t mode)
{
	char text[12];

	snprintf(text, sizeof(text), "%04o", mode);
	return text;
}

std::string protocol_text(uint32_t version)
{
	return std::to_string(version >> 8) + "." + std::to_string(version & 0xff);
}

std::string direction_text(const std::optional<bool> &initiator)
{
	return initiator.value_or(false) ? "to " : "from ";
}

std::string event_name(int cmd)
{
	switch (cmd) {
	case RCHAR_CMD_CHANNEL_NEW_NTF:
		return "channel-new";
	case RCHAR_CMD_CHANNEL_SET_NTF:
		return "channel-set";
	case RCHAR_CMD_CHANNEL_DEL_NTF:
		return "channel-del";
	case RCHAR_CMD_CHANNEL_STATE_NTF:
		return "channel-state";
	case RCHAR_CMD_LINK_STATE_NTF:
		return "link-state";
	case RCHAR_CMD_SESSION_STATE_NTF:
		return "session-state";
	case RCHAR_CMD_KEY_NEW_NTF:
		return "key-new";
	case RCHAR_CMD_KEY_DEL_NTF:
		return "key-del";
	default:
		return "unknown";
	}
}

std::string reason_text(Code<rchar_reason> reason)
{
	if (reason.number < __RCHAR_REASON_MAX)
		return reasons[reason.number].text;
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
