// SPDX-License-Identifier: GPL-2.0
// The side that calls, and measures.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "../common/endpoint.hh"
#include "result.hh"
#include "session.hh"

struct Options {
	bool json = false;
	bool write = false;	  // memory: to the peer
	bool sequential = false;  // memory: not at random
	bool once = false;	  // serve: one session
	bool threads = false;	  // serve: one for each session
	std::vector<uint32_t> sizes{65536};
	std::vector<uint32_t> counts{1, 16, 256};  // sessions
	uint32_t depth = 1;			   // memory: requests at once
	double seconds = 2;
	std::chrono::duration<double> at{};  // bandwidth: count from then on, since 1970
	uint32_t repeats = 1000;	     // latency, open
};

// What each result begins with.
nlohmann::ordered_json begin_result(const char *work, const Endpoint &endpoint, int fd);

void measure_bandwidth(const Endpoint &endpoint, const Options &options);
void measure_latency(const Endpoint &endpoint, const Options &options);
void measure_open(const Endpoint &endpoint, const Options &options);
void measure_sessions(const Endpoint &endpoint, const Options &options);
// Of a memory channel: requests of one size, 'depth' of them at once, for 'seconds'; LATENCY: for
// 'repeats' of them.
void measure_memory(const Endpoint &endpoint, const Options &options, bool latency);
