// SPDX-License-Identifier: GPL-2.0
#include "node.hh"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "../common/args.hh"

namespace {

constexpr const char *DEVICE = "device", *ABSENT = "absent", *OTHER = "other";

// One of these: what the file of the channel's name is.
const char *stat_node(const Channel &c, struct stat *st)
{
	if (lstat(node_path(*c.name).c_str(), st))
		return ABSENT;
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(*c.dev_major, *c.dev_minor) ? DEVICE :
											    OTHER;
}

bool is_file(const std::string &name)
{
	struct stat st;

	return !lstat(node_path(name).c_str(), &st) && S_ISREG(st.st_mode);
}

struct stat stat_device(const Channel &channel)
{
	const std::string &name = *channel.name;
	struct stat st;

	if (stat_node(channel, &st) != DEVICE)
		throw Failure(EXIT_USAGE, "set " + name + ": " + node_path(name) +
						  " is not the device of the channel");
	return st;
}

void must(int ret, const std::string &name)
{
	if (ret)
		throw Failure(EXIT_USAGE,
			      "set " + name + ": " + node_path(name) + ": " + strerror(errno));
}

}  // namespace

std::string node_path(const std::string &name) { return "/dev/rchar/" + name; }

void read_node(Channel *channel)
{
	struct stat st;

	if (!channel->name || !channel->dev_major || !channel->dev_minor)
		return;
	channel->node = stat_node(*channel, &st);
	if (channel->node != DEVICE)
		return;
	channel->mode = st.st_mode & 07777;
	channel->uid = st.st_uid;
	channel->gid = st.st_gid;
}

void warn_of_files(const std::vector<Channel> &channels, bool all)
{
	for (const Channel &c : channels)
		if (c.node == OTHER)
			fprintf(stderr,
				"rchar: warning: %s is not the device of the channel, but another "
				"file: remove it, and add the channel again\n",
				node_path(*c.name).c_str());
	DIR *dir = all ? opendir(node_path("").c_str()) : nullptr;
	if (!dir)
		return;
	while (const dirent *e = readdir(dir)) {
		std::string name = e->d_name;
		bool known = false;

		for (const Channel &c : channels)
			known |= c.name == name;
		if (!known && is_file(name))
			fprintf(stderr,
				"rchar: warning: %s is no device but a file, which keeps in memory "
				"what was written to it\n",
				node_path(name).c_str());
	}
	closedir(dir);
}

void check_node(const Channel &channel) { stat_device(channel); }

void change_node(const Channel &channel, const Channel &wanted)
{
	const std::string &name = *channel.name;
	std::string path = node_path(name);
	struct stat st = stat_device(channel);

	// The owner first: chown() may take bits of the mode away.
	if (wanted.uid || wanted.gid)
		must(chown(path.c_str(), wanted.uid.value_or(st.st_uid),
			   wanted.gid.value_or(st.st_gid)),
		     name);
	if (wanted.mode)
		must(chmod(path.c_str(), *wanted.mode), name);
}
