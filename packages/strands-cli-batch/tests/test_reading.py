"""Rows of CSV and JSON Lines: what is read, what is refused and where, before anything of a batch begins."""

from __future__ import annotations

import io
import subprocess
import tracemalloc
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from strands_cli import app
from strands_cli.app.planned_rows import PlannedRows
from strands_cli.errors import InvalidInput, UsageError
from strands_cli.planning.machine.installation import Installation
from strands_cli.planning.plan_builder import installation_for
from strands_cli.planning.run_request import RunRequest
from strands_cli.workflow.model import LoadedWorkflow
from strands_cli_batch import checked_rows, row_source
from strands_cli_batch.checked_rows import RowsFile, read_rows
from strands_cli_batch.row_checks import CheckedRow

FLOW = """
version: 2
name: flow
runtime: {provider: openai, model_id: m}
inputs:
  required: {topic: string, count: integer}
  optional:
    tone: {type: string, default: plain, enum: [plain, formal]}
    tags: array
  values: {place: here}
agents: {writer: {prompt: You write.}}
pattern: {type: chain, config: {steps: [{agent: writer, input: "{{ topic }} {{ count }}"}]}}
"""
HEADER = "topic,count,tone\n"


@cache
def loaded_flow(flow: str) -> LoadedWorkflow:
    """Return a workflow, read once for all tests."""
    return app.load("<flow>", flow)


@cache
def machine() -> Installation:
    """Return this machine, read once for all tests: only inputs matter here."""
    return installation_for(loaded_flow(FLOW), RunRequest())


def rows_of(flow: str, request: RunRequest) -> PlannedRows:
    planner = app.plan_rows(loaded_flow(flow), request, machine())
    return PlannedRows(planner, planner.planned, request)


def read(
    directory: Path,
    content: str | bytes,
    name: str = "rows.csv",
    flow: str = FLOW,
    ignored: Sequence[str] = (),
    **common: Any,
) -> list[CheckedRow]:
    """Return the checked rows of a file with this content."""
    path = directory / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    request = RunRequest(**common)
    file = RowsFile(str(path), ignored=ignored)
    with read_rows(file, rows_of(flow, request)) as rows:
        return list(rows)


def refused(directory: Path, content: str | bytes, name: str = "rows.csv", **more: Any) -> list[tuple[str, int, int]]:
    """Return the code, line and column of each finding about a file that is refused with exit code 3."""
    with pytest.raises(InvalidInput) as caught:
        read(directory, content, name, **more)
    assert caught.value.exit_code == 3
    assert all(found.where is not None and found.where.file.endswith(name) for found in caught.value.findings)
    return [(found.code, found.where.line, found.where.column) for found in caught.value.findings]  # type: ignore[union-attr,misc]


def test_cells_have_the_types_of_inputs_and_empty_ones_are_absent(tmp_path: Path) -> None:
    rows = read(tmp_path, 'topic,count,tone,tags\nbees,3,,"[""a"", ""b""]"\n007,4,formal,\n')
    assert [row.inputs for row in rows] == [
        {"topic": "bees", "count": 3, "tags": ["a", "b"]},
        {"topic": "007", "count": 4, "tone": "formal"},
    ]
    assert [(row.number, row.line) for row in rows] == [(1, 2), (2, 3)]


def test_members_of_objects_have_types_already(tmp_path: Path) -> None:
    text = '\ufeff{"topic": "bees", "count": 3}\n\n  \n{"count": 4.0, "topic": 7, "tags": ["x"]}\n'
    rows = read(tmp_path, text, "rows.jsonl")
    assert [row.inputs for row in rows] == [{"topic": "bees", "count": 3}, {"count": 4, "topic": "7", "tags": ["x"]}]
    assert [(row.number, row.line) for row in rows] == [(1, 1), (2, 4)]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_of_every_system_a_mark_of_byte_order_and_quotes(tmp_path: Path, end: str) -> None:
    lines = ["\ufefftopic , count", '"bees, and ""ants""",1', '"two', 'lines",2', "", "last,3"]
    rows = read(tmp_path, end.join(lines))
    assert [row.inputs["topic"] for row in rows] == ['bees, and "ants"', f"two{end}lines", "last"]
    assert [(row.number, row.line) for row in rows] == [(1, 2), (2, 3), (3, 6)]


def test_cells_may_be_between_tabs(tmp_path: Path) -> None:
    assert [row.inputs for row in read(tmp_path, "topic\tcount\na, b\t1\n", "rows.tsv")] == [
        {"topic": "a, b", "count": 1}
    ]


def test_the_digest_of_a_row_is_that_of_all_of_its_inputs(tmp_path: Path) -> None:
    first, same, typed, other = read(
        tmp_path, f"{HEADER}bees,3,\nbees,3,plain\nbees,03.0e0,plain\nbees,4,\n".replace("03.0e0", "3")
    )
    assert first.digest == same.digest == typed.digest
    assert len({first.digest, other.digest}) == 2
    (elsewhere,) = read(tmp_path, '{"count": 3, "topic": "bees"}', "rows.jsonl")
    assert elsewhere.digest == first.digest
    (common,) = read(tmp_path, "topic\nbees\n", variables={"count": "3"})
    assert (common.digest, common.inputs) == (first.digest, {"topic": "bees"})


BAD_CSV: dict[str, tuple[str | bytes, Sequence[tuple[str, int, int]]]] = {
    "empty file": ("", [("no-rows", 1, None)]),
    "header alone": (HEADER, [("no-rows", 1, None)]),
    "short row": (f"{HEADER}a,1\nb,2,\n", [("bad-row", 2, 3)]),
    "long row": (f"{HEADER}a,1,,x,y\nb,2,\n", [("bad-row", 2, 6)]),
    "all at once": (
        "topic,cuont,tone\nbees,1,loud\n,2,plain\n",
        [("unknown-column", 1, 7), ("row-input", 1, None), ("row-input", 2, 8), ("row-input", 3, 1)],
    ),
    "types": (f"{HEADER}a,many,plain\nb,2,loud\n", [("row-input", 2, 3), ("row-input", 3, 5)]),
    "wrong type behind a quoted cell": (f'{HEADER}"a\nb",many,plain\n', [("row-input", 3, 4)]),
    "empty name": ("topic,count,\na,1,x\n", [("bad-column", 1, 13)]),
    "one name twice": ("topic,count, topic\na,1,x\n", [("bad-column", 1, 13)]),
    "open quote": (f'{HEADER}"a,1,\nb,2,\n', [("bad-row", 2, 1)]),
    "quote inside": (f'{HEADER}a,1,\n"b"c,2,\n', [("bad-row", 3, 3)]),
    "NUL": (f"{HEADER}a,1,\nb\0b,2,\n", [("rows-unreadable", 3, 2)]),
    "latin-1": (f"{HEADER}a,1,\nB\u00e4r,2,\n".encode("latin-1"), [("rows-unreadable", 3, 2)]),
    "UTF-16 without a mark": (f"{HEADER}a,1,\n".encode("utf-16-le"), [("rows-unreadable", 1, 2)]),
    "semicolons": ("topic;count\na;1\n", [("bad-column", 1, 1)]),
    "tabs": ("topic\tcount\na\t1\n", [("bad-column", 1, 1)]),
}


@pytest.mark.parametrize("case", BAD_CSV)
def test_bad_csv_is_refused_with_every_place(tmp_path: Path, case: str) -> None:
    content, places = BAD_CSV[case]
    assert refused(tmp_path, content) == list(places)


def test_the_fix_of_semicolons_makes_a_file_that_is_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(tmp_path, '\ufefftopic;count\n"a, b";1\n', "semi colons.csv")
    (finding,) = caught.value.findings
    command = str(finding.fix).partition(": ")[2].replace("COMMAS.csv", str(tmp_path / "commas.csv"))
    subprocess.run(["bash", "-c", command], check=True)
    converted = (tmp_path / "commas.csv").read_bytes()
    assert [row.inputs for row in read(tmp_path, converted)] == [{"topic": "a, b", "count": 1}]


BAD_JSONL: dict[str, tuple[str, Sequence[tuple[str, int, int]]]] = {
    "not JSON": ('{"topic": "a", "count": 1}\n{"topic": b}\n', [("bad-row", 2, 11)]),
    "not an object": ('[1]\n  "a"\n', [("bad-row", 1, 1), ("bad-row", 2, 3)]),
    "a name twice": ('{"topic": "a", "count": 1, "topic": "b"}', [("bad-row", 1, 1)]),
    "no JSON constant": ('{"topic": "a", "count": NaN}', [("bad-row", 1, 1)]),
    "deep": ('{"topic": ' + "[" * 100_000, [("bad-row", 1, 1)]),
    "missing": ('{"topic": "a"}\n{"count": 2}\n', [("row-input", 1, 1), ("row-input", 2, 1)]),
    "null": ('{"topic": "a", "count": null}\n', [("row-input", 1, 16)]),
    "wrong type": ('{"topic": "a",  "count": "x"}\n', [("row-input", 1, 17)]),
    "unknown name": (
        '{"topic": "a", "count": 1, "tpic": 1}\n{"tpic": 1}\n',
        [("unknown-column", 1, 28), ("row-input", 2, 1), ("row-input", 2, 1)],
    ),
}


@pytest.mark.parametrize("case", BAD_JSONL)
def test_bad_json_lines_are_refused_with_every_place(tmp_path: Path, case: str) -> None:
    content, places = BAD_JSONL[case]
    assert refused(tmp_path, content, "rows.jsonl") == list(places)


def test_a_name_that_is_nearly_an_input_is_suggested(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(tmp_path, "topc,count\na,1\n")
    assert [str(found.fix).count("'topic'") + str(found.fix).count("'topc'") for found in caught.value.findings] == [
        1,
        1,
    ]


CRATES = '{"topic": "a", "count": 1, "crates": 3}\n'


@pytest.mark.parametrize(("name", "content"), [("rows.csv", "topic,count,crates\na,1,3\n"), ("rows.jsonl", CRATES * 2)])
def test_a_column_to_ignore_that_the_file_does_not_have_is_refused_with_one_that_it_has(
    tmp_path: Path, name: str, content: str
) -> None:
    assert len(read(tmp_path, content, name, ignored=["crates"])) == content.count("1")
    assert refused(tmp_path, content, name, ignored=["crates", "note"]) == [("unknown-ignored", 1, None)]
    with pytest.raises(InvalidInput) as caught:
        read(tmp_path, content, name, ignored=["crats"])
    assert [found.code for found in caught.value.findings] == ["unknown-column", "unknown-ignored"]
    assert "--ignore crates?" in str(caught.value.findings[1].fix)


@pytest.mark.parametrize(
    ("name", "content"), [("rows.csv", "topic,count\na,1\nb,2\n"), ("rows.jsonl", '{"topic": "a", "count": 1}\n' * 2)]
)
def test_a_required_input_that_is_ignored_is_reported_once_with_the_option_to_omit(
    tmp_path: Path, name: str, content: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(tmp_path, content, name, ignored=["topic"])
    assert [(found.code, found.fix) for found in caught.value.findings] == [("row-input", "omit --ignore topic")]


def test_a_line_that_cannot_be_read_may_have_what_is_ignored(tmp_path: Path) -> None:
    content = '{"topic": "a", "count": 1}\n{"crates": \n'
    assert [code for code, _, _ in refused(tmp_path, content, "rows.jsonl", ignored=["crates"])] == ["bad-row"]


def test_what_is_given_for_all_rows_is_not_given_by_rows(tmp_path: Path) -> None:
    assert refused(tmp_path, f"{HEADER}a,1,\n", variables={"tone": "formal"}) == [("input-twice", 1, 13)]
    text = '{"topic": "a", "count": 1, "place": "there"}\n' * 2
    assert refused(tmp_path, text, "rows.jsonl", values={"place": "x"}) == [("input-twice", 1, 28)]


def test_only_the_first_findings_are_listed_and_the_others_are_counted(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(tmp_path, HEADER + "a,x,\n" * 5000)
    assert len(caught.value.findings) == 20
    assert "5000" in caught.value.message
    assert "4980" in caught.value.message


def test_a_value_of_megabytes_is_not_repeated_in_its_finding(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(tmp_path, f"{HEADER}a,{'x' * 1_000_000},\n")
    assert len(caught.value.findings[0].message) < 400


def test_a_schema_for_the_inputs_of_a_run_counts_for_each_row(tmp_path: Path) -> None:
    flow = (
        "version: 2\nname: flow\nruntime: {provider: openai, model_id: m}\n"
        "agents: {writer: {prompt: w, input_schema: {type: object, properties: {n: {type: integer, maximum: 5}},"
        " required: [n]}, input_schema_for: run}}\n"
        "pattern: {type: chain, config: {steps: [{agent: writer, input: '{{ n }}'}]}}\n"
    )
    assert refused(tmp_path, "n\n4\n9\n", flow=flow) == [("row-input", 3, 1)]


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_there_are_bounds_on_bytes_rows_and_the_length_of_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    row = {"rows.csv": "a,1,\n", "rows.jsonl": '{"topic": "a", "count": 1}\n'}[name]
    head = HEADER if name == "rows.csv" else ""
    monkeypatch.setattr(checked_rows, "MAX_ROWS", 3)
    assert len(read(tmp_path, head + row * 3, name)) == 3
    assert [code for code, _, _ in refused(tmp_path, head + row * 4, name)] == ["rows-too-large"]
    monkeypatch.setattr(row_source, "MAX_ROW_CHARS", 50)
    long = row.replace("a", "a" * 60, 1)
    assert refused(tmp_path, head + row + long, name)[0][0] == "rows-too-large"
    if head:
        monkeypatch.setattr("strands_cli_batch.csv_rows.MAX_ROW_CHARS", 50)
        assert refused(tmp_path, head + '"' + "a,b\n" * 30, name)[0][0] == "rows-too-large"


def test_a_file_of_a_gigabyte_is_refused_at_once_and_an_endless_stream_at_its_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    big = tmp_path / "big.csv"
    with big.open("wb") as stream:
        stream.truncate(1024**3)
    with pytest.raises(InvalidInput) as caught:
        row_source.open_rows(str(big), None)
    assert [found.code for found in caught.value.findings] == ["rows-too-large"]

    class Endless(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            return b"a,1,\n" * (size // 5)

    monkeypatch.setattr(row_source, "MAX_BYTES", 2**20)
    source = row_source.RowSource("<stdin>", Endless(), "csv")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        sum(1 for _ in row_source.TextLines(source))


def test_rows_are_read_in_the_same_memory_however_many_they_are(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        (tmp_path / "rows.csv").write_text(HEADER + "".join(f"row {n},{n},plain\n" for n in range(count)))
        workflow = rows_of(FLOW, RunRequest())
        tracemalloc.start()
        with read_rows(RowsFile(str(tmp_path / "rows.csv")), workflow) as rows:
            assert sum(1 for _ in rows) == count
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(10)
    assert peak(5_000) < peak(500) + 100_000


def test_a_format_must_be_known_and_a_file_must_be_there(tmp_path: Path) -> None:
    for source, chosen in (
        (tmp_path / "rows.txt", None),
        ("-", None),
        (tmp_path / "rows.csv", None),
        (tmp_path, "csv"),
    ):
        with pytest.raises(UsageError):
            row_source.open_rows(str(source), chosen)


@pytest.mark.parametrize("inputs", ["", "inputs: {required: {count: integer}}\n"])
def test_the_fix_for_an_undeclared_column_lists_what_is_declared(tmp_path: Path, inputs: str) -> None:
    flow = (
        FLOW[: FLOW.index("inputs:")] + inputs + FLOW[FLOW.index("agents:") :].replace("{{ topic }} {{ count }}", "x")
    )
    (tmp_path / "rows.csv").write_text("count,zebra\n1,x\n" if inputs else "zebra\nx\n")
    with (
        pytest.raises(InvalidInput) as caught,
        read_rows(RowsFile(str(tmp_path / "rows.csv")), rows_of(flow, RunRequest())) as rows,
    ):
        list(rows)
    (found, *_) = caught.value.findings
    assert found.fix is not None
    assert "--ignore zebra" in found.fix
    assert found.fix.endswith("there are: count" if inputs else "--ignore zebra")
