// SPDX-License-Identifier: GPL-2.0
// What a client asks of 'rchar-perf serve': the first bytes of each session.
#pragma once

#include <endian.h>

#include <cstdint>

enum class Work : uint32_t {
	sink = 1,    // read until the end, then say how many bytes (a le64)
	echo = 2,    // send back each block
	greet = 3,   // send one byte at once
	shared = 4,  // as sink, but one thread for all sessions
};

struct Request {
	uint32_t magic;	 // all of them little-endian
	uint32_t work;
	uint32_t block;	 // bytes
	uint32_t reserved;

	static constexpr uint32_t MAGIC = 0x66726570;  // "perf"
	static Request make(Work work, uint32_t block)
	{
		return {htole32(MAGIC), htole32(static_cast<uint32_t>(work)), htole32(block), 0};
	}
};

// Blocks are no longer than this.
constexpr uint32_t BLOCK_MAX = 64u << 20;

class Endpoint;
void serve(Endpoint &endpoint, bool once);
