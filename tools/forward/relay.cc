// SPDX-License-Identifier: GPL-2.0
#include "relay.hh"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "../common/args.hh"

namespace {

// How often a flow moves bytes before the others have their turn.
constexpr int max_rounds = 16;
// Behind so few bytes there is most likely nothing more, and the loop tells when there is.
constexpr ssize_t few = 16 << 10;

// A connection that failed ends with a reset where that exists: not like one that is complete.
void reset_on_close(int fd)
{
	linger at_once{1, 0};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

// ECONNRESET is none: after it, the other flow would take what follows for a clean end.
bool is_over(int error) { return error == EPIPE; }

constexpr unsigned int first_retry_ms = 20, last_retry_ms = 1000;  // after a full backlog

}  // namespace

void Relay::End::take(Fd f)
{
	int type;
	socklen_t len = sizeof(type);

	fd = std::move(f);
	is_socket = !getsockopt(fd.get(), SOL_SOCKET, SO_TYPE, &type, &len);
}

Relay::Relay(Loop &loop, Pipes &pipes, Fd near, const Endpoint &to, Over over)
	: loop_(loop), pipes_(pipes), to_(to), over_(std::move(over)),
	  retry_(loop, [this] { again(); }), retry_ms_(first_retry_ms), near_(this),
	  far_(this), out_{&near_, &far_, {}, Wait::source}, back_{&far_, &near_, {}, Wait::source}
{
	near_.take(std::move(near));
}

Relay::~Relay()
{
	for (End *end : {&near_, &far_}) {
		if (end->watched)
			loop_.forget(end->fd.get());
		if (!complete_)
			reset_on_close(end->fd.get());
	}
}

void Relay::begin() { try_next(""); }

// The next address of TO, or the same one later.
void Relay::open_far()
{
	far_.take(to_.open_way(way_));
	if (!far_.fd) {
		pause(retry_ms_);
		retry_ms_ = std::min(2 * retry_ms_, last_retry_ms);
		return;
	}
	if (to_.is_channel())
		stream_session(far_.fd.get(), RCHAR_ROLE_CONNECT, to_.text());
	watch(&far_);
	way_++;
}

// One address of TO after the other; ERROR: what was wrong with the one before.
void Relay::try_next(std::string error)
{
	for (; way_ < to_.ways(); way_++) {
		far_.watched = 0;
		try {
			open_far();
			return;
		} catch (const Shortage &) {
			far_.fd.reset();
			pause(last_retry_ms);
			return;
		} catch (const Failure &failure) {
			error = failure.what();
		}
	}
	fail(error);
}

// Moves nothing for that long.
void Relay::pause(unsigned int ms)
{
	paused_ = true;
	retry_.start(ms);
}

void Relay::again()
{
	paused_ = false;
	if (connecting_)
		try_next("");
	else
		ready(nullptr, 0);
}

void Relay::watch(End *end)
{
	uint32_t events = 0;

	if (connecting_) {
		if (end == &far_)
			events = EPOLLOUT;
	} else if (!paused_) {
		for (const Flow *flow : {&out_, &back_}) {
			if (flow->wait == Wait::source && flow->source == end)
				events |= EPOLLIN;
			if (flow->wait == Wait::sink && flow->sink == end)
				events |= EPOLLOUT;
		}
	}
	// An end that nobody waits for would only report that its peer has gone, again and again.
	if (events == end->watched)
		return;
	if (events)
		loop_.watch(end->fd.get(), events, end);
	else
		loop_.forget(end->fd.get());
	end->watched = events;
}

bool Relay::connected(uint32_t events)
{
	std::string error;

	if (events & (EPOLLERR | EPOLLHUP))
		error = error_of(far_.fd.get());
	if (!error.empty()) {
		loop_.forget(far_.fd.get());
		try_next(to_.text() + ": " + error);
		return false;
	}
	connecting_ = false;
	return true;
}

// END: which one; without, whatever may move moves.
void Relay::ready(const End *end, uint32_t events)
{
	if (ended_ || paused_ || (connecting_ && !connected(events)))
		return;
	for (Flow *flow : {&out_, &back_}) {
		if (end && end != (flow->wait == Wait::sink ? flow->sink : flow->source))
			continue;
		pump(flow);
		if (ended_)
			return;
	}
	if (out_.wait == Wait::nothing && back_.wait == Wait::nothing) {
		if (!broken_.empty()) {
			fail(broken_);
			return;
		}
		ended_ = complete_ = true;
		over_(this, "");
		return;
	}
	watch_both();
}

void Relay::watch_both()
{
	try {
		watch(&near_);
		watch(&far_);
	} catch (const Failure &failure) {
		// the loop has no memory for it
		fail(failure.what());
	}
}

void Relay::pump(Flow *flow)
{
	if (flow->wait == Wait::nothing)
		return;
	if (!flow->pipe)
		flow->pipe = pipes_.take();
	if (!*flow->pipe) {
		flow->pipe.reset();
		pause(last_retry_ms);
		return;
	}
	pump_some(flow);
	if (!flow->pipe->held())
		give_back(flow);
}

void Relay::give_back(Flow *flow)
{
	pipes_.give_back(std::move(*flow->pipe));
	flow->pipe.reset();
}

// Before urgent data of TCP, splice() sees the end of what there is.
ssize_t Relay::fill(Flow *flow)
{
	int fd = flow->source->fd.get(), error;
	ssize_t n = flow->pipe->fill_from(fd);

	if (n > 0 || !flow->source->is_socket || (n < 0 && errno != EAGAIN))
		return n;
	error = errno;
	if (sockatmark(fd) == 1)
		return flow->pipe->copy_from(fd);
	errno = error;
	return n;
}

void Relay::pump_some(Flow *flow)
{
	bool last = false;

	for (int i = 0; i < max_rounds; i++) {
		ssize_t n;

		if (!flow->pipe->held()) {
			if (last)
				break;
			flow->wait = Wait::source;
			n = fill(flow);
			if (n == 0) {
				finish(flow);
				return;
			}
			if (n < 0 && errno == EAGAIN)
				return;
			if (n < 0 && errno != EINTR) {
				fail(to_.text() + ": " + strerror(errno));
				return;
			}
			last = n > 0 && n < few;
			continue;
		}
		flow->wait = Wait::sink;
		n = flow->pipe->empty_to(flow->sink->fd.get());
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0 && errno != EINTR) {
			sink_failed(flow, errno);
			return;
		}
	}
	// The next turn begins with an event; what is held has to go first.
	flow->wait = flow->pipe->held() ? Wait::sink : Wait::source;
}

// The reader has gone. What it has sent before comes in the other flow: an answer, maybe, that ends
// the connection before the question is complete.
void Relay::sink_failed(Flow *flow, int error)
{
	if (!is_over(error))
		broken_ = to_.text() + ": " + strerror(error);
	shut(flow->source->fd.get(), RCHAR_SHUT_RD);
	flow->wait = Wait::nothing;
}

// The end of file goes on: the sink's sending half closes, its other half stays. Behind an error it
// is none.
void Relay::finish(Flow *flow)
{
	flow->wait = Wait::nothing;
	if (!broken_.empty())
		return;
	shut(flow->sink->fd.get(), RCHAR_SHUT_WR);
}

void Relay::fail(const std::string &error)
{
	ended_ = true;
	over_(this, error);
}
