// SPDX-License-Identifier: GPL-2.0
#include "pipe.hh"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

constexpr int wanted_size = 256 << 10;	// a program without privileges may get less
constexpr size_t max_spare = 64;

}  // namespace

Pipe::Pipe()
{
	int fds[2], size;

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK))
		return;
	out_ = Fd(fds[0]);
	in_ = Fd(fds[1]);
	size = fcntl(fds[1], F_SETPIPE_SZ, wanted_size);
	size_ = size > 0 ? size : fcntl(fds[1], F_GETPIPE_SZ);
}

ssize_t Pipe::fill_from(int fd)
{
	ssize_t n = splice(fd, nullptr, in_.get(), nullptr, size_,
			   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n > 0)
		held_ += n;
	return n;
}

ssize_t Pipe::copy_from(int socket)
{
	char bytes[4096];  // what any empty pipe takes
	ssize_t n = recv(socket, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n > 0)
		n = write(in_.get(), bytes, n);
	if (n > 0)
		held_ += n;
	return n;
}

ssize_t Pipe::empty_to(int fd)
{
	ssize_t n = splice(out_.get(), nullptr, fd, nullptr, held_,
			   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n > 0)
		held_ -= n;
	return n;
}

Pipe Pipes::take()
{
	if (spare_.empty())
		return Pipe();

	Pipe pipe = std::move(spare_.back());

	spare_.pop_back();
	return pipe;
}

void Pipes::give_back(Pipe pipe)
{
	if (pipe && !pipe.held() && spare_.size() < max_spare)
		spare_.push_back(std::move(pipe));
}
