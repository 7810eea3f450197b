// SPDX-License-Identifier: GPL-2.0
#include "conf.hh"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <sstream>

#include "desired.hh"

namespace {

[[noreturn]] void fail_at(const Place &place, const std::string &text)
{
	throw Failure(EXIT_USAGE, place.text() + ": " + text);
}

// The words of a line: blanks part them, and a word that begins with # ends them.
std::vector<std::string> split(const std::string &line)
{
	std::istringstream in(line);
	std::vector<std::string> words;
	std::string word;

	while (in >> word && word[0] != '#')
		words.push_back(word);
	return words;
}

template <typename T, typename F> const T *find_if(const std::vector<T> &list, F f)
{
	auto found = std::find_if(list.begin(), list.end(), f);

	return found == list.end() ? nullptr : &*found;
}

void take_key(Conf *conf, const Place &place, Words &words)
{
	ConfKey key{place,
		    words.take("the name of the key"),
		    words.take("the file of the key"),
		    std::make_unique<Secret>(),
		    {}};

	words.end();
	check_name(key.name, "key");
	check_key_name(key.name);
	if (key.path[0] != '/')
		usage_error("key: the file '" + key.path + "' must begin with '/'");
	if (auto *other = find_if(conf->keys, [&](auto &k) { return k.name == key.name; }))
		usage_error("key '" + key.name + "' is added already: " + other->place.text());
	read_secret(key.path, key.secret.get());
	key.fingerprint = fingerprint_of(*key.secret);
	auto same = [&](auto &k) { return k.fingerprint == key.fingerprint; };
	if (auto *other = find_if(conf->keys, same))
		usage_error("key '" + key.name + "' has the secret of key '" + other->name +
			    "': " + other->place.text());
	conf->keys.push_back(std::move(key));
}

void take_channel(Conf *conf, const Place &place, Words &words)
{
	std::string name = words.take("the name of the channel");
	ConfChannel channel{place, take_new_channel(name, words)};

	check_channel(channel.words);
	auto same = [&](auto &c) { return c.words.channel.name == name; };
	if (auto *other = find_if(conf->channels, same))
		usage_error("channel '" + name + "' is added already: " + other->place.text());
	complete(&channel.words.channel);
	conf->channels.push_back(std::move(channel));
}

void take_line(Conf *conf, const Place &place, const std::string &line)
{
	Words words(split(line));

	if (words.empty())
		return;
	std::string command = words.take("a command");
	if (command == "add")
		take_channel(conf, place, words);
	else if (command == "key" && words.accept("add"))
		take_key(conf, place, words);
	else
		usage_error("'" + command +
			    "' cannot stand here; a configuration has 'add NAME ...' and "
			    "'key add NAME FILE'");
}

void take_file(Conf *conf, std::istream &in, const std::string &name)
{
	Place place{name, 0};
	std::string line;

	while (std::getline(in, line)) {
		place.line++;
		try {
			take_line(conf, place, line);
		} catch (const Failure &f) {
			fail_at(place, f.what());
		}
	}
	if (in.bad())
		throw Failure(EXIT_USAGE, name + ": cannot be read");
}

void take_path(Conf *conf, const std::string &path)
{
	if (path == "-") {
		take_file(conf, std::cin, "standard input");
		return;
	}
	std::ifstream in(path);
	if (!in)
		system_error(path);
	// The stream of a folder opens, and is empty.
	if (in.peek() == EOF && in.bad())
		throw Failure(EXIT_USAGE, path + ": is not a file that can be read");
	in.clear();
	take_file(conf, in, path);
}

// A file or folder that is there and cannot be read is a failure: without its lines, the channels
// in them would be deleted.
std::vector<std::string> default_paths()
{
	std::string main = RCHAR_CONF_DIR "/rchar.conf";
	std::vector<std::string> paths;
	struct stat st;
	glob_t found;

	if (!lstat(main.c_str(), &st) || errno != ENOENT)
		paths.push_back(main);
	auto is_failure = [](const char *, int error) { return static_cast<int>(error != ENOENT); };
	int ret = glob(RCHAR_CONF_DIR "/conf.d/*.conf", 0, is_failure, &found);
	if (ret && ret != GLOB_NOMATCH)
		throw Failure(EXIT_USAGE, RCHAR_CONF_DIR "/conf.d: cannot be read");
	if (!ret) {
		paths.insert(paths.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
		globfree(&found);
	}
	// Not an empty configuration: that would delete everything.
	if (paths.empty())
		throw Failure(EXIT_USAGE, "apply: there is no " + main + " and no " +
						  RCHAR_CONF_DIR "/conf.d/*.conf");
	return paths;
}

// A key may stand behind the channels that use it.
void check_keys_exist(const Conf &conf)
{
	for (const ConfChannel &c : conf.channels)
		for (const std::string &name : c.words.channel.keys)
			if (!find_if(conf.keys, [&](auto &k) { return k.name == name; }))
				fail_at(c.place, "no line adds the key '" + name + "'");
}

}  // namespace

Conf read_conf(const std::vector<std::string> &paths)
{
	Conf conf;

	for (const std::string &path : paths.empty() ? default_paths() : paths)
		take_path(&conf, path);
	check_keys_exist(conf);
	return conf;
}

std::string key_path(const std::string &name) { return RCHAR_CONF_DIR "/keys/" + name; }
