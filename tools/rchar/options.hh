// SPDX-License-Identifier: GPL-2.0
// The options in front of a command.
#pragma once

struct Options {
	bool json = false;
	bool pretty = false;
	bool details = false;
	bool timestamps = false;
	int wait_s = -1;  // -1: do not wait
};
