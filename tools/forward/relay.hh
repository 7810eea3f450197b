// SPDX-License-Identifier: GPL-2.0
// One forwarded connection: two descriptors, and a flow of bytes in each direction.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "loop.hh"
#include "pipe.hh"

class Relay {
public:
	// FAR may still be connecting. OVER is called once, at the end, with what went wrong or "".
	using Over = std::function<void(Relay *, const std::string &)>;
	Relay(Loop &loop, Pipes &pipes, Fd near, Fd far, Over over);
	~Relay();
	Relay(const Relay &) = delete;
	void begin();
	bool was_connected() const { return !connecting_; }

private:
	// What a flow waits for.
	enum class Wait { source, sink, nothing };

	struct End : Watcher {
		End(Relay *r, Fd f) : relay(r), fd(std::move(f)) {}
		void ready(uint32_t events) override { relay->ready(this, events); }
		Relay *relay;
		Fd fd;
		uint32_t watched = 0;
	};

	struct Flow {
		End *source, *sink;
		std::optional<Pipe> pipe;
		Wait wait = Wait::source;
	};

	void ready(End *end, uint32_t events);
	bool connected(uint32_t events);
	void pump(Flow *flow);
	void pump_some(Flow *flow);
	void finish(Flow *flow);
	void give_back(Flow *flow);
	void watch(End *end);
	void fail(const std::string &error);

	Loop &loop_;
	Pipes &pipes_;
	Over over_;
	End near_, far_;
	Flow out_, back_;
	bool connecting_ = true, ended_ = false;
};
