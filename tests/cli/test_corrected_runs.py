"""`resume --spec`: a run goes on with its corrected file, and what the file adds is asked about."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
from typing import Any

import pytest

from tests.cli.strands import SECONDS, Folder, Ran
from tests.fakes.model_server import ModelServer, Turn

LIVE = {"provider": "openai", "model_id": "m"}
STEPS = [{"agent": "writer", "input": "One."}, {"agent": "writer", "input": "Two"}]
DIVIDES = "{{ 1 / (last_response | int) }}"  # by zero: what a model says is a text, which only the run finds out
TURNS = {"steps.0": [{"text": "first"}], "steps.1": [{"text": "second"}]}
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")


def artifact(text: str) -> dict[str, Any]:
    return {"artifacts": [{"path": "a.txt", "from": text}]}


def offered(ran: Ran) -> list[str]:
    """Return the command that the last lines of a failed run name, without `strands`."""
    (line,) = [line for line in ran.err.splitlines() if "strands resume " in line or "strands runs rerun " in line]
    return shlex.split(line[line.index("strands ") :])[1:]


def failed(folder: Folder) -> Ran:
    """Run a workflow whose artifact cannot be rendered."""
    folder.workflow(STEPS, TURNS, outputs=artifact(DIVIDES))
    ran = folder.strands("run", "flow.yaml")
    assert ran.code == 10
    return ran


def test_the_command_that_a_failed_run_offers_continues_it_after_the_correction(folder: Folder) -> None:
    command = offered(failed(folder))
    assert command[0::2] == ["resume", "--spec"]
    still_wrong = folder.strands(*command)
    assert still_wrong.code == 10
    folder.workflow(STEPS, TURNS, outputs=artifact("{{ last_response }}!"))
    ran = folder.strands(*command)
    assert (ran.code, ran.out) == (0, "second\n")
    assert "flow.yaml changes /outputs/artifacts/0/from" in ran.err
    assert (folder.work / "artifacts" / "a.txt").read_text() == "second!"
    shown = folder.strands("runs", "show", "last", "--json").document
    assert shown["corrections"] == [["/outputs/artifacts/0/from"]]
    assert "corrected: /outputs/artifacts/0/from" in folder.strands("runs", "show", "last").out


def test_a_resumed_run_that_fails_again_offers_a_command_for_every_directory(folder: Folder) -> None:
    failed(folder)
    elsewhere = folder.root / "elsewhere"
    elsewhere.mkdir()
    command = offered(folder.strands("resume", "last", cwd=elsewhere))
    folder.workflow(STEPS, TURNS, outputs=artifact("{{ last_response }}"))
    assert folder.strands(*command, cwd=elsewhere).code == 0


def test_another_value_of_an_input_is_reported_as_without_effect(folder: Folder) -> None:
    declared = {"required": {"topic": "string"}, "optional": {"tone": {"type": "string", "default": "calm"}}}
    steps, turns = [{"agent": "writer", "input": "{{ topic }}, {{ tone }}"}], {"steps.0": TURNS["steps.0"]}
    folder.workflow(steps, turns, inputs=declared, outputs=artifact(DIVIDES))
    command = offered(folder.strands("run", "flow.yaml", "--var", "topic=bees"))
    declared["values"] = {"topic": "ants", "more": "new"}
    declared["optional"]["tone"]["default"] = "angry"
    folder.workflow(steps, turns, inputs=declared, outputs=artifact("{{ topic }} {{ tone }} {{ more }}"))
    ran = folder.strands(*command)
    assert ran.code == 0
    (line,) = [line for line in ran.err.splitlines() if "without effect" in line]
    assert line.endswith(": tone, topic")
    assert (folder.work / "artifacts" / "a.txt").read_text() == "bees calm new"


def test_a_rerun_from_the_artifacts_repeats_no_step(folder: Folder) -> None:
    failed(folder)
    folder.workflow(STEPS, TURNS, outputs=artifact("{{ last_response }}?"))
    ran = folder.strands("runs", "rerun", "last", "--from", "artifacts")
    assert (ran.code, ran.out) == (0, "second\n")
    assert (folder.work / "artifacts" / "a.txt").read_text() == "second?"


def test_what_the_corrected_file_opens_is_asked_about(folder: Folder) -> None:
    command = offered(failed(folder))
    (folder.root / "books").mkdir()
    more = {"env": {"mounts": {"books": str(folder.root / "books")}}}
    tools = {"writer": {"prompt": "You write.", "tools": ["native:file_read"]}}
    changed = {"outputs": artifact("{{ last_response }}"), "agents": tools}
    steps = [*STEPS, {"tool": "native:file_read", "input": {"path": "books/a.txt"}}]
    folder.workflow(steps, TURNS, **changed, **more)
    refused = folder.strands(*command)
    assert (refused.code, refused.codes) == (17, []), "its tools are an input of the steps that are done"
    folder.workflow(steps, TURNS, outputs=changed["outputs"], **more)
    refused = folder.strands(*command)
    assert (refused.code, set(refused.codes)) == (21, {"untrusted-workflow"})
    assert folder.strands("runs", "show", "last", "--json").document["corrections"] == []


def test_a_step_that_was_cut_off_keeps_what_its_model_was_asked(folder: Folder) -> None:
    turns = {"steps.0": [{"calls": [{"file_write": {"path": "n.txt", "content": "x"}}]}]}
    agents = {"writer": {"prompt": "You write.", "tools": ["native:file_write"]}}
    folder.workflow(STEPS[:1], turns, agents=agents)
    assert folder.strands("run", "flow.yaml", "--detach").code == 19
    folder.workflow([{"agent": "writer", "input": "Other."}], turns, agents=agents)
    ran = folder.strands("resume", "last", "--spec", "flow.yaml")
    assert ran.code == 17
    assert "steps.0/model.0" in ran.err


def test_fail_leaves_nothing_to_correct(folder: Folder) -> None:
    failed(folder)
    assert folder.strands("resume", "last", "--spec", "flow.yaml", "--fail", "steps.0").code == 2


@pytest.mark.kills
@posix
def test_a_killed_resume_has_stored_the_correction(folder: Folder) -> None:
    asked, requests = threading.Event(), list[str]()

    def answer(request: dict[str, Any]) -> Turn:
        requests.append(str(request["messages"][-1]["content"]))
        if len(requests) == 2:
            asked.set()
            return Turn("too late", delay_s=3600)
        return Turn("done")

    with ModelServer(answer) as server:
        env = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": server.url}
        broken = [STEPS[0], {"agent": "writer", "input": "{{ 1 / ((last_response | length) - 4) }}"}]
        folder.workflow(broken, runtime=LIVE)
        command = offered(folder.strands("run", "flow.yaml", **env))
        folder.workflow(STEPS, runtime=LIVE)
        run = folder.start(*command, **env)
        assert asked.wait(SECONDS)
        run.send(signal.SIGKILL)
        run.end()
        (folder.work / "flow.yaml").unlink()
        ran = folder.strands("resume", "last", **env)
    assert (ran.code, ran.out) == (0, "done\n")
    assert ["One" in text for text in requests] == [True, False, False]
    assert ["Two" in text for text in requests] == [False, True, True]
