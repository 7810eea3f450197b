// SPDX-License-Identifier: GPL-2.0
// The words of a command line: a cursor, and what numbers and addresses look like.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

// What ends the program. The text goes to stderr as one line behind "rchar: ".
enum Exit {
	EXIT_OK = 0,
	EXIT_USAGE = 1,   // the command line, or something on this side
	EXIT_KERNEL = 2,  // the kernel said no
	EXIT_ABSENT = 3,  // the module is not there
	EXIT_WAIT = 4,    // -w ran out
};

class Failure : public std::runtime_error {
public:
	Failure(Exit c, const std::string &text) : std::runtime_error(text), code(c) {}
	Exit code;
};

[[noreturn]] void usage_error(const std::string &text);

// Takes words one by one.
class Words {
public:
	explicit Words(std::vector<std::string> words) : words_(std::move(words)) {}
	bool empty() const { return next_ == words_.size(); }
	bool accept(const char *word);  // takes the next word if it is that one
	std::string take(const char *what);  // fails: "WHAT is missing"
	void end() const;  // fails when a word is left

private:
	std::vector<std::string> words_;
	size_t next_ = 0;
};

struct Address {
	sockaddr_storage addr{};
	socklen_t len = 0;
	bool has_port = false;
	std::string remote;  // behind '/', may be empty
};

// ADDR, ADDR:PORT, [V6], [V6%if]:PORT, a host name; with_remote allows "/NAME" behind it.
Address parse_address(const std::string &text, bool with_remote);
uint32_t parse_number(const std::string &text, const char *what);
uint32_t parse_size(const std::string &text, const char *what);     // k, m, g
uint64_t parse_size64(const std::string &text, const char *what);
uint32_t parse_access(const std::string &text);   // ro, rw
uint32_t parse_atomics(const std::string &text);  // sw, hw
uint32_t parse_time_ms(const std::string &text, const char *what);  // us, ms, s
uint32_t parse_mode(const std::string &text);
uint32_t parse_user(const std::string &text);
uint32_t parse_group(const std::string &text);
uint64_t parse_link_id(const std::string &text);
