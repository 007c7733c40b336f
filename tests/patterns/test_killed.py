from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from strands_cli.engine.journal.journal_rows import Row, RowKind
from tests.fakes.model_server import ModelServer, Turn
from tests.patterns.flows import PATTERNS, model
from tests.patterns.killed import Moment, Undertaker
from tests.patterns.kit import People, install_counting_tool, journal_in, marks_in, plan_in, run_in

pytestmark = [pytest.mark.kills, pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")]


@pytest.fixture(scope="module")
def undertaker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Undertaker]:
    site = tmp_path_factory.mktemp("undertaker")
    install_counting_tool(site)
    with Undertaker(site) as process:
        yield process


class Deadly:
    """A model whose server kills the asking process instead of answering request number `deadly`, counted from 1."""

    def __init__(self) -> None:
        self.server: ModelServer
        self.deadly = 0
        self._model = model()

    def __call__(self, request: dict[str, Any]) -> Turn:
        self.deadly -= 1
        if self.deadly == 0:
            os.kill(int(self.server.requests[-1].headers["authorization"].split()[-1]), signal.SIGKILL)
        return self._model(request)


def rows_in(directory: Path, kind: RowKind | None = None) -> list[Row]:
    """Return what the record of a run holds."""
    if not (directory / "run").exists():
        return []
    journal = journal_in(directory)
    rows = list(journal.rows(kind))
    journal.close()
    return rows


def done_in(directory: Path, kind: RowKind) -> int:
    """Return how many effects of a kind the record of a killed run holds as done."""
    return sum(row.status == "done" for row in rows_in(directory, kind))


def steps_in(directory: Path) -> dict[str, tuple[str, str]]:
    """Return what became of each step, whatever the directory of its run."""
    return {row.key: (row.status, str(row.output).replace(str(directory), ".")) for row in rows_in(directory, "step")}


def moments(writes: int, requests: int) -> list[Moment]:
    """Return when a run is killed: with each effect done and not yet recorded, inside each request, before people."""
    return [
        *(("before", number) for number in range(1, writes + 1)),
        ("after", writes),
        *(("request", number) for number in range(1, requests + 1)),
        ("thinking", 1),
        ("before waiting", 1),
        ("after waiting", 1),
    ]


@pytest.mark.parametrize("name", PATTERNS)
def test_a_run_killed_at_any_moment_goes_on_and_repeats_no_finished_call(
    name: str, tmp_path: Path, undertaker: Undertaker
) -> None:
    """Requests are counted by the model's server, effects of the tool by the tool itself."""
    flow, deadly = PATTERNS[name], Deadly()
    with ModelServer(deadly) as server:
        deadly.server = server
        whole = tmp_path / "whole"
        writes = undertaker.whole(whole, name, server.url)
        requests, steps = len(server.model_requests), steps_in(whole)
        assert marks_in(whole) == flow.marks
        for moment in moments(writes, requests):
            directory = tmp_path / f"{moment[0]} {moment[1]}".replace(" ", "-")
            deadly.deadly = moment[1] if moment[0] == "request" else 0
            undertaker.bury(directory, name, server.url, moment)
            known, acted = done_in(directory, "model"), done_in(directory, "tool")
            before, marked = len(server.model_requests), marks_in(directory)
            result = run_in(directory, plan_in(directory, flow.pattern, server.url), People(flow.answers))
            assert result.response == flow.response, moment
            assert steps_in(directory) == steps, moment
            assert len(server.model_requests) - before == requests - known, moment
            assert (marks_in(directory) - marked).total() == sum(flow.marks.values()) - acted, moment
            assert not Counter(flow.marks) - marks_in(directory), moment
            assert result.model_calls == requests, "the calls of both processes are counted"
