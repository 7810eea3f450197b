// SPDX-License-Identifier: GPL-2.0
/*
 * One test for each sentence of Documentation/uapi.rst. Both ends are on this machine:
 * 'srv' listens, 'cli' connects to it, 'msrv' and 'mcli' are the same for messages;
 * 'nobody' connects to a port where nobody listens, 'wrong' to a name that does not
 * exist. Each test runs in a process of its own, with fresh sessions.
 */
#include "contract.h"

char big[1 << 20];
void *volatile nowhere = (void *)8;

/* Does every channel encrypt, and so every listening one have a key? See suites/contract.sh. */
bool encrypted(void)
{
	return getenv("ENCRYPTED");
}

/*
 * Can the device of this run do less than soft-RoCE? siw cannot, and with 'check --profile' the
 * module takes soft-RoCE for another adapter; see kmod/base/inject.h for the names of limits.
 */
bool device_lacks(const char *limit)
{
	const char *device = getenv("VM_RDMA");

	if (device && !strcmp(device, "siw") && strcmp(limit, "max_fast_reg_page_list_len"))
		return true;
	return device_limit(limit) == 0;
}

/* What the module takes for the device's limit; large when no profile has one. */
long long device_limit(const char *limit)
{
	char path[128], value[16] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/rdma_char/limits/%s", limit);
	f = fopen(path, "r");
	CHECK(f && fgets(value, sizeof(value), f));
	fclose(f);
	return atoll(value);
}

void sh(const char *cmd)
{
	CHECK(system(cmd) == 0);
}

void pair_flags(int *cli, int cli_flags, int *srv, int srv_flags)
{
	*cli = open(CLI, cli_flags);
	CHECK(*cli >= 0);
	*srv = open(SRV, srv_flags);
	CHECK(*srv >= 0);
}

void pair(int *cli, int *srv)
{
	pair_flags(cli, O_RDWR, srv, O_RDWR);
}

/* Of channels of the test's own: 'here' listens, 'there' connects to it. */
void new_pair(int *cli, int *srv, const char *type, const char *listen_settings,
	      const char *connect_settings)
{
	char cmd[200];

	snprintf(cmd, sizeof(cmd), "rchar add here %s listen 10.0.0.1 %s", type, listen_settings);
	sh(cmd);
	snprintf(cmd, sizeof(cmd), "rchar -w 300 add there %s connect 10.0.0.1/here %s", type,
		 connect_settings);
	sh(cmd);
	*cli = open("/dev/rchar/there", O_RDWR);
	*srv = open("/dev/rchar/here", O_RDWR);
	CHECK(*cli >= 0 && *srv >= 0);
}

short events(int fd, short want, int timeout)
{
	struct pollfd p = { .fd = fd, .events = want };

	CHECK(poll(&p, 1, timeout) >= 0);
	return p.revents;
}

void nonblock(int fd)
{
	CHECK(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
}

int unacknowledged(int fd)
{
	int n;

	CHECK(ioctl(fd, TIOCOUTQ, &n) == 0);
	return n;
}

long fill_window_by(int fd, size_t bytes)
{
	long total = 0;
	bool acked;
	ssize_t n;

	nonblock(fd);
	do {
		/* Our own limit opens again when acks come: only the peer's counts. */
		acked = !unacknowledged(fd);
		while ((n = write(fd, big, bytes)) > 0)
			total += n, acked = false;
		CHECK(n == -1 && errno == EAGAIN);
		if (!acked)
			EVENTUALLY(!unacknowledged(fd));
	} while (!acked);
	return total;
}

long fill_window(int fd)
{
	return fill_window_by(fd, 10000);
}

void read_exactly(int fd, long bytes)
{
	while (bytes) {
		ssize_t n = read(fd, big, bytes < (long)sizeof(big) ? bytes : (long)sizeof(big));

		CHECK(n > 0);
		bytes -= n;
	}
}

void *call_open(void *arg)
{
	struct call *c = arg;

	c->tid = gettid();
	c->ret = open(c->path, c->flags);
	c->err = errno;
	return NULL;
}

void *call_read(void *arg)
{
	struct call *c = arg;
	char buf[16];

	c->tid = gettid();
	c->ret = read(c->fd, buf, sizeof(buf));
	c->err = errno;
	return NULL;
}

void *call_write(void *arg)
{
	struct call *c = arg;

	c->tid = gettid();
	c->ret = write(c->fd, big, 1000);
	c->err = errno;
	return NULL;
}

/* Until the call waits for something. */
void until_asleep(struct call *c)
{
	EVENTUALLY(c->tid && asleep(c->tid));
}

void no_op(int sig)
{
	(void)sig;
}

static void *interrupt_a_sleeper(void *arg)
{
	pid_t tid = (intptr_t)arg;

	(void)BECOMES(fast_asleep(tid));
	tgkill(getpid(), tid, SIGUSR1);
	return NULL;
}

/* The caller gets a signal as soon as it sleeps. */
void interrupt_with(const struct sigaction *sa)
{
	pthread_t thread;

	sigaction(SIGUSR1, sa, NULL);
	CHECK(!pthread_create(&thread, NULL, interrupt_a_sleeper, (void *)(intptr_t)gettid()));
	pthread_detach(thread);
}

/* 4096 bytes, before memory that is not mapped. */
char *half_mapped(void)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED && munmap(p + page, page) == 0);
	return p + page - 4096;
}

static const char *output_of(const char *command)
{
	static char text[65536];
	FILE *f = popen(command, "r");
	size_t n;

	CHECK(f && (n = fread(text, 1, sizeof(text) - 1, f)) > 0);
	text[n] = 0;
	pclose(f);
	return text;
}

/* The largest number that a command prints after a key of JSON; -1: there is none. */
long largest(const char *command, const char *key)
{
	const char *text = output_of(command);
	char word[64];
	long most = -1;

	snprintf(word, sizeof(word), "\"%s\":", key);
	for (const char *p = text; (p = strstr(p, word)); p++) {
		long m = atol(p + strlen(word));

		most = m > most ? m : most;
	}
	return most;
}

long counter_of_there(const char *key)
{
	return largest("rchar -j stats there", key);
}

/*
 * Resets the links of who connects a few times, each time after a counter of 'there' has grown. In
 * another process: the end of its children interrupts nothing here.
 */
pid_t reset_links(const char *counter)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid)
		return pid;
	for (int i = 0; i < rounds(4); i++) {
		long connects = largest("rchar -j link", "connects"), moved;

		sh("for l in $(rchar link | sed -n 's/: to.*//p'); do rchar link reset $l; done");
		EVENTUALLY(largest("rchar -j link", "connects") > connects);
		moved = counter_of_there(counter);
		EVENTUALLY(counter_of_there(counter) > moved);
	}
	_exit(0);
}

bool resetting(pid_t pid)
{
	int status;

	if (!waitpid(pid, &status, WNOHANG))
		return true;
	CHECK(status == 0);
	return false;
}

/* Most of the memory that any session holds for its reader. */
long rx_memory(void)
{
	return largest("rchar -j session", "rx_memory_bytes");
}

static char byte_at(uint64_t at)
{
	return (at * 0x9e3779b97f4a7c15ull) >> 56;
}

/* Bytes that follow from their position. */
void pattern(char *buf, size_t len, uint64_t at)
{
	while (len--)
		*buf++ = byte_at(at++);
}

bool has_pattern(const char *buf, size_t len, uint64_t at)
{
	while (len && *buf == byte_at(at)) {
		buf++;
		at++;
		len--;
	}
	return !len;
}

/* ---- all of them ---- */

/* The files, in the order in which they run. */
static const char *const chapters[] = { "open",	 "stream", "rendezvous", "message",
					"ready", "uring",  "fault",	 "control",
					"end",	 "memory", NULL };

struct leftovers {
	bool sessions;
	int channels;
};

/* One program, after each test: in a slow machine, programs take more time than most tests. */
static struct leftovers look_around(void)
{
	static const char none[] = "\"sessions\":0";
	struct leftovers left = { 0 };

	for (const char *p = output_of("exec rchar -j"); (p = strstr(p, ",\"waiting\":")); p++) {
		left.channels++;
		left.sessions |= strncmp(p - strlen(none), none, strlen(none)) != 0;
	}
	return left;
}

static int nr_shared; /* channels that all tests use */

static void add_channels(void)
{
	sh("rchar add srv stream listen 10.0.0.1 window 64k");
	sh("rchar -w 300 add cli stream connect 10.0.0.1/srv window 64k");
	sh("rchar add msrv message listen 10.0.0.1 window 64k max-message 32k");
	sh("rchar -w 300 add mcli message connect 10.0.0.1/msrv window 64k max-message 32k");
	sh("rchar -w 300 add wrong stream connect 10.0.0.1");
	sh("rchar add nobody stream connect 10.0.0.1:9 open-timeout 500ms");
	sh("rchar add slow stream connect 10.0.0.1:9");
	nr_shared = look_around().channels;
}

/* Whatever a test left behind is not the next one's. */
static void clean_up(void)
{
	struct leftovers left = look_around();
	bool channels = left.channels != nr_shared;

	if (channels)
		(void)!system(
			"for c in $(rchar | awk '/^[^ ]/ { print $1 }' | tr -d :); do case $c in"
			" srv|cli|msrv|mcli|wrong|nobody|slow) ;; *) rchar del $c ;; esac; done");
	/* Most end by themselves. */
	if ((channels || left.sessions) && !BECOMES_WITHIN(5000, !look_around().sessions))
		(void)!system("for s in $(rchar session | sed -n 's/:.*//p');"
			      " do rchar session kill $s; done 2>/dev/null");
}

/* All, or those of the chapters in the list. */
static bool wanted(const struct test *t, const char *list)
{
	return !list || strstr(list, t->file);
}

/* Is the whole name in the list? */
static bool is_in(const char *name, const char *tests)
{
	size_t len = strlen(name);

	for (const char *p = tests; (p = strstr(p, name)); p += len)
		if ((p == tests || p[-1] == ',') && (!p[len] || p[len] == ','))
			return true;
	return false;
}

static int count(const char *list)
{
	int n = 0;

	for (const struct test *t = test_program.tests; t; t = t->next)
		n += wanted(t, list);
	return n;
}

/* The next test must not fail because of this one. */
static void start_afresh(void)
{
	(void)!system("echo '# --- the end of the kernel log'; dmesg | tail -n 15 | sed 's/^/# /';"
		      "vm-reset stop; vm-reset 2>&1 | sed 's/^/# /'");
	add_channels();
}

static void run(const struct test *t)
{
	long long start = now_ms();
	bool ok = test_run(t);

	if (*test_program.skip_reason)
		test_result(ok, t->name, " # SKIP %s", test_program.skip_reason);
	else
		test_result(ok, t->name, " # %lld ms", now_ms() - start);
	if (ok)
		clean_up();
	else
		start_afresh();
}

static void list_tests(const char *list)
{
	for (const struct test *t = test_program.tests; t; t = t->next)
		if (wanted(t, list))
			printf("%s %s\n", t->file, t->name);
}

/*
 * contract [-c CHAPTER,...] [-t TEST,...] [-x TEST,...] [-l]: all tests, or some, or all but those
 * of -x; -l only names them.
 */
int main(int argc, char **argv)
{
	const char *list = NULL, *tests = "", *without = "";
	bool only_list = false;
	int opt;

	while ((opt = getopt(argc, argv, "c:t:x:l")) != -1) {
		switch (opt) {
		case 'c':
			list = optarg;
			break;
		case 't':
			tests = optarg;
			break;
		case 'x':
			without = optarg;
			break;
		case 'l':
			only_list = true;
			break;
		default:
			return 1;
		}
	}
	setbuf(stdout, NULL);
	test_sort(chapters);
	if (only_list) {
		list_tests(list);
		return 0;
	}
	add_channels();
	printf("TAP version 13\n1..%d\n", count(list));
	for (const struct test *t = test_program.tests; t; t = t->next) {
		if (!wanted(t, list))
			continue;
		if ((!*tests || is_in(t->name, tests)) && !is_in(t->name, without))
			run(t);
		else
			test_result(true, t->name, " # SKIP not asked for");
	}
	sh("rchar del all");
	return test_program.failed != 0;
}
