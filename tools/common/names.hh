// SPDX-License-Identifier: GPL-2.0
// Words for the values of the module's enums, as kmod/proto/names.h and words.h have
// them, and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "linux/rdma_char.h"
#include "proto/names.h"
#include "proto/ops.h"
#include "proto/state.h"
#include "proto/words.h"

// A number of the module that stands for an E, perhaps one that only a newer module knows.
template <typename E> struct Code {
	uint32_t number;
	bool operator==(E value) const { return number == static_cast<uint32_t>(value); }
	bool operator!=(E value) const { return !(*this == value); }
};

template <typename E> struct Name {
	E value;
	const char *word;
};

template <typename E> struct Names;

// The switch makes -Wswitch refuse a value of E that LIST leaves out. OTHERS: what is no value.
#define RCHAR_NAMES(E, LIST, OTHERS)                                          \
	template <> struct Names<E> {                                         \
		static constexpr Name<E> table[] = {LIST(RCHAR_NAMES_ENTRY)}; \
		static constexpr void complete(E value)                       \
		{                                                             \
			switch (value) {                                      \
				LIST(RCHAR_NAMES_CASE)                        \
				OTHERS                                        \
				break;                                        \
			}                                                     \
		}                                                             \
	};
#define RCHAR_NAMES_ENTRY(value, word) {value, word},
#define RCHAR_NAMES_CASE(value, word)  case value:

RCHAR_NAMES(rchar_channel_type, RCHAR_CHANNEL_TYPE_NAMES, )
RCHAR_NAMES(rchar_role, RCHAR_ROLE_NAMES, )
RCHAR_NAMES(rchar_access, RCHAR_ACCESS_NAMES, )
RCHAR_NAMES(rchar_atomics, RCHAR_ATOMICS_NAMES, )
RCHAR_NAMES(rchar_encrypt, RCHAR_ENCRYPT_NAMES, )
RCHAR_NAMES(rchar_channel_state, RCHAR_CHANNEL_STATE_NAMES, )
RCHAR_NAMES(rchar_link_state, RCHAR_LINK_STATE_NAMES, )
RCHAR_NAMES(rchar_session_state, RCHAR_SESSION_STATE_NAMES, )
RCHAR_NAMES(rchar_reason, RCHAR_REASON_NAMES, case __RCHAR_REASON_MAX:)
RCHAR_NAMES(rchar_lane_state, RCHAR_LANE_STATE_NAMES, )
RCHAR_NAMES(rchar_op, RCHAR_OP_NAMES, case RCHAR_OP_MAX:)

#undef RCHAR_NAMES
#undef RCHAR_NAMES_ENTRY
#undef RCHAR_NAMES_CASE

template <typename E> std::string name_of(Code<E> code)
{
	for (const Name<E> &n : Names<E>::table)
		if (code == n.value)
			return n.word;
	return "unknown-" + std::to_string(code.number);
}

// Nothing for a value that the module did not tell.
template <typename E> std::string word_of(const std::optional<Code<E>> &code)
{
	return code ? name_of(*code) : "";
}

template <typename E> std::optional<E> value_of(const std::string &word)
{
	for (const Name<E> &n : Names<E>::table)
		if (word == n.word)
			return n.value;
	return std::nullopt;
}

// "a, b or c", for people.
template <typename E> std::string choice_of()
{
	constexpr size_t count = sizeof(Names<E>::table) / sizeof(Names<E>::table[0]);
	std::string text;

	for (size_t i = 0; i < count; i++) {
		if (i)
			text += i + 1 < count ? ", " : " or ";
		text += Names<E>::table[i].word;
	}
	return text;
}
