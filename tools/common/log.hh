// SPDX-License-Identifier: GPL-2.0
// Lines for stderr of programs that run for long, at most some in a second.
#pragma once

#include <string>

class Log {
public:
	explicit Log(const char *program) : program_(program) {}
	void say(const std::string &text);  // "PROGRAM: TEXT"; left out when there are too many

private:
	const char *program_;
	long second_ = 0;
	unsigned int said_ = 0, left_out_ = 0;
};
