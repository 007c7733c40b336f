"""A run that belongs to others is continued by them: what a person decides is stored, and its owner is asked."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from strands_cli.engine.stored_runs.folder_store import FolderStore
from strands_cli.engine.stored_runs.run_owners import BELONGS_TO
from tests.cli.strands import Folder
from tests.distributions import make_distribution

GATE = [{"type": "hitl", "prompt": "Go on?"}, {"agent": "writer", "input": "ship"}]
TURNS = {"steps.1": [{"text": "shipped"}]}
POINTS = """\
[strands_cli.owners]
yours = strands_cli_yours:owner
[strands_cli.stores]
memory = strands_cli_yours:store
"""
# It writes into a file how it was called.
OWNER = """
import json, os
from strands_cli.api import RunRecordError

def note(*words):
    with open(os.environ["CALLED"], "a") as file:
        print(json.dumps(words), file=file)

class owner:
    def wait_again(journal, act):
        if os.environ.get("UNREACHABLE"):
            raise RunRecordError("nothing answers")
        act()
        note("wait_again", journal.run_id, journal.get("budgets"))
        journal.put(status="queued")
        journal.close()
        return "it waits for them"

    def leave(store, run_id):
        note("leave", run_id)

    def prepare(store):
        note("prepare", str(store.place))
        return ["theirs: made"] if store.place.scheme == "memory" else []

    def check(store):
        if os.environ.get("UNREACHABLE"):
            raise RunRecordError("nothing answers", fix="wait")
        return ["theirs: 3"]

class Opened:
    def __init__(self, place):
        self.place = place

    def close(self):
        note("close")

class store:
    check = migrate = lambda place, address: []

    def init(place, address):
        return ["memory: made"]

    def open(place, address):
        return Opened(place)
"""


def waiting(folder: Folder, owner: str) -> str:
    """Store a run that waits for a person and belongs to an owner; return its id."""
    folder.workflow(GATE, TURNS)
    assert folder.strands("run", "flow.yaml", "--detach").code == 19
    store = FolderStore(folder.runs)
    run_id = store.find("last")
    with contextlib.closing(store.open(run_id)) as journal:
        journal.put(**{BELONGS_TO: owner})
    return run_id


def status(folder: Folder) -> str:
    return str(folder.strands("runs", "list", "--json").document["runs"][0]["status"])


def answer(folder: Folder) -> str:
    store = FolderStore(folder.runs)
    with contextlib.closing(store.open(store.find("last"), hold=False)) as journal:
        return next(row.status for row in journal.rows() if row.key == "steps.0")


@pytest.fixture
def yours(folder: Folder, tmp_path: Path) -> Folder:
    """Return a folder in which an owner with the name `yours` is installed."""
    make_distribution(folder.site, "strands-cli-yours", "1.0", POINTS, {"strands_cli_yours.py": OWNER})
    folder.environ["CALLED"] = str(tmp_path / "called")
    return folder


def called(folder: Folder) -> list[list[object]]:
    file = Path(folder.environ["CALLED"])
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.mark.parametrize("command", ["approve", "reject", "resume"])
def test_a_run_of_an_owner_that_is_not_installed_stays_as_it_is(folder: Folder, command: str) -> None:
    waiting(folder, "theirs")
    refused = folder.strands(command, "last")
    assert (refused.code, status(folder), answer(folder)) == (18, "waiting", "waiting")
    assert ("theirs" in refused.err, "--here" in refused.err) == (True, True)


def test_it_continues_here_when_a_person_asks_for_it(folder: Folder) -> None:
    waiting(folder, "theirs")
    assert folder.strands("approve", "last", "--here").code == 0
    assert status(folder) == "completed"


def test_its_owner_continues_it_with_what_a_person_has_decided(yours: Folder) -> None:
    run_id = waiting(yours, "yours")
    ran = yours.strands("approve", "last", "--json")
    assert (ran.code, ran.document["run"], ran.document["status"]) == (0, run_id, "queued")
    assert (status(yours), answer(yours)) == ("queued", "done")
    assert yours.strands("resume", "last", "--budget", "max_tokens=900").code == 0
    assert called(yours) == [["wait_again", run_id, None], ["wait_again", run_id, {"max_tokens": 900}]]


def test_nothing_is_stored_where_its_owner_cannot_be_reached(yours: Folder) -> None:
    waiting(yours, "yours")
    refused = yours.strands("approve", "last", UNREACHABLE="1")
    assert (refused.code, status(yours), answer(yours)) == (17, "waiting", "waiting")


@pytest.mark.parametrize("words", [["--out", "x"], ["--policy", "p.yaml"], ["--spec", "flow.yaml"]])
def test_nothing_of_this_machine_is_given_to_it(yours: Folder, words: list[str]) -> None:
    waiting(yours, "yours")
    yours.write("p.yaml", "version: 1\n")
    refused = yours.strands("resume", "last", *words)
    assert (refused.code, words[0] in refused.err, called(yours)) == (2, True, [])


def test_a_run_that_is_cancelled_leaves_its_owner(yours: Folder) -> None:
    run_id = waiting(yours, "yours")
    assert yours.strands("runs", "cancel", "last").code == 0
    assert (called(yours), status(yours)) == ([["leave", run_id]], "cancelled")


def test_a_run_of_an_absent_owner_can_be_cancelled(folder: Folder) -> None:
    waiting(folder, "theirs")
    assert folder.strands("runs", "cancel", "last").code == 0
    assert status(folder) == "cancelled"


def test_a_completed_run_is_looked_at_as_any_other(folder: Folder) -> None:
    waiting(folder, "theirs")
    folder.strands("approve", "last", "--here")
    assert folder.strands("resume", "last").code == 0


def test_owners_make_and_report_what_they_have_in_a_store(yours: Folder) -> None:
    store = ("--store", "memory://ann:secret-1@host/runs")
    made = yours.strands("runs", "store", "init", *store)
    assert (made.code, made.out) == (0, "memory: made\ntheirs: made\n")
    assert called(yours) == [["prepare", "memory://ann@host/runs"], ["close"]]
    assert yours.strands("runs", "store", "check", *store).out == "theirs: 3\n"
    without = yours.strands("runs", "store", "check", *store, UNREACHABLE="1")
    assert (without.code, without.out) == (0, "yours: none (wait)\n")
