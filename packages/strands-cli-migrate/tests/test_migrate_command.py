"""`strands workflows migrate`: what it writes where, what it prints, and what it refuses."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.strands import Folder

OLD = """\
# Bees.
version: 0
name: old
runtime: {provider: replay, recording: turns.yaml}   # no model
agents: {a: {prompt: A}}
pattern:
  type: chain
  config:
    steps:
      - {agent: a, input: "{{ 'bumblebee' | truncate(6) }}"}   # cut
"""
NEW = """\
# Bees.
version: 2
name: old
runtime: {provider: replay, recording: turns.yaml}   # no model
inputs:
  allow_undeclared: true
context_policy:
  memory: path
  prompt_end: |-
    # Runtime Context
    - Workflow: old
    - Agent ID: {{ agent }}
agents: {a: {prompt: A}}
pattern:
  type: chain
  config:
    steps:
      - {agent: a, input: "{{ 'bumblebee' | truncate(6, true) }}"}   # cut
rendering:
  control_characters: remove
"""
TURNS = "recording: 1\nsteps: {steps.0: [{text: buzz}]}\n"


@pytest.fixture
def old(folder: Folder) -> Folder:
    folder.write("old.yaml", OLD)
    folder.write("turns.yaml", TURNS)
    return folder


def text(folder: Folder, name: str = "old.yaml") -> str:
    return (folder.work / name).read_text(encoding="utf-8")


def test_a_file_is_written_in_place_and_runs_as_before(old: Folder) -> None:
    assert old.strands("run", "old.yaml").out == "buzz\n"
    ran = old.strands("workflows", "migrate", "old.yaml")
    assert (ran.code, ran.out) == (0, "")
    assert "old.yaml: version 2" in ran.err
    assert text(old) == NEW
    assert old.strands("run", "old.yaml").out == "buzz\n"
    again = old.strands("workflows", "migrate", "old.yaml")
    assert (again.code, text(old)) == (0, NEW)


def test_check_prints_what_would_change_and_writes_nothing(old: Folder) -> None:
    ran = old.strands("workflows", "migrate", "--check", "old.yaml")
    assert ran.code == 3
    assert ran.out.splitlines()[:2] == ["--- old.yaml", "+++ old.yaml (version 2)"]
    assert {"-version: 0", "+version: 2", "+  memory: path"} <= {*ran.out.splitlines()}
    assert text(old) == OLD
    old.write("new.yaml", NEW)
    assert (old.strands("workflows", "migrate", "--check", "new.yaml").code, text(old, "new.yaml")) == (0, NEW)


def test_the_result_goes_where_the_option_says(old: Folder) -> None:
    assert old.strands("workflows", "migrate", "old.yaml", "-o", "new.yaml").code == 0
    assert (text(old), text(old, "new.yaml")) == (OLD, NEW)
    ran = old.strands("workflows", "migrate", "old.yaml", "-o", "-")
    assert (ran.code, ran.out) == (0, NEW)
    ran = old.strands("workflows", "migrate", "-", given=OLD)
    assert (ran.code, ran.out) == (0, NEW)


def test_a_pipe_passes_on_what_is_of_the_present_version(old: Folder) -> None:
    for words in (("-",), ("-", "-o", "-")):
        ran = old.strands("workflows", "migrate", *words, given=NEW)
        assert (ran.code, ran.out) == (0, NEW)
    refused = old.strands("workflows", "migrate", "-", "--json", given=OLD)
    assert (refused.code, refused.document["error"]["exit_code"]) == (2, 2)
    assert old.strands("workflows", "migrate", "-", "--check", "--json", given=OLD).document["files"][0]["changed"]


def test_a_text_that_is_not_utf8_is_an_error_of_its_author(old: Folder) -> None:
    command = [sys.executable, "-m", "strands_cli", "workflows", "migrate", "-"]
    ran = subprocess.run(command, input=b"version: 1\nname: \xff\n", capture_output=True, cwd=old.work, check=False)
    assert (ran.returncode, ran.stdout) == (3, b"")


@pytest.mark.parametrize("version", ["", "version: true\n", "version: null\n", "version: [1]\n"])
def test_a_file_without_a_version_is_neither_format_and_stays_as_it_is(old: Folder, version: str) -> None:
    written = OLD.replace("version: 0\n", version)
    old.write("odd.yaml", written)
    assert (old.strands("workflows", "migrate", "odd.yaml").code, text(old, "odd.yaml")) == (3, written)
    assert old.strands("workflows", "migrate", "-", given=written).out == ""


def test_several_files_are_each_written(old: Folder) -> None:
    old.write("other.yaml", OLD.replace("name: old", "name: other"))
    assert old.strands("workflows", "migrate", "old.yaml", "other.yaml").code == 0
    assert "version: 2" in text(old, "other.yaml")
    refused = old.strands("workflows", "migrate", "old.yaml", "other.yaml", "-o", "x.yaml")
    assert (refused.code, (old.work / "x.yaml").exists()) == (2, False)


def test_the_json_says_what_was_written(old: Folder) -> None:
    (row,) = old.strands("workflows", "migrate", "old.yaml", "--json").document["files"]
    assert {**row, "diff": bool(row["diff"])} == {
        "file": "old.yaml",
        "changed": True,
        "written": "old.yaml",
        "diff": True,
        "findings": [],
    }
    (row,) = old.strands("workflows", "migrate", "old.yaml", "--json").document["files"]
    assert (row["changed"], row["written"], row["diff"]) == (False, None, "")


def test_what_is_found_is_at_its_place_in_the_file_that_was(old: Folder) -> None:
    prompt = "{{ word }} {{ tasks.x.response }} {{ branches.y.response }}"
    old.write("old.yaml", OLD.replace("prompt: A", f"prompt: '{prompt}'"))
    ran = old.strands("workflows", "migrate", "old.yaml")
    assert (ran.code, ran.codes) == (0, ["prompt-as-text"])
    assert "old.yaml:5" in ran.err
    assert f"'{{% raw %}}{prompt}{{% endraw %}}'" in text(old)
    assert old.strands("validate", "old.yaml").codes == []


def test_a_version_that_a_person_has_to_decide_on_is_not_written(old: Folder) -> None:
    old.write("old.yaml", OLD.replace("version: 0", "version: 3"))
    ran = old.strands("workflows", "migrate", "old.yaml")
    assert (ran.code, ran.codes) == (3, ["unknown-version"])
    assert "version: 3" in text(old)


def test_a_file_with_a_mistake_is_written_and_the_mistake_reported(old: Folder) -> None:
    old.write("old.yaml", OLD + "colour: red\n")
    ran = old.strands("workflows", "migrate", "old.yaml")
    assert (ran.code, ran.codes) == (3, ["unknown-key"])
    assert text(old).endswith("rendering:\n  control_characters: remove\ncolour: red\n")


def test_a_file_that_cannot_be_read_is_an_error(old: Folder) -> None:
    assert old.strands("workflows", "migrate", "none.yaml").code == 2
    old.write("broken.yaml", "version: [\n")
    assert old.strands("workflows", "migrate", "broken.yaml").code == 3


def test_a_link_and_the_permissions_stay(old: Folder) -> None:
    if sys.platform == "win32":
        pytest.skip("it has neither")
    (old.work / "old.yaml").chmod(0o640)
    (old.work / "link.yaml").symlink_to("old.yaml")
    assert old.strands("workflows", "migrate", "link.yaml").code == 0
    assert (old.work / "link.yaml").is_symlink()
    assert (text(old), (old.work / "old.yaml").stat().st_mode & 0o777) == (NEW, 0o640)


def test_ends_of_lines_stay(old: Folder) -> None:
    (old.work / "old.yaml").write_bytes(OLD.replace("\n", "\r\n").encode())
    assert old.strands("workflows", "migrate", "old.yaml").code == 0
    assert (old.work / "old.yaml").read_bytes() == NEW.replace("\n", "\r\n").encode()
