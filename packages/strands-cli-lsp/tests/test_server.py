"""The language server, asked by an editor over stdio: findings and corrections of texts that are not saved."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from editor import Editor

from tests.cli.strands import Folder

FLOW = """\
version: 2
name: letters
runtime: {provider: replay, recording: none.yaml}
inputs: {required: {topic: string}}
agents:
  writer: {prompt: You write.}
pattern:
  type: chain
  config:
    steps:
      - {agent: writer, input: "🙂 {{ topic }}"}
      - {agent: writer, input: "🙂 {{ steps[0].respnse }}"}
"""


def applied(text: str, edits: list[dict[str, Any]]) -> str:
    """Return a text with the edits of an editor, whose columns are units of UTF-16."""
    lines = text.splitlines(keepends=True)

    def offset(position: dict[str, int]) -> int:
        line = lines[position["line"]] if position["line"] < len(lines) else ""
        units = line.encode("utf-16-le")[: 2 * position["character"]]
        return sum(map(len, lines[: position["line"]])) + len(units.decode("utf-16-le"))

    for edit in sorted(edits, key=lambda edit: offset(edit["range"]["start"]), reverse=True):
        start, end = (offset(edit["range"][side]) for side in ("start", "end"))
        text = text[:start] + edit["newText"] + text[end:]
    return text


def corrections(editor: Editor, path: Path, finding: dict[str, Any], only: list[str] | None = None) -> Any:
    context: dict[str, Any] = {"diagnostics": [finding]} | ({"only": only} if only else {})
    params = {"textDocument": {"uri": path.as_uri()}, "range": finding["range"], "context": context}
    return editor.ask("textDocument/codeAction", params)


def test_findings_of_unsaved_text_come_with_their_corrections(folder: Folder, editor: Editor) -> None:
    path = folder.work / "flow.yaml"
    editor.open(path, FLOW)
    named = [finding for finding in editor.findings(path) if finding["code"] == "unknown-name"]
    assert [finding["severity"] for finding in named] == [1]
    line = FLOW.splitlines()[11]
    start, end = named[0]["range"]["start"], named[0]["range"]["end"]
    assert start == {"line": 11, "character": line.index('"')}
    # The picture is two units of UTF-16.
    assert end == {"line": 11, "character": line.rindex('"') + 2}
    quick, whole = corrections(editor, path, named[0])
    assert (quick["kind"], whole["kind"]) == ("quickfix", "source.fixAll")
    sound = FLOW.replace("respnse", "response")
    for action in (quick, whole):
        assert applied(FLOW, action["edit"]["changes"][path.as_uri()]) == sound
    editor.change(path, sound, 2)
    assert [finding["code"] for finding in editor.findings(path, 2)] == ["file-unreadable"]
    assert not path.exists()
    assert editor.end() == 0


def test_text_that_is_half_written_has_its_fault_and_all_corrections(folder: Folder, editor: Editor) -> None:
    path, text = folder.work / "flow.yaml", FLOW.replace("name: letters", "name:letters").replace("respnse", "response")
    editor.open(path, text)
    (finding,) = editor.findings(path)
    assert finding["code"] == "not-yaml"
    (action,) = corrections(editor, path, finding, ["source.fixAll"])
    assert applied(text, action["edit"]["changes"][path.as_uri()]) == text.replace("name:letters", "name: letters")


def test_an_agent_in_another_open_text_counts(folder: Folder, editor: Editor) -> None:
    agent = folder.write("agent.yaml", "prompt: You write.\n")
    path = folder.work / "flow.yaml"
    text = FLOW.replace("{prompt: You write.}", "{$ref: agent.yaml}").replace("respnse", "response")
    editor.open(agent, "prompt: You write.\nmodle_id: a\n")
    assert [finding["code"] for finding in editor.findings(agent)] == ["unknown-key"]
    editor.open(path, text)
    assert "unknown-key" in [finding["code"] for finding in editor.findings(path)]
    assert agent.read_text("utf-8") == "prompt: You write.\n"


def test_a_rule_that_rights_depend_on_has_no_correction(folder: Folder, editor: Editor) -> None:
    path, text = folder.work / "flow.yaml", FLOW + "security: {permisions: {deny: [calculator]}}\n"
    editor.open(path, text)
    (finding,) = (finding for finding in editor.findings(path) if finding["code"] == "unknown-key")
    assert [action["kind"] for action in corrections(editor, path, finding)] == ["source.fixAll"]


def test_other_yaml_has_no_findings(folder: Folder, editor: Editor) -> None:
    path = folder.work / "compose.yaml"
    editor.open(path, "services: {web: {image: a}}\n")
    assert editor.findings(path) == []


def test_a_check_that_hangs_is_ended_and_the_next_one_works(folder: Folder) -> None:
    os.mkfifo(folder.work / "never.yaml")
    editor = Editor(folder.work, folder.environment(), "--limit", "8")
    path = folder.work / "flow.yaml"
    editor.open(path, FLOW.replace("{prompt: You write.}", "{$ref: never.yaml}"))
    assert "check" in editor.logged()
    editor.change(path, FLOW, 2)
    assert "unknown-name" in [finding["code"] for finding in editor.findings(path, 2)]
    assert editor.end() == 0
