"""Pages of runs that are made to be too large: their size stays bounded, and they say what they leave out."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.stored_runs.folder_store import FolderStore
from strands_cli.run_views.opened_runs import OpenedRun
from strands_cli_ui.pages.html_text import anchor_of
from strands_cli_ui.pages.run_page import run_page_of
from strands_cli_ui.pages.run_parts import run_html
from tests.cli.strands import Folder
from tests.parsed_page import Parsed

pytestmark = pytest.mark.hostile
MEGABYTE = 1_000_000
HUGE = ("<b>\u202e&\ud800 " * 2 * MEGABYTE)[: 10 * MEGABYTE]
COLUMNS = "kind,status,digest,attempt,output,output_file,usage,cost,detail,started_at,ended_at"
COPY = f"INSERT INTO effects (key, {COLUMNS}) SELECT ?, {COLUMNS} FROM effects WHERE key = ?"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Path]:
    """Return the directory of a small run, which a test may change."""
    folder = Folder(tmp_path)
    folder.work.mkdir()
    folder.workflow([{"agent": "writer", "input": "Write."}], {"steps.0": [{"text": "some words " * 20}]})
    assert folder.strands("run", "flow.yaml").code == 0
    yield folder.runs / FolderStore(folder.runs).find("last")
    folder.end_started()


def page_of(run: Path) -> tuple[str, Parsed]:
    with contextlib.closing(SqliteJournal.open(run, hold=False)) as journal:
        text = run_html(run_page_of(OpenedRun(journal)))
    return text, Parsed(text)


def database(run: Path) -> contextlib.closing[sqlite3.Connection]:
    return contextlib.closing(sqlite3.connect(run / "journal.sqlite"))


def test_answers_of_10_megabytes_are_cut_and_their_size_is_stated(run: Path) -> None:
    with database(run) as journal, journal:
        journal.execute("UPDATE facts SET value = ? WHERE name = 'response'", [json.dumps(HUGE)])
        output = json.dumps({"response": HUGE, "agent": "writer", "output": HUGE})
        journal.execute("UPDATE effects SET output = ? WHERE key = 'steps.0'", [output])
    text, page = page_of(run)
    assert page.faults == []
    assert len(text) < 2 * MEGABYTE
    assert f"{len(HUGE):,}" in page.text
    assert re.search(rf"strands runs show {run.name} .*steps\.0", page.text)


def test_a_reason_that_quotes_a_long_text_is_cut_and_its_size_is_stated(run: Path) -> None:
    with database(run) as journal, journal:
        for name, value in {"reason": HUGE, "status": "failed"}.items():
            journal.execute("REPLACE INTO facts SELECT ?, ?", [name, json.dumps(value)])
    text, page = page_of(run)
    assert page.faults == []
    assert len(text) < MEGABYTE // 10
    assert f"{len(HUGE):,}" in page.text


def test_ten_thousand_effects_are_all_listed_in_a_page_of_bounded_size(run: Path) -> None:
    with database(run) as journal, journal:
        for number in range(1, 5000):
            journal.execute(COPY, [f"steps.{number}", "steps.0"])
            journal.execute(COPY, [f"steps.{number}/model.0", "steps.0/model.0"])
    text, page = page_of(run)
    assert page.faults == []
    assert len(text) < 15 * MEGABYTE
    assert {anchor_of(f"steps.{number}/model.0") for number in range(5000)} <= set(page.ids)
    assert re.search(rf"strands runs show {run.name} .*KEY", page.text)


def test_keys_of_a_thousand_parts_do_not_nest_the_page_as_deep(run: Path) -> None:
    with database(run) as journal, journal:
        for depth in range(1, 1000):
            journal.execute(COPY, ["steps.0" + "/x.0" * depth, "steps.0"])
    _, page = page_of(run)
    assert page.faults == []
    assert page.deepest < 100
