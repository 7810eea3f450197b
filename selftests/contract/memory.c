// SPDX-License-Identifier: GPL-2.0
/* Memory channels: 'here' exports, 'there' imports. */
#include "contract.h"
#include <libaio.h>
#include <sys/epoll.h>

#define HERE  "/dev/rchar/here"
#define THERE "/dev/rchar/there"
#define SIZE  (1 << 20)

static void add_region(const char *settings)
{
	char cmd[200];

	snprintf(cmd, sizeof(cmd), "rchar add here memory listen 10.0.0.1 %s", settings);
	sh(cmd);
	sh("rchar -w 300 add there memory connect 10.0.0.1/here");
}

/* Both sides open, read and write. */
static void regions(int *far, int *near, const char *settings)
{
	add_region(settings);
	*near = open(HERE, O_RDWR);
	*far = open(THERE, O_RDWR);
	CHECK(*near >= 0 && *far >= 0);
}

TEST(a_region_begins_zeroed)
{
	int far, near;

	regions(&far, &near, "size 1m");
	memset(big, 1, SIZE);
	CHECK(pread(far, big, SIZE, 0) == SIZE);
	for (int i = 0; i < SIZE; i++)
		CHECK(!big[i]);
}

/* Sizes and offsets around pages, chunks, and what is copied or pinned. */
TEST(each_side_reads_what_the_other_wrote)
{
	static const size_t sizes[] = { 1, 7, 4095, 4096, 4097, 65535, 65536, 65537, 300001 };
	static char back[SIZE];
	int far, near;

	regions(&far, &near, "size 5m");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		/* Across the border of two chunks. */
		off_t at = (1 << 20) - sizes[i] / 2;

		for (int shift = 0; shift < 2; shift++) {
			pattern(big + shift, sizes[i], at + i);
			CHECK(pwrite(far, big + shift, sizes[i], at) == (ssize_t)sizes[i]);
			CHECK(fsync(far) == 0);
			CHECK(pread(near, back, sizes[i], at) == (ssize_t)sizes[i]);
			CHECK(has_pattern(back, sizes[i], at + i));
			pattern(back, sizes[i], at + i + 1);
			CHECK(pwrite(near, back, sizes[i], at) == (ssize_t)sizes[i]);
			CHECK(pread(far, big + shift, sizes[i], at) == (ssize_t)sizes[i]);
			CHECK(has_pattern(big + shift, sizes[i], at + i + 1));
		}
	}
}

TEST(large_requests_are_whole)
{
	char *buf = malloc(9 << 20);
	int far, near;

	regions(&far, &near, "size 9m");
	for (size_t i = 0; i < 9 << 20; i += 8)
		memcpy(buf + i, &i, 8);
	CHECK(write(far, buf, 9 << 20) == 9 << 20);
	memset(buf, 0, 9 << 20);
	CHECK(pread(far, buf, 9 << 20, 0) == 9 << 20);
	for (size_t i = 0; i < 9 << 20; i += 8)
		CHECK(!memcmp(buf + i, &i, 8));
}

TEST(vectors_move_in_order)
{
	struct iovec v[3] = { { big, 10 }, { big + 5000, 70000 }, { big + 100000, 3 } };
	static char back[70013];
	int far, near;

	regions(&far, &near, "size 1m");
	pattern(big, 10, 0);
	pattern(big + 5000, 70000, 10);
	pattern(big + 100000, 3, 70010);
	CHECK(pwritev(far, v, 3, 100) == 70013 && fsync(far) == 0);
	CHECK(pread(near, back, sizeof(back), 100) == 70013);
	CHECK(has_pattern(back, sizeof(back), 0));
	memset(big, 0, SIZE);
	CHECK(preadv(far, v, 3, 100) == 70013);
	CHECK(has_pattern(big, 10, 0) && has_pattern(big + 5000, 70000, 10) &&
	      has_pattern(big + 100000, 3, 70010));
}

TEST(mmap_is_the_region)
{
	int far, near, ro;
	char *map;

	regions(&far, &near, "size 1m");
	map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, near, 0);
	CHECK(map != MAP_FAILED);
	strcpy(map + 5000, "from the mapping");
	CHECK(pread(far, big, 100, 5000) == 100 && !strcmp(big, "from the mapping"));
	CHECK(pwrite(far, "from afar", 10, 9000) == 10 && fsync(far) == 0);
	CHECK(!strcmp(map + 9000, "from afar"));
	CHECK(madvise(map, SIZE, MADV_DONTNEED) == 0 && !strcmp(map + 9000, "from afar"));
	ro = open(HERE, O_RDONLY);
	CHECK(mmap(NULL, SIZE, PROT_READ, MAP_SHARED, ro, 0) != MAP_FAILED);
	CHECK(mmap(NULL, SIZE, PROT_WRITE, MAP_SHARED, ro, 0) == MAP_FAILED && errno == EACCES);
	CHECK(mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, near, 0) == MAP_FAILED && errno == EINVAL);
	CHECK(mmap(NULL, SIZE * 2, PROT_READ, MAP_SHARED, near, 0) == MAP_FAILED && errno == ENXIO);
	CHECK(mmap(NULL, SIZE, PROT_READ, MAP_SHARED, far, 0) == MAP_FAILED && errno == ENODEV);
}

TEST(mappings_outlive_the_channel)
{
	int far, near;
	char *map;

	regions(&far, &near, "size 1m");
	map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, near, 0);
	CHECK(map != MAP_FAILED);
	sh("rchar del here");
	close(near);
	memset(map, 7, SIZE);
	CHECK(map[SIZE - 1] == 7);
}

static void rules_at_the_end(int fd, off_t size)
{
	CHECK(pread(fd, big, 100, size - 10) == 10);
	CHECK(pread(fd, big, 100, size) == 0);
	CHECK(pread(fd, big, 100, size + 12345678901) == 0);
	CHECK(pwrite(fd, big, 100, size - 10) == 10);
	CHECK_ERR(pwrite(fd, big, 100, size), ENOSPC);
	CHECK_ERR(pwrite(fd, big, 100, size + 12345678901), ENOSPC);
	CHECK(pread(fd, big, 0, size) == 0 && pwrite(fd, big, 0, size) == 0);
	CHECK_ERR(pread(fd, big, 1, -1), EINVAL);
	CHECK_ERR(pwrite(fd, big, 1, -1), EINVAL);
	CHECK(lseek(fd, 0, SEEK_END) == size);
	CHECK(read(fd, big, 10) == 0);
	CHECK_ERR(write(fd, big, 10), ENOSPC);
	CHECK(lseek(fd, -3, SEEK_CUR) == size - 3);
	CHECK(read(fd, big, 10) == 3);
	CHECK_ERR(lseek(fd, size + 1, SEEK_SET), EINVAL);
	CHECK_ERR(lseek(fd, -1, SEEK_SET), EINVAL);
}

TEST(both_sides_keep_the_rules_of_a_file_that_cannot_grow)
{
	int far, near;

	regions(&far, &near, "size 100001");
	rules_at_the_end(near, 100001);
	rules_at_the_end(far, 100001);
}

TEST(a_fault_ends_reads_and_writes_of_memory)
{
	char *half = half_mapped();
	int far, near, fds[2];

	regions(&far, &near, "size 1m");
	fds[0] = far;
	fds[1] = near;
	for (int i = 0; i < 2; i++) {
		CHECK_ERR(pread(fds[i], nowhere, 100, 0), EFAULT);
		CHECK_ERR(pwrite(fds[i], nowhere, 100, 0), EFAULT);
		CHECK_ERR(pread(fds[i], nowhere, 100000, 0), EFAULT);
		pattern(half, 4096, 0);
		CHECK(pwrite(fds[i], half, 8192, 0) == 4096);
		memset(half, 0, 4096);
		CHECK(pread(fds[i], half, 8192, 0) == 4096 && has_pattern(half, 4096, 0));
	}
}

TEST(writing_to_a_read_only_import_is_erofs)
{
	struct rchar_atomic a = { .op = RCHAR_ATOMIC_ADD };
	int far, near;

	regions(&far, &near, "size 1m access ro");
	CHECK(pwrite(near, "local", 6, 0) == 6);
	CHECK(pread(far, big, 6, 0) == 6 && !strcmp(big, "local"));
	CHECK_ERR(pwrite(far, "x", 1, 0), EROFS);
	CHECK_ERR(ioctl(far, RCHAR_IOC_ATOMIC, &a), EROFS);
	CHECK(ioctl(near, RCHAR_IOC_ATOMIC, &a) == 0);
}

TEST(atomics_return_what_was_before)
{
	struct rchar_atomic a = { .op = RCHAR_ATOMIC_ADD, .offset = 80, .operand = 5 };
	int far, near, fds[2];
	uint64_t word = 40;

	regions(&far, &near, "size 1m");
	fds[0] = far;
	fds[1] = near;
	for (int i = 0; i < 2; i++) {
		word = 40;
		CHECK(pwrite(near, &word, 8, 80) == 8);
		a = (struct rchar_atomic){ .op = RCHAR_ATOMIC_ADD, .offset = 80, .operand = 5 };
		CHECK(ioctl(fds[i], RCHAR_IOC_ATOMIC, &a) == 0 && a.old == 40);
		a.op = RCHAR_ATOMIC_CAS;
		a.compare = 44;
		a.operand = 1;
		CHECK(ioctl(fds[i], RCHAR_IOC_ATOMIC, &a) == 0 && a.old == 45);
		a.compare = 45;
		CHECK(ioctl(fds[i], RCHAR_IOC_ATOMIC, &a) == 0 && a.old == 45);
		CHECK(pread(far, &word, 8, 80) == 8 && word == 1);
	}
}

TEST(atomics_of_the_device_where_it_can)
{
	struct rchar_atomic a = { .op = RCHAR_ATOMIC_ADD, .offset = 80, .operand = 5 };
	uint64_t word = 40;
	int far, near;

	if (encrypted()) {
		CHECK(system("rchar add here memory listen 10.0.0.1 size 1m atomics hw 2>&1 | "
			     "grep -q 'with encryption, atomics are sw'") == 0);
		return;
	}
	if (device_lacks("atomic_cap") || device_lacks("max_fast_reg_page_list_len") ||
	    device_lacks("direct_dma")) {
		add_region("size 1m atomics hw");
		CHECK_ERR(open(THERE, O_RDWR), EOPNOTSUPP);
		sh("rchar show there | grep -q no-atomics");
		return;
	}
	regions(&far, &near, "size 1m atomics hw");
	CHECK(pwrite(near, &word, 8, 80) == 8);
	if (device_lacks("post_atomic")) {
		CHECK_ERR(ioctl(far, RCHAR_IOC_ATOMIC, &a), EOPNOTSUPP);
		CHECK(pread(far, &word, 8, 80) == 8 && word == 40);
		return;
	}
	CHECK(ioctl(far, RCHAR_IOC_ATOMIC, &a) == 0 && a.old == 40);
	a.op = RCHAR_ATOMIC_CAS;
	a.compare = 45;
	a.operand = 1;
	CHECK(ioctl(far, RCHAR_IOC_ATOMIC, &a) == 0 && a.old == 45);
	CHECK(ioctl(far, RCHAR_IOC_ATOMIC, &a) == 0 && a.old == 1);
	CHECK(pread(near, &word, 8, 80) == 8 && word == 1);
	a.offset = (1 << 20) - 4;
	CHECK_ERR(ioctl(far, RCHAR_IOC_ATOMIC, &a), EINVAL);
	a.offset = 1 << 20;
	CHECK_ERR(ioctl(far, RCHAR_IOC_ATOMIC, &a), EINVAL);
	a.offset = 80;
	CHECK_ERR(ioctl(near, RCHAR_IOC_ATOMIC, &a), EOPNOTSUPP);
}

TEST(bad_atomics_are_einval)
{
	struct rchar_atomic good = { .op = RCHAR_ATOMIC_ADD }, a;
	int far, near, fds[3];

	regions(&far, &near, "size 100001");
	fds[0] = far;
	fds[1] = near;
	for (int i = 0; i < 2; i++) {
		a = good;
		a.op = 0;
		CHECK_ERR(ioctl(fds[i], RCHAR_IOC_ATOMIC, &a), EINVAL);
		a = good;
		a.op = 3;
		CHECK_ERR(ioctl(fds[i], RCHAR_IOC_ATOMIC, &a), EINVAL);
		a = good;
		a.flags = 1;
		CHECK_ERR(ioctl(fds[i], RCHAR_IOC_ATOMIC, &a), EINVAL);
		a = good;
		a.offset = 4;
		CHECK_ERR(ioctl(fds[i], RCHAR_IOC_ATOMIC, &a), EINVAL);
		a = good;
		a.offset = 100000; /* only a byte of it is inside */
		CHECK_ERR(ioctl(fds[i], RCHAR_IOC_ATOMIC, &a), EINVAL);
		a = good;
		a.offset = -8;
		CHECK_ERR(ioctl(fds[i], RCHAR_IOC_ATOMIC, &a), EINVAL);
		CHECK_ERR(ioctl(fds[i], RCHAR_IOC_ATOMIC, nowhere), EFAULT);
	}
	fds[2] = open(THERE, O_RDONLY);
	a = good;
	CHECK_ERR(ioctl(fds[2], RCHAR_IOC_ATOMIC, &a), EBADF);
	/* The answer would be a read. */
	fds[2] = open(THERE, O_WRONLY);
	CHECK_ERR(ioctl(fds[2], RCHAR_IOC_ATOMIC, &a), EBADF);
	fds[2] = open(HERE, O_WRONLY);
	CHECK_ERR(ioctl(fds[2], RCHAR_IOC_ATOMIC, &a), EBADF);
}

static void *add_often(void *arg)
{
	struct rchar_atomic a = { .op = RCHAR_ATOMIC_ADD, .offset = 8, .operand = 1 };

	for (int i = 0; i < rounds(1000); i++)
		CHECK(ioctl(*(int *)arg, RCHAR_IOC_ATOMIC, &a) == 0);
	return NULL;
}

/* Four files that import, and the exporter's CPU through its mapping, all at once. */
TEST(atomics_of_all_sides_add_up)
{
	int far, near, fds[4];
	volatile uint64_t *map;
	pthread_t threads[4];

	regions(&far, &near, "size 1m");
	map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, near, 0);
	CHECK(map != MAP_FAILED);
	for (int i = 0; i < 4; i++) {
		fds[i] = open(THERE, O_RDWR);
		CHECK(fds[i] >= 0);
		pthread_create(&threads[i], NULL, add_often, &fds[i]);
	}
	for (int i = 0; i < 100000; i++)
		__atomic_fetch_add(&map[1], 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CHECK(map[1] == 100000 + 4u * rounds(1000));
}

TEST(rings_are_counted_and_wake_poll)
{
	struct rchar_rings rings;
	int far, near, late;

	regions(&far, &near, "size 1m");
	CHECK(!(events(near, POLLIN | POLLPRI, 0) & (POLLIN | POLLPRI)));
	CHECK(ioctl(near, RCHAR_IOC_RINGS, &rings) == 0 && rings.count == 0);
	CHECK(ioctl(far, RCHAR_IOC_NOTIFY, 17) == 0);
	CHECK(events(near, POLLIN, LONG_MS) & POLLIN);
	for (int i = 1; i <= 10; i++)
		CHECK(ioctl(far, RCHAR_IOC_NOTIFY, i) == 0);
	CHECK_ERR(ioctl(near, RCHAR_IOC_RINGS, nowhere), EFAULT);
	CHECK(ioctl(near, RCHAR_IOC_RINGS, &rings) == 0);
	CHECK(rings.count == 11 && rings.last == 10);
	CHECK(!(events(near, POLLIN, 0) & POLLIN));
	late = open(HERE, O_RDONLY);
	CHECK(ioctl(late, RCHAR_IOC_RINGS, &rings) == 0 && rings.count == 0);
	CHECK_ERR(ioctl(near, RCHAR_IOC_NOTIFY, 1), ENOTTY);
	CHECK_ERR(ioctl(far, RCHAR_IOC_RINGS, &rings), ENOTTY);
	late = open(THERE, O_RDONLY);
	CHECK_ERR(ioctl(late, RCHAR_IOC_NOTIFY, 1), EBADF);
}

/* A thread of a program that waits as the only one of several: EPOLLEXCLUSIVE in epoll_ctl(2). */
static void *wait_exclusively(void *arg)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLEXCLUSIVE };
	int ep = epoll_create1(0);
	struct call *c = arg;

	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &ev) == 0);
	c->tid = gettid();
	c->ret = epoll_wait(ep, &ev, 1, LONG_MS);
	return NULL;
}

TEST(every_program_that_polls_sees_a_ring)
{
	struct call calls[2] = {};
	int far, near;

	regions(&far, &near, "size 1m");
	for (int i = 0; i < 2; i++) {
		calls[i].fd = open(HERE, O_RDONLY);
		CHECK(calls[i].fd >= 0);
		pthread_create(&calls[i].thread, NULL, wait_exclusively, &calls[i]);
		until_asleep(&calls[i]);
	}
	CHECK(ioctl(far, RCHAR_IOC_NOTIFY, 1) == 0);
	for (int i = 0; i < 2; i++) {
		pthread_join(calls[i].thread, NULL);
		CHECK(calls[i].ret == 1);
	}
}

TEST(writes_before_a_ring_are_visible_after_it)
{
	volatile uint32_t *map;
	int far, near;

	regions(&far, &near, "size 1m");
	map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, near, 0);
	CHECK(map != MAP_FAILED);
	for (uint32_t i = 1; i <= 100; i++) {
		struct rchar_rings rings;

		CHECK(pwrite(far, &i, 4, i * 4096) == 4);
		CHECK(ioctl(far, RCHAR_IOC_NOTIFY, i) == 0);
		CHECK(events(near, POLLPRI, LONG_MS) & POLLPRI);
		CHECK(ioctl(near, RCHAR_IOC_RINGS, &rings) == 0 && rings.last == i);
		CHECK(map[i * 1024] == i);
	}
}

TEST(fsync_is_a_fence_for_memory)
{
	static char back[100000];
	int far, near;
	char *map;

	regions(&far, &near, "size 1m");
	map = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, near, 0);
	CHECK(map != MAP_FAILED);
	for (int i = 0; i < 50; i++) {
		pattern(back, sizeof(back), i);
		CHECK(pwrite(far, back, sizeof(back), i * 1000) == sizeof(back));
		CHECK(fsync(far) == 0 && fdatasync(far) == 0);
		CHECK(!memcmp(map + i * 1000, back, sizeof(back)));
	}
}

TEST(info_tells_the_size)
{
	struct rchar_info info;
	int far, near;

	regions(&far, &near, "size 100001");
	CHECK(ioctl(far, RCHAR_IOC_INFO, &info) == 0);
	CHECK(info.type == RCHAR_TYPE_MEMORY && info.role == RCHAR_ROLE_CONNECT);
	CHECK(info.size == 100001 && info.access == RCHAR_ACCESS_RW);
	CHECK(ioctl(near, RCHAR_IOC_INFO, &info) == 0);
	CHECK(info.type == RCHAR_TYPE_MEMORY && info.role == RCHAR_ROLE_LISTEN);
	CHECK(info.size == 100001 && info.importers == 1 && !strcmp(info.name, "here"));
}

TEST(an_import_does_not_wait_for_a_program)
{
	int fds[16];

	add_region("size 1m");
	for (int i = 0; i < 16; i++) {
		fds[i] = open(THERE, O_RDWR);
		CHECK(fds[i] >= 0 && pwrite(fds[i], &i, 4, i * 4) == 4);
	}
	for (int i = 0; i < 16; i++) {
		int got;

		CHECK(pread(fds[15 - i], &got, 4, i * 4) == 4 && got == i);
	}
}

TEST(nonblocking_import_turns_ready)
{
	int far, near;

	add_region("size 1m");
	near = open(HERE, O_RDWR);
	far = open(THERE, O_RDWR | O_NONBLOCK);
	CHECK(near >= 0 && far >= 0);
	CHECK(events(far, POLLIN | POLLOUT, LONG_MS) == (POLLIN | POLLOUT));
	CHECK(pwrite(far, "x", 1, 0) == 1);
}

/* 64 at once, each to a place of its own. */
TEST(asynchronous_requests_are_many_at_once)
{
	struct io_event done[64];
	io_context_t ctx = 0;
	struct iocb io[64], *p[64];
	static char back[64][4096] __attribute__((aligned(4096)));
	int far, near;

	regions(&far, &near, "size 1m");
	CHECK(io_setup(64, &ctx) == 0);
	for (int i = 0; i < 64; i++) {
		pattern(big + i * 4096, 4096, i);
		io_prep_pwrite(&io[i], far, big + i * 4096, 4096, i * 4096);
		p[i] = &io[i];
	}
	CHECK(io_submit(ctx, 64, p) == 64);
	CHECK(io_getevents(ctx, 64, 64, done, NULL) == 64);
	for (int i = 0; i < 64; i++) {
		CHECK(done[i].res == 4096);
		io_prep_pread(&io[i], far, back[i], 4096, i * 4096);
	}
	CHECK(io_submit(ctx, 64, p) == 64);
	CHECK(io_getevents(ctx, 64, 64, done, NULL) == 64);
	for (int i = 0; i < 64; i++)
		CHECK(done[i].res == 4096 && has_pattern(back[i], 4096, i));
}

TEST(rwf_nowait_does_not_wait_for_the_peer)
{
	struct iovec v = { big, 4096 };
	int far, near;

	regions(&far, &near, "size 1m");
	CHECK_ERR(preadv2(far, &v, 1, 0, RWF_NOWAIT), EAGAIN);
	CHECK_ERR(pwritev2(far, &v, 1, 0, RWF_NOWAIT), EAGAIN);
	CHECK(preadv2(near, &v, 1, 0, RWF_NOWAIT) == 4096);
}

/* What RLIMIT_MEMLOCK does not let be pinned is copied. */
TEST(a_memory_limit_does_not_fail_reads)
{
	struct rlimit none = { 0, 0 };
	int far, near, status;

	regions(&far, &near, "size 1m access rw");
	pattern(big, 500000, 3);
	CHECK(pwrite(near, big, 500000, 0) == 500000);
	memset(big, 0, 500000);
	if (fork() == 0) {
		setrlimit(RLIMIT_MEMLOCK, &none);
		CHECK(setuid(65534) == 0);
		CHECK(pread(far, big, 500000, 0) == 500000);
		_exit(!has_pattern(big, 500000, 3));
	}
	CHECK(wait(&status) > 0 && status == 0);
}

TEST(memory_can_be_spliced)
{
	int far, near, p[2];

	regions(&far, &near, "size 1m");
	pattern(big, 60000, 0);
	CHECK(pwrite(near, big, 60000, 0) == 60000 && pipe(p) == 0);
	CHECK(splice(far, NULL, p[1], NULL, 60000, 0) == 60000);
	memset(big, 0, 60000);
	CHECK(read(p[0], big, 60000) == 60000 && has_pattern(big, 60000, 0));
}

TEST(a_deleted_export_resets_its_importers)
{
	struct rchar_rings rings;
	int far, near;

	regions(&far, &near, "size 1m");
	CHECK(pread(far, big, 10, 0) == 10);
	sh("rchar del here");
	EVENTUALLY(pread(far, big, 10, 0) == -1);
	CHECK_ERR(pread(far, big, 10, 0), ECONNRESET);
	CHECK_ERR(fsync(far), ECONNRESET);
	CHECK(events(far, POLLIN, 0) & POLLERR);
	CHECK_ERR(pread(near, big, 10, 0), ENODEV);
	CHECK_ERR(ioctl(near, RCHAR_IOC_RINGS, &rings), ENODEV);
	CHECK(events(near, POLLIN, 0) & POLLHUP);
}

TEST(a_deleted_import_is_enodev)
{
	int far, near;

	regions(&far, &near, "size 1m");
	sh("rchar del there");
	CHECK_ERR(pread(far, big, 10, 0), ENODEV);
	CHECK_ERR(pwrite(far, big, 10, 0), ENODEV);
	EVENTUALLY(!system("rchar show here | grep -q 'sessions 0'"));
}

TEST(memory_operations_survive_a_lost_link)
{
	static char back[200000];
	int far, near;
	pid_t pid;

	regions(&far, &near, "size 1m");
	pid = reset_links("tx_bytes");
	for (int i = 0; resetting(pid); i++) {
		pattern(big, sizeof(back), i);
		CHECK(pwrite(far, big, sizeof(back), i) == sizeof(back));
		CHECK(pread(far, back, sizeof(back), i) == sizeof(back));
		CHECK(has_pattern(back, sizeof(back), i));
	}
}

TEST(an_atomic_is_never_executed_twice)
{
	pthread_t adder;
	uint64_t word, n;
	int far, near;
	pid_t pid;

	regions(&far, &near, "size 1m");
	pid = reset_links("calls");
	for (n = 0; resetting(pid); n += 2 * rounds(1000)) {
		pthread_create(&adder, NULL, add_often, &far);
		add_often(&far);
		pthread_join(adder, NULL);
	}
	CHECK(pread(near, &word, 8, 8) == 8 && word == n);
}

/* Killed with requests under way: they end, and nothing stays pinned. */
TEST(a_killed_program_leaves_nothing_pinned)
{
	int far, near, status;
	pid_t pid;

	regions(&far, &near, "size 1m");
	for (int i = 0; i < rounds(5); i++) {
		pid = fork();
		if (pid == 0) {
			struct iocb io[32], *p[32];
			struct io_event done[32];
			io_context_t ctx = 0;

			CHECK(io_setup(32, &ctx) == 0);
			for (int k = 0; k < 32; k++) {
				io_prep_pread(&io[k], far, big + k * 32768, 32768, k * 32768);
				p[k] = &io[k];
			}
			/* Without their results there is soon no room for new ones. */
			for (;;) {
				io_submit(ctx, 32, p);
				io_getevents(ctx, 1, 32, done, NULL);
			}
		}
		EVENTUALLY(!system("rchar -j show there | grep -q '\"pinned_bytes\":[1-9]'"));
		kill(pid, SIGKILL);
		CHECK(waitpid(pid, &status, 0) == pid);
	}
	EVENTUALLY(!system("rchar -j show there | grep -q '\"pinned_bytes\":0,'"));
	CHECK(pread(far, big, 100, 0) == 100);
}

/* Its file system may lock a page for as long as it likes. */
TEST(memory_of_a_file_is_not_pinned)
{
	int far, near, fd;
	char *map;
	pid_t pid;

	regions(&far, &near, "size 1m");
	pattern(big, SIZE, 3);
	CHECK(pwrite(far, big, SIZE, 0) == SIZE && fsync(far) == 0);
	sh("mkdir -p /tmp/ram && mount -t ramfs none /tmp/ram && head -c 1m /dev/zero >/tmp/ram/file");
	fd = open("/tmp/ram/file", O_RDWR);
	map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(fd >= 0 && map != MAP_FAILED);
	CHECK(pread(far, map, SIZE, 0) == SIZE && has_pattern(map, SIZE, 3));
	pid = fork();
	if (!pid)
		for (;;)
			CHECK(pread(far, map, SIZE, 0) == SIZE);
	for (int i = 0; i < rounds(30); i++)
		sh("rchar -j show there | grep -q '\"pinned_bytes\":0,'");
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid);
	munmap(map, SIZE);
	close(fd);
	sh("umount /tmp/ram");
}

/* The requests of the old program end before the new one begins: exit_aio() in fs/aio.c. */
TEST(a_program_that_execs_leaves_nothing_pinned)
{
	int far, near, status;

	regions(&far, &near, "size 1m");
	for (int i = 0; i < rounds(10); i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid) {
			struct iocb io[32], *p[32];
			io_context_t ctx = 0;

			CHECK(io_setup(32, &ctx) == 0);
			for (int k = 0; k < 32; k++) {
				io_prep_pread(&io[k], far, big + k * 32768, 32768, k * 32768);
				p[k] = &io[k];
			}
			CHECK(io_submit(ctx, 32, p) > 0);
			execlp("sh", "sh", "-c",
			       "rchar -j show there | grep -q '\"pinned_bytes\":0,'", NULL);
			_exit(9);
		}
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
}
