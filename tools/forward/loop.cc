// SPDX-License-Identifier: GPL-2.0
#include "loop.hh"

#include <sys/epoll.h>
#include <sys/timerfd.h>

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

void Loop::run()
{
	epoll_event events[64];

	while (running_) {
		int n = epoll_wait(epoll_.get(), events, 64, -1);

		if (n < 0 && errno != EINTR)
			system_error("epoll_wait");
		for (int i = 0; i < n; i++)
			static_cast<Watcher *>(events[i].data.ptr)->ready(events[i].events);
		buried_.clear();
	}
}

Timer::Timer(Loop &loop, std::function<void()> then)
	: loop_(loop), then_(std::move(then)),
	  fd_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK))
{
	if (!fd_)
		system_error("timerfd_create");
	loop_.watch(fd_.get(), EPOLLIN, this);
}

Timer::~Timer() { loop_.forget(fd_.get()); }

void Timer::start(unsigned int ms)
{
	itimerspec when{};

	when.it_value.tv_sec = ms / 1000;
	when.it_value.tv_nsec = ms % 1000 * 1000000L;
	timerfd_settime(fd_.get(), 0, &when, nullptr);
}

void Timer::ready(uint32_t)
{
	uint64_t times;

	if (read(fd_.get(), &times, sizeof(times)) == sizeof(times))
		then_();
}
