"""`strands` with several models: what plan, a run, its lines, its events, `runs show` and the report say of them."""

from __future__ import annotations

import json
import re

from tests.cli.strands import Folder
from tests.fakes.model_server import ModelServer, Turn

STEPS = [{"agent": "writer", "input": "One."}, {"agent": "writer", "input": "Two."}]
FIRST, SECOND = "openai/gpt-4.1", "openai/gpt-4.1-mini"
KEYS = {"OPENAI_API_KEY": "sk-0123456789abcdef"}


def answer(request: dict[str, object]) -> Turn:
    """The first model is down; the second takes one request, and the next one soon."""
    if request["model"] == "gpt-4.1":
        return Turn(status=503)
    values = {"limit": "60", "remaining": "0", "reset": "1500ms"}
    headers = {f"x-ratelimit-{part}-requests": text for part, text in values.items()}
    return Turn("well", headers=headers, usage=(1000, 100))


def test_every_view_of_a_run_says_which_model_answered(folder: Folder) -> None:
    policy = {"retries": 0, "wait_min": 0}
    folder.workflow(STEPS, runtime={"models": [FIRST, SECOND], "failure_policy": policy})
    planned = folder.strands("plan", "flow.yaml", **KEYS)
    assert f"writer: {FIRST}; then {SECOND} if down or throttled" in planned.out
    (agent,) = folder.strands("plan", "flow.yaml", "--json", **KEYS).document["agents"]
    assert [(one["model_id"], one["on"]) for one in agent["alternates"]] == [("gpt-4.1-mini", ["down", "throttled"])]
    assert folder.strands("plan", "flow.yaml").codes.count("missing-api-key") == 2
    with ModelServer(answer) as server:
        ran = folder.strands("run", "flow.yaml", "--events", "e.jsonl", OPENAI_BASE_URL=server.url, **KEYS)
        assert [request["model"] for request in server.model_requests] == ["gpt-4.1", "gpt-4.1-mini", "gpt-4.1-mini"]
    assert (ran.code, ran.out) == (0, "well\n"), ran.err
    assert re.search(
        rf"^  retry steps\.0  writer, now {SECOND}: 127\.0\.0\.1:\d+ failed \(503\)$", ran.err, re.MULTILINE
    )
    wait = rf"^  wait  steps\.1  writer: {SECOND} .* \d\d:\d\d:\d\d$"
    assert re.search(wait, ran.err, re.MULTILINE)
    events = [json.loads(line) for line in (folder.work / "e.jsonl").read_text().splitlines()]
    assert [event["event"] for event in events if event.get("wait_s") is not None] == ["ModelRetried", "ModelWaits"]
    shown = folder.strands("runs", "show", "last", "steps.0/model.0", "--json").document
    assert (shown["model"], shown["instead_of"], shown["cost_usd"]) == (SECOND, FIRST, 0.00056)
    assert shown["failures"][0].startswith(f"{FIRST}: ")
    lines = folder.strands("runs", "show", "last", "steps.0/model.0").out
    assert re.search(rf"^model: +{SECOND}\ninstead of: +{FIRST}$", lines, re.MULTILINE)
    assert f"{SECOND} in place of {FIRST}" in folder.strands("runs", "show", "last").out
    assert folder.strands("runs", "report", "last", "-o", "report.html").code == 0
    assert f"{SECOND} in place of {FIRST}" in (folder.work / "report.html").read_text()


def test_an_agent_of_a_resumed_run_has_the_alias_of_then(folder: Folder) -> None:
    folder.strands("models", "alias", "cheap", SECOND)
    folder.workflow(STEPS, runtime={"models": ["cheap"], "failure_policy": {"retries": 0}})
    with ModelServer([Turn("one"), Turn(status=503)]) as server:
        assert folder.strands("run", "flow.yaml", OPENAI_BASE_URL=server.url, **KEYS).code == 10
    folder.strands("models", "alias", "cheap", FIRST)
    with ModelServer([Turn("two")]) as server:
        ran = folder.strands("resume", "last", OPENAI_BASE_URL=server.url, **KEYS)
        assert (ran.code, ran.out) == (0, "two\n"), ran.err
        assert [request["model"] for request in server.model_requests] == ["gpt-4.1-mini"]
