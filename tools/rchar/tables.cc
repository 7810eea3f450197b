// SPDX-License-Identifier: GPL-2.0
#include "tables.hh"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "format.hh"

namespace {

template <typename T> uint64_t number(const std::optional<T> &v) { return v.value_or(0); }

// Nothing while all is well.
template <typename T> std::string reason_note(const T &object, bool well)
{
	if (well || !object.reason || *object.reason == RCHAR_REASON_NONE)
		return "";
	return name_of(*object.reason) + ": " + reason_text(*object.reason);
}

const Lane *first_lane(const Link &link)
{
	for (const Lane &lane : link.lanes)
		if (lane.device)
			return &lane;
	return nullptr;
}

std::string access_text(const Channel &c)
{
	if (c.keys.empty())
		return "";
	return c.keys[0] + (c.keys.size() > 1 ? ",..." : "");
}

}  // namespace

std::string human_text(double value)
{
	static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};
	char text[32];
	size_t unit = 0;

	while (value >= 999.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1000;
		unit++;
	}
	snprintf(text, sizeof(text), unit && value < 99.95 ? "%.1f%s" : "%.0f%s", value,
		 units[unit]);
	return text;
}

std::string key_of(const Channel &channel) { return channel.name.value_or(""); }
std::string key_of(const Link &link) { return id_text(number(link.id)); }
std::string key_of(const Session &session)
{
	return id_text(number(session.link)) + "/" + std::to_string(number(session.id));
}

Cell text_cell(const std::string &text) { return {text}; }
Cell number_cell(uint64_t n) { return {std::to_string(n), static_cast<double>(n)}; }
Cell human_cell(double n) { return {human_text(n), n}; }

Cell state_cell(const Channel &c)
{
	Tone tone = is_working(c)				    ? Tone::GOOD :
		    c.state && *c.state == RCHAR_CHANNEL_CONNECTING ? Tone::WARN :
								      Tone::BAD;

	return {word_of(c.state), {}, tone};
}

Cell state_cell(const Link &l)
{
	Tone tone = l.state && *l.state == RCHAR_LINK_UP	 ? Tone::GOOD :
		    l.state && *l.state == RCHAR_LINK_CONNECTING ? Tone::WARN :
								   Tone::BAD;

	return {word_of(l.state), {}, tone};
}

Cell state_cell(const Session &s)
{
	Tone tone = s.state && *s.state == RCHAR_SESSION_OPEN ? Tone::GOOD :
		    s.state && *s.state == RCHAR_SESSION_DEAD ? Tone::BAD :
								Tone::WARN;

	return {word_of(s.state), {}, tone};
}

std::string peer_text(const Channel &c)
{
	if (c.role && *c.role == RCHAR_ROLE_LISTEN)
		return "at " + (c.local ? address_text(*c.local) : "");
	return "to " + (c.peer ? address_text(*c.peer) : "") + "/" + c.remote.value_or("");
}

std::string peer_text(const Link &l)
{
	return direction_text(l.initiator) + (l.peer ? address_text(*l.peer) : "");
}

std::string device_text(const Lane &lane)
{
	return lane.device ? *lane.device + "/" + std::to_string(number(lane.port)) : "";
}

Table table_of(const std::vector<Channel> &channels)
{
	Table table{{{"CHANNEL"},
		     {"TYPE"},
		     {"ADDRESS"},
		     {"KEY"},
		     {"STATE"},
		     {"SESSIONS", true},
		     {"WAITING", true},
		     {"RX", true},
		     {"TX", true}},
		    {}};

	for (const Channel &c : channels) {
		Stats s = c.stats.value_or(Stats{});

		table.rows.push_back(
			{key_of(c),
			 {text_cell(key_of(c)), text_cell(word_of(c.type)), text_cell(peer_text(c)),
			  text_cell(access_text(c)), state_cell(c), number_cell(number(c.sessions)),
			  number_cell(number(c.waiting)), human_cell(number(s.rx_bytes)),
			  human_cell(number(s.tx_bytes))},
			 reason_note(c, is_working(c))});
	}
	return table;
}

Table table_of(const std::vector<Link> &links)
{
	Table table{{{"LINK"},
		     {"PEER"},
		     {"KEY"},
		     {"STATE"},
		     {"SESSIONS", true},
		     {"RX", true},
		     {"TX", true},
		     {"DEVICE"}},
		    {}};

	for (const Link &l : links) {
		Stats s = l.stats.value_or(Stats{});
		const Lane *lane = first_lane(l);

		table.rows.push_back(
			{key_of(l),
			 {text_cell(key_of(l)), text_cell(peer_text(l)),
			  text_cell(l.key.value_or("") +
				    (l.encrypted.value_or(false) ? " encrypted" : "")),
			  state_cell(l), number_cell(number(l.sessions)),
			  human_cell(number(s.rx_bytes)), human_cell(number(s.tx_bytes)),
			  text_cell(lane ? device_text(*lane) : "")},
			 reason_note(l, l.state && *l.state == RCHAR_LINK_UP)});
	}
	return table;
}

Table table_of(const std::vector<Session> &sessions)
{
	Table table{{{"SESSION"},
		     {"CHANNEL"},
		     {"PEER"},
		     {"STATE"},
		     {"AGE", true},
		     {"RX", true},
		     {"TX", true},
		     {"QUEUED", true},
		     {"UNACKED", true}},
		    {}};

	for (const Session &s : sessions)
		table.rows.push_back(
			{key_of(s),
			 {text_cell(key_of(s)),
			  text_cell(s.channel.value_or("")),
			  text_cell(direction_text(s.initiator) +
				    (s.peer ? address_text(*s.peer) : "")),
			  state_cell(s),
			  {age_text(number(s.age_ms)), static_cast<double>(number(s.age_ms))},
			  human_cell(number(s.rx_bytes)),
			  human_cell(number(s.tx_bytes)),
			  human_cell(number(s.rx_queued)),
			  human_cell(number(s.tx_unacked))},
			 reason_note(s, s.state && *s.state != RCHAR_SESSION_DEAD)});
	return table;
}

bool is_terminal() { return isatty(STDOUT_FILENO); }

bool wants_colour()
{
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

	return is_terminal() && !(no && *no) && term && strcmp(term, "dumb") != 0;
}
