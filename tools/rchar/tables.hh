// SPDX-License-Identifier: GPL-2.0
// Channels, links and sessions as tables, for terminals.
#pragma once

#include "objects.hh"
#include "table.hh"

// Bytes, or bytes in a second, for people: 0, 999, 1.2k, 34.5M, 678G (of 1000).
std::string human_text(double value);

std::string key_of(const Channel &channel);
std::string key_of(const Link &link);
std::string key_of(const Session &session);

// Cells that several tables have.
Cell text_cell(const std::string &text);
Cell number_cell(uint64_t number);
Cell human_cell(double number);
Cell state_cell(const Channel &channel);
Cell state_cell(const Link &link);
Cell state_cell(const Session &session);
std::string peer_text(const Channel &channel);
std::string peer_text(const Link &link);
std::string device_text(const Lane &lane);  // device and port, or "" when the lane is not up

// What 'rchar', 'rchar link' and 'rchar session' show on a terminal.
Table table_of(const std::vector<Channel> &channels);
Table table_of(const std::vector<Link> &links);
Table table_of(const std::vector<Session> &sessions);

// Is stdout a terminal, and does the user want colours there? See no-color.org.
bool is_terminal();
bool wants_colour();
