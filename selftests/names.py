#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""names.py DIR - does each static function of the module have a name of its own?

A stack trace, ftrace and perf print the name alone. Prints names that more than one file uses,
and exits with 1 when there are some.
"""
import os
import re
import sys

FUNCTION = re.compile(r"^static (?:inline )?[\w ]+?[ *]+(\w+)\([^;{]*\)\n\{", re.M)


def main(top):
    where = {}
    for folder, _, names in os.walk(top):
        if os.path.basename(folder) == "compat":
            continue
        for name in names:
            if name.endswith(".c"):
                with open(os.path.join(folder, name), encoding="utf-8") as source:
                    for function in FUNCTION.findall(source.read()):
                        where.setdefault(function, set()).add(name)
    twice = {f: w for f, w in where.items() if len(w) > 1}
    for function, files in sorted(twice.items()):
        print(f"{function}: {' '.join(sorted(files))}")
    return 1 if twice or not where else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
