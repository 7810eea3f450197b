// SPDX-License-Identifier: GPL-2.0
// One request to the module being put together. Needs no kernel: words of a command line are
// checked before it is asked.
#pragma once

#include <netlink/msg.h>
#include <sys/socket.h>

#include <memory>
#include <string>

#include "keyfile.hh"

class Request {
public:
	explicit Request(int cmd, int flags = 0);
	void put_u32(int attr, uint32_t value);
	void put_u64(int attr, uint64_t value);
	void put_string(int attr, const std::string &value);
	void put_address(int attr, const sockaddr_storage &value);
	void put_prefix(int attr, const rchar_prefix &value);
	void put_secret(int attr, const Secret &value);	 // wiped with the request
	nl_msg *get() const { return msg_.get(); }

private:
	struct Free {
		void operator()(nl_msg *msg) const;
	};
	std::unique_ptr<nl_msg, Free> msg_;
};
