"""The world of a run with MCP servers: a folder, a model server, and programs that speak MCP as a script tells them."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from strands_cli.tools.mcp import transports as mcp_process
from tests.covers.conftest import world as world
from tests.covers.kit import Ran, World
from tests.fakes.model_server import Turn
from tests.yaml_texts import write_yaml

PROGRAM = Path(__file__).parents[1] / "fakes" / "mcp_program.py"
OBJECT = {"type": "object", "properties": {"text": {"type": "string"}}}


def tool(name: str, **told: Any) -> dict[str, Any]:
    """Return a tool as a server lists it."""
    return {"name": name, "description": f"Does {name}.", "inputSchema": OBJECT, **told}


@dataclass
class Site:
    """Servers as programs of one folder, and a workflow that has them."""

    world: World
    servers: list[dict[str, Any]] = field(default_factory=list)

    def add(self, server: str = "docs", settings: dict[str, Any] | None = None, **script: Any) -> dict[str, Any]:
        """Add a server whose program behaves as the script says; `settings` are those of the workflow."""
        name = self.world.folder / f"{server}.json"
        name.write_text(json.dumps({"tools": [tool("read"), tool("write")], **script}), encoding="utf-8")
        log = self.world.folder / f"{server}.log"
        entry = {"id": server, "command": sys.executable, "args": [str(PROGRAM), str(name), str(log)]}
        self.servers.append({**entry, **(settings or {})})
        return self.servers[-1]

    def text(self, **more: Any) -> str:
        return write_yaml({**more, "tools": {"mcp": self.servers, **more.get("tools", {})}})

    def run(self, *calls: tuple[str, dict[str, Any]], more: dict[str, Any] | None = None, **choices: Any) -> Ran:
        """Run a chain of one step whose agent makes the calls, one in each turn."""
        self.world.turns = [*(Turn(calls=[call]) for call in calls), Turn("done")]
        return self.world.run(self.text(**(more or {})), **{"yes": True, **choices})

    def log(self, server: str = "docs") -> list[dict[str, Any]]:
        """Return what the program has written down."""
        file = self.world.folder / f"{server}.log"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def started(self, server: str = "docs") -> list[dict[str, Any]]:
        return [line for line in self.log(server) if "started" in line]

    def called(self, server: str = "docs") -> list[tuple[str, Any]]:
        return [(line["called"], line["arguments"]) for line in self.log(server) if "called" in line]

    def results(self) -> list[str]:
        """Return what the model got from its calls, in order."""
        messages = self.world.requests[-1]["messages"]
        return [str(message["content"]) for message in messages if message["role"] == "tool"]

    def alive(self) -> list[int]:
        """Return which of all processes that servers were, or have started, still live."""
        pids = {line.get("child", line["pid"]) for server in self.servers for line in self.log(server["id"])}
        return [pid for pid in pids if lives(pid)]


def lives(pid: int) -> bool:
    """Return whether a process is there and no corpse."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture
def site(world: World, monkeypatch: pytest.MonkeyPatch) -> Site:
    # A program that does not end by itself holds up no test.
    monkeypatch.setattr(mcp_process, "END_S", 0.4)
    monkeypatch.setattr(mcp_process, "TERM_S", 0.2)
    return Site(world)
