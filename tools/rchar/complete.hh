// SPDX-License-Identifier: GPL-2.0
// What may stand at the end of a command line, for the completion of shells.
#pragma once

#include <string>
#include <vector>

// Prints the words that fit, one on a line. The last word is the one being typed, perhaps empty.
// Nothing: a word of the user's choice, or the name of a file.
void complete_words(std::vector<std::string> words, const std::vector<std::string> &commands);
