// SPDX-License-Identifier: GPL-2.0
// Snapshots become tables (tables.cc, rates.cc), and tables become a screen (screen.cc).
#include "top.hh"

#include <curses.h>

#include <algorithm>
#include <ctime>

#undef timeout
#undef clear
#undef erase

#include "format.hh"
#include "interrupt.hh"
#include "module.hh"
#include "rates.hh"
#include "screen.hh"
#include "tables.hh"

namespace {

using Clock = std::chrono::steady_clock;

// ---- tables ----

template <typename T> double number(const std::optional<T> &v)
{
	return static_cast<double>(v.value_or(0));
}

Table channels_table(const Snapshot &now, const Rates &rates)
{
	Table table{{{"CHANNEL"},
		     {"TYPE"},
		     {"STATE"},
		     {"PRIO", true},
		     {"SESS", true},
		     {"WAIT", true},
		     {"RX/s", true},
		     {"TX/s", true}},
		    {}};

	for (const Channel &c : now.channels) {
		const Rate &r = rates.channel(key_of(c));

		table.rows.push_back(
			{key_of(c),
			 {text_cell(key_of(c)), text_cell(word_of(c.type)), state_cell(c),
			  number_cell(c.priority.value_or(0)), number_cell(c.sessions.value_or(0)),
			  number_cell(c.waiting.value_or(0)), human_cell(r.rx_bytes),
			  human_cell(r.tx_bytes)}});
	}
	return table;
}

// The longest round trip of the lanes: 0 while none is known.
double rtt_us(const Link &link)
{
	double rtt = 0;

	for (const Lane &lane : link.lanes)
		rtt = std::max(rtt, number(lane.rtt_ns) / 1000);
	return rtt;
}

Cell rtt_cell(double us)
{
	char text[32] = "-";

	if (us >= 999.5)
		snprintf(text, sizeof(text), "%.1fms", us / 1000);
	else if (us > 0)
		snprintf(text, sizeof(text), "%.0fus", us);
	return {text, us};
}

Table links_table(const Snapshot &now, const Rates &rates)
{
	Table table{{{"LINK"},
		     {"PEER"},
		     {"STATE"},
		     {"SESS", true},
		     {"RX/s", true},
		     {"TX/s", true},
		     {"FRAMES/s", true},
		     {"STALLS/s", true},
		     {"RTT", true}},
		    {}};

	for (const Link &l : now.links) {
		const Rate &r = rates.link(key_of(l));

		table.rows.push_back({key_of(l),
				      {{key_of(l), number(l.id)},
				       text_cell(peer_text(l)),
				       state_cell(l),
				       number_cell(l.sessions.value_or(0)),
				       human_cell(r.rx_bytes),
				       human_cell(r.tx_bytes),
				       human_cell(r.frames),
				       human_cell(r.stalls),
				       rtt_cell(rtt_us(l))}});
	}
	return table;
}

Table sessions_table(const Snapshot &now, const Rates &rates)
{
	Table table{{{"SESSION"},
		     {"CHANNEL"},
		     {"STATE"},
		     {"RX/s", true},
		     {"TX/s", true},
		     {"QUEUED", true},
		     {"UNACKED", true},
		     {"WINDOW", true}},
		    {}};

	for (const Session &s : now.sessions) {
		const Rate &r = rates.session(key_of(s));

		table.rows.push_back(
			{key_of(s),
			 {text_cell(key_of(s)), text_cell(s.channel.value_or("")), state_cell(s),
			  human_cell(r.rx_bytes), human_cell(r.tx_bytes),
			  human_cell(number(s.rx_queued)), human_cell(number(s.tx_unacked)),
			  human_cell(number(s.tx_window))}});
	}
	return table;
}

Table lanes_table(const Snapshot &now, const std::string &link)
{
	Table table{{{"LANE", true},
		     {"DEVICE"},
		     {"QP", true},
		     {"FRAME", true},
		     {"DEPTH", true},
		     {"READS", true},
		     {"CREDITS", true},
		     {"UNACKED", true},
		     {"RTT", true}},
		    {}};

	for (const Link &l : now.links) {
		if (key_of(l) != link)
			continue;
		for (const Lane &lane : l.lanes)
			table.rows.push_back(
				{link + "." + std::to_string(lane.index.value_or(0)),
				 {number_cell(lane.index.value_or(0)),
				  text_cell(lane.device ? device_text(lane) : "not up"),
				  number_cell(lane.qpn.value_or(0)),
				  text_cell(size_text(lane.frame_size.value_or(0))),
				  number_cell(lane.depth.value_or(0)),
				  number_cell(lane.reads.value_or(0)),
				  number_cell(lane.tx_credits.value_or(0)),
				  number_cell(lane.unacked.value_or(0)),
				  rtt_cell(number(lane.rtt_ns) / 1000)}});
	}
	return table;
}

// ---- the program ----

enum View { CHANNELS, LINKS, SESSIONS, VIEWS };
const char *const view_names[VIEWS] = {"channels", "links", "sessions"};

const char *const help[] = {
	"c l s, tab      channels, links, sessions; the next of them",
	"up down, j k    select a line; also page up and down",
	"enter           a link: its lanes; a channel or a session: its link",
	"< >             sort by the column to the left, to the right",
	"r               sort the other way round",
	"/               only lines with a text; escape: all lines again",
	"space           pause, go on",
	"+ -             look less often, more often",
	"q               end",
	"",
	"RX and TX are bytes of programs; of links, of frames. k M G are of 1000. The",
	"graph on the right is the sum of both, each line with a scale of its own.",
	"STALLS are frames that waited for the peer to post a buffer. '~' ends a text",
	"that is longer than its column.",
};

class Top {
public:
	explicit Top(unsigned int every_s) : every_s_(every_s) {}
	void run();

private:
	Screen screen_;
	unsigned int every_s_;
	Snapshot now_;
	Rates rates_;
	std::string error_;  // why there is no snapshot
	View view_ = CHANNELS;
	std::string lanes_of_;	// a link, whose lanes are shown instead of the view
	size_t sort_[VIEWS] = {};
	bool reverse_[VIEWS] = {};
	std::string filter_, selected_;
	bool typing_ = false, paused_ = false, help_ = false, ended_ = false;
	std::vector<Row> shown_;  // the rows that a key may select
	size_t first_ = 0;	  // the first of them on the screen

	void look();
	Table table() const;
	void draw();
	void draw_help();
	void draw_rows(const Table &table, int y, int height);
	std::string summary() const;
	std::string bottom() const;
	void handle(int key);
	void type(int key);
	void select(int step);
	void enter();
	void sort(int step);
	void change_view(View view);
	const std::deque<double> *history(const std::string &key) const;
};

void Top::look()
{
	Snapshot now;

	error_.clear();
	try {
		if (!module_is_loaded())
			throw Failure(EXIT_ABSENT, "the kernel module rdma_char is not loaded");
		Netlink nl;

		now.channels = dump_channels(nl);
		now.links = dump<Link>(nl, RCHAR_CMD_LINK_GET);
		now.sessions = dump<Session>(nl, RCHAR_CMD_SESSION_GET);
	} catch (const Failure &f) {
		// It may come back.
		now = Snapshot{};
		error_ = f.what();
	}
	now.at = Clock::now();
	rates_.update(now);
	now_ = std::move(now);
}

Table Top::table() const
{
	Table table = !lanes_of_.empty() ? lanes_table(now_, lanes_of_) :
		      view_ == CHANNELS	 ? channels_table(now_, rates_) :
		      view_ == LINKS	 ? links_table(now_, rates_) :
					   sessions_table(now_, rates_);

	if (!filter_.empty())
		filter_rows(&table, filter_);
	if (lanes_of_.empty())
		sort_rows(&table, sort_[view_], reverse_[view_]);
	return table;
}

const std::deque<double> *Top::history(const std::string &key) const
{
	if (!lanes_of_.empty())
		return nullptr;
	return &(view_ == CHANNELS ? rates_.channel(key) :
		 view_ == LINKS	   ? rates_.link(key) :
				     rates_.session(key))
			.history;
}

std::string Top::summary() const
{
	double rx = 0, tx = 0;
	time_t seconds = time(nullptr);
	tm local{};
	char clock[16];

	for (const Channel &c : now_.channels) {
		rx += rates_.channel(key_of(c)).rx_bytes;
		tx += rates_.channel(key_of(c)).tx_bytes;
	}
	localtime_r(&seconds, &local);
	strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	return std::string("rchar top ") + clock + "  channels " +
	       std::to_string(now_.channels.size()) + " links " +
	       std::to_string(now_.links.size()) + " sessions " +
	       std::to_string(now_.sessions.size()) + "  rx " + human_text(rx) + "B/s tx " +
	       human_text(tx) + "B/s" +
	       (paused_	     ? "  paused" :
		every_s_ > 1 ? "  every " + std::to_string(every_s_) + " s" :
			       "");
}

std::string Top::bottom() const
{
	if (typing_)
		return "only lines with: " + filter_ + "_";
	std::string text = lanes_of_.empty() ? view_names[view_] : "lanes of link " + lanes_of_;

	if (!filter_.empty())
		text += " with '" + filter_ + "'";
	return text + (lanes_of_.empty() ? "   " : "   escape: back   ") +
	       "c l s: views   < >: sort   /: filter   enter: more   ?: help   q: end";
}

void Top::draw_rows(const Table &table, int y, int height)
{
	Layout layout(table, static_cast<size_t>(screen_.width()));
	Line head = layout.head();
	auto selected = std::find_if(table.rows.begin(), table.rows.end(),
				     [&](const Row &r) { return r.key == selected_; });
	size_t place = selected == table.rows.end() ? 0 : selected - table.rows.begin();
	size_t room = static_cast<size_t>(std::max(height - 1, 1));
	int graph = screen_.width() - static_cast<int>(layout.width()) - 2;

	// The column that sorts is named in the selected line's style.
	screen_.line(y, head);
	if (lanes_of_.empty()) {
		int x = 0;

		for (size_t i = 0; i < sort_[view_]; i++)
			x += static_cast<int>(head[i].text.size());
		screen_.mark(y, x, static_cast<int>(head[sort_[view_]].text.size()));
	}
	// A larger terminal, or fewer rows, leave no empty lines below.
	first_ = std::min({first_, place, table.rows.size() - std::min(table.rows.size(), room)});
	if (place >= first_ + room)
		first_ = place - room + 1;
	for (size_t i = first_; i < table.rows.size() && i < first_ + room; i++) {
		int at = y + 1 + static_cast<int>(i - first_);
		const std::deque<double> *values = history(table.rows[i].key);

		screen_.line(at, layout.line(table.rows[i]), i == place && !selected_.empty());
		if (values && graph >= 8)
			screen_.graph(at, screen_.width() - graph, graph, *values);
	}
}

void Top::draw_help()
{
	int y = 2;

	for (const char *text : help)
		screen_.line(y++, text);
}

void Top::draw()
{
	int last = screen_.height() - 1;

	screen_.clear();
	screen_.line(0, summary(), Tone::HEAD);
	if (help_) {
		draw_help();
	} else if (!error_.empty()) {
		screen_.line(2, error_, Tone::BAD);
		shown_.clear();
	} else {
		Table t = table();

		draw_rows(t, 2, last - 2);
		shown_ = std::move(t.rows);
	}
	screen_.line(last, bottom(), Tone::HEAD);
	screen_.show();
}

void Top::select(int step)
{
	auto it = std::find_if(shown_.begin(), shown_.end(),
			       [&](const Row &r) { return r.key == selected_; });
	long last = static_cast<long>(shown_.size()) - 1;
	long place = it == shown_.end() ? (step > 0 ? -1 : 0) : it - shown_.begin();

	if (last >= 0)
		selected_ = shown_[static_cast<size_t>(std::clamp(place + step, 0L, last))].key;
}

// From a channel or a session to its link, and from a link to its lanes.
void Top::enter()
{
	if (selected_.empty() && !shown_.empty())
		selected_ = shown_[0].key;
	if (!lanes_of_.empty() || selected_.empty())
		return;
	if (view_ == LINKS) {
		lanes_of_ = selected_;
		selected_.clear();
		return;
	}
	std::string link = selected_.substr(0, selected_.find('/'));

	if (view_ == CHANNELS) {
		link.clear();
		for (const Channel &c : now_.channels)
			if (key_of(c) == selected_ && c.link)
				link = id_text(*c.link);
	}
	if (link.empty())
		return;
	change_view(LINKS);
	selected_ = link;
}

void Top::sort(int step)
{
	size_t columns = table().columns.size();

	if (lanes_of_.empty())
		sort_[view_] = (sort_[view_] + columns + static_cast<size_t>(step)) % columns;
}

void Top::change_view(View view)
{
	view_ = view;
	lanes_of_.clear();
	selected_.clear();
	filter_.clear();
	help_ = false;
}

void Top::type(int key)
{
	if (key == '\n' || key == KEY_ENTER) {
		typing_ = false;
	} else if (key == 27) {
		typing_ = false;
		filter_.clear();
	} else if (key == KEY_BACKSPACE || key == 127 || key == 8) {
		if (!filter_.empty())
			filter_.pop_back();
	} else if (key >= ' ' && key < 127) {
		filter_ += static_cast<char>(key);
	}
}

void Top::handle(int key)
{
	if (typing_) {
		type(key);
		return;
	}
	switch (key) {
	case 'q':
		ended_ = true;
		break;
	case 'c':
	case '1':
		change_view(CHANNELS);
		break;
	case 'l':
	case '2':
		change_view(LINKS);
		break;
	case 's':
	case '3':
		change_view(SESSIONS);
		break;
	case '\t':
		change_view(static_cast<View>((view_ + 1) % VIEWS));
		break;
	case KEY_UP:
	case 'k':
		select(-1);
		break;
	case KEY_DOWN:
	case 'j':
		select(1);
		break;
	case KEY_PPAGE:
		select(4 - screen_.height());
		break;
	case KEY_NPAGE:
		select(screen_.height() - 4);
		break;
	case '\n':
	case KEY_ENTER:
		enter();
		break;
	case '<':
	case KEY_LEFT:
		sort(-1);
		break;
	case '>':
	case KEY_RIGHT:
		sort(1);
		break;
	case 'r':
		reverse_[view_] = !reverse_[view_];
		break;
	case '/':
		filter_.clear();
		typing_ = true;
		break;
	case 27:
		help_ = false;
		filter_.clear();
		lanes_of_.clear();
		break;
	case ' ':
		paused_ = !paused_;
		break;
	case '+':
		every_s_ = std::min(every_s_ + 1, 3600U);
		break;
	case '-':
		every_s_ = std::max(every_s_ - 1, 1U);
		break;
	case '?':
	case 'h':
		help_ = !help_;
		break;
	default:
		break;
	}
}

void Top::run()
{
	Clock::time_point next = Clock::now();

	while (!ended_ && !is_interrupted()) {
		if (!paused_ && Clock::now() >= next) {
			look();
			next = Clock::now() + std::chrono::seconds(every_s_);
		}
		draw();
		auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next -
										  Clock::now());
		int key = screen_.key(
			paused_ ? 1000 : static_cast<int>(std::max<long>(left.count() + 1, 1)));

		if (key != ERR)
			handle(key);
	}
}

}  // namespace

void top(unsigned int every_s)
{
	catch_interrupts();
	// A module that is not there from the start is told as by every other command.
	Netlink{};
	Top(every_s).run();
}
