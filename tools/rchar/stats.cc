// SPDX-License-Identifier: GPL-2.0
#include "stats.hh"

#include <iterator>

namespace {

constexpr bool in_order()
{
	int attr = RCHAR_A_STATS_PAD;

	for (const Counter &c : counters)
		if (c.attr != ++attr)
			return false;
	return attr == RCHAR_A_STATS_MAX;
}
static_assert(in_order(), "one counter for each attribute");
static_assert(sizeof(Stats) == std::size(counters) * sizeof(Stats::rx_bytes),
	      "one counter for each member");

}  // namespace

ChannelStats difference(const ChannelStats &now, const ChannelStats &before)
{
	ChannelStats out = now;

	out.difference = true;
	for (const Counter &c : counters)
		if (std::optional<uint64_t> &value = out.stats.*c.value)
			*value -= (before.stats.*c.value).value_or(0);
	return out;
}
