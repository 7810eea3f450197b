// SPDX-License-Identifier: GPL-2.0
#include "netlink.hh"

#include <linux/netlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "../common/args.hh"
#include "linux/rdma_char.h"

namespace {

constexpr int DUMP_TRIES = 10;

struct Transaction {
	std::vector<Message> *answer;
	int error = 0;	// positive errno from the kernel
	bool done = false;
	bool interrupted = false;
	std::string words{};
	bool gone = false;  // the family
};

// What the generic netlink controller tells all who have subscribed.
void take_control(const genlmsghdr *genl, Transaction *t)
{
	nlattr *name = nla_find(genlmsg_attrdata(genl, 0), genlmsg_attrlen(genl, 0),
				CTRL_ATTR_FAMILY_NAME);

	if (genl->cmd == CTRL_CMD_DELFAMILY && name && !nla_strcmp(name, RCHAR_GENL_NAME))
		t->gone = true;
}

int on_valid(nl_msg *msg, void *arg)
{
	auto *t = static_cast<Transaction *>(arg);
	nlmsghdr *hdr = nlmsg_hdr(msg);
	auto *genl = static_cast<genlmsghdr *>(nlmsg_data(hdr));
	auto *attrs = reinterpret_cast<char *>(genlmsg_attrdata(genl, 0));
	auto len = static_cast<size_t>(genlmsg_attrlen(genl, 0));

	if (hdr->nlmsg_type == GENL_ID_CTRL) {
		take_control(genl, t);
		return NL_OK;
	}
	if (hdr->nlmsg_flags & NLM_F_DUMP_INTR)
		t->interrupted = true;
	t->answer->push_back({genl->cmd, std::string(attrs, len)});
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
	nl_cb_set(
		cb.get(), NL_CB_SEQ_CHECK, NL_CB_CUSTOM,
		[](nl_msg *, void *) -> int { return NL_OK; }, nullptr);
	nl_cb_err(cb.get(), NL_CB_CUSTOM, on_error, t);
	return cb;
}

Exit exit_of(int error)
{
	switch (error) {
	case EEXIST:
		return EXIT_EXISTS;
	case ENODEV:
	case ENOENT:
		return EXIT_NONE;
	default:
		return EXIT_KERNEL;
	}
}

Failure unloaded() { return {EXIT_ABSENT, "the kernel module rdma_char was unloaded"}; }

std::string words_of(int error)
{
	if (error == EPERM)
		return "not permitted: that needs CAP_NET_ADMIN of the initial user namespace";
	return strerror(error);
}

}  // namespace

bool module_is_loaded() { return !access("/sys/module/rdma_char", F_OK); }

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
					   "'modprobe rdma_char' or, from the source, "
					   "'insmod rdma_char.ko'");
}

int Netlink::transact(const Request &request, std::vector<Message> *answer, std::string *words)
{
	Transaction t{answer};
	auto cb = make_callbacks(&t);

	nlmsg_hdr(request.get())->nlmsg_type = static_cast<uint16_t>(family_);
	int ret = nl_send_auto(sock_.get(), request.get());

	while (ret >= 0 && !t.done)
		ret = nl_recvmsgs(sock_.get(), cb.get());
	if (t.interrupted || ret == -NLE_DUMP_INTR)
		return EINTR;
	if (ret < 0 && !t.error)
		throw Failure(EXIT_USAGE, std::string("netlink: ") + nl_geterror(ret));
	if (t.error == ENOENT &&
	    (!module_is_loaded() || genl_ctrl_resolve(sock_.get(), RCHAR_GENL_NAME) != family_))
		throw unloaded();
	*words = t.words.empty() ? words_of(t.error) : t.words;
	return t.error;
}

std::vector<Message> Netlink::call(const Request &request, const std::string &what)
{
	std::vector<Message> answer;
	std::string words;
	int error = transact(request, &answer, &words);

	if (error)
		throw Failure(exit_of(error), what + ": " + words);
	return answer;
}

std::vector<Message> Netlink::dump(int cmd)
{
	std::vector<Message> answer;
	std::string words;
	int error = 0;

	// A list that changed while it was read is read again; under constant change the
	// last reading has to do.
	for (int i = 0; i < DUMP_TRIES; i++) {
		answer.clear();
		error = transact(Request(cmd, NLM_F_DUMP), &answer, &words);
		if (error != EINTR)
			break;
	}
	if (error && error != EINTR)
		throw Failure(EXIT_KERNEL, words);
	return answer;
}

void Netlink::subscribe()
{
	int group = genl_ctrl_resolve_grp(sock_.get(), RCHAR_GENL_NAME, RCHAR_MCGRP_MONITOR);
	int control = genl_ctrl_resolve_grp(sock_.get(), "nlctrl", "notify");

	if (group < 0 || nl_socket_add_memberships(sock_.get(), group, control, 0))
		throw Failure(EXIT_USAGE, "cannot subscribe to events");
	nl_socket_set_buffer_size(sock_.get(), 1 << 20, 0);
	nl_socket_disable_seq_check(sock_.get());
}

std::vector<Message> Netlink::wait_events(int timeout_ms)
{
	pollfd p = {nl_socket_get_fd(sock_.get()), POLLIN, 0};
	std::vector<Message> events;
	Transaction t{&events};

	if (poll(&p, 1, timeout_ms) <= 0)
		return events;
	auto cb = make_callbacks(&t);
	int ret = nl_recvmsgs(sock_.get(), cb.get());
	if (ret == -NLE_NOMEM)
		fprintf(stderr, "rchar: events came faster than they were read; some are lost\n");
	else if (ret < 0)
		throw Failure(EXIT_USAGE, std::string("netlink: ") + nl_geterror(ret));
	if (t.gone)
		throw unloaded();
	return events;
}
