// SPDX-License-Identifier: GPL-2.0
// What sysfs and other small files have: one line.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

// The first line; "" when there is none, as for a GID that is not set, or no such file.
inline std::string first_line(const std::filesystem::path &file)
{
	std::ifstream in(file);
	std::string line;

	std::getline(in, line);
	return line;
}
