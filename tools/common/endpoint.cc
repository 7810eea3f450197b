// SPDX-License-Identifier: GPL-2.0
#include "endpoint.hh"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
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

std::vector<Endpoint::Address> resolve(const std::string &host, const std::string &port, int flags)
{
	addrinfo hints{}, *list = nullptr;
	std::vector<Endpoint::Address> addresses;
	int ret;

	hints.ai_socktype = SOCK_STREAM;
	hints.ai_flags = flags;
	ret = getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &list);
	if (ret)
		throw Failure(EXIT_USAGE, host + ":" + port + ": " + gai_strerror(ret));
	for (const addrinfo *info = list; info; info = info->ai_next) {
		Endpoint::Address address{};

		memcpy(&address.addr, info->ai_addr, info->ai_addrlen);
		address.len = info->ai_addrlen;
		addresses.push_back(address);
	}
	freeaddrinfo(list);
	return addresses;
}

// Urgent data stays where the sender put it: splice(2) stops there, and recv(2) goes on.
void prepare_tcp(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &one, sizeof(one));
	// Programs at the other end of a channel cannot find out that this peer is silent.
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
}

int socket_flags(int flags) { return SOCK_CLOEXEC | (flags & O_NONBLOCK ? SOCK_NONBLOCK : 0); }

Fd new_socket(int family, int flags, const std::string &what)
{
	Fd fd(socket(family, SOCK_STREAM | socket_flags(flags), 0));

	if (!fd)
		system_error(what);
	return fd;
}

Endpoint::Address local_address(const std::string &path)
{
	Endpoint::Address address{};
	auto *addr = reinterpret_cast<sockaddr_un *>(&address.addr);

	addr->sun_family = AF_UNIX;
	path.copy(addr->sun_path, sizeof(addr->sun_path) - 1);
	address.len = sizeof(*addr);
	return address;
}

// A TCP socket; empty, with errno, for an address that this host does not have.
Fd listening(const Endpoint::Address &address)
{
	Fd fd(socket(address.addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
	int one = 1;

	if (!fd)
		return fd;
	setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (address.addr.ss_family == AF_INET6)
		setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd.get(), reinterpret_cast<const sockaddr *>(&address.addr), address.len) ||
	    ::listen(fd.get(), SOMAXCONN))
		return Fd();
	return fd;
}

// accept(2): what comes of a connection that is gone before it is taken.
bool is_of_connection(int error)
{
	switch (error) {
	case EAGAIN:
	case ECONNABORTED:
	case EINTR:
	case EPERM:
	case ENETDOWN:
	case EPROTO:
	case ENOPROTOOPT:
	case EHOSTDOWN:
	case ENONET:
	case EHOSTUNREACH:
	case EOPNOTSUPP:
	case ENETUNREACH:
	case ETIMEDOUT:
		return true;
	}
	return false;
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

// A shell's typo makes a regular file of the name, and tmpfs keeps what is written there.
void must_be_device(const struct stat &st, const std::string &name)
{
	if (!S_ISCHR(st.st_mode))
		usage_error(name + " is no channel: a file of that name is there");
}

// The kernel's name for what a device node leads to; "" where sysfs does not say.
std::string subsystem_of(const struct stat &st)
{
	char path[64], target[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/subsystem", major(st.st_rdev),
		 minor(st.st_rdev));
	n = readlink(path, target, sizeof(target));
	if (n < 0)
		return "";

	std::string text(target, n);

	return text.substr(text.rfind('/') + 1);
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

void Endpoint::check()
{
	struct stat st;

	if (kind_ == Kind::systemd)
		usage_error("systemd: only FROM can be it");
	if (kind_ == Kind::tcp && addresses_.empty())
		addresses_ = resolve(host_, port_, 0);
	if (kind_ != Kind::channel)
		return;
	if (stat(text_.c_str(), &st))
		system_error(text_);
	must_be_device(st, text_);

	std::string subsystem = subsystem_of(st);

	if (!subsystem.empty() && subsystem != "rchar")
		usage_error(text_ + " is no channel of rdma_char");
}

Fd Endpoint::open_channel(int flags) const
{
	Fd fd(::open(text_.c_str(), O_RDWR | O_CLOEXEC | flags));
	struct stat st;

	if (!fd)
		system_error(text_);
	if (fstat(fd.get(), &st))
		system_error(text_);
	must_be_device(st, text_);
	return fd;
}

Fd Endpoint::open_address(const Address &address, int flags) const
{
	Fd fd = new_socket(address.addr.ss_family, flags, text_);

	if (address.addr.ss_family != AF_UNIX)
		prepare_tcp(fd.get());
	if (!connect(fd.get(), reinterpret_cast<const sockaddr *>(&address.addr), address.len) ||
	    errno == EINPROGRESS)
		return fd;
	if (errno == EAGAIN && address.addr.ss_family == AF_UNIX)
		return Fd();
	system_error(text_);
}

Fd Endpoint::open_first(const std::vector<Address> &addresses, int flags) const
{
	for (size_t i = 0; i + 1 < addresses.size(); i++) {
		try {
			return open_address(addresses[i], flags);
		} catch (const Failure &) {
			// the next one; the last one's error is told
		}
	}
	return open_address(addresses.back(), flags);
}

Fd Endpoint::open(int flags) const
{
	switch (kind_) {
	case Kind::channel:
		return open_channel(flags);
	case Kind::tcp:
		return open_first(addresses_.empty() ? resolve(host_, port_, 0) : addresses_,
				  flags);
	case Kind::local:
		return open_address(local_address(path_), flags);
	case Kind::systemd:
		break;
	}
	usage_error("systemd: nobody connects to it");
}

Fd Endpoint::open_way(size_t way) const
{
	return addresses_.empty() ? open(O_NONBLOCK) : open_address(addresses_[way], O_NONBLOCK);
}

Fd Endpoint::await_session() const
{
	if (!is_channel())
		usage_error("'" + text_ + "': a channel is expected");

	Fd fd = open(O_NONBLOCK);

	stream_session(fd.get(), RCHAR_ROLE_LISTEN, text_);
	return fd;
}

void Endpoint::check_session(const Fd &waiting) const
{
	std::optional<rchar_info> info = session_info(waiting.get());

	if (!info || !info->session)
		throw Failure(EXIT_USAGE, text_ + ": " + error_of(waiting.get()));
}

// Every address of HOST, or of the host: one socket each, so that none depends on another.
void Endpoint::listen_tcp()
{
	std::vector<Address> addresses = resolve(host_, port_, AI_PASSIVE);

	for (const Address &address : addresses) {
		Fd fd = listening(address);

		if (fd)
			listeners_.push_back(std::move(fd));
		else if (addresses.size() == 1 || (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL))
			system_error(text_);
	}
	if (listeners_.empty())
		usage_error(text_ + ": this host has none of its addresses");
}

// A socket that nobody listens at is left over from a program that was killed.
void Endpoint::listen_local()
{
	Address address = local_address(path_);
	auto *name = reinterpret_cast<sockaddr *>(&address.addr);
	Fd fd = new_socket(AF_UNIX, 0, text_), probe = new_socket(AF_UNIX, O_NONBLOCK, text_);

	struct stat st;

	// A regular file refuses connections, too.
	if (!lstat(path_.c_str(), &st) && S_ISSOCK(st.st_mode) &&
	    connect(probe.get(), name, address.len) && errno == ECONNREFUSED)
		unlink(path_.c_str());
	if (bind(fd.get(), name, address.len))
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
				prepare_tcp(fd.get());
			return fd;
		}
		if (!is_of_connection(errno))
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

rchar_info stream_session(int fd, unsigned int role, const std::string &name)
{
	std::optional<rchar_info> info = session_info(fd);

	if (!info)
		usage_error(name + " is no channel of rdma_char");
	if (info->type != RCHAR_TYPE_STREAM)
		usage_error(name + " is no stream channel");
	if (info->role != role)
		usage_error(name + (role == RCHAR_ROLE_LISTEN ?
					    " connects: a channel that listens is expected" :
					    " listens: a channel that connects is expected"));
	return *info;
}

std::string error_of(int fd)
{
	int error = 0;
	socklen_t len = sizeof(error);
	char byte;

	if (!getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len))
		return error ? strerror(error) : "";

	std::optional<rchar_info> info = session_info(fd);

	// Nothing more comes to a dead session, so this read() takes nothing.
	if (info && (info->state != RCHAR_SESSION_DEAD || info->rx_queued))
		return "";
	return read(fd, &byte, 1) < 0 ? strerror(errno) : "";
}

bool shut(int fd, int half)
{
	if (ioctl(fd, RCHAR_IOC_SHUTDOWN, half) == 0)
		return true;
	if (errno != ENOTTY && errno != EOPNOTSUPP)
		return false;
	return !shutdown(fd, half == RCHAR_SHUT_RD ? SHUT_RD : SHUT_WR);
}
