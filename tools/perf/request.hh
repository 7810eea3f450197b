// SPDX-License-Identifier: GPL-2.0
// What a client asks of 'rchar-perf serve': the first bytes of each session.
#pragma once

#include <endian.h>

#include <cstdint>

enum class Work : uint32_t {
	sink = 1,    // read until the end, then say how many bytes (a le64)
	echo = 2,    // send back each block
	greet = 3,   // send one byte at once
	shared = 4,  // as sink, but counted for its group, too
	total = 5,  // read a le64, and send it back when shared sessions of the group got so many bytes
};

struct Request {
	uint32_t magic;	 // all of them little-endian
	uint32_t work;
	uint32_t block;	 // bytes
	uint32_t group;	 // of shared and total: chosen by the client

	static constexpr uint32_t MAGIC = 0x66726570;  // "perf"
	static Request make(Work work, uint32_t block, uint32_t group)
	{
		return {htole32(MAGIC), htole32(static_cast<uint32_t>(work)), htole32(block),
			htole32(group)};
	}
};

// Blocks are no longer than this.
constexpr uint32_t BLOCK_MAX = 64u << 20;

class Endpoint;

// Until it is killed; @once: until one session is over. @threads: one for each session, also
// of those that otherwise share one.
void serve(Endpoint &endpoint, bool once, bool threads);
