// SPDX-License-Identifier: GPL-2.0
#include "netlink.hh"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <netlink/genl/ctrl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "linux/rdma_char.h"

namespace {

constexpr int DUMP_TRIES = 10;

struct Transaction {
	const OnMessage *on;
	int error = 0;  // positive errno from the kernel
	bool done = false;
	bool interrupted = false;
	std::string words;
};

int on_valid(nl_msg *msg, void *arg)
{
	auto *t = static_cast<Transaction *>(arg);
	nlmsghdr *hdr = nlmsg_hdr(msg);
	auto *genl = static_cast<genlmsghdr *>(nlmsg_data(hdr));

	if (hdr->nlmsg_flags & NLM_F_DUMP_INTR)
		t->interrupted = true;
	if (*t->on)
		(*t->on)(genl->cmd, genlmsg_attrdata(genl, 0), genlmsg_attrlen(genl, 0));
	return NL_OK;
}

int on_finish(nl_msg *, void *arg)
{
	static_cast<Transaction *>(arg)->done = true;
	return NL_STOP;
}

// libnl does not know extended acks: their attributes follow the request that is
// quoted, or, when that is cut off, its header.
int on_error(sockaddr_nl *, nlmsgerr *err, void *arg)
{
	auto *t = static_cast<Transaction *>(arg);
	auto *hdr = reinterpret_cast<nlmsghdr *>(reinterpret_cast<char *>(err) - NLMSG_HDRLEN);
	size_t skip = sizeof(*err);

	t->error = -err->error;
	t->done = true;
	if (!(hdr->nlmsg_flags & NLM_F_ACK_TLVS))
		return NL_STOP;
	if (!(hdr->nlmsg_flags & NLM_F_CAPPED))
		skip += err->msg.nlmsg_len - NLMSG_HDRLEN;
	size_t len = hdr->nlmsg_len - NLMSG_HDRLEN;
	if (skip >= len)
		return NL_STOP;
	auto *attrs = reinterpret_cast<nlattr *>(reinterpret_cast<char *>(err) + skip);
	nlattr *words = nla_find(attrs, static_cast<int>(len - skip), NLMSGERR_ATTR_MSG);
	if (words)
		t->words = nla_get_string(words);
	return NL_STOP;
}

struct FreeCb {
	void operator()(nl_cb *cb) const { nl_cb_put(cb); }
};

std::unique_ptr<nl_cb, FreeCb> make_callbacks(Transaction *t)
{
	std::unique_ptr<nl_cb, FreeCb> cb(nl_cb_alloc(NL_CB_DEFAULT));

	if (!cb)
		throw Failure(EXIT_USAGE, "out of memory");
	nl_cb_set(cb.get(), NL_CB_VALID, NL_CB_CUSTOM, on_valid, t);
	nl_cb_set(cb.get(), NL_CB_FINISH, NL_CB_CUSTOM, on_finish, t);
	nl_cb_set(cb.get(), NL_CB_ACK, NL_CB_CUSTOM, on_finish, t);
	nl_cb_set(cb.get(), NL_CB_SEQ_CHECK, NL_CB_CUSTOM,
		  [](nl_msg *, void *) -> int { return NL_OK; }, nullptr);
	nl_cb_err(cb.get(), NL_CB_CUSTOM, on_error, t);
	return cb;
}

}  // namespace

Request::Request(int cmd, int flags) : msg_(nlmsg_alloc_size(8192))
{
	// The family's number is filled in when it is sent.
	if (!msg_ || !genlmsg_put(msg_.get(), NL_AUTO_PORT, NL_AUTO_SEQ, GENL_ID_CTRL, 0, flags,
				  static_cast<uint8_t>(cmd), RCHAR_GENL_VERSION))
		throw Failure(EXIT_USAGE, "out of memory");
}

void Request::put_u32(int attr, uint32_t value) { nla_put_u32(msg_.get(), attr, value); }

void Request::put_u64(int attr, uint64_t value) { nla_put_u64(msg_.get(), attr, value); }

void Request::put_string(int attr, const std::string &value)
{
	nla_put_string(msg_.get(), attr, value.c_str());
}

void Request::put_address(int attr, const Address &value)
{
	nla_put(msg_.get(), attr, static_cast<int>(value.len), &value.addr);
}

Netlink::Netlink() : sock_(nl_socket_alloc())
{
	int one = 1, ret;

	if (!sock_)
		throw Failure(EXIT_USAGE, "out of memory");
	ret = genl_connect(sock_.get());
	if (ret)
		throw Failure(EXIT_USAGE, std::string("netlink: ") + nl_geterror(ret));
	setsockopt(nl_socket_get_fd(sock_.get()), SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one));
	// Asking for the family makes the kernel load the module, where it is installed.
	family_ = genl_ctrl_resolve(sock_.get(), RCHAR_GENL_NAME);
	if (family_ < 0)
		throw Failure(EXIT_ABSENT, "the kernel module rdma_char is not loaded; try "
					   "'modprobe rdma_char' or, from the source, 'insmod rdma_char.ko'");
}

int Netlink::transact(const Request &request, const OnMessage &on, std::string *words)
{
	Transaction t{&on, 0, false, false, {}};
	auto cb = make_callbacks(&t);

	nlmsg_hdr(request.get())->nlmsg_type = static_cast<uint16_t>(family_);
	int ret = nl_send_auto(sock_.get(), request.get());

	while (ret >= 0 && !t.done)
		ret = nl_recvmsgs(sock_.get(), cb.get());
	if (t.interrupted || ret == -NLE_DUMP_INTR)
		return EINTR;
	if (ret < 0 && !t.error)
		throw Failure(EXIT_USAGE, std::string("netlink: ") + nl_geterror(ret));
	*words = t.words.empty() ? strerror(t.error) : t.words;
	return t.error;
}

void Netlink::call(const Request &request, const std::string &what, const OnMessage &on)
{
	std::string words;
	int error = transact(request, on, &words);

	if (error)
		throw Failure(EXIT_KERNEL, what + ": " + words);
}

void Netlink::dump(int cmd, const OnMessage &on)
{
	struct Kept {
		int cmd;
		std::string attrs;
	};
	std::vector<Kept> kept;
	OnMessage keep = [&](int c, nlattr *attrs, int len) {
		kept.push_back({c, std::string(reinterpret_cast<char *>(attrs), static_cast<size_t>(len))});
	};
	std::string words;
	int error = 0;

	// A list that changed while it was read is read again; under constant change the
	// last reading has to do.
	for (int i = 0; i < DUMP_TRIES; i++) {
		kept.clear();
		error = transact(Request(cmd, NLM_F_DUMP), keep, &words);
		if (error != EINTR)
			break;
	}
	if (error && error != EINTR)
		throw Failure(EXIT_KERNEL, words);
	for (Kept &k : kept)
		on(k.cmd, reinterpret_cast<nlattr *>(k.attrs.data()), static_cast<int>(k.attrs.size()));
}

void Netlink::subscribe()
{
	int group = genl_ctrl_resolve_grp(sock_.get(), RCHAR_GENL_NAME, RCHAR_MCGRP_MONITOR);

	if (group < 0 || nl_socket_add_membership(sock_.get(), group))
		throw Failure(EXIT_USAGE, "cannot subscribe to events");
	nl_socket_set_buffer_size(sock_.get(), 1 << 20, 0);
	nl_socket_disable_seq_check(sock_.get());
}

bool Netlink::wait_event(int timeout_ms, const OnMessage &on)
{
	pollfd p = {nl_socket_get_fd(sock_.get()), POLLIN, 0};
	Transaction t{&on, 0, false, false, {}};

	if (poll(&p, 1, timeout_ms) <= 0)
		return false;
	auto cb = make_callbacks(&t);
	int ret = nl_recvmsgs(sock_.get(), cb.get());
	if (ret == -NLE_NOMEM)
		fprintf(stderr, "rchar: events came faster than they were read; some are lost\n");
	else if (ret < 0)
		throw Failure(EXIT_USAGE, std::string("netlink: ") + nl_geterror(ret));
	return true;
}
