// SPDX-License-Identifier: GPL-2.0
// The event loop: one thread, level-triggered epoll(7).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "../common/fd.hh"

// Something with a descriptor in the loop.
class Watcher {
public:
	virtual ~Watcher() = default;
	virtual void ready(uint32_t events) = 0;  // EPOLLIN, EPOLLOUT, EPOLLERR, EPOLLHUP
};

class Loop {
public:
	Loop();
	void watch(int fd, uint32_t events, Watcher *watcher);	// adds or changes
	void forget(int fd);
	void run();  // until stop()
	void stop() { running_ = false; }
	// Destroyed when no event of this turn can be for it any more.
	template <typename T> void bury(std::unique_ptr<T> dead)
	{
		buried_.push_back(std::shared_ptr<T>(std::move(dead)));
	}

	using Clock = std::chrono::steady_clock;
	using Timers = std::multimap<Clock::time_point, class Timer *>;

private:
	friend class Timer;
	int next_timeout() const;  // for epoll_wait(2)
	void run_timers();
	Fd epoll_;
	bool running_ = true;
	Timers timers_;
	std::vector<std::shared_ptr<void>> buried_;
};

// Runs a function once, later, unless it is destroyed before. Needs no descriptor: it also serves
// when there is none.
class Timer {
public:
	Timer(Loop &loop, std::function<void()> then) : loop_(loop), then_(std::move(then)) {}
	~Timer() { stop(); }
	Timer(const Timer &) = delete;
	void start(unsigned int ms);  // again, if it runs
	void stop();

private:
	friend class Loop;
	Loop &loop_;
	std::function<void()> then_;
	std::optional<Loop::Timers::iterator> entry_;
};
