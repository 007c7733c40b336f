"""`--trace` writes the tree of a run: its steps, and under each its model and tool calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from strands_cli import Workflow
from strands_cli.events import StepFailed, StepStarted
from strands_cli.outputs.trace import RunTrace, write_trace
from tests.fakes.model_server import ModelServer, Turn

SECRET = "s3cr3t-value-of-a-key"


def traced(tmp_path: Path, monkeypatch: Any, turns: list[Turn], text: str) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("STRANDS_RUNS_DIR", str(tmp_path / "runs"))
    trace = RunTrace()
    with ModelServer(turns) as model:
        head = f"version: 2\nname: t\nruntime: {{provider: openai, model_id: m, host: '{model.url}'}}\n"
        Path("w.yaml").write_text(head + text, encoding="utf-8")
        Workflow.from_file("w.yaml").run(on_event=trace)
    path = write_trace(trace, tmp_path / "out")
    assert path is not None
    assert path.name == f"{trace.root['run']}.trace.json"
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def test_calls_are_below_their_step_in_order(tmp_path: Path, monkeypatch: Any) -> None:
    turns = [Turn(calls=[("calculator", {"expression": "6*7001"})], usage=(5, 2)), Turn("Done.", usage=(9, 3))]
    root = traced(
        tmp_path,
        monkeypatch,
        turns,
        "agents: {a: {prompt: p, tools: [calculator]}}\n"
        "pattern: {type: chain, config: {steps: [{agent: a, input: secretly}]}}\n",
    )
    assert (root["workflow"], root["pattern"], root["status"]) == ("t", "chain", "completed")
    assert (root["model_calls"], root["tool_calls"]) == (2, 1)
    assert root["usage"] == {"input_tokens": 14, "output_tokens": 5}
    (step,) = root["children"]
    assert (step["key"], step["kind"], step["who"], step["status"]) == ("steps.0", "agent", "a", "completed")
    assert [child["kind"] for child in step["children"]] == ["model", "tool", "model"]
    first, tool, _ = step["children"]
    assert (first["calls"], first["usage"]) == (["calculator"], {"input_tokens": 5, "output_tokens": 2})
    assert tool["decision"]["effect"] == "allow"
    assert (tool["status"], tool["error_code"], tool["replayed"]) == ("success", None, False)
    assert "secretly" not in json.dumps(root), "what was said is in the record, not in the trace"


def test_a_step_of_a_workflow_that_is_a_tool_is_below_its_call() -> None:
    trace = RunTrace()
    for key in ("steps.0", "steps.0/tool.0.w/steps.0", "steps.1"):
        trace(StepStarted(1.0, key, "agent", "a"))
    assert [node["key"] for node in trace.root["children"]] == ["steps.0", "steps.1"]
    assert [node["key"] for node in trace.root["children"][0]["children"]] == ["steps.0/tool.0.w/steps.0"]


def test_a_step_that_fails_says_why_and_one_that_has_not_ended_is_running() -> None:
    trace = RunTrace()
    trace(StepStarted(1.0, "steps.0", "agent", "a"))
    trace(StepStarted(1.0, "steps.1", "agent", "a"))
    trace(StepFailed(3.5, "steps.0", "agent", "a", "no answer"))
    failed, running = trace.root["children"]
    assert (failed["status"], failed["error"], failed["seconds"]) == ("failed", "no answer", 2.5)
    assert running["status"] == "running"


def test_a_run_that_never_began_leaves_none(tmp_path: Path) -> None:
    assert write_trace(RunTrace(), tmp_path) is None
    assert list(tmp_path.iterdir()) == []
