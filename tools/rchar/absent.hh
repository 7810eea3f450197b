// SPDX-License-Identifier: GPL-2.0
// Why the module is not there: not built, not signed, or only not loaded.
#pragma once

#include <string>

struct Absence {
	std::string why;
	std::string advice;  // a command where there is one
};

Absence why_absent();
