// SPDX-License-Identifier: GPL-2.0
#include "args.hh"

#include <cctype>
#include <cerrno>
#include <cstring>

void usage_error(const std::string &text) { throw Failure(EXIT_USAGE, text); }

void system_error(const std::string &what)
{
	int error = errno;
	std::string text = what + ": " + strerror(error);

	if (error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS)
		throw Shortage(text);
	usage_error(text);
}

bool Words::accept(const char *word)
{
	if (empty() || words_[next_] != word)
		return false;
	next_++;
	return true;
}

std::string Words::take(const char *what)
{
	if (empty())
		usage_error(std::string(what) + " is missing (see --help)");
	return words_[next_++];
}

void Words::end() const
{
	if (!empty())
		usage_error("'" + words_[next_] + "' is one word too many (see --help)");
}

uint64_t split_number(const std::string &text, const char *what, std::string *unit)
{
	size_t digits = 0;
	uint64_t value = 0;

	while (digits < text.size() && isdigit(static_cast<unsigned char>(text[digits]))) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, text[digits++] - '0', &value))
			usage_error(std::string(what) + ": " + text + " is too large");
	}
	if (!digits)
		usage_error(std::string(what) + ": '" + text + "' is not a number");
	*unit = text.substr(digits);
	return value;
}

uint32_t parse_number(const std::string &text, const char *what)
{
	std::string unit;
	uint64_t value = split_number(text, what, &unit);

	if (!unit.empty())
		usage_error(std::string(what) + ": '" + text + "' is not a number");
	if (value > UINT32_MAX)
		usage_error(std::string(what) + ": " + text + " is too large");
	return static_cast<uint32_t>(value);
}

uint32_t parse_positive(const std::string &text, const char *what)
{
	uint32_t value = parse_number(text, what);

	if (!value)
		usage_error(std::string(what) + ": at least 1 is expected");
	return value;
}

uint64_t parse_size64(const std::string &text, const char *what)
{
	std::string unit;
	uint64_t value = split_number(text, what, &unit);

	uint64_t factor = 1;

	if (unit == "k")
		factor = uint64_t{1} << 10;
	else if (unit == "m")
		factor = uint64_t{1} << 20;
	else if (unit == "g")
		factor = uint64_t{1} << 30;
	else if (!unit.empty())
		usage_error(std::string(what) + ": '" + unit + "' is not k, m or g");
	if (__builtin_mul_overflow(value, factor, &value))
		usage_error(std::string(what) + ": " + text + " is too large");
	return value;
}

uint32_t parse_size(const std::string &text, const char *what)
{
	uint64_t value = parse_size64(text, what);

	if (value > UINT32_MAX)
		usage_error(std::string(what) + ": " + text + " is too large");
	return static_cast<uint32_t>(value);
}

uint32_t parse_time_ms(const std::string &text, const char *what)
{
	std::string unit;
	uint64_t value = split_number(text, what, &unit);

	if (value > UINT64_MAX / 1000)
		usage_error(std::string(what) + ": " + text + " is too long");
	if (text == "0")
		return 0;
	if (unit == "s")
		value *= 1000;
	else if (unit == "us")
		value = (value + 999) / 1000;
	else if (unit != "ms")
		usage_error(std::string(what) + ": '" + text + "' wants a unit: us, ms or s");
	if (value > UINT32_MAX)
		usage_error(std::string(what) + ": " + text + " is too long");
	return static_cast<uint32_t>(value);
}
