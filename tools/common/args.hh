// SPDX-License-Identifier: GPL-2.0
// The words of a command line: a cursor, and what numbers look like.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

// What ends the program. The text goes to stderr as one line after "rchar: ".
enum Exit {
	EXIT_OK = 0,
	EXIT_USAGE = 1,	  // the command line, or something on this side
	EXIT_KERNEL = 2,  // the kernel said no
	EXIT_ABSENT = 3,  // the module is not there
	EXIT_WAIT = 4,	  // -w ran out
	EXIT_EXISTS = 5,  // the kernel has it already
	EXIT_NONE = 6,	  // the kernel has nothing of that name
	EXIT_CHECK = 7,	  // 'check' found something that is not in order
};

class Failure : public std::runtime_error {
public:
	Failure(Exit c, const std::string &text) : std::runtime_error(text), code(c) {}
	Exit code;
};

// The machine has no memory or no descriptor left: a program that runs for long goes on later.
class Shortage : public Failure {
public:
	explicit Shortage(const std::string &text) : Failure(EXIT_USAGE, text) {}
};

[[noreturn]] void usage_error(const std::string &text);
[[noreturn]] void
system_error(const std::string &what);	// "WHAT: " and the words of errno; Shortage

// Takes words one by one.
class Words {
public:
	explicit Words(std::vector<std::string> words) : words_(std::move(words)) {}
	bool empty() const { return next_ == words_.size(); }
	bool accept(const char *word);	     // takes the next word if it is that one
	std::string take(const char *what);  // fails: "WHAT is missing"
	void end() const;		     // fails when a word is left

private:
	std::vector<std::string> words_;
	size_t next_ = 0;
};

// Digits at the start of text; the rest goes to unit.
uint64_t split_number(const std::string &text, const char *what, std::string *unit);
uint32_t parse_number(const std::string &text, const char *what);
uint32_t parse_positive(const std::string &text, const char *what);
uint32_t parse_size(const std::string &text, const char *what);	 // k, m, g
uint64_t parse_size64(const std::string &text, const char *what);
uint32_t parse_time_ms(const std::string &text, const char *what);  // us, ms, s
