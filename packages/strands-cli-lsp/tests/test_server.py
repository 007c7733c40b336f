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


def place(text: str, path: Path) -> dict[str, Any]:
    """Return where `|` is in a text, as the parameters of a question; the pictures before it are two units each."""
    before = text.partition("|")[0]
    column = len(before.rpartition("\n")[2].encode("utf-16-le")) // 2
    return {"textDocument": {"uri": path.as_uri()}, "position": {"line": before.count("\n"), "character": column}}


SOUND = FLOW.replace("respnse", "response")


# A part of the text, what is typed in its place up to the cursor, and what it becomes with the offered word.
OFFERED = [
    ("recording: none.yaml}", "recording: none.yaml, mod|", "recording: none.yaml, model_id: "),
    ('- {agent: writer, input: "🙂 {{ topic }}"}', "- agent: writer\n        inp|", "- agent: writer\n        input: "),
    ("{agent: writer", "{agent: wri|", "{agent: writer"),
    ("You write.}", "You write., tools: [calc|", "You write., tools: [native:calculator"),
    ("You write.}", "You write., memory: |", "You write., memory: run"),
    ("type: chain", "type: |", "type: graph"),
    ("{{ topic }}", "{{ to| }}", "{{ topic }}"),
    ('{{ topic }}"}', "{{ to|", "{{ topic"),
    ("{{ steps[0].response }}", "{{ steps[0].re| }}", "{{ steps[0].response }}"),
]


def test_what_may_be_written_at_a_place_is_offered(folder: Folder, editor: Editor) -> None:
    for number, (old, typed, whole) in enumerate(OFFERED):
        path, marked = folder.work / f"{number}.yaml", SOUND.replace(old, typed, 1)
        text = marked.replace("|", "")
        editor.open(path, text)
        items = editor.ask("textDocument/completion", place(marked, path))
        assert SOUND.replace(old, whole, 1) in [applied(text, [item["textEdit"]]) for item in items], typed
        editor.tell("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})


def test_a_key_a_tool_and_its_rule_are_explained(folder: Folder, editor: Editor) -> None:
    path = folder.work / "flow.yaml"
    marked = SOUND.replace("{prompt: You write.}", "{prompt: You write., mem|ory: run, tools: [native:calculator]}")
    editor.open(path, marked.replace("|", ""))
    shown = editor.ask("textDocument/hover", place(marked, path))["contents"]["value"]
    assert shown.startswith("**memory**: ")
    tool = marked.replace("|", "").replace("native:calc", "native:calc|")
    shown = editor.ask("textDocument/hover", place(tool, path))["contents"]["value"]
    assert "strands-tool-calculator" in shown
    assert "calculator: allow" in shown


def test_names_lead_to_where_they_are_defined(folder: Folder, editor: Editor) -> None:
    path, agent = folder.work / "flow.yaml", folder.write("agent.yaml", "prompt: You write.\n")
    text = SOUND.replace("{prompt: You write.}", "{$ref: agent.yaml}")
    editor.open(path, text)
    for old, new, line in [
        ("agent: writer", "agent: wri|ter", 5),
        ("{{ topic", "{{ to|pic", 3),
        ("steps[0]", "steps[|0]", 10),
        ("agent.yaml", "ag|ent.yaml", 0),
    ]:
        found = editor.ask("textDocument/definition", place(text.replace(old, new, 1), path))
        assert (found["range"]["start"]["line"], found["uri"]) == (line, (path if line else agent).as_uri())
    assert editor.ask("textDocument/definition", place(text.replace("name: letters", "name: let|ters"), path)) is None
