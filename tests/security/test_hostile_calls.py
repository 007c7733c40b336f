"""A model that is hostile from end to end: each call is answered, the run goes on, nothing outside changes."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.cli.strands import Folder, Ran
from tests.fakes.model_server import ModelServer, Turn
from tests.security.attacks import CODE, EXCESS, LOOPBACK_URLS, OTHER_URLS, READ_PATHS, REFUSALS, WRITE_PATHS
from tests.security.outside import SECRET, Outside

pytestmark = pytest.mark.hostile

Call = tuple[str, dict[str, Any]]
LIVE = {"provider": "openai", "model_id": "m", "failure_policy": {"retries": 0}}
STEP = [{"agent": "writer", "input": "Go."}]
posix = pytest.mark.skipif(sys.platform == "win32", reason="links and /proc are POSIX")


def run_calls(
    folder: Folder, calls: Sequence[Call], tools: Sequence[Any], *options: str, at_once: int = 100
) -> tuple[Ran, list[str]]:
    """Run a workflow whose model makes these calls, so many in a turn; return what it was answered to each."""
    folder.workflow(STEP, runtime=LIVE, agents={"writer": {"prompt": "You write.", "tools": list(tools)}})
    turns = [Turn(calls=calls[start : start + at_once]) for start in range(0, len(calls), at_once)] + [Turn("The end.")]
    with ModelServer(turns) as server:
        environ = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": server.url, "CANARY": SECRET}
        ran = folder.strands("run", "flow.yaml", *options, **environ)
        assert server.remaining == 0, ran.err
        last = server.model_requests[-1]["messages"]
    return ran, [json.dumps(message["content"]) for message in last if message["role"] == "tool"]


def require_ended(ran: Ran, answers: Sequence[str], calls: Sequence[Call], code: int = 0) -> None:
    """Check that the run went on to its end, with an answer to each call and the secret in none."""
    assert (ran.code, ran.out) == (code, "" if code else "The end.\n"), ran.err  # a failed run has no response
    # What code that was called raises is the reason of its call; a traceback of ours has files.
    assert "Traceback" not in ran.err.replace('Traceback (most recent call last): File "<code>"', "")
    assert len(answers) == len(calls)
    assert SECRET not in "".join(answers)


def code_of(answer: str) -> str | None:
    """Return the code of the error in an answer: the model reads it before the message, or in JSON after the text."""
    parts = json.loads(answer)
    text = parts if isinstance(parts, str) else "\n".join(part["text"] for part in parts)
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return str(json.loads(text.splitlines()[-1])["error"]["code"])
    found = re.match(r"([a-z_]+): ", text)
    return found[1] if found else None


def workspace(folder: Folder, outside: Outside) -> None:
    """Lay out a workspace with links that lead out of it."""
    folder.write("notes/note.txt", "a note")
    folder.write(".env", SECRET)
    (folder.work / "link.txt").symlink_to(outside.victim)
    (folder.work / "linked").symlink_to(outside.tree)


def test_code_that_attacks_finds_every_wall_and_the_run_goes_on(folder: Folder, outside: Outside, held: None) -> None:
    before = outside.state()
    attacks = [*CODE.values(), *EXCESS.values()]
    calls = [
        ("python_exec", {"code": outside.aimed(attack.source), "timeout": 0.5 if attack.limit == "wall_time" else 20})
        for attack in attacks
    ]
    ran, answers = run_calls(folder, calls, [{"tool": "native:python_exec", "config": {"disk_mb": 4}}], at_once=4)
    require_ended(ran, answers, calls)
    for attack, answer in zip(attacks, answers, strict=True):
        assert "ESCAPED" not in answer, attack
        assert attack.error in answer, (attack, answer)
        assert attack.limit in answer, (attack, answer)
    assert outside.state() == before


def test_a_call_of_python_exec_that_is_not_a_program_is_a_structured_error(folder: Folder, held: None) -> None:
    given: list[dict[str, Any]] = [{}, {"code": 7}, {"code": "1", "files": {"../x": "y"}}, {"code": "1", "more": 1}]
    calls = [("python_exec", one) for one in given]
    ran, answers = run_calls(folder, calls, ["native:python_exec"])
    require_ended(ran, answers, calls)
    assert [code_of(answer) for answer in answers] == ["invalid_input"] * len(given)


def test_a_request_that_leads_inside_is_refused_before_anything_is_sent(folder: Folder, outside: Outside) -> None:
    before = outside.state()
    urls = [outside.aimed(url) for url in (*LOOPBACK_URLS, *OTHER_URLS)]
    calls: list[Call] = [("http_request", {"url": url}) for url in urls]
    calls += [("web_fetch", {"url": url}) for url in urls]
    ran, answers = run_calls(folder, calls, ["native:http_request", "native:web_fetch"])
    require_ended(ran, answers, calls)
    for call, answer in zip(calls, answers, strict=True):
        assert code_of(answer) in REFUSALS, (call, answer)
    assert outside.state() == before
    assert outside.heard == []


@posix
def test_paths_that_lead_out_are_refused_for_reading_and_for_writing(folder: Folder, outside: Outside) -> None:
    workspace(folder, outside)
    before, held_back = outside.state(), (folder.work / ".env").read_text()
    calls: list[Call] = []
    for path in map(outside.aimed, READ_PATHS):
        calls += [("file_read", {"path": path}), ("head", {"path": path}), ("tail", {"path": path})]
        calls += [("grep", {"path": path, "pattern": "canary"}), ("search", {"path": path, "query": "canary"})]
    calls += [("file_list", {"path": path}) for path in ("..", str(outside.tree), "linked", "/proc/self", "/")]
    calls += [("file_write", {"path": outside.aimed(path), "content": "taken"}) for path in WRITE_PATHS]
    tools = ["file_read", "head", "tail", "grep", "search", "file_list", "file_write"]
    ran, answers = run_calls(folder, calls, [f"native:{name}" for name in tools], "--allow", "file_write")
    require_ended(ran, answers, calls)
    for call, answer in zip(calls, answers, strict=True):
        assert code_of(answer) in REFUSALS, (call, answer)
    assert outside.state() == before
    assert (folder.work / ".env").read_text() == held_back
    assert not any((folder.work / name).exists() for name in ("conftest.py", ".git", "strands-policy.yaml"))
    kept = [path.read_bytes() for path in folder.runs.rglob("*") if path.is_file()]
    assert kept
    assert SECRET.encode() not in b"".join(kept)


@posix
def test_what_writes_asks_and_with_deny_it_is_denied(folder: Folder, outside: Outside) -> None:
    calls = [
        ("file_write", {"path": "note.txt", "content": "x"}),
        ("http_request", {"url": "http://a/", "method": "POST"}),
    ]
    ran, answers = run_calls(folder, calls, ["native:file_write", "native:http_request"], "--deny")
    require_ended(ran, answers, calls, code=21)
    assert [code_of(answer) for answer in answers] == ["denied", "denied"]
    assert not (folder.work / "note.txt").exists()
    assert "denied: file_write" in ran.err


BY_HAND = [
    ("python_exec", {"code": CODE["changes a file"].source}, None),
    ("python_exec", {"code": CODE["connects"].source}, None),
    ("http_request", {"url": LOOPBACK_URLS[0]}, "denied"),
    ("web_fetch", {"url": LOOPBACK_URLS[5]}, "denied"),
    ("file_read", {"path": "link.txt"}, "sandbox_violation"),
    ("file_write", {"path": "linked/new.txt", "content": "x"}, "sandbox_violation"),
]


def aimed(outside: Outside, given: Mapping[str, Any]) -> dict[str, Any]:
    return {key: outside.aimed(value) for key, value in given.items()}


@posix
@pytest.mark.parametrize(("tool", "given", "code"), BY_HAND)
def test_a_hostile_call_by_hand_is_answered_the_same_way(
    folder: Folder, outside: Outside, held: None, tool: str, given: dict[str, Any], code: str | None
) -> None:
    workspace(folder, outside)
    before = outside.state()
    done = folder.strands("tools", "run", tool, "--json", "--input", json.dumps(aimed(outside, given)), CANARY=SECRET)
    assert done.code == 10, done.err
    assert done.document.get("error", {}).get("code") == code
    assert "ESCAPED" not in done.out
    assert SECRET not in done.out + done.err
    assert outside.state() == before


@posix
def test_a_hostile_step_that_calls_a_tool_fails_by_name_or_goes_on_and_changes_nothing(
    folder: Folder, outside: Outside, held: None
) -> None:
    workspace(folder, outside)
    before = outside.state()
    hostile = [{"tool": tool, "input": aimed(outside, given)} for tool, given, _ in BY_HAND]
    goes_on = [{**step, "on_error": "continue"} for step in hostile[:2]]
    folder.workflow([*goes_on, {"agent": "writer", "input": "Go."}], {"steps.2": [{"text": "The end."}]})
    ran = folder.strands("run", "flow.yaml", CANARY=SECRET)
    assert (ran.code, ran.out) == (0, "The end.\n"), ran.err
    for step, (tool, _, code) in zip(hostile[3::2], BY_HAND[3::2], strict=True):
        folder.workflow([step])
        ran = folder.strands("run", "flow.yaml", "--yes", CANARY=SECRET)
        assert ran.code == 10, ran.err
        assert f"the tool {tool} failed: {code}" in ran.err
        assert SECRET not in ran.out + ran.err
    assert outside.state() == before
