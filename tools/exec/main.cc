// SPDX-License-Identifier: GPL-2.0
// rchar-exec - runs a command for each session of a listening channel, as inetd does.
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../common/address.hh"
#include "../common/args.hh"
#include "../common/endpoint.hh"
#include "../common/log.hh"

namespace {

void print_help()
{
	puts("usage: rchar-exec [OPTION]... NAME [--] COMMAND [ARG]...\n"
	     "\n"
	     "Runs COMMAND for each session of the listening stream channel NAME. The session is its\n"
	     "standard input and output. Its environment has RCHAR_CHANNEL, RCHAR_PEER (the peer's\n"
	     "address), RCHAR_KEY (the name of the peer's key, if it has one) and RCHAR_ENCRYPTED (1,\n"
	     "if the link is).\n"
	     "\n"
	     "  -n, --max N       commands at once (100); more sessions wait in the backlog\n"
	     "  -e, --stderr      standard error goes to the session, too\n"
	     "  -1, --once        one session, then end with the status of its command\n"
	     "  -h, --help        this\n"
	     "  -V, --version     the version");
}

struct Options {
	uint32_t max = 100;
	bool errors = false;
	bool once = false;
};

// False: nothing is left to do. The first word that is no option ends the options.
bool parse_options(int argc, char **argv, Options *options)
{
	static const option longs[] = {
		{"max", required_argument, nullptr, 'n'}, {"stderr", no_argument, nullptr, 'e'},
		{"once", no_argument, nullptr, '1'},	  {"help", no_argument, nullptr, 'h'},
		{"version", no_argument, nullptr, 'V'},	  {nullptr, 0, nullptr, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "+n:e1hV", longs, nullptr)) != -1) {
		switch (c) {
		case 'n':
			options->max = parse_positive(optarg, "--max");
			break;
		case 'e':
			options->errors = true;
			break;
		case '1':
			options->once = true;
			break;
		case 'h':
			print_help();
			return false;
		case 'V':
			puts("rchar-exec " RCHAR_VERSION);
			return false;
		default:
			throw Failure(EXIT_USAGE, "see 'rchar-exec --help'");
		}
	}
	return true;
}

// In the child.
[[noreturn]] void run(int fd, char **command, const Options &options)
{
	std::optional<rchar_info> info = session_info(fd);
	sockaddr_storage peer{};

	signal(SIGPIPE, SIG_DFL);
	if (info) {
		memcpy(&peer, info->peer, sizeof(info->peer));
		setenv("RCHAR_CHANNEL", info->name, 1);
		setenv("RCHAR_PEER", host_text(peer).c_str(), 1);
		setenv("RCHAR_KEY", info->key, 1);
		setenv("RCHAR_ENCRYPTED", info->encrypted ? "1" : "", 1);
		if (!info->key[0])
			unsetenv("RCHAR_KEY");
		if (!info->encrypted)
			unsetenv("RCHAR_ENCRYPTED");
	}
	if (dup2(fd, STDIN_FILENO) >= 0 && dup2(fd, STDOUT_FILENO) >= 0 &&
	    (!options.errors || dup2(fd, STDERR_FILENO) >= 0))
		execvp(command[0], command);
	fprintf(stderr, "rchar-exec: %s: %s\n", command[0], strerror(errno));
	_exit(127);
}

int exit_code(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// SIGCHLD only interrupts the wait for a session.
void on_child(int) {}

// The commands that run may have taken the memory or the descriptors; they go on.
Fd await_patiently(const Endpoint &channel, Log *log)
{
	for (;;) {
		try {
			return channel.await_session();
		} catch (const Shortage &shortage) {
			log->say(shortage.what());
			sleep(1);
		}
	}
}

// Blocks until a session has come, or a child has ended: then there is none.
Fd next_session(Fd *waiting, const Endpoint &channel, const sigset_t *mask, Log *log)
{
	pollfd p{};

	if (!*waiting)
		*waiting = await_patiently(channel, log);
	p.fd = waiting->get();
	p.events = POLLOUT;
	if (ppoll(&p, 1, nullptr, mask) < 0)
		return Fd();
	channel.check_session(*waiting);
	fcntl(p.fd, F_SETFL, fcntl(p.fd, F_GETFL) & ~O_NONBLOCK);
	return std::move(*waiting);
}

// The session waits meanwhile; if it was dropped, its peer would believe that the command has run.
pid_t fork_patiently(Log *log, uint32_t *running)
{
	pid_t pid = fork();

	while (pid < 0) {
		log->say(std::string("fork: ") + strerror(errno));
		sleep(1);
		// Commands that have ended still take room.
		while (waitpid(-1, nullptr, WNOHANG) > 0)
			(*running)--;
		pid = fork();
	}
	return pid;
}

int serve(const Endpoint &channel, char **command, const Options &options)
{
	sigset_t child, before;
	struct sigaction action {};
	uint32_t running = 0;
	Log log("rchar-exec");
	Fd waiting;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	action.sa_handler = on_child;
	sigaction(SIGCHLD, &action, nullptr);
	for (;;) {
		int status;

		// Wait for one to end only when there are as many as may be.
		while (running && waitpid(-1, &status, running < options.max ? WNOHANG : 0) > 0)
			running--;
		Fd fd = next_session(&waiting, channel, &before, &log);

		if (!fd)
			continue;
		pid_t pid = fork_patiently(&log, &running);

		if (pid == 0) {
			sigprocmask(SIG_SETMASK, &before, nullptr);
			run(fd.get(), command, options);
		}
		running++;
		if (!options.once)
			continue;
		fd.reset();
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		return exit_code(status);
	}
}

}  // namespace

int main(int argc, char **argv)
{
	Options options;

	fill_standard_descriptors();
	try {
		if (!parse_options(argc, argv, &options))
			return EXIT_OK;
		if (argc - optind < 2)
			usage_error("NAME and COMMAND are expected (see --help)");
		std::string name = argv[optind++];

		if (!strcmp(argv[optind], "--") && !argv[++optind])
			usage_error("COMMAND is missing (see --help)");
		Endpoint channel(name.find('/') == std::string::npos ? "/dev/rchar/" + name : name);

		if (strchr(argv[optind], '/') && access(argv[optind], X_OK))
			system_error(argv[optind]);
		return serve(channel, argv + optind, options);
	} catch (const std::exception &e) {
		fprintf(stderr, "rchar-exec: %s\n", e.what());
		return EXIT_USAGE;
	}
}
