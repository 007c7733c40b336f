"""What breaks while processes work on runs: no finished call is made again, and no run is lost."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from store_kit import FACTS, WAIT_S, cut, done, initialised, opened, refused, until, write

from strands_cli.api import RunRecordError, StorePlace
from strands_cli_postgres import store
from strands_cli_postgres.schema import FORMAT
from tests.postgres.postgres_server import PostgresServer

pytestmark = pytest.mark.postgres

CHILD = Path(__file__).with_name("effects_child.py")
RUN, COUNT = "run", 4


class Child:
    """A process that works on a run; see `effects_child.py`."""

    def __init__(self, address: str, log: Path, count: int, *how: str) -> None:
        command = [sys.executable, str(CHILD), address, RUN, str(log), str(count), *how]
        path = os.pathsep.join([str(CHILD.parent), str(CHILD.parents[3])])
        self.waits = False
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
        )

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *raised: object) -> None:
        self.process.kill()
        self.process.communicate()

    def hears(self) -> str:
        """Return the next line that it says; empty where it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def go_to(self, *words: object) -> None:
        """Let it work until it says these words; then it waits."""
        wanted = " ".join(map(str, words))
        if self.waits:
            self.go()
        while (heard := self.hears()) != wanted:
            assert heard, f"it ended before {wanted!r}"
            if heard.split()[0] not in ("holds", "known"):
                self.go()
        self.waits = True

    def signal(self, number: int) -> None:
        os.kill(self.process.pid, number)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "effects"
    file.touch()
    return file


def effects(log: Path) -> list[int]:
    return [int(line) for line in log.read_text().split()]


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ("begin", [0, 1, 2, 3]),
        ("effect", [0, 1, 2, 3]),
        # Only this one was in flight: it happened, and nothing could say so.
        ("finish", [0, 1, 1, 2, 3]),
        ("finished", [0, 1, 2, 3]),
    ],
)
def test_a_killed_process_repeats_no_finished_effect(point: str, expected: list[int], address: str, log: Path) -> None:
    with Child(address, log, COUNT) as killed:
        killed.go_to(point, 1)
        killed.signal(signal.SIGKILL)
        killed.process.wait()
    with Child(address, log, COUNT) as next_one:
        next_one.go_to("completed")
    assert effects(log) == expected
    with opened(address) as found:
        assert found.read(RUN).status == "completed"


def test_random_kills_repeat_no_finished_effect(address: str, log: Path) -> None:
    count, kills, finished = 20, 0, set[int]()
    while True:
        before, lines = effects(log), random.randrange(3, 60)
        with Child(address, log, count, "freely") as child:
            heard = [child.hears() for _ in range(lines)]
            child.process.kill()
            heard += child.process.communicate()[0].split("\n")
        assert not finished & set(effects(log)[len(before) :]), "a finished effect was repeated"
        finished |= {int(line.split()[1]) for line in heard if line.startswith("finished ")}
        if "completed" in heard:
            break
        kills += 1
    assert set(effects(log)) == set(range(count))
    # Each kill can repeat the one effect that was in flight.
    assert len(effects(log)) <= count + kills


def test_a_stopped_process_stays_the_only_one_while_it_holds_the_run(address: str, log: Path) -> None:
    with Child(address, log, COUNT) as stopped, opened(address) as found:
        stopped.go_to("begin", 1)
        stopped.signal(signal.SIGSTOP)
        assert found.read(RUN).status == "running"
        refused(lambda: found.open(RUN))
        stopped.signal(signal.SIGCONT)
        stopped.go_to("completed")
    assert effects(log) == [0, 1, 2, 3]


@pytest.mark.parametrize("point", ["begin", "finish"])
def test_a_stopped_process_that_is_continued_after_another_took_over_does_nothing(
    point: str, address: str, log: Path
) -> None:
    with Child(address, log, COUNT) as stopped, opened(address) as found:
        stopped.go_to(point, 1)
        stopped.signal(signal.SIGSTOP)
        cut(address)
        until(lambda: found.read(RUN).status == "interrupted")
        with Child(address, log, COUNT) as other:
            other.go_to("completed")
        before = effects(log)
        with closing(found.open(RUN, hold=False)) as reader:
            rows = [*reader.rows()]
        stopped.signal(signal.SIGCONT)
        stopped.go()
        heard = [stopped.hears(), stopped.hears()]
        assert sorted(line.split()[0] for line in heard) == ["refused", "stop"]
        assert stopped.process.wait(WAIT_S) == 17
        assert effects(log) == before
        with closing(found.open(RUN, hold=False)) as reader:
            assert [*reader.rows()] == rows
        assert found.read(RUN).status == "completed"


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_runs_continue_after_a_restart_of_the_server(
    mode: str, log: Path, make_postgres: Callable[[], PostgresServer]
) -> None:
    server = make_postgres()
    server.run("CREATE DATABASE runs")
    address = initialised(server.address("runs"))
    with Child(address, log, COUNT) as child, opened(address) as found:
        child.go_to("effect", 1)
        assert found.read(RUN).status == "running"
        server.stop(mode)  # type: ignore[arg-type]
        assert child.hears() == "stop"
        refused(found.runs)
        server.start()
        # The same store object finds its way back; the process that held the run does not.
        assert found.read(RUN).status == "interrupted"
        child.go_to("finish", 1)
        child.go()
        assert child.hears().startswith("refused ")
        assert child.process.wait(WAIT_S) == 17
        with Child(address, log, COUNT) as other:
            other.go_to("completed")
        assert found.read(RUN).status == "completed"
    assert effects(log) == [0, 1, 1, 2, 3]


def test_a_process_that_holds_runs_takes_new_ones_after_a_restart(make_postgres: Callable[[], PostgresServer]) -> None:
    server = make_postgres()
    server.run("CREATE DATABASE runs")
    address = initialised(server.address("runs"))
    with opened(address) as found:
        stopped = threading.Event()
        lost = found.create("lost")
        lost.on_stop(stopped.set)
        assert found.runs()[0] == []
        server.restart("fast")
        # The connection that was open to read is lost too, and made again without an error.
        assert found.runs()[0] == []
        assert stopped.wait(WAIT_S)
        with closing(found.create("new")) as new, closing(found.open("lost")) as again:
            assert write(new, done(1)) == write(again, done(1)) == [None]
        lost.close()


def test_a_full_disk_fails_the_run_and_loses_nothing_that_was_written(
    make_postgres: Callable[[], PostgresServer],
) -> None:
    if os.geteuid():
        pytest.skip("only root may mount a small disk")
    server = make_postgres()
    disk = server.make_small_disk(24)
    server.run(f"CREATE TABLESPACE small OWNER strands LOCATION '{disk}'", superuser=True)
    server.run("CREATE DATABASE runs TABLESPACE small")
    address = initialised(server.address("runs"))
    with opened(address) as found:
        journal = found.create(RUN)
        journal.put(**FACTS)
        written = 0
        # Random, so that no compression saves it.
        while (result := write(journal, done(written, random.randbytes(500_000).hex()))[0]) is None:
            written += 1
        assert isinstance(result, RunRecordError)
        assert "free space" in str(result.fix)
        assert journal.is_held()
        # What comes after is not tried: rows have an order.
        assert isinstance(write(journal, done(999))[0], RunRecordError)
        journal.close()
        found.create("space").close()
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        with closing(found.open(RUN)) as again:
            assert [row.key for row in again.rows()] == [f"steps.{number}" for number in range(written)]
            assert write(again, done(written, "x" * 500_000)) == [None]


def test_a_run_goes_on_while_the_store_is_migrated(address: str) -> None:
    def sql(*statements: str) -> None:
        with psycopg.connect(address, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    with opened(address) as found, closing(found.create(RUN)) as journal:
        # As a process of the version before has it open.
        sql("DROP INDEX strands.runs_newest", "UPDATE strands.meta SET value = '1' WHERE name = 'format'")
        migrated = threading.Event()
        failures: list[BaseException | None] = []
        written = 0

        def migrate() -> None:
            store.migrate(StorePlace(address=address), address)
            migrated.set()

        thread = threading.Thread(target=migrate)
        thread.start()
        while not migrated.is_set() or written < 50:
            failures += write(journal, done(written))
            written += 1
        thread.join()
        assert set(failures) == {None}
        assert len([*journal.rows()]) == written
    with opened(address) as found:
        assert found.find("last") == RUN
    assert FORMAT == 2


@contextlib.contextmanager
def _waiting(address: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(address) as connection:
        yield connection


def test_a_run_waits_for_a_server_that_is_slow(address: str) -> None:
    with opened(address) as found, closing(found.create(RUN)) as journal, _waiting(address) as blocking:
        blocking.execute("SELECT FROM strands.runs WHERE id = %s FOR UPDATE", (RUN,))
        results: list[object] = []

        def work() -> None:
            results.extend(write(journal, done(1)))

        def put() -> None:
            journal.put(status="completed")
            results.append("put")

        threads = [threading.Thread(target=one) for one in (work, put)]
        for thread in threads:
            thread.start()
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        with psycopg.connect(address, autocommit=True) as looking:
            until(lambda: looking.execute(waits).fetchone() == (1,))
        assert results == []
        blocking.rollback()
        for thread in threads:
            thread.join()
        assert set(results) == {None, "put"}
