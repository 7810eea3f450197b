// SPDX-License-Identifier: GPL-2.0
// Objects as lines of text, for people. What an object does not have is 0 or nothing.
#pragma once

#include <string>

#include "objects.hh"

std::string text_of(const Channel &channel, bool details);
std::string text_of(const Link &link, bool details);
std::string text_of(const Session &session, bool details);
std::string text_of(const ChannelStats &stats, bool details);
std::string text_of(const Info &info, bool details);
std::string text_of(const Key &key, bool details);
std::string text_of(const Event &event);
