// SPDX-License-Identifier: GPL-2.0
#include "client.hh"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "../common/args.hh"
#include "request.hh"
#include "result.hh"

namespace {

constexpr double MB = 1e6;
constexpr uint32_t WARM_UP = 50;

void ask(int fd, Work work, uint32_t block, uint32_t group = 0)
{
	Request request = Request::make(work, block, group);

	write_all(fd, &request, sizeof(request));
}

// What the server of a session of Work::sink or shared has got, after finish_writing().
uint64_t arrived(int fd)
{
	uint64_t count = 0;

	if (!read_all(fd, &count, sizeof(count)))
		throw Failure(EXIT_USAGE, "the server ended before it counted");
	return le64toh(count);
}

// Until sessions of Work::shared have got so many; @fd is of Work::total.
void wait_for_total(int fd, uint64_t bytes)
{
	uint64_t wire = htole64(bytes);

	write_all(fd, &wire, sizeof(wire));
	if (!read_all(fd, &wire, sizeof(wire)))
		throw Failure(EXIT_USAGE, "the server ended before all had arrived");
}

// Bytes of kernel objects on this host (proc(5)).
double slab()
{
	std::ifstream meminfo("/proc/meminfo");
	std::string key, rest;
	double kib;

	while (meminfo >> key >> kib && std::getline(meminfo, rest))
		if (key == "Slab:")
			return kib * 1024;
	return 0;
}

}  // namespace

nlohmann::ordered_json begin_result(const char *work, const Endpoint &endpoint, int fd)
{
	nlohmann::ordered_json result;

	result["work"] = work;
	result["endpoint"] = endpoint.text();
	result["type"] = kind_name(kind_of(fd));
	return result;
}

void measure_bandwidth(const Endpoint &endpoint, const Options &options)
{
	for (uint32_t size : options.sizes) {
		std::vector<char> block(size, 'x');
		Fd fd = endpoint.open();
		auto result = begin_result("bandwidth", endpoint, fd.get());

		ask(fd.get(), Work::sink, size);
		auto now = [] { return std::chrono::system_clock::now().time_since_epoch(); };

		if (options.at != options.at.zero() && now() >= options.at)
			throw Failure(EXIT_USAGE, "the time to count from is past");
		while (now() < options.at)
			write_all(fd.get(), block.data(), size);
		BusyClock busy;
		auto start = Clock::now();
		uint64_t bytes = 0;

		for (; seconds_since(start) < options.seconds; bytes += size)
			write_all(fd.get(), block.data(), size);
		double seconds = seconds_since(start), busy_seconds = busy.seconds();

		finish_writing(fd.get());
		uint64_t all = arrived(fd.get());

		// Sessions that are compared stop counting at the same time, although each has more
		// on its way.
		if (options.at == options.at.zero()) {
			bytes = all;
			seconds = seconds_since(start);
			busy_seconds = busy.seconds();
		}
		result["size"] = size;
		result["seconds"] = seconds;
		result["bytes"] = bytes;
		result["MB/s"] = bytes / MB / seconds;
		result["busy_s/GiB"] = busy_seconds / (static_cast<double>(bytes) / (1 << 30));
		print_result(result, options.json);
	}
}

void measure_latency(const Endpoint &endpoint, const Options &options)
{
	for (uint32_t size : options.sizes) {
		std::vector<char> block(size, 'x');
		Latencies latencies;
		Fd fd = endpoint.open();
		auto result = begin_result("latency", endpoint, fd.get());
		auto round_trip = [&] {
			auto start = Clock::now();

			write_all(fd.get(), block.data(), size);
			if (!read_all(fd.get(), block.data(), size))
				throw Failure(EXIT_USAGE, "the server ended");
			return seconds_since(start);
		};
		uint32_t i;

		ask(fd.get(), Work::echo, size);
		for (i = 0; i < WARM_UP; i++)
			round_trip();
		latencies.reserve(options.repeats);
		BusyClock busy;
		for (i = 0; i < options.repeats; i++)
			latencies.add(round_trip());
		result["size"] = size;
		result["repeats"] = options.repeats;
		result["us"] = latencies.json();
		result["busy_us/op"] = busy.seconds() * 1e6 / options.repeats;
		print_result(result, options.json);
	}
}

void measure_open(const Endpoint &endpoint, const Options &options)
{
	Latencies opened, first_byte;
	nlohmann::ordered_json result;
	char c;

	for (uint32_t i = 0; i < options.repeats; i++) {
		auto start = Clock::now();
		Fd fd = endpoint.open();

		if (!i)
			result = begin_result("open", endpoint, fd.get());
		else
			opened.add(seconds_since(start));
		ask(fd.get(), Work::greet, 0);
		if (!read_all(fd.get(), &c, 1))
			throw Failure(EXIT_USAGE, "the server ended");
		if (i)
			first_byte.add(seconds_since(start));
	}
	result["repeats"] = opened.count();
	result["open_us"] = opened.json();
	result["first_byte_us"] = first_byte.json();
	print_result(result, options.json);
}

void measure_sessions(const Endpoint &endpoint, const Options &options)
{
	uint32_t most = *std::max_element(options.counts.begin(), options.counts.end());
	std::vector<char> block(options.sizes.front(), 'x');
	uint32_t group = std::random_device{}();
	rlimit limit{};

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, most + 64);
	setrlimit(RLIMIT_NOFILE, &limit);
	for (uint32_t count : options.counts) {
		Fd total = endpoint.open();
		std::vector<Fd> fds;
		uint64_t bytes = 0;
		size_t next = 0;

		ask(total.get(), Work::total, 0, ++group);
		fds.reserve(count);
		double memory = slab();
		auto start = Clock::now();
		while (fds.size() < count) {
			fds.push_back(endpoint.open());
			ask(fds.back().get(), Work::shared, block.size(), group);
		}
		double opened = seconds_since(start);
		memory = slab() - memory;
		auto result = begin_result("sessions", endpoint, fds.front().get());

		start = Clock::now();
		while (seconds_since(start) < options.seconds || next < count) {
			write_all(fds[next % count].get(), block.data(), block.size());
			next++;
		}
		// To end so many sessions takes its time, too; it is not counted.
		wait_for_total(total.get(), next * block.size());
		double seconds = seconds_since(start);
		for (const Fd &fd : fds)
			finish_writing(fd.get());
		for (const Fd &fd : fds)
			bytes += arrived(fd.get());
		if (bytes != next * block.size())
			throw Failure(EXIT_USAGE, "bytes were lost");

		result["sessions"] = count;
		result["size"] = block.size();
		result["open_all_ms"] = opened * 1e3;
		result["memory_per_session"] = memory / count;
		result["MB/s"] = bytes / MB / seconds;
		print_result(result, options.json);
	}
}
