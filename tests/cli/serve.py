#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""serve.py FOLDER PORT_FILE - a web server for the tests of `invar models pull`.

/NAME           a file of FOLDER, with ranges, an ETag and If-Range
/cut/N/NAME     the same, but the connection ends after N bytes of the body
/dated/…        the same, with a Last-Modified in the past instead of an ETag
/weak/…         the same, with a weak ETag
/deaf/…         the same, but If-Range is ignored
/whole/NAME     the same, ranges ignored
/to/WHERE       redirects to WHERE
/endless        bytes without a length, until nobody takes them
/claims/N       an answer that promises N bytes, of which none come
"""
import email.utils
import hashlib
import http.server
import os
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path, limit, ranges, kind = self.path[1:], None, True, ""
        if path.startswith(("dated/", "weak/", "deaf/")):
            kind, path = path.split("/", 1)
        if path.startswith("to/"):
            self.send_response(302)
            self.send_header("Location", path[3:])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if path == "endless" or path.startswith("claims/"):
            self.promise(path)
            return
        if path.startswith("cut/"):
            number, path = path[4:].split("/", 1)
            limit = int(number)
        elif path.startswith("whole/"):
            ranges, path = False, path[6:]
        try:
            with open(os.path.join(sys.argv[1], os.path.basename(path)), "rb") as file:
                data = file.read()
        except OSError:
            self.send_error(404)
            return
        self.send_data(data, limit, ranges, kind)

    def promise(self, path):
        self.send_response(200)
        if path != "endless":
            self.send_header("Content-Length", path.split("/")[1])
        self.end_headers()
        self.close_connection = True
        try:
            while path == "endless":
                self.wfile.write(bytes(65536))
        except OSError:
            pass

    def send_data(self, data, limit, ranges, kind):
        tag = hashlib.sha256(data).hexdigest()
        name, version = "ETag", f'"{tag}"'
        if kind == "dated":
            name, version = "Last-Modified", email.utils.formatdate(int(tag[:7], 16), usegmt=True)
        elif kind == "weak":
            version = "W/" + version
        condition = self.headers.get("If-Range", version)
        if kind != "deaf" and condition != version:
            ranges = False
        wanted = self.headers.get("Range", "")
        first = int(wanted[6:].split("-")[0]) if ranges and wanted.startswith("bytes=") else 0
        if first and first >= len(data):
            self.send_error(416)
            return
        self.send_response(206 if first else 200)
        self.send_header(name, version)
        if first:
            self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - first))
        self.end_headers()
        self.wfile.write(data[first:][:limit])
        if limit is not None:
            self.close_connection = True

    def log_message(self, *args):
        with open(sys.argv[2] + ".log", "a") as log:
            log.write(f"{self.path} {self.headers.get('Range', '-')} {self.headers.get('If-Range', '-')}\n")


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[2] + ".new", "w") as file:
    file.write(str(server.server_port))
os.rename(sys.argv[2] + ".new", sys.argv[2])
server.serve_forever()
