// SPDX-License-Identifier: GPL-2.0
// What was measured: one line of text or one JSON object for each.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start)
{
	return std::chrono::duration<double>(Clock::now() - start).count();
}

// Seconds that the processors of this host were busy since it was made, all processes and
// the kernel counted.
class BusyClock {
public:
	BusyClock() : start_(read()) {}
	double seconds() const { return read() - start_; }

private:
	double start_;
	static double read();
};

// Durations of single operations.
class Latencies {
public:
	void reserve(size_t n) { us_.reserve(n); }
	void add(double seconds) { us_.push_back(seconds * 1e6); }
	size_t count() const { return us_.size(); }
	nlohmann::ordered_json json();	// microseconds: min, mean, p50, p90, p99, p99_9, max

private:
	std::vector<double> us_;
};

// Keys keep their order.
void print_result(const nlohmann::ordered_json &result, bool as_json);
