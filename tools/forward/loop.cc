// SPDX-License-Identifier: GPL-2.0
#include "loop.hh"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>

#include "../common/args.hh"

Loop::Loop() : epoll_(epoll_create1(EPOLL_CLOEXEC))
{
	if (!epoll_)
		system_error("epoll_create1");
}

void Loop::watch(int fd, uint32_t events, Watcher *watcher)
{
	epoll_event event{};

	event.events = events;
	event.data.ptr = watcher;
	if (epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0)
		return;
	if (errno != ENOENT || epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event))
		system_error("epoll_ctl");
}

void Loop::forget(int fd) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

int Loop::next_timeout() const
{
	if (timers_.empty())
		return -1;

	auto left = timers_.begin()->first - Clock::now();

	// Rounded up: not again and again within the last millisecond.
	return std::max<int64_t>(
		std::chrono::duration_cast<std::chrono::milliseconds>(left).count() + 1, 0);
}

// Those that are due now: what they start waits for the next turn.
void Loop::run_timers()
{
	const Clock::time_point now = Clock::now();

	while (!timers_.empty() && timers_.begin()->first <= now) {
		Timer *timer = timers_.begin()->second;

		timer->stop();
		timer->then_();
	}
}

void Loop::run()
{
	epoll_event events[64];

	while (running_) {
		int n = epoll_wait(epoll_.get(), events, 64, next_timeout());

		if (n < 0 && errno != EINTR)
			system_error("epoll_wait");
		for (int i = 0; i < n; i++)
			static_cast<Watcher *>(events[i].data.ptr)->ready(events[i].events);
		run_timers();
		buried_.clear();
	}
}

void Timer::start(unsigned int ms)
{
	stop();
	entry_ = loop_.timers_.emplace(Loop::Clock::now() + std::chrono::milliseconds(ms), this);
}

void Timer::stop()
{
	if (entry_)
		loop_.timers_.erase(*entry_);
	entry_.reset();
}
