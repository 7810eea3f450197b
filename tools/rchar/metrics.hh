// SPDX-License-Identifier: GPL-2.0
// What is counted, for Prometheus: its text exposition format, which the textfile collector of the
// node exporter reads. Names and labels are added, never changed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "objects.hh"

// No info: the module is not there.
std::string metrics_text(const std::optional<Info> &info, const std::vector<Channel> &channels,
			 const std::vector<Link> &links);
