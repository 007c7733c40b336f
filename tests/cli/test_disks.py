"""Runs on a disk that is full or may not be written: reported clearly, nothing lost, nothing done twice."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from tests.cli.strands import STRANDS, Folder, Ran
from tests.fakes.model_server import ModelServer, Turn
from tests.wordings import Wording

pytestmark = [pytest.mark.hostile, pytest.mark.skipif(sys.platform == "win32", reason="POSIX limits and mounts")]
LIVE = {"provider": "openai", "model_id": "m"}
GATE = {"type": "hitl", "prompt": "Publish?"}
STEPS = [{"agent": "writer", "input": "One."}, GATE, {"agent": "writer", "input": "Two."}]
LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
os.execv(sys.argv[2], sys.argv[2:])
"""


def live(server: ModelServer) -> dict[str, str]:
    return {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": server.url}


def waiting_run(folder: Folder, server: ModelServer) -> Path:
    """Leave a run whose first step is done and whose gate waits; return the directory of its record."""
    folder.workflow(STEPS, runtime=LIVE)
    assert folder.strands("run", "flow.yaml", "--detach", **live(server)).code == 19
    (directory,) = folder.runs.iterdir()
    return directory


def on_a_full_disk(folder: Folder, size: int, *arguments: str, **env: str) -> Ran:
    """Run a command that can make no file larger than so many bytes: what it writes beyond them fails."""
    return folder.run([sys.executable, "-c", LIMITED, str(size), STRANDS, *arguments], **env)


def read_only(folder: Folder, place: Path, *arguments: str, **env: str) -> Ran:
    """Run a command to which a directory is mounted read-only, which binds root too."""
    where = shlex.quote(str(place))
    mount = f"mount --bind {where} {where} && mount -o remount,bind,ro {where}"
    if subprocess.run(["unshare", "-m", "sh", "-c", mount], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount")
    command = f'{mount} && exec "$@"'
    return folder.run(["unshare", "-m", "sh", "-c", command, "sh", STRANDS, *arguments], **env)


def approve_and_end(folder: Folder, directory: Path, server: ModelServer) -> None:
    """Go on with the run on a sound disk: it ends as if nothing had been, each request made once."""
    ran = folder.strands("approve", directory.name, **live(server))
    assert (ran.code, ran.out) == (0, "Two done.\n"), ran.err
    assert len(server.model_requests) == 2


def test_a_run_on_a_full_disk_stops_and_goes_on_when_there_is_space(folder: Folder, wording: Wording) -> None:
    with ModelServer([Turn("One done."), Turn("Two done.")]) as server:
        directory = waiting_run(folder, server)
        ran = on_a_full_disk(folder, 8192, "approve", directory.name, **live(server))
        assert (ran.code, ran.out) == (17, "")
        assert str(directory) in ran.err
        wording(re.findall(r"^  fix: .*", ran.err, re.MULTILINE))
        assert "Traceback" not in ran.err
        assert len(server.model_requests) == 1
        approve_and_end(folder, directory, server)


def test_an_answer_that_the_disk_cannot_take_ends_the_run_and_what_was_before_it_stays(
    folder: Folder, wording: Wording
) -> None:
    long = "x" * 300_000
    with ModelServer([Turn("One done."), Turn(long), Turn("Two done.")]) as server:
        directory = waiting_run(folder, server)
        ran = on_a_full_disk(folder, 200_000, "approve", directory.name, **live(server))
        assert ran.code == 17
        assert str(directory) in ran.err
        wording(re.findall(r"^  fix: .*", ran.err, re.MULTILINE))
        assert len(server.model_requests) == 2
        again = folder.strands("resume", directory.name, **live(server))
        assert (again.code, again.out) == (0, "Two done.\n"), again.err
        assert len(server.model_requests) == 3, "only the call whose answer is lost"
        assert not list((directory / "outputs").glob("*.partial")), "a part of a file is left on the full disk"


def test_a_run_that_may_not_be_written_does_not_go_on_and_can_be_looked_at(folder: Folder, wording: Wording) -> None:
    with ModelServer([Turn("One done."), Turn("Two done.")]) as server:
        directory = waiting_run(folder, server)
        for verb in ("approve", "resume"):
            ran = read_only(folder, folder.runs, verb, directory.name, **live(server))
            assert (ran.code, ran.out) == (17, "")
            assert str(directory) in ran.err
            wording(re.findall(r"^  fix: .*", ran.err, re.MULTILINE))
            assert "Traceback" not in ran.err
        assert len(server.model_requests) == 1
        shown = read_only(folder, folder.runs, "runs", "show", directory.name, "--json")
        assert shown.document["status"] == "waiting"
        approve_and_end(folder, directory, server)


def test_a_gate_that_is_answered_by_two_at_once_takes_one_answer(folder: Folder) -> None:
    with ModelServer([Turn("One done."), Turn("Two done.", delay_s=0.5)]) as server:
        directory = waiting_run(folder, server)
        both = [folder.start("approve", directory.name, "steps.1", **live(server)) for _ in range(2)]
        ended = sorted((started.end() for started in both), key=lambda ran: ran.code)
        assert ended[0].code == 0
        assert ended[1].code in (2, 17), "answered already, or held by the other"
        named = r"\bsteps\.1\b.*\bapproved$" if ended[1].code == 2 else re.escape(str(directory))
        assert re.search(rf"^error: .*{named}", ended[1].err, re.MULTILINE)
        assert len(server.model_requests) == 2
    journal = SqliteJournal.open(directory)
    gate = journal.row("steps.1")
    journal.close()
    assert gate is not None
    assert gate.status == "done"


NOTE = """
import sys
from pathlib import Path
from strands_cli.errors import ArtifactError
from strands_cli.outputs.notes import Note, NotesFile
try:
    NotesFile(Path("notes.md")).append(Note("two", 0.0, "writer", "steps.1", "x" * 10_000))
except ArtifactError as error:
    sys.exit(str(error))
"""


def test_a_note_that_does_not_fit_on_the_disk_is_an_error_and_no_part_of_it_stays(folder: Folder) -> None:
    notes = folder.write("notes.md", "by hand\n")
    command = [sys.executable, "-c", LIMITED, "4096", sys.executable, "-c", NOTE]
    ran = folder.run(command)
    assert (ran.code, "notes.md" in ran.err) == (1, True), ran
    assert notes.read_text() == "by hand\n"
