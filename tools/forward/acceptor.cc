// SPDX-License-Identifier: GPL-2.0
#include "acceptor.hh"

#include <fcntl.h>
#include <sys/epoll.h>

#include "../common/args.hh"

namespace {

constexpr unsigned int retry_ms = 1000;	 // after a shortage of memory or descriptors

}  // namespace

// What cannot be taken now waits in the backlog.
template <typename F> void Acceptor::unless_short(F take)
{
	try {
		take();
	} catch (const Shortage &shortage) {
		log_.say(shortage.what());
		short_ = true;
		forget();
		retry_.start(retry_ms);
	}
}

Acceptor::Acceptor(Loop &loop, Endpoint &from, Log &log, Accepted accepted)
	: loop_(loop), from_(from), log_(log), accepted_(std::move(accepted)), retry_(loop, [this] {
		  short_ = false;
		  watch();
	  })
{
	for (const Fd &fd : from_.listen())
		fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
	watch();
}

void Acceptor::watch()
{
	if (paused_ || short_)
		return;
	unless_short([this] {
		if (from_.is_channel() && !session_)
			next_session();
		for (const Fd &fd : from_.listen())
			loop_.watch(fd.get(), EPOLLIN, this);
	});
}

void Acceptor::forget()
{
	for (const Fd &fd : from_.listen())
		loop_.forget(fd.get());
}

void Acceptor::pause()
{
	paused_ = true;
	forget();
}

void Acceptor::resume()
{
	if (!paused_)
		return;
	paused_ = false;
	watch();
}

void Acceptor::ready(uint32_t)
{
	if (from_.is_channel())
		take_session();
	else
		take_connections();
}

void Acceptor::next_session()
{
	Fd session = from_.await_session();

	loop_.watch(session.get(), EPOLLOUT, this);
	session_ = std::move(session);
}

void Acceptor::take_session()
{
	from_.check_session(session_);
	loop_.forget(session_.get());
	accepted_(std::move(session_));
	watch();
}

void Acceptor::take_connections()
{
	unless_short([this] {
		while (!paused_) {
			Fd fd = from_.accept(O_NONBLOCK);

			if (!fd)
				return;
			accepted_(std::move(fd));
		}
	});
}
