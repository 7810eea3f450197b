// SPDX-License-Identifier: GPL-2.0
#include "firewall.hh"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

namespace {

constexpr int depth_max = 16;  // of jumps, as in the kernel: NFT_JUMP_STACK_SIZE

// A match or a rule may be of a kind that is not known here: nothing.
using Maybe = std::optional<bool>;

std::string text_of(const Json &value)
{
	return value.is_string() ? value.get<std::string>() : value.dump();
}

// ---- values ----

Maybe number_is(const Json &value, unsigned int number)
{
	if (value.is_number())
		return value.get<unsigned int>() == number;
	if (value.is_object() && value.contains("range")) {
		const Json &range = value["range"];

		return number >= range.at(0).get<unsigned int>() &&
		       number <= range.at(1).get<unsigned int>();
	}
	return {};
}

Maybe address_is(const Json &value, const sockaddr_storage &address)
{
	bool v6 = address.ss_family == AF_INET6;
	unsigned char bytes[16] = {}, other[16] = {};
	std::string text = text_of(value);
	unsigned int bits = v6 ? 128 : 32;

	if (value.is_object() && value.contains("prefix")) {
		text = text_of(value["prefix"].at("addr"));
		bits = value["prefix"].at("len").get<unsigned int>();
	} else if (!value.is_string()) {
		return {};
	}
	if (v6)
		memcpy(bytes, &reinterpret_cast<const sockaddr_in6 *>(&address)->sin6_addr, 16);
	else
		memcpy(bytes, &reinterpret_cast<const sockaddr_in *>(&address)->sin_addr, 4);
	if (inet_pton(address.ss_family, text.c_str(), other) != 1 || bits > (v6 ? 128 : 32))
		return {};
	for (unsigned int i = 0; i < bits; i++)
		if ((bytes[i / 8] ^ other[i / 8]) & (0x80 >> i % 8))
			return false;
	return true;
}

// "net*" stands for all names that begin so.
Maybe name_is(const Json &value, const std::string &name)
{
	if (!value.is_string())
		return {};
	std::string text = value.get<std::string>();

	// A set with a name, whose elements are elsewhere.
	if (text[0] == '@')
		return {};
	if (!text.empty() && text.back() == '*')
		return name.compare(0, text.size() - 1, text, 0, text.size() - 1) == 0;
	return text == name;
}

// By name, or by number where the host has no /etc/protocols.
Maybe protocol_is(const Json &value, const std::string &name)
{
	if (value.is_number())
		return value.get<int>() == (name == "udp" ? IPPROTO_UDP : IPPROTO_TCP);
	return name_is(value, name);
}

// Is one of the values of an anonymous set so, or the value itself?
template <typename F> Maybe any_is(const Json &right, F is)
{
	if (!right.is_object() || !right.contains("set"))
		return is(right);
	bool known = true;

	for (const Json &value : right["set"]) {
		Maybe one = is(value);

		if (one == true)
			return true;
		known = known && one;
	}
	return known ? Maybe(false) : Maybe();
}

// ---- matches ----

bool is_payload(const Json &left, const char *protocol, const char *field)
{
	return left.contains("payload") && left["payload"].value("protocol", "") == protocol &&
	       left["payload"].value("field", "") == field;
}

bool is_meta(const Json &left, const char *key)
{
	return left.contains("meta") && left["meta"].value("key", "") == key;
}

// Does what is on the left of a match fit what is on its right?
Maybe fits(const Json &left, const Json &right, const Packet &p)
{
	auto number = [&](const Json &v) { return number_is(v, p.port); };
	auto protocol = [&](const Json &v) { return protocol_is(v, p.protocol); };
	auto interface = [&](const Json &v) { return name_is(v, p.interface); };
	auto source = [&](const Json &v) { return address_is(v, p.source); };
	auto destination = [&](const Json &v) { return address_is(v, p.destination); };
	bool v6 = p.source.ss_family == AF_INET6;

	if (!left.is_object())
		return {};
	for (const char *l4 : {"udp", "tcp", "th"}) {
		if (!is_payload(left, l4, "dport"))
			continue;
		return strcmp(l4, "th") != 0 && p.protocol != l4 ? Maybe(false) :
								   any_is(right, number);
	}
	// Another protocol of layer 4 than these two.
	if (left.contains("payload") && left["payload"].value("protocol", "").find("icmp") == 0)
		return false;
	if (is_meta(left, "l4proto") || is_payload(left, "ip", "protocol") ||
	    is_payload(left, "ip6", "nexthdr"))
		return any_is(right, protocol);
	if (is_meta(left, "iifname") || is_meta(left, "iif"))
		return p.in ? any_is(right, interface) : Maybe(false);
	if (is_meta(left, "oifname") || is_meta(left, "oif"))
		return p.in ? Maybe(false) : any_is(right, interface);
	if (is_meta(left, "nfproto"))
		return any_is(right,
			      [&](const Json &v) { return name_is(v, v6 ? "ipv6" : "ipv4"); });
	for (const char *ip : {"ip", "ip6"}) {
		bool other = (!strcmp(ip, "ip6")) != v6;

		if (is_payload(left, ip, "saddr"))
			return other ? Maybe(false) : any_is(right, source);
		if (is_payload(left, ip, "daddr"))
			return other ? Maybe(false) : any_is(right, destination);
	}
	// Each end of RoCE sends from a port of its own: no packet is the answer to another one.
	if (left.contains("ct") && left["ct"].value("key", "") == "state")
		return right.dump().find("\"new\"") != std::string::npos;
	return {};
}

Maybe matches(const Json &match, const Packet &packet)
{
	Maybe fit = fits(match.at("left"), match.at("right"), packet);
	std::string op = match.value("op", "==");

	if (!fit || op == "==" || op == "in")
		return fit;
	return op == "!=" ? Maybe(!*fit) : Maybe();
}

// ---- rules ----

// What a rule or a chain does with a packet.
struct Step {
	Verdict verdict = Verdict::PASSES;
	bool ends = false;  // no later rule of the hook sees the packet
	std::string where = {};
};

class Ruleset {
public:
	explicit Ruleset(const Json &rules) : rules_(rules) {}
	Judgement judge(const Packet &packet) const;

private:
	const Json &rules_;

	Step chain(const Json &chain, const Packet &packet, int depth) const;
	Step rule(const Json &rule, const Packet &packet, int depth) const;
	Step jump(const Json &rule, const std::string &target, const Packet &packet,
		  int depth) const;
};

std::string place(const Json &object, const char *name)
{
	return object.value("family", "") + " " + object.value("table", "") + " " +
	       object.value(name, "");
}

Step Ruleset::jump(const Json &rule, const std::string &target, const Packet &packet,
		   int depth) const
{
	for (const Json &item : rules_)
		if (item.contains("chain") && item["chain"].at("family") == rule.at("family") &&
		    item["chain"].at("table") == rule.at("table") &&
		    item["chain"].at("name") == target && depth < depth_max)
			return chain(item["chain"], packet, depth + 1);
	return {Verdict::UNKNOWN};
}

// Others may stop the rule: limit, quota, ct count, xt, set with a limit.
bool always_goes_on(const Json &statement)
{
	for (const char *name : {"match", "counter", "log", "mangle", "notrack", "accept", "drop",
				 "reject", "return", "jump", "goto", "vmap"})
		if (statement.contains(name))
			return true;
	return false;
}

// The verdict of a rule that may match, or not, is not known.
Step Ruleset::rule(const Json &rule, const Packet &packet, int depth) const
{
	std::string where = place(rule, "chain") + ", handle " +
			    std::to_string(rule.value("handle", 0));
	bool sure = true;

	for (const Json &e : rule.at("expr")) {
		Maybe fit = e.contains("match") ? matches(e["match"], packet) : Maybe(true);
		Step step{Verdict::PASSES, true, where};

		if (fit == false)
			return {};
		sure = sure && fit && always_goes_on(e);
		if (e.contains("drop") || e.contains("reject"))
			step.verdict = Verdict::DROPPED;
		else if (e.contains("vmap"))
			step.verdict = Verdict::UNKNOWN;
		else if (e.contains("jump") || e.contains("goto"))
			step = jump(rule,
				    (e.contains("jump") ? e["jump"] : e["goto"]).value("target", ""),
				    packet, depth);
		else if (!e.contains("accept") && !e.contains("return"))
			continue;
		// After a chain that it went to, the policy decides, not the next rule.
		if (!sure || (e.contains("goto") && !step.ends))
			step.verdict = Verdict::UNKNOWN;
		return step;
	}
	return {};
}

Step Ruleset::chain(const Json &chain, const Packet &packet, int depth) const
{
	// A chain without a hook has no policy: the caller goes on.
	bool drops = chain.value("policy", "") == "drop";
	Step last{drops ? Verdict::DROPPED : Verdict::PASSES, chain.contains("hook"),
		  place(chain, "name") + ", its policy"};
	std::optional<Step> unknown;

	for (const Json &item : rules_) {
		if (!item.contains("rule") || item["rule"].at("chain") != chain.at("name") ||
		    item["rule"].at("table") != chain.at("table") ||
		    item["rule"].at("family") != chain.at("family"))
			continue;
		Step step = rule(item["rule"], packet, depth);

		if (step.verdict == Verdict::UNKNOWN && !unknown)
			unknown = step;
		if (step.verdict == Verdict::UNKNOWN || !step.ends)
			continue;
		if (!item["rule"].at("expr").back().contains("return"))
			last = step;
		break;
	}
	return unknown ? *unknown : last;
}

Judgement Ruleset::judge(const Packet &packet) const
{
	const char *family = packet.source.ss_family == AF_INET6 ? "ip6" : "ip";
	Judgement result;

	for (const Json &item : rules_) {
		if (!item.contains("chain") ||
		    item["chain"].value("hook", "") != (packet.in ? "input" : "output") ||
		    (item["chain"].at("family") != "inet" && item["chain"].at("family") != family))
			continue;
		Step step = chain(item["chain"], packet, 0);

		if (step.verdict == Verdict::DROPPED)
			return {step.verdict, step.where};
		if (step.verdict == Verdict::UNKNOWN)
			result = {step.verdict, step.where};
	}
	return result;
}

}  // namespace

Firewall Firewall::of_host()
{
	struct Close {
		void operator()(FILE *file) const { pclose(file); }
	};
	std::unique_ptr<FILE, Close> file(popen("nft -j list ruleset 2>/dev/null", "re"));
	std::string text;
	char part[4096];
	size_t n;

	while (file && (n = fread(part, 1, sizeof(part), file.get())) > 0)
		text.append(part, n);
	return Firewall(text);
}

// What is no JSON has no rules: no nft, or not the rights to ask it.
Firewall::Firewall(const std::string &json) : rules_(Json::parse(json, nullptr, false)) {}

Judgement Firewall::judge(const Packet &packet) const
{
	if (rules_.is_discarded() || !rules_.contains("nftables"))
		return {};
	try {
		return Ruleset(rules_["nftables"]).judge(packet);
	} catch (const Json::exception &) {
		return {Verdict::UNKNOWN, "nft list ruleset"};
	}
}
