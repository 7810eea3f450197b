// SPDX-License-Identifier: GPL-2.0
#include "trace.hh"

#include <unistd.h>

#include <chrono>
#include <ctime>
#include <map>

#include "../common/names.hh"
#include "format.hh"
#include "interrupt.hh"
#include "module.hh"
#include "parse.hh"
#include "print.hh"
#include "tracing.hh"

namespace {

using Clock = std::chrono::steady_clock;

constexpr useconds_t look_every_us = 100000;

// ---- words ----

template <typename E> std::string word(uint64_t number)
{
	return name_of(Code<E>{static_cast<uint32_t>(number)});
}

// What a frame asks for or tells; nothing for data.
const char *meaning_of(uint64_t op)
{
	switch (op) {
	case RCHAR_OP_HELLO:
		return "the initiator proves its key";
	case RCHAR_OP_READY:
		return "the acceptor proves its key: the lane is up";
	case RCHAR_OP_PING:
		return "is the peer there?";
	case RCHAR_OP_PONG:
		return "it is";
	case RCHAR_OP_TRIM:
		return "large receive buffers go";
	case RCHAR_OP_OPEN:
		return "a program opens the channel";
	case RCHAR_OP_OPENED:
		return "the session is open";
	case RCHAR_OP_REFUSED:
		return "the session is refused";
	case RCHAR_OP_FIN:
		return "no more data follows";
	case RCHAR_OP_STOP:
		return "no more data is wanted";
	case RCHAR_OP_RESET:
		return "the session is over";
	case RCHAR_OP_WINDOW:
		return "a program has read";
	case RCHAR_OP_MAP:
		return "keys of a region";
	case RCHAR_OP_CALL:
		return "an operation for the exporter";
	case RCHAR_OP_RESULT:
		return "the answer to an operation";
	case RCHAR_OP_RNDV:
		return "an offer to READ from the writer's memory";
	case RCHAR_OP_RNDV_DONE:
		return "the READ is over";
	default:
		return "";
	}
}

bool is_sequenced(uint64_t op) { return op >= RCHAR_OP_OPEN; }

std::string flags_text(uint64_t flags)
{
	std::string text;

#define FLAG(value, word)    \
	if (flags & (value)) \
		text += std::string(" ") + (word);
	RCHAR_FRAME_FLAG_NAMES(FLAG)
#undef FLAG
	return text;
}

std::string frame_text(const TraceRecord &r)
{
	std::string text = word<rchar_op>(r.number("op"));
	std::string meaning = meaning_of(r.number("op"));

	if (!meaning.empty())
		text += " (" + meaning + ")";
	if (r.number("len"))
		text += " " + std::to_string(r.number("len")) + " bytes";
	if (is_sequenced(r.number("op")))
		text += " seq " + std::to_string(r.number("seq"));
	text += " ack " + std::to_string(r.number("ack"));
	if (r.number("credits"))
		text += " credits +" + std::to_string(r.number("credits"));
	if (r.number("window"))
		text += " window to " + std::to_string(r.number("window"));
	return text + flags_text(r.number("flags"));
}

std::string reason_suffix(const TraceRecord &r)
{
	uint64_t reason = r.number("reason");

	return reason ? ": " + word<rchar_reason>(reason) : "";
}

std::string move_text(const std::string &from, const std::string &to, const TraceRecord &r)
{
	return from + " -> " + to + reason_suffix(r);
}

// ---- events ----

struct EventKind {
	const char *name;
	const char *link;     // the field with the link's id on the wire
	const char *session;  // the field with the session's id
	std::string (*text)(const TraceRecord &r);
};

const EventKind kinds[] = {
	{"rchar_link_state", "id", nullptr,
	 [](const TraceRecord &r) {
		 return move_text(word<rchar_link_state>(r.number("from")),
				  word<rchar_link_state>(r.number("to")), r);
	 }},
	{"rchar_lane_state", "id", nullptr,
	 [](const TraceRecord &r) {
		 return "lane " + std::to_string(r.number("lane")) + " " +
			move_text(word<rchar_lane_state>(r.number("from")),
				  word<rchar_lane_state>(r.number("to")), r);
	 }},
	{"rchar_session_state", "link", "id",
	 [](const TraceRecord &r) {
		 return move_text(word<rchar_session_state>(r.number("from")),
				  word<rchar_session_state>(r.number("to")), r);
	 }},
	{"rchar_frame_tx", "id", "session",
	 [](const TraceRecord &r) { return "=> " + frame_text(r); }},
	{"rchar_frame_rx", "id", "session",
	 [](const TraceRecord &r) { return "<= " + frame_text(r); }},
	{"rchar_bad_frame", "id", nullptr,
	 [](const TraceRecord &r) {
		 return std::string("refused a frame: ") + word<rchar_op>(r.number("op")) +
			" seq " + std::to_string(r.number("seq")) + ", error " +
			std::to_string(r.number("err"));
	 }},
	{"rchar_wc_error", "id", nullptr,
	 [](const TraceRecord &r) {
		 return "work request (" + r.text("queue") + ") failed: " + r.text("text") + ", " +
			std::to_string(r.number("status"));
	 }},
	{"rchar_cm_event", "id", nullptr,
	 [](const TraceRecord &r) {
		 auto status = static_cast<int32_t>(r.number("status"));

		 return "CM: " + r.text("text") +
			(status ? ", status " + std::to_string(status) : "");
	 }},
	{"rchar_refused", nullptr, nullptr,
	 [](const TraceRecord &r) { return "a connection request" + reason_suffix(r); }},
};

const EventKind *kind_of(const std::string &name)
{
	for (const EventKind &kind : kinds)
		if (name == kind.name)
			return &kind;
	return nullptr;
}

// The numbers that 'rchar link' shows, by the ids that the wire has.
class LinkNumbers {
public:
	uint64_t wire_id(uint64_t link)
	{
		look();
		auto it = wires_.find(link);

		if (it == wires_.end())
			throw Failure(EXIT_NONE, "trace: there is no link " + id_text(link));
		return it->second;
	}
	std::string text(uint64_t wire)
	{
		auto it = numbers_.find(wire);

		if (it == numbers_.end()) {
			look();
			// An unknown one is not asked for with each of its events.
			it = numbers_.try_emplace(wire, 0).first;
		}
		return it->second ? id_text(it->second) : hex_text(wire);
	}

private:
	// Both ends of a link of this host with itself have one id on the wire: the later number is shown.
	std::map<uint64_t, uint64_t> numbers_;
	std::map<uint64_t, uint64_t> wires_;

	void look()
	{
		Netlink nl;

		for (const Link &l : dump<Link>(nl, RCHAR_CMD_LINK_GET))
			if (l.wire_id && l.id) {
				numbers_[*l.wire_id] = *l.id;
				wires_[*l.id] = *l.wire_id;
			}
	}
};

// ---- which of them ----

struct Target {
	std::optional<uint64_t> link;
	std::optional<uint32_t> session;
};

Target take_target(Words words)
{
	if (words.empty())
		return {};
	std::string text = words.take("the id of a link, or LINK/SESSION,");

	words.end();
	LinkSession id = parse_link_session(text);
	return {id.link, id.session};
}

void enable(Tracing *tracing, const Target &target, LinkNumbers *numbers)
{
	std::string link = target.link ? std::to_string(numbers->wire_id(*target.link)) : "";

	for (const EventKind &kind : kinds) {
		std::string filter;

		if (!link.empty() && !kind.link)
			continue;
		if (!link.empty())
			filter = std::string(kind.link) + " == " + link;
		if (target.session && kind.session)
			filter += std::string(" && ") + kind.session +
				  " == " + std::to_string(*target.session);
		tracing->enable(kind.name, filter);
	}
}

// Since the first event, in seconds; the trace of a second is read more often than that of a day.
class Printer {
public:
	Printer(const Options &options, LinkNumbers *numbers)
		: options_(options), numbers_(*numbers)
	{
	}
	void print(const TraceRecord &r);

private:
	const Options &options_;
	LinkNumbers &numbers_;
	std::optional<uint64_t> begun_ns_;

	std::string time_of(const TraceRecord &r);
	void print_json(const TraceRecord &r, const EventKind &kind);
};

std::string Printer::time_of(const TraceRecord &r)
{
	char text[32];

	if (!begun_ns_)
		begun_ns_ = r.time_ns();
	uint64_t us = (r.time_ns() - *begun_ns_) / 1000;

	snprintf(text, sizeof(text), "%llu.%06llu", static_cast<unsigned long long>(us / 1000000),
		 static_cast<unsigned long long>(us % 1000000));
	return text;
}

void Printer::print_json(const TraceRecord &r, const EventKind &kind)
{
	Json out = Json::object();

	out["event"] = std::string(kind.name).substr(sizeof("rchar_") - 1);
	out["time_s"] = time_of(r);
	out["text"] = kind.text(r);
	if (kind.link)
		out["link"] = numbers_.text(r.number(kind.link));
	if (kind.session && r.number(kind.session))
		out["session"] = r.number(kind.session);
	if (r.lost() > 0)
		out["lost_events"] = r.lost();
	printf("%s\n", json_text(out).c_str());
}

void Printer::print(const TraceRecord &r)
{
	const EventKind *kind = kind_of(r.name());

	if (!kind)
		return;
	if (options_.json) {
		print_json(r, *kind);
		return;
	}
	if (r.lost() > 0)
		printf("... %lld events were lost: the buffer was full\n", r.lost());
	std::string where;

	if (kind->link)
		where = numbers_.text(r.number(kind->link));
	if (kind->session && r.number(kind->session))
		where += "/" + std::to_string(r.number(kind->session));
	printf("%12s %-10s %s\n", time_of(r).c_str(), where.c_str(), kind->text(r).c_str());
}

}  // namespace

void trace(Words words, const Options &options)
{
	Target target = take_target(std::move(words));

	catch_interrupts();
	Netlink{};  // fails if the module is not there
	LinkNumbers numbers;
	Tracing tracing;
	Printer printer(options, &numbers);

	enable(&tracing, target, &numbers);
	auto end = Clock::now() + std::chrono::seconds(options.wait_s);
	auto goes_on = [&] {
		return !is_interrupted() && !ferror(stdout) &&
		       (options.wait_s < 0 || Clock::now() < end);
	};

	while (goes_on()) {
		usleep(look_every_us);
		// On a busy host events may come faster than they are printed.
		tracing.read([&](const TraceRecord &r) {
			printer.print(r);
			return goes_on();
		});
		flush_output();
	}
}
