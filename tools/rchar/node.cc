// SPDX-License-Identifier: GPL-2.0
#include "node.hh"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "../common/args.hh"

namespace {

// False: there is none, or the file is not the device of the channel.
bool stat_node(const Channel &c, struct stat *st)
{
	return c.name && c.dev_major && c.dev_minor && !lstat(node_path(*c.name).c_str(), st) &&
	       S_ISCHR(st->st_mode) && st->st_rdev == makedev(*c.dev_major, *c.dev_minor);
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

	if (!stat_node(*channel, &st))
		return;
	channel->mode = st.st_mode & 07777;
	channel->uid = st.st_uid;
	channel->gid = st.st_gid;
}

void change_node(const Channel &channel, const Channel &wanted)
{
	const std::string &name = *channel.name;
	std::string path = node_path(name);
	struct stat st;

	if (!stat_node(channel, &st))
		throw Failure(EXIT_USAGE,
			      "set " + name + ": " + path + " is not the device of the channel");
	// The owner first: chown() may take bits of the mode away.
	if (wanted.uid || wanted.gid)
		must(chown(path.c_str(), wanted.uid.value_or(st.st_uid),
			   wanted.gid.value_or(st.st_gid)),
		     name);
	if (wanted.mode)
		must(chmod(path.c_str(), *wanted.mode), name);
}
