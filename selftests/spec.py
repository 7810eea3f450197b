#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""spec.py SPEC HEADER NAMES - the netlink specification, the uapi header, and the words of
the module and the tool say the same.

Every command, attribute, enum entry and constant of SPEC has to be in HEADER, and the other
way round, with the same number. NAMES (kmod/proto/names.h) has to have the entries of all
enums of SPEC, with the same words. Only the forms that the specification uses are
understood: one key a line, a number of its own behind each name, enum-name and name-prefix
in front of each list. Prints the differences; exit 1 when there are any.
"""
import re
import sys


def c_name(text):
    return text.replace("-", "_")


class SpecError(Exception):
    pass


class Spec:
    """enums: {C enum: {C name: number}}; consts: {C name: number}; references."""

    def __init__(self, path):
        self.enums = {}
        self.words = {}      # C name of an enum entry: its name in the specification
        self.consts = {}
        self.sets = {}       # attribute set: names of its attributes
        self.uses = []       # (line number, attribute set, attribute) of operations
        self.refs = []       # (line number, kind, name)
        self.operations = []
        self.definitions = []
        with open(path, encoding="utf-8") as f:
            self.parse(f.read().splitlines())

    def parse(self, lines):
        section = None
        number = 0
        self.in_doc = None   # indentation of the key whose text follows
        self.enum = self.prefix = self.group = None
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.lstrip().startswith("#") or line == "---":
                continue
            top = re.match(r"([a-z-]+):", line)
            if top:
                self.finish_entry(number)
                section = top[1]
                self.enum = self.prefix = self.group = None
                self.in_doc = 0 if section == "doc" else None
                continue
            self.line(section, number, line)
        self.finish_entry(number)

    # What is being read: an entry of an enum, an attribute or an operation.
    entry = None
    value = None

    def finish_entry(self, number):
        if self.entry is None:
            return
        if self.value is None:
            raise SpecError(f"line {number}: '{self.entry}' has no value")
        if self.enum is None or self.prefix is None:
            raise SpecError(f"line {number}: '{self.entry}' has no enum-name or name-prefix")
        names = self.enums.setdefault(c_name(self.enum), {})
        name = c_name(self.prefix + self.entry).upper()
        if name in names:
            raise SpecError(f"line {number}: '{self.entry}' is there twice")
        names[name] = self.value
        self.entry = self.value = None

    def line(self, section, number, line):
        indent = len(line) - len(line.lstrip())
        if self.in_doc is not None:
            if indent > self.in_doc:
                return
            self.in_doc = None
        m = re.match(r"( *)(- )?([a-z0-9-]+)(?:: *(.*))?$", line)
        if not m:
            raise SpecError(f"line {number}: not understood: {line}")
        dash, key, text = m[2], m[3], m[4] and m[4].strip('"')
        if key == "doc":
            self.in_doc = indent
            return
        if section == "definitions":
            self.definition(number, indent, dash, key, text)
        elif section == "attribute-sets":
            self.attribute_set(number, indent, dash, key, text)
        elif section == "operations":
            self.operation(number, indent, dash, key, text)

    def definition(self, number, indent, dash, key, text):
        if indent == 2 and dash:
            self.finish_entry(number)
            self.enum = self.prefix = None
            self.group = text
            self.definitions.append(text)
        elif indent == 4:
            if key == "enum-name":
                self.enum = text
            elif key == "name-prefix":
                self.prefix = text
            elif key == "value":
                self.consts[c_name("rchar-" + self.group).upper()] = int(text)
        elif indent == 6 and dash and key == "name":
            self.finish_entry(number)
            self.entry = text
            self.words[c_name((self.prefix or "") + text).upper()] = text
        elif indent == 8 and key == "value":
            self.value = int(text)

    def attribute_set(self, number, indent, dash, key, text):
        if indent == 2 and dash:
            self.finish_entry(number)
            self.enum = self.prefix = None
            self.group = text
            self.sets[text] = set()
        elif indent == 4 and key == "enum-name":
            self.enum = text
        elif indent == 4 and key == "name-prefix":
            self.prefix = text
        elif indent == 6 and dash and key == "name":
            self.finish_entry(number)
            self.entry = text
            self.sets[self.group].add(text)
        elif indent == 8 and key == "value":
            self.value = int(text)
        elif indent == 8 and key == "enum":
            self.refs.append((number, "enum", text))
        elif indent == 8 and key == "nested-attributes":
            self.refs.append((number, "attribute set", text))

    def operation(self, number, indent, dash, key, text):
        if indent == 2 and key == "enum-name":
            self.enum = text
        elif indent == 2 and key == "name-prefix":
            self.prefix = text
        elif indent == 4 and dash and key == "name":
            self.finish_entry(number)
            self.entry = text
            self.operations.append(text)
            self.group = None
        elif indent == 6 and key == "value":
            self.value = int(text)
        elif indent == 6 and key == "attribute-set":
            self.group = text
            self.refs.append((number, "attribute set", text))
        elif indent == 6 and key == "notify":
            self.refs.append((number, "operation", text))
        elif indent > 6 and dash:
            self.uses.append((number, self.group, key))

    def check(self):
        known = {"enum": self.definitions, "attribute set": self.sets,
                 "operation": self.operations}
        for number, kind, name in self.refs:
            if name not in known[kind]:
                yield f"spec line {number}: there is no {kind} '{name}'"
        for number, group, name in self.uses:
            if name not in self.sets.get(group, ()):
                yield f"spec line {number}: '{name}' is not an attribute of '{group}'"


def read_header(path):
    """Return {C enum: {C name: number}} and {name: number} of the plain numeric defines."""
    with open(path, encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    enums = {}
    for m in re.finditer(r"enum (\w+) \{(.*?)\};", text, re.S):
        names, following = {}, 0
        for item in filter(None, (i.strip() for i in m[2].split(","))):
            entry = re.fullmatch(r"(\w+)(?:\s*=\s*(\w+))?", item)
            if not entry:
                raise SpecError(f"header: not understood: {item}")
            number = int(entry[2], 0) if entry[2] else following
            following = number + 1
            if not entry[1].startswith("__"):
                names[entry[1]] = number
        enums[m[1]] = names
    defines = {m[1]: int(m[2], 0)
               for m in re.finditer(r"^#define (\w+)\s+(0x[0-9A-Fa-f]+|\d+)$", text, re.M)}
    return enums, defines


def read_names(path):
    """Return {C name: word} of the lists of names.h."""
    names = {}
    with open(path, encoding="utf-8") as f:
        for name, word in re.findall(r'\bX\((\w+), "([^"]*)"\)', f.read()):
            if name in names:
                raise SpecError(f"names: {name} is there twice")
            names[name] = word
    return names


def compare(what, spec, other, where):
    for name in spec:
        if name not in other:
            yield f"{what}: {name} is in the spec only"
        elif spec[name] != other[name]:
            yield f"{what}: {name} is {spec[name]} in the spec, {other[name]} in {where}"
    for name in other:
        if name not in spec:
            yield f"{what}: {name} is in {where} only"


def main():
    if len(sys.argv) != 4:
        print("usage: spec.py SPEC HEADER NAMES", file=sys.stderr)
        return 1
    try:
        spec = Spec(sys.argv[1])
        enums, defines = read_header(sys.argv[2])
        names = read_names(sys.argv[3])
    except (OSError, SpecError) as e:
        print(e)
        return 1
    wrong = list(spec.check())
    for name in sorted(spec.enums.keys() | enums.keys()):
        wrong += compare(f"enum {name}", spec.enums.get(name, {}), enums.get(name, {}),
                         "the header")
    wrong += compare("define", spec.consts,
                     {n: defines[n] for n in defines if n in spec.consts}, "the header")
    wrong += compare("word", spec.words, names, "names.h")
    if not spec.enums or not enums or not names:
        wrong.append("nothing to compare")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
