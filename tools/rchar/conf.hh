// SPDX-License-Identifier: GPL-2.0
// Configuration files: lines 'add ...' and 'key add ...', as rchar.conf(5) describes them. All
// files are read and checked whole before anything is done.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "keyfile.hh"
#include "settings.hh"

#define RCHAR_CONF_DIR "/etc/rchar"

// Where a line stands.
struct Place {
	std::string file;
	unsigned line;

	std::string text() const { return file + ":" + std::to_string(line); }
};

struct ConfKey {
	Place place;
	std::string name, path;
	std::unique_ptr<Secret> secret;
	Fingerprint fingerprint;
};

struct ConfChannel {
	Place place;
	ChannelWords words;  // complete
};

struct Conf {
	std::vector<ConfKey> keys;
	std::vector<ConfChannel> channels;
};

// Of those files, "-" for stdin; without any, of rchar.conf and conf.d/*.conf in RCHAR_CONF_DIR.
Conf read_conf(const std::vector<std::string> &paths);
// Where 'save' says that the secret of a key is.
std::string key_path(const std::string &name);
