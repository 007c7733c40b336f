"""The notes file and a process that is killed between a note and its row."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.kills, pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")]

# Leaves one note as a step does, and dies before or after one of its two writes: that it begins, that it is done.
LEAVER = """
import asyncio, os, signal, sys
from pathlib import Path
from types import SimpleNamespace
from strands_cli.agents.compaction import Context
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.standalone import StandaloneRun
from strands_cli.outputs.notes import NotesFile
from strands_cli.secrets.redactor import HIDE_NOTHING

directory, form, deadly = Path(sys.argv[1]), sys.argv[2], sys.argv[3]


class Deadly:
    def __init__(self, journal):
        self.journal, self.writes = journal, 0

    def __getattr__(self, name):
        return getattr(self.journal, name)

    async def write(self, row):
        self.writes += 1
        self.reach("before")
        await self.journal.write(row)
        self.reach("after")

    def reach(self, when):
        if deadly == f"{when} {self.writes}":
            os.kill(os.getpid(), signal.SIGKILL)


async def leave():
    run = StandaloneRun()
    place = directory / "run"
    journal = SqliteJournal.open(place) if place.exists() else SqliteJournal.create(place)
    run.journal = Deadly(journal)
    context = Context(notes=NotesFile(directory / "notes", form))
    await context.leave_note(SimpleNamespace(id="one"), "what it said", run.scope(), HIDE_NOTHING)
    print([row.status for row in journal.rows()])
    journal.close()


asyncio.run(leave())
"""


def leave(directory: Path, form: str, deadly: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", LEAVER, str(directory), form, deadly]
    return subprocess.run(command, check=False, capture_output=True, text=True)


@pytest.mark.parametrize("form", ["markdown", "json"])
@pytest.mark.parametrize("deadly", ["before 1", "after 1", "before 2", "after 2"])
def test_a_killed_process_neither_loses_a_note_nor_leaves_it_twice(form: str, deadly: str, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("by hand\n")
    assert leave(tmp_path, form, deadly).returncode == -signal.SIGKILL
    killed = (tmp_path / "notes").read_text()
    assert killed.count("what it said") == (1 if deadly.endswith("2") else 0)
    ran = leave(tmp_path, form, "never")
    assert (ran.returncode, ran.stdout) == (0, "['done']\n"), ran.stderr
    written = (tmp_path / "notes").read_text()
    assert written.startswith("by hand\n" + killed.removeprefix("by hand\n"))
    assert written.count("what it said") == 1
    if form == "json":
        assert json.loads(written.splitlines()[-1])["text"] == "what it said"
