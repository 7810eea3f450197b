// SPDX-License-Identifier: GPL-2.0
// Objects to stdout, as text or as JSON.
#pragma once

#include <cstdio>
#include <optional>
#include <vector>

#include "json.hh"
#include "objects.hh"
#include "options.hh"
#include "tables.hh"
#include "text.hh"

void flush_output();  // Failure, unless the reader has gone
bool has_reader();    // false when that has found out that there is none, and SIGPIPE is ignored
void print_json(const Json &value, const Options &options);

template <typename T> void print_list(const std::vector<T> &objects, const Options &options)
{
	Json list = Json::array();

	for (const T &o : objects)
		if (options.json)
			list.push_back(json_of(o));
		else
			fputs(text_of(o, options.details).c_str(), stdout);
	if (options.json)
		print_json(list, options);
}

// As a table on a terminal, unless the options want all there is.
template <typename T> void print_table_of(const std::vector<T> &objects, const Options &options)
{
	if (is_terminal() && !options.json && !options.details)
		print_table(table_of(objects), wants_colour());
	else
		print_list(objects, options);
}

void print_event(const Event &event, const Options &options);
// Nothing: the module is not loaded.
void print_version(const std::optional<Info> &info, const Options &options);
