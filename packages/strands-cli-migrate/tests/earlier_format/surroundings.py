"""What a case has around it besides a model: variables, an HTTP service, an MCP program, a collector of traces."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from tests.fakes import mcp_program
from tests.fakes.collector import Collector, collecting
from tests.fakes.http_service import Asked, HttpService

_USUAL_HEADERS = {"host", "user-agent", "accept", "accept-encoding", "connection", "content-length", "content-type"}
_LOG = "mcp.log"


@dataclass(frozen=True)
class Surroundings:
    """The servers of a case, and what they have seen."""

    service: HttpService | None
    collector: Collector | None

    def filled(self, text: str) -> str:
        """Return a text of the case with the addresses and programs that its capital words mean."""
        words = {"PYTHON": sys.executable, "PROGRAM": str(Path(mcp_program.__file__)), "LOG": _LOG}
        words["SERVICE"] = self.service.url if self.service else "SERVICE"
        words["COLLECTOR"] = self.collector.endpoint if self.collector else "COLLECTOR"
        for word, value in words.items():
            text = text.replace(f"<{word}>", value)
        return text

    def emptied(self, text: str) -> str:
        """Return a text that a model got as a case has it."""
        return text.replace(self.service.url, "<SERVICE>") if self.service else text

    def seen(self, case: Mapping[str, Any], folder: Path) -> dict[str, list[Any]]:
        """Return what was asked of the service, what the MCP program noted, and the names of the spans."""
        asked = self.service.asked if self.service else ()
        spans = self.collector.spans if self.collector else ()
        traces = sorted({f"{span.service}: {span.name}" for span in spans})
        return {"receives": [_request(one) for one in asked], "starts": _starts(case, folder), "traces": traces}


@contextlib.contextmanager
def around(case: Mapping[str, Any]) -> Iterator[Surroundings]:
    """Start what the workflow of a case names."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, case.get("env", {})))
        answers = case.get("service", {})
        service = stack.enter_context(HttpService(answers)) if "<SERVICE>" in case["workflow"] else None
        collector = stack.enter_context(collecting()) if "<COLLECTOR>" in case["workflow"] else None
        yield Surroundings(service, collector)


def _request(asked: Asked) -> str:
    headers = [f"{name}: {value}" for name, value in sorted(asked.headers.items()) if name not in _USUAL_HEADERS]
    return " | ".join([f"{asked.method} {asked.path}", *headers, *filter(None, [asked.body.decode()])])


def _starts(case: Mapping[str, Any], folder: Path) -> list[Any]:
    """Return the variables that the case asks about, of each start, and the calls."""
    log = folder / case.get("place", "") / _LOG
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
    names = case.get("variables", ())
    return [
        {name: line["started"].get(name) for name in names} if "started" in line else line["called"] for line in lines
    ]
