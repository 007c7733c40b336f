"""`sessions`: the earlier words for the commands about stored runs."""

from __future__ import annotations

import time

from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from tests.cli.strands import Folder

GATE = {"type": "hitl", "prompt": "Go on?"}


def test_the_earlier_words_do_what_the_present_ones_do(folder: Folder) -> None:
    folder.workflow([GATE])
    folder.strands("run", "flow.yaml")
    listed = folder.strands("sessions", "list", "--status", "waiting", "--json").document
    assert listed == folder.strands("runs", "list", "--status", "waiting", "--json").document
    (run,) = listed["runs"]
    assert folder.strands("sessions", "show", run["id"]).out == folder.strands("runs", "show", run["id"]).out
    assert folder.strands("sessions", "resume", run["id"]).code == 19
    assert "Go on?" in folder.strands("sessions", "resume", "last").err
    assert folder.strands("sessions", "diff", run["id"], run["id"]).code == 2


def test_cleanup_is_prune(folder: Folder) -> None:
    folder.workflow([GATE])
    folder.strands("run", "flow.yaml")
    (run,) = (path for path in folder.runs.iterdir() if path.is_dir())
    journal = SqliteJournal.open(run)
    journal.put(status="waiting", started_at=time.time() - 40 * 86400)
    journal.close()
    assert folder.strands("sessions", "cleanup", "--older-than", "5d", "--status", "waiting").code == 0
    assert not run.exists()


def test_the_help_names_the_words_and_each_has_the_help_of_its_command(folder: Folder) -> None:
    shown = folder.strands("sessions", "--help")
    assert shown.code == 0
    assert {"list", "show", "cancel", "delete", "prune", "cleanup", "resume"} <= {*shown.out.split()}
    assert "--older-than" in folder.strands("sessions", "cleanup", "--help").out
