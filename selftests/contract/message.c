// SPDX-License-Identifier: GPL-2.0
/* Message channels. */
#include "contract.h"

#define MSRV	    "/dev/rchar/msrv"
#define MCLI	    "/dev/rchar/mcli"
#define MAX_MESSAGE 32768 /* of both channels, set in main.c */

static void mpair(int *cli, int *srv)
{
	*cli = open(MCLI, O_RDWR);
	*srv = open(MSRV, O_RDWR);
	CHECK(*cli >= 0 && *srv >= 0);
}

static int next_length(int fd)
{
	int n;

	CHECK(ioctl(fd, FIONREAD, &n) == 0);
	return n;
}

TEST(one_write_is_one_message_and_one_read_returns_one)
{
	/* Around what is copied, a page, a frame and the limit. */
	static const int sizes[] = { 1, 5, 2048, 2049, 4096, 4097, 16384, 16385, 32768 };
	int cli, srv, i, n = sizeof(sizes) / sizeof(sizes[0]);

	mpair(&cli, &srv);
	for (i = 0; i < n; i++) {
		memset(big, 'a' + i, sizes[i]);
		CHECK(write(cli, big, sizes[i]) == sizes[i]);
		memset(big, 0, sizes[i]);
		CHECK(read(srv, big, sizeof(big)) == sizes[i]);
		CHECK(big[0] == 'a' + i && big[sizes[i] - 1] == 'a' + i);
	}
	/* Several wait, and come one by one and in order. */
	for (i = 0; i < 20; i++) {
		memset(big, 'A' + i, 1 + 100 * i);
		CHECK(write(cli, big, 1 + 100 * i) == 1 + 100 * i);
	}
	for (i = 0; i < 20; i++) {
		CHECK(read(srv, big, sizeof(big)) == 1 + 100 * i);
		CHECK(big[0] == 'A' + i && big[100 * i] == 'A' + i);
	}
}

TEST(a_message_too_long_is_emsgsize_and_sends_nothing)
{
	int cli, srv;

	mpair(&cli, &srv);
	CHECK_ERR(write(cli, big, MAX_MESSAGE + 1), EMSGSIZE);
	CHECK(write(cli, big, MAX_MESSAGE) == MAX_MESSAGE);
	CHECK(read(srv, big, sizeof(big)) == MAX_MESSAGE);
}

TEST(the_smaller_max_message_of_the_two_holds)
{
	struct rchar_info info;
	int cli, srv;

	new_pair(&cli, &srv, "message", "", "max-message 5000");
	CHECK_ERR(write(srv, big, 5001), EMSGSIZE);
	CHECK_ERR(write(cli, big, 5001), EMSGSIZE);
	CHECK(write(srv, big, 5000) == 5000 && read(cli, big, sizeof(big)) == 5000);
	CHECK(ioctl(srv, RCHAR_IOC_INFO, &info) == 0 && info.max_message == 5000);
	CHECK(ioctl(cli, RCHAR_IOC_INFO, &info) == 0 && info.max_message == 5000);
}

TEST(a_limit_that_shrinks_at_open_is_emsgsize_and_not_a_wait)
{
	int cli, srv;

	sh("rchar add small message listen 10.0.0.1 max-message 1000");
	sh("rchar -w 300 add large message connect 10.0.0.1/small max-message 1m");
	srv = open("/dev/rchar/small", O_RDWR | O_NONBLOCK);
	cli = open("/dev/rchar/large", O_RDWR | O_NONBLOCK);
	CHECK(srv >= 0 && cli >= 0);
	/* Perhaps it is open already; then this is the end of it. */
	if (write(cli, big, 500000) == -1 && errno == EAGAIN) {
		CHECK(events(cli, POLLOUT, LONG_MS) == POLLOUT);
		CHECK_ERR(write(cli, big, 500000), EMSGSIZE);
	}
	CHECK(errno == EMSGSIZE);
	CHECK(events(cli, POLLOUT, LONG_MS) == POLLOUT);
	CHECK(write(cli, big, 1000) == 1000);
	CHECK(events(srv, POLLIN, LONG_MS) & POLLIN);
	CHECK(read(srv, big, sizeof(big)) == 1000);
}

TEST(a_short_buffer_is_emsgsize_and_keeps_the_message)
{
	int cli, srv;

	mpair(&cli, &srv);
	CHECK(write(cli, "hello", 5) == 5);
	CHECK_ERR(read(srv, big, 4), EMSGSIZE);
	CHECK_ERR(read(srv, big, 4), EMSGSIZE);
	CHECK(read(srv, big, 5) == 5 && !memcmp(big, "hello", 5));
}

TEST(a_message_of_no_bytes_is_not_sent)
{
	int cli, srv;

	mpair(&cli, &srv);
	CHECK(write(cli, big, 0) == 0);
	CHECK(write(cli, "x", 1) == 1);
	CHECK(read(srv, big, 0) == 0);
	CHECK(read(srv, big, 10) == 1);
}

/* 64 MiB, each page of it with its number. */
TEST(messages_may_be_64_mib_where_configured)
{
	size_t len = 64 << 20, i;
	int cli, srv, status;
	char *p;

	new_pair(&cli, &srv, "message", "max-message 64m", "max-message 64m");
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED);
	if (fork() == 0) {
		for (i = 0; i < len; i += 4096)
			*(uint64_t *)(p + i) = i;
		CHECK(write(cli, p, len) == (ssize_t)len);
		_exit(0);
	}
	CHECK(read(srv, p, len) == (ssize_t)len);
	for (i = 0; i < len; i += 4096)
		CHECK(*(uint64_t *)(p + i) == i);
	CHECK(wait(&status) > 0 && status == 0);
}

TEST(a_nonblocking_message_is_taken_whole_or_not_at_all)
{
	int cli, srv, n = 0;

	mpair(&cli, &srv);
	nonblock(cli);
	nonblock(srv);
	while (write(cli, big, 20000) == 20000 || unacknowledged(cli))
		n++;
	CHECK_ERR(write(cli, big, 20000), EAGAIN);
	for (n = 0; read(srv, big, sizeof(big)) == 20000; n++)
		;
	CHECK(n == 3);
	CHECK_ERR(read(srv, big, sizeof(big)), EAGAIN);
}

TEST(pollout_waits_for_room_for_the_message_that_did_not_fit)
{
	int cli, srv, i;

	mpair(&cli, &srv);
	nonblock(cli);
	for (i = 0; i < 3; i++) {
		CHECK(write(cli, big, 20000) == 20000);
		EVENTUALLY(!unacknowledged(cli));
	}
	/* 5,000 bytes of the window are left: enough for a small one. */
	CHECK_ERR(write(cli, big, 20000), EAGAIN);
	CHECK(events(cli, POLLOUT, 100) == 0);
	CHECK(write(cli, big, 1000) == 1000);
	CHECK_ERR(write(cli, big, 32000), EAGAIN);
	CHECK(read(srv, big, sizeof(big)) == 20000);
	CHECK(events(cli, POLLOUT, 300) == 0);
	CHECK(read(srv, big, sizeof(big)) == 20000);
	CHECK(events(cli, POLLOUT, LONG_MS) == POLLOUT);
	CHECK(write(cli, big, 32000) == 32000);
}

TEST(a_message_writer_waits_for_the_reader)
{
	int cli, srv, i, status;
	pid_t pid;

	mpair(&cli, &srv);
	pid = fork();
	if (pid == 0) {
		for (i = 0; i < 50; i++)
			CHECK(write(cli, big, MAX_MESSAGE) == MAX_MESSAGE);
		_exit(0);
	}
	EVENTUALLY(fast_asleep(pid));
	CHECK(waitpid(-1, &status, WNOHANG) == 0);
	for (i = 0; i < 50; i++)
		CHECK(read(srv, big, sizeof(big)) == MAX_MESSAGE);
	CHECK(wait(&status) > 0 && status == 0);
}

TEST(messages_of_many_writers_never_mix)
{
	enum { N = 6, COUNT = 40 };
	int cli, srv, i, j, status, bad = 0;

	mpair(&cli, &srv);
	for (i = 0; i < N; i++)
		if (fork() == 0) {
			memset(big, 'a' + i, MAX_MESSAGE);
			for (j = 0; j < COUNT; j++) {
				int len = 1 + (i * 7919 + j * 104729) % MAX_MESSAGE;

				CHECK(write(cli, big, len) == len);
			}
			_exit(0);
		}
	close(cli);
	/* Several readers as well: each gets whole messages. */
	for (i = 0; i < 3; i++)
		if (fork() == 0) {
			ssize_t n, k;

			while ((n = read(srv, big, sizeof(big))) > 0)
				for (k = 1; k < n; k++)
					CHECK(big[k] == big[0]);
			_exit(n < 0);
		}
	for (i = 0; i < N + 3; i++) {
		CHECK(wait(&status) > 0);
		bad |= status;
	}
	CHECK(!bad);
}

TEST(fionread_gives_the_length_of_the_next_message)
{
	int cli, srv;

	mpair(&cli, &srv);
	CHECK(next_length(srv) == 0);
	CHECK(write(cli, big, 20000) == 20000 && write(cli, big, 30) == 30 && fsync(cli) == 0);
	CHECK(unacknowledged(cli) == 0);
	CHECK(next_length(srv) == 20000);
	CHECK(read(srv, big, 20000) == 20000);
	CHECK(next_length(srv) == 30);
}

TEST(writev_gathers_and_readv_scatters_one_message)
{
	char a[3], b[100];
	struct iovec out[2] = { { "hel", 3 }, { "lo you", 6 } };
	struct iovec in[2] = { { a, 3 }, { b, 100 } };
	int cli, srv;

	mpair(&cli, &srv);
	CHECK(writev(cli, out, 2) == 9 && writev(cli, out, 2) == 9);
	CHECK(readv(srv, in, 2) == 9);
	CHECK(!memcmp(a, "hel", 3) && !memcmp(b, "lo you", 6));
	in[1].iov_len = 5;
	CHECK_ERR(readv(srv, in, 2), EMSGSIZE);
	CHECK(read(srv, big, 9) == 9 && !memcmp(big, "hello you", 9));
}

TEST(a_bad_buffer_neither_sends_nor_consumes_a_message)
{
	char *p = half_mapped();
	int cli, srv, i;

	mpair(&cli, &srv);
	CHECK_ERR(write(cli, nowhere, 10), EFAULT);
	CHECK_ERR(write(cli, p + 1, 8000), EFAULT);
	CHECK_ERR(write(cli, p + 4095, 2), EFAULT);
	nonblock(srv);
	CHECK(fsync(cli) == 0);
	CHECK_ERR(read(srv, big, sizeof(big)), EAGAIN);
	for (i = 0; i < 20000; i++)
		big[i] = i / 7;
	CHECK(write(cli, big, 20000) == 20000 && fsync(cli) == 0);
	CHECK_ERR(read(srv, nowhere, 20000), EFAULT);
	CHECK_ERR(read(srv, p, 20000), EFAULT);
	CHECK_ERR(read(srv, p + 4095, 20000), EFAULT);
	memset(big, 0, 20000);
	CHECK(read(srv, big, 20000) == 20000);
	for (i = 0; i < 20000; i++)
		CHECK(big[i] == (char)(i / 7));
}

TEST(many_small_messages_hold_bounded_memory)
{
	int cli, srv, n = 0;
	long memory;

	mpair(&cli, &srv);
	nonblock(cli);
	for (;;) {
		bool acked = !unacknowledged(cli);

		if (write(cli, big, 1) == 1)
			n++;
		else if (acked)
			break;
	}
	CHECK(n == WINDOW / (1 + 256));
	memory = rx_memory();
	CHECK(memory >= n && memory <= WINDOW);
}

TEST(a_message_arrives_whole_or_not_at_all)
{
	int cli, srv, i, got = 0;
	ssize_t n;

	sh("rchar add whole message listen 10.0.0.1 max-message 1m");
	for (i = 0; i < rounds(20); i++) {
		sh("rchar -w 300 add wholec message connect 10.0.0.1/whole max-message 1m");
		cli = open("/dev/rchar/wholec", O_RDWR);
		srv = open("/dev/rchar/whole", O_RDWR);
		CHECK(cli >= 0 && srv >= 0);
		CHECK(write(cli, big, 1 << 20) == 1 << 20);
		/* Its session is reset, with the message somewhere on its way. */
		sh("rchar del wholec");
		while ((n = read(srv, big, sizeof(big))) > 0) {
			CHECK(n == 1 << 20);
			got++;
		}
		CHECK(n == -1 && errno == ECONNRESET);
		close(cli);
		close(srv);
	}
	printf("# %d of %d arrived\n", got, i);
}

TEST(splice_is_not_for_messages)
{
	int cli, srv, p[2];

	mpair(&cli, &srv);
	CHECK(pipe(p) == 0 && write(p[1], "x", 1) == 1);
	CHECK_ERR(splice(p[0], NULL, cli, NULL, 1, 0), EINVAL);
	CHECK(write(cli, "x", 1) == 1);
	CHECK_ERR(splice(srv, NULL, p[1], NULL, 1, 0), EINVAL);
	CHECK(read(srv, big, 1) == 1);
}

TEST(messages_keep_the_rules_of_streams)
{
	struct iovec v = { big, 100 };
	int cli, srv;

	mpair(&cli, &srv);
	CHECK(events(srv, POLLIN | POLLOUT, 0) == POLLOUT);
	CHECK_ERR(preadv2(srv, &v, 1, -1, RWF_NOWAIT), EAGAIN);
	CHECK(pwritev2(cli, &v, 1, -1, RWF_NOWAIT) == 100 && fsync(cli) == 0);
	CHECK(events(srv, POLLIN, 0) == POLLIN);
	CHECK(preadv2(srv, &v, 1, -1, RWF_NOWAIT) == 100);
	CHECK(write(cli, "last", 4) == 4);
	CHECK(ioctl(cli, RCHAR_IOC_SHUTDOWN, RCHAR_SHUT_WR) == 0);
	CHECK_ERR(write(cli, "x", 1), EPIPE);
	CHECK(read(srv, big, 100) == 4 && read(srv, big, 100) == 0);
	CHECK(write(srv, "back", 4) == 4 && read(cli, big, 100) == 4);
	CHECK(close(srv) == 0);
	CHECK(events(cli, POLLIN, LONG_MS) & POLLIN);
	CHECK(read(cli, big, 100) == 0);
}

TEST(the_window_has_room_for_the_longest_message)
{
	struct rchar_info info;
	int cli, srv;

	new_pair(&cli, &srv, "message", "window 64k max-message 1m", "window 64k max-message 1m");
	CHECK(ioctl(srv, RCHAR_IOC_INFO, &info) == 0);
	CHECK(info.window >= ((1 << 20) + 256) / 3 * 4);
	/* The reader says what it took only now and then: there is always room again. */
	CHECK(write(cli, big, 1) == 1 && read(srv, big, 1) == 1);
	CHECK(write(cli, big, 1 << 20) == 1 << 20);
	CHECK(read(srv, big, sizeof(big)) == 1 << 20);
}

TEST(new_settings_hold_for_sessions_opened_later)
{
	int cli, srv;

	new_pair(&cli, &srv, "message", "max-message 1000", "");
	sh("rchar set here max-message 2000");
	CHECK_ERR(write(cli, big, 1001), EMSGSIZE);
	cli = open("/dev/rchar/there", O_RDWR);
	CHECK(cli >= 0 && write(cli, big, 2000) == 2000);
	CHECK_ERR(write(cli, big, 2001), EMSGSIZE);
}
