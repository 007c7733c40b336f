"""`--log json` and `--trace`: stderr is one JSON object a line from every writer, and the trace is a file."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from tests.cli.strands import Folder, Ran

NOISY = """
import os, sys, warnings
print("on stdout", flush=True)
print("on stderr", file=sys.stderr)
os.system("echo from a child >&2")
warnings.warn("a warning of python")
return answer("done")
"""


def logged(ran: Ran) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.err.splitlines()]


@pytest.fixture
def flow(folder: Folder) -> Folder:
    folder.tool("noisy", NOISY)
    steps = [{"tool": "noisy", "input": {}}, {"agent": "writer", "input": "hello"}]
    folder.workflow(steps, {"steps.1": [{"text": "the answer"}]})
    return folder


def test_stderr_is_json_from_every_writer(flow: Folder) -> None:
    ran = flow.strands("run", "flow.yaml", "--yes", "--log", "json")
    assert (ran.code, ran.out) == (0, "the answer\n")
    lines = logged(ran)
    assert all({"time", "level", "message"} <= line.keys() for line in lines)
    events = [line["event"]["event"] for line in lines if "event" in line]
    assert (events[0], events[-1]) == ("RunStarted", "RunFinished")
    assert "ModelText" not in events
    said = "\n".join(line["message"] for line in lines)
    for text in ("on stdout", "on stderr", "from a child", "a warning of python"):
        assert text in said
    sources = {line["message"]: line.get("source") for line in lines}
    assert (sources["on stdout"], sources["on stderr"]) == ("stdout", "stderr")
    assert "the answer" not in ran.err


def test_an_error_is_a_line_of_the_log_and_the_exit_code_stays(flow: Folder) -> None:
    flow.write("flow.recording.yaml", {"recording": 1, "steps": {}})
    ran = flow.strands("run", "flow.yaml", "--yes", "--log", "json", "--quiet")
    assert ran.code != 0
    assert [line["level"] for line in logged(ran)][-1] == "error"
    wrong = flow.strands("run", "nowhere.yaml", "--log", "json")
    assert wrong.code == 2
    assert [line["level"] for line in logged(wrong)] == ["error"]


def test_questions_and_the_log_do_not_share_stderr(flow: Folder) -> None:
    ran = flow.strands("run", "flow.yaml", "--ask", "--log", "json")
    assert ran.code == 2
    assert "--var" in logged(ran)[-1]["message"]


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
def test_no_one_is_asked_at_a_terminal_whose_lines_are_a_log(folder: Folder) -> None:
    folder.workflow([{"type": "hitl", "prompt": "Publish?"}])
    with folder.terminal("run", "flow.yaml", "--log", "json") as terminal:
        assert terminal.end() == 19


def test_the_trace_is_beside_the_artifacts(flow: Folder) -> None:
    ran = flow.strands("run", "flow.yaml", "--yes", "--trace", "--out", "there")
    (path,) = (flow.work / "there").iterdir()
    assert f"trace there/{path.name}" in ran.err
    trace = json.loads(path.read_text(encoding="utf-8"))
    assert [node["kind"] for node in trace["children"]] == ["call", "agent"]
    assert trace["status"] == "completed"
    assert "the answer" not in path.read_text(encoding="utf-8")


def test_a_run_that_fails_leaves_its_trace_too(flow: Folder) -> None:
    flow.write("flow.recording.yaml", {"recording": 1, "steps": {"steps.1": [{"text": "", "when": "something else"}]}})
    ran = flow.strands("run", "flow.yaml", "--yes", "--trace")
    assert ran.code != 0
    (path,) = (flow.work / "artifacts").glob("*.trace.json")
    assert json.loads(path.read_text(encoding="utf-8"))["status"] == "failed"
