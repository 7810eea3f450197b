// SPDX-License-Identifier: GPL-2.0
// The settings of channels, in one table: what command lines say, what requests carry, and what
// 'save' writes. A row is all that a new setting needs here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../common/args.hh"
#include "objects.hh"
#include "request.hh"

enum class Change {
	BY_SET,	  // a request of 'set'
	BY_NODE,  // 'set' changes the device node
	NEVER,
};

struct Setting {
	const char *key;
	int attr;
	Change change;
	bool (*applies)(const Channel &channel);  // by its type and role
	const char *initial;  // the word for a channel added without it; nullptr: it must be given
	uint64_t min, max;

	// The words that a value may be, when these are few; else none.
	std::vector<std::string> (*choices)();
	// The word goes to the channel; key is for the error text.
	void (*parse)(const std::string &word, const char *key, Channel *out);
	// What the channel has, as a word that parse() takes; nothing: it has none.
	std::optional<std::string> (*text)(const Channel &channel);
	void (*put)(Request &r, int attr, const Channel &channel);
	// For settings with limits: the value, and how a value is written. Else nullptr.
	uint64_t (*number)(const Channel &channel);
	std::string (*number_text)(uint64_t value);
};

const std::vector<Setting> &settings();

// What a command says of a channel. given: the settings that it names, in order.
struct ChannelWords {
	Channel channel;
	std::vector<const Setting *> given;
};

// Refuses the word that stands for no key.
void check_key_name(const std::string &name);

// What follows 'add NAME': type, role, addresses, and KEY VALUE pairs.
ChannelWords take_new_channel(const std::string &name, Words &words);
// What follows 'set NAME': KEY VALUE pairs of what may change.
ChannelWords take_changes(const std::string &name, Words &words);

// The name and the addresses, and the settings that the words name.
Request new_channel_request(const ChannelWords &words);
// Of the settings that the words name, those that a request can change.
Request change_request(const ChannelWords &words);
