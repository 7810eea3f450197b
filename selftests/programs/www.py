#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""www.py FOLDER PORT: Python's own web server, with uploads (PUT)."""
import functools
import http.server
import sys


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_PUT(self):
        with open(self.translate_path(self.path), "wb") as out:
            out.write(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(201)
        self.end_headers()


handler = functools.partial(Handler, directory=sys.argv[1])
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), handler).serve_forever()
