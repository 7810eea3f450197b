// SPDX-License-Identifier: GPL-2.0
// Takes what somebody opens, and says so: from a listening channel or from sockets.
#pragma once

#include <functional>

#include "../common/endpoint.hh"
#include "../common/log.hh"
#include "loop.hh"

class Acceptor : public Watcher {
public:
	using Accepted = std::function<void(Fd)>;
	Acceptor(Loop &loop, Endpoint &from, Log &log, Accepted accepted);
	void ready(uint32_t events) override;
	void pause();  // takes nothing more until resume()
	void resume();

private:
	void watch();
	void forget();
	template <typename F> void unless_short(F take);
	void next_session();
	void take_session();
	void take_connections();
	Loop &loop_;
	Endpoint &from_;
	Log &log_;
	Accepted accepted_;
	Timer retry_;
	Fd session_;  // a channel's: opened, and waiting for somebody
	bool paused_ = false, short_ = false;
};
