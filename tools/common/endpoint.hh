// SPDX-License-Identifier: GPL-2.0
// Where bytes go: a channel of rdma_char, or a socket.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>
#include <vector>

#include "fd.hh"
#include "linux/rdma_char.h"

// "/dev/rchar/NAME", "tcp:HOST:PORT", "unix:PATH", or "systemd": the sockets that it passes on.
// All throw Failure.
class Endpoint {
public:
	enum class Kind { channel, tcp, local, systemd };
	struct Address {
		sockaddr_storage addr;
		socklen_t len;
	};

	explicit Endpoint(const std::string &text);
	~Endpoint();
	Endpoint(const Endpoint &) = delete;
	const std::string &text() const { return text_; }
	Kind kind() const { return kind_; }
	bool is_channel() const { return kind_ == Kind::channel; }

	// To connect: says now what the first open() would say, and resolves HOST once for all.
	void check();

	// Each takes O_NONBLOCK or 0. With O_NONBLOCK what comes turns writable, or reports an error.
	Fd open(int flags = 0) const;  // a new connection or session, from the side that calls
	Fd accept(int flags = 0);      // the next one that somebody opened

	// For O_NONBLOCK: how many addresses there are, and open() for one of them. Empty: the
	// backlog of a Unix socket is full, so try again.
	size_t ways() const { return addresses_.empty() ? 1 : addresses_.size(); }
	Fd open_way(size_t way) const;

	// A listening stream channel: a file that turns writable when a session has come, or reports
	// an error. Fails, in words, for any other endpoint.
	Fd await_session() const;
	// That file is ready. Fails when no session has come: the channel was deleted. A session that
	// has ended since is one, too: it may have bytes, and tells its error to who reads them.
	void check_session(const Fd &waiting) const;

	// Sockets only: begin to listen. The descriptors to poll.
	const std::vector<Fd> &listen();

private:
	std::string text_, host_, port_, path_;
	Kind kind_ = Kind::channel;
	std::vector<Address> addresses_;  // of HOST, once resolved
	std::vector<Fd> listeners_;
	bool bound_ = false;  // path_ is ours to remove
	void listen_tcp();
	void listen_local();
	Fd open_channel(int flags) const;
	Fd open_address(const Address &address, int flags) const;
	Fd open_first(const std::vector<Address> &addresses, int flags) const;
};

// The session of a file, or nothing for what is no channel.
std::optional<rchar_info> session_info(int fd);

// The session of a stream channel in that role (RCHAR_ROLE_*), or a failure in words.
rchar_info stream_session(int fd, unsigned int role, const std::string &name);

// Why a descriptor that polls as broken is so; "" when it is not. Reads nothing of a session.
std::string error_of(int fd);

// Half-close of a session or a socket; RCHAR_SHUT_*. False: errno says why not.
bool shut(int fd, int half);
