"""Queues without workers: what is put in, what is taken out, and the errors where there are none."""

from __future__ import annotations

import shlex
import time
from typing import Any

import pytest

from strands_cli.api import NotEquipped, RunRecordError, Runs, StorePlace, UsageError
from strands_cli_workers.open_queue import opened_queue
from strands_cli_workers.owner import WORKERS
from strands_cli_workers.queue_values import QueueLimits, Schedule, Ticket
from strands_cli_workers.run_queue import RunQueue

pytestmark = pytest.mark.postgres


def test_a_run_that_is_put_in_twice_with_one_attempt_waits_once(tickets: RunQueue) -> None:
    for _ in range(2):
        tickets.put(Ticket("run", version="1", attempt=1))

    assert [(one.name, one.waiting, one.versions) for one in tickets.states()] == [("default", 1, {"1": 1})]


def test_tickets_of_a_run_without_an_attempt_are_counted_on(tickets: RunQueue, postgres_server: Any) -> None:
    for _ in range(3):
        tickets.put(Ticket("run", version="1"))
    tickets.put(Ticket("run2", version="1"))

    assert tickets.states()[0].waiting == 4


def test_what_is_taken_out_is_never_taken_by_a_worker_and_all_of_it_at_once(tickets: RunQueue) -> None:
    tickets.put(Ticket("run", version="1"))
    tickets.put(Ticket("run", version="1", at=time.time() + 3600))
    tickets.put(Ticket("other", version="1"))

    assert tickets.take_out("run")
    assert not tickets.take_out("run")
    assert tickets.live(["run", "other", "unknown"]) == {"other"}
    assert [(one.waiting, one.delayed) for one in tickets.states()] == [(1, 0)]


def test_a_ticket_with_a_time_is_delayed_and_one_whose_time_has_passed_waits(tickets: RunQueue) -> None:
    tickets.put(Ticket("later", version="1", at=time.time() + 3600))
    tickets.put(Ticket("now", version="1", at=time.time() - 3600))

    (state,) = tickets.states()

    assert (state.waiting, state.delayed) == (1, 1)
    assert state.oldest_s is not None
    assert 0 <= state.oldest_s < 3600


def test_limits_of_a_queue_are_stored_and_a_ticket_does_not_reset_them(tickets: RunQueue) -> None:
    tickets.limit("slow", QueueLimits(concurrency=3, rate=60, rate_s=60))
    tickets.put(Ticket("run", queue="slow", version="1"))

    assert [one.limits for one in tickets.states()] == [QueueLimits(3, 60, 60)]


def test_a_schedule_is_replaced_by_its_name_and_removed(tickets: RunQueue) -> None:
    tickets.schedule(Schedule("daily", "0 6 * * *"))
    tickets.schedule(Schedule("daily", "0 7 * * *", "Europe/Berlin"))

    assert tickets.schedules() == [Schedule("daily", "0 7 * * *", "Europe/Berlin")]
    assert tickets.unschedule("daily")
    assert not tickets.unschedule("daily")
    assert tickets.schedules() == []


@pytest.mark.parametrize(
    ("times", "wrong"),
    [
        ("every day", "2 of 5"),
        ("soon", "1 of 5"),
        ("99 6 * * *", "'99' is not a minute"),
        ("0 6 * * mon-fry", "'mon-fry' is not a day of the week"),
        ("0 6 * 13 *", "'13' is not a month"),
        ("61 0 6 * * *", "'61' is not a second"),
        ("0 0 31 2 *", "no such day"),
    ],
)
def test_times_that_are_not_valid_are_refused_with_the_part_that_is_wrong(
    tickets: RunQueue, times: str, wrong: str
) -> None:
    with pytest.raises(UsageError) as raised:
        tickets.schedule(Schedule("x", times))

    assert (f"--every {times!r}" in raised.value.message, wrong in raised.value.message) == (True, True)
    assert "DBOS" not in raised.value.message
    assert tickets.schedules() == []
    tickets.schedule(Schedule("x", str(raised.value.fix).split("'")[1]))


@pytest.mark.parametrize(
    ("zone", "meant"),
    [
        ("Europe/Berln", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("Berlin", "Europe/Berlin"),
        ("UTX", "UTC"),
        ("", "Europe/Berlin"),
        ("/", "Europe/Berlin"),
    ],
)
def test_a_zone_that_does_not_exist_is_a_fault_of_its_own_option(tickets: RunQueue, zone: str, meant: str) -> None:
    with pytest.raises(UsageError) as raised:
        tickets.schedule(Schedule("x", "0 6 * * *", zone))

    assert f"--timezone {zone!r}" in raised.value.message
    assert f"--timezone {meant}" in str(raised.value.fix)
    assert tickets.schedules() == []


def test_a_store_without_queues_names_the_command_that_makes_them(store_address: str) -> None:
    place = StorePlace(address=f"{store_address}?connect_timeout=9&schema=strands")
    with pytest.raises(RunRecordError) as raised, opened_queue(place):
        pass

    words = shlex.split(str(raised.value.fix))
    assert words[:5] == ["strands", "runs", "store", "init", "--store"]
    assert words[5].endswith("?connect_timeout=9&schema=strands")


@pytest.mark.parametrize("password", ["marked", "wrong-marked"])
def test_no_message_has_the_password(store_address: str, password: str) -> None:
    place = StorePlace(address=store_address.replace("marked", password))

    with pytest.raises(RunRecordError) as raised, opened_queue(place):
        pass

    assert "marked" not in f"{raised.value.message} {raised.value.fix}"


def test_making_queues_twice_changes_nothing_and_a_check_counts_them(store_address: str) -> None:
    with Runs(StorePlace(address=store_address)) as runs:
        assert WORKERS.prepare(runs.store) == WORKERS.prepare(runs.store)
        assert WORKERS.check(runs.store) == ["queues: 0, with 0 waiting; workers: 0"]


def test_a_dbos_that_claims_in_another_way_is_refused(queued: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from dbos._sys_db import SystemDatabase

    from strands_cli_workers.claims import CLAIM, Claims

    claims = Claims(["default"], 1)
    for other in (
        None,
        lambda self, queue, executor_id: ([], None),
        lambda self, queue, executor_id, app_version, local_running_count, queue_partition_key: ([], None),
        lambda self, *, queue, executor_id: ([], None),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(SystemDatabase, CLAIM, other)
            with pytest.raises(NotEquipped) as raised:
                claims.begin()
        assert raised.value.fix == "pip install 'dbos>=3.4,<3.5'"
    claims.begin()
    claims.end()
