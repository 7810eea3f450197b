// SPDX-License-Identifier: GPL-2.0
#include "print.hh"

#include <sys/time.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "../common/args.hh"

namespace {

// Local time with its distance from UTC, as RFC 3339 has it.
std::string timestamp()
{
	timeval tv{};
	tm local{};
	char day[32], zone[8], text[64];

	gettimeofday(&tv, nullptr);
	localtime_r(&tv.tv_sec, &local);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &local);
	strftime(zone, sizeof(zone), "%z", &local);
	snprintf(text, sizeof(text), "%s.%06ld%.3s:%s", day, static_cast<long>(tv.tv_usec), zone,
		 zone + 3);
	return text;
}

bool reader_gone;

}  // namespace

bool has_reader() { return !reader_gone; }

void flush_output()
{
	std::string why = "what was written before is lost";
	bool failed = ferror(stdout);

	if (fflush(stdout)) {
		reader_gone = reader_gone || errno == EPIPE;
		failed = true;
		why = strerror(errno);
	}
	if (failed && !reader_gone)
		throw Failure(EXIT_USAGE, "standard output: " + why);
}

void print_json(const Json &value, const Options &options)
{
	printf("%s\n", json_text(value, options.pretty ? 2 : -1).c_str());
	flush_output();
}

void print_event(const Event &event, const Options &options)
{
	if (options.json) {
		Json json = json_of(event);

		json["time"] = timestamp();
		printf("%s\n", json_text(json).c_str());
	} else {
		if (options.timestamps)
			printf("%s ", timestamp().c_str());
		fputs(text_of(event).c_str(), stdout);
	}
	flush_output();
}

void print_version(const std::optional<Info> &info, const Options &options)
{
	if (options.json) {
		Json json = Json::object();

		json["tool"] = RCHAR_VERSION;
		if (info)
			json.update(json_of(*info));
		else
			json["module"] = nullptr;
		print_json(json, options);
		return;
	}
	printf("rchar %s\n", RCHAR_VERSION);
	fputs(info ? text_of(*info, options.details).c_str() : "rdma_char is not loaded\n", stdout);
}
