// SPDX-License-Identifier: GPL-2.0
#include "devices.hh"

#include <arpa/inet.h>
#include <linux/mount.h>
#include <netinet/in.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "../common/args.hh"
#include "../common/fd.hh"
#include "../common/line.hh"

namespace fs = std::filesystem;

namespace {

bool sysfs_is_of_another_netns = false;

// sysfs shows the interfaces and RDMA devices of the network namespace in which it was mounted.
// A mount that is in no folder changes nothing for others. The calls are in no C library before
// glibc 2.36.
Fd mount_sysfs()
{
	Fd context(static_cast<int>(syscall(SYS_fsopen, "sysfs", FSOPEN_CLOEXEC)));
	Fd mount;

	if (context &&
	    !syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0))
		mount = Fd(static_cast<int>(
			syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY)));
	if (!mount)
		system_error("sysfs of that network namespace");
	return mount;
}

const fs::path &sysfs()
{
	static const Fd mount = sysfs_is_of_another_netns ? mount_sysfs() : Fd();
	static const fs::path path = mount ? "/proc/self/fd/" + std::to_string(mount.get()) :
					     "/sys";

	return path;
}

fs::path class_folder() { return sysfs() / "class/infiniband"; }

std::vector<std::string> names_in(const fs::path &folder)
{
	std::vector<std::string> names;
	std::error_code error;

	for (const fs::directory_entry &entry : fs::directory_iterator(folder, error))
		names.push_back(entry.path().filename());
	std::sort(names.begin(), names.end());
	return names;
}

// "4: ACTIVE"
std::string behind_colon(const std::string &text)
{
	size_t colon = text.find(": ");

	return colon == std::string::npos ? text : text.substr(colon + 2);
}

sockaddr_storage address_of(const in6_addr &gid)
{
	sockaddr_storage address{};

	if (IN6_IS_ADDR_V4MAPPED(&gid)) {
		auto *in = reinterpret_cast<sockaddr_in *>(&address);

		in->sin_family = AF_INET;
		memcpy(&in->sin_addr, &gid.s6_addr[12], sizeof(in->sin_addr));
	} else {
		auto *in6 = reinterpret_cast<sockaddr_in6 *>(&address);

		in6->sin6_family = AF_INET6;
		in6->sin6_addr = gid;
	}
	return address;
}

std::vector<Gid> gids_of(const fs::path &port)
{
	std::vector<Gid> gids;

	for (const std::string &index : names_in(port / "gids")) {
		in6_addr gid{};

		if (inet_pton(AF_INET6, first_line(port / "gids" / index).c_str(), &gid) != 1 ||
		    IN6_IS_ADDR_UNSPECIFIED(&gid))
			continue;
		gids.push_back({static_cast<unsigned int>(std::stoul(index)),
				first_line(port / "gid_attrs/types" / index),
				first_line(port / "gid_attrs/ndevs" / index), address_of(gid)});
	}
	std::sort(gids.begin(), gids.end(),
		  [](const Gid &a, const Gid &b) { return a.index < b.index; });
	return gids;
}

}  // namespace

void devices_of_another_netns() { sysfs_is_of_another_netns = true; }

std::vector<RdmaPort> rdma_ports()
{
	std::vector<RdmaPort> ports;

	for (const std::string &device : names_in(class_folder())) {
		fs::path folder = class_folder() / device;
		bool iwarp = behind_colon(first_line(folder / "node_type")) == "RNIC";

		for (const std::string &number : names_in(folder / "ports")) {
			fs::path port = folder / "ports" / number;

			ports.push_back({device, static_cast<unsigned int>(std::stoul(number)),
					 behind_colon(first_line(port / "state")),
					 first_line(port / "link_layer"), first_line(port / "rate"),
					 iwarp, gids_of(port)});
		}
	}
	return ports;
}

bool same_host(const sockaddr_storage &a, const sockaddr_storage &b)
{
	if (a.ss_family != b.ss_family)
		return false;
	if (a.ss_family == AF_INET)
		return reinterpret_cast<const sockaddr_in *>(&a)->sin_addr.s_addr ==
		       reinterpret_cast<const sockaddr_in *>(&b)->sin_addr.s_addr;
	return !memcmp(&reinterpret_cast<const sockaddr_in6 *>(&a)->sin6_addr,
		       &reinterpret_cast<const sockaddr_in6 *>(&b)->sin6_addr, sizeof(in6_addr));
}

Place place_of(const std::vector<RdmaPort> &ports, const sockaddr_storage &address)
{
	for (const RdmaPort &port : ports) {
		const Gid *found = nullptr;

		for (const Gid &gid : port.gids)
			if (same_host(gid.address, address) && (!found || gid.type == "RoCE v2"))
				found = &gid;
		if (found)
			return {&port, found};
	}
	return {};
}

// Only soft-RoCE has the attribute 'parent': the interface below.
bool RdmaPort::is_soft_roce() const { return fs::exists(class_folder() / device / "parent"); }

int mtu_of(const std::string &interface)
{
	return atoi(first_line(sysfs() / "class/net" / interface / "mtu").c_str());
}

int roce_mtu(int mtu)
{
	// GRH, UDP, BTH, the largest extended headers, ICRC: include/rdma/ib_addr.h.
	int payload = mtu - (40 + 8 + 12 + 4 + 28 + 4);

	for (int size = 4096; size > 256; size /= 2)
		if (payload >= size)
			return size;
	return 256;
}
