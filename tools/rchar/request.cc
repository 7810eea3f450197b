// SPDX-License-Identifier: GPL-2.0
#include "request.hh"

#include <linux/genetlink.h>
#include <netlink/attr.h>
#include <netlink/genl/genl.h>
#include <netinet/in.h>
#include <netlink/netlink.h>

#include <cstring>

#include "../common/args.hh"
#include "linux/rdma_char.h"

Request::Request(int cmd, int flags) : msg_(nlmsg_alloc_size(8192))
{
	// The family's number is filled in when it is sent.
	if (!msg_ || !genlmsg_put(msg_.get(), NL_AUTO_PORT, NL_AUTO_SEQ, GENL_ID_CTRL, 0, flags,
				  static_cast<uint8_t>(cmd), RCHAR_GENL_VERSION))
		throw Failure(EXIT_USAGE, "out of memory");
}

void Request::Free::operator()(nl_msg *msg) const
{
	nlmsghdr *hdr = nlmsg_hdr(msg);

	explicit_bzero(hdr, hdr->nlmsg_len);
	nlmsg_free(msg);
}

namespace {

void must(int ret)
{
	if (ret < 0)
		throw Failure(EXIT_USAGE, "that is too long for a request to the module");
}

}  // namespace

void Request::put_u32(int attr, uint32_t value) { must(nla_put_u32(msg_.get(), attr, value)); }

void Request::put_u64(int attr, uint64_t value) { must(nla_put_u64(msg_.get(), attr, value)); }

void Request::put_string(int attr, const std::string &value)
{
	must(nla_put_string(msg_.get(), attr, value.c_str()));
}

void Request::put_address(int attr, const sockaddr_storage &value)
{
	size_t len = value.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);

	must(nla_put(msg_.get(), attr, static_cast<int>(len), &value));
}

void Request::put_prefix(int attr, const rchar_prefix &value)
{
	must(nla_put(msg_.get(), attr, sizeof(value), &value));
}

void Request::put_secret(int attr, const Secret &value)
{
	must(nla_put(msg_.get(), attr, Secret::size, value.data()));
}
