"""One run whose commands are killed at random moments and continued, and what is compared with a run that is not."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import threading
import time
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from strands_cli.engine.journal.journal_rows import Row
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from tests.cli.strands import SECONDS, Folder, Ran
from tests.patterns.every_effect import Playing

# What is answered by options, and what waits for `approve`.
OPTIONS = {"allowed": ["--yes"], "asked": ["--detach", "--allow", "outer"]}
# Where what it calls waits for a person, a new process enters it again: a tool that calls others begins once more.
ENTERED_AGAIN = "outer"
MOST_COMMANDS = 150


class Whole(NamedTuple):
    """What a run without kills does; `seconds` is how long its commands take."""

    requests: int
    calls: Counter[str]
    result: dict[str, Any]
    seconds: float


class KilledRun:
    """A run by commands; with `whole`, each is perhaps killed, and what it repeats is asserted."""

    def __init__(self, folder: Folder, model: Playing, tag: str, options: str, whole: Whole | None = None) -> None:
        self.folder, self.kills = folder, 0
        self._model, self._tag, self._options, self._whole = model, tag, options, whole
        self._random = random.Random(tag)
        self._redone: list[str] = []
        self._waited: list[str] = []
        self.seconds = 0.0

    def play(self) -> Whole:
        """Run to the end, by the commands that each ending offers."""
        start = ["run", "flow.yaml", *OPTIONS[self._options]]
        ran = self._command(start)
        for _ in range(MOST_COMMANDS):
            if ran.code == 0:
                return Whole(self.requests, self.calls(), self._result(ran.out), self.seconds)
            ran = self._command(self._next(ran) or start)
        raise AssertionError(f"it does not end: {ran}")

    @property
    def requests(self) -> int:
        return self._model.answered.get(self._tag, 0)

    def calls(self, what: str = "begin") -> Counter[str]:
        """Return how often each call began or ended, by the log of the tools."""
        log = self.folder.work / "calls.log"
        lines = log.read_text().splitlines() if log.exists() else []
        return Counter(line.removeprefix(what + " ") for line in lines if line.startswith(what + " "))

    def rows(self) -> dict[str, Row]:
        if not (directory := self._directory()) or not (directory / "journal.sqlite").is_file():
            return {}
        try:
            with contextlib.closing(SqliteJournal.open(directory, hold=False)) as journal:
                # Rows decode their outputs when these are first read, which needs the open journal.
                return {row.key: Row(*(getattr(row, one.name) for one in fields(Row))) for row in journal.rows()}
        except Exception:
            return {}

    def _directory(self) -> Path | None:
        return next(iter(self.folder.runs.glob("*")), None)

    def _next(self, ran: Ran) -> list[str] | None:
        """Return the command that goes on; None to start again where the process died before it did anything."""
        directory = self._directory()
        if directory is None or (ran.code == 17 and not self.rows()):
            assert (self.requests, self.calls().total()) == (0, 0), ran
            if directory is not None:
                assert self.folder.strands("runs", "delete", directory.name).code == 0
            return None
        assert ran.code in (-signal.SIGKILL, 2, 19), ran
        if undecided := re.search(r"--redo '?([^\s',]+)", ran.err):
            self._redone.append(undecided[1])
            return ["resume", directory.name, "--redo", undecided[1]]
        if asked := re.search(r"strands approve \S+ '?([^\s']+)", ran.err):
            answer = [] if asked[1].endswith("/approval") else ["--answer", "yes"]
            return ["approve", directory.name, asked[1], *answer]
        return ["resume", directory.name]

    def _command(self, arguments: list[str]) -> Ran:
        rows, calls, requests = self.rows(), self.calls(), self.requests
        self._waited += [key for key, row in rows.items() if row.status == "waiting" and _tool(key) == ENTERED_AGAIN]
        began = time.monotonic()
        started = self.folder.start(*arguments)
        killer = threading.Timer(self._moment(), _kill, [started.process.pid])
        killer.start()
        ran = started.end()
        killer.cancel()
        self.kills += ran.code == -signal.SIGKILL
        self.seconds = max(self.seconds, time.monotonic() - began)
        if self._whole is not None:
            self._require_nothing_repeated(rows, calls, requests)
        return ran

    def _moment(self) -> float:
        """Return after how many seconds a command is killed; half of them are not."""
        if self._whole is None or self._random.random() < 0.5:
            return SECONDS
        return self._random.uniform(0, 1.1 * self._whole.seconds)

    def _require_nothing_repeated(self, before: dict[str, Row], calls: Counter[str], requests: int) -> None:
        assert self._whole is not None
        done = {key: row for key, row in before.items() if row.status == "done"}
        now = self.rows()
        assert {key: now.get(key) for key in done} == done, "what was done is changed"
        finished = {text for row in done.values() if row.kind == "tool" for text in _calls_in(row)}
        assert {call: self.calls()[call] for call in finished} == {call: calls[call] for call in finished}
        known = sum(row.kind == "model" for row in done.values())
        assert self.requests - requests <= self._whole.requests - known, "a request is repeated that was answered"

    def require_as(self, whole: Whole) -> None:
        """Compare the end; what a kill cut off is repeated only if it may be, or a person decided so."""
        ended = Whole(self.requests, self.calls(), self._result(whole.result["out"]), 0)
        assert ended.result == whole.result
        assert set(ended.calls) == set(whole.calls)
        more = ended.calls - whole.calls
        for name, waited in (("act", []), (ENTERED_AGAIN, self._waited)):
            again = sum(count for call, count in more.items() if call.startswith(f"{name} "))
            assert again <= len(self._redone) + len(waited), (more, self._redone, waited)

    def _result(self, out: str) -> dict[str, Any]:
        work = self.folder.work
        notes = (work / "notes.md").read_text() if (work / "notes.md").exists() else ""
        return {
            "out": out,
            "artifacts": {path.name: path.read_text() for path in (work / "artifacts").iterdir()},
            "notes": re.sub(r"\d{4}-\d\d-\d\d \S+|<!-- .*? -->", "", notes),
            "rows": {key: row.status for key, row in self.rows().items()},
        }


def _kill(pid: int) -> None:
    # Not by the object of the process, for whose end another thread waits.
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _tool(key: str) -> str:
    """Return the name of the tool of a call's row."""
    return key.rpartition("/tool.")[2].partition(".")[2]


def _calls_in(row: Row) -> list[str]:
    """Return the call that a row of a tool of these workflows has the result of, as the tools log it."""
    name = _tool(row.key)
    texts = [str(part.get("text", "")) for part in (row.output or {}).get("content", [])]
    return [" ".join(text.split()[:2]) for text in texts if text.startswith(name + " ")]
