"""A process that holds a run, for the checks of stores."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from strands_cli.api import Row, RunStore, StoredJournal, session_facts
from strands_cli_dev.conformance_checks import expect, write_rows

DONE = Row("steps.0/model.1", "model", "done", "digest", output={"text": "café"}, started_at=12.5, ended_at=13.5)
FACTS: Mapping[str, Any] = {
    "workflow": "report",
    "pattern": "chain",
    "file": "flows/report.yaml",
    "status": "running",
    "started_at": 1_700_000_000.0,
}
WAIT_S = 60.0


class OpensStores(Protocol):
    """The method that a contract of stores defines."""

    def open_store(self, directory: Path) -> RunStore:
        """Return the store of a directory."""


class RunHolder:
    """A process that creates a run and holds it until it hears that it shall release it, asked to stop, or killed."""

    def __init__(self, contract: Callable[[], OpensStores], directory: Path, run_id: str, *, is_deaf: bool) -> None:
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe()
        arguments = (contract, directory, run_id, is_deaf, theirs)
        self._process = context.Process(target=_hold, args=arguments, daemon=True)
        self._process.start()
        theirs.close()

    def expect(self, word: str) -> None:
        """Wait until it says a word."""
        word_received = None
        with contextlib.suppress(EOFError, ConnectionError):
            word_received = self._ours.recv() if self._ours.poll(WAIT_S) else None
        expect(word_received == word, f"the other process says {word_received!r}, not {word!r}")

    def tell(self, word: str) -> None:
        """Say a word to it."""
        self._ours.send(word)

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.join(WAIT_S)
        self._ours.close()


def _hold(contract: Callable[[], OpensStores], directory: Path, run_id: str, is_deaf: bool, words: Connection) -> None:
    """Create a run, write a row, and hold the run."""
    if is_deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    store = contract().open_store(directory)
    journal = create(store, run_id, **session_facts())
    if not is_deaf:
        # The holder of the journal ends the process; the system does the rest.
        journal.on_stop(lambda: os._exit(0))
    write_rows(journal, DONE)
    words.send("created")
    words.recv()
    journal.close()
    words.send("released")
    words.recv()


def create(store: RunStore, run_id: str, **facts: Any) -> StoredJournal:
    """Return the journal of a new run with its facts."""
    journal = store.create(run_id)
    journal.put(**{**FACTS, **facts})
    return journal


@contextlib.contextmanager
def created(store: RunStore, run_id: str) -> Iterator[StoredJournal]:
    """Hold a new run for a while."""
    with contextlib.closing(create(store, run_id)) as journal:
        yield journal
