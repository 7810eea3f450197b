// SPDX-License-Identifier: GPL-2.0
#include "endpoint.hh"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "../common/args.hh"
#include "../common/names.hh"

namespace {

constexpr char tcp_prefix[] = "tcp:";

[[noreturn]] void fail(const std::string &what)
{
	throw Failure(EXIT_USAGE, what + ": " + strerror(errno));
}

class AddrInfo {
public:
	AddrInfo(const std::string &host, const std::string &port, int flags)
	{
		addrinfo hints{};
		int ret;

		hints.ai_socktype = SOCK_STREAM;
		hints.ai_flags = flags;
		ret = getaddrinfo(host.c_str(), port.c_str(), &hints, &list_);
		if (ret)
			throw Failure(EXIT_USAGE, host + ":" + port + ": " + gai_strerror(ret));
	}
	~AddrInfo() { freeaddrinfo(list_); }
	AddrInfo(const AddrInfo &) = delete;
	const addrinfo *first() const { return list_; }

private:
	addrinfo *list_ = nullptr;
};

void no_delay(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

// False for what is not a device of ours.
bool get_info(int fd, rchar_info *info)
{
	*info = {};
	return ioctl(fd, RCHAR_IOC_INFO, info) == 0;
}

}  // namespace

Fd &Fd::operator=(Fd &&other) noexcept
{
	if (this != &other) {
		if (fd_ >= 0)
			close(fd_);
		fd_ = other.release();
	}
	return *this;
}

Fd::~Fd()
{
	if (fd_ >= 0)
		close(fd_);
}

int Fd::release()
{
	int fd = fd_;

	fd_ = -1;
	return fd;
}

Endpoint::Endpoint(const std::string &text) : text_(text)
{
	size_t colon = text.rfind(':');

	if (text.compare(0, strlen(tcp_prefix), tcp_prefix) != 0)
		return;
	if (colon < strlen(tcp_prefix) + 1 || colon + 1 == text.size())
		usage_error("'" + text + "': tcp:HOST:PORT is expected");
	host_ = text.substr(strlen(tcp_prefix), colon - strlen(tcp_prefix));
	port_ = text.substr(colon + 1);
	if (host_.size() > 2 && host_.front() == '[' && host_.back() == ']')
		host_ = host_.substr(1, host_.size() - 2);
}

Endpoint::~Endpoint()
{
	if (listener_ >= 0)
		close(listener_);
}

Fd Endpoint::open() const
{
	if (!is_tcp()) {
		Fd fd(::open(text_.c_str(), O_RDWR | O_CLOEXEC));

		if (fd.get() < 0)
			fail(text_);
		return fd;
	}
	AddrInfo info(host_, port_, 0);
	Fd fd(socket(info.first()->ai_family, SOCK_STREAM, 0));

	if (fd.get() < 0 || connect(fd.get(), info.first()->ai_addr, info.first()->ai_addrlen))
		fail(text_);
	no_delay(fd.get());
	return fd;
}

void Endpoint::listen()
{
	AddrInfo info(host_, port_, AI_PASSIVE);
	int one = 1;

	listener_ = socket(info.first()->ai_family, SOCK_STREAM, 0);
	if (listener_ < 0)
		fail(text_);
	setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener_, info.first()->ai_addr, info.first()->ai_addrlen) ||
	    ::listen(listener_, SOMAXCONN))
		fail(text_);
}

Fd Endpoint::accept()
{
	if (!is_tcp())
		return open();
	if (listener_ < 0)
		listen();
	Fd fd(::accept(listener_, nullptr, nullptr));

	if (fd.get() < 0)
		fail(text_);
	no_delay(fd.get());
	return fd;
}

Kind kind_of(int fd)
{
	rchar_info info;

	if (!get_info(fd, &info))
		return Kind::tcp;
	switch (info.type) {
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
	rchar_info info;

	return get_info(fd, &info) ? info.size : 0;
}

void write_all(int fd, const void *data, size_t len)
{
	const char *p = static_cast<const char *>(data);

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			fail("write");
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
			fail("read");
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
	if (ioctl(fd, RCHAR_IOC_SHUTDOWN, RCHAR_SHUT_WR) && shutdown(fd, SHUT_WR))
		fail("shutdown");
}
