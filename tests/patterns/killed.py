"""Run workflows in a process of its own for each moment at which one can die, and kill it there with SIGKILL.

A program: it reads one JSON line a grave (`[directory, flow, URL of the model server, moment, number]`) and answers
each with a line: the writes of the run for the moment `never`, else an empty text, or what went wrong. It stays warm:
what it forks has imported everything already.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

from strands_cli.engine.journal.journal_rows import Answer, Journal, Question, Row
from strands_cli.errors import WaitingForPerson
from tests.patterns.flows import PATTERNS
from tests.patterns.kit import People, plan_in, run_in

# (what, number): before or after a write; before or after it is written that a question waits; while a person thinks;
# inside a request, where the model's server kills.
Moment = tuple[str, int]


class Watched:
    """A journal that counts its writes and can kill its process before or after one of them."""

    def __init__(self, journal: Journal, deadly: Moment) -> None:
        self.writes = 0
        self._journal = journal
        self._deadly = deadly

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    async def write(self, row: Row) -> None:
        self.writes += 1
        waits = row.status == "waiting"
        self._reach("before", waits)
        await self._journal.write(row)
        self._reach("after", waits)

    def _reach(self, when: str, waits: bool) -> None:
        if self._deadly == (when, self.writes) or (waits and self._deadly[0] == f"{when} waiting"):
            os.kill(os.getpid(), signal.SIGKILL)


class Thinking(People):
    """People during whose thinking the process dies."""

    async def ask(self, question: Question) -> Answer:
        os.kill(os.getpid(), signal.SIGKILL)
        return await super().ask(question)


def people_at(moment: Moment, answers: dict[str, str]) -> People:
    if moment[0] == "thinking":
        return Thinking(answers)
    return People({} if moment[0].endswith("waiting") else answers)


def run_until(directory: Path, name: str, url: str, moment: Moment) -> int:
    """Run a workflow; return how often it wrote to its journal if it lives."""
    directory.mkdir(parents=True)
    watched: list[Watched] = []

    def watch(journal: Journal) -> Watched:
        watched.append(Watched(journal, moment))
        return watched[0]

    flow = PATTERNS[name]
    plan = plan_in(directory, flow.pattern, url)
    run_in(directory, plan, people_at(moment, flow.answers), wrap=watch)  # type: ignore[arg-type]
    return watched[0].writes


def die(directory: Path, name: str, url: str, moment: Moment) -> str:
    """Run one workflow in a child that is killed at this moment; return what went wrong when it is dead."""
    # What is frozen is not touched by the child's collector, and so need not be copied.
    gc.freeze()
    child = os.fork()
    if child == 0:
        # The server reads there whom it has to kill.
        os.environ["OPENAI_API_KEY"] = str(os.getpid())
        try:
            run_until(directory, name, url, moment)
        except WaitingForPerson as error:
            print(error, file=sys.stderr)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(3)
    _, status = os.waitpid(child, 0)
    return "" if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL else f"never came: {status}"


class Undertaker:
    """The program of this module, running: `whole` lets a workflow live, `bury` lets it die."""

    def __init__(self, site: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(site)],
            env={**os.environ, "OPENAI_API_KEY": "any"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Undertaker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.communicate(timeout=120)

    def whole(self, directory: Path, name: str, url: str) -> int:
        """Run a workflow to its end; return how often it wrote to its journal."""
        return int(self._reply_to(directory, name, url, ("never", 0)))

    def bury(self, directory: Path, name: str, url: str, moment: Moment) -> None:
        """Run a workflow until it is killed at the moment."""
        assert self._reply_to(directory, name, url, moment) == "", moment

    def _reply_to(self, directory: Path, name: str, url: str, moment: Moment) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([str(directory), name, url, *moment]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


def main(site: str) -> None:
    """Answer each line of stdin."""
    sys.path.insert(0, site)
    for line in sys.stdin:
        place, name, url, what, number = json.loads(line)
        directory, moment = Path(place), (what, number)
        told = run_until(directory, name, url, moment) if what == "never" else die(directory, name, url, moment)
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
