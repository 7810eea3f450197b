// SPDX-License-Identifier: GPL-2.0
// The event loop: one thread, level-triggered epoll(7).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
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

private:
	Fd epoll_;
	bool running_ = true;
	std::vector<std::shared_ptr<void>> buried_;
};

// Runs a function once, later, unless it is destroyed before.
class Timer : public Watcher {
public:
	Timer(Loop &loop, std::function<void()> then);
	~Timer() override;
	Timer(const Timer &) = delete;
	void start(unsigned int ms);
	void ready(uint32_t events) override;

private:
	Loop &loop_;
	std::function<void()> then_;
	Fd fd_;
};
