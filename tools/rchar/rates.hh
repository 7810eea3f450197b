// SPDX-License-Identifier: GPL-2.0
// What changes in a second, from counters that were read one after another.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "objects.hh"

// All that the module has at one time.
struct Snapshot {
	std::chrono::steady_clock::time_point at;
	std::vector<Channel> channels;
	std::vector<Link> links;
	std::vector<Session> sessions;
};

// In a second.
struct Rate {
	double rx_bytes = 0;
	double tx_bytes = 0;
	double frames = 0;
	double stalls = 0;
	std::deque<double> history;  // bytes of both directions; the last is the newest

	double bytes() const { return rx_bytes + tx_bytes; }
};

class Rates {
public:
	void update(const Snapshot &now);
	// Of a key_of(); of what is new, zeros.
	const Rate &channel(const std::string &key) const { return find(channels_, key); }
	const Rate &link(const std::string &key) const { return find(links_, key); }
	const Rate &session(const std::string &key) const { return find(sessions_, key); }

private:
	struct Counts {
		uint64_t rx_bytes, tx_bytes, frames, stalls;
	};
	struct Entry {
		Counts counts;
		Rate rate;
		bool seen;
	};
	using Entries = std::map<std::string, Entry>;

	Entries channels_, links_, sessions_;
	std::chrono::steady_clock::time_point before_;

	template <typename T>
	static void update(Entries *entries, const std::vector<T> &objects, double seconds);
	static const Rate &find(const Entries &entries, const std::string &key);
	static Counts counts_of(const Stats &stats);
	static Counts counts_of(const Channel &c) { return counts_of(c.stats.value_or(Stats{})); }
	static Counts counts_of(const Link &l) { return counts_of(l.stats.value_or(Stats{})); }
	static Counts counts_of(const Session &s)
	{
		return {s.rx_bytes.value_or(0), s.tx_bytes.value_or(0), 0, 0};
	}
};
