// SPDX-License-Identifier: GPL-2.0
// A descriptor that is closed.
#pragma once

#include <fcntl.h>
#include <unistd.h>

class Fd {
public:
	Fd() = default;
	explicit Fd(int fd) : fd_(fd) {}
	Fd(Fd &&other) noexcept : fd_(other.release()) {}
	Fd &operator=(Fd &&other) noexcept
	{
		if (this != &other) {
			reset();
			fd_ = other.release();
		}
		return *this;
	}
	~Fd() { reset(); }
	int get() const { return fd_; }
	explicit operator bool() const { return fd_ >= 0; }
	int release()
	{
		int fd = fd_;

		fd_ = -1;
		return fd;
	}
	void reset()
	{
		if (fd_ >= 0)
			close(release());
	}

private:
	int fd_ = -1;
};

// Opens those of the descriptors 0, 1 and 2 that are closed, so that no other file becomes one.
inline void fill_standard_descriptors()
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= STDIN_FILENO && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}
