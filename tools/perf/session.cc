// SPDX-License-Identifier: GPL-2.0
#include "session.hh"

#include <unistd.h>

#include <cerrno>

#include "../common/args.hh"
#include "../common/endpoint.hh"
#include "../common/names.hh"

Kind kind_of(int fd)
{
	std::optional<rchar_info> info = session_info(fd);

	if (!info)
		return Kind::tcp;
	switch (info->type) {
	case RCHAR_TYPE_MESSAGE:
		return Kind::message;
	case RCHAR_TYPE_MEMORY:
		return Kind::memory;
	default:
		return Kind::stream;
	}
}

std::string kind_name(Kind kind)
{
	if (kind == Kind::tcp)
		return "tcp";
	return name_of(Code<rchar_channel_type>{static_cast<uint32_t>(kind)});
}

uint64_t region_size(int fd)
{
	std::optional<rchar_info> info = session_info(fd);

	return info ? info->size : 0;
}

void write_all(int fd, const void *data, size_t len)
{
	const char *p = static_cast<const char *>(data);

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			system_error("write");
		p += n;
		len -= n;
	}
}

bool read_all(int fd, void *data, size_t len)
{
	char *p = static_cast<char *>(data);
	size_t done = 0;

	while (done < len) {
		ssize_t n = read(fd, p + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			system_error("read");
		if (!n && !done)
			return false;
		if (!n)
			throw Failure(EXIT_USAGE, "the other side ended in the middle");
		done += n;
	}
	return true;
}

void finish_writing(int fd)
{
	if (!shut(fd, RCHAR_SHUT_WR))
		system_error("shutdown");
}
