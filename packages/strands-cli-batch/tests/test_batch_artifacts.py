"""`strands batch artifacts`: the files of all complete rows of a batch, listed and written."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.strands import Folder, empty_folder

STEP = {"agent": "writer", "input": "go"}
GATE = {"type": "hitl", "prompt": "Publish?"}
FILES = {"artifacts": [{"path": "sub/a.md", "from": "{{ last_response }}"}, {"path": "b.txt", "from": "b"}]}


def files_below(folder: Path) -> dict[str, str]:
    return {str(one.relative_to(folder)): one.read_text() for one in folder.rglob("*") if one.is_file()}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    with empty_folder(tmp_path) as made:
        yield made


@pytest.fixture
def batch(folder: Folder) -> tuple[str, list[str]]:
    """A batch of two rows that are complete, and one that fails; its id, and those of the two."""
    files = {"artifacts": [{"path": "{{ path }}", "from": "of {{ path }}"}]}
    inputs = {"required": {"path": "string", "sum": "string"}}
    step = {"tool": "native:calculator", "input": {"expression": "{{ sum }}"}}
    folder.workflow([step], outputs=files, inputs=inputs)
    rows = {"a.md": "1 + 1", "b.md": "1 + 2", "c.md": "1 / 0"}
    folder.write("rows.jsonl", "".join(f'{{"path": "{path}", "sum": "{one}"}}\n' for path, one in rows.items()))
    words = ("batch", "run", "flow.yaml", "rows.jsonl", "-o", "out.jsonl", "--concurrency", "1", "--json")
    name = folder.strands(*words).document["batch"]
    listed = folder.strands("runs", "list", "--parts", name, "--json").document["runs"]
    return name, [one["id"] for one in reversed(listed) if one["status"] == "completed"]


def test_the_files_of_a_batch_are_those_of_its_complete_rows(folder: Folder, batch: tuple[str, list[str]]) -> None:
    name, rows = batch
    assert len(rows) == 2

    document = folder.strands("batch", "artifacts", name, "--json").document
    written = folder.strands("batch", "artifacts", name, "-o", "fetched", "--json").document

    assert [(one["row"], Path(one["path"]).name) for one in document["artifacts"]] == [
        (rows[0], "a.md"),
        (rows[1], "b.md"),
    ]
    assert document["incomplete_rows"] == written["incomplete_rows"] == 1
    below = {f"{rows[0]}/a.md": "of a.md", f"{rows[1]}/b.md": "of b.md"}
    assert files_below(folder.work / "fetched") == below
    assert [one["path"] for one in written["written"]] == [f"fetched/{name}" for name in below]
    again = folder.strands("batch", "artifacts", name, "-o", "fetched")
    assert again.code == 0, again.err


def test_one_file_is_that_of_a_row(folder: Folder, batch: tuple[str, list[str]]) -> None:
    name, rows = batch

    refused = folder.strands("runs", "artifacts", name, "a.md")

    assert refused.code == 2
    command = shlex.split(refused.err.partition(": strands ")[2])
    assert rows[0] in [one["row"] for one in folder.strands(*command, "--json").document["artifacts"]]
    assert folder.strands("runs", "artifacts", rows[0], "a.md").out == "of a.md"


def test_a_batch_without_a_complete_row_has_no_files(folder: Folder) -> None:
    inputs = {"required": {"path": "string"}}
    folder.workflow([STEP, GATE], {"steps.0": [{"text": "one"}]}, outputs=FILES, inputs=inputs)
    folder.write("rows.jsonl", '{"path": "a"}\n')
    name = folder.strands("batch", "flow.yaml", "rows.jsonl", "-o", "out.jsonl", "--json").document["batch"]

    for words in ((), ("-o", "here")):
        assert folder.strands("batch", "artifacts", name, *words).code == 12
