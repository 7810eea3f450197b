// SPDX-License-Identifier: GPL-2.0
// Secrets as text: 32 bytes in base64, as 'wg genpsk' writes them. A secret never stands on a
// command line, and its bytes are wiped as soon as they are not needed.
#pragma once

#include <array>
#include <string>

#include "linux/rdma_char.h"
#include "objects.hh"

class Secret {
public:
	Secret() = default;
	~Secret();
	Secret(const Secret &) = delete;
	Secret &operator=(const Secret &) = delete;

	static constexpr size_t size = RCHAR_KEY_LEN;
	uint8_t *data() { return bytes_.data(); }
	const uint8_t *data() const { return bytes_.data(); }

private:
	std::array<uint8_t, size> bytes_{};
};

// A new secret, to stdout. Warns when stdout is a file that others can read.
void print_new_secret();

// From a file, or "-" for stdin. Warns when others can read the file.
void read_secret(const std::string &path, Secret *out);

// As the module computes it: tells whether two keys are the same.
Fingerprint fingerprint_of(const Secret &secret);
