// SPDX-License-Identifier: GPL-2.0
/* Reading and writing streams. */
#include "contract.h"

TEST(read_returns_what_there_is)
{
	int cli, srv;

	pair(&cli, &srv);
	CHECK(write(cli, "hello", 5) == 5);
	CHECK(read(srv, big, 3) == 3 && !memcmp(big, "hel", 3));
	CHECK(read(srv, big, sizeof(big)) == 2 && !memcmp(big, "lo", 2));
}

TEST(read_waits_for_the_first_byte)
{
	struct call c = { 0 };
	int cli, srv;

	pair(&cli, &srv);
	c.fd = srv;
	pthread_create(&c.thread, NULL, call_read, &c);
	until_asleep(&c);
	CHECK(pthread_tryjoin_np(c.thread, NULL) == EBUSY);
	CHECK(write(cli, "abc", 3) == 3);
	pthread_join(c.thread, NULL);
	CHECK(c.ret == 3);
}

TEST(read_gives_0_after_all_bytes_of_a_closed_writer)
{
	int cli, srv;

	pair(&cli, &srv);
	CHECK(write(cli, big, 50000) == 50000);
	CHECK(close(cli) == 0);
	EVENTUALLY(events(srv, POLLIN | POLLRDHUP, 0) & POLLRDHUP);
	read_exactly(srv, 50000);
	CHECK(read(srv, big, 1) == 0);
	CHECK(read(srv, big, 1) == 0);
}

TEST(write_after_the_reader_closed_is_epipe_without_a_signal)
{
	int cli, srv;

	pair(&cli, &srv);
	CHECK(close(srv) == 0);
	EVENTUALLY(write(cli, "x", 1) == -1);
	CHECK_ERR(write(cli, "x", 1), EPIPE);
}

TEST(zero_length_moves_nothing)
{
	int cli, srv;

	pair(&cli, &srv);
	CHECK(write(cli, big, 0) == 0);
	CHECK(read(srv, big, 0) == 0);
	nonblock(srv);
	CHECK_ERR(read(srv, big, 1), EAGAIN);
}

TEST(nonblocking_write_stops_at_the_window_with_eagain)
{
	int cli, srv;
	long total;

	pair(&cli, &srv);
	total = fill_window(cli);
	CHECK(total == WINDOW);
	CHECK_ERR(write(cli, big, 1), EAGAIN);
	CHECK(events(cli, POLLOUT, 0) == 0);
	read_exactly(srv, total);
	CHECK(events(cli, POLLOUT, LONG_MS) == POLLOUT);
}

TEST(blocking_write_waits_for_the_reader)
{
	struct call c = { 0 };
	int cli, srv;
	long total;

	pair(&cli, &srv);
	total = fill_window(cli);
	CHECK(fcntl(cli, F_SETFL, 0) == 0);
	c.fd = cli;
	pthread_create(&c.thread, NULL, call_write, &c);
	until_asleep(&c);
	CHECK(pthread_tryjoin_np(c.thread, NULL) == EBUSY);
	read_exactly(srv, total);
	pthread_join(c.thread, NULL);
	CHECK(c.ret == 1000);
}

TEST(windows_of_the_two_sides_may_differ)
{
	int big_side, small_side, i;

	new_pair(&big_side, &small_side, "stream", "window 64k", "window 4m");
	for (i = 0; i < 3; i++) {
		/* The reader tells of its room in quarters of the window. */
		long total = fill_window(big_side);

		CHECK(total <= 65536 && total > 65536 * 3 / 4);
		read_exactly(small_side, total);
		CHECK(events(big_side, POLLOUT, LONG_MS) == POLLOUT);
	}
	CHECK(fcntl(big_side, F_SETFL, 0) == 0);
	if (fork() == 0) {
		read_exactly(small_side, 1 << 20);
		_exit(0);
	}
	CHECK(write(big_side, big, 1 << 20) == 1 << 20);
	/* Its own window bounds what is not acknowledged, the peer's what is not read. */
	CHECK(fill_window(small_side) == 4 << 20);
}

TEST(a_sleeping_reader_stalls_no_other_session)
{
	int cli, srv, cli2, srv2, i;

	pair(&cli, &srv);
	fill_window(cli);
	pair(&cli2, &srv2);
	for (i = 0; i < 100; i++) {
		CHECK(write(cli2, big, 30000) == 30000);
		read_exactly(srv2, 30000);
	}
}

TEST(a_sleeping_reader_holds_bounded_memory)
{
	int cli, srv;
	long memory;

	pair(&cli, &srv);
	/* One byte a frame as far as that goes, the worst case. A kernel that checks each
	 * access would take minutes for that.
	 */
	CHECK(fill_window_by(cli, access("/sys/kernel/debug/kmemleak", F_OK) ? 1 : 16) == WINDOW);
	memory = rx_memory();
	CHECK(memory >= WINDOW && memory <= 3 * WINDOW);
}

TEST(readv_and_writev_gather_and_scatter)
{
	char a[3], b[4];
	struct iovec out[2] = { { "hel", 3 }, { "lo you", 6 } };
	struct iovec in[2] = { { a, 3 }, { b, 4 } };
	int cli, srv;

	pair(&cli, &srv);
	CHECK(writev(cli, out, 2) == 9 && fsync(cli) == 0);
	CHECK(readv(srv, in, 2) == 7);
	CHECK(!memcmp(a, "hel", 3) && !memcmp(b, "lo y", 4));
}

TEST(there_is_no_file_position)
{
	int cli, srv;

	pair(&cli, &srv);
	CHECK_ERR(lseek(cli, 0, SEEK_SET), ESPIPE);
	CHECK_ERR(pread(srv, big, 1, 0), ESPIPE);
	CHECK_ERR(pwrite(cli, big, 1, 0), ESPIPE);
}

enum { SHARERS = 8, SHARE = 40000 };

static int shared_cli, shared_srv;

static void *share_write(void *arg)
{
	long left = SHARE;

	(void)arg;
	while (left) {
		ssize_t n = write(shared_cli, big, left < 999 ? left : 999);

		CHECK(n > 0);
		left -= n;
	}
	return NULL;
}

static void *share_read(void *arg)
{
	static char buf[SHARERS][777];
	long got = 0;
	ssize_t n;

	while ((n = read(shared_srv, buf[(long)arg], sizeof(buf[0]))) > 0)
		got += n;
	CHECK(n == 0);
	return (void *)got;
}

TEST(many_threads_share_one_file)
{
	pthread_t writer[SHARERS], reader[SHARERS];
	long i, total = 0;
	void *got;

	pair(&shared_cli, &shared_srv);
	for (i = 0; i < SHARERS; i++) {
		pthread_create(&writer[i], NULL, share_write, NULL);
		pthread_create(&reader[i], NULL, share_read, (void *)i);
	}
	for (i = 0; i < SHARERS; i++)
		pthread_join(writer[i], NULL);
	CHECK(ioctl(shared_cli, RCHAR_IOC_SHUTDOWN, RCHAR_SHUT_WR) == 0);
	for (i = 0; i < SHARERS; i++) {
		pthread_join(reader[i], &got);
		total += (long)got;
	}
	CHECK(total == (long)SHARERS * SHARE);
}

TEST(splice_and_sendfile_work_both_ways)
{
	int cli, srv, p[2], f = open("/bin/busybox", O_RDONLY);
	char want[30000];
	ssize_t got, n;

	pair(&cli, &srv);
	CHECK(pipe(p) == 0 && f >= 0);
	CHECK(pread(f, want, sizeof(want), 0) == sizeof(want));
	CHECK(sendfile(cli, f, NULL, sizeof(want)) == sizeof(want));
	CHECK(fsync(cli) == 0);
	for (got = 0; got < (ssize_t)sizeof(want); got += n) {
		n = splice(srv, NULL, p[1], NULL, sizeof(want) - got, 0);
		CHECK(n > 0 && read(p[0], big + got, n) == n);
	}
	CHECK(!memcmp(big, want, sizeof(want)));
	CHECK(write(p[1], "from a pipe", 11) == 11);
	CHECK(splice(p[0], NULL, srv, NULL, 11, 0) == 11);
	CHECK(read(cli, big, 100) == 11 && !memcmp(big, "from a pipe", 11));
}

/* Blocks of one byte each, longer than the window. */
TEST(one_blocking_write_is_not_interleaved)
{
	enum { N = 4, BLOCK = 100000 };
	int cli, srv, i, status;
	long got = 0;

	pair(&cli, &srv);
	for (i = 0; i < N; i++)
		if (fork() == 0) {
			memset(big, 'a' + i, BLOCK);
			_exit(write(cli, big, BLOCK) != BLOCK);
		}
	while (got < N * BLOCK) {
		ssize_t n = read(srv, big + got, sizeof(big) - got);

		CHECK(n > 0);
		got += n;
	}
	for (i = 0; i < N * BLOCK; i++)
		CHECK(big[i] == big[i / BLOCK * BLOCK]);
	for (i = 0; i < N; i++)
		CHECK(wait(&status) > 0 && status == 0);
}

TEST(tee_passes_on_what_a_channel_gave)
{
	int cli, srv, p[2], q[2];

	pair(&cli, &srv);
	CHECK(pipe(p) == 0 && pipe(q) == 0);
	CHECK(write(cli, "once, twice", 11) == 11 && fsync(cli) == 0);
	CHECK(splice(srv, NULL, p[1], NULL, 11, 0) == 11);
	CHECK(tee(p[0], q[1], 11, 0) == 11);
	CHECK(splice(p[0], NULL, srv, NULL, 11, 0) == 11);
	CHECK(splice(q[0], NULL, srv, NULL, 11, 0) == 11);
	CHECK(fsync(srv) == 0);
	CHECK(read(cli, big, 100) == 22 && !memcmp(big, "once, twiceonce, twice", 22));
}

TEST(sendfile_from_a_channel_is_einval)
{
	int cli, srv, out = open("/tmp/out", O_RDWR | O_CREAT, 0600);

	pair(&cli, &srv);
	CHECK(out >= 0 && write(cli, "x", 1) == 1 && fsync(cli) == 0);
	CHECK_ERR(sendfile(out, srv, NULL, 1), EINVAL);
	CHECK(read(srv, big, 10) == 1);
}
