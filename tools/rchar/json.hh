// SPDX-License-Identifier: GPL-2.0
// Objects as JSON, for programs. Keys are snake_case with the unit in the name; they are added,
// never changed. What an object does not have has no key.
#pragma once

#include <nlohmann/json.hpp>

#include "objects.hh"

using Json = nlohmann::ordered_json;

std::string json_text(const Json &value, int indent = -1);  // -1: one line
Json json_of(const Channel &channel);
Json json_of(const Link &link);
Json json_of(const Session &session);
Json json_of(const ChannelStats &stats);
Json json_of(const Event &event);
Json json_of(const Info &info);
Json json_of(const Key &key);
