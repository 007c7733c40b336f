"""Queues in a real Postgres, and workers at them in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from worker_sites import Site, site_at

from strands_cli.api import Runs, StorePlace
from tests.cli.conftest import folder
from tests.postgres.postgres_server import PostgresServer
from tests.wordings import wording

__all__ = ["folder", "wording"]

# What only `nox -s postgres` installs.
HAS_DATABASE = bool(find_spec("dbos") and find_spec("strands_cli_postgres"))
collect_ignore_glob = (
    [] if HAS_DATABASE else ["test_workers_*.py", "test_stations.py", "test_queue*.py", "test_two_*.py"]
)

PROGRAM = Path(__file__).with_name("a_station.py")
# For what takes below a second on a quiet machine.
PATIENCE_S = 60


class Stations:
    """Workers in processes of their own, whose dispatches end when the test says so.

    Attributes:
        lines: What they have printed, each line with the worker.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._all: list[AtStation] = []
        self.lines: list[tuple[AtStation, dict[str, Any]]] = []
        self.came = threading.Condition()

    def start(self, **choices: Any) -> AtStation:
        """Start a worker."""
        self._all.append(one := AtStation(self, {"address": self._address, **choices}))
        return one

    def until(self, found: Callable[[], Any]) -> Any:
        """Return what is found in the lines, as soon as it is something."""
        with self.came:
            assert self.came.wait_for(found, PATIENCE_S), f"not among {[line for _, line in self.lines]}"
            return found()

    def ask_until(self, found: Callable[[], Any]) -> Any:
        """Return what is found, as soon as it is something; the database does not say when."""
        deadline, pause = time.monotonic() + PATIENCE_S, threading.Event()
        while not (value := found()):
            assert time.monotonic() < deadline
            pause.wait(0.05)
        return value

    def took(self, least: int = 0) -> list[str]:
        """Return the ids of all runs that were taken, in this order, when there are at least so many."""
        return self.until(lambda: runs if len(runs := self._taken()) >= least else None) or []

    def _taken(self) -> list[str]:
        return [line["took"] for _, line in self.lines if "took" in line]

    def close(self) -> None:
        """Kill all."""
        for one in self._all:
            one.kill()


class AtStation:
    """One worker.

    Attributes:
        process: Its process.
    """

    def __init__(self, stations: Stations, choices: dict[str, Any]) -> None:
        self.stations = stations
        command = [sys.executable, "-W", "error", str(PROGRAM), json.dumps(choices)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self.stations.came:
                self.stations.lines.append((self, json.loads(line)))
                self.stations.came.notify_all()

    def tell(self, **order: Any) -> None:
        """Give an order: `end` a run, also `again` with a ticket; `recover`, `pending`, `tidy`, `pause`, `close`."""
        assert self.process.stdin is not None
        print(json.dumps(order), file=self.process.stdin, flush=True)

    @property
    def id(self) -> str:
        """Its id in the queues, when it takes tickets."""
        return self.wrote("at")[0]

    def ask(self, order: str) -> Any:
        """Give an order, and return what it answers."""
        before = len(self._written("answer"))
        self.tell(**{order: True})
        return self.wrote("answer", before + 1)[-1]

    def wrote(self, name: str, least: int = 1) -> list[Any]:
        """Return the values of its lines with this name, when there are at least so many."""
        return self.stations.until(lambda: found if len(found := self._written(name)) >= least else None)

    def _written(self, name: str) -> list[Any]:
        return [line[name] for one, line in self.stations.lines if one is self and name in line]

    def kill(self) -> None:
        """Kill the process, and wait until it is gone."""
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()


@pytest.fixture
def queued(store_address: str) -> str:
    """Return the address of a store with queues."""
    from strands_cli_workers.owner import WORKERS

    with Runs(StorePlace(address=store_address)) as runs:
        WORKERS.prepare(runs.store)
    return store_address


@pytest.fixture
def tickets(queued: str) -> Iterator[Any]:
    """Return the queues of the store."""
    from strands_cli_workers.open_queue import opened_queue

    with opened_queue(StorePlace(address=queued)) as (_, queue):
        yield queue


@pytest.fixture
def stations(queued: str) -> Iterator[Stations]:
    """Return what starts workers; all are killed at the end."""
    started = Stations(queued)
    yield started
    started.close()


@pytest.fixture(scope="module")
def site(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Return a folder with a store that has queues; its workers are killed at the end."""
    with site_at(postgres_server, tmp_path_factory.mktemp("site")) as made:
        yield made


@pytest.fixture
def clean(site: Site) -> Iterator[Site]:
    """Return the site, and end its workers after the test."""
    yield site
    for worker in site.workers:
        worker.kill()
    site.workers.clear()
