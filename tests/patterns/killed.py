"""Run a workflow in a process of its own for each write to its journal, and kill it there with SIGKILL."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from strands_cli.engine.ports import Journal, Row
from tests.patterns.flows import PATTERNS
from tests.patterns.kit import People, plan_in, run_in


class Watched:
    """A journal that counts its writes and can kill its process before or after one of them."""

    def __init__(self, journal: Journal, deadly: tuple[int, str] | None = None) -> None:
        self.writes = 0
        self._journal = journal
        self._deadly = deadly

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    async def write(self, row: Row) -> None:
        self.writes += 1
        self._reach("before")
        await self._journal.write(row)
        self._reach("after")

    def _reach(self, when: str) -> None:
        if self._deadly == (self.writes, when):
            os.kill(os.getpid(), signal.SIGKILL)


def die(directory: Path, name: str, url: str, deadly: tuple[int, str]) -> None:
    """Run one workflow in a child that is killed at this write; return when it is dead."""
    directory.mkdir(parents=True)
    child = os.fork()
    if child == 0:
        pattern, answers, _ = PATTERNS[name]
        try:
            run_in(
                directory,
                plan_in(directory, pattern, url),
                People(answers),
                wrap=lambda journal: Watched(journal, deadly),  # type: ignore[arg-type,return-value]
            )
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(3)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL, f"{name} {deadly} never came: {status}"


def moments(writes: int) -> list[tuple[int, str]]:
    """Return when a run with so many writes is killed: with each effect done and not yet recorded, and at the end."""
    return [*((number, "before") for number in range(1, writes + 1)), (writes, "after")]


if __name__ == "__main__":
    _, root, site, flow, server, count = sys.argv
    sys.path.insert(0, site)
    # What every child would import for itself.
    importlib.import_module("strands.models.openai")
    for number, moment in moments(int(count)):
        die(Path(root) / f"{number}-{moment}", flow, server, (number, moment))
