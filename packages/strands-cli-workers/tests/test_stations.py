"""Workers at queues in a real Postgres: each ticket is taken once, also when workers are killed."""

from __future__ import annotations

import signal
import time
from typing import Any

import pytest

from strands_cli_workers.queue_values import QueueLimits, Schedule, Ticket
from strands_cli_workers.run_queue import RunQueue

pytestmark = pytest.mark.postgres


def ticket(run_id: str, **facts: Any) -> Ticket:
    return Ticket(run_id, **{"version": "1", **facts})


def test_two_workers_of_one_name_are_two_and_share_the_tickets(tickets: RunQueue, stations: Any) -> None:
    first, second = stations.start(concurrency=2), stations.start(concurrency=2)

    for number in range(4):
        tickets.put(ticket(f"run{number}"))

    assert sorted(stations.took(4)) == ["run0", "run1", "run2", "run3"]
    assert first.id != second.id
    assert [(one.name, one.is_alive, len(one.runs)) for one in tickets.workers()] == [("w", True, 2)] * 2


def test_what_a_killed_worker_had_is_taken_again_once_however_many_recover_it(tickets: RunQueue, stations: Any) -> None:
    killed = stations.start(concurrency=3)
    for number in range(3):
        tickets.put(ticket(f"run{number}"))
    killed.wrote("took", 3)
    others = [stations.start(concurrency=3, name=f"other{number}") for number in range(3)]
    assert [other.id for other in others]

    killed.kill()
    for other in others:
        other.tell(recover=True)
    recovered = [run for other in others for run in other.wrote("answer")[0]]

    assert sorted(recovered) == ["run0", "run1", "run2"]
    assert sorted(stations.took(6)[3:]) == ["run0", "run1", "run2"]
    assert killed.id not in {one.id for one in tickets.workers()}
    # Nothing is left that a later recovery would dispatch again.
    assert [other.ask("recover") for other in others] == [[], [], []]
    assert len(stations.took()) == 6


def test_a_worker_that_lives_keeps_what_it_took(tickets: RunQueue, stations: Any) -> None:
    busy, other = stations.start(name="busy", concurrency=1), stations.start(name="other", queues=["another"])
    tickets.put(ticket("long"))
    busy.wrote("took")

    assert other.ask("recover") == []
    assert [one.runs for one in tickets.workers() if one.id == busy.id] == [("long",)]


def test_the_limit_of_a_queue_is_not_stuck_when_the_worker_that_reached_it_is_killed(
    tickets: RunQueue, stations: Any
) -> None:
    tickets.limit("default", QueueLimits(concurrency=1))
    killed = stations.start()
    tickets.put(ticket("first"))
    killed.wrote("took")
    tickets.put(ticket("second"))
    other = stations.start(at_once=True)
    assert other.id

    killed.kill()

    assert other.ask("recover") == ["first"]
    assert other.wrote("took", 2) == ["first", "second"]


def test_a_ticket_that_was_recovered_keeps_its_queue_and_its_priority(tickets: RunQueue, stations: Any) -> None:
    tickets.limit("special", QueueLimits(concurrency=1))
    killed = stations.start(queues=["special"])
    tickets.put(ticket("first", queue="special", priority=1))
    killed.wrote("took")
    tickets.put(ticket("second", queue="special", priority=50))
    killed.kill()
    recovering = stations.start(queues=["default"], name="recovering")

    assert recovering.ask("recover") == ["first"]
    assert [(one.name, one.waiting) for one in tickets.states() if one.waiting] == [("special", 2)]
    working = stations.start(queues=["special"], at_once=True)
    assert working.wrote("took", 2) == ["first", "second"]


def test_a_stopped_process_whose_session_ended_is_gone_and_learns_it_when_it_goes_on(
    tickets: RunQueue, stations: Any, postgres_server: Any
) -> None:
    stopped = stations.start()
    tickets.put(ticket("run"))
    stopped.wrote("took")
    stopped.process.send_signal(signal.SIGSTOP)
    other = stations.start(at_once=True, name="other")
    assert other.ask("recover") == []  # its session lives

    ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = %s"
    assert postgres_server.run(ended, f"strands-worker {stopped.id}", superuser=True) == [(1,)]

    assert stations.ask_until(lambda: other.ask("recover")) == ["run"]
    assert other.wrote("took") == ["run"]
    stopped.process.send_signal(signal.SIGCONT)
    assert stopped.wrote("lost")
    assert stopped.process.wait() == 1


def test_a_smaller_priority_goes_first_and_equal_ones_in_their_order(tickets: RunQueue, stations: Any) -> None:
    for run_id, priority in (("late", 100), ("later", 200), ("first", 1), ("last", 200)):
        tickets.put(ticket(run_id, priority=priority))

    stations.start(concurrency=1, at_once=True)

    assert stations.took(4) == ["first", "late", "later", "last"]


def test_a_worker_has_at_most_its_own_number_over_all_its_queues(tickets: RunQueue, stations: Any) -> None:
    for number in range(6):
        tickets.put(ticket(f"run{number}", queue="a" if number % 2 else "b"))
    small, large = stations.start(concurrency=1, queues=["a", "b"]), stations.start(concurrency=3, queues=["a", "b"])

    small.wrote("took", 1)
    large.wrote("took", 3)

    assert sum(one.waiting for one in tickets.states()) == 2
    small.tell(end=small.wrote("took")[0])
    assert len(small.wrote("took", 2)) == 2


def test_a_rate_holds_for_all_workers_until_it_is_lifted(tickets: RunQueue, stations: Any) -> None:
    tickets.limit("default", QueueLimits(rate=2, rate_s=3600))
    for number in range(4):
        tickets.put(ticket(f"run{number}"))
    for name in ("one", "two"):
        stations.start(name=name, queues=["default", "free"], at_once=True)

    stations.took(2)
    tickets.put(ticket("after", queue="free"))

    assert "after" in stations.took(3)
    assert next(one for one in tickets.states() if one.name == "default").limits == QueueLimits(None, 2, 3600)
    tickets.limit("default", QueueLimits())
    assert len(stations.took(5)) == 5


def test_a_ticket_that_comes_back_waits_for_its_time_with_its_refusals(tickets: RunQueue, stations: Any) -> None:
    one = stations.start()
    tickets.put(ticket("run"))
    one.wrote("took")
    again = ticket("run", attempt=2, at=time.time() + 3600, refusals={"w": "another tool"})

    one.tell(end="run", again=again.as_dict())
    stations.ask_until(lambda: next(state for state in tickets.states()).delayed == 1)

    assert [(found.run_id, found.refusals) for found in tickets.refused(10)] == [("run", {"w": "another tool"})]
    assert stations.ask_until(lambda: one.ask("pending") == 0)
    assert tickets.live(["run", "other"]) == {"run"}


def test_a_worker_that_is_paused_takes_nothing_more_and_closes_when_it_shall(tickets: RunQueue, stations: Any) -> None:
    paused, other = stations.start(name="paused"), stations.start(name="other", queues=["free"], at_once=True)
    paused.ask("pause")

    tickets.put(ticket("run"))
    tickets.put(ticket("after", queue="free"))

    assert other.wrote("took") == ["after"]
    assert paused.ask("pending") == 1
    assert [one.is_draining for one in tickets.workers() if one.name == "paused"] == [True]
    paused.tell(close=True)
    assert paused.wrote("closed")
    assert {one.name for one in tickets.workers()} == {"other"}


def test_a_ticket_is_for_workers_of_its_version_and_adopted_when_none_of_them_is_left(
    tickets: RunQueue, stations: Any
) -> None:
    newer, older = stations.start(version="2", name="newer", at_once=True), stations.start(version="1", name="older")
    assert newer.id
    assert older.id
    tickets.put(ticket("old"))
    tickets.put(ticket("new", version="2"))

    assert older.wrote("took") == ["old"]
    assert newer.wrote("took") == ["new"]
    assert newer.ask("recover") == []  # a worker of its version lives
    older.kill()
    tickets.put(ticket("left"))

    assert sorted(newer.ask("recover")) == ["left", "old"]
    assert sorted(newer.wrote("took", 3)) == ["left", "new", "old"]


def test_what_is_done_is_removed_after_its_time(
    tickets: RunQueue, stations: Any, postgres_server: Any, database: str
) -> None:
    one = stations.start(at_once=True)
    for number in range(3):
        tickets.put(ticket(f"run{number}"))
    one.wrote("took", 3)
    stations.ask_until(lambda: not sum(state.running for state in tickets.states()))
    name = database.rpartition("/")[2]
    count = "SELECT count(*) FROM strands_dbos.workflow_status"

    one.ask("tidy")
    assert postgres_server.run(count, database=name) == [(3,)]
    earlier = "UPDATE strands_dbos.workflow_status SET completed_at = completed_at - 3700 * 1000"
    postgres_server.run(earlier, database=name)
    one.ask("tidy")

    assert postgres_server.run(count, database=name) == [(0,)]


def test_each_firing_of_a_schedule_makes_one_run_however_many_workers_there_are(
    tickets: RunQueue, stations: Any
) -> None:
    first, second = stations.start(at_once=True), stations.start(at_once=True)
    assert first.id
    assert second.id

    tickets.schedule(Schedule("every-second", "* * * * * *"))
    stations.took(3)
    tickets.unschedule("every-second")

    fired = [line["moment"] for _, line in stations.lines if "fired" in line]
    taken = stations.took()
    assert len(set(taken)) == len(taken)
    assert {f"every-second-{moment:.0f}" for moment in fired} >= set(taken)
    assert len(set(fired)) == len(fired)
