"""Files that are no workflow, or a broken one: exit 3, each problem with its place, nothing run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from strands_cli.cli.program import run_program
from tests.cli.strands import Folder

BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 10)}]\n" for n in range(10)
)
GOOD = """\
version: 2
name: flow
runtime: {provider: replay, recording: flow.recording.yaml}
agents:
  writer: {prompt: You write.}
pattern:
  type: chain
  config:
    steps:
      - {agent: writer, input: Write.}
"""
BAD = {
    "not YAML": ("version: [1\nname: {", "not-yaml"),
    "no mapping": ("- 1\n- 2\n", None),
    "empty": ("", None),
    "a duplicate key": (GOOD + "name: again\n", "duplicate-key"),
    "an anchor bomb": (BOMB, None),
    "a tag that would build an object": ("version: !!python/object/apply:os.system ['true']\n", None),
    "an unknown key": (GOOD.replace("version: 2", "version: 2\ndescripton: x"), "unknown-key"),
    "a wrong type": (GOOD.replace("name: flow", "name: [flow]"), None),
    "an unknown agent": (GOOD.replace("agent: writer", "agent: writr"), "unknown-agent"),
    "an unknown tool": (GOOD.replace("You write.", "You write., tools: [calculatr]"), "unknown-tool"),
    "an unknown pattern": (GOOD.replace("chain", "chian"), None),
    "a template that does not compile": (GOOD.replace("input: Write.", "input: '{{ if'"), "bad-template"),
    "no provider": (GOOD.replace("provider: replay, ", ""), None),
    "a step that is none": (GOOD.replace("agent: writer, input: Write.", "agnt: writer"), None),
    "control characters": ("version: 2\nname: \x01\x02\n", None),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_broken_file_is_exit_3_with_a_finding_and_no_run(
    kind: str, folder: Folder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text, code = BAD[kind]
    monkeypatch.chdir(folder.work)
    folder.write("flow.yaml", text)
    folder.write("flow.recording.yaml", {"recording": 1, "steps": {}})
    assert run_program(["run", "flow.yaml", "--runs-dir", str(folder.runs), "--json"]) == 3
    shown = capsys.readouterr()
    findings = json.loads(shown.out)["error"]["findings"]
    assert findings
    assert all(found["line"] and found["file"] == "flow.yaml" for found in findings if found["severity"] == "error")
    if code is not None:
        assert code in [found["code"] for found in findings]
    assert "flow.yaml:" in shown.err
    assert "Traceback" not in shown.err
    assert not folder.runs.exists()


@pytest.mark.parametrize(
    ("word", "meant"), [("descripton: x", "description"), ("agnets: {}", "agents"), ("rutime: {}", "runtime")]
)
def test_a_misspelt_key_is_answered_with_the_key_that_was_meant(
    word: str, meant: str, folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder.write("flow.yaml", GOOD + word + "\n")
    assert run_program(["run", str(path)]) == 3
    assert f"`{meant}`" in capsys.readouterr().err


def test_more_than_10_mb_are_refused_without_being_read_whole(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder.write("flow.yaml", GOOD + "#" * (10 * 1024 * 1024))
    assert run_program(["run", str(path)]) == 3
    assert "error[document-too-large]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nowhere.yaml"], 2, "No such file"),
        (["."], 2, "directory"),
        (["\0"], 2, "\\x00"),
        (["flow.yaml", "--vars-file", "nowhere.json"], 2, "No such file"),
        (["flow.yaml", "--vars-file", "list.yaml"], 2, "list.yaml"),
        (["flow.yaml", "--vars-file", "broken.yaml"], 2, "broken.yaml"),
        (["flow.yaml", "--var", "=x", "--var", "y"], 2, "'y'"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_usage_error(
    arguments: list[str],
    code: int,
    said: str,
    folder: Folder,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder.work)
    folder.write("flow.yaml", GOOD)
    folder.write("list.yaml", "[1, 2]")
    folder.write("broken.yaml", "a: [")
    assert run_program(["run", *arguments]) == code
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.out == ""


def test_inputs_come_from_files_and_words_the_words_last(folder: Folder) -> None:
    required = {"topic": "string", "count": {"type": "integer", "enum": [1, 2, 3]}, "deep": "boolean", "tags": "array"}
    step = {"agent": "writer", "input": "{{ topic }} {{ count + 1 }} {{ deep | lower }} {{ tags | join('-') }}"}
    folder.workflow([step], {"steps.0": [{"when": "bees 3 true a-b", "text": "ok"}]}, inputs={"required": required})
    folder.write("one.json", {"count": 2, "tags": ["a", "b"]})
    folder.write("two.yaml", "deep: true\n")
    arguments = ["--vars-file", "one.json", "--vars-file", "two.yaml", "--var", "topic=bees"]
    ran = folder.strands("run", "flow.yaml", *arguments, "--quiet")
    assert (ran.code, ran.out) == (0, "ok\n"), ran.err
    bad = folder.strands("run", "flow.yaml", *arguments, "--var", "deep=perhaps", "--var", "extra=1")
    assert bad.code == 2
    assert sorted(bad.codes) == ["bad-input", "unknown-input"]
    assert "'deep'" in bad.err
    assert "'extra'" in bad.err


def test_a_path_is_printed_as_it_was_given(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder.write("flow\x1b[31m.yaml", "- 1\n")
    assert run_program(["run", str(path)]) == 3
    shown = capsys.readouterr().err
    assert "\x1b" not in shown
    assert f"{Path(path).parent}" in shown
