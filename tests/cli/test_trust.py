"""A workflow that starts programs, or opens folders, files or networks, is asked about once; a change asks again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.strands import EXAMPLES, Folder, Ran

pytestmark = [
    pytest.mark.terminals,
    pytest.mark.skipif(sys.platform == "win32", reason="a shell script, modes of files"),
]
STEP = [{"agent": "writer", "input": "Go."}]
TURNS = {"steps.0": [{"text": "done"}]}
CODE = "untrusted-workflow"


PROGRAM = "sh -c 'touch was-run; printf %s-%s any secret-value'"


def with_program(folder: Folder, path: str = PROGRAM, **sections: Any) -> None:
    """Write a workflow that has a program started for a secret."""
    executor = {"id": "api", "base_url": "https://api.example.com", "headers": {"X-Key": "${secrets.X}"}}
    env = {"secrets": [{"key": "X", "source": "command", "path": path}]}
    folder.workflow(STEP, TURNS, **{"env": env, "tools": {"http_executors": [executor]}, **sections})


def was_run(folder: Folder) -> bool:
    return (folder.work / "was-run").exists()


def answers(folder: Folder) -> list[Path]:
    return list((folder.root / "home" / ".local" / "share" / "strands-cli" / "trusted").glob("*"))


def refused(ran: Ran) -> bool:
    return ran.code == 21 and CODE in ran.codes and "strands workflows trust flow.yaml" in ran.err


@pytest.mark.parametrize("options", [(), ("--yes",), ("--detach",), ("--allow", "*"), ("--allow", "api")])
def test_without_a_person_a_program_is_not_started_and_the_fix_works(folder: Folder, options: tuple[str, ...]) -> None:
    with_program(folder)
    assert refused(folder.strands("run", "flow.yaml", *options))
    assert not was_run(folder)
    assert folder.strands("workflows", "trust", "flow.yaml").code == 0
    assert folder.strands("run", "flow.yaml", *options).code == 0
    assert was_run(folder)


def outside(folder: Folder) -> dict[str, dict[str, Any]]:
    """Return sections of workflows that open something, by name."""
    (folder.root / "other").mkdir(exist_ok=True)
    (folder.root / "other" / "key.txt").write_text("any-secret-value\n")
    config = {"allow_private": ["127.0.0.1:1"]}
    executor = {"id": "api", "base_url": "https://api.example.com", "headers": {"X-Key": "${secrets.X}"}}
    return {
        "mount": {"env": {"mounts": {"other": "../other"}}},
        "file": {
            "env": {"secrets": [{"key": "X", "source": "file", "path": "../other/key.txt"}]},
            "tools": {"http_executors": [executor]},
        },
        "network": {"tools": {"python": [{"tool": "native:web_fetch", "config": config}]}},
        "executor": {"tools": {"http_executors": [{"id": "near", "base_url": "http://127.0.0.1:1"}]}},
        "server": {"tools": {"mcp": [{"id": "shelf", "command": sys.executable, "args": ["shelf.py"]}]}},
        "remote server": {"tools": {"mcp": [{"id": "shelf", "url": "http://127.0.0.1:1/mcp"}]}},
    }


@pytest.mark.parametrize("what", ["mount", "file", "network", "executor", "server", "remote server"])
def test_what_leads_out_of_the_folder_is_asked_about(folder: Folder, what: str) -> None:
    folder.write("shelf.py", (EXAMPLES / "mcp" / "shelf.py").read_text())
    folder.workflow(STEP, TURNS, **outside(folder)[what])
    assert refused(folder.strands("run", "flow.yaml"))
    assert folder.strands("workflows", "trust", "flow.yaml").code == 0
    assert folder.strands("run", "flow.yaml").code == (18 if what == "remote server" else 0)


def test_a_workflow_that_brings_nothing_is_not_asked_about(folder: Folder) -> None:
    (folder.work / "data").mkdir()
    env = {"mounts": {"data": "data"}, "secrets": [{"key": "HOME"}]}
    folder.workflow(STEP, TURNS, env=env, tools={"http_executors": [{"id": "a", "base_url": "https://x.example.com"}]})
    assert folder.strands("run", "flow.yaml").code == 0
    assert "needs no answer" in folder.strands("workflows", "trust", "flow.yaml").out
    assert answers(folder) == []


def test_an_answer_holds_until_what_it_is_about_changes(folder: Folder) -> None:
    with_program(folder)
    folder.strands("workflows", "trust", "flow.yaml")
    with_program(folder, description="Another text.")
    assert folder.strands("run", "flow.yaml").code == 0
    with_program(folder, "sh -c 'touch other; printf %s-%s any secret-value'")
    assert refused(folder.strands("run", "flow.yaml"))
    assert not (folder.work / "other").exists()


@pytest.mark.parametrize("section", ["env", "args", "header"])
def test_what_is_not_shown_in_full_is_part_of_the_answer(folder: Folder, section: str) -> None:
    def write(value: str) -> None:
        server = {"id": "s", "command": sys.executable, "args": ["shelf.py", value if section == "args" else ""]}
        server["env"] = {"PYTHONPATH": value} if section == "env" else {}
        headers = {"X": value if section == "header" else ""}
        near = {"id": "near", "base_url": "http://127.0.0.1:1", "headers": headers}
        folder.workflow(STEP, TURNS, tools={"mcp": [server], "http_executors": [near]})

    folder.write("shelf.py", (EXAMPLES / "mcp" / "shelf.py").read_text())
    write("one")
    folder.strands("workflows", "trust", "flow.yaml")
    assert folder.strands("run", "flow.yaml").code == 0
    write("two")
    assert refused(folder.strands("run", "flow.yaml"))


def test_an_answer_is_for_one_folder_and_for_its_owner(folder: Folder) -> None:
    with_program(folder)
    folder.strands("workflows", "trust", "flow.yaml")
    [answer] = answers(folder)
    assert answer.stat().st_mode & 0o077 == 0
    assert answer.parent.stat().st_mode & 0o077 == 0
    (folder.work / "copy").mkdir()
    for name in ("flow.yaml", "flow.recording.yaml"):
        (folder.work / "copy" / name).write_text((folder.work / name).read_text())
    assert folder.strands("run", "flow.yaml", cwd=folder.work / "copy").code == 21
    assert folder.strands("workflows", "trust", "flow.yaml", "--forget").code == 0
    assert refused(folder.strands("run", "flow.yaml"))


def test_a_rule_that_names_the_file_allows_it_and_one_that_denies_is_stronger(folder: Folder) -> None:
    with_program(folder)
    assert folder.strands("run", "flow.yaml", "--allow", "workflow:flow.yaml").code == 0
    assert "unmatched-rule" not in folder.strands("run", "flow.yaml", "--allow", "workflow:flow.yaml").codes
    assert refused(folder.strands("run", "flow.yaml", "--allow", "workflow:other.yaml"))
    policy = folder.root / "home" / ".config" / "strands-cli" / "policy.yaml"
    policy.parent.mkdir(parents=True)
    policy.write_text(json.dumps({"version": 1, "rules": [{"allow": f"workflow:{folder.work}/*"}]}))
    assert folder.strands("run", "flow.yaml").code == 0
    policy.write_text(json.dumps({"version": 1, "rules": [{"deny": f"workflow:{folder.work}/*"}]}))
    folder.strands("workflows", "trust", "flow.yaml")
    ran = folder.strands("run", "flow.yaml", "--allow", "workflow:flow.yaml")
    assert (ran.code, CODE in ran.codes) == (21, True)


@pytest.mark.parametrize("rule", ["*", "api", "native:*"])
def test_a_rule_about_tools_allows_no_workflow(folder: Folder, rule: str) -> None:
    policy = folder.root / "home" / ".config" / "strands-cli" / "policy.yaml"
    policy.parent.mkdir(parents=True)
    policy.write_text(json.dumps({"version": 1, "rules": [{"allow": rule}]}))
    with_program(folder)
    assert refused(folder.strands("run", "flow.yaml"))


def test_what_lies_beside_the_workflow_allows_nothing(folder: Folder) -> None:
    with_program(folder)
    folder.write("strands-policy.yaml", {"version": 1, "rules": [{"allow": "workflow:*"}]})
    assert refused(folder.strands("run", "flow.yaml"))
    assert folder.strands("run", "flow.yaml", "--policy", "strands-policy.yaml").code == 0
    (folder.work / "strands-policy.yaml").unlink()
    assert folder.strands("lock").code == 0
    assert refused(folder.strands("run", "flow.yaml"))


def test_a_lock_that_is_required_answers_for_what_it_has(folder: Folder) -> None:
    with_program(folder)
    assert folder.strands("lock").code == 0
    assert folder.strands("lock", "--check").code == 0
    assert folder.strands("run", "flow.yaml", "--locked").code == 0
    with_program(folder, "sh -c 'printf %s-%s other secret-value'")
    assert folder.strands("lock", "--check").code == 21
    assert refused(folder.strands("run", "flow.yaml", "--locked"))


def test_a_stored_run_is_not_asked_about_again_and_a_new_one_is(folder: Folder) -> None:
    with_program(folder, pattern={"type": "chain", "config": {"steps": [{"type": "hitl", "prompt": "Well?"}, *STEP]}})
    folder.write("flow.recording.yaml", {"recording": 1, "steps": {"steps.1": [{"text": "done"}]}})
    folder.strands("workflows", "trust", "flow.yaml")
    assert folder.strands("run", "flow.yaml").code == 19
    [run] = [path.name for path in folder.runs.iterdir()]
    folder.strands("workflows", "trust", "flow.yaml", "--forget")
    assert folder.strands("approve", run).code == 0
    assert folder.strands("runs", "rerun", run, "--from", "steps.1").code == 21


def test_servers_are_not_started_to_be_listed_or_locked_before_the_answer(folder: Folder) -> None:
    first = "from __future__ import annotations\n"
    shelf = (EXAMPLES / "mcp" / "shelf.py").read_text()
    assert first in shelf
    folder.write("shelf.py", shelf.replace(first, f"{first}open('was-run', 'w').close()\n"))
    folder.workflow(STEP, TURNS, tools={"mcp": [{"id": "s", "command": sys.executable, "args": ["shelf.py"]}]})
    call = ("tools", "run", "mcp:s/find_books", "--of", "flow.yaml", "--input", '{"about": "bees"}')
    for command in (("tools", "list", "--mcp", "flow.yaml"), call, ("lock", "--mcp"), ("run", "flow.yaml")):
        assert folder.strands(*command).code == 21
        assert not was_run(folder)
    folder.strands("workflows", "trust", "flow.yaml")
    assert folder.strands("tools", "list", "--mcp", "flow.yaml").code == 0
    assert was_run(folder)


def moved(link: Path, target: Path) -> None:
    """Let a link lead elsewhere."""
    target.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(target)


@pytest.mark.parametrize("inside", [True, False])
def test_a_link_that_leads_elsewhere_than_at_the_question_is_asked_about(folder: Folder, inside: bool) -> None:
    near = {"http_executors": [{"id": "near", "base_url": "http://127.0.0.1:1"}]}
    folder.workflow(STEP, TURNS, env={"mounts": {"d": "./data"}}, tools=near)
    moved(folder.work / "data", folder.work / "own" if inside else folder.root / "harmless")
    folder.strands("workflows", "trust", "flow.yaml")
    assert folder.strands("run", "flow.yaml").code == 0
    moved(folder.work / "data", folder.root / "home" / "papers")
    ran = folder.strands("run", "flow.yaml")
    assert refused(ran)
    assert str(folder.root / "home" / "papers") in ran.err


def test_a_file_of_a_secret_behind_a_moved_link_is_asked_about(folder: Folder) -> None:
    sections = outside(folder)["file"]
    (folder.root / "next").mkdir()
    (folder.root / "next" / "key.txt").write_text("another-secret-value\n")
    moved(folder.work / "keys", folder.root / "other")
    sections["env"]["secrets"][0]["path"] = "keys/key.txt"
    folder.workflow(STEP, TURNS, **sections)
    folder.strands("workflows", "trust", "flow.yaml")
    assert folder.strands("run", "flow.yaml").code == 0
    moved(folder.work / "keys", folder.root / "next")
    assert refused(folder.strands("run", "flow.yaml"))


def test_another_program_of_the_same_name_is_asked_about(folder: Folder) -> None:
    for name in ("one", "two"):
        program = folder.root / name / "teller"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\ntouch {folder.work}/{name}\nprintf any-secret-value\n")
        program.chmod(0o755)
    with_program(folder, "teller")
    path = f"{folder.root}/two:{folder.environment()['PATH']}"
    folder.strands("workflows", "trust", "flow.yaml", PATH=path)
    assert folder.strands("run", "flow.yaml", PATH=path).code == 0
    ran = folder.strands("run", "flow.yaml", PATH=f"{folder.root}/one:{path}")
    assert refused(ran)
    assert str(folder.root / "one" / "teller") in ran.err
    assert not (folder.work / "one").exists()


@pytest.mark.parametrize("command", ["./teller", "sh ./teller", "sh -c './teller'", "sh teller", "env sh ./teller"])
def test_a_changed_program_of_the_folder_is_asked_about(folder: Folder, command: str) -> None:
    def write(said: str) -> None:
        program = folder.work / "teller"
        program.write_text(f"#!/bin/sh\ntouch {said}\nprintf any-secret-value\n")
        program.chmod(0o755)

    write("one")
    with_program(folder, command)
    assert folder.strands("workflows", "trust", "flow.yaml").code == 0
    assert folder.strands("lock").code == 0
    for options in ((), ("--locked",)):
        assert folder.strands("run", "flow.yaml", *options).code == 0
    write("two")
    for options in ((), ("--locked",)):
        assert refused(folder.strands("run", "flow.yaml", *options))
    assert not (folder.work / "two").exists()


def test_changed_code_by_its_suffix_or_module_is_asked_about_and_changed_data_is_not(folder: Folder) -> None:
    with_program(folder, "python3 -m teller --notes notes.db")
    (folder.work / "teller.py").write_text("print('any-secret-value', end='')\n")
    (folder.work / "notes.db").write_text("one")
    assert folder.strands("workflows", "trust", "flow.yaml").code == 0
    (folder.work / "notes.db").write_text("two")
    assert folder.strands("run", "flow.yaml").code == 0
    (folder.work / "teller.py").write_text("print('any-secret-value', end='')  # changed\n")
    assert refused(folder.strands("run", "flow.yaml"))


def test_the_same_words_in_other_arguments_are_asked_about(folder: Folder) -> None:
    def digest(*args: str) -> str:
        server = {"id": "s", "command": "sh", "args": list(args)}
        folder.workflow([{"tool": "mcp:s/go", "input": {}}], {}, tools={"mcp": [server]})
        found: str = json.loads(folder.strands("workflows", "trust", "flow.yaml", "--forget", "--json").out)["digest"]
        return found

    assert digest("-c", "echo", "a; b") != digest("-c", "echo a; b")


def test_a_relative_program_behind_a_moved_link_is_asked_about(folder: Folder) -> None:
    with_program(folder, "./bin/teller")
    for name in ("one", "two"):
        program = folder.root / name / "teller"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\nprintf any-secret-value\n")
        program.chmod(0o755)
    moved(folder.work / "bin", folder.root / "one")
    folder.strands("workflows", "trust", "flow.yaml")
    assert folder.strands("run", "flow.yaml").code == 0
    moved(folder.work / "bin", folder.root / "two")
    assert refused(folder.strands("run", "flow.yaml"))


def test_a_required_lock_does_not_answer_for_a_moved_link(folder: Folder) -> None:
    folder.workflow(STEP, TURNS, env={"mounts": {"d": "./data"}})
    moved(folder.work / "data", folder.root / "harmless")
    assert folder.strands("lock").code == 0
    assert folder.strands("run", "flow.yaml", "--locked").code == 0
    moved(folder.work / "data", folder.root / "papers")
    assert refused(folder.strands("run", "flow.yaml", "--locked"))


def test_a_stored_run_does_not_follow_a_moved_link(folder: Folder) -> None:
    steps = [{"type": "hitl", "prompt": "Well?"}, *STEP]
    folder.workflow(steps, {"steps.1": [{"text": "done"}]}, env={"mounts": {"d": "./data"}})
    moved(folder.work / "data", folder.root / "harmless")
    folder.strands("workflows", "trust", "flow.yaml")
    assert folder.strands("run", "flow.yaml").code == 19
    [run] = [path.name for path in folder.runs.iterdir()]
    moved(folder.work / "data", folder.root / "papers")
    ran = folder.strands("approve", run)
    assert ran.code == 17
    assert str(folder.root / "papers") in ran.err
    moved(folder.work / "data", folder.root / "harmless")
    assert folder.strands("approve", run).code == 0


def test_a_workflow_among_the_tools_brings_what_it_names(folder: Folder) -> None:
    with_program(folder)
    (folder.work / "flow.yaml").rename(folder.work / "inner.yaml")
    agents = {"writer": {"prompt": "x", "tools": ["workflow:./inner.yaml"]}}
    folder.workflow(STEP, TURNS, agents=agents)
    assert refused(folder.strands("run", "flow.yaml"))
    assert not was_run(folder)
    folder.strands("workflows", "trust", "flow.yaml")
    assert folder.strands("run", "flow.yaml").code == 0
    with_program(folder, "sh -c 'printf %s-%s other secret-value'")
    (folder.work / "flow.yaml").rename(folder.work / "inner.yaml")
    folder.workflow(STEP, TURNS, agents=agents)
    assert refused(folder.strands("run", "flow.yaml"))


def test_an_agent_in_a_file_of_its_own_is_asked_about_too(folder: Folder) -> None:
    tool = {"tool": "native:web_fetch", "config": {"allow_private": ["127.0.0.1:1"]}}
    test = {"name": "one", "input": "Go.", "recording": [{"text": "done"}], "expect": {"contains": ["done"]}}
    folder.write("agent.yaml", {"name": "a", "prompt": "x", "tools": [tool], "tests": [test]})
    ran = folder.strands("workflows", "agent", "test", "agent.yaml")
    assert (ran.code, ran.codes) == (21, [CODE, *ran.codes[1:]]), ran.err
    assert folder.strands("workflows", "trust", "agent.yaml").code == 0
    assert folder.strands("workflows", "agent", "test", "agent.yaml").code == 0


def test_json_says_what_is_allowed(folder: Folder) -> None:
    with_program(folder)
    assert folder.strands("workflows", "trust", "flow.yaml", "--forget", "--json").document["standing"] == "unanswered"
    document = folder.strands("workflows", "trust", "flow.yaml", "--json").document
    assert document["standing"] == "allowed"
    assert [use["kind"] for use in document["uses"]] == ["program"]


@pytest.mark.parametrize(("typed", "code"), [("y", 0), ("n", 21), ("", 21)])
def test_a_person_at_a_terminal_is_asked_once_with_everything_in_view(folder: Folder, typed: str, code: int) -> None:
    with_program(folder)
    with folder.terminal("run", "flow.yaml", columns=300) as terminal:
        terminal.wait_for(r"\[y/N\]")
        assert "touch was-run" in terminal.text
        assert "api.example.com" in terminal.text
        assert not was_run(folder)
        terminal.type(typed + "\n")
        assert terminal.end() == code
    assert was_run(folder) is (code == 0)
    assert folder.strands("run", "flow.yaml").code == code


@pytest.mark.parametrize(
    "words", [["list-tools", "--mcp", "flow.yaml"], ["tools", "run", "mcp:idle/x", "--of", "flow.yaml"]]
)
def test_a_server_that_no_step_uses_is_asked_about_before_a_command_starts_it(folder: Folder, words: list[str]) -> None:
    server = {"id": "idle", "command": "touch", "args": [str(folder.work / "started")]}
    step = {"tool": "native:calculator", "input": {"expression": "1"}}
    folder.workflow([step], tools={"mcp": [server]})
    assert folder.strands(*words).code == 21
    assert not (folder.work / "started").exists()


def with_own_python(folder: Folder) -> None:
    """Write a workflow with Python of its own, whose import leaves a file."""
    folder.workflow([{"tool": "own_words:shout", "input": {"text": "hi"}}], tools={"python_path": ["."]})
    lines = ["import pathlib", "from strands import tool", "pathlib.Path('was-run').touch()", "@tool"]
    body = ["def shout(text: str) -> str:", "    'Shout.'", "    return text.upper()"]
    (folder.work / "own_words.py").write_text("\n".join([*lines, *body]), encoding="utf-8")


@pytest.mark.parametrize(("typed", "code"), [("y", 0), ("n", 21)])
def test_python_that_only_its_name_allows_is_asked_about_once_in_each_folder(
    folder: Folder, typed: str, code: int
) -> None:
    with_own_python(folder)
    options = ("run", "flow.yaml", "--allow", "own_words:shout")
    allowed = {"STRANDS_CUSTOM_TOOL_ALLOWLIST": "own_words:shout"}
    with folder.terminal(*options, columns=300, **allowed) as terminal:
        terminal.wait_for(r"\[y/N\]")
        assert f"own_words of {folder.work}" in terminal.text
        assert not was_run(folder)
        terminal.type(typed + "\n")
        assert terminal.end() == code
    assert was_run(folder) is (code == 0)
    if code == 0:
        with folder.terminal(*options, **allowed) as terminal:
            assert terminal.end() == 0, "it is not asked again"
        assert folder.strands("workflows", "trust", "flow.yaml", "--forget", **allowed).code == 0
        assert answers(folder) == []


def test_python_that_a_required_lock_has_is_not_asked_about(folder: Folder) -> None:
    with_own_python(folder)
    allowed = {"STRANDS_CUSTOM_TOOL_ALLOWLIST": "own_words:shout"}
    assert folder.strands("lock", **allowed).code == 0
    words = ("run", "flow.yaml", "--allow", "own_words:shout", "--locked")
    with folder.terminal(*words, **allowed) as terminal:
        assert terminal.end() == 0, terminal.text
    assert was_run(folder)


@pytest.mark.parametrize("tools", [["file_read", "http_request"], ["workflow:inner.yaml"]])
def test_what_a_workflow_of_others_reads_and_sends_is_asked_about_and_the_fix_works(
    folder: Folder, tools: list[str]
) -> None:
    other = folder.root / "strangers"
    other.mkdir()
    (other / "turns.yaml").write_text(json.dumps({"recording": 1, "steps": TURNS}))
    for name, own in [("inner", ["file_read", "http_request"]), ("flow", tools)]:
        agents = {"writer": {"prompt": "Write.", "tools": own}}
        pattern = {"type": "chain", "config": {"steps": STEP}}
        runtime = {"provider": "replay", "recording": "turns.yaml"}
        text = {"version": 2, "name": name, "runtime": runtime, "agents": agents, "pattern": pattern}
        (other / f"{name}.yaml").write_text(json.dumps(text))
    ran = folder.strands("run", "../strangers/flow.yaml")
    assert (ran.code, CODE in ran.codes) == (21, True)
    assert "strands workflows trust ../strangers/flow.yaml" in ran.err
    assert folder.strands("workflows", "trust", "../strangers/flow.yaml").code == 0
    assert folder.strands("run", "../strangers/flow.yaml").code == 0
