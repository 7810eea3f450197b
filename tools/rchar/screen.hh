// SPDX-License-Identifier: GPL-2.0
// The terminal, as ncurses has it. One object at a time.
#pragma once

#include <deque>
#include <string>

#include "table.hh"

class Screen {
public:
	Screen();  // fails when the terminal cannot do it
	~Screen();
	Screen(const Screen &) = delete;

	int width() const;
	int height() const;
	void clear();
	void line(int y, const Line &line, bool selected = false);
	void line(int y, const std::string &text, Tone tone = Tone::PLAIN);
	void mark(int y, int x, int width);  // in reverse
	// The last values of it, as wide as width: small bars if the terminal has them.
	void graph(int y, int x, int width, const std::deque<double> &values);
	void show();
	// A key as ncurses numbers it; -1: none came in that time, or a signal did.
	int key(int timeout_ms);

private:
	bool colour_, bars_;

	int attribute(Tone tone) const;
};
