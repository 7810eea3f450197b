#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""spec2c.py SPEC > HEADER - the netlink specification as tables of C, for fuzznetlink.

Commands with who may use them and what they take and answer, attributes with their types,
limits and enums: a change of the specification changes what the fuzzer sends and expects.
"""
import sys
import yaml


def c_name(text):
    return text.replace("-", "_")


def array(kind, name, items):
    body = ", ".join(map(str, items))
    return f"static const {kind} {name}[] = {{ {body} }};" if items else ""


class Tables:
    def __init__(self, spec):
        self.spec = spec
        self.definitions = {d["name"]: d for d in spec["definitions"]}
        self.sets = [s["name"] for s in spec["attribute-sets"]]
        self.values = {s["name"]: {a["name"]: a["value"] for a in s["attributes"]}
                       for s in spec["attribute-sets"]}

    def limit(self, attribute):
        limit = attribute.get("checks", {}).get("max-len", 0)
        return limit if isinstance(limit, int) else self.definitions[limit]["value"]

    def enums(self):
        for d in self.spec["definitions"]:
            if d["type"] == "enum":
                yield array("uint32_t", "values_" + c_name(d["name"]),
                            [e["value"] for e in d["entries"]])

    def attributes(self):
        for s in self.spec["attribute-sets"]:
            yield f"static const struct spec_attr attrs_{c_name(s['name'])}[] = {{"
            for a in s["attributes"]:
                fields = [f'.name = "{a["name"]}"', f".type = {a['value']}",
                          f".kind = SPEC_{a['type'].upper()}", f".max_len = {self.limit(a)}"]
                if "enum" in a:
                    values = "values_" + c_name(a["enum"])
                    fields += [f".values = {values}", f".nr_values = SPEC_NR({values})"]
                if "nested-attributes" in a:
                    fields.append(f".nest = {self.sets.index(a['nested-attributes'])}")
                yield "\t{ " + ", ".join(fields) + " },"
            yield "};"
        yield "static const struct spec_set spec_sets[] = {"
        for name in self.sets:
            attrs = "attrs_" + c_name(name)
            yield f'\t{{ "{name}", {attrs}, SPEC_NR({attrs}) }},'
        yield "};"

    def operation(self, op, of=None):
        """Lines of the arrays of an operation, and the fields of its entry."""
        source = of or op
        group = source.get("attribute-set", "info")
        name, lines = c_name(op["name"]), []
        fields = [f'.name = "{op["name"]}"', f".cmd = {op['value']}",
                  f".set = {self.sets.index(group)}"]
        if of:
            fields.append(".event = true")
        elif "admin-perm" in op.get("flags", []):
            fields.append(".admin = true")
        for way in ("do", "dump"):
            if way not in source:
                continue
            if not of:
                fields.append(f".has_{way} = true")
            for part in ("request", "reply"):
                names = source[way].get(part, {}).get("attributes", [])
                if not names or (of and part == "request"):
                    continue
                if f".nr_{part} = SPEC_NR({part}_{name})" in fields:
                    continue
                lines.append(array("uint16_t", f"{part}_{name}",
                                   [self.values[group][n] for n in names]))
                fields += [f".{part} = {part}_{name}", f".nr_{part} = SPEC_NR({part}_{name})"]
        return lines, fields

    def operations(self):
        ops = self.spec["operations"]["list"]
        named = {op["name"]: op for op in ops}
        entries = []
        for op in ops:
            lines, fields = self.operation(op, named[op["notify"]] if "notify" in op else None)
            yield from lines
            entries.append("\t{ " + ", ".join(fields) + " },")
        yield "static const struct spec_cmd spec_cmds[] = {"
        yield from entries
        yield "};"


HEAD = """/* Made by selftests/fuzz.d/spec2c.py; do not edit. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPEC_NR(array) (sizeof(array) / sizeof((array)[0]))

enum spec_kind { SPEC_PAD, SPEC_STRING, SPEC_U32, SPEC_U64, SPEC_BINARY, SPEC_NEST };

struct spec_attr {
	const char *name;
	uint16_t type;
	enum spec_kind kind;
	uint32_t max_len;		/* 0: as the type says */
	const uint32_t *values;		/* of its enum */
	size_t nr_values;
	size_t nest;			/* index of a set */
};

struct spec_set {
	const char *name;
	const struct spec_attr *attrs;
	size_t nr;
};

struct spec_cmd {
	const char *name;
	uint8_t cmd;
	bool admin, has_do, has_dump, event;
	size_t set;
	const uint16_t *request, *reply;	/* types of attributes */
	size_t nr_request, nr_reply;
};
"""


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 1
    with open(sys.argv[1], encoding="utf-8") as f:
        tables = Tables(yaml.safe_load(f))
    print(HEAD)
    for part in (tables.enums, tables.attributes, tables.operations):
        print("\n".join(line for line in part() if line) + "\n")
    print(f'#define SPEC_FAMILY "{tables.spec["name"]}"')
    print(f'#define SPEC_GROUP "{tables.spec["mcast-groups"]["list"][0]["name"]}"')
    return 0


if __name__ == "__main__":
    sys.exit(main())
