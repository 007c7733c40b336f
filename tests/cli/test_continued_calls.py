"""A tool step that failed goes on with its corrected file, and each question is answered once, for what it asks."""

from __future__ import annotations

import shlex
from typing import Any

from strands_cli.engine.stored_runs.described_run import named_run
from strands_cli.errors import RunRecordError
from strands_cli.store_place import StorePlace
from tests.cli.strands import Folder, Ran

GATE = {"type": "hitl", "prompt": "Publish?"}


def reading(path: str) -> dict[str, Any]:
    return {"tool": "native:file_read", "input": {"path": path}}


def writing(path: str) -> dict[str, Any]:
    return {"tool": "native:file_write", "input": {"path": path, "content": "x"}}


def corrects(ran: Ran) -> list[str]:
    """Return the command for a corrected file, without `strands`."""
    (line,) = [line for line in ran.err.splitlines() if "--spec" in line]
    return shlex.split(line[line.index("strands ") :])[1:]


def test_a_tool_step_that_failed_goes_on_with_other_arguments(folder: Folder) -> None:
    (folder.work / "here.txt").write_text("text")
    for wrong in ("/etc/hostname", "not-here.txt"):
        folder.workflow([writing("a.txt"), reading(wrong)])
        failed = folder.strands("run", "flow.yaml", "--yes", "--force")
        assert failed.code == 10
        assert ("\ncontinue with" in failed.err) is (wrong == "not-here.txt")  # a refusal comes again
        folder.workflow([writing("a.txt"), reading("here.txt")])
        done = folder.strands(*corrects(failed))
        assert (done.code, done.out) == (0, "text\n"), done.err


def test_a_person_is_asked_again_for_other_arguments(folder: Folder) -> None:
    folder.workflow([writing("/nowhere/x.txt")])
    assert folder.strands("run", "flow.yaml").code == 19
    failed = folder.strands("approve", "last")
    folder.workflow([writing("good.txt")])
    asks = folder.strands(*corrects(failed))
    assert (asks.code, "path: good.txt" in asks.err) == (19, True)
    assert folder.strands("approve", "last").code == 0
    assert (folder.work / "good.txt").read_text() == "x"


def test_what_is_done_stays_as_it_was(folder: Folder) -> None:
    folder.workflow([writing("a.txt"), reading("not-here.txt")])
    failed = folder.strands("run", "flow.yaml", "--yes")
    folder.workflow([writing("b.txt"), reading("not-here.txt")])
    assert folder.strands(*corrects(failed)).code == 17
    assert not (folder.work / "b.txt").exists()


def test_a_stored_answer_leaves_no_question_behind_and_names_the_next_command(folder: Folder) -> None:
    folder.workflow([GATE])
    folder.strands("run", "flow.yaml")
    stored = folder.strands("approve", "last", "--no-resume")
    (line,) = [line for line in stored.err.splitlines() if line.startswith("next: ")]
    (run,) = folder.strands("runs", "list", "--json").document["runs"]
    assert (run["status"], "answered" in run["reason"], "Publish?" in run["reason"]) == ("waiting", True, False)
    assert "strands resume" in folder.strands("runs", "show", "last").out
    assert folder.strands(*shlex.split(line.removeprefix("next: strands "))).code == 0


def test_a_tool_step_takes_what_the_advice_writes_into_tools(folder: Folder) -> None:
    fetch = {"tool": "native:web_fetch", "input": {"url": "http://127.0.0.1:9/x"}}
    folder.workflow([fetch])
    failed = folder.strands("run", "flow.yaml")
    assert "`tools.python` for a tool step" in failed.err
    entry = {"tool": "native:web_fetch", "config": {"allow_private": ["127.0.0.1:9"]}}
    folder.workflow([fetch], tools={"python": [entry]})
    folder.strands("trust", "flow.yaml")
    assert "not a public address" not in folder.strands("run", "flow.yaml").err


def test_no_run_of_another_moment_is_proposed(tmp_path: Any) -> None:
    def fix(name: str) -> str:
        try:
            named_run(name, ["20261127-135727-487d66"], StorePlace(tmp_path), list)
        except RunRecordError as error:
            return error.fix or ""
        raise AssertionError(name)

    assert "did you mean" not in fix("20261127-145247-3cea80")
    for typo in ("20261127-135727-487d67", "20261127-135728-487d66"):
        assert "20261127-135727-487d66" in fix(typo)
