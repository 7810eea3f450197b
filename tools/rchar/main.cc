// SPDX-License-Identifier: GPL-2.0
// rchar - configure rdma_char. Options here, commands in commands.cc.
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <unistd.h>

#include <climits>
#include <cstdio>

#include "commands.hh"
#include "devices.hh"
#include "print.hh"

namespace {

void enter_netns(const std::string &name)
{
	std::string path = "/run/netns/" + name;
	int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, CLONE_NEWNET))
		system_error("network namespace '" + name + "'");
	close(fd);
	devices_of_another_netns();
}

// In milliseconds, it has to fit into an int.
int parse_seconds(const std::string &text)
{
	constexpr uint32_t max = INT_MAX / 1000;
	uint32_t seconds = parse_number(text, "-w");

	if (seconds > max)
		usage_error("-w must be at most " + std::to_string(max));
	return static_cast<int>(seconds);
}

// False: nothing is left to do.
bool parse_options(int argc, char **argv, Options *options)
{
	enum { EXIST_OK = 256, IF_EXISTS, DRY_RUN };
	static const option longs[] = {
		{"json", no_argument, nullptr, 'j'},
		{"pretty", no_argument, nullptr, 'p'},
		{"details", no_argument, nullptr, 'd'},
		{"timestamp", no_argument, nullptr, 't'},
		{"netns", required_argument, nullptr, 'n'},
		{"wait", required_argument, nullptr, 'w'},
		{"exist-ok", no_argument, nullptr, EXIST_OK},
		{"if-exists", no_argument, nullptr, IF_EXISTS},
		{"dry-run", no_argument, nullptr, DRY_RUN},
		{"version", no_argument, nullptr, 'V'},
		{"help", no_argument, nullptr, 'h'},
		{nullptr, 0, nullptr, 0},
	};
	int c;

	// Options may stand anywhere; getopt prints what it does not know.
	while ((c = getopt_long(argc, argv, "jpdtn:w:Vh", longs, nullptr)) != -1) {
		switch (c) {
		case 'p':
			options->pretty = true;
			options->json = true;
			break;
		case 'j':
			options->json = true;
			break;
		case 'd':
			options->details = true;
			break;
		case 't':
			options->timestamps = true;
			break;
		case 'n':
			enter_netns(optarg);
			break;
		case 'w':
			options->wait_s = parse_seconds(optarg);
			break;
		case EXIST_OK:
			options->exist_ok = true;
			break;
		case IF_EXISTS:
			options->if_exists = true;
			break;
		case DRY_RUN:
			options->dry_run = true;
			break;
		case 'V':
			printf("rchar %s\n", RCHAR_VERSION);
			return false;
		case 'h':
			print_help();
			return false;
		default:
			throw Failure(EXIT_USAGE, "see 'rchar help'");
		}
	}
	return true;
}

}  // namespace

int main(int argc, char **argv)
{
	Options options;

	try {
		if (parse_options(argc, argv, &options))
			run_command(Words({argv + optind, argv + argc}), options);
		flush_output();
	} catch (const Failure &f) {
		fprintf(stderr, "rchar: %s\n", f.what());
		return f.code;
	} catch (const std::exception &e) {
		fprintf(stderr, "rchar: %s\n", e.what());
		return EXIT_USAGE;
	}
	return EXIT_OK;
}
