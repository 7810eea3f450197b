// SPDX-License-Identifier: GPL-2.0
// Memory channels: liburing keeps as many requests in progress as were asked for.
#include <liburing.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "../common/args.hh"
#include "client.hh"
#include "result.hh"

namespace {

constexpr size_t PAGE = 4096;

class Ring {
public:
	explicit Ring(unsigned int depth)
	{
		int ret = io_uring_queue_init(depth, &ring, 0);

		if (ret)
			throw Failure(EXIT_USAGE, std::string("io_uring: ") + strerror(-ret));
	}
	~Ring() { io_uring_queue_exit(&ring); }
	Ring(const Ring &) = delete;
	io_uring ring;
};

struct Request {
	Clock::time_point start;
	std::unique_ptr<void, void (*)(void *)> buffer{nullptr, free};
};

// Where the next request goes.
class Offsets {
public:
	Offsets(uint64_t region, uint32_t block, bool sequential)
		: blocks_(region / block), block_(block), sequential_(sequential)
	{
		if (!blocks_)
			usage_error("the region is smaller than a block");
	}
	uint64_t next() { return (sequential_ ? next_++ % blocks_ : random_() % blocks_) * block_; }

private:
	uint64_t blocks_, block_, next_ = 0;
	bool sequential_;
	std::mt19937_64 random_{1};
};

void submit(io_uring *ring, int fd, Request *request, uint32_t size, uint64_t at, bool write)
{
	io_uring_sqe *sqe = io_uring_get_sqe(ring);

	if (write)
		io_uring_prep_write(sqe, fd, request->buffer.get(), size, at);
	else
		io_uring_prep_read(sqe, fd, request->buffer.get(), size, at);
	io_uring_sqe_set_data(sqe, request);
	request->start = Clock::now();
}

void reap(io_uring_cqe *cqe, uint32_t size, Latencies *latencies)
{
	const auto *request = static_cast<Request *>(io_uring_cqe_get_data(cqe));

	if (cqe->res != static_cast<int>(size))
		throw Failure(EXIT_USAGE, cqe->res < 0 ? strerror(-cqe->res) : "a short transfer");
	latencies->add(seconds_since(request->start));
}

}  // namespace

void measure_memory(const Endpoint &endpoint, const Options &options, bool latency)
{
	for (uint32_t size : options.sizes) {
		Fd fd = endpoint.open();
		Offsets offsets(region_size(fd.get()), size, options.sequential);
		std::vector<Request> requests(options.depth);
		Ring ring(options.depth);
		auto result = begin_result(options.write ? "write" : "read", endpoint, fd.get());
		Latencies latencies;
		BusyClock busy;
		uint32_t flying = 0;

		for (Request &request : requests) {
			request.buffer.reset(aligned_alloc(PAGE, (size + PAGE - 1) / PAGE * PAGE));
			memset(request.buffer.get(), 'x', size);
		}
		auto start = Clock::now();
		for (Request &request : requests) {
			submit(&ring.ring, fd.get(), &request, size, offsets.next(), options.write);
			flying++;
		}
		while (flying) {
			io_uring_cqe *cqe;
			int ret = io_uring_submit_and_wait(&ring.ring, 1);

			if (ret < 0 && ret != -EINTR)
				throw Failure(EXIT_USAGE,
					      std::string("io_uring: ") + strerror(-ret));
			while (io_uring_peek_cqe(&ring.ring, &cqe) == 0) {
				auto *request = static_cast<Request *>(io_uring_cqe_get_data(cqe));

				reap(cqe, size, &latencies);
				io_uring_cqe_seen(&ring.ring, cqe);
				flying--;
				if (latency ? latencies.count() >= options.repeats :
					      seconds_since(start) >= options.seconds)
					continue;
				submit(&ring.ring, fd.get(), request, size, offsets.next(),
				       options.write);
				flying++;
			}
		}
		double seconds = seconds_since(start);

		result["size"] = size;
		result["depth"] = options.depth;
		if (latency)
			result["repeats"] = latencies.count();
		result["IOPS"] = static_cast<double>(latencies.count()) / seconds;
		result["MB/s"] = static_cast<double>(latencies.count()) * size / 1e6 / seconds;
		result["us"] = latencies.json();
		result["busy_us/op"] = busy.seconds() * 1e6 /
				       static_cast<double>(latencies.count());
		print_result(result, options.json);
	}
}
