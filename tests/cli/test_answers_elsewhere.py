"""Answers to a question for whose default the process of its run waits, given by another process."""

from __future__ import annotations

import json

import pytest

from strands_cli.config import account_name
from strands_cli.engine.journal.journal_rows import Answer
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.waiting.questions import chosen_question, offer_answer
from tests.cli.strands import Folder, Started

# Longer than any command here takes, and as long as a run may stay.
STAYS = {"type": "hitl", "prompt": "Which?", "timeout_seconds": 30, "default": "bug"}


def waiting(folder: Folder, **gate: object) -> Started:
    """Start a run that waits for a default."""
    folder.workflow([{**STAYS, **gate}])
    run = folder.start("run", "flow.yaml")
    run.wait_for("waits 30 s")
    return run


@pytest.mark.parametrize("key", [[], ["steps.0"]])
def test_an_answer_from_elsewhere_is_used_before_the_default(folder: Folder, key: list[str]) -> None:
    run = waiting(folder)
    shown = folder.strands("runs", "show", "last")
    assert "strands approve" in shown.out
    given = folder.strands("approve", "last", *key, "--answer", "feature", "--json")
    assert given.code == 0, given.err
    assert given.document["status"] == "running"
    assert "steps.0: feature" in given.err
    ended = run.end()
    assert (ended.code, ended.out) == (0, "feature\n")
    late = folder.strands("approve", "last", "steps.0", "--answer", "bug")
    assert late.code == 2
    assert f"answered by {account_name()}: feature" in late.err


def test_a_refusal_from_elsewhere_ends_the_run_that_waits(folder: Folder) -> None:
    run = waiting(folder)
    assert folder.strands("reject", "last", "--reason", "stale").code == 0
    ended = run.end()
    assert ended.code == 10
    assert "stale" in ended.err


def test_an_answer_that_does_not_fit_is_refused_and_the_run_waits_still(folder: Folder) -> None:
    run = waiting(folder, validation={"pattern": "bug|feature"})
    assert folder.strands("approve", "last", "--answer", "neither").code == 2
    assert folder.strands("approve", "last", "--answer", "feature").code == 0
    assert run.end().out == "feature\n"


def test_permissions_are_not_lost_with_an_answer_to_a_run_at_work(folder: Folder) -> None:
    run = waiting(folder)
    refused = folder.strands("approve", "last", "--allow", "file_write")
    assert refused.code == 17
    assert folder.strands("approve", "last").code == 0
    assert run.end().out == "approved\n"


def test_an_answer_that_no_process_has_taken_is_used_when_the_run_goes_on(folder: Folder) -> None:
    run = waiting(folder)
    assert "strands approve" in folder.strands("runs", "show", "last").out, "the question is stored while it waits"
    run.process.kill()
    run.end()
    (directory,) = folder.runs.iterdir()
    journal = SqliteJournal.open(directory)
    assert offer_answer(journal, chosen_question(journal, None), Answer("answered", "feature"))
    journal.close()
    ran = folder.strands("resume", "last", "--json")
    assert json.loads(ran.out)["response"] == "feature"
