"""Rules on files and hosts at the command line: every tool that touches a denied place is refused, by any path."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.strands import Folder

RULES = """\
version: 1
rules:
  - deny: "*"
    reads: secrets/**
    writes: secrets/**
  - {deny: "*", connects: evil.example}
"""


@pytest.fixture
def guarded(folder: Folder) -> Folder:
    """A folder with a secret, a link to it, and the rules."""
    folder.write("strands-policy.yaml", RULES)
    folder.write("secrets/key.txt", "WORD-1\n")
    folder.write("docs/note.md", "WORD-2\n")
    (folder.work / "link").symlink_to("secrets")
    return folder


def test_each_tool_that_touches_a_denied_file_is_refused_by_any_path(guarded: Folder) -> None:
    inside = str(guarded.work / "secrets" / "key.txt")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("file_read", {"path": "secrets/key.txt"}),
        ("file_read", {"path": inside}),
        ("head", {"path": "link/key.txt"}),
        ("tail", {"path": "docs/../secrets/key.txt"}),
        ("grep", {"path": "secrets", "pattern": "WORD"}),
        ("grep", {"path": ".", "pattern": "WORD"}),
        ("search", {"query": "WORD"}),
        ("file_list", {"path": ".", "depth": 3}),
        ("file_write", {"path": inside, "content": "x"}),
        ("http_request", {"url": "https://evil.example.:443?x"}),
        ("web_fetch", {"url": "https://EVIL。example/"}),
    ]
    for tool, arguments in calls:
        ran = guarded.strands("tools", "run", tool, "--input", json.dumps(arguments))
        assert ran.code == 10, tool
        assert "strands-policy.yaml" in ran.err
        assert "WORD" not in ran.out
    assert (guarded.work / "secrets" / "key.txt").read_text() == "WORD-1\n"


def test_what_lies_elsewhere_is_read_and_a_tool_that_touches_no_file_is_called(guarded: Folder) -> None:
    assert "WORD-2" in guarded.strands("tools", "run", "grep", "--input", '{"path": "docs", "pattern": "WORD"}').out
    assert guarded.strands("tools", "run", "calculator", "--input", '{"expression": "6 * 7"}').out == "42\n"


def test_a_rule_holds_for_a_mount_that_the_workflow_makes(guarded: Folder) -> None:
    reads = {"reader": {"prompt": "You read.", "tools": ["native:file_read"]}}
    turns = {"steps.0": [{"calls": [{"file_read": {"path": "@m/key.txt"}}]}, {"text": "done"}]}
    guarded.workflow([{"agent": "reader", "input": "go"}], turns, agents=reads, env={"mounts": {"m": "secrets"}})
    ran = guarded.strands("run", "flow.yaml")
    assert "denied: file_read" in ran.err
    asked = ("explain", "policy", "file_read", "flow.yaml", "--json", "--input", '{"path": "@m/key.txt"}')
    (tool,) = guarded.strands(*asked).document["tools"]
    assert tool["call"]["effect"] == "deny"
    plan = guarded.strands("plan", "flow.yaml")
    assert "deny * reads: secrets/** writes: secrets/**" in plan.out


def test_a_rule_that_names_the_link_of_a_mount_holds_for_what_it_leads_to(guarded: Folder) -> None:
    (guarded.work / "elsewhere").mkdir()
    (guarded.work / "elsewhere" / "key.txt").write_text("WORD-3\n")
    (guarded.work / "secrets" / "papers").symlink_to(guarded.work / "elsewhere")
    reads = {"reader": {"prompt": "You read.", "tools": ["native:file_read"]}}
    turns = {"steps.0": [{"calls": [{"file_read": {"path": "@m/key.txt"}}]}, {"text": "done"}]}
    step = [{"agent": "reader", "input": "go"}]
    guarded.workflow(step, turns, agents=reads, env={"mounts": {"m": "secrets/papers"}})
    assert "denied: file_read" in guarded.strands("run", "flow.yaml").err
    asked = ("explain", "policy", "file_read", "flow.yaml", "--json", "--input", '{"path": "@m/key.txt"}')
    (tool,) = guarded.strands(*asked).document["tools"]
    assert tool["call"]["effect"] == "deny"


def test_a_tool_that_does_not_say_what_it_touches_is_denied_before_it_is_imported(guarded: Folder) -> None:
    from tests.distributions import booby_trapped

    sentinel = guarded.root / "imported"
    booby_trapped(guarded.site, "trap", sentinel)
    assert guarded.strands("tools", "run", "trap").code == 21
    assert not sentinel.exists()


def test_a_glob_that_is_not_text_is_reported_with_its_line(folder: Folder) -> None:
    folder.write("strands-policy.yaml", 'version: 1\nrules:\n  - {deny: "*", reads: [7], readz: a}\n')
    ran = folder.strands("tools", "run", "calculator", "--input", '{"expression": "1"}')
    assert ran.code == 21
    assert ran.codes == ["bad-policy", "bad-policy"]
    assert "strands-policy.yaml:3" in ran.err
    assert "reads" in ran.err
