"""`strands validate --fix` and `--diff`: what is written, what is only shown, and what is left alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from strands_cli.api import FileChecks
from strands_cli_lsp.fix_command import FixedFile
from tests.cli.strands import Folder

SPOILED = """\
# A comment with ünïcode 🙂
name: letters   # kept
tags: post
runtime: {provider: replay, recording: none.yaml, modle_id: 4}
inputs: {required: {topic: string}}
agents:
    writer: {promt: "You write."}   # four spaces
    reader: {prompt: You read.}
pattern:
    typ: chain
    config:
        steps:
          - agent: writter
            input: '🙂 {{ topc }} and {{ topic | uper }}'
          - {agent: reader, input: {{ last_response }}}
          - {agent: writer, input: "{{ steps[0].respnse }}"}
"""
SOUND = """\
# A comment with ünïcode 🙂
version: 2
name: letters   # kept
tags: [post]
runtime: {provider: replay, recording: none.yaml, model_id: 4}
inputs: {required: {topic: string}}
agents:
    writer: {prompt: "You write."}   # four spaces
    reader: {prompt: You read.}
pattern:
    type: chain
    config:
        steps:
          - agent: writer
            input: '🙂 {{ topic }} and {{ topic | upper }}'
          - {agent: reader, input: "{{ last_response }}"}
          - {agent: writer, input: "{{ steps[0].response }}"}
"""


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_mistakes_of_many_kinds_are_corrected_at_once_and_the_layout_stays(
    folder: Folder, ending: str, mark: str
) -> None:
    path = folder.work / "flow.yaml"
    path.write_bytes((mark + SPOILED.replace("\n", ending)).encode())
    path.chmod(0o640)
    ran = folder.strands("validate", "flow.yaml", "--fix")
    assert path.read_bytes().decode() == mark + SOUND.replace("\n", ending), ran.err
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert ran.code == 0
    assert [*folder.work.iterdir()] == [path]
    assert folder.strands("validate", "flow.yaml", "--fix", "--json").document["files"][0]["changed"] is False


def test_the_difference_is_printed_and_nothing_is_written(folder: Folder) -> None:
    folder.write("flow.yaml", SPOILED)
    ran = folder.strands("validate", "flow.yaml", "--diff")
    assert "+version: 2\n" in ran.out
    assert "-    typ: chain\n+    type: chain\n" in ran.out
    assert (ran.code, (folder.work / "flow.yaml").read_text("utf-8")) == (3, SPOILED)
    assert "unknown-key" in ran.err


def test_the_corrections_are_data(folder: Folder) -> None:
    folder.write("flow.yaml", SPOILED)
    document = folder.strands("validate", "flow.yaml", "--fix", "--json").document
    file = document["files"][0]
    assert (file["changed"], file["written"], file["valid"]) == (True, True, True)
    assert {"code": "unknown-key", "line": 11, "old": "    typ: chain", "new": "    type: chain"} in file["fixed"]
    assert file["diff"].startswith("--- flow.yaml\n")
    assert [finding["code"] for finding in document["findings"]] == ["file-unreadable"]


def test_standard_input_is_shown_only(folder: Folder) -> None:
    ran = folder.strands("validate", "-", "--fix", given=SPOILED)
    assert "+version: 2\n" in ran.out
    assert "standard input" in ran.err
    assert ran.code == 3


def test_links_read_only_files_and_files_of_several_names_are_shown_only(folder: Folder) -> None:
    real = folder.write("real.yaml", SPOILED)
    (folder.work / "link.yaml").symlink_to(real)
    locked = folder.write("locked.yaml", SPOILED)
    locked.chmod(0o444)
    os.link(folder.write("named.yaml", SPOILED), folder.work / "twice.yaml")
    for name in ("link.yaml", "locked.yaml", "twice.yaml"):
        ran = folder.strands("validate", name, "--fix", "--json")
        file = ran.document["files"][0]
        assert (file["changed"], file["written"], ran.code) == (True, False, 3)
        assert f"{name}: not written" in ran.err
        assert (folder.work / name).read_text("utf-8") == SPOILED


def test_a_file_that_has_changed_since_is_left_alone(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.work)
    path = folder.write("flow.yaml", SPOILED)
    (file,) = FileChecks.named(["flow.yaml"])
    fixed = FixedFile.of(file)
    path.write_text(SPOILED + "# of an editor\n", encoding="utf-8")
    assert fixed.write() is not None
    assert path.read_text("utf-8") == SPOILED + "# of an editor\n"
    assert [*folder.work.iterdir()] == [path]


def test_all_files_below_a_folder_are_corrected_agents_too(folder: Folder) -> None:
    flow = folder.write("flows/flow.yaml", SPOILED)
    agent = folder.write("flows/agent.yaml", "prompt: You write.\nmodle_id: a\n")
    assert folder.strands("validate", "flows", "--fix").code == 0
    assert (flow.read_text("utf-8"), agent.read_text("utf-8")) == (SOUND, "prompt: You write.\nmodel_id: a\n")


CHAIN = """\
version: 2
name: chain
runtime: {provider: replay, recording: none.yaml}
agents: {alpha: {prompt: A}}
pattern:
  type: chain
  config:
    steps: [{agent: alpha}]
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("provider: replay", "Provider: replay"),  # where requests go
        ("provider: replay", "provider: repaly"),
        ("pattern:", "security: {permissions: {deny: [calculatr]}}\npattern:"),  # what may be done
        ("pattern:", "secrity: {permissions: {deny: [calculator]}}\npattern:"),
        ("pattern:", "env: {mount: {data: .}}\npattern:"),
        ("pattern:", "tools: {mcp: [{id: a, comand: python3}]}\npattern:"),
        ("agent: alpha", "agent: beta"),  # no name is near
        ("agent: alpha", "agent: alpa"),  # either may be the right one
        ("{prompt: A}", "{prompt: A, promt: B}"),
        ("name: chain\n", "name: chain\nname: other\n"),
        ("{prompt: A}", '{prompt: A, limits: {turns: "5a"}}'),
    ],
)
def test_nothing_is_corrected_that_has_no_certain_correction(folder: Folder, old: str, new: str) -> None:
    path = folder.write("flow.yaml", CHAIN.replace(old, new, 1))
    before = path.read_bytes()
    folder.strands("validate", "flow.yaml", "--fix")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "text",
    [
        CHAIN.replace("prompt: A}", "promt: A, prmpt: B}"),  # two for one place
        CHAIN.replace("name: chain", "nmae: chain\nnaem: chain"),
    ],
)
def test_of_two_corrections_of_one_place_none_is_made(folder: Folder, text: str) -> None:
    path = folder.write("flow.yaml", text)
    assert folder.strands("validate", "flow.yaml", "--fix").code == 3
    assert path.read_text("utf-8") == text


def test_the_definition_is_corrected_where_more_places_agree_on_another_name(folder: Folder) -> None:
    steps = "steps: [{agent: alpha}, {agent: alpha}]"
    sound = CHAIN.replace("steps: [{agent: alpha}]", steps)
    path = folder.write("flow.yaml", sound.replace("alpha: {prompt", "alhpa: {prompt"))
    assert folder.strands("validate", "flow.yaml", "--fix").code == 0
    assert path.read_text("utf-8") == sound


def test_a_difference_has_no_form_for_machines_that_mark_lines(folder: Folder) -> None:
    folder.write("flow.yaml", SPOILED)
    for form in ("github", "sarif"):
        assert folder.strands("validate", "flow.yaml", "--diff", "--format", form).code == 2
    assert folder.strands("validate", "none.yaml", "--fix").code == 2


def test_a_missing_or_unreadable_file_is_reported_as_without_corrections(folder: Folder, tmp_path: Path) -> None:
    (folder.work / "flow.yaml").write_bytes(b"\xff\xfe")
    ran = folder.strands("validate", "flow.yaml", "--fix")
    assert (ran.code, "not-utf8" in ran.err) == (3, True)
    assert (folder.work / "flow.yaml").read_bytes() == b"\xff\xfe"
