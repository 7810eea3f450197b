// SPDX-License-Identifier: GPL-2.0
// rchar-perf - how fast a channel is.
#include <getopt.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "../common/args.hh"
#include "client.hh"
#include "request.hh"

namespace {

void print_help()
{
	puts("usage: rchar-perf serve ENDPOINT [-1] [-T]\n"
	     "       rchar-perf bandwidth ENDPOINT [-s SIZES] [-t SEC] [-a TIME | [-d N] [-w] [-q]]\n"
	     "       rchar-perf latency ENDPOINT [-s SIZES] [-n N] [[-w] [-q]]\n"
	     "       rchar-perf open ENDPOINT [-n N]\n"
	     "       rchar-perf sessions ENDPOINT [-c COUNTS] [-s SIZE] [-t SEC]\n"
	     "\n"
	     "Start 'serve' at one end, then measure from the other. A memory channel needs no\n"
	     "server: there, bandwidth and latency are of reads (-w: writes) of the region.\n"
	     "\n"
	     "ENDPOINT := /dev/rchar/NAME | tcp:HOST:PORT, to compare with\n"
	     "SIZES    := bytes with k m g, several with commas: 64,4k,1m\n"
	     "\n"
	     "  bandwidth         one session, until all of it has arrived\n"
	     "  latency           there and back\n"
	     "  open              open() alone, and until the first byte of the answer\n"
	     "  sessions          so many at once, one thread writes to each in turn\n"
	     "\n"
	     "  -s, --size SIZES  of each write (64k; latency: 64)\n"
	     "  -t, --time SEC    how long (2)\n"
	     "  -a, --at TIME     bandwidth, not of memory: write at once, count from this time\n"
	     "                    on (seconds since 1970)\n"
	     "  -n, --repeat N    how often (1000)\n"
	     "  -c, --count LIST  sessions (1,16,256)\n"
	     "  -d, --depth N     memory, bandwidth: requests at once, by io_uring (1)\n"
	     "  -w, --write       memory: write\n"
	     "  -q, --sequential  memory: blocks in sequence instead of at random\n"
	     "  -1, --once        serve: one session, then end\n"
	     "  -T, --threads     serve: one thread for each session\n"
	     "  -j, --json        one JSON object for each result\n"
	     "  -h, --help        this\n"
	     "  -V, --version     the version");
}

std::vector<uint32_t> parse_sizes(const char *text, uint32_t most)
{
	std::vector<uint32_t> out;
	std::stringstream list(text);
	std::string word;

	while (std::getline(list, word, ',')) {
		out.push_back(parse_size(word, "a size"));
		if (!out.back() || out.back() > most)
			usage_error("'" + word + "': 1 to " + std::to_string(most) +
				    " is expected");
	}
	if (out.empty())
		usage_error("a list is empty");
	return out;
}

uint32_t parse_count(const char *text, const char *what, uint32_t most)
{
	uint32_t value = parse_number(text, what);

	if (!value || value > most)
		usage_error(std::string(what) + ": 1 to " + std::to_string(most) + " is expected");
	return value;
}

double parse_seconds(const char *text, double most)
{
	char *end;
	double seconds = strtod(text, &end);

	if (*end || end == text || !(seconds > 0 && seconds < most))
		usage_error(std::string("'") + text + "': seconds are expected");
	return seconds;
}

// What can be done, and the options that each takes. Of a memory channel, measure_memory() does it,
// with other options; none: it has no such work.
struct WorkWords {
	const char *name, *options, *memory_options;
	void (*measure)(const Endpoint &endpoint, const Options &options);
};

constexpr WorkWords works[] = {
	{"serve", "1T", "", nullptr},
	{"bandwidth", "sta", "stdwq", measure_bandwidth},
	{"latency", "sn", "snwq", measure_latency},
	{"open", "n", "", measure_open},
	{"sessions", "cst", "", measure_sessions},
};

const WorkWords &find_work(const std::string &name)
{
	for (const WorkWords &work : works)
		if (name == work.name)
			return work;
	usage_error("'" + name + "': serve, bandwidth, latency, open or sessions is expected");
}

// Fails if one of the options given is not among those allowed.
void check_options(const std::string &given, const std::string &allowed, const std::string &of)
{
	size_t other = given.find_first_not_of(allowed + "j");

	if (other != std::string::npos)
		usage_error(std::string("'-") + given[other] + "' is not an option of " + of +
			    " (see --help)");
}

// False: nothing is left to do. GIVEN gets the letters of the options.
bool parse_options(int argc, char **argv, Options *options, std::string *given)
{
	static const option longs[] = {
		{"size", required_argument, nullptr, 's'},
		{"time", required_argument, nullptr, 't'},
		{"at", required_argument, nullptr, 'a'},
		{"repeat", required_argument, nullptr, 'n'},
		{"count", required_argument, nullptr, 'c'},
		{"depth", required_argument, nullptr, 'd'},
		{"write", no_argument, nullptr, 'w'},
		{"sequential", no_argument, nullptr, 'q'},
		{"once", no_argument, nullptr, '1'},
		{"threads", no_argument, nullptr, 'T'},
		{"json", no_argument, nullptr, 'j'},
		{"help", no_argument, nullptr, 'h'},
		{"version", no_argument, nullptr, 'V'},
		{nullptr, 0, nullptr, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "s:t:a:n:c:d:wq1TjhV", longs, nullptr)) != -1) {
		given->push_back(static_cast<char>(c));
		switch (c) {
		case 's':
			options->sizes = parse_sizes(optarg, BLOCK_MAX);
			break;
		case 't':
			options->seconds = parse_seconds(optarg, 1e6);
			break;
		case 'a':
			options->at = std::chrono::duration<double>(parse_seconds(optarg, 1e11));
			break;
		case 'n':
			options->repeats = parse_count(optarg, "-n", 10000000);
			break;
		case 'c':
			options->counts = parse_sizes(optarg, 1000000);
			break;
		case 'd':
			options->depth = parse_count(optarg, "-d", 4096);
			break;
		case 'w':
			options->write = true;
			break;
		case 'q':
			options->sequential = true;
			break;
		case '1':
			options->once = true;
			break;
		case 'T':
			options->threads = true;
			break;
		case 'j':
			options->json = true;
			break;
		case 'h':
			print_help();
			return false;
		case 'V':
			puts("rchar-perf " RCHAR_VERSION);
			return false;
		default:
			throw Failure(EXIT_USAGE, "see 'rchar-perf --help'");
		}
	}
	return true;
}

void run(Words words, Options options, const std::string &given)
{
	const WorkWords &work = find_work(words.take("what to do (see 'rchar-perf --help')"));
	std::string name = work.name;
	Endpoint endpoint(words.take("the endpoint"));

	words.end();
	if (!endpoint.is_channel() && endpoint.kind() != Endpoint::Kind::tcp)
		usage_error("'" + endpoint.text() + "': a channel or tcp:HOST:PORT is expected");
	// Before there is a session: what no endpoint takes.
	check_options(given, std::string(work.options) + work.memory_options, name);
	if (name == "serve") {
		serve(endpoint, options.once, options.threads);
		return;
	}
	if (name == "sessions" && options.sizes.size() > 1)
		usage_error("sessions: one size is expected");
	bool memory = endpoint.is_channel() && kind_of(endpoint.open().get()) == Kind::memory;

	if (memory && !*work.memory_options)
		usage_error("'" + name + "' is for stream and message channels");
	check_options(given, memory ? work.memory_options : work.options,
		      name + (memory ? " of a memory channel" : ", except of a memory channel"));
	if (name == "latency" && given.find('s') == std::string::npos)
		options.sizes = {64};
	if (memory)
		measure_memory(endpoint, options, name == "latency");
	else
		work.measure(endpoint, options);
}

}  // namespace

int main(int argc, char **argv)
{
	Options options;
	std::string given;

	signal(SIGPIPE, SIG_IGN);
	try {
		if (parse_options(argc, argv, &options, &given))
			run(Words({argv + optind, argv + argc}), options, given);
	} catch (const Failure &f) {
		fprintf(stderr, "rchar-perf: %s\n", f.what());
		return f.code;
	} catch (const std::exception &e) {
		fprintf(stderr, "rchar-perf: %s\n", e.what());
		return EXIT_USAGE;
	}
	return EXIT_OK;
}
