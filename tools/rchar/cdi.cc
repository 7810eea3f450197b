// SPDX-License-Identifier: GPL-2.0
// The format: github.com/cncf-tags/container-device-interface, SPEC.md.
#include "cdi.hh"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "module.hh"
#include "print.hh"

namespace {

// The oldest version that has all that is used here: more runtimes take it. Names that begin with a
// digit are of 0.5.0, and a runtime takes nothing of a file that is of an older version.
const char *version_for(const std::vector<std::string> &names)
{
	for (const std::string &name : names)
		if (isdigit(static_cast<unsigned char>(name.front())))
			return "0.5.0";
	return "0.3.0";
}

// What a channel's name may have and that of a CDI device may not: an end that is no letter or
// digit.
bool is_cdi_name(const std::string &name)
{
	return !name.empty() && isalnum(static_cast<unsigned char>(name.back()));
}

// No numbers, mode and owner: the runtime takes those that the node has when a container starts,
// and the next 'rchar add' of that name may give it others.
Json device_of(const std::string &name)
{
	Json node = {{"path", "/dev/rchar/" + name}, {"permissions", "rw"}};

	return {{"name", name}, {"containerEdits", {{"deviceNodes", Json::array({node})}}}};
}

std::vector<std::string> names_of(const std::vector<Channel> &channels)
{
	std::vector<std::string> names;

	for (const Channel &c : channels) {
		std::string name = c.name.value_or("");

		if (is_cdi_name(name))
			names.push_back(name);
		else
			fprintf(stderr,
				"rchar: cdi: left out %s: the name of a device ends with a letter "
				"or a digit\n",
				name.c_str());
	}
	return names;
}

}  // namespace

void cdi(Words words, const Options &options)
{
	Netlink nl;
	std::vector<Channel> channels = dump_channels(nl);
	std::vector<std::string> names;

	if (words.empty())
		names = names_of(channels);
	while (!words.empty()) {
		std::string name = words.take("a name");

		if (std::none_of(channels.begin(), channels.end(),
				 [&](const Channel &c) { return c.name == name; }))
			throw Failure(EXIT_NONE, "cdi " + name + ": no channel of that name");
		if (!is_cdi_name(name))
			usage_error("cdi " + name +
				    ": the name of a device ends with a letter or a digit");
		names.push_back(name);
	}
	// A runtime refuses a specification without devices.
	if (names.empty())
		throw Failure(EXIT_NONE, "cdi: there is no channel");
	Json devices = Json::array();

	for (const std::string &name : names)
		devices.push_back(device_of(name));
	Options pretty = options;

	pretty.pretty = true;
	print_json({{"cdiVersion", version_for(names)},
		    {"kind", "rdma_char/channel"},
		    {"devices", devices}},
		   pretty);
}
