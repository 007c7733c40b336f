from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from strands_cli.engine.effects.effect import NeedsDecision
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.events import RunFinished, RunStarted, StepFinished
from tests.engine.killed import MODELS, MOMENTS, TOOLS, run_in
from tests.fakes.ports import nothing

pytestmark = [pytest.mark.kills, pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")]

ALL_MADE = Counter([*MODELS, "steps.1", "add 1", "add 2", "add 3", "yes"])
MADE_BY = dict(zip(TOOLS, ("add 1", "add 2", "add 3", "yes"), strict=True))
EACH_MOMENT = pytest.mark.parametrize("number", range(len(MOMENTS)), ids=[" ".join(moment) for moment in MOMENTS])


@pytest.fixture(scope="module")
def graveyard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with one run for each moment, each left by a process that was killed then."""
    directory = tmp_path_factory.mktemp("killed")
    subprocess.run([sys.executable, "-m", "tests.engine.killed", str(directory)], check=True)
    return directory


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of an uninterrupted run."""
    directory = tmp_path_factory.mktemp("whole")
    journal = SqliteJournal.create(directory / "run")
    run_in(directory, journal, nothing, True)
    journal.close()
    return directory


def made_in(directory: Path) -> Counter[str]:
    file = directory / "made"
    return Counter(file.read_text().splitlines() if file.exists() else [])


def answers_in(directory: Path) -> list[tuple[str, object]]:
    """Return what a run's record holds of every effect, but not when and at which attempt."""
    journal = SqliteJournal.open(directory / "run", hold=False)
    rows = [(row.key, row.status, row.usage, row.output) for row in journal.rows() if row.kind != "artifacts"]
    journal.close()
    return [(key, rest) for key, *rest in rows]


def test_an_uninterrupted_run_makes_every_call_once(whole: Path) -> None:
    assert made_in(whole) == ALL_MADE


@EACH_MOMENT
def test_a_killed_run_goes_on_and_equals_an_uninterrupted_one(number: int, graveyard: Path, whole: Path) -> None:
    directory = graveyard / f"{number}-True"
    moment, key = MOMENTS[number]
    journal = SqliteJournal.open(directory / "run")
    done = [row for row in journal.rows() if row.status == "done"]
    result, events = run_in(directory, journal, nothing, True)
    assert [journal.row(row.key) for row in done] == done, "what was done stays as it was"
    assert journal.get("status") == "completed"
    journal.close()

    assert answers_in(directory) == answers_in(whole)
    assert (directory / "out" / "a").read_text() == (whole / "out" / "a").read_text()
    assert [path.name for path in (directory / "out").iterdir()] == ["a"], "no partial file is left"
    # Only the call that was under way may be made twice.
    again = Counter([MADE_BY.get(key, key)]) if moment.startswith("inside") and key != "artifacts" else Counter()
    assert made_in(directory) == ALL_MADE + again
    assert (result.model_calls, result.tool_calls) == (len(MODELS), len(TOOLS))
    started, ended = events[0], events[-1]
    assert isinstance(started, RunStarted)
    assert isinstance(ended, RunFinished)
    assert ended.status == "completed"
    replayed = {event.key for event in events if isinstance(event, StepFinished) and event.replayed}
    assert replayed == {row.key for row in done if "/" not in row.key}


@EACH_MOMENT
def test_a_call_that_must_not_happen_twice_is_not_made_again_without_a_question(number: int, graveyard: Path) -> None:
    directory = graveyard / f"{number}-False"
    moment, key = MOMENTS[number]
    journal = SqliteJournal.open(directory / "run")
    if moment == "inside tool":
        with pytest.raises(NeedsDecision, match=key):
            run_in(directory, journal, nothing, False)
        assert journal.get("status") == "needs-decision"
    else:
        run_in(directory, journal, nothing, False)
    journal.close()
    assert all(made_in(directory)[line] <= 1 for line in MADE_BY.values())
