// SPDX-License-Identifier: GPL-2.0
#include "check.hh"

#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "../common/address.hh"
#include "../common/endpoint.hh"
#include "absent.hh"
#include "devices.hh"
#include "firewall.hh"
#include "format.hh"
#include "interrupt.hh"
#include "module.hh"
#include "parse.hh"
#include "print.hh"

namespace {

constexpr int default_wait_s = 5;
constexpr unsigned int roce_port = 4791;  // IANA: roce

using Clock = std::chrono::steady_clock;

std::string ms_since(Clock::time_point begun)
{
	auto us = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begun);
	char text[32];

	snprintf(text, sizeof(text), "%.1f ms", static_cast<double>(us.count()) / 1000);
	return text;
}

// What was found, printed as it is found: later steps may take seconds.
class Report {
public:
	explicit Report(const Options &options) : options_(options) {}
	void good(const char *step, const std::string &text) { add(step, true, text, ""); }
	// advice: what to do, a command where there is one
	void bad(const char *step, const std::string &text, const std::string &advice)
	{
		add(step, false, text, advice);
	}
	bool finish() const
	{
		if (options_.json)
			print_json(steps_, options_);
		return good_;
	}

private:
	void add(const char *step, bool ok, const std::string &text, const std::string &advice);
	const Options &options_;
	Json steps_ = Json::array();
	bool good_ = true;
};

void Report::add(const char *step, bool ok, const std::string &text, const std::string &advice)
{
	good_ = good_ && ok;
	if (options_.json) {
		steps_.push_back({{"step", step}, {"ok", ok}, {"text", text}});
		if (!advice.empty())
			steps_.back()["advice"] = advice;
		return;
	}
	printf("%s %-10s %s\n", ok ? "ok    " : "not ok", step, text.c_str());
	if (!advice.empty())
		printf("%17s  -> %s\n", "", advice.c_str());
	fflush(stdout);
}

// ---- this host ----

bool check_module(Report *report)
{
	try {
		Netlink nl;

		for (const Message &m : nl.call(Request(RCHAR_CMD_INFO_GET), "version")) {
			Info info = decode<Info>(m);

			report->good("module", "rdma_char " + info.version.value_or("") +
						       (info.version == RCHAR_VERSION ?
								"" :
								", but rchar is " RCHAR_VERSION));
		}
		return true;
	} catch (const Failure &f) {
		if (f.code != EXIT_ABSENT)
			throw;
	}
	Absence absence = why_absent();

	report->bad("module", absence.why, absence.advice);
	return false;
}

std::string port_text(const RdmaPort &port)
{
	return port.text() + ": " + port.state + ", " + port.link_layer + ", " + port.rate;
}

std::vector<RdmaPort> check_devices(Report *report)
{
	std::vector<RdmaPort> ports = rdma_ports();
	bool some = std::any_of(ports.begin(), ports.end(),
				[](const RdmaPort &p) { return p.is_active(); });

	if (ports.empty())
		report->bad("device", "this host has no RDMA device",
			    "load the adapter's driver; or soft-RoCE: 'rdma link add rxe0 type rxe "
			    "netdev INTERFACE'");
	for (const RdmaPort &port : ports) {
		if (port.is_active() || some)
			report->good("device", port_text(port));
		else
			report->bad("device", port_text(port),
				    port.link_layer == "Ethernet" ?
					    "'ip link set INTERFACE up', and the cable" :
					    "the cable, and the subnet manager");
	}
	return ports;
}

// When that was: logs have clock times.
std::string clock_text(const std::optional<uint64_t> &age_ms)
{
	char text[32];
	tm local{};

	if (!age_ms)
		return "";
	time_t at = time(nullptr) - static_cast<time_t>(*age_ms / 1000);

	localtime_r(&at, &local);
	strftime(text, sizeof(text), " (%F %T)", &local);
	return ", " + age_text(*age_ms) + " ago" + text;
}

void check_channels(Report *report)
{
	Netlink nl;

	for (const Channel &c : dump_channels(nl)) {
		std::string text = c.name.value_or("") + ": " + word_of(c.state);

		if (is_working(c))
			report->good("channel", text);
		else
			report->bad("channel",
				    text + (c.reason ? ", " + reason_text(*c.reason) : "") +
					    clock_text(c.reason_age_ms),
				    "rchar show " + c.name.value_or(""));
		if (c.node && *c.node != "device")
			report->bad("channel",
				    "/dev/rchar/" + c.name.value_or("") +
					    (*c.node == "absent" ? " is not there" :
								   " is an ordinary file"),
				    *c.node == "absent" ? "udevadm trigger" :
							  "remove it: a shell's > made it");
	}
}

// ---- the way to a peer ----

// RoCE does not fragment: what is larger than the path takes is lost.
void check_mtu(Report *report, int socket, const sockaddr_storage &peer,
	       const std::string &interface)
{
	bool v6 = peer.ss_family == AF_INET6;
	int path = 0, own = mtu_of(interface);
	socklen_t len = sizeof(path);

	if (!own ||
	    getsockopt(socket, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MTU : IP_MTU, &path, &len))
		return;
	std::string text = "MTU " + std::to_string(own) + " of " + interface;

	if (path < own)
		report->bad("mtu",
			    text + ", but the path to " + host_text(peer) + " takes " +
				    std::to_string(path),
			    "the same MTU on both hosts, and on every switch between: 'ip link', "
			    "'ip route'");
	else
		report->good("mtu", text + ": packets of " + std::to_string(roce_mtu(own)) +
					    " bytes on RoCE");
}

// The kernel's choice of a source: nothing is sent. A socket that is connected to the peer, or none.
Fd check_route(Report *report, sockaddr_storage peer, const sockaddr_storage &from,
	       sockaddr_storage *local)
{
	Fd fd(socket(peer.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	socklen_t len = sizeof(*local);

	if (fd && from.ss_family &&
	    bind(fd.get(), reinterpret_cast<const sockaddr *>(&from), sizeof(from))) {
		report->bad("route", "from " + host_text(from) + ": " + strerror(errno),
			    "'from' is an address of this host: 'ip address'");
		return {};
	}
	*port_of(&peer) = htons(RCHAR_PORT);
	if (!fd || connect(fd.get(), reinterpret_cast<sockaddr *>(&peer), sizeof(peer)) ||
	    getsockname(fd.get(), reinterpret_cast<sockaddr *>(local), &len)) {
		report->bad("route", "to " + host_text(peer) + ": " + strerror(errno),
			    "ip route get " + host_text(peer));
		return {};
	}
	*port_of(local) = 0;
	report->good("route", "to " + host_text(peer) + " from " + host_text(*local));
	return fd;
}

void check_address(Report *report, const std::vector<RdmaPort> &ports, const Place &place,
		   const sockaddr_storage &local)
{
	if (place) {
		report->good("address", host_text(local) + " is that of " + place.port->text() +
						" (" + place.gid->interface + "), GID " +
						std::to_string(place.gid->index) + ", " +
						place.gid->type);
		if (!place.port->is_active())
			report->bad("address", port_text(*place.port),
				    "ip link show " + place.gid->interface);
		return;
	}
	// iWARP and IPoIB have other GIDs; there the connection itself tells.
	for (const RdmaPort &port : ports)
		if (port.link_layer == "InfiniBand" || port.iwarp || port.gids.empty())
			return;
	report->bad("address", "no RDMA device has " + host_text(local),
		    "an address of an RDMA interface is needed on both hosts: 'rdma link', 'ip "
		    "address'");
}

// Adapters do not ask the host's firewall; soft-RoCE, which is UDP of the host, does.
void check_firewall(Report *report, const Place &place, const sockaddr_storage &local,
		    const sockaddr_storage &peer)
{
	const std::string &interface = place.gid->interface;
	Firewall firewall = Firewall::of_host();

	for (bool in : {true, false}) {
		Judgement j = firewall.judge(
			{in, "udp", roce_port, interface, in ? peer : local, in ? local : peer});
		std::string text = std::string(in ? "input" : "output") + " of UDP port " +
				   std::to_string(roce_port) + " on " + interface;

		if (j.verdict == Verdict::PASSES)
			continue;
		if (j.verdict == Verdict::UNKNOWN)
			report->good("firewall", text + ": not clear, see " + j.where);
		else if (place.port->is_soft_roce())
			report->bad("firewall", text + " is dropped: " + j.where,
				    in ? "nft insert rule inet filter input udp dport 4791 accept, "
					 "or as your firewall is kept" :
					 "nft list ruleset");
		else
			report->good("firewall",
				     text + " would be dropped (" + j.where +
					     "), but RoCE of an adapter does not pass there");
	}
}

// FROM: family 0 leaves the choice to the kernel.
void check_way(Report *report, const std::vector<RdmaPort> &ports, const sockaddr_storage &peer,
	       const sockaddr_storage &from)
{
	sockaddr_storage local{};
	Fd route = check_route(report, peer, from, &local);

	if (!route)
		return;
	Place place = place_of(ports, local);

	if (place)
		check_mtu(report, route.get(), peer, place.gid->interface);
	check_address(report, ports, place, local);
	if (place)
		check_firewall(report, place, local, peer);
}

const char *advice_for(rchar_reason reason)
{
	switch (reason) {
	case RCHAR_REASON_NOT_LISTENING:
		return "on the peer: 'rchar add NAME stream listen ADDR', and the port";
	case RCHAR_REASON_NO_CHANNEL:
		return "on the peer: 'rchar show'";
	case RCHAR_REASON_NOT_AUTHORISED:
		return "on the peer: 'rchar show' (keys, allow), 'rchar key'; here: 'key NAME'";
	case RCHAR_REASON_ENCRYPTION:
		return "'encrypt on' on both sides, or on none";
	case RCHAR_REASON_ADDRESS:
		return "is the peer up, and is that its address? 'ip neigh'";
	case RCHAR_REASON_NO_DEVICE:
		return "an address of an RDMA interface, on both hosts";
	case RCHAR_REASON_DEVICE_LIMITS:
		return "dmesg says which attribute of the device, or which call";
	case RCHAR_REASON_PORT_DOWN:
		return "the cable, the switch, 'ip link'";
	case RCHAR_REASON_VERSION:
		return "'rchar version' on both hosts";
	case RCHAR_REASON_ROUTE:
	case RCHAR_REASON_UNREACHABLE:
	case RCHAR_REASON_TIMEOUT:
		return "is the peer up, with RDMA on that address? RoCE needs UDP port 4791: 'nft "
		       "list ruleset' on both hosts";
	default:
		return "dmesg, here and on the peer";
	}
}

// A channel that is there as long as this.
class Probe {
public:
	explicit Probe(const ChannelWords &words) : name_(*words.channel.name)
	{
		catch_interrupts();
		add_channel(nl_, words);
	}
	~Probe()
	{
		try {
			delete_channel(nl_, name_);
		} catch (const Failure &) {
			// another process has deleted it
		}
	}
	Probe(const Probe &) = delete;
	const std::string &name() const { return name_; }
	std::string path() const { return "/dev/rchar/" + name_; }

private:
	std::string name_;
	Netlink nl_;
};

void report_failure(Report *report, const char *step, std::optional<Code<rchar_reason>> why,
		    int wait_s)
{
	rchar_reason reason = RCHAR_REASON_TIMEOUT;
	std::string text = "none in " + std::to_string(wait_s) + " s";

	if (is_interrupted())
		text = "interrupted";
	if (why && why->number != RCHAR_REASON_NONE) {
		reason = static_cast<rchar_reason>(why->number);
		text = std::string(name_of(*why)) + ": " + reason_text(*why);
	}
	report->bad(step, text, advice_for(reason));
}

// The kernel counts the age of a reason in ticks, the longest of which are these.
constexpr std::chrono::milliseconds tick(10);

// Of an attempt since BEGUN: a link that is there already may have failed before.
bool has_failed(const Channel &c, const Clock::time_point begun)
{
	std::chrono::milliseconds age(c.reason_age_ms.value_or(0));

	return c.reason && c.reason->number != RCHAR_REASON_NONE &&
	       Clock::now() - age >= begun - tick;
}

// An attempt that failed has a reason, unless the next one already runs: the first reason counts.
bool check_link(Report *report, const Probe &probe, const Clock::time_point begun, int wait_s)
{
	Channel channel = wait_channel(probe.name(), std::chrono::seconds(wait_s),
				       [&](const Channel &c) {
					       return is_working(c) || is_interrupted() ||
						      has_failed(c, begun);
				       });

	if (is_working(channel)) {
		report->good("link", "up in " + ms_since(begun));
		return true;
	}
	report_failure(report, "link", channel.reason, wait_s);
	return false;
}

// Asks as a memory channel does, so that no program of the peer gets a session: a stream or message
// channel refuses the type, after all that it would have refused us for. A memory channel has none.
void check_open(Report *report, const Probe &probe, const std::string &remote, int wait_s)
{
	const Clock::time_point begun = Clock::now();
	Fd fd(open(probe.path().c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
	pollfd p = {fd.get(), POLLOUT, 0};

	if (!fd) {
		report->bad("channel", probe.path() + ": " + strerror(errno), "ls -l /dev/rchar");
		return;
	}
	int n = poll(&p, 1, wait_s * 1000);
	std::optional<rchar_info> info = session_info(fd.get());

	if (n == 1 && info &&
	    (info->state != RCHAR_SESSION_DEAD || info->reason == RCHAR_REASON_WRONG_TYPE)) {
		report->good("channel", "the peer's " + remote + " lets this host in: answer in " +
						ms_since(begun));
		return;
	}
	std::optional<Code<rchar_reason>> reason;

	if (n == 1 && info)
		reason = Code<rchar_reason>{static_cast<rchar_reason>(info->reason)};
	report_failure(report, "channel", reason, wait_s);
}

// The peer, and a channel that leads to it.
struct Target {
	Address address;
	ChannelWords channel;
};

// A wrong word is told before anything is done.
Target take_target(Words words)
{
	std::string text = words.take("ADDR");
	std::vector<std::string> add = {"memory", "connect", text};

	while (!words.empty())
		add.push_back(words.take("a setting"));

	Words channel(add);

	return {parse_address(text, true),
		take_new_channel("check-" + std::to_string(getpid()), channel)};
}

void check_connection(Report *report, const Target &target, int wait_s)
{
	const Clock::time_point begun = Clock::now();
	Probe probe(target.channel);

	if (check_link(report, probe, begun, wait_s) && !target.address.remote.empty())
		check_open(report, probe, target.address.remote, wait_s);
}

}  // namespace

bool check_host(Words words, const Options &options)
{
	Report report(options);
	std::optional<Target> target;

	if (!words.empty())
		target = take_target(std::move(words));

	bool module = check_module(&report);
	std::vector<RdmaPort> ports = check_devices(&report);

	if (target)
		check_way(&report, ports, target->address.addr,
			  target->channel.channel.local.value_or(sockaddr_storage{}));
	if (module && target)
		check_connection(&report, *target,
				 options.wait_s < 0 ? default_wait_s : options.wait_s);
	else if (module)
		check_channels(&report);
	return report.finish();
}
