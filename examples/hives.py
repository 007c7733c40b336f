"""Serves two beehives' scales on this machine while a command runs: `python hives.py strands run ...`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

HIVES = [{"id": 1, "name": "south wall", "kg": 31.5}, {"id": 2, "name": "lime tree", "kg": 47.2}]
PORT = int(os.environ.get("HIVES_PORT", "8643"))


class Scales(BaseHTTPRequestHandler):
    """Answers every request that has a key."""

    def do_GET(self) -> None:
        """Answer `/v1/hives`, whose parameter `min_kg` omits the light ones."""
        place = urlsplit(self.path)
        if not self.headers.get("Authorization", "").startswith("Bearer "):
            self.reply(401, {"error": "who are you?"})
        elif place.path != "/v1/hives":
            self.reply(404, {"error": "there is nothing here"})
        else:
            least = float(parse_qs(place.query).get("min_kg", ["0"])[0])
            self.reply(200, [hive for hive in HIVES if float(str(hive["kg"])) >= least])

    def reply(self, status: int, value: object) -> None:
        """Send a JSON value."""
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *given: object) -> None:
        """Log nothing: the command that runs has the terminal."""


with ThreadingHTTPServer(("127.0.0.1", PORT), Scales) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    code = subprocess.call(sys.argv[1:])
    server.shutdown()
sys.exit(code)
