// SPDX-License-Identifier: GPL-2.0
// One forwarded connection: two descriptors, and a flow of bytes in each direction.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "../common/endpoint.hh"
#include "loop.hh"
#include "pipe.hh"

class Relay {
public:
	// OVER is called once, at the end, with what went wrong or "".
	using Over = std::function<void(Relay *, const std::string &)>;
	Relay(Loop &loop, Pipes &pipes, Fd near, const Endpoint &to, Over over);
	~Relay();  // with a reset, unless the connection is complete
	Relay(const Relay &) = delete;
	void begin();  // connects to TO; may call OVER
	bool was_connected() const { return !connecting_; }

private:
	// What a flow waits for.
	enum class Wait { source, sink, nothing };

	struct End : Watcher {
		explicit End(Relay *r) : relay(r) {}
		void take(Fd f);
		void ready(uint32_t events) override { relay->ready(this, events); }
		Relay *relay;
		Fd fd;
		bool is_socket = false;
		uint32_t watched = 0;
	};

	struct Flow {
		End *source, *sink;
		std::optional<Pipe> pipe;
		Wait wait = Wait::source;
	};

	void ready(const End *end, uint32_t events);
	void try_next(std::string error);
	void open_far();
	void pause(unsigned int ms);
	void again();
	bool connected(uint32_t events);
	void pump(Flow *flow);
	void pump_some(Flow *flow);
	ssize_t fill(Flow *flow);
	void sink_failed(Flow *flow, int error);
	void finish(Flow *flow);
	void give_back(Flow *flow);
	void watch(End *end);
	void watch_both();
	void fail(const std::string &error);

	Loop &loop_;
	Pipes &pipes_;
	const Endpoint &to_;
	Over over_;
	size_t way_ = 0;  // the next address of TO
	Timer retry_;	  // while the backlog of TO is full, or descriptors are short
	unsigned int retry_ms_;
	End near_, far_;
	Flow out_, back_;
	std::string broken_;  // the error of a sink; the other flow still moves
	bool connecting_ = true, ended_ = false, complete_ = false, paused_ = false;
};
