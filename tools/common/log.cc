// SPDX-License-Identifier: GPL-2.0
#include "log.hh"

#include <cstdio>
#include <ctime>

namespace {

constexpr unsigned int max_a_second = 10;

}  // namespace

void Log::say(const std::string &text)
{
	timespec now{};

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec != second_) {
		if (left_out_)
			fprintf(stderr, "%s: %u lines left out\n", program_, left_out_);
		second_ = now.tv_sec;
		said_ = left_out_ = 0;
	}
	if (said_ == max_a_second) {
		left_out_++;
		return;
	}
	said_++;
	fprintf(stderr, "%s: %s\n", program_, text.c_str());
}
