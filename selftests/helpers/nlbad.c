// SPDX-License-Identifier: GPL-2.0
/*
 * Requests to the netlink family that must be refused: each with the right errno, with
 * words (an extended ack), and without having changed anything. TAP output.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <linux/netlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../lib/test.h"
#include "genl.h"
#include "linux/rdma_char.h"

static int family;

static void expect(const char *name, int err)
{
	int got = genl_transact();
	int ok = got == err && (!err || genl_words[0]);

	test_result(ok, name, " # %s", genl_words);
	if (!ok)
		printf("# got %s '%s', expected %s\n", got ? strerror(got) : "success", genl_words,
		       err ? strerror(err) : "success");
}

/* A request that would be fine; each test spoils one thing. */
static void new_channel(const char *name)
{
	genl_new_channel(family, name, RCHAR_TYPE_STREAM, RCHAR_ROLE_LISTEN);
}

static void bad_names(void)
{
	static const char *const names[] = { "",    "a/b",  "..",	".x", "-x",
					     "a b", "a\nb", "\xc3\xa4", "x!y" };
	char name[64];
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		new_channel(names[i]);
		snprintf(name, sizeof(name), "bad_name_%u", i);
		expect(name, EINVAL);
	}
	memset(name, 'a', sizeof(name));
	name[32] = 0;
	new_channel(name);
	expect("name_of_32_characters", EINVAL);
	new_channel(NULL);
	expect("name_missing", EINVAL);
	genl_begin(family, RCHAR_CMD_CHANNEL_NEW, 0);
	genl_put(RCHAR_A_CHANNEL_NAME, "abc", 3);
	expect("name_without_its_end", EINVAL);
	new_channel("taken");
	expect("a_good_one", 0);
	new_channel("taken");
	expect("name_taken", EEXIST);
}

static void bad_attributes(void)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	struct sockaddr sa = { .sa_family = AF_UNIX };
	static char huge[8000];

	new_channel("x");
	genl_put_str(RCHAR_A_CHANNEL_NAME, "y");
	expect("name_twice", EINVAL);
	new_channel("x");
	genl_put_u32(RCHAR_A_CHANNEL_WINDOW, 65536);
	genl_put_u32(RCHAR_A_CHANNEL_WINDOW, 65536);
	expect("window_twice", EINVAL);
	new_channel("x");
	genl_put(200, "junk", 4);
	expect("unknown_attribute", EINVAL);
	new_channel("x");
	genl_put_u32(RCHAR_A_CHANNEL_STATE, 1);
	expect("attribute_that_is_only_an_answer", EINVAL);
	new_channel("x");
	genl_put(RCHAR_A_CHANNEL_WINDOW, "ab", 2);
	expect("window_of_two_bytes", EINVAL);
	new_channel("x");
	genl_put_u32(RCHAR_A_CHANNEL_WINDOW, 1);
	expect("window_too_small", ERANGE);
	new_channel("x");
	genl_put_u32(RCHAR_A_CHANNEL_WINDOW, ~0u);
	expect("window_too_large", ERANGE);
	new_channel("x");
	genl_put_u32(RCHAR_A_CHANNEL_BACKLOG, 0);
	expect("backlog_zero", ERANGE);
	new_channel("x");
	genl_put_u32(RCHAR_A_CHANNEL_FRAME, 4095);
	expect("frame_too_small", ERANGE);
	new_channel("x");
	genl_put_u32(RCHAR_A_CHANNEL_FRAME, 65537);
	expect("frame_too_large", ERANGE);
	new_channel("x");
	genl_put_u32(RCHAR_A_CHANNEL_PRIORITY, 0);
	expect("priority_zero", ERANGE);
	new_channel("x");
	genl_put_u32(RCHAR_A_CHANNEL_PRIORITY, 1001);
	expect("priority_1001", ERANGE);
	new_channel("x");
	genl_put_u32(RCHAR_A_CHANNEL_OPEN_TIMEOUT_MS, 0);
	expect("open_timeout_zero", ERANGE);
	new_channel("x");
	genl_put_u32(RCHAR_A_CHANNEL_MODE, 04777);
	expect("mode_with_setuid", ERANGE);
	new_channel("x");
	genl_put_u32(RCHAR_A_CHANNEL_UID, ~0u);
	expect("uid_invalid", EINVAL);
	new_channel("x");
	genl_put_addr(RCHAR_A_CHANNEL_PEER, "10.0.0.2");
	expect("listen_with_a_peer", EINVAL);
	new_channel("x");
	genl_put_str(RCHAR_A_CHANNEL_REMOTE, "y");
	expect("listen_with_a_remote_name", EINVAL);
	new_channel("x");
	genl_put(RCHAR_A_CHANNEL_REMOTE, huge, sizeof(huge));
	expect("remote_name_oversized", ERANGE);

	genl_begin(family, RCHAR_CMD_CHANNEL_NEW, 0);
	genl_put_str(RCHAR_A_CHANNEL_NAME, "x");
	expect("type_missing", EINVAL);
	genl_put_u32(RCHAR_A_CHANNEL_TYPE, 77);
	expect("type_unknown", EINVAL);
	genl_begin(family, RCHAR_CMD_CHANNEL_NEW, 0);
	genl_put_str(RCHAR_A_CHANNEL_NAME, "x");
	genl_put_u32(RCHAR_A_CHANNEL_TYPE, RCHAR_TYPE_STREAM);
	expect("role_missing", EINVAL);
	genl_put_u32(RCHAR_A_CHANNEL_ROLE, 9);
	expect("role_unknown", EINVAL);
	genl_begin(family, RCHAR_CMD_CHANNEL_NEW, 0);
	genl_put_str(RCHAR_A_CHANNEL_NAME, "x");
	genl_put_u32(RCHAR_A_CHANNEL_TYPE, RCHAR_TYPE_STREAM);
	genl_put_u32(RCHAR_A_CHANNEL_ROLE, RCHAR_ROLE_CONNECT);
	expect("peer_missing", EINVAL);
	genl_put(RCHAR_A_CHANNEL_PEER, &sa, sizeof(sa));
	expect("peer_of_another_family", EAFNOSUPPORT);
	genl_begin(family, RCHAR_CMD_CHANNEL_NEW, 0);
	genl_put_str(RCHAR_A_CHANNEL_NAME, "x");
	genl_put_u32(RCHAR_A_CHANNEL_TYPE, RCHAR_TYPE_STREAM);
	genl_put_u32(RCHAR_A_CHANNEL_ROLE, RCHAR_ROLE_CONNECT);
	genl_put(RCHAR_A_CHANNEL_PEER, &in6, 16);
	expect("peer_ipv6_cut_short", EINVAL);
	genl_begin(family, RCHAR_CMD_CHANNEL_NEW, 0);
	genl_put_str(RCHAR_A_CHANNEL_NAME, "x");
	genl_put_u32(RCHAR_A_CHANNEL_TYPE, RCHAR_TYPE_STREAM);
	genl_put_u32(RCHAR_A_CHANNEL_ROLE, RCHAR_ROLE_CONNECT);
	genl_put_addr(RCHAR_A_CHANNEL_PEER, "0.0.0.0");
	expect("peer_wildcard", EINVAL);
	genl_begin(family, RCHAR_CMD_CHANNEL_NEW, 0);
	genl_put_str(RCHAR_A_CHANNEL_NAME, "x");
	genl_put_u32(RCHAR_A_CHANNEL_TYPE, RCHAR_TYPE_STREAM);
	genl_put_u32(RCHAR_A_CHANNEL_ROLE, RCHAR_ROLE_CONNECT);
	genl_put_addr(RCHAR_A_CHANNEL_PEER, "10.0.0.2");
	in6.sin6_addr.s6_addr[15] = 1;
	genl_put(RCHAR_A_CHANNEL_LOCAL, &in6, sizeof(in6));
	expect("families_differ", EINVAL);
}

static void new_memory(int role)
{
	genl_new_channel(family, "mem", RCHAR_TYPE_MEMORY, role);
}

static void put_size(uint64_t size)
{
	genl_put(RCHAR_A_CHANNEL_SIZE, &size, sizeof(size));
}

static void bad_memory(void)
{
	new_memory(RCHAR_ROLE_LISTEN);
	expect("memory_without_a_size", EINVAL);
	new_memory(RCHAR_ROLE_LISTEN);
	put_size(0);
	expect("memory_of_no_bytes", ERANGE);
	new_memory(RCHAR_ROLE_LISTEN);
	put_size(~0ull);
	expect("memory_of_all_bytes_there_are", ERANGE);
	new_memory(RCHAR_ROLE_LISTEN);
	put_size(1ull << 39);
	expect("memory_of_more_than_this_machine_has", ENOMEM);
	new_memory(RCHAR_ROLE_LISTEN);
	genl_put_u32(RCHAR_A_CHANNEL_SIZE, 4096);
	expect("size_of_four_bytes", EINVAL);
	new_memory(RCHAR_ROLE_LISTEN);
	put_size(4096);
	genl_put_u32(RCHAR_A_CHANNEL_ACCESS, 3);
	expect("access_unknown", EINVAL);
	new_memory(RCHAR_ROLE_LISTEN);
	put_size(4096);
	genl_put_u32(RCHAR_A_CHANNEL_ATOMICS, 3);
	expect("atomics_unknown", EINVAL);
	new_memory(RCHAR_ROLE_LISTEN);
	put_size(4096);
	genl_put_u32(RCHAR_A_CHANNEL_MAX_MESSAGE, 4096);
	expect("memory_with_a_max_message", EINVAL);
	new_memory(RCHAR_ROLE_LISTEN);
	put_size(4096);
	genl_put_u32(RCHAR_A_CHANNEL_RENDEZVOUS_MIN, 4096);
	expect("memory_with_a_rendezvous_min", EINVAL);
	new_channel("x");
	genl_put_u32(RCHAR_A_CHANNEL_RENDEZVOUS_MIN, (1 << 30) + 1);
	expect("rendezvous_min_of_more_than_1g", ERANGE);
	new_memory(RCHAR_ROLE_CONNECT);
	put_size(4096);
	expect("size_of_who_connects", EINVAL);
	new_memory(RCHAR_ROLE_CONNECT);
	genl_put_u32(RCHAR_A_CHANNEL_ACCESS, RCHAR_ACCESS_RO);
	expect("access_of_who_connects", EINVAL);
	new_channel("x");
	put_size(4096);
	expect("size_of_a_stream", EINVAL);
	genl_begin(family, RCHAR_CMD_CHANNEL_SET, 0);
	genl_put_str(RCHAR_A_CHANNEL_NAME, "taken");
	put_size(8192);
	expect("set_of_the_size", EINVAL);
}

static void bad_link_settings(void)
{
	static const struct {
		int attr;
		uint32_t too_much;
		const char *listens, *set;
		const char *much;
	} all[] = {
		{ RCHAR_A_CHANNEL_LANES, 17, "lanes_of_who_listens", "set_of_lanes", "17_lanes" },
		{ RCHAR_A_CHANNEL_KEEPALIVE_MS, 250001, "keepalive_of_who_listens",
		  "set_of_the_keepalive", "keepalive_of_more_than_250_s" },
		{ RCHAR_A_CHANNEL_TOS, 256, "tos_of_who_listens", "set_of_the_tos", "tos_256" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		new_channel("x");
		genl_put_u32(all[i].attr, 1);
		expect(all[i].listens, EINVAL);
		genl_new_channel(family, "x", RCHAR_TYPE_STREAM, RCHAR_ROLE_CONNECT);
		genl_put_u32(all[i].attr, all[i].too_much);
		expect(all[i].much, ERANGE);
		genl_begin(family, RCHAR_CMD_CHANNEL_SET, 0);
		genl_put_str(RCHAR_A_CHANNEL_NAME, "taken");
		genl_put_u32(all[i].attr, 1);
		expect(all[i].set, EINVAL);
	}
}

static void bad_encryption(void)
{
	new_channel("x");
	genl_put_u32(RCHAR_A_CHANNEL_ENCRYPT, 0);
	expect("encrypt_zero", EINVAL);
	new_channel("x");
	genl_put_u32(RCHAR_A_CHANNEL_ENCRYPT, RCHAR_ENCRYPT_ON + 1);
	expect("encrypt_unknown", EINVAL);
	new_channel("x");
	genl_put_u32(RCHAR_A_CHANNEL_ENCRYPT, RCHAR_ENCRYPT_ON);
	expect("encrypt_without_a_key", EINVAL);
	new_channel("x");
	genl_put_u32(RCHAR_A_CHANNEL_ENCRYPT, RCHAR_ENCRYPT_ON);
	genl_put_str(RCHAR_A_CHANNEL_KEY, "");
	expect("encrypt_with_no_key", EINVAL);
	new_memory(RCHAR_ROLE_LISTEN);
	put_size(4096);
	genl_put_u32(RCHAR_A_CHANNEL_ENCRYPT, RCHAR_ENCRYPT_ON);
	genl_put_u32(RCHAR_A_CHANNEL_ATOMICS, RCHAR_ATOMICS_HW);
	expect("encrypt_with_atomics_of_the_device", EINVAL);
	genl_begin(family, RCHAR_CMD_CHANNEL_SET, 0);
	genl_put_str(RCHAR_A_CHANNEL_NAME, "taken");
	genl_put_u32(RCHAR_A_CHANNEL_ENCRYPT, RCHAR_ENCRYPT_ON);
	expect("set_of_encrypt", EINVAL);
}

static void bad_objects(void)
{
	uint64_t id = 12345;

	genl_begin(family, RCHAR_CMD_CHANNEL_DEL, 0);
	genl_put_str(RCHAR_A_CHANNEL_NAME, "nosuch");
	expect("del_of_no_channel", ENODEV);
	genl_begin(family, RCHAR_CMD_CHANNEL_GET, 0);
	genl_put_str(RCHAR_A_CHANNEL_NAME, "nosuch");
	expect("get_of_no_channel", ENODEV);
	genl_begin(family, RCHAR_CMD_CHANNEL_SET, 0);
	genl_put_str(RCHAR_A_CHANNEL_NAME, "nosuch");
	expect("set_of_no_channel", ENODEV);
	genl_begin(family, RCHAR_CMD_CHANNEL_SET, 0);
	genl_put_str(RCHAR_A_CHANNEL_NAME, "taken");
	genl_put_addr(RCHAR_A_CHANNEL_LOCAL, "10.0.0.9");
	expect("set_of_what_is_fixed", EINVAL);
	genl_begin(family, RCHAR_CMD_LINK_RESET, 0);
	expect("reset_without_a_link", EINVAL);
	genl_put(RCHAR_A_LINK_ID, &id, sizeof(id));
	expect("reset_of_no_link", ENOENT);
	genl_begin(family, RCHAR_CMD_SESSION_KILL, 0);
	genl_put(RCHAR_A_SESSION_LINK_ID, &id, sizeof(id));
	expect("kill_without_a_session", EINVAL);
	genl_put_u32(RCHAR_A_SESSION_ID, 1);
	expect("kill_of_no_session", ENOENT);
	genl_begin(family, RCHAR_CMD_CHANNEL_DEL, 0);
	genl_put_str(RCHAR_A_CHANNEL_NAME, "taken");
	expect("del_of_the_good_one", 0);
}

static void check(const char *name, bool ok)
{
	test_result(ok, name, "%s", "");
}

static void key(int cmd, const char *name, int len)
{
	static const char secret[64] = { 1, 2, 3 };

	genl_begin(family, cmd, 0);
	if (name)
		genl_put_str(RCHAR_A_KEY_NAME, name);
	if (len)
		genl_put(RCHAR_A_KEY_SECRET, secret, len);
}

static void listen_with_keys(const char *one, const char *two)
{
	new_channel("guarded");
	genl_put_str(RCHAR_A_CHANNEL_KEY, one);
	if (two)
		genl_put_str(RCHAR_A_CHANNEL_KEY, two);
}

static void listen_from(int family_of_prefix, int bits, int first, int reserved)
{
	struct rchar_prefix p = { .family = family_of_prefix, .bits = bits, .reserved = reserved };

	p.addr[0] = first;
	new_channel("guarded");
	genl_put(RCHAR_A_CHANNEL_ALLOW, &p, sizeof(p));
}

static void bad_keys(void)
{
	char name[32];
	int i;

	key(RCHAR_CMD_KEY_NEW, NULL, 32);
	expect("key_without_a_name", EINVAL);
	key(RCHAR_CMD_KEY_NEW, "a b", 32);
	expect("key_with_a_bad_name", EINVAL);
	key(RCHAR_CMD_KEY_NEW, "k", 0);
	expect("key_without_a_secret", EINVAL);
	key(RCHAR_CMD_KEY_NEW, "k", 31);
	expect("key_of_31_bytes", EINVAL);
	key(RCHAR_CMD_KEY_NEW, "k", 33);
	expect("key_of_33_bytes", EINVAL);
	genl_begin(family, RCHAR_CMD_KEY_NEW, 0);
	genl_put_str(RCHAR_A_KEY_NAME, "k");
	genl_put(RCHAR_A_KEY_SECRET,
		 "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 32);
	expect("key_of_zeros", EINVAL);
	key(RCHAR_CMD_KEY_NEW, "k", 32);
	genl_put_str(RCHAR_A_KEY_NAME, "l");
	expect("key_with_two_names", EINVAL);
	key(RCHAR_CMD_KEY_NEW, "k", 32);
	expect("a_good_key", 0);
	key(RCHAR_CMD_KEY_NEW, "l", 32);
	expect("key_with_the_secret_of_another", EEXIST);
	key(RCHAR_CMD_KEY_DEL, "l", 0);
	expect("del_of_no_key", ENOENT);
	key(RCHAR_CMD_KEY_DEL, "k", 32);
	expect("del_with_a_secret", EINVAL);

	listen_with_keys("nosuch", NULL);
	expect("listen_with_an_unknown_key", ENOENT);
	listen_with_keys("k", "k");
	expect("listen_with_a_key_twice", EINVAL);
	listen_with_keys("", "k");
	expect("listen_with_no_key_and_a_key", EINVAL);
	listen_with_keys("k", "a b");
	expect("listen_with_a_bad_key_name", EINVAL);
	new_channel("guarded");
	for (i = 0; i < RCHAR_KEYS_MAX + 1; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		genl_put_str(RCHAR_A_CHANNEL_KEY, i ? name : "k");
	}
	expect("listen_with_unknown_keys", ENOENT);
	genl_new_channel(family, "guarded", RCHAR_TYPE_STREAM, RCHAR_ROLE_CONNECT);
	genl_put_str(RCHAR_A_CHANNEL_KEY, "k");
	genl_put_str(RCHAR_A_CHANNEL_KEY, "k");
	expect("connect_with_two_keys", EINVAL);
	listen_from(AF_UNIX, 8, 10, 0);
	expect("allow_of_no_family", EINVAL);
	listen_from(AF_INET, 33, 10, 0);
	expect("allow_of_33_bits", EINVAL);
	listen_from(AF_INET6, 129, 10, 0);
	expect("allow_of_129_bits", EINVAL);
	listen_from(AF_INET, 4, 10, 0);
	expect("allow_with_bits_after_the_prefix", EINVAL);
	listen_from(AF_INET, 8, 10, 1);
	expect("allow_with_a_reserved_byte", EINVAL);
	new_channel("guarded");
	genl_put(RCHAR_A_CHANNEL_ALLOW, "short", 5);
	expect("allow_cut_short", ERANGE);
	listen_from(AF_INET, 8, 10, 0);
	for (i = 0; i < RCHAR_PREFIXES_MAX; i++) {
		struct rchar_prefix p = { .family = AF_INET, .bits = 8, .addr = { i + 1 } };

		genl_put(RCHAR_A_CHANNEL_ALLOW, &p, sizeof(p));
	}
	expect("allow_of_65_prefixes", E2BIG);
	genl_new_channel(family, "guarded", RCHAR_TYPE_STREAM, RCHAR_ROLE_CONNECT);
	genl_put(RCHAR_A_CHANNEL_ALLOW, &(struct rchar_prefix){ .family = AF_INET }, 20);
	expect("connect_with_allow", EINVAL);
	listen_with_keys("k", NULL);
	expect("listen_with_a_good_key", 0);
	genl_begin(family, RCHAR_CMD_CHANNEL_SET, 0);
	genl_put_str(RCHAR_A_CHANNEL_NAME, "guarded");
	genl_put_str(RCHAR_A_CHANNEL_KEY, "nosuch");
	genl_put_u32(RCHAR_A_CHANNEL_BACKLOG, 77);
	expect("set_of_an_unknown_key", ENOENT);
	genl_begin(family, RCHAR_CMD_CHANNEL_GET, 0);
	genl_put_str(RCHAR_A_CHANNEL_NAME, "guarded");
	expect("get_after_a_refused_set", 0);
	test_result(genl_answer(RCHAR_A_CHANNEL_KEY) &&
			    !strcmp(genl_answer(RCHAR_A_CHANNEL_KEY), "k") &&
			    *(const uint32_t *)genl_answer(RCHAR_A_CHANNEL_BACKLOG) != 77,
		    "a_refused_set_changes_nothing", "%s", "");
	genl_begin(family, RCHAR_CMD_CHANNEL_DEL, 0);
	genl_put_str(RCHAR_A_CHANNEL_NAME, "guarded");
	expect("del_of_the_guarded_one", 0);
	key(RCHAR_CMD_KEY_DEL, "k", 0);
	expect("del_of_the_good_key", 0);
}

/* Is there such an attribute in the last link of a dump? */
static bool link_has(int attr)
{
	genl_begin(family, RCHAR_CMD_LINK_GET, NLM_F_DUMP);
	return !genl_transact() && genl_answer(RCHAR_A_LINK_ID) && genl_answer(attr);
}

/* A link that tries to connect. */
static void make_link(void)
{
	genl_new_channel(family, "calling", RCHAR_TYPE_STREAM, RCHAR_ROLE_CONNECT);
	expect("a_channel_that_connects", 0);
}

/* Words are not asked for: the netlink core refuses without any. */
static void unprivileged(void)
{
	int got;

	make_link();
	check("an_administrator_sees_epoch_and_wire_id",
	      link_has(RCHAR_A_LINK_EPOCH) && link_has(RCHAR_A_LINK_WIRE_ID));
	if (setuid(65534))
		exit(1);
	check("others_see_the_link_but_neither_epoch_nor_wire_id",
	      link_has(RCHAR_A_LINK_ID) && !link_has(RCHAR_A_LINK_EPOCH) &&
		      !link_has(RCHAR_A_LINK_WIRE_ID));
	new_channel("x");
	got = genl_transact();
	check("not_root_may_not_add", got == EPERM);
	key(RCHAR_CMD_KEY_NEW, "k", 32);
	check("not_root_may_not_add_a_key", genl_transact() == EPERM);
	genl_begin(family, RCHAR_CMD_KEY_GET, NLM_F_DUMP);
	check("not_root_may_not_list_keys", genl_transact() == EPERM);
	genl_begin(family, RCHAR_CMD_INFO_GET, 0);
	expect("not_root_may_look", 0);
}

int main(void)
{
	family = genl_open();
	if (family < 0) {
		printf("Bail out! no family\n");
		return 1;
	}
	printf("TAP version 13\n");
	bad_names();
	bad_attributes();
	bad_memory();
	bad_link_settings();
	bad_encryption();
	bad_objects();
	bad_keys();
	unprivileged();
	printf("1..%d\n", test_program.n);
	return test_program.failed != 0;
}
