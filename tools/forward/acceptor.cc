// SPDX-License-Identifier: GPL-2.0
#include "acceptor.hh"

#include <fcntl.h>
#include <sys/epoll.h>

#include "../common/args.hh"
#include "relay.hh"

Acceptor::Acceptor(Loop &loop, Endpoint &from, Accepted accepted)
	: loop_(loop), from_(from), accepted_(std::move(accepted))
{
	for (const Fd &fd : from_.listen())
		fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
	watch();
}

void Acceptor::watch()
{
	if (from_.is_channel())
		next_session();
	for (const Fd &fd : from_.listen())
		loop_.watch(fd.get(), EPOLLIN, this);
}

void Acceptor::pause()
{
	paused_ = true;
	for (const Fd &fd : from_.listen())
		loop_.forget(fd.get());
}

void Acceptor::resume()
{
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
	session_ = from_.await_session();
	loop_.watch(session_.get(), EPOLLOUT, this);
}

void Acceptor::take_session()
{
	from_.check_session(session_);
	loop_.forget(session_.get());
	accepted_(std::move(session_));
	if (!paused_)
		next_session();
}

void Acceptor::take_connections()
{
	while (!paused_) {
		Fd fd = from_.accept(O_NONBLOCK);

		if (!fd)
			return;
		accepted_(std::move(fd));
	}
}
