// SPDX-License-Identifier: GPL-2.0
// Requests to the generic netlink family "rchar", on libnl.
#pragma once

#include <netlink/attr.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include <functional>
#include <memory>
#include <string>

#include "../common/args.hh"
#include "parse.hh"

// One request being put together. Needs no kernel: words are checked before it is asked.
class Request {
public:
	explicit Request(int cmd, int flags = 0);
	void put_u32(int attr, uint32_t value);
	void put_u64(int attr, uint64_t value);
	void put_string(int attr, const std::string &value);
	void put_address(int attr, const Address &value);
	nl_msg *get() const { return msg_.get(); }

private:
	struct Free {
		void operator()(nl_msg *msg) const { nlmsg_free(msg); }
	};
	std::unique_ptr<nl_msg, Free> msg_;
};

// Called for each message of an answer, with its command and its attributes.
using OnMessage = std::function<void(int cmd, nlattr *attrs, int len)>;

class Netlink {
public:
	Netlink();  // fails with EXIT_ABSENT when the kernel has no such family

	// Sends and waits for the answer. Fails with EXIT_KERNEL and the kernel's words.
	// what: the command in words, for the error text.
	void call(const Request &request, const std::string &what, const OnMessage &on = {});
	void dump(int cmd, const OnMessage &on);

	void subscribe();
	// Waits for events. timeout_ms < 0: for ever. False: nothing came in time.
	bool wait_event(int timeout_ms, const OnMessage &on);

private:
	struct Free {
		void operator()(nl_sock *sock) const { nl_socket_free(sock); }
	};
	std::unique_ptr<nl_sock, Free> sock_;
	int family_ = 0;

	int transact(const Request &request, const OnMessage &on, std::string *words);
};
