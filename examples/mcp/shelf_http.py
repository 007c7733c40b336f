"""Serves the shelf over HTTP on this machine while a command runs: `python shelf_http.py strands run ...`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from shelf import answer

PORT = int(os.environ.get("SHELF_PORT", "8644"))


class Shelf(BaseHTTPRequestHandler):
    """Answers every request that has a key, each message by itself."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer one message; accept a notification."""
        message = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        if not self.headers.get("Authorization", "").startswith("Bearer "):
            self.reply(401, {"error": "who are you?"})
        elif "id" not in message:
            self.reply(202)
        else:
            result = answer(message["method"], message.get("params") or {})
            unknown = {"error": {"code": -32601, "message": f"there is no method {message['method']}"}}
            reply = unknown if result is None else {"result": result}
            self.reply(200, {"jsonrpc": "2.0", "id": message["id"], **reply})

    def do_GET(self) -> None:
        """Refuse: the server sends nothing without a request."""
        self.reply(405)

    def reply(self, status: int, value: Any = None) -> None:
        """Send a JSON value, or nothing."""
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *given: object) -> None:
        """Log nothing: the command that runs has the terminal."""


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", PORT), Shelf) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        code = subprocess.call(sys.argv[1:])
        server.shutdown()
    sys.exit(code)
