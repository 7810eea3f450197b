// SPDX-License-Identifier: GPL-2.0
// The module's trace events, on libtracefs: an instance of our own, with buffers of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

struct tep_event;
struct tep_handle;
struct tep_record;
struct tracefs_instance;

// The fields of one event.
class TraceRecord {
public:
	TraceRecord(tep_event *event, tep_record *record) : event_(event), record_(record) {}
	std::string name() const;
	uint64_t time_ns() const;  // of CLOCK_MONOTONIC
	long long lost() const;	   // events before this one
	uint64_t number(const char *field) const;
	std::string text(const char *field) const;

private:
	tep_event *event_;
	tep_record *record_;
};

// Fails with a Failure. The kernel removes the instance with the object.
class Tracing {
public:
	Tracing();
	~Tracing();
	Tracing(const Tracing &) = delete;

	// filter: as in the file 'filter' of an event; may be empty
	void enable(const char *event, const std::string &filter);
	// Calls f for all events since the last call, until f returns false.
	void read(const std::function<bool(const TraceRecord &)> &f);

private:
	tracefs_instance *instance_ = nullptr;
	tep_handle *tep_ = nullptr;
};
