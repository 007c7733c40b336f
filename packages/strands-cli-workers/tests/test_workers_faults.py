"""Workers that are killed, stopped, cut off and asked to end: no finished call is repeated, and no run is stranded."""

from __future__ import annotations

import signal

import pytest
from worker_sites import Site

from tests.postgres.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres


def completed(site: Site, runs: list[str]) -> bool:
    return {site.status(run) for run in runs} == {"completed"}


def test_a_killed_worker_repeats_only_the_calls_that_were_being_made(clean: Site) -> None:
    site = clean
    held = site.model.hold("second (first killed")
    killed = site.worker("--name", "twin", "--concurrency", "3")
    killed.wait_for("started")
    runs = [site.submit(f"killed{number}") for number in range(6)]
    firsts = [f"first killed{number}" for number in range(6)]
    seconds = [f"second ({first})" for first in firsts]
    killed.wait_for("dispatched", times=3)
    other = site.worker("--name", "twin", "--concurrency", "6")
    site.model.wait_for(*seconds)
    had = [line["run"] for line in killed.events("dispatched")]

    killed.kill()
    site.model.wait_for(*(seconds[runs.index(run)] for run in had), times=2)
    held.set()

    for run in runs:
        other.wait_for("finished", run)
    assert completed(site, runs)
    assert {other.wait_for("recovered", run)["run"] for run in had} == set(had)
    assert [site.model.asked[first] for first in firsts] == [1] * 6
    assert sum(site.model.asked[second] for second in seconds) == 6 + len(had)


def test_a_worker_that_shall_end_lets_its_run_end_and_takes_no_other(clean: Site) -> None:
    site = clean
    held = site.model.hold("first draining")
    worker = site.worker("--concurrency", "1")
    running, waiting = site.submit("draining1"), site.submit("waits")
    site.model.wait_for("first draining1")

    worker.send(signal.SIGTERM)
    worker.wait_for("draining")
    assert [one["state"] for one in site.json("workers")["workers"]] == ["draining"]
    held.set()

    assert worker.end() == 0
    assert (site.status(running), site.status(waiting)) == ("completed", "queued")
    assert site.json("workers")["workers"] == []
    assert site.worker("--drain").end() == 0
    assert site.status(waiting) == "completed"


def test_a_run_that_is_stopped_since_its_worker_ends_goes_on_at_another_one(clean: Site) -> None:
    site = clean
    held = site.model.hold("second (first stopped")
    worker = site.worker("--drain-timeout", "0s")
    run = site.submit("stopped")
    site.model.wait_for("second (first stopped)")

    worker.send(signal.SIGTERM)

    assert worker.end() == 0
    assert worker.events("returned", run)
    held.set()
    assert site.worker("--drain").end() == 0
    assert completed(site, [run])
    assert site.model.asked["first stopped"] == 1
    assert site.model.asked["second (first stopped)"] == 2


def test_a_worker_whose_session_is_ended_stops_its_runs_and_takes_a_new_place(
    clean: Site, postgres_server: PostgresServer
) -> None:
    site = clean
    held = site.model.hold("second (first cut")
    cut = site.worker("--name", "cut")
    run = site.submit("cut")
    site.model.wait_for("second (first cut)")
    other = site.worker("--name", "other")
    other.wait_for("started")

    end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE %s"
    assert postgres_server.run(end, "strands-worker cut%", superuser=True) == [(1,)]

    assert cut.wait_for("started", times=2)["worker"] != cut.events("started")[0]["worker"]
    held.set()
    site.until(lambda: completed(site, [run]))
    assert site.model.asked["first cut"] == 1
    assert [one.process.poll() for one in (cut, other)] == [None, None]


def test_a_stopped_process_that_goes_on_after_others_took_its_run_does_nothing_more(
    clean: Site, postgres_server: PostgresServer
) -> None:
    site = clean
    held = site.model.hold("first frozen")
    frozen = site.worker("--name", "frozen")
    run = site.submit("frozen")
    site.model.wait_for("first frozen")
    frozen.send(signal.SIGSTOP)
    other = site.worker("--name", "other")
    other.wait_for("started")

    end = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
        "WHERE pid <> pg_backend_pid() AND (application_name LIKE %s OR application_name LIKE %s)"
    )
    postgres_server.run(end, "strands-worker frozen%", f"% {frozen.process.pid}@%", superuser=True)
    site.model.wait_for("first frozen", times=2)
    held.set()
    other.wait_for("finished", run)
    frozen.send(signal.SIGCONT)

    frozen.wait_for("started", times=2)
    assert completed(site, [run])
    assert site.model.asked["second (first frozen)"] == 1


def test_a_run_moves_between_workers_while_it_is_cancelled(clean: Site) -> None:
    site = clean
    site.model.hold("first moving")
    workers = [site.worker("--name", f"w{number}", "--drain-timeout", "0s") for number in range(2)]
    for worker in workers:
        worker.wait_for("started")
    run = site.submit("moving")
    site.model.wait_for("first moving")
    holder = next(worker for worker in workers if worker.events("dispatched", run))

    holder.send(signal.SIGTERM)
    cancelled = site.strands("runs", "cancel", run)

    assert cancelled.code == 0, cancelled.err
    assert holder.end() == 0
    assert site.status(run) == "cancelled"
    assert site.json("workers", "queue", "status")["queues"][0]["waiting"] == 0
    asked = site.model.asked["first moving"]
    assert site.worker("--drain").end() == 0
    assert site.model.asked["first moving"] == asked
    assert site.status(run) == "cancelled"
