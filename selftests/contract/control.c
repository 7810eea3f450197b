// SPDX-License-Identifier: GPL-2.0
/* ioctls, fsync, fdinfo. */
#include "contract.h"
#include <libaio.h>
#include <arpa/inet.h>

TEST(fionread_counts_unread_and_tiocoutq_unacknowledged_bytes)
{
	int cli, srv, n = -1;

	pair(&cli, &srv);
	CHECK(write(cli, big, 12345) == 12345 && fsync(cli) == 0);
	CHECK(ioctl(srv, FIONREAD, &n) == 0 && n == 12345);
	CHECK(ioctl(cli, TIOCOUTQ, &n) == 0 && n == 0);
	CHECK(read(srv, big, 345) == 345);
	CHECK(ioctl(srv, FIONREAD, &n) == 0 && n == 12000);
	CHECK_ERR(ioctl(srv, FIONREAD, (void *)8), EFAULT);
}

TEST(fsync_returns_when_the_peers_kernel_has_all)
{
	int cli, srv, n, i;

	pair(&cli, &srv);
	for (i = 0; i < 20; i++) {
		CHECK(write(cli, big, 3000) == 3000 && fsync(cli) == 0);
		CHECK(ioctl(cli, TIOCOUTQ, &n) == 0 && n == 0);
		CHECK(ioctl(srv, FIONREAD, &n) == 0 && n == 3000 * (i + 1));
	}
}

TEST(shutdown_closes_one_half)
{
	int cli, srv;

	pair(&cli, &srv);
	CHECK(write(cli, "bye", 3) == 3);
	CHECK(ioctl(cli, RCHAR_IOC_SHUTDOWN, RCHAR_SHUT_WR) == 0);
	CHECK_ERR(write(cli, "x", 1), EPIPE);
	CHECK(read(srv, big, 10) == 3 && read(srv, big, 10) == 0);
	CHECK(write(srv, "yo", 2) == 2 && read(cli, big, 10) == 2);
	CHECK(ioctl(cli, RCHAR_IOC_SHUTDOWN, RCHAR_SHUT_RD) == 0);
	CHECK(read(cli, big, 10) == 0);
	EVENTUALLY(write(srv, "x", 1) == -1);
	CHECK_ERR(write(srv, "x", 1), EPIPE);
}

TEST(a_wrong_ioctl_is_enotty_and_a_wrong_half_einval)
{
	int cli, srv;

	pair(&cli, &srv);
	CHECK_ERR(ioctl(cli, _IO('z', 99)), ENOTTY);
	CHECK_ERR(ioctl(cli, RCHAR_IOC_SHUTDOWN, 0), EINVAL);
	CHECK_ERR(ioctl(cli, RCHAR_IOC_SHUTDOWN, 4), EINVAL);
}

TEST(fdinfo_tells_state_and_queues)
{
	char path[64], text[1024] = "";
	int cli, srv;
	FILE *f;

	pair(&cli, &srv);
	CHECK(write(cli, big, 777) == 777 && fsync(cli) == 0);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", srv);
	f = fopen(path, "r");
	CHECK(f && fread(text, 1, sizeof(text) - 1, f) > 0);
	CHECK(strstr(text, "rchar-channel:\tsrv") && strstr(text, "rchar-state:\topen"));
	CHECK(strstr(text, "rchar-rx-queued:\t777"));
}

TEST(info_tells_type_role_state_peer_and_limits)
{
	struct sockaddr_in *peer;
	struct rchar_info info;
	int cli, srv;

	pair(&cli, &srv);
	CHECK(write(cli, big, 777) == 777 && fsync(cli) == 0);
	memset(&info, 0xff, sizeof(info));
	CHECK(ioctl(srv, RCHAR_IOC_INFO, &info) == 0);
	CHECK(info.type == RCHAR_TYPE_STREAM && info.role == RCHAR_ROLE_LISTEN);
	CHECK(info.state == RCHAR_SESSION_OPEN && info.reason == 0);
	CHECK(info.shut == 0 && info.peer_shut == 0);
	CHECK(info.window == WINDOW && info.max_message == 0);
	CHECK(info.rx_queued == 777 && info.tx_unacked == 0 && info.tx_room == WINDOW);
	CHECK(info.session && info.link && !strcmp(info.name, "srv"));
	peer = (struct sockaddr_in *)info.peer;
	CHECK(peer->sin_family == AF_INET && peer->sin_addr.s_addr == htonl(0x0a000001));
	CHECK(ioctl(cli, RCHAR_IOC_SHUTDOWN, RCHAR_SHUT_WR) == 0);
	CHECK(ioctl(cli, RCHAR_IOC_INFO, &info) == 0);
	CHECK(info.role == RCHAR_ROLE_CONNECT && info.shut == RCHAR_SHUT_WR);
	CHECK(events(srv, POLLRDHUP, LONG_MS) == POLLRDHUP);
	CHECK(ioctl(srv, RCHAR_IOC_INFO, &info) == 0 && info.peer_shut == RCHAR_SHUT_WR);
	/* Before there is a peer. */
	srv = open(SRV, O_RDWR | O_NONBLOCK);
	CHECK(ioctl(srv, RCHAR_IOC_INFO, &info) == 0);
	CHECK(info.state == RCHAR_SESSION_ACCEPTING && !info.session && !info.peer[0]);
}

TEST(info_of_any_size_is_understood)
{
	unsigned char bytes[sizeof(struct rchar_info) + 100];
	const unsigned int dir = _IOC_READ, type = RCHAR_IOC_MAGIC, nr = _IOC_NR(RCHAR_IOC_INFO);
	int cli, srv, i;

	pair(&cli, &srv);
	memset(bytes, 0xff, sizeof(bytes));
	CHECK(ioctl(srv, _IOC(dir, type, nr, 4), bytes) == 0);
	CHECK(*(uint32_t *)bytes == RCHAR_TYPE_STREAM && bytes[4] == 0xff);
	CHECK(ioctl(srv, _IOC(dir, type, nr, sizeof(bytes)), bytes) == 0);
	for (i = sizeof(struct rchar_info); i < (int)sizeof(bytes); i++)
		CHECK(bytes[i] == 0);
	CHECK_ERR(ioctl(srv, _IOC(dir, type, nr, 0), bytes), EINVAL);
	CHECK_ERR(ioctl(srv, RCHAR_IOC_INFO, nowhere), EFAULT);
	CHECK_ERR(ioctl(srv, _IOC(dir, type, nr, sizeof(bytes)), half_mapped() + 4000), EFAULT);
}

TEST(shutdown_before_open_is_enotconn)
{
	int srv = open(SRV, O_RDWR | O_NONBLOCK);

	CHECK_ERR(ioctl(srv, RCHAR_IOC_SHUTDOWN, RCHAR_SHUT_WR), ENOTCONN);
}

TEST(shutdown_wakes_waiting_readers_and_writers)
{
	struct call r = { 0 }, w = { 0 };
	int cli, srv;

	pair(&cli, &srv);
	fill_window(cli);
	CHECK(fcntl(cli, F_SETFL, 0) == 0);
	r.fd = w.fd = cli;
	pthread_create(&r.thread, NULL, call_read, &r);
	pthread_create(&w.thread, NULL, call_write, &w);
	until_asleep(&r);
	until_asleep(&w);
	CHECK(ioctl(cli, RCHAR_IOC_SHUTDOWN, RCHAR_SHUT_RD | RCHAR_SHUT_WR) == 0);
	pthread_join(r.thread, NULL);
	pthread_join(w.thread, NULL);
	CHECK(r.ret == 0 && w.ret == -1 && w.err == EPIPE);
}

#ifdef __x86_64__
/* The entry that 32-bit programs use, open to every program. */
static long call32(long nr, long a, long b, long c)
{
	long ret;

	asm volatile("int $0x80"
		     : "=a"(ret)
		     : "a"(nr), "b"(a), "c"(b), "d"(c)
		     : "memory", "r8", "r9", "r10", "r11");
	return ret;
}
#else
#define MAP_32BIT 0
static long call32(long nr, long a, long b, long c)
{
	(void)nr, (void)a, (void)b, (void)c;
	SKIP("there is no entry for 32-bit programs that every program may use");
}
#endif

static void no_entry(int sig)
{
	(void)sig;
	SKIP("this kernel has no CONFIG_IA32_EMULATION");
}

struct iovec32 {
	uint32_t base, len;
};

TEST(thirty_two_bit_programs_have_the_same_calls)
{
	enum { READ = 3, WRITE = 4, IOCTL = 54, READV = 145 };
	struct iovec32 *iov;
	struct rchar_info *info;
	int cli, srv;
	char *low;

	pair(&cli, &srv);
	signal(SIGSEGV, no_entry);
	low = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1,
		   0);
	CHECK(low != MAP_FAILED);
	strcpy(low, "small world");
	CHECK(call32(WRITE, cli, (long)low, 11) == 11 && fsync(cli) == 0);
	CHECK(call32(IOCTL, srv, FIONREAD, (long)(low + 100)) == 0 && low[100] == 11);
	CHECK(call32(IOCTL, cli, TIOCOUTQ, (long)(low + 104)) == 0 && low[104] == 0);
	info = (void *)(low + 256);
	CHECK(call32(IOCTL, srv, RCHAR_IOC_INFO, (long)info) == 0);
	CHECK(info->rx_queued == 11 && !strcmp(info->name, "srv"));
	iov = (void *)(low + 4096);
	iov[0].base = (uint32_t)(long)low + 512;
	iov[0].len = 5;
	iov[1].base = (uint32_t)(long)low + 600;
	iov[1].len = 6;
	CHECK(call32(READV, srv, (long)iov, 2) == 11);
	CHECK(!memcmp(low + 512, "small", 5) && !memcmp(low + 600, " world", 6));
	CHECK(call32(IOCTL, cli, RCHAR_IOC_SHUTDOWN, RCHAR_SHUT_WR) == 0);
	CHECK(call32(READ, srv, (long)low, 10) == 0);
}

TEST(fsync_waits_with_o_nonblock_as_well)
{
	int cli, srv, i;

	pair(&cli, &srv);
	nonblock(cli);
	for (i = 0; i < 20; i++) {
		CHECK(write(cli, big, 3000) == 3000 && fsync(cli) == 0);
		CHECK(unacknowledged(cli) == 0);
	}
}

static void libaio_refuses_to_sync(int fd)
{
	struct iocb io, *p = &io;
	io_context_t ctx = 0;
	struct io_event done;

	CHECK(io_setup(1, &ctx) == 0);
	io_prep_fsync(&io, fd);
	CHECK(io_submit(ctx, 1, &p) == 1 && io_getevents(ctx, 1, 1, &done, NULL) == 1);
	CHECK((long)done.res == -EINVAL);
	io_prep_fdsync(&io, fd);
	CHECK(io_submit(ctx, 1, &p) == 1 && io_getevents(ctx, 1, 1, &done, NULL) == 1);
	CHECK((long)done.res == -EINVAL);
	io_destroy(ctx);
}

TEST(libaio_has_no_fsync)
{
	int cli, srv, there;

	pair(&cli, &srv);
	CHECK(write(cli, "x", 1) == 1);
	libaio_refuses_to_sync(cli);
	sh("rchar add here memory listen 10.0.0.1 size 1m");
	sh("rchar -w 300 add there memory connect 10.0.0.1/here");
	there = open("/dev/rchar/there", O_RDWR);
	CHECK(there >= 0 && pwrite(there, "x", 1, 0) == 1);
	libaio_refuses_to_sync(there);
	CHECK(fsync(there) == 0);
}

TEST(shutdown_of_an_ended_session_drops_what_was_received)
{
	int cli, srv;

	pair(&cli, &srv);
	CHECK(write(cli, "x", 1) == 1 && fsync(cli) == 0);
	sh("rchar session kill $(rchar session | sed -n 's/: channel cli.*//p' | head -n1)");
	CHECK(events(srv, POLLIN, LONG_MS) & POLLIN);
	EVENTUALLY(events(srv, POLLIN, 0) & POLLHUP);
	CHECK(ioctl(srv, RCHAR_IOC_SHUTDOWN, RCHAR_SHUT_WR) == 0);
	CHECK(ioctl(srv, RCHAR_IOC_SHUTDOWN, RCHAR_SHUT_RD) == 0);
	CHECK_ERR(read(srv, big, 1), ECONNRESET);
}
