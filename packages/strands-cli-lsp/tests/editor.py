"""An editor as the server sees it: a process `strands lsp`, and messages over its standard input and output."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.warm import STRANDS


class Editor:
    """Talks JSON-RPC with a server of its own."""

    def __init__(self, folder: Path, environment: dict[str, str], *options: str) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [STRANDS, "lsp", "--stdio", *options], stdin=pipe, stdout=pipe, cwd=folder, env=environment
        )
        self._number, self._seen = 0, list[dict[str, Any]]()
        self.capabilities = self.ask("initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}})
        self.tell("initialized", {})

    def tell(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: Any) -> Any:
        """Send a request, and return its result."""
        self._number += 1
        number = self._number
        self._send({"id": number, "method": method, "params": params})
        answer = self._until(lambda message: message.get("id") == number and "method" not in message)
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, path: Path, text: str, version: int = 1) -> None:
        """Open a text in place of a file."""
        document = {"uri": path.as_uri(), "languageId": "yaml", "version": version, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})

    def change(self, path: Path, text: str, version: int) -> None:
        """Replace the text of an open file."""
        document = {"uri": path.as_uri(), "version": version}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def findings(self, path: Path, version: int = 1) -> list[dict[str, Any]]:
        """Return the findings about a version of a text, once they come."""

        def is_of_version(message: dict[str, Any]) -> bool:
            params = message.get("params") or {}
            is_findings = message.get("method") == "textDocument/publishDiagnostics"
            return is_findings and params["uri"] == path.as_uri() and params.get("version") == version

        found: list[dict[str, Any]] = self._until(is_of_version)["params"]["diagnostics"]
        return found

    def logged(self) -> str:
        """Return the next text in the log."""
        return str(self._until(lambda message: message.get("method") == "window/logMessage")["params"]["message"])

    def end(self) -> int:
        """End the server as an editor does, and return its exit code."""
        self.ask("shutdown", None)
        self.tell("exit", None)
        code = self._process.wait(60)
        self.close()
        return code

    def close(self) -> None:
        """Close the pipes, and end the process if it still runs."""
        self._process.kill()
        self._process.communicate()

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._process.stdin.flush()

    def _until(self, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        for message in self._seen:
            if fits(message):
                self._seen.remove(message)
                return message
        while True:
            message = self._read()
            if fits(message):
                return message
            self._seen.append(message)

    def _read(self) -> dict[str, Any]:
        stream = self._process.stdout
        assert stream is not None
        size = 0
        while line := stream.readline().strip():
            name, _, value = line.partition(b":")
            size = int(value) if name.lower() == b"content-length" else size
        if not size:
            raise AssertionError("the server has ended")
        message: dict[str, Any] = json.loads(stream.read(size))
        return message
