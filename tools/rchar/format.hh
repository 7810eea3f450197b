// SPDX-License-Identifier: GPL-2.0
// How single values look, in text and in JSON.
#pragma once

#include <cstdint>
#include <string>

#include "../common/address.hh"
#include "../common/names.hh"
#include "objects.hh"

std::string id_text(uint64_t id);
std::string hex_text(uint64_t id);
std::string prefix_text(const rchar_prefix &prefix);
std::string fingerprint_text(const Fingerprint &fingerprint);
std::string mode_text(uint32_t mode);
std::string protocol_text(uint32_t version);
std::string event_name(int cmd);
// "to " or "from ", before the address of a peer.
std::string direction_text(const std::optional<bool> &initiator);

// For people only: a reason in words that say what to do, and units.
std::string reason_text(Code<rchar_reason> reason);
std::string age_text(uint64_t ms);
std::string size_text(uint64_t bytes);
std::string time_text(uint64_t ms);
