/* SPDX-License-Identifier: GPL-2.0 */
/* fuzznetlink: requests made at random (nlmake.c), answers compared with the spec (nlcheck.c). */
#ifndef FUZZ_NLFUZZ_H
#define FUZZ_NLFUZZ_H

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include "common.h"
#include "spec.h"

#define REQUEST_MAX 65536

enum who { WHO_ROOT, WHO_NOBODY, WHO_NETNS, WHO_USERNS, WHO_MONITOR };

/* What a process has seen: ids to ask for. Tables, of which the newest entries are kept. */
#define NR_SEEN 16

struct seen {
	uint64_t links[NR_SEEN];
	uint64_t session_links[NR_SEEN];
	uint32_t sessions[NR_SEEN];
	unsigned int nr_links, nr_sessions;
};

/* One request. */
struct request {
	uint8_t buf[REQUEST_MAX] __attribute__((aligned(8)));
	size_t len;		    /* bytes to send */
	const struct spec_cmd *cmd; /* NULL: there is no such command */
	uint32_t seq;
	bool broken;	 /* lengths are wrong: the answer may be none, or without words */
	bool odd_header; /* refused before the privileges are looked at */
	bool dump;
	bool answered; /* an ack or a dump is asked for */
};

static inline struct nlmsghdr *request_hdr(struct request *q)
{
	return (struct nlmsghdr *)q->buf;
}

const struct spec_attr *spec_attr(size_t set, uint16_t type);
void make_request(struct request *q, struct rng *r, enum who who, uint16_t family,
		  const struct seen *seen);
void check_message(const struct nlmsghdr *h, bool event, struct seen *seen);
void check_error(const struct request *q, enum who who, int error, const char *words);
void find_words(const struct nlmsghdr *h, char *words, size_t size);

#endif /* FUZZ_NLFUZZ_H */
