// SPDX-License-Identifier: GPL-2.0
// From netlink attributes to JSON objects with stable keys, and from those to text.
// Keys are snake_case with the unit in the name; they are added, never changed.
#pragma once

#include <netlink/attr.h>

#include <nlohmann/json.hpp>
#include <string>

using Json = nlohmann::ordered_json;

Json channel_object(nlattr *attrs, int len);
Json link_object(nlattr *attrs, int len);
Json session_object(nlattr *attrs, int len);
Json info_object(nlattr *attrs, int len);
Json event_object(int cmd, nlattr *attrs, int len);

std::string channel_text(const Json &channel, bool details);
std::string link_text(const Json &link, bool details);
std::string session_text(const Json &session, bool details);
std::string event_text(const Json &event);

// A reason in words that say what to do, for people.
std::string reason_text(const std::string &reason);
std::string age_text(uint64_t ms);
std::string size_text(uint64_t bytes);
std::string time_text(uint64_t ms);
