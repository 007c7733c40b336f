"""Runs of every pattern, with every kind of effect, that are killed at random moments of their commands.

`KILLED_RUNS=840 python3 dev.py pytest -n 2 -m kills tests/patterns/test_killed_at_random.py` plays more of them.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.strands import Folder
from tests.fakes.model_server import ModelServer
from tests.patterns.every_effect import CONFIGS, Playing, install_tools, write_workflow
from tests.patterns.random_kills import OPTIONS, KilledRun, Whole

pytestmark = [pytest.mark.kills, pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")]
RUNS = range(int(os.environ.get("KILLED_RUNS", "14")))
KINDS = [(pattern, options) for options in OPTIONS for pattern in CONFIGS]


class Stage(NamedTuple):
    """Where all runs of this process play; the runs without kills are played once."""

    root: Path
    model: Playing
    server: ModelServer

    def run(self, tag: str, pattern: str, options: str, whole: Whole | None = None) -> KilledRun:
        folder = Folder(self.root / tag, {"HOME": str(self.root), "OPENAI_API_KEY": "any"})
        folder.work.mkdir(parents=True)
        install_tools(folder.site)
        write_workflow(folder.work, pattern, self.server.url, tag)
        return KilledRun(folder, self.model, tag, options, whole)

    @functools.cache  # noqa: B019 - one stage for each process
    def whole(self, pattern: str, options: str) -> Whole:
        return self.run(f"{pattern}-{options}", pattern, options).play()


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    root, model = tmp_path_factory.mktemp("stage"), Playing()
    policy = root / ".config" / "strands-cli" / "policy.yaml"
    policy.parent.mkdir(parents=True)
    policy.write_text('version: 1\nrules: [{allow: "workflow:*"}]\n')
    with ModelServer(model, chunk_chars=40) as server:
        stage = Stage(root, model, server)
        # The first command of a process takes far longer than others, by which the moments are chosen.
        stage.run("first", *KINDS[0]).play()
        yield stage


@pytest.mark.parametrize("number", RUNS)
def test_a_run_killed_at_random_ends_as_one_that_is_not_and_repeats_nothing_finished(number: int, stage: Stage) -> None:
    pattern, options = KINDS[number % len(KINDS)]
    whole = stage.whole(pattern, options)
    run = stage.run(f"run-{number}", pattern, options, whole)
    run.play()
    run.require_as(whole)
