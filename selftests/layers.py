#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""layers.py DIR - do the layers of the module hold?

Reads the #include lines of DIR. Each folder may include itself and the folders before it in
LAYERS; files of DIR itself may include everything. Nothing may include in a circle, where a .c
file, the .h file of the same name and its _priv.h count as one. In base/, link/ and session/
nothing may name a type.
Prints what breaks a rule, and exits with 1 when something does.
"""
import os
import re
import sys

LAYERS = ["base", "proto", "link", "session", "types", "netlink", ""]
ANY = {"uapi", "compat"}
# The one call that goes up: events. Its header is in base, its code in netlink.
UPWARD = "notify"
# Words that are a type's own.
TYPES = re.compile(r"\bRCHAR_TYPE_(STREAM|MESSAGE|MEMORY)\b|->(import|export|rndv)\b|"
                   r"\brchar_(stream|message|import|export|region|rndv)_\w+\(|"
                   r"\bstruct rchar_(stream|message|import|export|region|rndv)\b")


def sources(top):
    for folder, _, names in os.walk(top):
        layer = os.path.relpath(folder, top).replace(".", "", 1).split(os.sep)[0]
        if layer in ANY:
            continue
        for name in names:
            if name.endswith((".c", ".h")):
                yield layer, name, os.path.join(folder, name)


def unit_of(name):
    return re.sub(r"(_priv)?\.[ch]$", "", name)


def circle(graph):
    """Some circle of the graph, or None."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return None
        path.append(node)
        for other in sorted(graph.get(node, ())):
            found = visit(other)
            if found:
                return found
        path.pop()
        done.add(node)
        return None

    for node in sorted(graph):
        found = visit(node)
        if found:
            return found
    return None


def main(top):
    files = list(sources(top))
    where = {}
    wrong = []
    graph = {}
    for layer, name, path in files:
        if layer not in LAYERS:
            wrong.append(f"{path}: {layer}/ is not a layer")
            continue
        where[name] = layer
    for layer, name, path in files:
        if layer not in LAYERS:
            continue
        unit = unit_of(name)
        with open(path, encoding="utf-8") as source:
            text = source.read()
        for target in re.findall(r'^#include "([^"]+)"', text, re.M):
            if target.split("/")[0] in ANY:
                continue
            other = os.path.basename(target)
            if other not in where:
                wrong.append(f"{path}: includes {target}, which is not there")
                continue
            expected = other if where[other] == layer else f"{where[other]}/{other}"
            if target != expected:
                wrong.append(f"{path}: includes {target}, which is {expected}")
            if LAYERS.index(where[other]) > LAYERS.index(layer):
                wrong.append(f"{path}: {layer or top} includes {target}, which is above it")
            base = unit_of(other)
            if base not in (unit, UPWARD):
                graph.setdefault(unit, set()).add(base)
        if layer in ("base", "link", "session"):
            for word in TYPES.finditer(text):
                wrong.append(f"{path}: names a type: {word.group(0)}")
    found = circle(graph)
    if found:
        wrong.append("circle: " + " -> ".join(found))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
