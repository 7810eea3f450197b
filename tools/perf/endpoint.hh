// SPDX-License-Identifier: GPL-2.0
// Where bytes go: a device of rdma_char, or TCP to compare with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "linux/rdma_char.h"

// A descriptor that is closed.
class Fd {
public:
	Fd() = default;
	explicit Fd(int fd) : fd_(fd) {}
	Fd(Fd &&other) noexcept : fd_(other.release()) {}
	Fd &operator=(Fd &&other) noexcept;
	~Fd();
	int get() const { return fd_; }
	int release();

private:
	int fd_ = -1;
};

enum class Kind {
	stream = RCHAR_TYPE_STREAM,
	message = RCHAR_TYPE_MESSAGE,
	memory = RCHAR_TYPE_MEMORY,
	tcp,
};

// "/dev/rchar/NAME", or "tcp:HOST:PORT".
class Endpoint {
public:
	explicit Endpoint(const std::string &text);
	~Endpoint();
	const std::string &text() const { return text_; }
	bool is_tcp() const { return !host_.empty(); }
	Fd open() const;  // a new session, from the side that calls
	Fd accept();	  // the next one that somebody opened

private:
	std::string text_, host_, port_;
	int listener_ = -1;
	void listen();
};

// What a session is. All below throw Failure.
Kind kind_of(int fd);
std::string kind_name(Kind kind);
uint64_t region_size(int fd);
void write_all(int fd, const void *data, size_t len);
bool read_all(int fd, void *data, size_t len);	// false: end of file in front of it
void finish_writing(int fd);
