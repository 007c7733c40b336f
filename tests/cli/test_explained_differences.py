"""`validate --explain-differences` prints the rows of the migration page that are about a file."""

from __future__ import annotations

import pytest

from strands_cli.cli.commands.explain.explained_differences import explained_rows
from strands_cli.cli.commands.explain_pages import page_text
from strands_cli.cli.output.codes import codes_by_file
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


def test_a_row_that_a_finding_reports_has_its_places_and_both_meanings(folder: Folder) -> None:
    (folder.work / "old.yaml").write_text(OLD.replace("version: 0", "version: 1"))
    ran = folder.strands("validate", "--explain-differences", "old.yaml")
    assert ran.code == 0
    lines = ran.out.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("old.yaml:10: "))
    assert [line.split(":")[0].strip() for line in lines[start + 1 : start + 4]] == [
        "version 0",
        "version 1",
        "findings",
    ]
    assert "lost-conversation" in lines[start + 3]


def test_the_exit_code_is_that_of_validate_and_the_json_has_the_places(folder: Folder) -> None:
    (folder.work / "old.yaml").write_text(OLD + "colour: red\n")
    ran = folder.strands("validate", "--explain-differences", "--json", "old.yaml")
    assert ran.code == folder.strands("validate", "old.yaml").code == 3
    (file,) = ran.document["files"]
    reported = {row["codes"][0]: row for row in file["differences"] if row["codes"]}
    assert reported.keys() == {"unknown-key"}
    assert reported["unknown-key"]["places"] == [{"file": "old.yaml", "line": 11, "column": 1, "pointer": "/colour"}]
    others = [row for row in file["differences"] if not row["codes"]]
    assert any("Runtime Context" in row["version_0"] for row in others)
    assert all(row["places"] == [] and row["version_0"] and row["version_1"] for row in others)
    assert "differences" not in folder.strands("validate", "--json", "old.yaml").document["files"][0]


def test_each_row_of_the_page_has_codes_that_exist(folder: Folder) -> None:
    (folder.work / "old.yaml").write_text(OLD)
    page = page_text("migrate")
    assert page.count("| what | version 0 | version 1 | findings |") == 2
    named = {code for row in explained_rows() for code in row.codes}
    assert named <= {code for codes in codes_by_file().values() for code in map(str, codes)}
    assert len(explained_rows()) > 30


@pytest.mark.parametrize("form", ["github", "sarif"])
def test_formats_of_other_programs_have_no_rows(folder: Folder, form: str) -> None:
    (folder.work / "old.yaml").write_text(OLD)
    assert folder.strands("validate", "--explain-differences", "--format", form, "old.yaml").code == 2
