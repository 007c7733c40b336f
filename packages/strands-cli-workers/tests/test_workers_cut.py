"""What is cut, restarted, full or wrong around workers: calls that were finished are made once, and no run is lost.

`KILLED_WORKERS=all` cuts each kind of connection, and restarts the server in both ways.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from worker_sites import Site, site_at

from tests.postgres.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres

ALL = os.environ.get("KILLED_WORKERS") == "all"
# By the names that the server lists: journals, all of one database, and the kinds that a worker has besides.
CONNECTIONS = ["strands-cli/% {pid}@%", "%", "strands-dbos%", "strands-recovery%", "strands-queue%", "strands-worker%"]
CUT = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = %s AND application_name LIKE %s"
GATE = [
    {"agent": "writer", "input": "first {{ topic }}"},
    {"type": "hitl", "prompt": "Go on?"},
    {"agent": "writer", "input": "after {{ hitl_response }} {{ topic }}"},
]


@pytest.mark.parametrize("connection", CONNECTIONS if ALL else CONNECTIONS[:2])
def test_each_kind_of_connection_can_be_cut(clean: Site, postgres_server: PostgresServer, connection: str) -> None:
    """A worker that ends is started again by what started it; here another one is there."""
    site, topic = clean, f"cut{abs(hash(connection)) % 10_000}"
    held = site.model.hold(f"second (first {topic}")
    worker = site.worker("--name", "cut")
    run = site.submit(topic)
    site.model.wait_for(f"second (first {topic})")
    database = site.address.rpartition("/")[2]

    ((count,),) = postgres_server.run(CUT, database, connection.format(pid=worker.process.pid), superuser=True)

    assert count >= 1
    site.worker("--name", "other").wait_for("started")
    held.set()
    site.until(lambda: site.status(run) == "completed")
    assert site.model.asked[f"first {topic}"] == 1
    assert site.model.asked[f"second (first {topic})"] <= 2
    assert site.until(lambda: not any(one["running"] for one in site.json("workers", "queue", "status")["queues"]))


@pytest.mark.parametrize("mode", ["immediate", "fast"] if ALL else ["immediate"])
def test_runs_complete_after_a_restart_of_the_server(
    mode: str, make_postgres: Callable[[], PostgresServer], tmp_path: Path
) -> None:
    server = make_postgres()
    with site_at(server, tmp_path) as site:
        held = site.model.hold("second (first restarted")
        workers = [site.worker("--name", "one"), site.worker("--name", "two")]
        runs = [site.submit(f"restarted{number}") for number in range(6)]
        site.model.wait_for(*(f"second (first restarted{number})" for number in range(6)))
        server.restart(mode)  # type: ignore[arg-type]
        for worker in workers:
            worker.wait_for("started", times=2)
        held.set()
        for run in runs:
            site.until(lambda run=run: site.status(run) == "completed")
        assert [site.model.asked[f"first restarted{number}"] for number in range(6)] == [1] * 6
        assert [site.model.asked[f"second (first restarted{number})"] for number in range(6)] == [2] * 6


def test_a_run_whose_store_is_gone_is_reported_as_lost_with_the_reason(
    make_postgres: Callable[[], PostgresServer], tmp_path: Path
) -> None:
    server = make_postgres()
    with site_at(server, tmp_path) as site:
        held = site.model.hold("first gone")
        worker = site.worker("--name", "one", "--connect-timeout", "2s")
        run = site.submit("gone")
        site.model.wait_for("first gone")
        server.stop("immediate")
        assert worker.end() == 17
        (lost,) = worker.events("lost")
        assert (lost["run"], lost["level"]) == (run, "warning")
        assert str(server.port) in lost["reason"]
        assert not worker.events("finished")
        assert worker.log[-1]["message"].startswith("error: the store")
        shown = [line["message"] for line in worker.log]
        assert not [one for one in shown if "psycopg" in one or "Traceback" in one or "<function" in one]
        held.set()
        server.start()
        site.worker("--name", "two").wait_for("finished", run)
        assert site.status(run) == "completed"


def test_a_question_that_is_answered_twice_at_once_is_answered_once(clean: Site) -> None:
    site = clean
    flow = site.flow("gated", pattern={"type": "chain", "config": {"steps": GATE}})
    run = site.submit("twice", flow=flow)
    site.worker("--name", "one").wait_for("finished", run)
    site.worker("--name", "two").wait_for("started")
    commands = [("approve", run, "--answer", "yes"), ("approve", run, "--answer", "no"), ("resume", run)]
    started = [site.folder.start(*words, "--store", site.address) for words in commands]
    codes = [one.end().code for one in started]
    assert codes.count(0) >= 1
    site.until(lambda: site.status(run) == "completed")
    assert site.model.asked["first twice"] == 1
    assert site.model.asked["after yes twice"] + site.model.asked["after no twice"] == 1


def test_workers_whose_clocks_differ_by_days_complete_runs_and_recover_those_of_each_other(clean: Site) -> None:
    site = clean
    held = site.model.hold("second (first clock")
    early = site.worker("--name", "early", STRANDS_TEST_CLOCK="172800")
    runs = [site.submit(f"clock{number}") for number in range(3)]
    site.model.wait_for(*(f"second (first clock{number})" for number in range(3)))
    site.worker("--name", "late", STRANDS_TEST_CLOCK="-172800").wait_for("started")
    early.kill()
    site.model.wait_for(*(f"second (first clock{number})" for number in range(3)), times=2)
    held.set()
    for run in runs:
        site.until(lambda run=run: site.status(run) == "completed")
    assert [site.model.asked[f"first clock{number}"] for number in range(3)] == [1] * 3


def test_a_database_without_space_stops_runs_which_complete_when_it_has_some(
    make_postgres: Callable[[], PostgresServer], tmp_path: Path
) -> None:
    if os.geteuid():
        pytest.skip("only root may mount a small disk")
    server = make_postgres()
    disk = server.make_small_disk(40)
    server.run(f"CREATE TABLESPACE small OWNER strands LOCATION '{disk}'", superuser=True)
    with site_at(server, tmp_path, "small") as site:
        held = site.model.hold("first full")
        worker = site.worker("--name", "one")
        runs = [site.submit(f"full{number}") for number in range(4)]
        site.model.wait_for(*(f"first full{number}" for number in range(4)))
        with (disk / "junk").open("wb", buffering=0) as junk:
            while True:
                try:
                    junk.write(b"x" * 4096)
                except OSError:
                    break
        held.set()
        # The answers come, and cannot be stored.
        ends = ("finished", "returned", "ended")
        site.until(lambda: any(worker.events(name) for name in ends) or worker.process.poll() is not None)
        (disk / "junk").unlink()
        subprocess.run(["mount", "-o", "remount,size=120m", str(disk)], check=True)
        site.worker("--name", "two")
        for run in runs:
            if site.status(run) == "failed":
                assert site.strands("resume", run).code == 0
            site.until(lambda run=run: site.status(run) == "completed")
        assert all(site.model.asked[f"first full{number}"] <= 2 for number in range(4))


def test_the_store_is_migrated_while_workers_work(clean: Site, postgres_server: PostgresServer) -> None:
    site = clean
    held = site.model.hold("first migrated")
    site.worker("--name", "one")
    runs = [site.submit(f"migrated{number}") for number in range(4)]
    site.model.wait_for("first migrated0")
    database = site.address.rpartition("/")[2]
    for statement in ("DROP INDEX strands.runs_newest", "UPDATE strands.meta SET value = '1' WHERE name = 'format'"):
        postgres_server.run(statement, database=database)
    assert site.strands("runs", "store", "migrate").code == 0
    held.set()
    for run in runs:
        site.until(lambda run=run: site.status(run) == "completed")
    assert [site.model.asked[f"first migrated{number}"] for number in range(4)] == [1] * 4


def test_a_batch_whose_collector_is_killed_is_collected_by_the_next_one(clean: Site) -> None:
    site = clean
    site.folder.write("rows.csv", "topic\n" + "".join(f"collected{number}\n" for number in range(8)))
    held = site.model.hold("second (first collected")
    site.worker("--name", "one")
    words = ("batch", "run", "flow.yaml", "rows.csv", "-o", "out.jsonl", "--engine", "dbos")
    collector = site.folder.start(*words, "--store", site.address)
    with site.model.came:  # which rows come first is the queue's choice
        assert site.model.came.wait_for(lambda: any("second (first coll" in text for text in site.model.asked), 180)
    collector.send(signal.SIGKILL)
    collector.end()
    held.set()

    ran = site.strands(*words)

    assert ran.code == 0, ran.err
    lines = [json.loads(line) for line in (site.folder.work / "out.jsonl").read_text().splitlines()]
    assert [line["response"] for line in lines] == [f"(second (first collected{number}))" for number in range(8)]
    assert {site.model.asked[f"first collected{number}"] for number in range(8)} == {1}
    assert {site.model.asked[f"second (first collected{number})"] for number in range(8)} == {1}
