// SPDX-License-Identifier: GPL-2.0
// RDMA devices of this host, as sysfs has them (Documentation/ABI/stable/sysfs-class-infiniband in
// the kernel). That has the GIDs, which RDMA netlink does not tell.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

struct Gid {
	unsigned int index;
	std::string type;  // "RoCE v2", "IB/RoCE v1"
	std::string interface;
	sockaddr_storage address;  // IPv4 is no longer mapped
};

struct RdmaPort {
	std::string device;
	unsigned int number;
	std::string state;	 // "ACTIVE"
	std::string link_layer;	 // "Ethernet", "InfiniBand"
	std::string rate;	 // "100 Gb/sec (4X EDR)"
	std::vector<Gid> gids;	 // those that are set
	bool is_active() const { return state == "ACTIVE"; }
	std::string text() const { return device + " port " + std::to_string(number); }
};

std::vector<RdmaPort> rdma_ports();
bool same_host(const sockaddr_storage &a, const sockaddr_storage &b);
