"""`migrate --explain` prints the rows of the migration page that are about a file."""

from __future__ import annotations

from pathlib import Path

from strands_cli.cli.output.codes import declared_codes
from strands_cli_migrate.differences import known_differences
from tests.cli.strands import Folder

OLD = """version: 0
name: old
runtime: {provider: openai, model_id: m}
agents: {a: {prompt: "{{ word }}, {{ tasks.x.response }}, {{ branches.y.response }}"}}
pattern: {type: chain, config: {steps: [{agent: a, input: one}]}}
"""
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "migrate.md"


def test_a_row_that_a_finding_reports_has_its_places_and_both_meanings(folder: Folder) -> None:
    (folder.work / "old.yaml").write_text(OLD)
    ran = folder.strands("workflows", "migrate", "--explain", "old.yaml")
    assert ran.code == 0
    lines = ran.out.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("old.yaml:4: "))
    assert [line.split(":")[0].strip() for line in lines[start + 1 : start + 4]] == ["earlier", "now", "findings"]
    assert "prompt-as-text" in lines[start + 3]
    assert (folder.work / "old.yaml").read_text() == OLD


def test_the_exit_code_is_that_of_validate_and_the_json_has_the_places(folder: Folder) -> None:
    (folder.work / "old.yaml").write_text(OLD + "colour: red\n")
    ran = folder.strands("workflows", "migrate", "--explain", "--json", "old.yaml")
    assert ran.code == folder.strands("validate", "old.yaml").code == 3
    (file,) = ran.document["files"]
    reported = {row["codes"][0]: row for row in file["differences"] if row["places"]}
    assert reported.keys() == {"unknown-key", "prompt-as-text"}
    assert reported["unknown-key"]["places"] == [{"file": "old.yaml", "line": 6, "column": 1, "pointer": "/colour"}]
    others = [row for row in file["differences"] if not row["codes"]]
    assert any("Runtime Context" in row["earlier"] for row in others)
    assert all(row["places"] == [] and row["earlier"] and row["now"] for row in others)


def test_each_row_of_the_page_has_codes_that_exist() -> None:
    rows = known_differences()
    assert {code for row in rows for code in row.codes} <= set(map(str, declared_codes()))
    assert len(rows) > 30
    assert PAGE.read_text(encoding="utf-8").count("| what | an earlier strands-cli | version 2 | findings |") == 2
