// SPDX-License-Identifier: GPL-2.0
// Would the firewall of this host let RoCE pass? nftables is read, nothing is sent.
#pragma once

#include <sys/socket.h>

#include <string>

#include "json.hh"

// A packet as rules see it.
struct Packet {
	bool in;	       // else out
	std::string protocol;  // "udp", "tcp"
	unsigned int port;     // of the destination
	std::string interface;
	sockaddr_storage source, destination;
};

enum class Verdict { PASSES, DROPPED, UNKNOWN };

struct Judgement {
	Verdict verdict = Verdict::PASSES;
	std::string where;  // the chain and the rule that dropped it, or that cannot be judged
};

// The rules, in the JSON form of libnftables(5).
class Firewall {
public:
	// Those of this network namespace. No program nft: there are no rules that it made.
	static Firewall of_host();
	explicit Firewall(const std::string &json);
	Judgement judge(const Packet &packet) const;

private:
	Json rules_;
};
