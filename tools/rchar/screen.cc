// SPDX-License-Identifier: GPL-2.0
#include <curses.h>
#include <langinfo.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdlib>
#include <cstring>

// curses.h has macros of these names.
#undef timeout
#undef clear
#undef erase

#include "../common/args.hh"
#include "screen.hh"
#include "tables.hh"

namespace {

enum { GREEN = 1, YELLOW, RED };

const char *const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
const char *const marks[] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
constexpr int steps = 8;

}  // namespace

Screen::Screen()
{
	const char *term = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		usage_error("top: this is no terminal; 'rchar stats every 1' prints lines");
	setlocale(LC_ALL, "");
	bars_ = !strcmp(nl_langinfo(CODESET), "UTF-8");
	// initscr() would exit.
	if (!term || !newterm(nullptr, stdout, stdin))
		usage_error(std::string("top: the terminal '") + (term ? term : "") +
			    "' is not known here: see TERM");
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	colour_ = wants_colour() && has_colors();
	if (!colour_)
		return;
	start_color();
	use_default_colors();
	init_pair(GREEN, COLOR_GREEN, -1);
	init_pair(YELLOW, COLOR_YELLOW, -1);
	init_pair(RED, COLOR_RED, -1);
}

Screen::~Screen() { endwin(); }

int Screen::width() const { return getmaxx(stdscr); }
int Screen::height() const { return getmaxy(stdscr); }
void Screen::clear() { werase(stdscr); }
void Screen::show() { refresh(); }

int Screen::attribute(Tone tone) const
{
	switch (tone) {
	case Tone::GOOD:
		return colour_ ? COLOR_PAIR(GREEN) : 0;
	case Tone::WARN:
		return colour_ ? COLOR_PAIR(YELLOW) : 0;
	case Tone::BAD:
		return colour_ ? COLOR_PAIR(RED) : A_BOLD;
	case Tone::HEAD:
		return A_BOLD;
	case Tone::PLAIN:
		break;
	}
	return 0;
}

void Screen::line(int y, const Line &line, bool selected)
{
	int x = 0;

	for (const Piece &piece : line) {
		int room = width() - x;

		if (y >= height() || room <= 0)
			return;
		int attrs = selected ? A_REVERSE : attribute(piece.tone);

		attron(attrs);
		mvaddnstr(y, x, piece.text.c_str(), room);
		attroff(attrs);
		x += static_cast<int>(piece.text.size());
	}
}

void Screen::line(int y, const std::string &text, Tone tone) { line(y, Line{{text, tone}}); }

void Screen::mark(int y, int x, int width) { mvchgat(y, x, width, A_REVERSE | A_BOLD, 0, nullptr); }

void Screen::graph(int y, int x, int width, const std::deque<double> &values)
{
	size_t n = std::min(values.size(), static_cast<size_t>(std::max(width, 0)));
	auto first = values.end() - static_cast<std::ptrdiff_t>(n);
	double most = n ? *std::max_element(first, values.end()) : 0;

	move(y, x + width - static_cast<int>(n));
	for (auto v = first; v != values.end(); ++v) {
		// What is not nothing is seen.
		int step = *v > 0 ? std::max(1, static_cast<int>(*v / most * steps + 0.5)) : 0;

		addstr((bars_ ? bars : marks)[step]);
	}
}

int Screen::key(int timeout_ms)
{
	wtimeout(stdscr, timeout_ms);
	return getch();
}
