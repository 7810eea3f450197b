// SPDX-License-Identifier: GPL-2.0
// Requests to the generic netlink family "rchar", on libnl.
#pragma once

#include <netlink/netlink.h>

#include <memory>
#include <string>
#include <vector>

#include "message.hh"
#include "request.hh"

// Whoever only looks asks this first: Netlink{} makes the kernel load the module.
bool module_is_loaded();

class Netlink {
public:
	Netlink();  // fails with EXIT_ABSENT when the kernel has no such family

	// Sends and waits for the answer. Fails with EXIT_KERNEL and the kernel's words.
	// what: the command in words, for the error text.
	std::vector<Message> call(const Request &request, const std::string &what);
	std::vector<Message> dump(int cmd);

	void subscribe();
	// Waits for events. timeout_ms < 0: for ever. Nothing: none came in time.
	std::vector<Message> wait_events(int timeout_ms);

private:
	struct Free {
		void operator()(nl_sock *sock) const { nl_socket_free(sock); }
	};
	std::unique_ptr<nl_sock, Free> sock_;
	int family_ = 0;

	int transact(const Request &request, std::vector<Message> *answer, std::string *words);
};
