"""Texts are found in stored runs: whatever case their letters have, once per run, and no secret of a run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from strands_cli.api import Runs, StorePlace
from strands_cli.engine.stored_runs.folder_store import FolderStore
from strands_cli_ui.history.search import Hit, search
from tests.cli.strands import Folder, empty_folder

SECRET, MARK = "k-12345678", "[secret]"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    """Return a folder without runs."""
    with empty_folder(tmp_path) as made:
        yield made


@pytest.mark.parametrize(
    ("wanted", "given", "is_found"),
    [
        ("bees", "of BEES", True),
        ("BEES", "of bees", True),
        ("b.es", "of bees", False),
        ("kelvin", "in \u212aelvin", True),
        ("\u212aelvin", "in kelvin", True),
        ("caf\u00e9", "CAF\u00c9", True),
        ("caf\u00e9", "cafe", False),
        ("stra\u00dfe", "STRASSE", False),
    ],
)
def test_a_text_is_found_in_both_cases(wanted: str, given: str, is_found: bool, tmp_path: Path) -> None:
    with contextlib.closing(FolderStore(tmp_path).create("run")) as journal:
        journal.put(status="completed", started_at=5.0, response=given)
    with Runs(StorePlace(directory=tmp_path)) as runs:
        hits = list(search(runs, runs.all()[0], wanted))
    assert [hit.line for hit in hits if isinstance(hit, Hit)] == [given] * is_found


def test_a_text_is_printed_once_per_run(folder: Folder) -> None:
    inputs = {"required": {"topic": "string"}}
    folder.workflow(
        [{"agent": "writer", "input": "{{ topic }}"}], {"steps.0": [{"text": "honey and bees"}]}, inputs=inputs
    )
    for topic in ("bees", "wasps"):
        assert folder.strands("run", "flow.yaml", "--var", f"topic={topic}").code == 0
    assert len(folder.strands("runs", "search", "honey").out.splitlines()) == 2
    assert len(folder.strands("runs", "search", "honey", "--json").document["hits"]) > 2


def test_a_search_shows_no_secret_of_a_run(folder: Folder) -> None:
    folder.tool("leak", "import os\nreturn answer('It is ' + os.environ['MY_TOKEN'])")
    folder.workflow([{"tool": "native:leak", "input": {}}], env={"secrets": [{"key": "MY_TOKEN", "name": "TOKEN"}]})
    ran = folder.strands("run", "flow.yaml", MY_TOKEN=SECRET)
    assert ran.code == 0, ran.err
    found = folder.strands("runs", "search", "It is", MY_TOKEN=SECRET)
    assert (MARK in found.out, SECRET in found.out) == (True, False)
    assert folder.strands("runs", "search", SECRET, MY_TOKEN=SECRET).out == ""


def test_rows_of_a_batch_are_runs_and_the_batch_is_none(folder: Folder) -> None:
    folder.workflow(
        [{"agent": "writer", "input": "{{ topic }}"}],
        {"steps.0": [{"text": "x"}]},
        inputs={"required": {"topic": "string"}},
    )
    folder.write("rows.csv", "topic\nbees\nants\n")
    assert folder.strands("batch", "flow.yaml", "rows.csv", "-o", "out.jsonl").code == 0
    assert folder.strands("runs", "stats", "--json").document["total"]["runs"] == 2
    (found,) = {hit["run"] for hit in folder.strands("runs", "search", "ants", "--json").document["hits"]}
    assert "." in found, "the id of a row has its batch's"
