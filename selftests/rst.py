#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""rst.py FILE... - reStructuredText without errors, as docutils reads it.

Debian's own interpreter has the docutils that was installed. Roles of Sphinx that the kernel's
documents use are taken as text. Prints what is wrong; exit 1 when something is.
"""
import io
import sys

import docutils.core
from docutils.parsers.rst import roles


def as_text(name, rawtext, text, lineno, inliner, options=None, content=None):
    return [docutils.nodes.literal(rawtext, text)], []


def main():
    roles.register_local_role("doc", as_text)
    bad = 0
    for path in sys.argv[1:]:
        errors = io.StringIO()
        with open(path, encoding="utf-8") as f:
            docutils.core.publish_string(f.read(), source_path=path, writer_name="null",
                                         settings_overrides={"warning_stream": errors,
                                                             "report_level": 2})
        if errors.getvalue():
            print(errors.getvalue().rstrip())
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
