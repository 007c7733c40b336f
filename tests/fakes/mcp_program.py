"""A program that speaks MCP on its stdin and stdout, as a script tells it; it needs nothing but Python itself.

`python mcp_program.py SCRIPT.json LOG` behaves as the script says and writes a line of JSON to LOG for each thing that
happens: its start with its environment and folder, and each call with its arguments. What the script may hold:

    tools: what `tools/list` answers                    calls: for each tool, what a call does (`answer` below)
    silent: never answer (a number: end after that many seconds instead)
    stderr, stdout: lines to say at the start
    stubborn: end neither at the end of stdin nor when asked to
    child: start a process that sleeps, and write down its id
    cursor: what `tools/list` answers as the cursor of the next page
    endless: answer `tools/list` with one page after another
    version: the version of the protocol
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


class Program:
    """The server: one message after another."""

    def __init__(self, script: dict[str, Any], log: Path) -> None:
        self.script, self.log = script, log
        self.tools = script.get("tools", [])
        self.answered: Any = None

    def note(self, **what: Any) -> None:
        with self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"pid": os.getpid(), **what}) + "\n")

    def send(self, **message: Any) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def run(self) -> None:
        if self.script.get("stubborn"):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self.note(started=dict(os.environ), folder=str(Path.cwd()))
        for word, stream in (("stderr", sys.stderr), ("stdout", sys.stdout)):
            for line in self.script.get(word, []):
                print(line, file=stream, flush=True)
        if self.script.get("child"):
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            self.note(child=child.pid)
        for line in sys.stdin:
            if self.script.get("silent") is None:
                self.answer(json.loads(line))
            elif not isinstance(self.script["silent"], bool):
                time.sleep(self.script["silent"])
                return
        while self.script.get("stubborn"):
            time.sleep(60)

    def answer(self, message: dict[str, Any]) -> None:
        known = {"initialize": self.initialize, "tools/list": self.list_tools, "tools/call": self.call}
        if "id" not in message:
            return
        if message.get("method") not in known:
            self.send(id=message["id"], error={"code": -32601, "message": "no such method"})
            return
        self.answered = message["id"]
        result = known[message["method"]](message.get("params") or {})
        if result:
            self.send(id=message["id"], result=result)

    def initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        return {
            "protocolVersion": self.script.get("version", "2025-06-18"),
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "program", "version": "1"},
        }

    def list_tools(self, params: dict[str, Any]) -> dict[str, Any]:
        if not self.script.get("endless"):
            cursor = {"nextCursor": self.script["cursor"]} if "cursor" in self.script else {}
            return {"tools": self.tools, **cursor} if self.tools != "silent" else {}
        page = int(params.get("cursor") or 0)
        tools = [{**tool, "name": f"{tool['name']}_{page}"} for tool in self.tools]
        return {"tools": tools, "nextCursor": str(page + 1)}

    def wait_until_listed(self) -> None:
        """Answer requests until the tools have been listed again."""
        for line in sys.stdin:
            message = json.loads(line)
            self.answer(message)
            if message.get("method") == "tools/list":
                return

    def call(self, params: dict[str, Any]) -> dict[str, Any]:
        """Do what the script says: `die`, `change` the tools, `sleep`, answer `text`, `structured`, `result`, `raw`.

        With `at_once` it does not wait until the changed tools are listed.
        """
        does = self.script.get("calls", {}).get(params["name"], {})
        self.note(called=params["name"], arguments=params.get("arguments"))
        if "die" in does:
            os._exit(does["die"])
        if "change" in does:
            self.tools = does["change"]
            self.send(method="notifications/tools/list_changed")
            if not does.get("at_once"):
                self.wait_until_listed()
        time.sleep(does.get("sleep", 0))
        if "raw" in does:  # a line as it is, with the request's id for @
            sys.stdout.buffer.write(does["raw"].encode("latin-1").replace(b"@", str(self.answered).encode()) + b"\n")
            sys.stdout.flush()
            return {}
        if "result" in does:
            return dict(does["result"])
        text = "x" * does["bytes"] if "bytes" in does else does.get("text", f"{params['name']} done")
        result: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": bool(does.get("fails"))}
        return {**result, "structuredContent": does["structured"]} if "structured" in does else result


if __name__ == "__main__":
    Program(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])).run()
