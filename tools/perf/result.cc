// SPDX-License-Identifier: GPL-2.0
#include "result.hh"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <numeric>

// proc(5): user, nice, system, idle, iowait, irq, softirq, steal in ticks.
double BusyClock::read()
{
	std::ifstream stat("/proc/stat");
	double user = 0, nice = 0, system = 0, idle, iowait, irq = 0, softirq = 0;
	std::string cpu;

	stat >> cpu >> user >> nice >> system >> idle >> iowait >> irq >> softirq;
	return (user + nice + system + irq + softirq) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

nlohmann::ordered_json Latencies::json()
{
	nlohmann::ordered_json out;

	if (us_.empty())
		return out;
	std::sort(us_.begin(), us_.end());
	auto at = [this](double part) {
		return us_[std::min(us_.size() - 1, static_cast<size_t>(part * us_.size()))];
	};
	auto round = [](double us) {
		return static_cast<double>(static_cast<long>(us * 10 + .5)) / 10;
	};

	out["min"] = round(us_.front());
	out["mean"] = round(std::accumulate(us_.begin(), us_.end(), 0.0) / us_.size());
	out["p50"] = round(at(.5));
	out["p90"] = round(at(.9));
	out["p99"] = round(at(.99));
	out["p99_9"] = round(at(.999));
	out["max"] = round(us_.back());
	return out;
}

static std::string text(const nlohmann::ordered_json &value)
{
	char number[32];

	if (value.is_string())
		return value.get<std::string>();
	if (value.is_number_float()) {
		snprintf(number, sizeof(number), "%.6g", value.get<double>());
		return number;
	}
	return value.dump();
}

void print_result(const nlohmann::ordered_json &result, bool as_json)
{
	bool first = true;

	if (as_json) {
		std::cout << result.dump() << std::endl;
		return;
	}
	for (const auto &[key, value] : result.items()) {
		if (value.is_object()) {
			std::cout << (first ? "" : "  ") << key;
			for (const auto &[name, part] : value.items())
				std::cout << " " << name << " " << text(part);
		} else {
			std::cout << (first ? "" : "  ") << key << " " << text(value);
		}
		first = false;
	}
	std::cout << std::endl;
}
