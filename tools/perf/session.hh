// SPDX-License-Identifier: GPL-2.0
// One session, or a TCP connection to compare with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "linux/rdma_char.h"

enum class Kind {
	stream = RCHAR_TYPE_STREAM,
	message = RCHAR_TYPE_MESSAGE,
	memory = RCHAR_TYPE_MEMORY,
	tcp,
};

// What a session is. All below throw Failure.
Kind kind_of(int fd);
std::string kind_name(Kind kind);
uint64_t region_size(int fd);
void write_all(int fd, const void *data, size_t len);
bool read_all(int fd, void *data, size_t len);	// false: end of file in front of it
void finish_writing(int fd);
