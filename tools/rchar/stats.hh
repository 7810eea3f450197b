// SPDX-License-Identifier: GPL-2.0
// Counters of channels and links.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "linux/rdma_char.h"

// A channel has some of them, a link others.
struct Stats {
	std::optional<uint64_t> rx_bytes;
	std::optional<uint64_t> tx_bytes;
	std::optional<uint64_t> rx_frames;
	std::optional<uint64_t> tx_frames;
	std::optional<uint64_t> sessions;
	std::optional<uint64_t> open_errors;
	std::optional<uint64_t> resets;
	std::optional<uint64_t> connects;
	std::optional<uint64_t> failures;
	std::optional<uint64_t> replayed;
	std::optional<uint64_t> duplicates;
	std::optional<uint64_t> bad_frames;
	std::optional<uint64_t> credit_stalls;
	std::optional<uint64_t> stray_frames;
	std::optional<uint64_t> reads;
	std::optional<uint64_t> writes;
	std::optional<uint64_t> calls;
	std::optional<uint64_t> rendezvous_sent;
	std::optional<uint64_t> rendezvous_placed;
	std::optional<uint64_t> map_stalls;
};

struct Counter {
	int attr;
	const char *key;
	std::optional<uint64_t> Stats::*value;
	const char *help;
};

// All of them, in the order in which they are printed, that of enum rchar_stats_attr.
inline constexpr Counter counters[] = {
	{RCHAR_A_STATS_RX_BYTES, "rx_bytes", &Stats::rx_bytes, "Bytes received."},
	{RCHAR_A_STATS_TX_BYTES, "tx_bytes", &Stats::tx_bytes, "Bytes sent."},
	{RCHAR_A_STATS_RX_FRAMES, "rx_frames", &Stats::rx_frames, "Frames received."},
	{RCHAR_A_STATS_TX_FRAMES, "tx_frames", &Stats::tx_frames, "Frames sent."},
	{RCHAR_A_STATS_SESSIONS, "sessions", &Stats::sessions, "Sessions opened."},
	{RCHAR_A_STATS_OPEN_ERRORS, "open_errors", &Stats::open_errors,
	 "Calls of open() that failed."},
	{RCHAR_A_STATS_RESETS, "resets", &Stats::resets, "Sessions that ended with a reset."},
	{RCHAR_A_STATS_CONNECTS, "connects", &Stats::connects, "Times that the link came up."},
	{RCHAR_A_STATS_FAILURES, "failures", &Stats::failures,
	 "Attempts to connect that failed, and connections that broke."},
	{RCHAR_A_STATS_REPLAYED, "replayed_frames", &Stats::replayed,
	 "Frames sent again after a reconnect."},
	{RCHAR_A_STATS_DUPLICATES, "duplicate_frames", &Stats::duplicates,
	 "Frames received again after a reconnect."},
	{RCHAR_A_STATS_BAD_FRAMES, "bad_frames", &Stats::bad_frames,
	 "Frames that broke the protocol."},
	{RCHAR_A_STATS_CREDIT_STALLS, "credit_stalls", &Stats::credit_stalls,
	 "Times that a frame waited for the peer to post a buffer."},
	{RCHAR_A_STATS_STRAY_FRAMES, "stray_frames", &Stats::stray_frames,
	 "Frames for sessions that were over."},
	{RCHAR_A_STATS_READS, "reads", &Stats::reads, "Reads of a region."},
	{RCHAR_A_STATS_WRITES, "writes", &Stats::writes, "Writes to a region."},
	{RCHAR_A_STATS_CALLS, "calls", &Stats::calls,
	 "Atomic operations, rings and fences of a region."},
	{RCHAR_A_STATS_RENDEZVOUS_SENT, "rendezvous_sent", &Stats::rendezvous_sent,
	 "Pieces that the peer read from a writer's memory."},
	{RCHAR_A_STATS_RENDEZVOUS_PLACED, "rendezvous_placed", &Stats::rendezvous_placed,
	 "Pieces that arrived in a reader's memory without a copy."},
	{RCHAR_A_STATS_MAP_STALLS, "map_stalls", &Stats::map_stalls,
	 "Times that something waited because the host had no DMA mapping left."},
};

// What 'rchar stats' prints of a channel.
struct ChannelStats {
	std::optional<std::string> name;
	// With 'every': the time in which the counters were added. Absent: since the channel is there.
	std::optional<uint64_t> interval_ms;
	Stats stats;
	// What was added, two's complement: a channel may be a new one of the same name.
	bool difference = false;
};

ChannelStats difference(const ChannelStats &now, const ChannelStats &before);
