// SPDX-License-Identifier: GPL-2.0
#include "commands.hh"

#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <map>

#include "linux/rdma_char.h"
#include "netlink.hh"
#include "objects.hh"
#include "parse.hh"

namespace {

void print_json(const Json &value, const Options &options)
{
	printf("%s\n", value.dump(options.pretty ? 2 : -1).c_str());
	fflush(stdout);
}

using ToObject = Json (*)(nlattr *, int);
using ToText = std::string (*)(const Json &, bool);

Json dump_objects(Netlink &nl, int cmd, ToObject to_object)
{
	Json out = Json::array();

	for (Message &m : nl.dump(cmd))
		out.push_back(to_object(m.attributes().first, m.attributes().len));
	return out;
}

void print_objects(const Json &objects, const Options &options, ToText to_text)
{
	if (options.json) {
		print_json(objects, options);
		return;
	}
	for (const Json &o : objects)
		fputs(to_text(o, options.details).c_str(), stdout);
}

Json get_channel(Netlink &nl, const std::string &name)
{
	Request r(RCHAR_CMD_CHANNEL_GET);
	Json out;

	r.put_string(RCHAR_A_CHANNEL_NAME, name);
	for (Message &m : nl.call(r, "show " + name))
		out = channel_object(m.attributes().first, m.attributes().len);
	return out;
}

bool is_working(const Json &channel)
{
	std::string state = channel.value("state", "");

	return state == "up" || state == "listening";
}

int64_t now_ms()
{
	timespec ts{};

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

// Until the channel listens or its link is up.
void wait_working(const std::string &name, const Options &options)
{
	int64_t end = now_ms() + options.wait_s * 1000LL;
	Netlink events, nl;
	Json channel;

	events.subscribe();
	for (;;) {
		channel = get_channel(nl, name);
		if (is_working(channel))
			return;
		int64_t left = end - now_ms();
		if (left <= 0)
			break;
		events.wait_events(static_cast<int>(left));
	}
	std::string text = name + ": still " + channel.value("state", "") + " after " +
			   std::to_string(options.wait_s) + " s";
	std::string reason = channel.value("reason", "");
	if (!reason.empty())
		text += ": " + reason_text(reason);
	throw Failure(EXIT_WAIT, text);
}

// KEY VALUE pairs that add and set have in common.
bool put_setting(Request &r, const std::string &key, Words &words)
{
	struct Setting {
		int attr;
		uint32_t (*parse)(const std::string &, const char *);
	};
	static const std::map<std::string, Setting> settings = {
		{"window", {RCHAR_A_CHANNEL_WINDOW, parse_size}},
		{"max-message", {RCHAR_A_CHANNEL_MAX_MESSAGE, parse_size}},
		{"rendezvous-min", {RCHAR_A_CHANNEL_RENDEZVOUS_MIN, parse_size}},
		{"backlog", {RCHAR_A_CHANNEL_BACKLOG, parse_number}},
		{"open-timeout", {RCHAR_A_CHANNEL_OPEN_TIMEOUT_MS, parse_time_ms}},
		{"recovery-timeout", {RCHAR_A_CHANNEL_RECOVERY_TIMEOUT_MS, parse_time_ms}},
		{"linger", {RCHAR_A_CHANNEL_LINGER_MS, parse_time_ms}},
	};
	auto found = settings.find(key);

	if (found == settings.end())
		return false;
	std::string what = "the value of " + key;
	r.put_u32(found->second.attr, found->second.parse(words.take(what.c_str()), key.c_str()));
	return true;
}

void put_fixed(Request &r, const std::string &key, Words &words)
{
	if (key == "size")
		r.put_u64(RCHAR_A_CHANNEL_SIZE, parse_size64(words.take("the size"), "size"));
	else if (key == "access")
		r.put_u32(RCHAR_A_CHANNEL_ACCESS,
			  parse_choice<rchar_access>(words.take("the value of access"), "access"));
	else if (key == "atomics")
		r.put_u32(RCHAR_A_CHANNEL_ATOMICS,
			  parse_choice<rchar_atomics>(words.take("the value of atomics"), "atomics"));
	else if (key == "mode")
		r.put_u32(RCHAR_A_CHANNEL_MODE, parse_mode(words.take("the value of mode")));
	else if (key == "uid")
		r.put_u32(RCHAR_A_CHANNEL_UID, parse_user(words.take("the value of uid")));
	else if (key == "gid")
		r.put_u32(RCHAR_A_CHANNEL_GID, parse_group(words.take("the value of gid")));
	else
		usage_error("'" + key + "' is not a setting; there are: from size access atomics mode "
			    "uid gid window max-message rendezvous-min backlog open-timeout "
			    "recovery-timeout linger");
}

// A word for a value of E; what: "type", for the error texts.
template <typename E>
E take_choice(Words &words, const std::string &what)
{
	std::string word = words.take(("the " + what + " (" + choice_of<E>() + ")").c_str());
	std::optional<E> value = value_of<E>(word);

	if (!value)
		usage_error("'" + word + "' is not a " + what + ": " + choice_of<E>());
	return *value;
}

void put_role(Request &r, Words &words)
{
	rchar_role role = take_choice<rchar_role>(words, "role");

	r.put_u32(RCHAR_A_CHANNEL_ROLE, role);
	if (role == RCHAR_ROLE_LISTEN) {
		r.put_address(RCHAR_A_CHANNEL_LOCAL,
			      parse_address(words.take("the address to listen at"), false));
		return;
	}
	Address peer = parse_address(words.take("the peer's address"), true);

	r.put_address(RCHAR_A_CHANNEL_PEER, peer);
	if (!peer.remote.empty())
		r.put_string(RCHAR_A_CHANNEL_REMOTE, peer.remote);
	if (words.accept("from"))
		r.put_address(RCHAR_A_CHANNEL_LOCAL,
			      parse_address(words.take("the address behind 'from'"), false));
}

void command_add(Words words, const Options &options)
{
	Request r(RCHAR_CMD_CHANNEL_NEW);
	std::string name = words.take("the name of the channel");

	r.put_string(RCHAR_A_CHANNEL_NAME, name);
	r.put_u32(RCHAR_A_CHANNEL_TYPE, take_choice<rchar_channel_type>(words, "type"));
	put_role(r, words);
	while (!words.empty()) {
		std::string key = words.take("a setting");

		if (!put_setting(r, key, words))
			put_fixed(r, key, words);
	}
	Netlink nl;
	nl.call(r, "add " + name);
	if (options.wait_s >= 0)
		wait_working(name, options);
}

void command_set(Words words, const Options &)
{
	Request r(RCHAR_CMD_CHANNEL_SET);
	std::string name = words.take("the name of the channel");

	r.put_string(RCHAR_A_CHANNEL_NAME, name);
	if (words.empty())
		usage_error("set what? a setting is missing (see 'rchar help')");
	while (!words.empty()) {
		std::string key = words.take("a setting");

		if (key == "mode" || key == "uid" || key == "gid")
			usage_error("'" + key + "' is given when a channel is added; later use chmod or "
				    "chown on /dev/rchar/" + name);
		if (!put_setting(r, key, words))
			usage_error("'" + key + "' cannot be set; there are: window max-message "
				    "rendezvous-min backlog open-timeout recovery-timeout linger");
	}
	Netlink nl;
	nl.call(r, "set " + name);
}

void delete_channel(Netlink &nl, const std::string &name)
{
	Request r(RCHAR_CMD_CHANNEL_DEL);

	r.put_string(RCHAR_A_CHANNEL_NAME, name);
	nl.call(r, "del " + name);
}

void command_del(Words words, const Options &)
{
	std::string name = words.take("the name of the channel, or 'all',");

	words.end();
	Netlink nl;
	if (name != "all") {
		delete_channel(nl, name);
		return;
	}
	for (const Json &c : dump_objects(nl, RCHAR_CMD_CHANNEL_GET, channel_object))
		delete_channel(nl, c.value("name", ""));
}

void command_show(Words words, const Options &options)
{
	if (words.empty()) {
		Netlink nl;

		print_objects(dump_objects(nl, RCHAR_CMD_CHANNEL_GET, channel_object), options,
			      channel_text);
		return;
	}
	std::string name = words.take("the name of the channel");
	words.end();
	Netlink nl;
	if (options.wait_s >= 0)
		wait_working(name, options);
	print_objects(Json::array({get_channel(nl, name)}), options, channel_text);
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
	words.accept("show");
	words.end();
	Netlink nl;
	print_objects(dump_objects(nl, RCHAR_CMD_LINK_GET, link_object), options, link_text);
}

void command_session(Words words, const Options &options)
{
	if (words.accept("kill")) {
		std::string id = words.take("the id of the session, LINK/SESSION,");
		size_t slash = id.find('/');
		Request r(RCHAR_CMD_SESSION_KILL);

		words.end();
		if (slash == std::string::npos)
			usage_error("session: '" + id + "' is not LINK/SESSION as 'rchar session' shows it");
		r.put_u64(RCHAR_A_SESSION_LINK_ID, parse_link_id(id.substr(0, slash)));
		r.put_u32(RCHAR_A_SESSION_ID, parse_number(id.substr(slash + 1), "session"));
		Netlink().call(r, "session kill " + id);
		return;
	}
	words.accept("show");
	words.end();
	Netlink nl;
	print_objects(dump_objects(nl, RCHAR_CMD_SESSION_GET, session_object), options, session_text);
}

// The counters of channels, as one object each.
Json channel_stats(Netlink &nl, const std::string &name)
{
	Json out = Json::array();

	for (const Json &c : dump_objects(nl, RCHAR_CMD_CHANNEL_GET, channel_object)) {
		if (!name.empty() && c.value("name", "") != name)
			continue;
		Json o = Json::object();
		o["name"] = c["name"];
		o.update(c["stats"]);
		out.push_back(o);
	}
	if (!name.empty() && out.empty())
		throw Failure(EXIT_KERNEL, "stats " + name + ": no channel of that name");
	return out;
}

std::string stats_text(const Json &stats, bool)
{
	std::string text = stats.value("name", "") + ":";

	for (const auto &[key, value] : stats.items())
		if (key != "name")
			text += " " + key + " " + std::to_string(value.get<int64_t>());
	return text + "\n";
}

Json stats_difference(Json now, const Json &before)
{
	for (Json &o : now)
		for (const Json &b : before)
			if (o["name"] == b["name"])
				for (auto &[key, value] : o.items())
					if (key != "name")
						value = value.get<int64_t>() - b.value(key, int64_t{0});
	return now;
}

void command_stats(Words words, const Options &options)
{
	std::string name;
	uint32_t every = 0;

	while (!words.empty()) {
		if (words.accept("every"))
			every = parse_number(words.take("the seconds behind 'every'"), "every");
		else if (name.empty())
			name = words.take("a name");
		else
			words.end();
	}
	Netlink nl;
	Json before = channel_stats(nl, name);
	print_objects(before, options, stats_text);
	while (every) {
		sleep(every);
		Json now = channel_stats(nl, name);
		print_objects(stats_difference(now, before), options, stats_text);
		fflush(stdout);
		before = now;
	}
}

std::string timestamp()
{
	timeval tv{};
	char text[32];

	gettimeofday(&tv, nullptr);
	tm local{};
	localtime_r(&tv.tv_sec, &local);
	size_t n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &local);
	snprintf(text + n, sizeof(text) - n, ".%06ld", static_cast<long>(tv.tv_usec));
	return text;
}

void print_event(int cmd, nlattr *attrs, int len, const Options &options)
{
	Json event = event_object(cmd, attrs, len);

	if (options.json) {
		if (options.timestamps)
			event["time"] = timestamp();
		printf("%s\n", event.dump().c_str());
	} else {
		if (options.timestamps)
			printf("%s ", timestamp().c_str());
		fputs(event_text(event).c_str(), stdout);
	}
	fflush(stdout);
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
		for (Message &m : nl.wait_events(static_cast<int>(left)))
			print_event(m.cmd, m.attributes().first, m.attributes().len, options);
	}
}

void command_version(Words words, const Options &options)
{
	Json info = {{"tool", RCHAR_VERSION}};

	words.end();
	try {
		Netlink nl;

		for (Message &m : nl.call(Request(RCHAR_CMD_INFO_GET), "version"))
			info.update(info_object(m.attributes().first, m.attributes().len));
	} catch (const Failure &f) {
		if (f.code != EXIT_ABSENT)
			throw;
		info["module"] = nullptr;
	}
	if (options.json) {
		print_json(info, options);
		return;
	}
	printf("rchar %s\n", RCHAR_VERSION);
	if (info["module"].is_null()) {
		printf("rdma_char is not loaded\n");
		return;
	}
	printf("rdma_char %s protocol %s\n", info["module"].get<std::string>().c_str(),
	       info["protocol"].get<std::string>().c_str());
	if (options.details)
		for (const auto &[key, value] : info.items())
			if (value.is_number())
				printf("    %s %s\n", key.c_str(), value.dump().c_str());
}

struct Command {
	const char *name;
	void (*run)(Words words, const Options &options);
};

const Command commands[] = {
	{"add", command_add},	    {"set", command_set},	  {"del", command_del},
	{"show", command_show},	    {"link", command_link},	  {"session", command_session},
	{"stats", command_stats},   {"monitor", command_monitor}, {"version", command_version},
};

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
	      "  link [show]                  links to peers\n"
	      "  link reset LINK              break and reconnect; sessions go on\n"
	      "  session [show]               conversations\n"
	      "  session kill LINK/SESSION    end one\n"
	      "  stats [NAME] [every SEC]     counters; then what was added each time\n"
	      "  monitor                      one line for each change\n"
	      "  version                      of the tool and the module\n"
	      "  help                         this\n"
	      "\n"
	      "TYPE := stream | message | memory\n"
	      "ADDR := IPv4 | [IPv6] | [IPv6%if] | host name; the port is 7471 unless given\n"
	      "KEY  := window SIZE | max-message SIZE | rendezvous-min SIZE | backlog N |\n"
	      "        open-timeout TIME | recovery-timeout TIME | linger TIME;\n"
	      "        with add also mode OCTAL | uid USER | gid GROUP\n"
	      "        memory listen: size SIZE, and perhaps access ro|rw | atomics sw|hw\n"
	      "SIZE takes k m g (of 1024), TIME needs us ms s\n"
	      "\n"
	      "  -j, --json        machine readable\n"
	      "  -p, --pretty      JSON with line breaks (implies -j)\n"
	      "  -d, --details     more\n"
	      "  -t, --timestamp   monitor: when\n"
	      "  -n, --netns NAME  in that network namespace\n"
	      "  -w, --wait SEC    add, show NAME: until it listens or is connected;\n"
	      "                    monitor: stop after that long\n"
	      "  -V, --version     of the tool\n"
	      "  -h, --help        this\n"
	      "\n"
	      "exit: 0 ok, 1 usage or local, 2 the kernel said no, 3 module absent, 4 -w ran out\n",
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
			c.run(std::move(words), options);
			return;
		}
	}
	usage_error("'" + name + "' is not a command; there are: add set del show link session stats "
		    "monitor version help");
}
