"""Old runs are deleted from a store in Postgres as from a directory: what would be, what is, and batches whole."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from store_kit import opened

from strands_cli.api import ExitCode
from tests.cli.strands import Folder, Ran, empty_folder
from tests.postgres.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres

DAY = 86_400.0
FLOW = {
    "version": 2,
    "name": "flow",
    "runtime": {"provider": "replay", "recording": "flow.recording.yaml"},
    "inputs": {"optional": {"topic": {"type": "string", "default": "bees"}}},
    "agents": {"writer": {"prompt": "You write.", "tools": []}},
    "pattern": {"type": "chain", "config": {"steps": [{"agent": "writer", "input": "{{ topic }}"}]}},
}


class Site:
    """A folder with a workflow, and a store in Postgres for its runs."""

    def __init__(self, folder: Folder, address: str) -> None:
        self.folder, self.address = folder, address
        folder.write("flow.yaml", FLOW)
        folder.write("flow.recording.yaml", {"recording": 1, "steps": {"steps.0": [{"text": "Done."}]}})

    def strands(self, *words: str) -> Ran:
        return self.folder.strands(*words, STRANDS_RUNS_DIR="", STRANDS_STORE=self.address)

    def run(self) -> str:
        ran = self.strands("run", "flow.yaml", "--json")
        assert ran.code == ExitCode.OK, ran.err
        return str(ran.document["run"])

    def batch(self, *topics: str) -> str:
        (self.folder.work / "rows.jsonl").write_text("".join(f"{json.dumps({'topic': one})}\n" for one in topics))
        ran = self.strands("batch", "flow.yaml", "rows.jsonl", "-o", "out.jsonl")
        assert ran.code == ExitCode.OK, ran.err
        (found,) = [run["id"] for run in self.runs() if run["pattern"] == "batch"]
        return str(found)

    def runs(self) -> list[dict[str, Any]]:
        return list(self.strands("runs", "list", "--json").document["runs"])

    def all_ids(self) -> set[str]:
        with opened(self.address) as store:
            return {run.id for run in store.runs()[0]}

    def began(self, run_id: str, days_ago: float) -> None:
        """Write that a run, or a batch with its rows, began some days ago."""
        with opened(self.address) as store:
            for one in self.all_ids():
                if one == run_id or one.startswith(f"{run_id}."):
                    with contextlib.closing(store.open(one)) as journal:
                        journal.put(started_at=time.time() - days_ago * DAY)


@pytest.fixture
def site(tmp_path: Path, address: str) -> Iterator[Site]:
    with empty_folder(tmp_path) as folder:
        yield Site(folder, address)


def test_what_would_be_deleted_is_shown_and_then_deleted(site: Site) -> None:
    old, new = site.run(), site.run()
    site.began(old, 31)
    planned = site.strands("runs", "prune", "--older-than", "30d", "--dry-run", "--json")
    assert (planned.code, planned.document["deleted"], planned.document["dry_run"]) == (0, [old], True)
    assert site.all_ids() == {old, new}, "nothing is deleted yet"
    pruned = site.strands("runs", "prune", "--older-than", "30d", "--json")
    assert (pruned.code, pruned.document["deleted"], pruned.document["problems"]) == (0, [old], [])
    assert site.all_ids() == {new}
    assert site.strands("runs", "prune", "--json").document["deleted"] == []


def test_an_old_batch_goes_with_its_rows_and_leaves_nothing(site: Site, postgres_server: PostgresServer) -> None:
    batch, single = site.batch("bees", "ants", "moths"), site.run()
    site.began(batch, 40)
    assert len(site.all_ids()) == 5
    shown = site.strands("runs", "prune", "--dry-run", "--json").document["deleted"]
    assert batch in shown
    assert single not in shown
    assert site.strands("runs", "prune", "--json").code == ExitCode.OK
    assert site.all_ids() == {single}
    name = site.address.rpartition("/")[2].partition("?")[0]
    (left,) = postgres_server.run("SELECT count(DISTINCT run) FROM strands.effects", database=name)
    assert left == (1,), "no row of a deleted run is left"


def test_rows_of_a_batch_that_is_young_stay(site: Site) -> None:
    batch = site.batch("bees", "ants")
    rows = {one for one in site.all_ids() if one != batch}
    for one in rows:
        site.began(one, 40)
    assert site.strands("runs", "prune", "--json").code == ExitCode.OK
    assert site.all_ids() == {batch, *rows}, "a batch would do what is deleted again"


def test_a_run_that_another_process_works_on_stays(site: Site) -> None:
    run = site.run()
    site.began(run, 40)
    with opened(site.address) as store, contextlib.closing(store.open(run)):
        pruned = site.strands("runs", "prune", "--json")
    assert pruned.code == ExitCode.RUN_RECORD
    assert pruned.document["deleted"] == []
    assert len(pruned.document["problems"]) == 1
    assert site.all_ids() == {run}
