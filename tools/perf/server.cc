// SPDX-License-Identifier: GPL-2.0
// The side that is called: one loop accepts, each session says what it wants. Sessions that
// are measured by themselves get a thread; the many share one, unless each shall have its own.
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "../common/args.hh"
#include "../common/endpoint.hh"
#include "request.hh"
#include "session.hh"

namespace {

constexpr size_t SINK_BUFFER = 1 << 20;

void tell_count(int fd, uint64_t count)
{
	uint64_t wire = htole64(count);

	write_all(fd, &wire, sizeof(wire));
}

void sink(int fd, uint32_t block)
{
	std::vector<char> buffer(std::max<size_t>(block, SINK_BUFFER));
	uint64_t count = 0;
	ssize_t n;

	while ((n = read(fd, buffer.data(), buffer.size())) > 0)
		count += n;
	if (n == 0)
		tell_count(fd, count);
}

void echo(int fd, uint32_t block)
{
	std::vector<char> buffer(block);

	while (block && read_all(fd, buffer.data(), block))
		write_all(fd, buffer.data(), block);
}

void greet(int fd)
{
	char c = 0;

	write_all(fd, &c, 1);
	read_all(fd, &c, 1);  // until the other side has closed
}

// Sessions of Work::shared, and those of Work::total that ask for them.
class Shared {
public:
	Shared() : epoll_(epoll_create1(EPOLL_CLOEXEC)), buffer_(SINK_BUFFER) {}

	// To the thread that all share.
	void add(Fd fd, uint32_t group)
	{
		int raw = fd.get();
		epoll_event event{};

		fcntl(raw, F_SETFL, fcntl(raw, F_GETFL) | O_NONBLOCK);
		event.events = EPOLLIN;
		event.data.fd = raw;
		{
			std::lock_guard<std::mutex> lock(mutex_);
			sessions_.emplace(raw, Session{std::move(fd), group, 0});
			groups_[group].begin();
		}
		epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, raw, &event);
		if (!started_)
			std::thread([this] { run(); }).detach();
		started_ = true;
	}

	// Has a thread of its own, the caller's, until the session is over.
	void sink(int fd, uint32_t group)
	{
		std::vector<char> buffer(OWN_BUFFER);
		uint64_t count = 0;
		ssize_t n;

		{
			std::lock_guard<std::mutex> lock(mutex_);
			groups_[group].begin();
		}
		while ((n = read(fd, buffer.data(), buffer.size())) > 0) {
			std::lock_guard<std::mutex> lock(mutex_);

			count += n;
			got(group, n);
		}
		std::lock_guard<std::mutex> lock(mutex_);
		end(fd, group, n, count);
	}

	// Also returns when all sessions of the group are gone: their client is.
	void wait_for(uint32_t group, uint64_t bytes)
	{
		std::unique_lock<std::mutex> lock(mutex_);
		Group &g = groups_[group];

		g.waiting++;
		changed_.wait(lock, [&] { return g.bytes >= bytes || (g.begun && !g.sessions); });
		g.waiting--;
		forget_unused(group);
	}

private:
	struct Session {
		Fd fd;
		uint32_t group;
		uint64_t count;
	};
	struct Group {
		uint64_t bytes = 0;
		unsigned int sessions = 0;  // that are not over
		unsigned int waiting = 0;   // in wait_for()
		bool begun = false;

		void begin()
		{
			sessions++;
			begun = true;
		}
	};
	static constexpr size_t OWN_BUFFER = 64 << 10;
	Fd epoll_;
	std::vector<char> buffer_;
	std::mutex mutex_;  // protects the next two
	std::map<int, Session> sessions_;
	std::map<uint32_t, Group> groups_;
	std::condition_variable changed_;
	bool started_ = false;

	void got(uint32_t group, size_t bytes)
	{
		groups_[group].bytes += bytes;
		changed_.notify_all();
	}

	void forget_unused(uint32_t group)
	{
		const Group &g = groups_[group];

		if (!g.sessions && !g.waiting)
			groups_.erase(group);
	}

	// Of a session; @n: what its last read() returned
	void end(int fd, uint32_t group, ssize_t n, uint64_t count)
	{
		try {
			if (n == 0)
				tell_count(fd, count);
		} catch (const Failure &) {
			// Its client is gone.
		}
		groups_[group].sessions--;
		changed_.notify_all();
		forget_unused(group);
	}

	void run()
	{
		epoll_event events[256];
		int i, n;

		for (;;) {
			n = epoll_wait(epoll_.get(), events, 256, -1);
			for (i = 0; i < n; i++)
				readable(events[i].data.fd);
		}
	}

	void readable(int fd)
	{
		ssize_t n = read(fd, buffer_.data(), buffer_.size());
		std::lock_guard<std::mutex> lock(mutex_);
		auto it = sessions_.find(fd);

		if (n > 0) {
			it->second.count += n;
			got(it->second.group, n);
		} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
			end(fd, it->second.group, n, it->second.count);
			sessions_.erase(it);
		}
	}
};

Shared shared;

void total(int fd, uint32_t group)
{
	uint64_t bytes;

	if (!read_all(fd, &bytes, sizeof(bytes)))
		return;
	shared.wait_for(group, le64toh(bytes));
	write_all(fd, &bytes, sizeof(bytes));
}

void work(Fd fd, uint32_t what, uint32_t block, uint32_t group)
{
	try {
		switch (static_cast<Work>(what)) {
		case Work::sink:
			sink(fd.get(), block);
			break;
		case Work::echo:
			echo(fd.get(), block);
			break;
		case Work::shared:
			shared.sink(fd.get(), group);
			break;
		case Work::total:
			total(fd.get(), group);
			break;
		default:
			greet(fd.get());
		}
	} catch (const Failure &f) {
		fprintf(stderr, "rchar-perf: a session ended: %s\n", f.what());
	}
}

}  // namespace

void serve(Endpoint &endpoint, bool once, bool threads)
{
	for (;;) {
		Fd fd = endpoint.accept();
		Request request;

		if (!fd)
			continue;
		if (kind_of(fd.get()) == Kind::memory)
			usage_error("memory channels need no server: the kernel is it");
		try {
			if (!read_all(fd.get(), &request, sizeof(request)))
				continue;
		} catch (const Failure &) {
			continue;
		}
		uint32_t what = le32toh(request.work), block = le32toh(request.block);
		uint32_t group = le32toh(request.group);

		if (le32toh(request.magic) != Request::MAGIC || !what ||
		    what > static_cast<uint32_t>(Work::total) || block > BLOCK_MAX) {
			fprintf(stderr, "rchar-perf: a session that is not of rchar-perf\n");
			continue;
		}
		if (once)
			work(std::move(fd), what, block, group);
		else if (static_cast<Work>(what) == Work::shared && !threads)
			shared.add(std::move(fd), group);
		else
			std::thread(work, std::move(fd), what, block, group).detach();
		if (once)
			return;
	}
}
