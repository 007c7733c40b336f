"""Batches whose rows are runs in Postgres: continued, killed, answered and deleted as those in a folder."""

from __future__ import annotations

import contextlib
import re
import shlex
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from batch_kit import STEPS, Rows
from store_kit import transactions_of

from strands_cli.api import ExitCode, StorePlace
from strands_cli_postgres import store
from tests.cli.strands import empty_folder

pytestmark = pytest.mark.postgres


@pytest.fixture
def rows(tmp_path: Path, address: str) -> Iterator[Rows]:
    with empty_folder(tmp_path) as folder:
        folder.environ.update({"STRANDS_RUNS_DIR": "", "STRANDS_STORE": address})
        made = Rows(folder)
        with made.server:
            made.flow()
            yield made


def test_a_batch_runs_once_and_only_what_is_new_after_that(rows: Rows) -> None:
    rows.csv("bees", "ants", "bees")
    batch = rows.id_of(rows.batch())
    assert rows.responses() == ["BEES", "ANTS", "BEES"]
    rows.csv("moths", "ants")
    assert rows.batch().code == 0
    assert rows.responses() == ["MOTHS", "ANTS"]
    assert rows.asked == {"bees": 1, "ants": 1, "moths": 1}
    listed = rows.strands("runs", "list", "--json").document
    assert ([run["id"] for run in listed["runs"]], listed["hidden_parts"]) == ([batch], 3)
    assert rows.strands("runs", "show", "last", "--json").document["id"] == batch
    assert rows.strands("runs", "delete", batch).code == 0
    assert rows.strands("runs", "list", "--json").document["runs"] == []


def test_rows_that_wait_are_answered_and_collected(rows: Rows) -> None:
    rows.flow([*STEPS, {"type": "hitl", "prompt": "Publish?"}])
    rows.csv("bees", "ants")
    assert rows.batch().code == 19
    for line in rows.lines():
        assert rows.strands("approve", line["run"]).code == 0
    assert rows.strands("batch", "resume", "flow").code == 0
    assert {line["status"] for line in rows.lines()} == {"completed"}
    assert set(rows.asked.values()) == {1}


def test_after_a_kill_only_calls_that_were_cut_off_are_made_again(rows: Rows) -> None:
    rows.model.held = {"moths": threading.Event()}
    rows.csv("bees", "ants", "moths", "gnats")
    started = rows.start("--concurrency", "1")
    rows.model.wait_for("moths")
    assert rows.batch().code == 17, "another process works on it"
    started.send(signal.SIGKILL)
    started.end()
    rows.model.held = {}
    assert rows.batch().code == 0
    assert rows.responses() == ["BEES", "ANTS", "MOTHS", "GNATS"]
    assert rows.asked == {"bees": 1, "ants": 1, "moths": 2, "gnats": 1}


def test_a_batch_is_cancelled_from_elsewhere(rows: Rows) -> None:
    rows.model.held = {"bees": threading.Event()}
    rows.csv("bees", "ants")
    started = rows.start("--concurrency", "1")
    rows.model.wait_for("bees")
    ran = rows.strands("batch", "cancel", "flow", "--json")
    assert (ran.code, ran.document["cancelled_rows"]) == (0, 2), ran.err
    ended = started.end()
    assert (ended.code, "resume" in ended.err) == (17, False), ended.err
    (advised,) = re.findall(r"strands (batch status .*)", ended.err)
    assert rows.strands(*shlex.split(advised), "--json").document["status"] == "cancelled"
    assert "--again" in rows.strands("batch", "status", "flow").out
    rows.model.held = {}
    assert rows.batch("--again", "--force").code == 0


def test_the_status_of_a_batch_needs_no_query_for_each_row(rows: Rows, address: str) -> None:
    rows.csv(*(f"topic {number}" for number in range(150)))
    assert rows.batch("--concurrency", "8").code == 0
    before = transactions_of(address)
    assert rows.strands("batch", "status", "flow", "--json").document["rows"]["completed"] == 150
    assert transactions_of(address) - before < 75


def test_the_status_of_rows_that_wait_needs_no_query_for_each(rows: Rows, address: str) -> None:
    rows.flow([*STEPS, {"type": "hitl", "prompt": "Publish?"}])
    rows.csv(*(f"topic {number}" for number in range(60)))
    assert rows.batch("--concurrency", "8").code == ExitCode.WAITING
    before = transactions_of(address)
    document = rows.strands("batch", "status", "flow", "--json").document
    assert (document["rows"]["waiting"], len(document["waiting"])) == (60, 20)
    assert transactions_of(address) - before < 40


def test_a_kill_while_a_journal_is_made_leaves_nothing_that_prevents_the_run(rows: Rows, address: str) -> None:
    rows.csv("bees", "ants")
    batch = rows.id_of(rows.batch())
    first = rows.lines()[0]["run"]
    with contextlib.closing(store.open(StorePlace(address=address), address)) as found:
        for run in (first, batch):
            found.delete(run)
            found.create(run).close()
    assert rows.batch().code == 0
    assert rows.responses() == ["BEES", "ANTS"]
    assert rows.asked == {"bees": 2, "ants": 1}
