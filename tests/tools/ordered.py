"""A program: an agent asks for several calls in one turn, and dies by SIGKILL while three of them are at work."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from tests.agents.kit import RunContext, Script, Site, asking
from tests.agents.world import WORLD, install_world, ticking

# 0 is done when the process dies; 1, 2 and 3 are at work; 4 waits for 1.
CALLS = [
    (name, {"path": path, "number": number})
    for number, (name, path) in enumerate([("look", "x"), ("note", "a"), ("note", "b"), ("look", "c"), ("note", "a")])
]
AT_WORK = {1, 2, 3}


def made_in(directory: Path) -> list[int]:
    """Return the numbers of the calls that were begun, whichever process did."""
    return [int(line) for line in (directory / "made").read_text().splitlines()]


def going(site: Site, directory: Path, *turns: Any, dies: bool = False) -> Script:
    """Start the run or go on with it; each call that begins is a line of the file `made`."""
    fresh = not (directory / "run").exists()
    journal = SqliteJournal.create(directory / "run") if fresh else SqliteJournal.open(directory / "run")
    at_work: set[int] = set()

    async def begin(name: str, given: Mapping[str, Any]) -> None:
        with (directory / "made").open("a") as file:
            file.write(f"{given['number']}\n")
        at_work.add(given["number"])
        if not dies or given["number"] == 0:
            return
        while not at_work >= AT_WORK or ("end", 0) not in WORLD.log:
            await asyncio.sleep(0)
        await ticking(name, {"ticks": 20})
        os.kill(os.getpid(), signal.SIGKILL)

    WORLD.reset(begin)
    model = Script(*turns)
    try:
        asking(model, *site.plan(*install_world(site)), host=RunContext(journal=journal))
    finally:
        journal.close()
    return model


if __name__ == "__main__":
    place = Path(sys.argv[1])
    sys.path.insert(0, str(place / "site"))
    going(Site(place / "site"), place, CALLS, dies=True)
