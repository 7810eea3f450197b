// SPDX-License-Identifier: GPL-2.0
#include "endpoint.hh"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "args.hh"

namespace {

constexpr char tcp_prefix[] = "tcp:";
constexpr char local_prefix[] = "unix:";
constexpr int first_passed_fd = 3;  // sd_listen_fds(3)

bool has_prefix(const std::string &text, const char *prefix)
{
	return text.compare(0, strlen(prefix), prefix) == 0;
}

class AddrInfo {
public:
	AddrInfo(const std::string &host, const std::string &port, int flags)
	{
		addrinfo hints{};
		int ret;

		hints.ai_socktype = SOCK_STREAM;
		hints.ai_flags = flags;
		ret = getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints,
				  &list_);
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

int socket_flags(int flags) { return SOCK_CLOEXEC | (flags & O_NONBLOCK ? SOCK_NONBLOCK : 0); }

Fd new_socket(int family, int flags, const std::string &what)
{
	Fd fd(socket(family, SOCK_STREAM | socket_flags(flags), 0));

	if (!fd)
		system_error(what);
	return fd;
}

Fd connected(int flags, const sockaddr *addr, socklen_t len, const std::string &what)
{
	Fd fd = new_socket(addr->sa_family, flags, what);

	if (connect(fd.get(), addr, len) && errno != EINPROGRESS)
		system_error(what);
	return fd;
}

sockaddr_un local_address(const std::string &path)
{
	sockaddr_un addr{};

	addr.sun_family = AF_UNIX;
	path.copy(addr.sun_path, sizeof(addr.sun_path) - 1);
	return addr;
}

std::vector<Fd> passed_sockets()
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	std::vector<Fd> fds;

	if (!pid || !count || atol(pid) != getpid())
		usage_error("systemd: it passed no socket on (see systemd.socket(5))");
	for (int i = 0; i < atoi(count); i++) {
		int fd = first_passed_fd + i, listening = 0;
		socklen_t len = sizeof(listening);

		if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) || !listening)
			usage_error("systemd: descriptor " + std::to_string(fd) +
				    " is no listening socket (Accept=no is expected)");
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		fds.emplace_back(fd);
	}
	return fds;
}

}  // namespace

Endpoint::Endpoint(const std::string &text) : text_(text)
{
	size_t colon = text.rfind(':');

	if (text == "systemd") {
		kind_ = Kind::systemd;
	} else if (has_prefix(text, local_prefix)) {
		kind_ = Kind::local;
		path_ = text.substr(strlen(local_prefix));
		if (path_.empty() || path_.size() >= sizeof(sockaddr_un::sun_path))
			usage_error("'" + text + "': unix:PATH is expected, a path of 1 to " +
				    std::to_string(sizeof(sockaddr_un::sun_path) - 1) + " bytes");
	} else if (has_prefix(text, tcp_prefix)) {
		kind_ = Kind::tcp;
		if (colon < strlen(tcp_prefix) || colon + 1 == text.size())
			usage_error("'" + text + "': tcp:HOST:PORT is expected");
		host_ = text.substr(strlen(tcp_prefix), colon - strlen(tcp_prefix));
		port_ = text.substr(colon + 1);
		if (host_.size() > 2 && host_.front() == '[' && host_.back() == ']')
			host_ = host_.substr(1, host_.size() - 2);
	} else if (text.find('/') == std::string::npos) {
		usage_error("'" + text +
			    "': /dev/rchar/NAME, tcp:HOST:PORT or unix:PATH is expected");
	}
}

Endpoint::~Endpoint()
{
	if (bound_)
		unlink(path_.c_str());
}

// A shell's typo makes a regular file of the name, and tmpfs keeps what is written there.
Fd Endpoint::open_channel(int flags) const
{
	Fd fd(::open(text_.c_str(), O_RDWR | O_CLOEXEC | flags));
	struct stat st;

	if (!fd)
		system_error(text_);
	if (fstat(fd.get(), &st) || !S_ISCHR(st.st_mode))
		throw Failure(EXIT_USAGE, text_ + " is no channel: a file of that name is there");
	return fd;
}

Fd Endpoint::open(int flags) const
{
	switch (kind_) {
	case Kind::channel:
		return open_channel(flags);
	case Kind::tcp: {
		AddrInfo info(host_, port_, 0);
		Fd fd = connected(flags, info.first()->ai_addr, info.first()->ai_addrlen, text_);

		no_delay(fd.get());
		return fd;
	}
	case Kind::local: {
		sockaddr_un addr = local_address(path_);

		return connected(flags, reinterpret_cast<sockaddr *>(&addr), sizeof(addr), text_);
	}
	case Kind::systemd:
		break;
	}
	usage_error("systemd: nobody connects to it");
}

Fd Endpoint::await_session() const
{
	if (!is_channel())
		usage_error("'" + text_ + "': a channel is expected");

	Fd fd = open(O_NONBLOCK);
	std::optional<rchar_info> info = session_info(fd.get());

	if (!info)
		usage_error(text_ + " is no channel of rdma_char");
	if (info->type != RCHAR_TYPE_STREAM)
		usage_error(text_ + " is no stream channel");
	if (info->role != RCHAR_ROLE_LISTEN)
		usage_error(text_ + " connects: a channel that listens is expected");
	return fd;
}

void Endpoint::check_session(const Fd &waiting) const
{
	std::optional<rchar_info> info = session_info(waiting.get());

	if (!info || !info->session)
		throw Failure(EXIT_USAGE, text_ + ": " + error_of(waiting.get()));
}

void Endpoint::listen_tcp()
{
	AddrInfo info(host_, port_, AI_PASSIVE);
	int one = 1;
	Fd fd = new_socket(info.first()->ai_family, 0, text_);

	setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd.get(), info.first()->ai_addr, info.first()->ai_addrlen) ||
	    ::listen(fd.get(), SOMAXCONN))
		system_error(text_);
	listeners_.push_back(std::move(fd));
}

// A socket that nobody listens at is left over from a program that was killed.
void Endpoint::listen_local()
{
	sockaddr_un addr = local_address(path_);
	auto *name = reinterpret_cast<sockaddr *>(&addr);
	Fd fd = new_socket(AF_UNIX, 0, text_), probe = new_socket(AF_UNIX, O_NONBLOCK, text_);

	struct stat st;

	// A regular file refuses connections, too.
	if (!lstat(path_.c_str(), &st) && S_ISSOCK(st.st_mode) &&
	    connect(probe.get(), name, sizeof(addr)) && errno == ECONNREFUSED)
		unlink(path_.c_str());
	if (bind(fd.get(), name, sizeof(addr)))
		system_error(text_);
	bound_ = true;
	if (::listen(fd.get(), SOMAXCONN))
		system_error(text_);
	listeners_.push_back(std::move(fd));
}

const std::vector<Fd> &Endpoint::listen()
{
	if (!listeners_.empty())
		return listeners_;
	if (kind_ == Kind::tcp)
		listen_tcp();
	else if (kind_ == Kind::local)
		listen_local();
	else if (kind_ == Kind::systemd)
		listeners_ = passed_sockets();
	return listeners_;
}

Fd Endpoint::accept(int flags)
{
	if (is_channel())
		return open(flags);
	listen();
	for (const Fd &listener : listeners_) {
		Fd fd(accept4(listener.get(), nullptr, nullptr, socket_flags(flags)));

		if (fd) {
			if (kind_ != Kind::local)
				no_delay(fd.get());
			return fd;
		}
		if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
			system_error(text_);
	}
	return Fd();
}

std::optional<rchar_info> session_info(int fd)
{
	rchar_info info{};

	if (ioctl(fd, RCHAR_IOC_INFO, &info))
		return std::nullopt;
	return info;
}

std::string error_of(int fd)
{
	int error = 0;
	socklen_t len = sizeof(error);
	char byte;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) && read(fd, &byte, 1) < 0)
		error = errno;
	return error ? strerror(error) : "";
}

bool shut(int fd, int half)
{
	if (ioctl(fd, RCHAR_IOC_SHUTDOWN, half) == 0)
		return true;
	if (errno != ENOTTY && errno != EOPNOTSUPP)
		return false;
	return !shutdown(fd, half == RCHAR_SHUT_RD ? SHUT_RD : SHUT_WR);
}
