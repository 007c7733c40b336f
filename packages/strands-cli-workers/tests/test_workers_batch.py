"""A batch whose rows workers run: two workers, one of them killed, and no row repeated."""

from __future__ import annotations

import json

import psycopg
import pytest
from worker_sites import PATIENCE_S, Site

pytestmark = pytest.mark.postgres


def test_two_workers_run_the_rows_of_a_batch_and_one_of_them_is_killed(site: Site) -> None:
    site.folder.write("rows.csv", "topic\n" + "".join(f"row{number}\n" for number in range(12)))
    killed, other = (site.worker("--name", name, "--concurrency", "4") for name in "ab")
    held = site.model.hold("second (first row")
    batch = site.folder.start(
        "batch", "run", "flow.yaml", "rows.csv", "-o", "out.jsonl", "--engine", "dbos", "--store", site.address
    )
    # Both are full, and each of their rows has its first answer: nothing is being asked that could be repeated.
    with site.model.came:
        full = lambda: sum("second (first row" in text for text in site.model.asked) == 8  # noqa: E731
        assert site.model.came.wait_for(full, PATIENCE_S)
    assert len(killed.events("dispatched")) == 4
    killed.kill()
    held.set()

    ran = batch.end()

    assert ran.code == 0, ran.err
    lines = [json.loads(line) for line in (site.folder.work / "out.jsonl").read_text().splitlines()]
    assert [line["response"] for line in lines] == [f"(second (first row{number}))" for number in range(12)]
    assert [site.model.asked[f"first row{number}"] for number in range(12)] == [1] * 12
    assert other.events("finished")
    again = site.strands("batch", "run", "flow.yaml", "rows.csv", "-o", "out.jsonl", "--engine", "dbos")
    assert again.code == 0
    assert sum(site.model.asked[f"first row{number}"] for number in range(12)) == 12


def test_a_row_that_fails_is_a_line_and_is_run_again_by_retry(site: Site) -> None:
    site.folder.write("few.csv", "topic\ngood\nwill fail\n")
    site.worker("--name", "c")

    ran = site.strands("batch", "run", "flow.yaml", "few.csv", "-o", "few.jsonl", "--engine", "dbos", "--name", "few")

    assert ran.code == 10
    lines = [json.loads(line) for line in (site.folder.work / "few.jsonl").read_text().splitlines()]
    assert [line["status"] for line in lines] == ["completed", "failed"]
    asked = site.model.asked["first will fail"]
    assert site.strands("batch", "retry", "few", "--failed").code == 10
    assert site.model.asked["first will fail"] > asked
    assert site.model.asked["first good"] == 1


@pytest.mark.parametrize("options", [("--engine", "dbos", "--limit", "openai=2"), ("--queue", "of-workers")])
def test_what_would_have_no_effect_on_those_who_run_the_rows_is_refused(site: Site, options: tuple[str, ...]) -> None:
    site.folder.write("one.csv", "topic\none\n")
    ran = site.strands("batch", "run", "flow.yaml", "one.csv", "-o", "one.jsonl", "--name", "refused", *options)

    assert ran.code == 2
    assert [run["id"] for run in site.json("runs", "list")["runs"] if run["id"].startswith("refused")] == []


def test_where_there_are_no_queues_no_batch_is_stored(site: Site) -> None:
    site.folder.write("one.csv", "topic\none\n")
    words = ("batch", "run", "flow.yaml", "one.csv", "-o", "nowhere.jsonl", "--engine", "dbos")

    assert site.folder.strands(*words).code == 2
    assert site.folder.strands("runs", "list", "--json").document["runs"] == []


def test_what_is_announced_of_calls_that_ask_is_what_the_workers_do(site: Site) -> None:
    call = {"tool": "native:file_write", "input": {"path": "written.txt", "content": "{{ topic }}"}}
    site.folder.write("one.csv", "topic\none\n")
    site.worker("--name", "f", "--queue", "of-asking")
    flow = site.flow("asking", agents={}, pattern={"type": "chain", "config": {"steps": [call]}})
    words = ("batch", "run", flow, "one.csv", "--engine", "dbos", "--queue", "of-asking")

    waits = site.strands(*words, "-o", "waits.jsonl", "--name", "waits")
    assert (waits.code, "will wait for a person" in waits.err, "will be denied" in waits.err) == (19, True, False)
    denied = site.strands(*words, "-o", "denied.jsonl", "--name", "denied", "--deny")
    assert (denied.code, "will wait for a person" in denied.err, "will be denied" in denied.err) == (21, False, True)
    assert json.loads((site.folder.work / "denied.jsonl").read_text())["status"] == "failed"


def test_a_batch_whose_store_does_not_answer_for_a_time_goes_on_when_it_does(site: Site) -> None:
    site.folder.write("cut.csv", "topic\ncut off\n")
    words = ("cut.csv", "-o", "cut.jsonl", "--engine", "dbos", "--name", "cut", "--queue", "of-cut")
    held = site.model.hold("second (first cut off")
    worker = site.worker("--name", "d", "--queue", "of-cut")
    batch = site.folder.start("batch", "run", "flow.yaml", *words, "--store", site.address)
    site.model.wait_for("second (first cut off)")
    with psycopg.connect(site.address, autocommit=True) as connection:
        connection.execute("ALTER TABLE strands.runs RENAME COLUMN status TO hidden")
        batch.wait_for("column")
        connection.execute("ALTER TABLE strands.runs RENAME COLUMN hidden TO status")
    held.set()
    worker.wait_for("finished")

    assert batch.end().code == 0
    assert json.loads((site.folder.work / "cut.jsonl").read_text())["status"] == "completed"
