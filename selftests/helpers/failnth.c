// SPDX-License-Identifier: GPL-2.0
/*
 * failnth - every allocation of every operation fails once.
 *
 * Of each operation first the first allocation (or copy from and to user memory) fails,
 * then the second, and so on, until it gets by with fewer: /proc/self/fail-nth. Each time
 * the operation must succeed or say that memory was short, and what it says must be true:
 * bytes it reports as moved are the bytes that arrive, and nothing else does. After each
 * round everything must work. Needs channels srv, cli (streams), msrv, mcli (messages) and
 * here, there (memory).
 * A TAP line for each operation; the plan is the caller's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libaio.h>
#include <linux/netlink.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include "../lib/asleep.h"
#include "../lib/test.h"
#include "genl.h"
#include "linux/rdma_char.h"

#define MAX_NTH 400

static int family, nth_fd;
/* Writes are below what a window of 256 KiB always has room for, as nobody reads meanwhile. */
static char data[200000], got[200000];

/* ---- the fault ---- */

static void arm(int nth)
{
	char text[12];

	snprintf(text, sizeof(text), "%d", nth);
	MUST(pwrite(nth_fd, text, strlen(text), 0) > 0);
}

/*
 * Did it happen? Takes it back when not. Asking copies to and from user memory, and so
 * what is left may happen to that.
 */
static bool happened(void)
{
	char text[12] = "";

	if (pread(nth_fd, text, sizeof(text) - 1, 0) < 0)
		return false;
	if (!atoi(text))
		return true;
	if (pwrite(nth_fd, "0", 1, 0) < 0)
		MUST(errno == EFAULT);
	return false;
}

static bool is_shortage(int err)
{
	return err == ENOMEM || err == ENOBUFS || err == EFAULT;
}

/* ---- a pair of files, and bytes that must stay in step ---- */

static int cli = -1, srv = -1;
static const char *cli_dev, *srv_dev;

static void close_both(void)
{
	if (cli >= 0)
		close(cli);
	if (srv >= 0)
		close(srv);
	cli = srv = -1;
}

static void open_both(void)
{
	close_both();
	cli = open(cli_dev, O_RDWR);
	MUST(cli >= 0);
	srv = open(srv_dev, O_RDWR);
	MUST(srv >= 0);
}

static void streams(void)
{
	cli_dev = "/dev/rchar/cli";
	srv_dev = "/dev/rchar/srv";
	open_both();
}

static void messages(void)
{
	cli_dev = "/dev/rchar/mcli";
	srv_dev = "/dev/rchar/msrv";
	open_both();
}

static void encrypted_streams(void)
{
	cli_dev = "/dev/rchar/ecli";
	srv_dev = "/dev/rchar/esrv";
	open_both();
}

static bool readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

/* What a write reported is what arrives: that, and then the marker and no more. */
static void arrives(long bytes)
{
	static const char marker[] = "the end";
	long at = 0, all = (bytes > 0 ? bytes : 0) + sizeof(marker);
	bool whole = true;

	MUST(write(cli, marker, sizeof(marker)) == sizeof(marker));
	while (at < all && readable(srv, LONG_MS)) {
		long n = read(srv, got + at, sizeof(got) - at);

		if (n <= 0)
			break;
		at += n;
	}
	whole = at == all && !memcmp(got, data, all - sizeof(marker)) &&
		!memcmp(got + all - sizeof(marker), marker, sizeof(marker));
	MUST(whole);
}

/* ---- operations: each returns what the call did ---- */

static long op_open_connect(void)
{
	cli = open(cli_dev, O_RDWR);
	return cli;
}

static void undo_open_connect(long ret)
{
	if (ret >= 0) {
		srv = open(srv_dev, O_RDWR);
		MUST(srv >= 0);
		arrives(0);
	}
	close_both();
}

static void setup_listen(void)
{
	cli = open(cli_dev, O_RDWR);
	MUST(cli >= 0);
}

static long op_open_listen(void)
{
	srv = open(srv_dev, O_RDWR);
	return srv;
}

static void undo_open_listen(long ret)
{
	/* Nobody else took it: it still waits. */
	if (ret < 0)
		srv = open(srv_dev, O_RDWR);
	MUST(srv >= 0);
	arrives(0);
	close_both();
}

static long op_write_small(void)
{
	return write(cli, data, 100);
}

static long op_write_large(void)
{
	return write(cli, data, 40000);
}

/* More than the channel's rendezvous-min. */
static long op_write_rndv(void)
{
	return write(cli, data, 100000);
}

static long op_writev(void)
{
	struct iovec v[3] = { { data, 1 }, { data + 1, 5000 }, { data + 5001, 20000 } };

	return writev(cli, v, 3);
}

static long op_write_message(void)
{
	long n = write(cli, data, 30000);

	return n < 0 || n == 30000 ? n : (errno = EIO, -1);
}

static void setup_read(void)
{
	MUST(write(cli, data, 40000) == 40000);
	MUST(readable(srv, LONG_MS));
	MUST(fsync(cli) == 0);
}

static pthread_t writer;
static pid_t reader;

/* When the reader sleeps; or when it has returned already, for what undo_read() reads. */
static void *write_later(void *arg)
{
	int i;

	for (i = 0; i < 40 && !asleep(reader); i++)
		test_pause();
	MUST(write(cli, data, 100000) == 100000);
	return arg;
}

static void setup_read_rndv(void)
{
	reader = gettid();
	MUST(!pthread_create(&writer, NULL, write_later, NULL));
}

static void setup_read_message(void)
{
	MUST(write(cli, data, 30000) == 30000);
	MUST(readable(srv, LONG_MS));
}

/* All or nothing: the message, when it was taken, and then the next one. */
static void undo_write_message(long ret)
{
	MUST(write(cli, "next", 4) == 4);
	if (ret >= 0) {
		MUST(readable(srv, LONG_MS) && read(srv, got, sizeof(got)) == 30000);
		MUST(!memcmp(got, data, 30000));
	}
	MUST(readable(srv, LONG_MS) && read(srv, got, sizeof(got)) == 4);
	MUST(!memcmp(got, "next", 4));
}

static long op_read(void)
{
	return read(srv, got, sizeof(got));
}

/* What was not read is still there, from where the read stopped. */
static void rest_of(long ret, long bytes)
{
	long at = ret < 0 ? 0 : ret;

	while (at < bytes && readable(srv, LONG_MS)) {
		long n = read(srv, got + at, sizeof(got) - at);

		if (n <= 0)
			break;
		at += n;
	}
	MUST(at == bytes && !memcmp(got, data, at));
}

static void undo_read(long ret)
{
	rest_of(ret, 40000);
}

static void undo_read_rndv(long ret)
{
	rest_of(ret, 100000);
	pthread_join(writer, NULL);
}

static void undo_read_message(long ret)
{
	if (ret < 0)
		ret = read(srv, got, sizeof(got));
	MUST(ret == 30000 && !memcmp(got, data, ret));
}

static long op_info(void)
{
	struct rchar_info info;

	return ioctl(cli, RCHAR_IOC_INFO, &info);
}

static long op_shutdown(void)
{
	return ioctl(cli, RCHAR_IOC_SHUTDOWN, RCHAR_SHUT_WR);
}

static void undo_shutdown(long ret)
{
	/* FIN needs memory, but a shutdown does not fail: it is sent later. */
	MUST(ret == 0);
	MUST(readable(srv, LONG_MS) && read(srv, got, 1) == 0);
	open_both();
}

static long op_close(void)
{
	int fd = cli;

	cli = -1;
	return close(fd);
}

static void undo_close(long ret)
{
	MUST(ret == 0);
	MUST(readable(srv, LONG_MS) && read(srv, got, 1) == 0);
	open_both();
}

static void setup_fsync(void)
{
	MUST(write(cli, data, 100) == 100);
}

static long op_fsync(void)
{
	return fsync(cli);
}

static void undo_fsync(long ret)
{
	(void)ret;
	arrives(100);
}

static int pipes[2];

static void setup_splice(void)
{
	MUST(pipe(pipes) == 0);
	setup_read();
}

static long op_splice(void)
{
	long ret = splice(srv, NULL, pipes[1], NULL, 20000, 0);

	/* That is what generic_file_splice_read() makes of no memory; not copy_splice_read(). */
	if (ret < 0 && errno == EAGAIN)
		errno = ENOMEM;
	return ret;
}

static void undo_splice(long ret)
{
	if (ret > 0) {
		MUST(read(pipes[0], got, ret) == ret);
		MUST(!memcmp(got, data, ret));
	}
	close(pipes[0]);
	close(pipes[1]);
	undo_read(ret);
}

static long op_poll(void)
{
	struct pollfd p = { .fd = cli, .events = POLLOUT };

	return poll(&p, 1, LONG_MS) == 1 ? 0 : -1;
}

/* ---- memory: what a write said it moved is there, what a read said is right ---- */

static void open_memories(const char *there, const char *here)
{
	close_both();
	cli = open(there, O_RDWR);
	MUST(cli >= 0);
	srv = open(here, O_RDWR);
	MUST(srv >= 0);
}

static void memories(void)
{
	open_memories("/dev/rchar/there", "/dev/rchar/here");
}

static void encrypted_memories(void)
{
	open_memories("/dev/rchar/ethere", "/dev/rchar/ehere");
}

static void setup_memory(void)
{
	MUST(pwrite(srv, data, 50000, 0) == 50000);
	memset(got, 0, 50000);
}

static long op_pread_small(void)
{
	return pread(cli, got, 100, 0);
}

static long op_pread(void)
{
	return pread(cli, got, 50000, 0);
}

static void undo_pread(long ret)
{
	MUST(ret < 0 || !memcmp(got, data, ret));
}

static void setup_zeros(void)
{
	memset(got, 0, 50000);
	MUST(pwrite(srv, got, 50000, 0) == 50000);
}

static long op_pwrite_small(void)
{
	return pwrite(cli, data, 100, 0);
}

static long op_pwrite(void)
{
	return pwrite(cli, data, 50000, 0);
}

static void undo_pwrite(long ret)
{
	MUST(pread(srv, got, 50000, 0) == 50000);
	MUST(ret < 0 || !memcmp(got, data, ret));
}

static io_context_t aio;

/* One request that a thread of the kernel may execute; nothing is left of one that failed. */
static long asynchronous(struct iocb *io)
{
	struct io_event done;
	long ret;

	ret = io_submit(aio, 1, &io);
	if (ret != 1) {
		/* io_submit() has EAGAIN for a request that it cannot allocate. */
		errno = ret == -EAGAIN ? ENOMEM : -ret;
		return -1;
	}
	do
		ret = io_getevents(aio, 1, 1, &done, NULL);
	while (ret == -EFAULT || ret == -EINTR);
	MUST(ret == 1);
	errno = (long)done.res < 0 ? -(long)done.res : 0;
	return errno ? -1 : (long)done.res;
}

static long op_async_pread(void)
{
	struct iocb io;

	io_prep_pread(&io, cli, got, 50000, 0);
	return asynchronous(&io);
}

static long op_async_pwrite(void)
{
	struct iocb io;

	io_prep_pwrite(&io, cli, data, 50000, 0);
	return asynchronous(&io);
}

static uint64_t word;

static long op_atomic(void)
{
	struct rchar_atomic a = { .op = RCHAR_ATOMIC_ADD, .offset = 65536, .operand = 1 };

	return ioctl(cli, RCHAR_IOC_ATOMIC, &a);
}

/* Executed when it said so. It may have been when only the answer could not be told. */
static void undo_atomic(long ret)
{
	uint64_t now = 0;

	MUST(pread(srv, &now, 8, 65536) == 8);
	MUST(now == word + 1 || (ret < 0 && now == word));
	word = now;
}

static long op_notify(void)
{
	return ioctl(cli, RCHAR_IOC_NOTIFY, 5);
}

static long op_open_memory(void)
{
	cli = open("/dev/rchar/there", O_RDWR);
	return cli;
}

static void undo_open_memory(long ret)
{
	if (ret >= 0)
		MUST(pread(cli, got, 10, 0) == 10);
	close_both();
}

static void *mapped;

static long op_mmap(void)
{
	mapped = mmap(NULL, 65536, PROT_READ, MAP_SHARED, srv, 0);
	return mapped == MAP_FAILED ? -1 : 0;
}

static void undo_mmap(long ret)
{
	if (!ret)
		munmap(mapped, 65536);
}

/* ---- netlink ---- */

static long transact(void)
{
	int err = genl_transact();

	errno = err;
	return err ? -1 : 0;
}

/* A new socket: an answer that was lost must not be the next one's. */
static void fresh(void)
{
	family = genl_open();
	MUST(family > 0);
}

static void request_add(int role)
{
	genl_new_channel(family, "new", RCHAR_TYPE_STREAM, role);
}

static void request_named(int cmd)
{
	genl_begin(family, cmd, 0);
	genl_put_str(RCHAR_A_CHANNEL_NAME, "new");
}

static void undo_add(long ret)
{
	int err;

	fresh();
	request_named(RCHAR_CMD_CHANNEL_DEL);
	err = genl_transact();
	/* When only the answer found no memory it was made all the same. */
	MUST(err == 0 || (ret < 0 && err == ENODEV));
}

static long op_add_listen(void)
{
	request_add(RCHAR_ROLE_LISTEN);
	return transact();
}

static long op_add_memory(void)
{
	uint64_t size = 40000;

	genl_new_channel(family, "new", RCHAR_TYPE_MEMORY, RCHAR_ROLE_LISTEN);
	genl_put(RCHAR_A_CHANNEL_SIZE, &size, sizeof(size));
	return transact();
}

static long op_add_connect(void)
{
	request_add(RCHAR_ROLE_CONNECT);
	return transact();
}

static void setup_new(void)
{
	fresh();
	request_add(RCHAR_ROLE_LISTEN);
	MUST(genl_transact() == 0);
	fresh();
}

static long op_del(void)
{
	request_named(RCHAR_CMD_CHANNEL_DEL);
	return transact();
}

static void undo_del(long ret)
{
	int err;

	fresh();
	request_named(RCHAR_CMD_CHANNEL_DEL);
	err = genl_transact();
	MUST(err == ENODEV || (ret < 0 && !err));
}

/* The one that the operations before used. */
static void del_new(void)
{
	undo_add(0);
}

static long op_set(void)
{
	request_named(RCHAR_CMD_CHANNEL_SET);
	genl_put_u32(RCHAR_A_CHANNEL_BACKLOG, 7);
	return transact();
}

static long op_get(void)
{
	request_named(RCHAR_CMD_CHANNEL_GET);
	return transact();
}

static long op_info_get(void)
{
	genl_begin(family, RCHAR_CMD_INFO_GET, 0);
	return transact();
}

static long dump(int cmd)
{
	genl_begin(family, cmd, NLM_F_DUMP);
	return transact();
}

static long op_dump_channels(void)
{
	return dump(RCHAR_CMD_CHANNEL_GET);
}

static long op_dump_links(void)
{
	return dump(RCHAR_CMD_LINK_GET);
}

static long op_dump_sessions(void)
{
	return dump(RCHAR_CMD_SESSION_GET);
}

static uint64_t link_id;
static uint32_t session_id;

static void setup_ids(void)
{
	open_both();
	fresh();
	MUST(dump(RCHAR_CMD_SESSION_GET) == 0);
	MUST(genl_answer(RCHAR_A_SESSION_LINK_ID) && genl_answer(RCHAR_A_SESSION_ID));
	if (test_program.broken)
		return;
	memcpy(&link_id, genl_answer(RCHAR_A_SESSION_LINK_ID), sizeof(link_id));
	memcpy(&session_id, genl_answer(RCHAR_A_SESSION_ID), sizeof(session_id));
	fresh();
}

static long op_session_kill(void)
{
	genl_begin(family, RCHAR_CMD_SESSION_KILL, 0);
	genl_put(RCHAR_A_SESSION_LINK_ID, &link_id, sizeof(link_id));
	genl_put_u32(RCHAR_A_SESSION_ID, session_id);
	return transact();
}

static long op_link_reset(void)
{
	genl_begin(family, RCHAR_CMD_LINK_RESET, 0);
	genl_put(RCHAR_A_LINK_ID, &link_id, sizeof(link_id));
	return transact();
}

static void undo_reset(long ret)
{
	(void)ret;
	arrives(0);
}

/* ---- keys ---- */

static void request_key(int cmd, const char *name)
{
	genl_begin(family, cmd, 0);
	genl_put_str(RCHAR_A_KEY_NAME, name);
}

static void request_key_new(const char *name, char fill)
{
	char secret[RCHAR_KEY_LEN];

	memset(secret, fill, sizeof(secret));
	request_key(RCHAR_CMD_KEY_NEW, name);
	genl_put(RCHAR_A_KEY_SECRET, secret, sizeof(secret));
}

static long op_key_new(void)
{
	request_key_new("fresh", 1);
	return transact();
}

static void undo_key_new(long ret)
{
	int err;

	fresh();
	request_key(RCHAR_CMD_KEY_DEL, "fresh");
	err = genl_transact();
	MUST(err == 0 || (ret < 0 && err == ENOENT));
}

static void setup_key(void)
{
	fresh();
	request_key_new("fresh", 1);
	MUST(genl_transact() == 0);
	fresh();
}

static long op_key_del(void)
{
	request_key(RCHAR_CMD_KEY_DEL, "fresh");
	return transact();
}

static void undo_key_del(long ret)
{
	int err;

	fresh();
	request_key(RCHAR_CMD_KEY_DEL, "fresh");
	err = genl_transact();
	MUST(err == ENOENT || (ret < 0 && !err));
}

static long op_dump_keys(void)
{
	return dump(RCHAR_CMD_KEY_GET);
}

static void two_keys(void)
{
	fresh();
	request_key_new("one", 2);
	MUST(genl_transact() == 0);
	request_key_new("two", 3);
	MUST(genl_transact() == 0);
}

static long op_add_with_keys(void)
{
	request_add(RCHAR_ROLE_LISTEN);
	genl_put_str(RCHAR_A_CHANNEL_KEY, "one");
	genl_put_str(RCHAR_A_CHANNEL_KEY, "two");
	return transact();
}

/* From one to two and back: another link each time. */
static long op_set_key(void)
{
	static bool odd;

	request_named(RCHAR_CMD_CHANNEL_SET);
	genl_put_str(RCHAR_A_CHANNEL_KEY, odd ? "one" : "two");
	odd = !odd;
	return transact();
}

static void setup_key_connect(void)
{
	fresh();
	request_add(RCHAR_ROLE_CONNECT);
	genl_put_str(RCHAR_A_CHANNEL_KEY, "one");
	MUST(genl_transact() == 0);
	fresh();
}

static void no_keys(void)
{
	undo_add(0);
	request_key(RCHAR_CMD_KEY_DEL, "one");
	MUST(genl_transact() == 0);
	request_key(RCHAR_CMD_KEY_DEL, "two");
	MUST(genl_transact() == 0);
}

/* ---- the sweep ---- */

static const struct operation {
	const char *name;
	void (*before)(void); /* once */
	void (*setup)(void);  /* each time */
	long (*op)(void);
	void (*undo)(long ret);
} operations[] = {
	{ "open_connect", streams, close_both, op_open_connect, undo_open_connect },
	{ "open_listen", streams, setup_listen, op_open_listen, undo_open_listen },
	{ "write_small", streams, NULL, op_write_small, arrives },
	{ "write_large", streams, NULL, op_write_large, arrives },
	{ "write_rndv", streams, NULL, op_write_rndv, arrives },
	{ "writev", streams, NULL, op_writev, arrives },
	{ "read", streams, setup_read, op_read, undo_read },
	{ "read_rndv", streams, setup_read_rndv, op_read, undo_read_rndv },
	{ "splice", streams, setup_splice, op_splice, undo_splice },
	{ "poll", streams, NULL, op_poll, NULL },
	{ "fsync", streams, setup_fsync, op_fsync, undo_fsync },
	{ "ioctl_info", streams, NULL, op_info, NULL },
	{ "ioctl_shutdown", streams, NULL, op_shutdown, undo_shutdown },
	{ "close", streams, NULL, op_close, undo_close },
	{ "open_message", messages, close_both, op_open_connect, undo_open_connect },
	{ "write_message", messages, NULL, op_write_message, undo_write_message },
	{ "read_message", messages, setup_read_message, op_read, undo_read_message },
	{ "open_memory", NULL, close_both, op_open_memory, undo_open_memory },
	{ "pread_small", memories, setup_memory, op_pread_small, undo_pread },
	{ "pread", memories, setup_memory, op_pread, undo_pread },
	{ "pwrite_small", memories, setup_zeros, op_pwrite_small, undo_pwrite },
	{ "pwrite", memories, setup_zeros, op_pwrite, undo_pwrite },
	{ "async_pread", memories, setup_memory, op_async_pread, undo_pread },
	{ "async_pwrite", memories, setup_zeros, op_async_pwrite, undo_pwrite },
	{ "atomic", memories, NULL, op_atomic, undo_atomic },
	{ "notify", memories, NULL, op_notify, NULL },
	{ "fsync_memory", memories, NULL, op_fsync, NULL },
	{ "mmap", memories, NULL, op_mmap, undo_mmap },
	{ "open_encrypted", encrypted_streams, close_both, op_open_connect, undo_open_connect },
	{ "write_small_encrypted", encrypted_streams, NULL, op_write_small, arrives },
	{ "write_large_encrypted", encrypted_streams, NULL, op_write_rndv, arrives },
	{ "read_encrypted", encrypted_streams, setup_read, op_read, undo_read },
	{ "pread_small_encrypted", encrypted_memories, setup_memory, op_pread_small, undo_pread },
	{ "pread_encrypted", encrypted_memories, setup_memory, op_pread, undo_pread },
	{ "pwrite_small_encrypted", encrypted_memories, setup_zeros, op_pwrite_small, undo_pwrite },
	{ "pwrite_encrypted", encrypted_memories, setup_zeros, op_pwrite, undo_pwrite },
	{ "async_pread_encrypted", encrypted_memories, setup_memory, op_async_pread, undo_pread },
	{ "async_pwrite_encrypted", encrypted_memories, setup_zeros, op_async_pwrite, undo_pwrite },
	{ "channel_new_memory", NULL, fresh, op_add_memory, undo_add },
	{ "channel_new_listen", NULL, fresh, op_add_listen, undo_add },
	{ "channel_new_connect", NULL, fresh, op_add_connect, undo_add },
	{ "channel_set", setup_new, fresh, op_set, NULL },
	{ "channel_get", NULL, fresh, op_get, NULL },
	{ "channel_get_dump", NULL, fresh, op_dump_channels, NULL },
	{ "link_get_dump", streams, fresh, op_dump_links, NULL },
	{ "session_get_dump", streams, fresh, op_dump_sessions, NULL },
	{ "info_get", NULL, fresh, op_info_get, NULL },
	{ "channel_del", del_new, setup_new, op_del, undo_del },
	{ "key_new", NULL, fresh, op_key_new, undo_key_new },
	{ "key_del", NULL, setup_key, op_key_del, undo_key_del },
	{ "channel_new_keys", two_keys, fresh, op_add_with_keys, undo_add },
	{ "channel_set_key", setup_key_connect, fresh, op_set_key, NULL },
	{ "key_get_dump", NULL, fresh, op_dump_keys, NULL },
	{ "channel_get_dump_without_keys", no_keys, fresh, op_dump_channels, NULL },
	{ "session_kill", streams, setup_ids, op_session_kill, NULL },
	{ "link_reset", streams, setup_ids, op_link_reset, undo_reset },
};

static void sweep(const struct operation *o)
{
	int nth, shortages = 0;
	bool more = true;
	char name[64];

	test_program.broken = false;
	if (o->before)
		o->before();
	for (nth = 1; more && !test_program.broken && nth < MAX_NTH; nth++) {
		long ret;
		int err;

		if (o->setup)
			o->setup();
		if (test_program.broken)
			break;
		arm(nth);
		ret = o->op();
		err = errno;
		more = happened();
		if (ret < 0 && !(more && is_shortage(err))) {
			printf("# allocation %d: %s\n", nth, strerrorname_np(err));
			test_program.broken = true;
		}
		shortages += ret < 0;
		errno = 0;
		if (o->undo)
			o->undo(ret);
	}
	MUST(!more);
	close_both();
	snprintf(name, sizeof(name), "failnth_%s", o->name);
	test_result(!test_program.broken, name, " # %d faults, %d of them reported", nth - 2,
		    shortages);
}

int main(void)
{
	size_t i, n = sizeof(operations) / sizeof(operations[0]);

	setbuf(stdout, NULL);
	nth_fd = open("/proc/self/fail-nth", O_RDWR);
	if (nth_fd < 0) {
		perror("failnth: this kernel injects no faults");
		return 1;
	}
	if (io_setup(1, &aio)) {
		perror("failnth: io_setup");
		return 1;
	}
	for (i = 0; i < sizeof(data); i++)
		data[i] = i * 7 + i / 251;
	for (i = 0; i < n; i++)
		sweep(&operations[i]);
	return test_program.failed != 0;
}
