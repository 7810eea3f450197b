// SPDX-License-Identifier: GPL-2.0
// rchar-forward - connects programs that know only sockets: sockets to channels, and back.
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <unordered_map>

#include "../common/args.hh"
#include "../common/endpoint.hh"
#include "../common/log.hh"
#include "acceptor.hh"
#include "loop.hh"
#include "relay.hh"

namespace {

void print_help()
{
	puts("usage: rchar-forward [OPTION]... FROM TO\n"
	     "\n"
	     "Takes every connection that comes to FROM, opens one to TO for it, and moves bytes in\n"
	     "both directions until both sides have closed.\n"
	     "\n"
	     "FROM := /dev/rchar/NAME, a stream channel that listens | tcp:[HOST]:PORT | unix:PATH\n"
	     "        | systemd, the sockets that it passes on\n"
	     "TO   := /dev/rchar/NAME, a stream channel that connects | tcp:HOST:PORT | unix:PATH\n"
	     "\n"
	     "  -n, --max N       connections at once (10000); more wait in the backlog\n"
	     "  -v, --verbose     a line for each connection\n"
	     "  -h, --help        this\n"
	     "  -V, --version     the version");
}

struct Options {
	uint32_t max = 10000;
	bool verbose = false;
};

// False: nothing is left to do.
bool parse_options(int argc, char **argv, Options *options)
{
	static const option longs[] = {
		{"max", required_argument, nullptr, 'n'},
		{"verbose", no_argument, nullptr, 'v'},
		{"help", no_argument, nullptr, 'h'},
		{"version", no_argument, nullptr, 'V'},
		{nullptr, 0, nullptr, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "n:vhV", longs, nullptr)) != -1) {
		switch (c) {
		case 'n':
			options->max = parse_positive(optarg, "--max");
			break;
		case 'v':
			options->verbose = true;
			break;
		case 'h':
			print_help();
			return false;
		case 'V':
			puts("rchar-forward " RCHAR_VERSION);
			return false;
		default:
			throw Failure(EXIT_USAGE, "see 'rchar-forward --help'");
		}
	}
	return true;
}

// Two descriptors for a connection, and two for each pipe of it that holds bytes.
constexpr rlim_t fds_of_connection = 6;

// Only a privileged program may have more descriptors than the hard limit says.
void fit_descriptors(Options *options)
{
	const rlim_t wanted = options->max * fds_of_connection + 64;
	rlimit limit{};

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = wanted;
	limit.rlim_max = std::max(limit.rlim_max, wanted);
	if (!setrlimit(RLIMIT_NOFILE, &limit))
		return;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur >= wanted)
		return;
	options->max = std::max<rlim_t>(limit.rlim_cur / fds_of_connection, 2) - 1;
	fprintf(stderr, "rchar-forward: at most %u connections at once (RLIMIT_NOFILE is %llu)\n",
		options->max, static_cast<unsigned long long>(limit.rlim_cur));
}

class Forwarder {
public:
	Forwarder(Loop &loop, Endpoint &from, const Endpoint &to, const Options &options)
		: loop_(loop), to_(to), options_(options), log_("rchar-forward"),
		  acceptor_(loop, from, log_, [this](Fd fd) { accepted(std::move(fd)); })
	{
	}

private:
	void accepted(Fd near);
	void over(Relay *relay, const std::string &error);
	Loop &loop_;
	const Endpoint &to_;
	const Options options_;
	Log log_;
	Pipes pipes_;
	std::unordered_map<Relay *, std::unique_ptr<Relay>> relays_;
	uint64_t count_ = 0;
	Acceptor acceptor_;
};

void Forwarder::accepted(Fd near)
{
	auto relay = std::make_unique<Relay>(loop_, pipes_, std::move(near), to_,
					     [this](Relay *r, const std::string &error) {
						     over(r, error);
					     });
	Relay *r = relay.get();

	count_++;
	relays_[r] = std::move(relay);
	if (options_.verbose)
		log_.say("connection " + std::to_string(count_) + ", " +
			 std::to_string(relays_.size()) + " at once");
	if (relays_.size() == options_.max)
		acceptor_.pause();
	r->begin();
}

void Forwarder::over(Relay *relay, const std::string &error)
{
	auto at = relays_.find(relay);

	if (!error.empty() && (options_.verbose || !relay->was_connected()))
		log_.say(error);
	loop_.bury(std::move(at->second));
	relays_.erase(at);
	acceptor_.resume();
}

// SIGTERM and SIGINT end the loop, so that the socket of unix:PATH is removed.
class Signals : public Watcher {
public:
	explicit Signals(Loop &loop) : loop_(loop)
	{
		sigset_t set;

		sigemptyset(&set);
		sigaddset(&set, SIGTERM);
		sigaddset(&set, SIGINT);
		sigprocmask(SIG_BLOCK, &set, nullptr);
		fd_ = Fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
		if (!fd_)
			system_error("signalfd");
		loop_.watch(fd_.get(), EPOLLIN, this);
	}
	void ready(uint32_t) override { loop_.stop(); }

private:
	Loop &loop_;
	Fd fd_;
};

void forward(Words words, Options options)
{
	Endpoint from(words.take("FROM")), to(words.take("TO"));
	Loop loop;

	words.end();
	to.check();
	fit_descriptors(&options);
	Signals signals(loop);
	Forwarder forwarder(loop, from, to, options);

	loop.run();
}

}  // namespace

int main(int argc, char **argv)
{
	Options options;

	fill_standard_descriptors();
	signal(SIGPIPE, SIG_IGN);
	try {
		if (parse_options(argc, argv, &options))
			forward(Words({argv + optind, argv + argc}), options);
	} catch (const std::exception &e) {
		fprintf(stderr, "rchar-forward: %s\n", e.what());
		return EXIT_USAGE;
	}
	return EXIT_OK;
}
