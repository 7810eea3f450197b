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
	bool iwarp;		 // its GIDs are no addresses
	std::vector<Gid> gids;	 // those that are set
	bool is_active() const { return state == "ACTIVE"; }
	bool is_soft_roce() const;
	std::string text() const { return device + " port " + std::to_string(number); }
};

// After setns(2), before the other functions: from then on, what that namespace has.
void devices_of_another_netns();
std::vector<RdmaPort> rdma_ports();
bool same_host(const sockaddr_storage &a, const sockaddr_storage &b);

// Where an address of this host is: the port, and the GID that the connection manager uses for it,
// of RoCE v2 if there is one. Nothing: no RDMA device has it.
struct Place {
	const RdmaPort *port = nullptr;
	const Gid *gid = nullptr;
	explicit operator bool() const { return gid; }
};

Place place_of(const std::vector<RdmaPort> &ports, const sockaddr_storage &address);
int mtu_of(const std::string &interface);  // 0: unknown
// The largest packet of RoCE with that MTU of Ethernet, as iboe_get_mtu() in the kernel has it.
int roce_mtu(int mtu);
