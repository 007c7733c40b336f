"""Runs that an older version stored: this one lists, shows and continues them as that one did.

`tests/journals_before/make.py` made the runs with the older program and wrote down how that continued them.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.strands import Folder
from tests.journals_before.cases import FIXTURES, NEW, OLD_ROOT, SECRET, effects_of, lasting, rows_of, shown_by_key

ANSWERS = json.loads((FIXTURES / "answers.json").read_text(encoding="utf-8"))
RUNS: dict[str, Any] = ANSWERS["runs"]
CONTINUED = [
    pytest.param(name, answer, id=f"{name}: {' '.join(answer['words'])}")
    for name, run in RUNS.items()
    for answer in run["continued"]
]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the journals have paths of POSIX")


def known_of(now: Any, before: Any) -> Any:
    """Return a document without the keys, and the names of keys, that its older form does not have; it may get more."""
    if isinstance(now, dict) and isinstance(before, dict):
        return {name: known_of(value, before[name]) for name, value in now.items() if name in before}
    if isinstance(now, list) and isinstance(before, list) and all(isinstance(one, str) for one in now):
        return [one for one in now if one in before]
    if isinstance(now, list) and isinstance(before, list) and len(now) == len(before):
        return [known_of(*both) for both in zip(now, before, strict=True)]
    return now


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    """Return a copy of the workflows and the tools, without the runs."""
    copied = Folder(tmp_path, {"MY_TOKEN": SECRET})
    for name in ("work", "site"):
        shutil.copytree(FIXTURES / name, tmp_path / name)
    yield copied
    copied.end_started()


def unpack(folder: Folder, *names: str) -> None:
    """Put copies of runs into the folder; the paths in their journals become paths of this folder."""
    with zipfile.ZipFile(FIXTURES / "runs.zip") as archive:
        wanted = [f"runs/{RUNS[name]['id']}/" for name in names]
        archive.extractall(folder.root, [one for one in archive.namelist() if one.startswith(tuple(wanted))])
    columns = (("facts", "value"), ("effects", "output"), ("effects", "detail"))
    for name in names:
        with closing(sqlite3.connect(folder.runs / RUNS[name]["id"] / "journal.sqlite")) as database, database:
            for table, column in columns:
                change = f"UPDATE {table} SET {column} = replace({column}, ?, ?)"
                database.execute(change, (OLD_ROOT, str(folder.root)))


def test_the_runs_are_listed_and_shown_as_before(folder: Folder) -> None:
    unpack(folder, *RUNS)
    names = {str(folder.root): OLD_ROOT}
    listed = lasting(folder.strands("runs", "list", "--json").document, names)
    assert known_of(listed, ANSWERS["listed"]) == ANSWERS["listed"]
    for run in RUNS.values():
        shown = folder.strands("runs", "show", run["id"], "--json").document
        assert known_of(lasting(shown_by_key(shown), names), run["shown"]) == run["shown"]


@pytest.mark.parametrize(("name", "answer"), CONTINUED)
def test_a_run_goes_on_as_before(folder: Folder, name: str, answer: dict[str, Any]) -> None:
    unpack(folder, name)
    run = RUNS[name]["id"]
    finished, noted = rows_of(folder.runs / run), len(made(folder))
    folder.write("go", "")
    ran = folder.strands(*(run if word == "RUN" else word for word in answer["words"]), "--json")
    assert ran.code == answer["code"], ran.err
    now = ran.document["run"] if ran.out else run
    names = {str(folder.root): OLD_ROOT, **({now: NEW} if now != run else {})}
    result = lasting(ran.document if ran.out else None, names)
    assert known_of(result, answer["result"]) == answer["result"]
    effects = lasting(effects_of(folder.runs / now), names)
    assert known_of(effects, answer["effects"]) == answer["effects"]
    assert made(folder)[noted:] == answer["made"], "what tools have really done"
    assert finished.items() <= rows_of(folder.runs / run).items(), "what was finished is not done or written again"


def made(folder: Folder) -> list[str]:
    return (folder.work / "made").read_text(encoding="utf-8").splitlines()


def test_secrets_are_not_in_the_journals() -> None:
    with zipfile.ZipFile(FIXTURES / "runs.zip") as archive:
        assert not [name for name in archive.namelist() if SECRET.encode() in archive.read(name)]


def test_the_lock_still_counts(folder: Folder) -> None:
    checked = folder.strands("lock", "--check")
    assert (checked.code, checked.codes) == (0, []), checked.err
    with (folder.site / "strands_tool_before" / "send.py").open("a") as stream:
        stream.write("# changed\n")
    assert folder.strands("lock", "--check").code == 21
    refused = folder.strands("plan", "--locked", "cut.yaml")
    assert (refused.code, refused.codes) == (21, ["lock-changed"])


def test_the_recording_still_plays(folder: Folder) -> None:
    flow = (folder.work / "graph.yaml").read_text(encoding="utf-8")
    folder.write("graph.yaml", flow.replace("graph.recording.yaml", "recorded.yaml"))
    ran = folder.strands("run", "graph.yaml")
    assert (ran.code, ran.out) == (0, "2: Rain writes on the window.\n"), ran.err
    again = folder.strands("run", "graph.yaml", "--record", "again.yaml")
    assert again.code == 0
    assert (folder.work / "again.yaml").read_text() == (folder.work / "recorded.yaml").read_text()
