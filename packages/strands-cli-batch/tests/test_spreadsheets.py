"""Rows as spreadsheets write them: each file is read, or its finding prints a command that makes one that is."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from strands_cli.app.planned_rows import PlannedRows
from strands_cli.errors import Finding, InvalidInput, StrandsCliError
from strands_cli.planning.run_request import RunRequest
from strands_cli_batch.checked_rows import RowsFile, read_rows

FLOW = """version: 2
name: rows
inputs:
  required: {order: string}
  optional: {amount: number, count: integer, paid: boolean, note: string}
pattern: {type: chain, config: {steps: [{tool: native:calculator, input: {expression: "1"}}]}}
"""
TWO = [{"order": "001", "amount": 1.5}, {"order": "a;b,c", "amount": 2}]


def rows_of(folder: Path, name: str, *, skips: bool = False, chosen: str | None = None) -> list[dict[str, object]]:
    """Return the inputs of each row."""
    file = folder / "w.yaml"
    file.write_text(FLOW, encoding="utf-8")
    with read_rows(RowsFile(name, chosen, skips=skips), PlannedRows.of(str(file), RunRequest())) as read:
        return [dict(row.inputs) for row in read]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


READ: list[tuple[str, bytes]] = [
    ("comma", b'order,amount\n001,1.5\n"a;b,c",2\n'),
    ("BOM", b'\xef\xbb\xbforder,amount\r\n001,1.5\r\n"a;b,c",2\r\n'),
    ("CR only", b'order,amount\r001,1.5\r"a;b,c",2\r'),
    ("sep line", b'sep=;\r\norder;amount\r\n001;1.5\r\n"a;b,c";2\r\n'),
    ("sep line with BOM and comma", b'\xef\xbb\xbfsep=,\r\norder,amount\r\n001,1.5\r\n"a;b,c",2\r\n'),
    ("sep line in quotes", b'"sep=|"\norder|amount\n001|1.5\na;b,c|2\n'),
    ("sep line of tabs", b"SEP=\t\norder\tamount\n001\t1.5\na;b,c\t2\n"),
    ("UTF-16 LE", 'order,amount\r\n001,1.5\r\n"a;b,c",2\r\n'.encode("utf-16")),
    ("UTF-16 BE", b"\xfe\xff" + 'order,amount\r\n001,1.5\r\n"a;b,c",2\r\n'.encode("utf-16-be")),
    ("empty columns", b'order,amount,,\n001,1.5,,\n"a;b,c",2,,\n'),
    ("empty columns that some rows do not have", b'order,amount,,\n001,1.5\n"a;b,c",2,,\n'),
    ("empty cells behind", b'order,amount\n001,1.5,,\n"a;b,c",2,\n'),
    ("empty rows", b'order,amount\n001,1.5\n"a;b,c",2\n,\n,\n\n'),
]


@pytest.mark.parametrize("data", [one[1] for one in READ], ids=[one[0] for one in READ])
def test_a_file_of_a_spreadsheet_is_read(folder: Path, data: bytes) -> None:
    (folder / "rows.csv").write_bytes(data)
    assert rows_of(folder, "rows.csv") == TWO


def test_text_stays_as_it_is(folder: Path) -> None:
    cells = ["=1+1", "+49 30", "@x", "007", "#N/A", "1e3", "31.12.2025", 'two\r\nlines "of" it']
    quoted = "".join('"{}"\r\n'.format(cell.replace('"', '""')) for cell in cells)
    (folder / "rows.csv").write_bytes(f"order\r\n{quoted}".encode())
    assert [row["order"] for row in rows_of(folder, "rows.csv")] == cells


def test_words_of_excel_for_true_and_false(folder: Path) -> None:
    (folder / "rows.csv").write_text("order,paid\na,TRUE\nb,FALSE\n")
    assert [row["paid"] for row in rows_of(folder, "rows.csv")] == [True, False]


def finding_of(folder: Path, name: str, chosen: str | None = None) -> Finding:
    with pytest.raises(InvalidInput) as raised:
        rows_of(folder, name, chosen=chosen)
    (found,) = raised.value.findings
    return found


CONVERTED: list[tuple[str, bytes]] = [
    ("semicolons", b'order;amount\r\n001;1.5\r\n"a;b,c";2\r\n'),
    ("semicolons with BOM", b'\xef\xbb\xbforder;amount\n001;1.5\n"a;b,c";2\n'),
    ("bars", b'order|amount\n001|1.5\n"a;b,c"|2\n'),
    ("bars with blanks", b"\xef\xbb\xbforder | amount\n001 | 1.5\na;b,c | 2\n"),
    ("a table of Markdown", b"| order | amount |\n|:--|---:|\n| 001 | 1.5 |\n| a;b,c | 2 |\n"),
    ("windows-1252", b'order,amount,note\n001,1.5,\n"a;b,c",2,caf\xe9\n'),
    ("NUL", b'order,amount\n001,1.5\n"a;\0b,c",2\n'),
    ("UTF-16 without BOM", 'order,amount\n001,1.5\n"a;b,c",2\n'.encode("utf-16-le")),
    ("UTF-16 BE without BOM", 'order,amount\n001,1.5\n"a;b,c",2\n'.encode("utf-16-be")),
]


@pytest.mark.parametrize("data", [one[1] for one in CONVERTED], ids=[one[0] for one in CONVERTED])
def test_the_command_of_a_fix_makes_a_file_that_is_read(folder: Path, data: bytes) -> None:
    (folder / "my rows.csv").write_bytes(data)
    fix = finding_of(folder, "my rows.csv").fix
    assert fix is not None
    command = fix.partition(": ")[2]
    subprocess.run(command, shell=True, check=True, cwd=folder)
    (new,) = re.findall(r"> (\S+)$", command)
    found = [{name: row[name] for name in ("order", "amount")} for row in rows_of(folder, new)]
    assert found == TWO


@pytest.mark.parametrize("name", ["rows.xlsx", "rows.ods", "rows.csv"])
def test_a_workbook_is_named(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"PK\x03\x04and so on")
    with pytest.raises(StrandsCliError) as raised:
        rows_of(folder, name)
    fixes = [raised.value.fix, *(one.fix for one in getattr(raised.value, "findings", ()))]
    assert any("CSV UTF-8" in (fix or "") for fix in fixes)


@pytest.mark.parametrize(
    "number", ["1,5", "1.234,5", "1 234,50", "1'234.5", "1,234.50", "1,5 \u20ac", "5%", "(5)", "\u22125,0"]
)
def test_a_number_as_a_country_writes_it_has_a_fix(folder: Path, number: str) -> None:
    (folder / "rows.csv").write_text(f'order,amount\na,"{number}"\n')
    assert "1234.5" in (finding_of(folder, "rows.csv").fix or "")


@pytest.mark.parametrize(
    ("cell", "digits"),
    [
        ("1.0", "1"),
        ("1,234", "1234"),
        ("1 234 567", "1234567"),
        ("1\u2019234", "1234"),
        ("1,234.00", "1234"),
        ("1e3", "1000"),
        ("1.23E+15", "1230000000000000"),
        ("007", "7"),
        ("+5", "5"),
        ("'5", "5"),
        ('="5"', "5"),
        ("\u22125", "-5"),
    ],
)
def test_a_cell_that_can_only_mean_an_integer_says_which(folder: Path, cell: str, digits: str) -> None:
    quoted = cell.replace('"', '""')
    (folder / "rows.csv").write_text(f'order,count\na,"{quoted}"\n')
    assert finding_of(folder, "rows.csv").fix == f"write digits alone: {digits}"
    (folder / "rows.csv").write_text(f"order,count\na,{digits}\n")
    assert rows_of(folder, "rows.csv") == [{"order": "a", "count": int(digits)}]


@pytest.mark.parametrize(
    ("cell", "fix"), [("1.5", "1234"), ("1.234,5", "1234"), ("abc", "correct"), ("#N/A", "correct")]
)
def test_a_cell_that_may_mean_no_integer_is_not_guessed(folder: Path, cell: str, fix: str) -> None:
    (folder / "rows.csv").write_text(f'order,count\na,"{cell}"\n')
    assert fix in (finding_of(folder, "rows.csv").fix or "")


def test_bad_rows_are_left_out_and_empty_rows_between_others_are_not(folder: Path) -> None:
    (folder / "rows.csv").write_text("order,amount\na,1\n,\nb,x\nc,1,2\nd,4\n")
    assert [row["order"] for row in rows_of(folder, "rows.csv", skips=True)] == ["a", "d"]
    with pytest.raises(InvalidInput) as raised:
        rows_of(folder, "rows.csv")
    assert [one.where.line for one in raised.value.findings if one.where is not None] == [3, 4, 5]


@pytest.mark.parametrize("text", ["order,amuont\na,1\n", "amount\n1\n", "order,amount\na,x\n", 'order\n"a\n'])
def test_a_file_without_a_row_that_can_be_used_is_an_error_all_the_same(folder: Path, text: str) -> None:
    (folder / "rows.csv").write_text(text)
    with pytest.raises(InvalidInput):
        rows_of(folder, "rows.csv", skips=True)


def test_a_row_of_json_lines_has_the_text_of_its_numbers(folder: Path) -> None:
    (folder / "rows.jsonl").write_text('{"order": 1.10, "amount": 1.10}\n')
    assert rows_of(folder, "rows.jsonl") == [{"order": "1.10", "amount": 1.1}]
