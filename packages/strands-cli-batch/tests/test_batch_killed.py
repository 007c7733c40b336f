"""A batch that is killed between any two of its writes ends as one that is not, and repeats nothing that was finished.

With `KILLED_BATCHES=all`, `python3 dev.py pytest -n 2 -m kills packages/strands-cli-batch` kills it at every boundary.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from batch_kit import OUT, STEPS, Rows

from strands_cli.engine.journal.journal_rows import whole_of
from strands_cli.engine.stored_runs.folder_store import FolderStore
from strands_cli.errors import RunRecordError
from tests.cli.strands import Ran, empty_folder
from tests.patterns.every_effect import install_tools

if sys.platform == "win32":
    pytest.skip("signals as POSIX has them", allow_module_level=True)

HERE = str(Path(__file__).parent)
pytestmark = pytest.mark.kills

HOW_MANY = os.environ.get("KILLED_BATCHES", "14")
TOPICS = ("bees", "ants", "bees", "moths")
SEVERAL = [
    *STEPS,
    {"tool": "native:act", "input": {"id": "{{ topic }}"}},
    {"agent": "writer", "input": "About second {{ topic }}."},
]
COMMAND = ("--concurrency", "2", "--yes")
# What differs from run to run.
OF_THE_MOMENT = ("seconds", "attempt")


class Whole(NamedTuple):
    """A batch that nothing disturbs: its results, and how many boundaries its process has."""

    lines: list[dict[str, Any]]
    boundaries: int


@contextlib.contextmanager
def made(place: Path) -> Iterator[Rows]:
    """Make a folder with a workflow whose tool must not be repeated."""
    place.mkdir()
    with empty_folder(place) as folder:
        rows = Rows(folder)
        install_tools(folder.site)
        with rows.server:
            rows.flow(SEVERAL)
            rows.csv(*TOPICS)
            yield rows


def run(rows: Rows, *words: str, **env: str) -> Ran:
    """Run a command about the batch in a process that dies where it is asked to."""
    model = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": rows.server.url}
    path = os.pathsep.join(filter(None, (str(rows.folder.site), HERE, os.environ.get("PYTHONPATH"))))
    first = {"STRANDS_TEST_FIRST": "batch_boundaries", "PYTHONPATH": path}
    return rows.folder.strands("batch", *words, **model, **first, **env)


def begun(rows: Rows, **env: str) -> Ran:
    return run(rows, "flow.yaml", "rows.csv", "-o", OUT, *COMMAND, **env)


def lines_of(rows: Rows) -> list[dict[str, Any]]:
    """Return the results without what differs from run to run."""
    return [{name: value for name, value in line.items() if name not in OF_THE_MOMENT} for line in rows.lines()]


def acted(rows: Rows) -> Counter[str]:
    """Return how often the tool began, by its row."""
    log = rows.folder.work / "calls.log"
    return (
        Counter(line.split()[2] for line in log.read_text().splitlines() if line.startswith("begin"))
        if (log.exists())
        else Counter()
    )


def finished(rows: Rows) -> tuple[set[str], set[str]]:
    """Return what the journals say is done: what models were asked about, and rows whose tool has acted."""
    store, asked, tools = FolderStore(rows.folder.runs), set[str](), set[str]()
    for directory in rows.folder.runs.glob("*.*") if rows.folder.runs.exists() else ():
        with contextlib.suppress(RunRecordError), contextlib.closing(store.open(directory.name, hold=False)) as journal:
            if whole_of(directory.name) is None or not (topic := (journal.get("inputs") or {}).get("topic")):
                continue
            done = {(row.kind, row.key.split("/")[0]) for row in journal.rows() if row.status == "done"}
            asked |= {topic} if ("model", "steps.0") in done else set()
            asked |= {f"second {topic}"} if ("model", "steps.2") in done else set()
            tools |= {topic} if ("tool", "steps.1") in done else set()
    return asked, tools


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    place = tmp_path_factory.mktemp("whole")
    with made(place / "batch") as rows:
        counted = place / "counted"
        ran = begun(rows, STRANDS_TEST_COUNTED=str(counted))
        assert ran.code == 0, ran.err
        assert set(rows.asked.values()) == {1}
        assert acted(rows) == dict.fromkeys(TOPICS, 1)
        assert finished(rows) == (set(rows.asked), set(TOPICS))
        return Whole(lines_of(rows), int(counted.read_text()))


def moments(total: int) -> list[int]:
    """Return the boundaries at which a process dies: all, or so many that are evenly apart."""
    if HOW_MANY == "all":
        return list(range(1, total + 1))
    return [total * (2 * number + 1) // (2 * int(HOW_MANY)) for number in range(int(HOW_MANY))]


def test_a_batch_that_dies_at_any_boundary_ends_as_one_that_does_not(whole: Whole, tmp_path: Path) -> None:
    for moment in moments(whole.boundaries):
        with made(tmp_path / str(moment)) as rows:
            killed = begun(rows, STRANDS_TEST_BOUNDARY=str(moment))
            assert killed.code in (-signal.SIGKILL, 0), killed.err
            before, (asked, tools) = Counter(rows.model.asked), finished(rows)
            redone = to_its_end(rows, by_name=moment % 2 == 0)
            assert lines_of(rows) == whole.lines, moment
            assert {text for text in asked if rows.model.asked[text] > before[text]} == set(), moment
            repeated = sum(rows.model.asked.values()) - len(rows.model.asked)
            assert repeated <= 2, "at most the calls that were being made"
            assert set(acted(rows)) == set(TOPICS)
            assert {row for row in tools if acted(rows)[row] > 1} == set(), moment
            assert sum(acted(rows).values()) - len(acted(rows)) <= len(redone)


def to_its_end(rows: Rows, *, by_name: bool) -> list[str]:
    """Continue a batch until it is complete; return the calls that a person had repeated."""
    redone: list[str] = []
    for _ in range(10):
        ran = begun(rows) if by_name or not any(rows.folder.runs.glob("flow-*")) else run(rows, "resume", "last")
        if ran.code == 17:  # it died before it had its rows
            ran = begun(rows)
        if ran.code == 0:
            return redone
        assert ran.code == 19, ran.err
        status = run(rows, "status", "flow").out
        for run_id, key in re.findall(r"strands resume (\S+) --redo '?([^\s']+)", status):
            redone.append(f"{run_id} {key}")
            model = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": rows.server.url}
            assert rows.folder.strands("resume", run_id, "--redo", key, **model).code == 0
    raise AssertionError("it does not end")
