// SPDX-License-Identifier: GPL-2.0
#include "apply.hh"

#include <algorithm>
#include <cstdio>
#include <set>

#include "desired.hh"
#include "module.hh"
#include "node.hh"

namespace {

// What the host has. The plan changes it as the steps would.
struct Running {
	std::vector<Channel> channels;
	std::vector<Key> keys;
};

// One command. conf is what it is about: the line that asks for it, or nullptr.
struct Step {
	enum { KEY_DEL, KEY_ADD, CHANNEL_DEL, CHANNEL_ADD, CHANNEL_SET } command;
	std::string name;
	const ConfKey *key = nullptr;
	const ConfChannel *channel = nullptr;
	std::vector<const Setting *> changes;
};

using Plan = std::vector<Step>;

std::string words_of(const Step &step)
{
	std::string text;

	switch (step.command) {
	case Step::KEY_DEL:
		return "rchar key del " + step.name;
	case Step::KEY_ADD:
		return "rchar key add " + step.name + " " + step.key->path;
	case Step::CHANNEL_DEL:
		return "rchar del " + step.name;
	case Step::CHANNEL_ADD:
		return "rchar " + add_command(step.channel->words.channel);
	case Step::CHANNEL_SET:
		text = "rchar set " + step.name;
		for (const Setting *s : step.changes)
			text += std::string(" ") + s->key + " " +
				s->text(step.channel->words.channel).value_or("");
	}
	return text;
}

void run(Netlink &nl, const Step &step)
{
	switch (step.command) {
	case Step::KEY_DEL:
		delete_key(nl, step.name);
		break;
	case Step::KEY_ADD:
		add_key(nl, step.name, *step.key->secret);
		break;
	case Step::CHANNEL_DEL:
		delete_channel(nl, step.name);
		break;
	case Step::CHANNEL_ADD:
		add_channel(nl, step.channel->words);
		break;
	case Step::CHANNEL_SET:
		change_channel(nl, {step.channel->words.channel, step.changes});
	}
}

// ---- the plan ----

template <typename T> const T *find(const std::vector<T> &list, const std::string &name)
{
	auto found = std::find_if(list.begin(), list.end(),
				  [&](auto &o) { return o.name == name; });

	return found == list.end() ? nullptr : &*found;
}

const ConfChannel *find_channel(const Conf &conf, const std::string &name)
{
	for (const ConfChannel &c : conf.channels)
		if (c.words.channel.name == name)
			return &c;
	return nullptr;
}

bool has_key(const Running &running, const ConfKey &key)
{
	const Key *k = find(running.keys, key.name);

	return k && k->fingerprint == key.fingerprint;
}

// Is the key in the way of one of the configuration: by its name, or by its secret?
bool is_in_the_way(const Conf &conf, const Key &key)
{
	for (const ConfKey &k : conf.keys)
		if ((k.name == key.name) != (k.fingerprint == key.fingerprint))
			return true;
	return false;
}

// As the module does: lists keep a deleted key, which opens nothing.
void forget_key(Running *running, const std::string &name)
{
	for (Channel &c : running->channels) {
		auto found = std::find(c.keys.begin(), c.keys.end(), name);

		if (found == c.keys.end())
			continue;
		c.keys.erase(found);
		c.keys_deleted.push_back(name);
	}
}

void plan_channel(Plan *plan, const Running &running, const ConfChannel &wanted)
{
	const std::string &name = *wanted.words.channel.name;
	const Channel *is = find(running.channels, name);
	Step set{Step::CHANNEL_SET, name, nullptr, &wanted, {}};

	if (is) {
		for (const Difference &d : differences(*is, wanted.words.channel))
			set.changes.push_back(d.setting);
		if (set.changes.empty())
			return;
	}
	bool anew = !is;
	for (const Setting *s : set.changes)
		anew |= !s || s->change == Change::NEVER;
	if (!anew) {
		plan->push_back(set);
		return;
	}
	if (is)
		plan->push_back({Step::CHANNEL_DEL, name, nullptr, nullptr, {}});
	plan->push_back({Step::CHANNEL_ADD, name, nullptr, &wanted, {}});
}

// Deletes before it adds, so that names, secrets and memory are free; but a key that no line
// names goes last, when no channel uses it any more.
Plan make_plan(const Conf &conf, Running running)
{
	Plan plan;

	for (const Channel &c : running.channels)
		if (!find_channel(conf, *c.name))
			plan.push_back({Step::CHANNEL_DEL, *c.name, nullptr, nullptr, {}});
	for (const Key &k : running.keys) {
		if (!is_in_the_way(conf, k))
			continue;
		plan.push_back({Step::KEY_DEL, *k.name, nullptr, nullptr, {}});
		forget_key(&running, *k.name);
	}
	for (const ConfKey &k : conf.keys)
		if (!has_key(running, k))
			plan.push_back({Step::KEY_ADD, k.name, &k, nullptr, {}});
	for (const ConfChannel &c : conf.channels)
		plan_channel(&plan, running, c);
	for (const Key &k : running.keys)
		if (!find(conf.keys, *k.name) && !is_in_the_way(conf, k))
			plan.push_back({Step::KEY_DEL, *k.name, nullptr, nullptr, {}});
	return plan;
}

Running get_running(Netlink &nl) { return {dump_channels(nl), dump<Key>(nl, RCHAR_CMD_KEY_GET)}; }

// All at once: a thousand channels are not asked for one by one.
void warn_of_added(Netlink &nl, const Plan &plan)
{
	std::set<std::string> added;
	std::vector<Channel> channels;

	for (const Step &step : plan)
		if (step.command == Step::CHANNEL_ADD)
			added.insert(step.name);
	if (added.empty())
		return;
	for (Channel &c : dump_channels(nl))
		if (added.count(*c.name))
			channels.push_back(std::move(c));
	warn_of_files(channels, false);
}

[[noreturn]] void stopped(const Plan &plan, size_t at, const Failure &why)
{
	for (size_t i = 0; i < plan.size(); i++)
		fprintf(stderr, "rchar: %s: %s%s%s\n",
			i < at ? "done" : (i > at ? "not done" : "failed"),
			words_of(plan[i]).c_str(), i == at ? ": " : "", i == at ? why.what() : "");
	throw Failure(why.code, "apply: stopped after " + std::to_string(at) + " of " +
					std::to_string(plan.size()) + " commands");
}

// Whoever applies what 'save' wrote needs the file of the key.
void warn_of_key_file(const Key &key)
{
	std::string path = key_path(*key.name), why;

	try {
		Secret secret;

		read_secret(path, &secret);
		if (fingerprint_of(secret) != key.fingerprint)
			why = path + " holds another key";
	} catch (const Failure &f) {
		why = f.what();
	}
	if (!why.empty())
		fprintf(stderr, "rchar: warning: %s: 'apply' needs the secret of '%s' there\n",
			why.c_str(), key.name->c_str());
}

}  // namespace

void apply(const Conf &conf, const Options &options)
{
	Netlink nl;
	Plan plan = make_plan(conf, get_running(nl));

	for (size_t i = 0; i < plan.size(); i++) {
		if (options.dry_run || options.details)
			printf("%s\n", words_of(plan[i]).c_str());
		if (options.dry_run)
			continue;
		try {
			run(nl, plan[i]);
		} catch (const Failure &f) {
			warn_of_added(nl, Plan(plan.begin(), plan.begin() + i));
			stopped(plan, i, f);
		}
	}
	if (!options.dry_run)
		warn_of_added(nl, plan);
}

void save()
{
	Netlink nl;
	Running running = get_running(nl);
	std::string locked;

	for (const Key &k : running.keys) {
		printf("key add %s %s\n", k.name->c_str(), key_path(*k.name).c_str());
		warn_of_key_file(k);
	}
	for (Channel &c : running.channels) {
		// It opens for nobody, and shall not open for everybody.
		if (c.keys.empty() && !c.keys_deleted.empty()) {
			c.keys = c.keys_deleted;
			if (locked.empty())
				locked = *c.name;
		}
		printf("%s\n", add_command(c).c_str());
	}
	if (!locked.empty())
		throw Failure(EXIT_NONE, "save: channel '" + locked +
						 "' has no key but deleted ones, so 'rchar apply' "
						 "will refuse this; before, 'rchar set " +
						 locked + " keys NAME' or 'rchar del " + locked +
						 "'");
}
