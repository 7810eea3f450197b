// SPDX-License-Identifier: GPL-2.0
#include "tracing.hh"

#include <unistd.h>

#include <cstring>

// These headers are written for C alone.
extern "C" {
#include <event-parse.h>
#include <tracefs.h>
}

#include "../common/args.hh"

namespace {

const char *const group = "rdma_char";

struct Reader {
	tracefs_instance *instance;
	const std::function<bool(const TraceRecord &)> &f;
};

int call(tep_event *event, tep_record *record, int, void *context)
{
	auto *reader = static_cast<Reader *>(context);

	if (!strcmp(event->system, group) && !reader->f(TraceRecord(event, record)))
		tracefs_iterate_stop(reader->instance);
	return 0;
}

}  // namespace

std::string TraceRecord::name() const { return event_->name; }
uint64_t TraceRecord::time_ns() const { return record_->ts; }
long long TraceRecord::lost() const { return record_->missed_events; }

uint64_t TraceRecord::number(const char *field) const
{
	unsigned long long value = 0;

	tep_get_field_val(nullptr, event_, field, record_, &value, 0);
	return value;
}

std::string TraceRecord::text(const char *field) const
{
	int len = 0;
	auto *raw = static_cast<const char *>(
		tep_get_field_raw(nullptr, event_, field, record_, &len, 0));

	return raw ? std::string(raw, strnlen(raw, static_cast<size_t>(len))) : "";
}

Tracing::Tracing()
{
	const char *const systems[] = {group, nullptr};

	// Mounts tracefs where it is not.
	if (!tracefs_tracing_dir())
		system_error("trace: tracefs cannot be mounted");
	tep_ = tracefs_local_events_system(nullptr, systems);
	if (!tep_)
		system_error("trace: the events of rdma_char");
	instance_ = tracefs_instance_create(("rchar-" + std::to_string(getpid())).c_str());
	if (!instance_) {
		tep_free(tep_);
		system_error("trace: an instance of tracefs");
	}
	tracefs_instance_file_write(instance_, "trace_clock", "mono");
}

Tracing::~Tracing()
{
	tracefs_event_disable(instance_, group, nullptr);
	tracefs_instance_destroy(instance_);
	tracefs_instance_free(instance_);
	tep_free(tep_);
}

void Tracing::enable(const char *event, const std::string &filter)
{
	if (!filter.empty() &&
	    tracefs_event_file_write(instance_, group, event, "filter", filter.c_str()) < 0)
		system_error(std::string("trace: the filter of ") + event);
	if (tracefs_event_enable(instance_, group, event) < 0)
		system_error(std::string("trace: ") + event);
}

void Tracing::read(const std::function<bool(const TraceRecord &)> &f)
{
	Reader reader{instance_, f};

	tracefs_iterate_raw_events(tep_, instance_, nullptr, 0, call, &reader);
}
