#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""jsonkeys.py TOP - the JSON keys of the tools are those of the manual pages.

Each object that a tool prints has a table in the manual page, below '.SS JSON: OBJECT'. The keys
are taken from the source: the calls of put() in json.cc, the counters in stats.hh, and what else
writes to a Json. Prints what only one of the two has; exit 1 when something is.
"""
import os
import re
import sys

TYPES = ("string", "number", "boolean", "array", "object")
# Keys that are written to an object: put(&out, "key", out["key"], {"key", value}.
WRITTEN = re.compile(r'\bput\w*\(&out, "([^"]+)"|\["([^"]+)"\]|\{"(\w+)", \w+\}')


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


def function(text, head):
    """The body of the function that begins with this line."""
    at = text.index(head)
    return text[at:text.index("\n}\n", at)]


def written(text):
    return [a or b or c for a, b, c in WRITTEN.findall(text)]


def keys_of_rchar(top):
    tools = os.path.join(top, "tools/rchar")
    json, out = read(tools, "json.cc"), {}
    for name, head in (("channel", "Json json_of(const Channel &c)"),
                       ("link", "Json json_of(const Link &l)"),
                       ("lane", "Json json_of(const Lane &lane)"),
                       ("session", "Json json_of(const Session &s)"),
                       ("key", "Json json_of(const Key &k)"),
                       ("event", "Json json_of(const Event &e)"),
                       ("version", "Json json_of(const Info &i)")):
        out[name] = written(function(json, head))
    out["event"] += written(function(read(tools, "print.cc"), "void print_event("))
    out["version"] = written(function(read(tools, "print.cc"), "void print_version(")) + out["version"]
    out["version"] += re.findall(r'\bf\("(\w+)", info\.', read(tools, "objects.hh"))
    out["check"] = written(function(read(tools, "check.cc"), "void Report::add("))
    out["stats"] = re.findall(r'\{RCHAR_A_STATS_\w+, "(\w+)"', read(tools, "stats.hh"))
    out["stats"] += written(function(json, "Json json_of(const ChannelStats &c)"))
    out["trace"] = written(function(read(tools, "trace.cc"), "void Printer::print_json("))
    known = {key for keys in out.values() for key in keys}
    # An object that this script does not know. Two files have the formats of others.
    for name in sorted(os.listdir(tools)):
        if name.endswith(".cc") and name not in ("cdi.cc", "firewall.cc"):
            out[name] = [a or b for a, b, _ in WRITTEN.findall(read(tools, name))
                         if (a or b) and (a or b) not in known]
    return {name: set(keys) for name, keys in out.items() if keys}


def keys_of_perf(top):
    tools, result = os.path.join(top, "tools/perf"), []
    for name in ("client.cc", "memory.cc"):
        result += re.findall(r'\bresult\["([^"]+)"\]', read(tools, name))
    times = re.findall(r'\bout\["([^"]+)"\]', read(tools, "result.cc"))
    return {"result": set(result), "times": set(times)}


def tables(page):
    """{object: {key: (type, meaning)}} of a manual page."""
    out = {}
    for title, body in re.findall(r"^\.SS JSON: ([^\n]+)\n(.*?)^\.TE$", read(page), re.M | re.S):
        rows = re.findall(r"^([^\t\n]+)\t(\w+)\tT\{\n(.*?)\nT\}$", body, re.M | re.S)
        out[title] = {key.replace("\\-", "-"): (kind, text) for key, kind, text in rows}
    return out


def compare(page, code, documented):
    for name in sorted(code.keys() | documented.keys()):
        there, here = code.get(name, set()), documented.get(name, {})
        if not there or not here:
            what = "no object of the tool" if here else "not documented"
            yield f"{page}: {name} is {what}: {' '.join(sorted(there or here))}"
            continue
        for key in sorted(there - here.keys()):
            yield f"{page}: {name}: the key {key} is not documented"
        for key in sorted(here.keys() - there):
            yield f"{page}: {name}: the tool prints no key {key}"
        for key, (kind, text) in here.items():
            if kind not in TYPES:
                yield f"{page}: {name}: {key} has the type {kind}"
            if not text.strip():
                yield f"{page}: {name}: {key} has no meaning"


def main():
    if len(sys.argv) != 2:
        print("usage: jsonkeys.py TOP", file=sys.stderr)
        return 1
    top, wrong = sys.argv[1], []
    page = os.path.join(top, "Documentation/rchar.8")
    documented = tables(page)
    # The code has the counters of channels and links in one list.
    documented["stats"] = {**documented.pop("stats of a channel", {}),
                           **documented.pop("stats of a link", {})}
    wrong += compare("rchar.8", keys_of_rchar(top), documented)
    page = os.path.join(top, "Documentation/rchar-perf.1")
    wrong += compare("rchar-perf.1", keys_of_perf(top), tables(page))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
