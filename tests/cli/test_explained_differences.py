"""`validate --explain-differences` prints the rows of the migration page that are about a file."""

from __future__ import annotations

import pytest

from tests.cli.strands import Folder

OLD = """version: 0
name: old
runtime: {provider: openai, model_id: m}
agents: {a: {prompt: p}}
pattern:
  type: chain
  config:
    steps:
      - {agent: a, input: one}
      - {agent: a, input: two}
"""


def test_a_row_has_its_places_and_both_meanings(folder: Folder) -> None:
    (folder.work / "old.yaml").write_text(OLD)
    ran = folder.strands("validate", "--explain-differences", "old.yaml")
    assert ran.code == 0
    first, *rest = [line for line in ran.out.splitlines() if "old.yaml: ok" not in line and "sends to" not in line]
    assert first.startswith("old.yaml:4: ")
    assert [line.split(":")[0].strip() for line in rest] == ["version 0", "version 1", "findings"]
    assert "lost-conversation" in rest[-1]


def test_the_exit_code_is_that_of_validate_and_the_json_has_the_places(folder: Folder) -> None:
    (folder.work / "old.yaml").write_text(OLD + "colour: red\n")
    ran = folder.strands("validate", "--explain-differences", "--json", "old.yaml")
    assert ran.code == folder.strands("validate", "old.yaml").code == 3
    (file,) = ran.document["files"]
    rows = {row["codes"][0]: row for row in file["differences"]}
    assert rows["unknown-key"]["places"] == [{"file": "old.yaml", "line": 11, "column": 1, "pointer": "/colour"}]
    assert rows["concurrent-memory"]["version_0"] != rows["concurrent-memory"]["version_1"]
    assert "differences" not in folder.strands("validate", "--json", "old.yaml").document["files"][0]


def test_a_file_without_any_has_one_line(folder: Folder) -> None:
    (folder.work / "old.yaml").write_text(OLD.replace("      - {agent: a, input: two}\n", ""))
    ran = folder.strands("validate", "--explain-differences", "-", given=(folder.work / "old.yaml").read_text())
    assert ran.code == 0
    assert [line for line in ran.out.splitlines() if "migration page" in line] == [ran.out.splitlines()[-1]]


@pytest.mark.parametrize("form", ["github", "sarif"])
def test_formats_of_other_programs_have_no_rows(folder: Folder, form: str) -> None:
    (folder.work / "old.yaml").write_text(OLD)
    assert folder.strands("validate", "--explain-differences", "--format", form, "old.yaml").code == 2
