// SPDX-License-Identifier: GPL-2.0
#include "rates.hh"

#include "tables.hh"

namespace {

constexpr size_t history_max = 240;  // as wide as terminals are

// Counters never decrease: a smaller one is that of a new object of the same name.
double rate(uint64_t now, uint64_t before, double seconds)
{
	return now < before || seconds <= 0 ? 0 : static_cast<double>(now - before) / seconds;
}

}  // namespace

Rates::Counts Rates::counts_of(const Stats &s)
{
	return {s.rx_bytes.value_or(0), s.tx_bytes.value_or(0),
		s.rx_frames.value_or(0) + s.tx_frames.value_or(0), s.credit_stalls.value_or(0)};
}

template <typename T>
void Rates::update(Entries *entries, const std::vector<T> &objects, double seconds)
{
	for (auto &[key, entry] : *entries)
		entry.seen = false;
	for (const T &object : objects) {
		Counts now = counts_of(object);
		auto [it, fresh] = entries->try_emplace(key_of(object), Entry{now, {}, true});
		Entry &entry = it->second;
		Rate &r = entry.rate;

		r.rx_bytes = rate(now.rx_bytes, entry.counts.rx_bytes, seconds);
		r.tx_bytes = rate(now.tx_bytes, entry.counts.tx_bytes, seconds);
		r.frames = rate(now.frames, entry.counts.frames, seconds);
		r.stalls = rate(now.stalls, entry.counts.stalls, seconds);
		if (!fresh)
			r.history.push_back(r.bytes());
		if (r.history.size() > history_max)
			r.history.pop_front();
		entry.counts = now;
		entry.seen = true;
	}
	for (auto it = entries->begin(); it != entries->end();)
		it = it->second.seen ? std::next(it) : entries->erase(it);
}

void Rates::update(const Snapshot &now)
{
	double seconds = std::chrono::duration<double>(now.at - before_).count();

	update(&channels_, now.channels, seconds);
	update(&links_, now.links, seconds);
	update(&sessions_, now.sessions, seconds);
	before_ = now.at;
}

const Rate &Rates::find(const Entries &entries, const std::string &key)
{
	static const Rate none;
	auto it = entries.find(key);

	return it == entries.end() ? none : it->second.rate;
}
