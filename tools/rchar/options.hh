// SPDX-License-Identifier: GPL-2.0
// The options of a command line.
#pragma once

struct Options {
	bool json = false;
	bool pretty = false;
	bool details = false;
	bool timestamps = false;
	int wait_s = -1;  // -1: do not wait
	bool exist_ok = false;
	bool if_exists = false;
	bool dry_run = false;
};
