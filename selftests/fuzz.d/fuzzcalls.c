// SPDX-License-Identifier: GPL-2.0
/*
 * fuzzcalls --seed S --seconds N [--log FILE] - system calls at random on /dev/rchar/f-*.
 *
 * Groups of processes come and go: each opens the nodes, makes calls on them in several
 * threads, forks, is interrupted by signals, and ends by itself or by SIGKILL at any moment.
 * It shows that no call fails in a way that Documentation/uapi.rst does not say, that nothing
 * is written behind a buffer, and that whoever is killed ends.
 */
#define _GNU_SOURCE
#include "calls.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "linux/rdma_char.h"

#define NR_GROUPS   4
#define MAX_THREADS 3
#define TICK_US	    4000
#define STUCK_MS    40	  /* a call that waits so long gets a signal */
#define KILL_MS	    30000 /* what is killed must be gone by then */
#define LATE_MS	    12000 /* who does not end by itself is killed */

enum { ENDED_SELF, ENDED_KILLED, ENDED_LATE, FORKS }; /* of shared->count */

__thread struct worker *self;
static struct process process;
static struct worker workers[MAX_THREADS];

/* ---- one process ---- */

static void on_signal(int sig)
{
	(void)sig;
}

static void on_pipe(int sig)
{
	(void)sig;
	if (!process.racy)
		finding("SIGPIPE", "a signal came with EPIPE");
}

static void on_fault(int sig)
{
	if (self && self->may_fault)
		siglongjmp(self->fault, 1);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void handle(int sig, void (*handler)(int), int flags)
{
	struct sigaction a = { .sa_handler = handler, .sa_flags = flags };

	sigaction(sig, &a, NULL);
}

static void handle_signals(struct rng *r)
{
	handle(SIGUSR1, on_signal, 0);
	handle(SIGALRM, on_signal, 0);
	handle(SIGUSR2, on_signal, SA_RESTART);
	handle(SIGIO, on_signal, one_in(r, 2) ? SA_RESTART : 0);
	handle(SIGPIPE, on_pipe, SA_RESTART);
	handle(SIGSEGV, on_fault, SA_NODEFER);
	handle(SIGBUS, on_fault, SA_NODEFER);
}

static void *memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		_exit(0);
	return p;
}

static void prepare_worker(struct worker *w, uint64_t seed, int index)
{
	w->p = &process;
	w->rng = rng_make(seed, index + 1);
	w->arena = memory(ARENA + 4 * PAGE);
	mprotect(w->arena + ARENA, PAGE, PROT_NONE);
	mprotect(w->arena + ARENA + PAGE, PAGE, PROT_READ);
	mprotect(w->arena + ARENA + 2 * PAGE, 2 * PAGE, PROT_NONE);
	w->iov = memory(1100 * sizeof(*w->iov));
	w->file = memfd_create("fuzz", MFD_CLOEXEC);
	if (pipe2(w->pipe, one_in(&w->rng, 3) ? 0 : O_NONBLOCK) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, w->pair) || w->file < 0 ||
	    ftruncate(w->file, 1 << 20))
		_exit(0);
}

/*
 * A process of a thread that was forked has its files, and nothing else of it. The kernel
 * copies them before the memory that says which they are: others may have changed between.
 */
static void become_child(struct worker *w)
{
	struct itimerval tick = { { 0, 20000 }, { 0, 20000 } };
	int i, n;

	process.racy = true;
	w->rng = rng_make(rng_next(&w->rng), 77);
	w->has_ring = false;
	w->aio = NULL;
	for (i = 0; i < NR_FILES; i++)
		atomic_store(&process.files[i].users, 0);
	for (i = 0; i < NR_SLOTS; i++) {
		w->ring_slots[i].used = false;
		w->aio_slots[i].used = false;
	}
	setitimer(ITIMER_REAL, &tick, NULL);
	n = below(&w->rng, 200);
	atomic_store(&process.stop, 0);
	while (n-- && !atomic_load(&shared->stop)) {
		struct file *f = use_file(w);

		if (!f)
			continue;
		if (one_in(&w->rng, 2))
			op_io(w, f);
		else
			op_other(w, f);
		put_file(f);
		if (one_in(&w->rng, 10))
			close_some(w);
	}
	_exit(0);
}

static void op_fork(struct worker *w)
{
	pid_t pid;

	log_input("fork");
	atomic_fetch_add(&shared->count[FORKS], 1);
	pid = fork();
	if (!pid)
		become_child(w);
	if (pid > 0 && one_in(&w->rng, 3)) {
		/* Anywhere in its work. */
		usleep(below(&w->rng, 20000));
		kill(pid, SIGKILL);
	}
}

static void one_op(struct worker *w, struct file *f)
{
	uint32_t dice = below(&w->rng, 1000);

	if (dice < 430)
		op_io(w, f);
	else if (dice < 590)
		op_ioctl(w, f);
	else if (dice < 650)
		op_poll(w, f);
	else if (dice < 720)
		op_map(w, f);
	else if (dice < 790)
		op_splice(w, f);
	else if (dice < 870)
		op_ring(w, f);
	else if (dice < 900)
		op_aio(w, f);
	else if (dice < 930)
		op_fcntl(w, f);
	else
		op_other(w, f);
}

static void *work(void *arg)
{
	struct worker *w = self = arg;

	while (!atomic_load(&process.stop)) {
		struct file *f;

		atomic_store(&w->since, now_ms());
		f = use_file(w);
		if (f) {
			one_op(w, f);
			put_file(f);
		}
		if (one_in(&w->rng, 25))
			close_some(w);
		if (one_in(&w->rng, 1500))
			op_fork(w);
		atomic_store(&w->since, 0);
	}
	if (one_in(&w->rng, 2))
		ring_exit(w);
	return NULL;
}

/* Wakes who waits for long, and some others. */
static void tick(struct rng *r, int threads)
{
	long long now = now_ms(), since;
	int i;

	/* A clock, not a wait. */
	usleep(TICK_US);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	for (i = 0; i < threads; i++) {
		since = atomic_load(&workers[i].since);
		if (since && now - since > STUCK_MS)
			pthread_kill(workers[i].thread, SIGUSR1);
		else if (one_in(r, 30))
			pthread_kill(workers[i].thread, one_in(r, 2) ? SIGUSR2 : SIGUSR1);
	}
}

static void lower_limits(struct rng *r)
{
	struct rlimit memlock = { below(r, 3) * 40000, below(r, 3) * 40000 + 80000 };
	struct rlimit files = { 20 + below(r, 40), 100 };

	setrlimit(RLIMIT_MEMLOCK, &memlock);
	setrlimit(RLIMIT_NOFILE, &files);
	process.poor = true;
}

/* Some have files that they could not open themselves. */
static void become_nobody(struct rng *r)
{
	if (one_in(r, 2))
		open_nodes(&workers[0], NR_FILES);
	if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
		_exit(0);
	process.nobody = true;
}

static void run_process(uint64_t seed, long long deadline)
{
	struct rng r = rng_make(seed, 0);
	int threads = 1 + below(&r, MAX_THREADS), i;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	handle_signals(&r);
	process.racy = one_in(&r, 6);
	process.big = memory(BIG + PAGE);
	mprotect(process.big + BIG, PAGE, PROT_NONE);
	for (i = 0; i < NR_FILES; i++)
		atomic_store(&process.files[i].fd, -1);
	for (i = 0; i < NR_MAPS; i++)
		process.maps[i].window = (uint8_t *)(0x100000000000ull + i * WINDOW);
	for (i = 0; i < threads; i++)
		prepare_worker(&workers[i], seed, i);
	if (one_in(&r, 4))
		lower_limits(&r);
	if (one_in(&r, 4))
		become_nobody(&r);
	for (i = 0; i < threads; i++)
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			_exit(0);
	while (now_ms() < deadline && !atomic_load(&shared->stop))
		tick(&r, threads);
	/* With calls under way, or when all have ended theirs. */
	if (one_in(&r, 2))
		_exit(0);
	atomic_store(&process.stop, 1);
	for (i = 0; i < threads; i++)
		while (pthread_tryjoin_np(workers[i].thread, NULL))
			tick(&r, threads);
	_exit(0);
}

/* ---- all of them ---- */

static struct crew {
	pid_t pid;
	long long kill_at; /* ms */
	bool early;	   /* it is killed before its time */
} groups[NR_GROUPS];

/* What the kernel does for the threads of a process. */
static void show_stacks(pid_t pid)
{
	char path[80], text[2000];
	struct dirent *e;
	DIR *d;
	int fd, n;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.10s/stack", pid, e->d_name);
		fd = open(path, O_RDONLY);
		n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
		text[n > 0 ? n : 0] = 0;
		printf("thread %s of %d:\n%s", e->d_name, pid, text);
		if (fd >= 0)
			close(fd);
	}
	if (d)
		closedir(d);
}

static void show_group(pid_t group)
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		pid_t pid = atoi(e->d_name);

		if (pid > 0 && getpgid(pid) == group)
			show_stacks(pid);
	}
	if (d)
		closedir(d);
}

static void note_end(int status)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL && WTERMSIG(status) != SIGIO &&
	    WTERMSIG(status) != SIGUSR1)
		finding("a process died", "of signal %d", WTERMSIG(status));
}

/* All that is left of a group must go now. */
static bool kill_group(pid_t group)
{
	long long end = now_ms() + KILL_MS;
	int status;
	pid_t pid;

	for (;;) {
		kill(-group, SIGKILL);
		while ((pid = waitpid(-group, &status, WNOHANG)) > 0)
			note_end(status);
		if (pid < 0 && errno == ECHILD)
			return true;
		if (now_ms() > end)
			break;
		test_pause();
	}
	finding("a killed process does not end", "group %d, after %d s", group, KILL_MS / 1000);
	show_group(group);
	return false;
}

static void start_group(struct crew *g, uint64_t seed, struct rng *r)
{
	long long life = 300 + below(r, 8000);

	g->early = one_in(r, 2);
	g->kill_at = now_ms() + (g->early ? (long long)below(r, life) : life + LATE_MS);
	g->pid = fork();
	if (!g->pid)
		run_process(seed, now_ms() + life);
	if (g->pid < 0) {
		perror("fork");
		exit(2);
	}
}

/* False when one could not be killed. */
static bool watch_group(struct crew *g, bool last)
{
	int status, end = ENDED_SELF;
	pid_t pid = waitpid(g->pid, &status, WNOHANG);

	if (!pid && !last && now_ms() < g->kill_at)
		return true;
	if (!pid && !last)
		end = g->early ? ENDED_KILLED : ENDED_LATE;
	if (pid > 0)
		note_end(status);
	/* Its children may still be there. */
	if (!kill_group(g->pid))
		return false;
	atomic_fetch_add(&shared->count[end], 1);
	g->pid = 0;
	return true;
}

static void ask_region_size(void)
{
	int fd = open("/dev/rchar/f-memory-l", O_RDWR);
	struct rchar_info info;

	if (fd < 0 || ioctl(fd, RCHAR_IOC_INFO, &info)) {
		perror("f-memory-l");
		exit(2);
	}
	region_size = info.size;
	close(fd);
}

int main(int argc, char **argv)
{
	struct options o = fuzz_start(argc, argv, "fuzzcalls --seed S --seconds N [--log FILE]");
	long long end = now_ms() + o.seconds * 1000ll;
	struct rng r = rng_make(o.seed, 0);
	uint64_t started = 0;
	bool stuck = false;
	int i;

	ask_region_size();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	while (now_ms() < end && !stuck) {
		for (i = 0; i < NR_GROUPS && !stuck; i++) {
			if (!groups[i].pid)
				start_group(&groups[i], o.seed + 1000 * ++started, &r);
			else
				stuck = !watch_group(&groups[i], false);
		}
		test_pause();
	}
	for (i = 0; i < NR_GROUPS && !stuck; i++)
		if (groups[i].pid)
			stuck = !watch_group(&groups[i], true);
	printf("groups %lu: ended %lu, killed %lu, late %lu; forks %lu\n", (unsigned long)started,
	       atomic_load(&shared->count[ENDED_SELF]), atomic_load(&shared->count[ENDED_KILLED]),
	       atomic_load(&shared->count[ENDED_LATE]), atomic_load(&shared->count[FORKS]));
	return fuzz_end();
}
