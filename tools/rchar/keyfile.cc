// SPDX-License-Identifier: GPL-2.0
#include "keyfile.hh"

#include <blake2.h>
#include <fcntl.h>
#include <nettle/base64.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "../common/args.hh"

namespace {

constexpr size_t TEXT_LEN = BASE64_ENCODE_RAW_LENGTH(Secret::size);

// A buffer for a secret as text.
struct Text {
	char bytes[256] = {};
	size_t len = 0;
	~Text() { explicit_bzero(bytes, sizeof(bytes)); }
};

struct File {
	int fd;
	~File()
	{
		if (fd > STDERR_FILENO)
			close(fd);
	}
};

bool others_can_read(int fd)
{
	struct stat st {};

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && (st.st_mode & 077);
}

int open_secret(const std::string &path)
{
	if (path == "-")
		return STDIN_FILENO;
	int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		throw Failure(EXIT_USAGE, "key: " + path + ": " + strerror(errno));
	if (others_can_read(fd))
		fprintf(stderr, "rchar: warning: other users can read %s: chmod 600 %s\n",
			path.c_str(), path.c_str());
	return fd;
}

// All of it, so that something after the key is noticed.
void read_text(int fd, const std::string &path, Text *out)
{
	for (;;) {
		ssize_t n = read(fd, out->bytes + out->len, sizeof(out->bytes) - out->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			throw Failure(EXIT_USAGE, "key: " + path + ": " + strerror(errno));
		if (!n)
			break;
		out->len += static_cast<size_t>(n);
		if (out->len == sizeof(out->bytes))
			break;
	}
	while (out->len && strchr(" \t\r\n", out->bytes[out->len - 1]))
		out->len--;
}

bool decode_text(const Text &text, Secret *out)
{
	uint8_t bytes[BASE64_DECODE_LENGTH(TEXT_LEN)];
	size_t len = sizeof(bytes);
	base64_decode_ctx ctx;

	if (text.len != TEXT_LEN)
		return false;
	base64_decode_init(&ctx);
	bool ok = base64_decode_update(&ctx, &len, bytes, text.len, text.bytes) &&
		  base64_decode_final(&ctx) && len == Secret::size;
	if (ok)
		memcpy(out->data(), bytes, Secret::size);
	explicit_bzero(bytes, sizeof(bytes));
	explicit_bzero(&ctx, sizeof(ctx));
	return ok;
}

}  // namespace

Secret::~Secret() { explicit_bzero(bytes_.data(), bytes_.size()); }

void print_new_secret()
{
	Secret secret;
	Text text;

	if (getrandom(secret.data(), Secret::size, 0) != static_cast<ssize_t>(Secret::size))
		throw Failure(EXIT_USAGE,
			      std::string("key gen: no random bytes: ") + strerror(errno));
	if (others_can_read(STDOUT_FILENO))
		fprintf(stderr, "rchar: warning: other users can read the file with the key: "
				"use 'umask 077' before\n");
	base64_encode_raw(text.bytes, Secret::size, secret.data());
	text.bytes[TEXT_LEN] = '\n';
	text.len = TEXT_LEN + 1;
	if (write(STDOUT_FILENO, text.bytes, text.len) != static_cast<ssize_t>(text.len))
		throw Failure(EXIT_USAGE, std::string("key gen: ") + strerror(errno));
}

void read_secret(const std::string &path, Secret *out)
{
	File file{open_secret(path)};
	Text text;

	read_text(file.fd, path == "-" ? "standard input" : path, &text);
	if (!decode_text(text, out))
		throw Failure(EXIT_USAGE, "key: " + (path == "-" ? "standard input" : path) +
						  " does not hold a key: 44 characters, as "
						  "'rchar key gen' prints them");
}

Fingerprint fingerprint_of(const Secret &secret)
{
	// Documentation/protocol.rst, "Authentication": labels are padded with zeros.
	static const char label[16] = "rchar1 name";
	uint8_t name[32];
	Fingerprint out;

	if (blake2s(name, label, secret.data(), sizeof(name), sizeof(label), Secret::size))
		throw Failure(EXIT_USAGE, "key: its fingerprint cannot be computed");
	memcpy(out.data(), name, out.size());
	return out;
}
