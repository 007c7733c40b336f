"""Policy at the command line: what is denied is not imported, what is broken stops everything that runs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.strands import Folder
from tests.distributions import booby_trapped

DENY = 'version: 1\nrules:\n  - {deny: "*", unless: [calculator], reason: ask the platform team}\n'
WRITE = {"file_write": {"path": "docs/note.txt", "content": "hello"}}
WRITER = {"writer": {"prompt": "You write.", "tools": ["native:file_write"]}}
SUM = '{"expression": "6 * 7"}'


def user_file(folder: Folder, text: str) -> Path:
    path = folder.root / "home" / ".config" / "strands-cli" / "policy.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def writing(folder: Folder, *before: dict[str, Any]) -> Path:
    turns = {f"steps.{len(before)}": [{"calls": [WRITE]}, {"text": "done"}]}
    return folder.workflow([*before, {"agent": "writer", "input": "go"}], turns, agents=WRITER)


def test_a_denied_tool_is_refused_with_rule_line_and_reason_and_never_imported(folder: Folder) -> None:
    sentinel = folder.root / "imported"
    booby_trapped(folder.site, "trap", sentinel)
    agents = {"writer": {"prompt": "w", "tools": ["native:trap"]}}
    folder.workflow([{"agent": "writer", "input": "go"}], {"steps.0": [{"text": "x"}]}, agents=agents)
    rules = folder.write("strands-policy.yaml", DENY)
    for command in ("run", "plan"):
        ran = folder.strands(command, "flow.yaml")
        assert ran.code == 21
        assert ran.codes == ["tool-denied"]
        assert re.search(rf"'native:trap' \(strands-tool-trap 1\.0\) .*: {re.escape(str(rules))}:3\b", ran.err)
        assert "ask the platform team" in ran.err
    assert folder.strands("tools", "run", "trap").code == 21
    assert not sentinel.exists()
    assert not folder.runs.exists()


def test_rules_of_the_person_hold_whatever_the_project_and_the_command_line_say(folder: Folder) -> None:
    writing(folder)
    path = user_file(folder, "version: 1\nrules: [{deny: 'file_write(path=docs/**)'}]")
    folder.write("strands-policy.yaml", "version: 1\nrules: [{allow: strands-tool-files/file_write}]")
    ran = folder.strands("run", "flow.yaml", "--yes")
    assert ran.code == 0
    assert f"denied: file_write: {path}:2" in ran.err
    assert not (folder.work / "docs").exists()
    assert f"deny file_write(path=docs/**): {path}:2" in folder.strands("plan", "flow.yaml").out


def test_a_project_file_answers_what_the_tool_asks_for_the_arguments_it_names(folder: Folder) -> None:
    writing(folder)
    (folder.work / "docs").mkdir()
    other = folder.write(
        "other.yaml", "version: 1\nrules: [{allow: 'strands-tool-files/file_write(path=elsewhere/**)'}]"
    )
    named = folder.write(
        "strands-policy.yaml", "version: 1\nrules: [{allow: 'strands-tool-files/file_write(path=docs/**)'}]"
    )
    assert folder.strands("run", "flow.yaml", "--policy", other).code == 19
    ran = folder.strands("run", "flow.yaml", "--policy", other, "--deny")
    assert re.search(r"^denied: file_write: (?!.*other\.yaml)", ran.err, re.MULTILINE)
    assert not (folder.work / "docs" / "note.txt").exists()
    # Merely found beside the workflow, it can only narrow: a folder that somebody sent allows itself nothing.
    ran = folder.strands("run", "flow.yaml")
    assert "warning[unnamed-policy]" in ran.err
    assert not (folder.work / "docs" / "note.txt").exists()
    assert folder.strands("run", "flow.yaml", "--policy", named).code == 0
    assert (folder.work / "docs" / "note.txt").read_text() == "hello"


def test_a_run_goes_on_under_the_policy_of_now(folder: Folder) -> None:
    writing(folder, {"type": "hitl", "prompt": "Go?"})
    assert folder.strands("run", "flow.yaml", "--detach", "--yes").code == 19
    (run,) = (entry.name for entry in folder.runs.iterdir())
    folder.write("strands-policy.yaml", "version: 1\nrules: [{deny: file_write}]")
    ran = folder.strands("approve", run)
    assert ran.code == 21
    assert "error[tool-denied]" in ran.err
    free = folder.write("free.yaml", "version: 1")
    ran = folder.strands("approve", run, "--policy", free, "--json")
    assert (ran.code, ran.document["status"]) == (0, "completed")


def test_a_run_that_was_started_with_a_policy_file_goes_on_with_it_as_it_is_now(folder: Folder) -> None:
    writing(folder, {"type": "hitl", "prompt": "Go?"})
    strict = folder.write("strict.yaml", "version: 1")
    assert folder.strands("run", "flow.yaml", "--detach", "--yes", "--policy", "strict.yaml").code == 19
    (run,) = (entry.name for entry in folder.runs.iterdir())
    strict.write_text("version: 1\nrules: [{deny: file_write}]")
    ran = folder.strands("approve", run, cwd=folder.root)
    assert ran.code == 21
    assert f"{strict}:2" in ran.err


BROKEN = {
    "empty": "",
    "no mapping": "- deny",
    "tab": "version: 1\n\trules: []",
    "null": "version: 1\nrules: null",
    "type": "version: 1\nrules: 3",
    "version": "version: 9",
    "deep": "version: 1\nrules: " + "[" * 300,
    "huge": "#" * 1_000_001,
}


@pytest.mark.parametrize("kind", [*BROKEN, "directory"])
def test_nothing_runs_under_a_broken_policy_and_its_place_is_reported(kind: str, folder: Folder) -> None:
    path = folder.work / "strands-policy.yaml"
    if kind == "directory":
        path.mkdir()
    else:
        folder.write("strands-policy.yaml", BROKEN[kind])
    ran = folder.strands("tools", "run", "calculator", "--input", SUM)
    assert (ran.code, ran.out) == (21, "")
    assert "error[bad-policy]" in ran.err
    assert f"--> {path}" in ran.err
    if kind == "type":
        folder.workflow([{"agent": "writer", "input": "go"}], {"steps.0": [{"text": "x"}]})
        assert [folder.strands(verb, "flow.yaml").code for verb in ("plan", "run")] == [21, 21]


def test_commands_that_run_nothing_work_under_a_broken_policy(folder: Folder) -> None:
    user_file(folder, "nonsense")
    folder.workflow([{"agent": "writer", "input": "go"}], {"steps.0": [{"text": "x"}]})
    for words in (["list-tools"], ["--help"], ["--version"], ["runs", "list"], ["validate", "flow.yaml"]):
        assert folder.strands(*words).code == 0, words
    ran = folder.strands("explain", "policy", "calculator", "--json")
    assert ran.code == 0
    assert [tool["load"]["effect"] for tool in ran.document["tools"]] == ["deny"]
    assert "error[bad-policy]" in ran.err


def test_explain_policy_shows_the_deciding_rule_the_others_and_what_would_change_it(folder: Folder) -> None:
    folder.write(
        "strands-policy.yaml",
        "version: 1\nrules:\n"
        "  - {ask: file_*, reason: files matter}\n"
        "  - deny: file_write(path=secrets/**)\n"
        "  - allow: strands-tool-files/file_write(path=docs/**)\n"
        "  - deny: current_time\n",
    )
    path = folder.work / "strands-policy.yaml"
    named = ("--policy", path)
    (tool,) = folder.strands("explain", "policy", "native:file_write", "--json", *named).document["tools"]
    assert tool["load"]["effect"] == "allow"
    assert tool["call"] == {"effect": "ask", "rule": f"{path}:3: files matter"}
    assert [(rule["effect"], rule["origin"]) for rule in tool["rules"]] == [
        ("ask", f"{path}:3"),
        ("deny", f"{path}:4"),
        ("allow", f"{path}:5"),
    ]
    always, *by_arguments = [rule["holds"] for rule in tool["rules"]]
    assert len({*by_arguments}) == 1
    assert always not in by_arguments
    assert "--allow file_write" in tool["changes"][0]
    given = '{"path": "docs/../secrets/x"}'
    (tool,) = folder.strands("explain", "policy", "file_write", "--input", given, "--json").document["tools"]
    assert tool["call"] == {"effect": "deny", "rule": f"{path}:4"}
    (tool,) = folder.strands("explain", "policy", "current_time", "--json").document["tools"]
    assert tool["load"] == {"effect": "deny", "rule": f"{path}:6"}
    assert not [change for change in tool["changes"] if "--allow" in change]
    assert f"deny: {path}:6" in folder.strands("explain", "policy", "current_time").out


def test_explain_policy_speaks_of_custom_python_of_unknown_tools_and_of_a_workflow(folder: Folder) -> None:
    def explained(*words: str | Path) -> dict[str, Any]:
        (tool,) = folder.strands("explain", "policy", *words, "--json").document["tools"]
        return tool

    tool = explained("my.tools:fn")
    assert tool["load"]["effect"] == "deny"
    assert "STRANDS_CUSTOM_TOOL_ALLOWLIST=my.tools:fn" in tool["changes"][0]
    folder.write("strands-policy.yaml", "version: 1\nrules: [{deny: nosuch}, {allow: my.tools:fn}]")
    tool = explained("native:nosuch")
    assert (tool["distribution"], "'native:nosuch'" in tool["note"], tool["load"]["effect"]) == (None, True, "deny")
    assert explained("my.tools:fn")["load"]["effect"] == "deny"
    named = ("--policy", folder.work / "strands-policy.yaml")
    assert explained("my.tools:fn", *named)["load"]["effect"] == "allow"
    rest = {"security": {"permissions": {"deny": ["save"]}}}
    agents = {"writer": {"prompt": "w", "tools": [{"tool": "native:file_write", "as": "save"}]}}
    folder.workflow([{"agent": "writer", "input": "go"}], {"steps.0": [{"text": "x"}]}, agents=agents, **rest)
    assert explained("save", "flow.yaml")["call"] == {
        "effect": "deny",
        "rule": "security.permissions.deny (flow.yaml:1)",
    }


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["tool-denied"], 0, r"tool-denied  \(.*\b21\)"),
        (["tool-deneid"], 2, r"'tool-denied'"),
        (["policy"], 2, r"strands explain policy native:NAME"),
        (["policy", "a b"], 2, r"'a b'"),
        (["tool-denied", "x"], 2, r"`explain policy`"),
    ],
)
def test_explain_takes_a_code_or_policy_and_a_reference(words: list[str], code: int, says: str, folder: Folder) -> None:
    ran = folder.strands("explain", *words)
    assert ran.code == code
    assert re.search(says, ran.out + ran.err)


def test_what_others_can_change_is_a_warning_and_no_hook_comes_from_a_project(folder: Folder) -> None:
    user_file(folder, "version: 1").chmod(0o666)
    ran = folder.strands("tools", "run", "calculator", "--input", SUM)
    assert (ran.code, ran.out) == (0, "42\n")
    assert "warning[unsafe-policy-file]" in ran.err
    folder.write("strands-policy.yaml", "version: 1\nhooks: [strands-hooks-audit]")
    assert folder.strands("tools", "run", "calculator", "--input", SUM).code == 21


@pytest.mark.parametrize(
    ("more", "is_allowed"),
    [({}, False), ({"folder": "there"}, True), ({"folder": "above"}, True), ({"folder": "x"}, False)],
)
def test_a_name_in_the_users_file_allows_the_python_of_its_folder_only(
    folder: Folder, more: dict[str, str], *, is_allowed: bool
) -> None:
    source = "def fetch(text: str) -> str:\n    return text\n"
    folder.write("own/mytools.py", source)
    folder.workflow(
        [{"agent": "a", "input": "x"}],
        agents={"a": {"prompt": "x", "tools": ["mytools:fetch"]}},
        tools={"python_path": ["own"]},
        runtime={"provider": "replay"},
    )
    places = {"there": folder.work / "own", "above": folder.work, "x": folder.root / "elsewhere"}
    rule = {"allow": "mytools:fetch", **{key: str(places[value]) for key, value in more.items()}}
    policy = folder.root / "home" / ".config" / "strands-cli" / "policy.yaml"
    policy.parent.mkdir(parents=True)
    policy.write_text(json.dumps({"version": 1, "rules": [rule]}))
    ran = folder.strands("plan", "flow.yaml")
    assert ("custom-tool-denied" not in ran.codes) is is_allowed, ran.err
    assert (f"`folder: {places['there']}`" in ran.err) is not is_allowed


@pytest.mark.parametrize("rule", [{"allow": "a:b", "folder": "own"}, {"deny": "a:b", "folder": "/x"}])
def test_the_folder_of_a_rule_is_absolute_and_of_one_that_allows(folder: Folder, rule: dict[str, str]) -> None:
    folder.write("strands-policy.yaml", {"version": 1, "rules": [rule]})
    assert folder.strands("tools", "run", "calculator", "--input", '{"expression": "1"}').codes == ["bad-policy"]
