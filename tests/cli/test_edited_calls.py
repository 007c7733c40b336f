"""A call that a person changes before it is made: in an editor, by an option, at the prompt of a run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from strands_cli.config import account_name
from tests.cli.strands import Folder, Ran
from tests.distributions import make_distribution
from tests.fakes.model_server import ModelServer, Turn
from tests.wordings import Wording

if sys.platform == "win32":
    pytest.skip("the editors here are scripts of a shell", allow_module_level=True)

AGENT = {"writer": {"prompt": "You write.", "tools": ["native:file_write"]}}
STEP = {"agent": "writer", "input": "One."}
CALL = "steps.0/tool.0.file_write"
PROPOSED = {"path": "a.txt", "content": "one\n"}


def editor(folder: Folder, body: str) -> dict[str, str]:
    """Write a program that edits the file `$1`, and return the variable that names it."""
    script = folder.write("editor.sh", f"#!/bin/sh\n{body}\n")
    script.chmod(0o700)
    return {"EDITOR": str(script)}


def waiting(folder: Folder, *calls: dict[str, Any], **sections: Any) -> None:
    """Leave a run that waits for the approval of a call."""
    turns = [{"calls": [{"file_write": call}]} for call in calls or (PROPOSED,)]
    folder.workflow([STEP], {"steps.0": [*turns, {"text": "done"}]}, agents=AGENT, **sections)
    assert folder.strands("run", "flow.yaml", "--detach").code == 19


def whole(folder: Folder, key: str = CALL) -> dict[str, Any]:
    document: dict[str, Any] = folder.strands("runs", "show", "last", key, "--json").document
    return document


def kept_file(ran: Ran) -> Path:
    """Return the file with the changes of a person, which a message names."""
    return Path(ran.err.rpartition("kept in ")[2].split(";")[0].split()[0])


def files(folder: Folder) -> set[str]:
    return {path.name for path in folder.work.iterdir()} - {"flow.yaml", "flow.recording.yaml", "editor.sh"}


def test_the_call_is_made_as_it_was_changed_and_the_model_reads_the_change(folder: Folder) -> None:
    folder.workflow([STEP], agents=AGENT, runtime={"provider": "openai", "model_id": "m"})
    with ModelServer([Turn(calls=[("file_write", PROPOSED)]), Turn("done")]) as server:
        live = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": server.url}
        assert folder.strands("run", "flow.yaml", "--detach", **live).code == 19
        ran = folder.strands("approve", "last", "--edit", **live, **editor(folder, "sed -i s/a.txt/b.txt/ $1"))
        assert (ran.code, ran.out) == (0, "done\n"), ran.err
        told = [message for message in server.model_requests[-1]["messages"] if message["role"] == "tool"]
    assert files(folder) == {"b.txt"}
    assert '`path` from "a.txt" to "b.txt"' in json.dumps(told).replace('\\"', '"')
    call = whole(folder)
    assert (call["arguments"]["path"], call["called_with"]["path"]) == ("a.txt", "b.txt")
    assert call["edited_by"] == account_name()
    assert whole(folder, f"{CALL}/approval")["question"]["arguments"]["path"] == "b.txt"
    shown = folder.strands("runs", "show", "last", CALL).out
    assert f"changed by:   {account_name()}" in shown
    assert shown.count("a.txt") == 2, "as proposed, and in what the model is told"


@pytest.mark.parametrize("given", ["-", "args.yaml"])
def test_a_script_gives_the_arguments(folder: Folder, given: str) -> None:
    waiting(folder)
    folder.write("args.yaml", "path: c.txt\ncontent: x\n")
    ran = folder.strands("approve", "last", "--arguments", given, given='{"path": "c.txt", "content": "x"}')
    assert ran.code == 0, ran.err
    assert 'changed: `path` from "a.txt" to "c.txt"' in ran.err
    assert (folder.work / "c.txt").read_text() == "x"
    assert whole(folder)["called_with"]["mode"] == "overwrite", "a default is filled in again"


def test_arguments_that_do_not_fit_are_refused_and_the_call_waits(folder: Folder) -> None:
    waiting(folder)
    for given, problem in {
        '{"path": "c.txt"}': "content",
        '{"path": ["c.txt"], "content": "x"}': "path",
        '{"path": "c.txt",': "cannot be read",
        "[]": "[]",
        "none.yaml": "none.yaml",
    }.items():
        ran = folder.strands("approve", "last", "--arguments", given)
        assert ran.code == 2, ran.err
        assert problem in ran.err
    for words in (["--edit", "--arguments", "{}"], ["--arguments", '{"path": "c", "content": ""}', "--answer", "no"]):
        assert folder.strands("approve", "last", *words).code == 2
    assert files(folder) == set()
    assert folder.strands("approve", "last").code == 0


def test_the_file_of_an_edit_that_does_not_fit_is_kept_and_can_be_given(folder: Folder, wording: Wording) -> None:
    waiting(folder)
    ran = folder.strands("approve", "last", "--edit", **editor(folder, "sed -i s/overwrite/sideways/ $1"))
    assert ran.code == 2
    file = kept_file(ran)
    wording(ran.err.replace(str(file), "FILE"))
    assert file.stat().st_mode & 0o077 == 0
    file.write_text(file.read_text().replace("sideways", "create"))
    assert folder.strands("approve", "last", "--arguments", str(file)).code == 0
    assert whole(folder)["called_with"]["mode"] == "create"


def test_an_edit_that_a_rule_refuses_is_asked_again_with_the_reason_and_not_made(
    folder: Folder, wording: Wording
) -> None:
    folder.write("strands-policy.yaml", 'version: 1\nrules: [{deny: "*", writes: "secret/**", reason: closed}]\n')
    waiting(folder)
    ran = folder.strands("approve", "last", "--edit", **editor(folder, "sed -i s:a.txt:secret/b.txt: $1"))
    assert ran.code == 19, ran.err
    (question,) = folder.strands("runs", "show", "last", "--json").document["questions"]
    wording(question["problem"])
    assert question["problem"] in ran.err
    assert question["problem"] in folder.strands("runs", "show", "last").out
    again = folder.strands(
        "approve", "last", "--edit", **editor(folder, "cp $1 seen.yaml; sed -i s:secret/b.txt:b.txt: $1")
    )
    assert again.code == 0, again.err
    seen = (folder.work / "seen.yaml").read_text()
    assert seen.startswith(f"# PROBLEM: {question['problem']}\n")
    assert "\npath: secret/b.txt\n" in seen, "the last try, not the proposed call"
    assert files(folder) == {"strands-policy.yaml", "seen.yaml", "b.txt"}


def test_an_editor_that_changes_nothing_or_fails_leaves_the_question(folder: Folder, wording: Wording) -> None:
    waiting(folder)
    for body in ("true", ": > $1", "sed -i '/^[^#]/d' $1", "rm $1", "exit 3", "kill -INT $$"):
        ran = folder.strands("approve", "last", "--edit", **editor(folder, body))
        assert ran.code == 19
        message = ran.err.replace(str(folder.work / "editor.sh"), "EDITOR")
        wording(message.replace(str(kept_file(ran)), "FILE") if "kept in" in ran.err else message)
    assert files(folder) == set()
    assert folder.strands("approve", "last").code == 0


def test_a_missing_editor_is_an_error_with_the_other_way(folder: Folder, wording: Wording) -> None:
    waiting(folder)
    for name in (None, "no-such-editor", "'unclosed"):
        ran = folder.strands("approve", "last", "--edit", **({} if name is None else {"VISUAL": name}))
        assert ran.code == 2
        wording(ran.err)


@pytest.mark.parametrize("goes_on", [False, True])
def test_the_second_of_two_editors_learns_who_answered_and_keeps_the_file(folder: Folder, goes_on: bool) -> None:
    waiting(folder)
    meanwhile = f"{sys.executable} -m strands_cli approve last {'' if goes_on else '--no-resume'} </dev/null"
    ran = folder.strands("approve", "last", "--edit", **editor(folder, f"{meanwhile}; sed -i s/a.txt/b.txt/ $1"))
    assert ran.code == 2
    assert f"answered by {account_name()}: yes" in ran.err
    file = kept_file(ran)
    assert "path: b.txt" in file.read_text()
    assert files(folder) == ({"a.txt"} if goes_on else set())


def test_an_edit_is_for_this_call_alone_and_survives_its_process(folder: Folder) -> None:
    waiting(folder, PROPOSED, {"path": "z.txt", "content": "two"})
    stored = folder.strands("approve", "last", "--arguments", '{"path": "b.txt", "content": ""}', "--no-resume")
    assert stored.code == 0
    assert files(folder) == set()
    assert folder.strands("resume", "last").code == 19, "the next call of the tool is asked about"
    assert files(folder) == {"b.txt"}
    late = folder.strands("approve", "last", CALL, "--edit", **editor(folder, "true"))
    assert late.code == 2


@pytest.mark.kills
def test_a_call_that_is_changed_to_change_something_is_not_made_twice(folder: Folder) -> None:
    """The proposed call only reads, so it would be made again after a process that was killed in it."""
    kill = "import os, signal\nopen('calls.txt', 'a').write('x')\nos.kill(os.getpid(), signal.SIGKILL)"
    described = {"properties": {"text": {"type": "string"}}, "required": ["text"], "type": "object"}
    reads = {"properties": {"text": {"const": "look"}}}
    folder.tool(
        "act",
        kill,
        inputSchema={"json": described},
        annotations={"destructiveHint": True},
        strands_cli={"read_only_when": reads},
    )
    folder.write("strands-policy.yaml", "version: 1\nrules: [{ask: act}]\n")
    folder.workflow([{"tool": "native:act", "input": {"text": "look"}}])
    assert folder.strands("run", "flow.yaml", "--detach").code == 19
    edited = ["approve", "last", "--arguments", '{"text": "change"}']
    assert folder.strands(*edited, "--no-resume").code == 0
    killed = folder.start("resume", "last")
    assert killed.end().code == -9
    assert folder.strands("resume", "last").code == 19, "a person decides"
    assert (folder.work / "calls.txt").read_text() == "x"
    assert whole(folder, "steps.0/tool.0.act")["called_with"] == {"text": "change"}


@pytest.mark.kills
def test_an_edit_is_used_after_its_process_was_killed_before_it_went_on(folder: Folder) -> None:
    source = (
        "import os, pathlib, signal\nfrom strands import tool\nif os.path.exists('armed'):\n"
        "    os.remove('armed')\n    os.kill(os.getpid(), signal.SIGKILL)\n\n\n"
        '@tool\ndef act(text: str) -> str:\n    """Acts."""\n    return text\n'
    )
    entry, files_of_tool = {"act": "strands_tool_act:act"}, {"strands_tool_act/__init__.py": source}
    make_distribution(folder.site, "strands-tool-act", "1.0", entry, files_of_tool)
    folder.workflow([{"tool": "native:act", "input": {"text": "proposed"}}])
    assert folder.strands("run", "flow.yaml", "--detach").code == 19
    folder.write("armed", "")
    killed = folder.start("approve", "last", "--arguments", '{"text": "changed"}')
    assert killed.end().code == -9
    assert folder.strands("resume", "last").out == "changed\n"


def test_the_hidden_part_of_an_argument_stays_unless_it_is_written_whole(folder: Folder, wording: Wording) -> None:
    folder.environ["MY_TOKEN"] = "sesame-open-9931"
    content = "key: {{ 'sesame-open' ~ '-9931' }}\n"
    step = {"tool": "native:file_write", "input": {"path": "a.txt", "content": content}}
    folder.workflow([step], env={"secrets": [{"key": "MY_TOKEN"}]})
    assert folder.strands("run", "flow.yaml", "--detach").code == 19
    assert folder.strands("approve", "last", "--edit", **editor(folder, "sed -i s/key:/k:/ $1")).code == 19
    wording(folder.strands("runs", "show", "last", "--json").document["questions"][0]["problem"])
    body = "cp $1 seen.yaml; sed -i 's/a.txt/b.txt/; s/k:/key:/' $1"
    ran = folder.strands("approve", "last", "--edit", **editor(folder, body))
    assert ran.code == 0, ran.err
    assert "sesame" not in (folder.work / "seen.yaml").read_text()
    assert (folder.work / "b.txt").read_text() == "key: sesame-open-9931\n"


@pytest.mark.terminals
def test_the_arguments_are_changed_at_the_prompt_of_a_run(folder: Folder) -> None:
    folder.workflow([STEP], {"steps.0": [{"calls": [{"file_write": PROPOSED}]}, {"text": "done"}]}, agents=AGENT)
    script = editor(
        folder, "test -e once && sed -i s/overwrite/create/ $1 || { sed -i s/overwrite/odd/ $1; : > once; }"
    )
    with folder.terminal("run", "flow.yaml", **script) as terminal:
        terminal.wait_for(r"\[y/N/a/e/d\] $")
        terminal.type("e\n")
        terminal.wait_for(r"again\? \[Y/n\] $")
        terminal.type("n\n")
        terminal.wait_for(r"kept in\s+\S+\.yaml")
        terminal.wait_for(r"\[y/N/a/e/d\] $")
        terminal.type("e\n")
        terminal.wait_for(r"changed: `mode`")
        terminal.wait_for(r"\[y/N/d\] $")
        terminal.type("y\n")
        assert terminal.end() == 0
    assert whole(folder)["called_with"]["mode"] == "create"


@pytest.mark.terminals
def test_ctrl_c_in_an_editor_is_the_editors(folder: Folder) -> None:
    waiting(folder)
    script = editor(folder, "trap 'exit 1' INT; echo ready; read line")
    with folder.terminal("approve", "last", "--edit", **script) as terminal:
        terminal.wait_for("ready")
        terminal.type("\x03")
        terminal.wait_for("waits still")
        assert terminal.end() == 19
    assert folder.strands("approve", "last").code == 0


def test_a_gate_has_no_arguments(folder: Folder, wording: Wording) -> None:
    folder.workflow([{"type": "hitl", "prompt": "Go?"}])
    assert folder.strands("run", "flow.yaml", "--detach").code == 19
    ran = folder.strands("approve", "last", "--edit", **editor(folder, "true"))
    assert ran.code == 2
    wording(ran.err)
