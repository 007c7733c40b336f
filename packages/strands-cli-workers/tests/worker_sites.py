"""Submitted runs in a real Postgres, workers in processes of their own, and the model server that all of them ask."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from killed_at import CLOCK, WHERE

from strands_cli.api import Runs, StorePlace
from strands_cli_workers.workspace import name_of
from tests.cli.strands import CLONE, Folder, Ran, empty_folder
from tests.fakes.model_server import ModelServer, Turn, echo
from tests.postgres.postgres_server import PostgresServer
from tests.warm import STRANDS, WarmProcess, can_be_warm, start_warm

HERE = Path(__file__).parent
PATIENCE_S = 180
_NUMBERS = itertools.count(1)
GATE = [
    {"agent": "writer", "input": "first {{ topic }}"},
    {"type": "hitl", "prompt": "Go on?"},
    {"agent": "writer", "input": "after {{ hitl_response }} {{ topic }}"},
]
AGENT = {"writer": {"prompt": "You write.", "tools": []}}


class Model:
    """The model of all runs: it repeats what it is asked, and holds answers to texts with a word that is held.

    Attributes:
        asked: How often each text came.
    """

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.came = threading.Condition()
        self._held: dict[str, threading.Event] = {}
        self.server = ModelServer(self._answer)

    def _answer(self, request: dict[str, Any]) -> Turn:
        turn = echo(request)
        text = turn.text.removeprefix("The user said: ")
        with self.came:
            self.asked[text] += 1
            self.came.notify_all()
        held = next((event for word, event in self._held.items() if word in text), None)
        if "fail" in text:
            return Turn(status=400)
        return dataclasses.replace(turn, text=f"({text})", after=held)

    def hold(self, word: str) -> threading.Event:
        """Hold the answers to texts with a word until the event is set."""
        return self._held.setdefault(word, threading.Event())

    def wait_for(self, *texts: str, times: int = 1) -> None:
        """Return when each of these texts has come so often."""
        with self.came:
            found = self.came.wait_for(lambda: all(self.asked[text] >= times for text in texts), PATIENCE_S)
        assert found, f"not asked: {texts} in {self.asked}"

    def close(self) -> None:
        """Let all answers go."""
        for event in self._held.values():
            event.set()


class Site:
    """A folder in which runs are submitted, and the workers of its store.

    Attributes:
        folder: Where commands are run.
        address: Of the store, with its password.
    """

    def __init__(self, folder: Folder, address: str, model: Model) -> None:
        self.folder, self.address, self.model = folder, address, model
        self.workers: list[AWorker] = []

    def strands(self, *words: str, **env: str) -> Ran:
        """Run a command about the store."""
        return self.folder.strands(*words, "--store", self.address, **env)

    def json(self, *words: str) -> Any:
        """Run a command about the store that prints JSON, and return it."""
        return self.strands(*words, "--json").document

    def flow(self, name: str = "flow", **sections: Any) -> str:
        """Write a workflow of two steps, and return its name."""
        steps = [
            {"agent": "writer", "input": "first {{ topic }}"},
            {"agent": "writer", "input": "second {{ last_response }}"},
        ]
        spec = {
            "version": 2,
            "name": name,
            "runtime": {"provider": "openai", "model_id": "m", "host": self.model.server.url},
            "inputs": {"required": {"topic": "string"}},
            "agents": AGENT,
            "pattern": {"type": "chain", "config": {"steps": steps}},
            **sections,
        }
        self.folder.write(f"{name}.yaml", spec)
        return f"{name}.yaml"

    def submit(self, topic: str, *words: str, flow: str = "flow.yaml") -> str:
        """Submit a run, and return its id."""
        ran = self.strands("workers", "submit", flow, "--var", f"topic={topic}", *words)
        assert ran.code == 0, ran.err
        return ran.out.strip()

    def worker(self, *words: str, killed_at: str = "", **env: str) -> AWorker:
        """Start a worker; `killed_at` is a call at which it dies, as `killed_at.py` has it."""
        self.workers.append(one := AWorker(self, words, {**env, WHERE: killed_at} if killed_at else env))
        return one

    def status(self, run_id: str) -> str:
        """Return the status of a run."""
        return str(next(run["status"] for run in self.json("runs", "list")["runs"] if run["id"] == run_id))

    def until(self, found: Callable[[], Any]) -> Any:
        """Return what is found, as soon as it is something."""
        pause, rounds = threading.Event(), 0
        while not (value := found()):
            rounds += 1
            assert rounds < 1000, "it was not found"
            pause.wait(0.1)
        return value


def _start(words: tuple[str, ...], place: Path, environ: dict[str, str]) -> subprocess.Popen[str] | WarmProcess:
    """Start a worker; it prints only to stderr. One with another clock begins cold, since modules keep `time.time`."""
    if CLOCK not in environ and can_be_warm([STRANDS], environ):
        return start_warm(words, place, environ, "")
    program = [sys.executable, "-m", "killed_at"] if environ.keys() & {WHERE, CLOCK} else [STRANDS]
    return subprocess.Popen([*program, *words], cwd=place, env=environ, stderr=subprocess.PIPE, text=True)


class AWorker:
    """A worker in a process of its own, and its log.

    Attributes:
        log: The lines of it so far.
    """

    def __init__(self, site: Site, words: tuple[str, ...], env: dict[str, str]) -> None:
        self.log: list[dict[str, Any]] = []
        self._address = site.address
        self._came = threading.Condition()
        words = ("workers", "start", "--log", "json", "--store", site.address, *words)
        place = site.folder.root / f"worker{next(_NUMBERS)}"
        place.mkdir()
        self.data = Path(env.get("XDG_DATA_HOME", place / "data"))
        environ = site.folder.environment(
            **{
                "XDG_DATA_HOME": str(self.data),
                "OPENAI_API_KEY": "of-the-worker",
                "PYTHONPATH": os.pathsep.join([str(site.folder.site), str(CLONE), str(HERE)]),
                **({"STRANDS_TEST_FIRST": "killed_at"} if WHERE in env else {}),
                **env,
            }
        )
        self.process = _start(words, place, environ)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._came:
                self.log.append(json.loads(line))
                self._came.notify_all()

    def events(self, name: str, run_id: str = "") -> list[dict[str, Any]]:
        """Return the lines of one kind, about one run or all."""
        return [
            line
            for line in self.log
            if line.get("event") == name and line.get("run", "") in (run_id or line.get("run", ""),)
        ]

    def wait_for(self, name: str, run_id: str = "", times: int = 1) -> dict[str, Any]:
        """Return the newest line of a kind, when there are so many."""
        with self._came:
            found = self._came.wait_for(lambda: len(self.events(name, run_id)) >= times, PATIENCE_S)
        assert found, f"no {name} of {run_id!r} in {self.log}"
        return self.events(name, run_id)[-1]

    def files(self, run_id: str) -> list[str]:
        """Return the names of the files that a run has left here."""
        place = self.folder_of(run_id)
        return sorted(str(one.relative_to(place)) for one in place.rglob("*") if one.is_file())

    def folder_of(self, run_id: str) -> Path:
        """Return the folder in which a run works here."""
        store = name_of(StorePlace(address=self._address))
        return self.data / "strands-cli" / "worker" / store / "runs" / run_id

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def end(self) -> int:
        """Wait for its end, and return its exit code."""
        code = self.process.wait(PATIENCE_S)
        self._reader.join()
        return code

    def kill(self) -> None:
        """Kill it, and wait until it is gone."""
        self.process.kill()
        self.end()
        for stream in filter(None, (self.process.stdout, self.process.stderr)):
            stream.close()


@contextlib.contextmanager
def site_at(server: PostgresServer, place: Path, tablespace: str = "") -> Iterator[Site]:
    """Make a folder and a store with queues in a database of its own; its workers are killed at the end."""
    from strands_cli_postgres import store
    from strands_cli_workers.owner import WORKERS

    name = f"workers_{os.getpid()}_{next(_NUMBERS)}"
    server.run(f"CREATE DATABASE {name}" + (f" TABLESPACE {tablespace}" if tablespace else ""))
    stored = StorePlace(address=server.address(name))
    store.init(stored, stored.address)
    with Runs(stored) as runs:
        WORKERS.prepare(runs.store)
    model = Model()
    with empty_folder(place) as folder, model.server:
        made = Site(folder, stored.address, model)
        made.flow()
        yield made
        model.close()
        for worker in made.workers:
            worker.kill()
    server.run(f"DROP DATABASE {name} WITH (FORCE)")
