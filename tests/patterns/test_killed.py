from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer
from tests.patterns.flows import PATTERNS, model
from tests.patterns.killed import Watched, moments
from tests.patterns.kit import People, journal_in, marks_in, plan_in, run_in

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")


def done_in(directory: Path, kind: str) -> int:
    """Return how many effects of a kind the record of a killed run holds as done."""
    if not (directory / "run").exists():
        return 0
    journal = journal_in(directory)
    done = sum(row.status == "done" for row in journal.rows(kind))  # type: ignore[arg-type]
    journal.close()
    return done


def writes_of(directory: Path, name: str, url: str) -> int:
    """Run a workflow to its end and return how often it writes to its journal."""
    watched: list[Watched] = []

    def watch(journal: object) -> Watched:
        watched.append(Watched(journal))  # type: ignore[arg-type]
        return watched[0]

    pattern, answers, _ = PATTERNS[name]
    run_in(directory, plan_in(directory, pattern, url), People(answers), wrap=watch)  # type: ignore[arg-type]
    return watched[0].writes


@pytest.mark.parametrize("name", ["chain", "workflow", "parallel", "graph"])
def test_a_run_killed_at_any_write_goes_on_and_repeats_no_finished_call(name: str, tmp_path: Path) -> None:
    """Requests are counted by the model's server, effects of the tool by the tool itself."""
    pattern, answers, response = PATTERNS[name]
    with ModelServer(model(tmp_path)) as server:
        whole = tmp_path / "whole"
        whole.mkdir()
        writes = writes_of(whole, name, server.url)
        requests, marks = len(server.model_requests), marks_in(whole).total()
        graves = tmp_path / "graves"
        command = [sys.executable, "-m", "tests.patterns.killed", graves, sys.path[0], name, server.url, writes]
        subprocess.run([str(part) for part in command], check=True, env={**os.environ, "OPENAI_API_KEY": "any"})
        for number, when in moments(writes):
            directory = graves / f"{number}-{when}"
            known, acted = done_in(directory, "model"), done_in(directory, "tool")
            before, marked = len(server.model_requests), marks_in(directory).total()
            result = run_in(directory, plan_in(directory, pattern, server.url), People(answers))
            assert result.response == response, (number, when)
            assert len(server.model_requests) - before == requests - known, (number, when)
            assert marks_in(directory).total() - marked == marks - acted, (number, when)
            assert result.model_calls == requests, "the calls of both processes are counted"
