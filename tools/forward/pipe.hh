// SPDX-License-Identifier: GPL-2.0
// Pipes for splice(2). A flow borrows one only while it holds bytes, so idle connections cost no
// descriptors.
#pragma once

#include <sys/types.h>

#include <vector>

#include "../common/fd.hh"

class Pipe {
public:
	Pipe();	 // check with operator bool
	explicit operator bool() const { return static_cast<bool>(out_); }
	size_t held() const { return held_; }
	// As splice(2): bytes, 0 at the end of file, or -1 with errno.
	ssize_t fill_from(int fd);
	ssize_t empty_to(int fd);
	// As recv(2) of some bytes, for where splice(2) does not go on. The pipe must be empty.
	ssize_t copy_from(int socket);

private:
	Fd in_, out_;
	size_t size_ = 0, held_ = 0;
};

class Pipes {
public:
	Pipe take();
	void give_back(Pipe pipe);  // kept only when empty

private:
	std::vector<Pipe> spare_;
};
