// SPDX-License-Identifier: GPL-2.0
#include "commands.hh"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <functional>

#include "apply.hh"
#include "cdi.hh"
#include "check.hh"
#include "complete.hh"
#include "decode.hh"
#include "desired.hh"
#include "format.hh"
#include "keyfile.hh"
#include "metrics.hh"
#include "module.hh"
#include "node.hh"
#include "parse.hh"
#include "print.hh"
#include "top.hh"
#include "trace.hh"

namespace {

int64_t now_ms()
{
	timespec ts{};

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

// Until the channel listens or its link is up.
void wait_working(const std::string &name, const Options &options)
{
	Channel channel = wait_channel(name, std::chrono::seconds(options.wait_s), is_working);

	if (is_working(channel))
		return;

	std::string text = name + ": still " + word_of(channel.state) + " after " +
			   std::to_string(options.wait_s) + " s";
	if (channel.reason)
		text += ": " + reason_text(*channel.reason);
	throw Failure(EXIT_WAIT, text);
}

// Fails unless the host has that channel, with all settings as the words say. exists: what the
// kernel said; a channel of that name may also be in another network namespace.
void must_be(Netlink &nl, Channel desired, const Failure &exists)
{
	complete(&desired);
	for (const Channel &c : dump_channels(nl)) {
		if (c.name != desired.name)
			continue;
		for (const Difference &d : differences(c, desired))
			throw Failure(EXIT_EXISTS, "add " + *c.name + ": exists, but its " + d.key +
							   " is " + d.is + ", not " + d.desired);
		return;
	}
	throw exists;
}

void command_add(Words words, const Options &options)
{
	std::string name = words.take("the name of the channel");
	ChannelWords wanted = take_new_channel(name, words);

	Netlink nl;
	try {
		add_channel(nl, wanted);
		warn_of_files({get_channel(nl, name)}, false);
	} catch (const Failure &f) {
		if (!options.exist_ok || f.code != EXIT_EXISTS)
			throw;
		must_be(nl, wanted.channel, f);
	}
	if (options.wait_s >= 0)
		wait_working(name, options);
}

void command_set(Words words, const Options &)
{
	std::string name = words.take("the name of the channel");
	ChannelWords wanted = take_changes(name, words);

	check_node_limits(wanted);
	Netlink nl;
	change_channel(nl, wanted);
}

// Calls f; that what it names does not exist is no failure.
template <typename F> void if_exists(F f)
{
	try {
		f();
	} catch (const Failure &failure) {
		if (failure.code != EXIT_NONE)
			throw;
	}
}

void command_del(Words words, const Options &options)
{
	std::string name = words.take("the name of the channel, or 'all',");

	words.end();
	Netlink nl;
	if (name == "all")
		// Another process may delete some of them meanwhile.
		for (const Channel &c : dump_channels(nl))
			if_exists([&] { delete_channel(nl, c.name.value_or("")); });
	else if (options.if_exists)
		if_exists([&] { delete_channel(nl, name); });
	else
		delete_channel(nl, name);
}

void command_show(Words words, const Options &options)
{
	if (words.empty()) {
		if (options.wait_s >= 0)
			usage_error("show: -w needs the name of a channel");
		Netlink nl;
		std::vector<Channel> channels = dump_channels(nl);
		print_table_of(channels, options);
		warn_of_files(channels, true);
		return;
	}
	std::string name = words.take("the name of the channel");
	words.end();
	Netlink nl;
	if (options.wait_s >= 0)
		wait_working(name, options);
	std::vector<Channel> channels = {get_channel(nl, name)};
	print_list(channels, options);
	warn_of_files(channels, false);
}

template <typename T, typename F> void keep(std::vector<T> *all, F wanted)
{
	all->erase(std::remove_if(all->begin(), all->end(), std::not_fn(wanted)), all->end());
}

// "show", which may be left out; any other word is an error, which names the CHOICES.
bool accept_show(Words *words, const char *choices)
{
	if (words->empty())
		return false;
	if (words->accept("show"))
		return true;
	usage_error("'" + words->take("") + "': " + choices + " is expected");
}

// The one link of that number.
std::vector<Link> link_of(Netlink &nl, uint64_t id, const std::string &command)
{
	std::vector<Link> links = dump<Link>(nl, RCHAR_CMD_LINK_GET);

	keep(&links, [id](const Link &l) { return l.id == id; });
	if (links.empty())
		throw Failure(EXIT_NONE, command + ": there is no link " + id_text(id));
	return links;
}

void command_link(Words words, const Options &options)
{
	if (words.accept("reset")) {
		std::string id = words.take("the id of the link");
		Request r(RCHAR_CMD_LINK_RESET);

		words.end();
		r.put_u64(RCHAR_A_LINK_ID, parse_link_id(id));
		Netlink().call(r, "link reset " + id);
		return;
	}
	bool one = accept_show(&words, "show or reset") && !words.empty();
	uint64_t id = one ? parse_link_id(words.take("the id of the link")) : 0;

	words.end();
	Netlink nl;
	if (one)
		print_list(link_of(nl, id, "link show"), options);
	else
		print_table_of(dump<Link>(nl, RCHAR_CMD_LINK_GET), options);
}

// NAME, LINK or LINK/SESSION. Of digits alone: a link.
struct Which {
	std::string name;
	std::optional<LinkSession> id;
};

Which parse_which(const std::string &text)
{
	if (text.find_first_not_of("0123456789/") == std::string::npos)
		return {"", parse_link_session(text)};
	if (text.find('/') != std::string::npos)
		usage_error("session: '" + text + "' is not NAME, LINK or LINK/SESSION");
	return {text, {}};
}

bool is_of(const Session &s, const Which &which)
{
	if (!which.id)
		return s.channel == which.name;
	return s.link == which.id->link && (!which.id->session || s.id == which.id->session);
}

std::vector<Session> sessions_of(Netlink &nl, const Which &which)
{
	if (!which.id)
		get_channel(nl, which.name);  // a name that does not exist is an error
	std::vector<Session> sessions = dump<Session>(nl, RCHAR_CMD_SESSION_GET);
	keep(&sessions, [&](const Session &s) { return is_of(s, which); });
	if (!which.id || !sessions.empty())
		return sessions;
	if (which.id->session)
		throw Failure(EXIT_NONE, "session show: there is no session " +
						 id_text(which.id->link) + "/" +
						 std::to_string(*which.id->session));
	link_of(nl, which.id->link, "session show");  // it has no session
	return sessions;
}

void command_session(Words words, const Options &options)
{
	if (words.accept("kill")) {
		std::string text = words.take("the id of the session, LINK/SESSION,");
		Request r(RCHAR_CMD_SESSION_KILL);

		words.end();
		if (text.find('/') == std::string::npos)
			usage_error("session: '" + text +
				    "' is not LINK/SESSION as 'rchar session' shows it");
		LinkSession id = parse_link_session(text);
		r.put_u64(RCHAR_A_SESSION_LINK_ID, id.link);
		r.put_u32(RCHAR_A_SESSION_ID, *id.session);
		Netlink().call(r, "session kill " + text);
		return;
	}
	std::optional<Which> which;

	if (accept_show(&words, "show or kill") && !words.empty())
		which = parse_which(words.take("a name of a channel, LINK or LINK/SESSION"));
	words.end();
	Netlink nl;
	print_table_of(which ? sessions_of(nl, *which) : dump<Session>(nl, RCHAR_CMD_SESSION_GET),
		       options);
}

void key_add(Words words, const Options &options)
{
	std::string name = words.take("the name of the key");
	std::string file = words.empty() ? "-" : words.take("a file");
	Secret secret;

	words.end();
	check_key_name(name);
	read_secret(file, &secret);
	Netlink nl;
	try {
		add_key(nl, name, secret);
	} catch (const Failure &f) {
		if (!options.exist_ok || f.code != EXIT_EXISTS)
			throw;
		for (const Key &k : dump<Key>(nl, RCHAR_CMD_KEY_GET))
			if (k.name == name && k.fingerprint == fingerprint_of(secret))
				return;
		throw;
	}
}

void key_del(Words words, const Options &options)
{
	std::string name = words.take("the name of the key");

	words.end();
	Netlink nl;
	if (options.if_exists)
		if_exists([&] { delete_key(nl, name); });
	else
		delete_key(nl, name);
}

void command_key(Words words, const Options &options)
{
	if (words.accept("gen")) {
		words.end();
		print_new_secret();
		return;
	}
	if (words.accept("add")) {
		key_add(std::move(words), options);
		return;
	}
	if (words.accept("del")) {
		key_del(std::move(words), options);
		return;
	}
	accept_show(&words, "gen, add, del or show");
	words.end();
	Netlink nl;
	print_list(dump<Key>(nl, RCHAR_CMD_KEY_GET), options);
}

void command_check(Words words, const Options &options)
{
	if (!check_host(std::move(words), options)) {
		fflush(stdout);
		throw Failure(EXIT_CHECK, "check: not everything is in order");
	}
}

void command_save(Words words, const Options &)
{
	words.end();
	save();
}

void command_apply(Words words, const Options &options)
{
	std::vector<std::string> paths;

	while (!words.empty())
		paths.push_back(words.take("a file"));
	apply(read_conf(paths), options);
}

// Of the channel of that name, or of all.
std::vector<ChannelStats> channel_stats(Netlink &nl, const std::string &name)
{
	std::vector<ChannelStats> out;

	for (const Channel &c : dump_channels(nl))
		if (name.empty() || c.name == name)
			out.push_back({c.name, {}, c.stats.value_or(Stats{}), false});
	if (!name.empty() && out.empty())
		throw Failure(EXIT_NONE, "stats " + name + ": no channel of that name");
	return out;
}

// What was added in that time. A channel that is new since keeps its counters.
std::vector<ChannelStats> stats_since(std::vector<ChannelStats> now,
				      const std::vector<ChannelStats> &before, int64_t interval_ms)
{
	for (ChannelStats &n : now) {
		for (const ChannelStats &b : before)
			if (n.name == b.name)
				n = difference(n, b);
		n.interval_ms = static_cast<uint64_t>(interval_ms);
	}
	return now;
}

void command_stats(Words words, const Options &options)
{
	std::string name;
	uint32_t every = 0;

	while (!words.empty()) {
		if (words.accept("every"))
			every = parse_positive(words.take("the seconds after 'every'"), "every");
		else if (name.empty())
			name = words.take("a name");
		else
			words.end();
	}
	Netlink nl;
	int64_t begun = now_ms();
	std::vector<ChannelStats> before = channel_stats(nl, name);
	print_list(before, options);
	flush_output();
	while (every && has_reader()) {
		sleep(every);
		int64_t at = now_ms();
		std::vector<ChannelStats> now = channel_stats(nl, name);
		print_list(stats_since(now, before, at - begun), options);
		flush_output();
		before = now;
		begun = at;
	}
}

void command_top(Words words, const Options &)
{
	uint32_t every = 1;

	if (words.accept("every"))
		every = parse_positive(words.take("the seconds after 'every'"), "every");
	words.end();
	top(every);
}

void command_monitor(Words words, const Options &options)
{
	int64_t end = now_ms() + options.wait_s * 1000LL;

	words.end();
	Netlink nl;
	nl.subscribe();
	for (;;) {
		int64_t left = options.wait_s < 0 ? -1 : end - now_ms();

		if (options.wait_s >= 0 && left <= 0)
			return;
		for (const Message &m : nl.wait_events(static_cast<int>(left)))
			print_event(decode_event(m), options);
		if (!has_reader())
			return;
	}
}

// Nothing when the module is not there.
std::optional<Info> module_info()
{
	std::optional<Info> info;

	try {
		Netlink nl;

		for (const Message &m : nl.call(Request(RCHAR_CMD_INFO_GET), "version"))
			info = decode<Info>(m);
	} catch (const Failure &f) {
		if (f.code != EXIT_ABSENT)
			throw;
	}
	return info;
}

void command_version(Words words, const Options &options)
{
	words.end();
	print_version(module_info(), options);
}

// The folder may belong to somebody else, who may have put a link to another file there.
FILE *new_file(const std::string &path)
{
	unlink(path.c_str());
	int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	FILE *file = fd < 0 ? nullptr : fdopen(fd, "w");

	if (!file)
		system_error(path);
	return file;
}

// A reader sees the file of before, or all of the new one.
void replace_file(const std::string &path, const std::string &text)
{
	std::string fresh = path + ".new";
	FILE *file = new_file(fresh);
	bool ok = fputs(text.c_str(), file) >= 0;

	if ((fclose(file) || !ok) || rename(fresh.c_str(), path.c_str())) {
		int error = errno;

		unlink(fresh.c_str());
		errno = error;
		system_error(path);
	}
}

void command_metrics(Words words, const Options &)
{
	std::string path = words.empty() ? "-" : words.take("a file");
	std::optional<Info> info;
	std::vector<Channel> channels;
	std::vector<Link> links;

	words.end();
	// To look must not load it again: who watches would never learn that it is gone.
	if (module_is_loaded())
		info = module_info();
	if (info) {
		Netlink nl;

		channels = dump_channels(nl);
		links = dump<Link>(nl, RCHAR_CMD_LINK_GET);
	}
	std::string text = metrics_text(info, channels, links);

	if (path == "-")
		fputs(text.c_str(), stdout);
	else
		replace_file(path, text);
}

void command_complete(Words words, const Options &);

// Options that mean something to some commands only.
enum { WAIT = 1, EXIST_OK = 2, IF_EXISTS = 4, DRY_RUN = 8 };

struct Command {
	const char *name;
	void (*run)(Words words, const Options &options);
	unsigned options;
};

const Command commands[] = {
	{"add", command_add, WAIT | EXIST_OK},
	{"set", command_set, 0},
	{"del", command_del, IF_EXISTS},
	{"show", command_show, WAIT},
	{"check", command_check, WAIT},
	{"save", command_save, 0},
	{"apply", command_apply, DRY_RUN},
	{"key", command_key, EXIST_OK | IF_EXISTS},
	{"link", command_link, 0},
	{"session", command_session, 0},
	{"stats", command_stats, 0},
	{"top", command_top, 0},
	{"metrics", command_metrics, 0},
	{"cdi", cdi, 0},
	{"monitor", command_monitor, WAIT},
	{"trace", trace, WAIT},
	{"version", command_version, 0},
	{"complete", command_complete, 0},
};

std::vector<std::string> command_names()
{
	std::vector<std::string> names;

	for (const Command &c : commands)
		if (c.run != command_complete)
			names.push_back(c.name);
	names.push_back("help");
	return names;
}

// For shells; the words stand behind '--', so that options among them are words too.
void command_complete(Words words, const Options &)
{
	std::vector<std::string> all;

	while (!words.empty())
		all.push_back(words.take("a word"));
	complete_words(all, command_names());
}

void check_options(const Command &command, const Options &options)
{
	const struct {
		unsigned option;
		bool given;
		const char *word;
	} table[] = {
		{WAIT, options.wait_s >= 0, "-w"},
		{EXIST_OK, options.exist_ok, "--exist-ok"},
		{IF_EXISTS, options.if_exists, "--if-exists"},
		{DRY_RUN, options.dry_run, "--dry-run"},
	};

	for (const auto &o : table)
		if (o.given && !(command.options & o.option))
			usage_error(std::string("'") + command.name + "' has no option " + o.word);
}

}  // namespace

void print_help()
{
	fputs("usage: rchar [OPTION]... [COMMAND]\n"
	      "\n"
	      "  add NAME TYPE listen ADDR[:PORT] [KEY VALUE]...\n"
	      "  add NAME TYPE connect ADDR[:PORT][/REMOTE] [from ADDR] [KEY VALUE]...\n"
	      "  set NAME KEY VALUE...        change settings of a channel\n"
	      "  del NAME|all                 delete channels\n"
	      "  show [NAME]                  channels (also without a command)\n"
	      "  check [ADDR[:PORT][/NAME] [KEY VALUE]...]\n"
	      "                               why does it not work? step by step, up to that peer\n"
	      "  save                         print the configuration, for 'apply'\n"
	      "  apply [FILE|-]...            bring channels and keys to that configuration; without\n"
	      "                               FILE: /etc/rchar/rchar.conf, /etc/rchar/conf.d/*.conf\n"
	      "  key [show]                   keys of this host, without their secrets\n"
	      "  key gen                      print a new secret\n"
	      "  key add NAME [FILE|-]        add the secret that the file, or stdin, holds\n"
	      "  key del NAME                 delete; links and sessions that used it end\n"
	      "  link [show [LINK]]           links to peers\n"
	      "  link reset LINK              break and reconnect; sessions go on\n"
	      "  session [show [WHICH]]       conversations; WHICH: NAME, LINK or LINK/SESSION\n"
	      "  session kill LINK/SESSION    end one\n"
	      "  stats [NAME] [every SEC]     counters; then what was added each time\n"
	      "  top [every SEC]              rates of channels, links and sessions, on a terminal\n"
	      "  metrics [FILE]               all that is counted, for Prometheus\n"
	      "  cdi [NAME]...                channels as devices for containers (podman, docker)\n"
	      "  monitor                      one line for each change\n"
	      "  trace [LINK[/SESSION]]       frames and states of all, of a link, of a session\n"
	      "  version                      of the tool and the module\n"
	      "  help                         this\n"
	      "\n"
	      "TYPE := stream | message | memory\n"
	      "ADDR := IPv4 | [IPv6] | [IPv6%if] | host name; the port is 7471 unless given\n"
	      "KEY  := window SIZE | window-max SIZE | max-message SIZE | rendezvous-min SIZE |\n"
	      "        frame SIZE | backlog N | open-timeout TIME | recovery-timeout TIME | linger TIME |\n"
	      "        priority N | mode OCTAL | uid USER | gid GROUP;\n"
	      "        connect: key NAME|none, and with add: lanes N | keepalive TIME | tos N\n"
	      "        with add: encrypt on|off\n"
	      "        listen: keys NAME[,NAME]...|none | allow ADDR/BITS[,ADDR/BITS]...|any\n"
	      "        memory listen, with add: size SIZE, and perhaps access ro|rw | atomics sw|hw\n"
	      "SIZE takes k m g (of 1024), TIME needs us ms s\n"
	      "\n"
	      "  -j, --json        machine readable\n"
	      "  -p, --pretty      JSON with line breaks (implies -j)\n"
	      "  -d, --details     more\n"
	      "  -t, --timestamp   monitor: when\n"
	      "  -n, --netns NAME  in that network namespace\n"
	      "  -w, --wait SEC    add, show NAME: until it listens or is connected;\n"
	      "                    monitor, trace: stop after that long; check: for the peer (5)\n"
	      "  -V, --version     of the tool\n"
	      "  -h, --help        this\n"
	      "\n"
	      "  --exist-ok        add, key add: it may exist, if it is as the command says\n"
	      "  --if-exists       del, key del: it need not exist\n"
	      "  --dry-run         apply: print the commands, do nothing\n"
	      "\n"
	      "exit: 0 ok, 1 usage or local, 2 the kernel said no, 3 module absent, 4 -w ran out,\n"
	      "      5 it exists, 6 there is nothing of that name, 7 check found something\n",
	      stdout);
}

void run_command(Words words, const Options &options)
{
	std::string name = words.empty() ? "show" : words.take("a command");

	if (name == "help") {
		print_help();
		return;
	}
	for (const Command &c : commands) {
		if (name == c.name) {
			check_options(c, options);
			c.run(std::move(words), options);
			return;
		}
	}
	std::string names;
	for (const std::string &n : command_names())
		names += " " + n;
	usage_error("'" + name + "' is not a command; there are:" + names);
}
