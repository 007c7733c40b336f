"""A process that works on a run: before each step it says what comes next, and waits for a line.

    python effects_child.py ADDRESS RUN LOG COUNT [freely]

An effect is a line in the file LOG. `freely` says as much, and waits for nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from dataclasses import replace
from pathlib import Path

from store_values import FACTS, ROW, done, opened

from strands_cli.api import RunRecordError


def say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def main(address: str, run_id: str, log: str, count: str, *how: str) -> None:
    def pause(*words: object) -> None:
        say(*words)
        if not how:
            sys.stdin.readline()

    async def work() -> None:
        for number in range(int(count)):
            row = journal.row(f"steps.{number}")
            if row is not None and row.status == "done":
                say("known", number)
                continue
            pause("begin", number)
            await journal.begin(replace(ROW, key=f"steps.{number}"))
            pause("effect", number)
            with Path(log).open("a") as effects:
                effects.write(f"{number}\n")
            pause("finish", number)
            await journal.write(done(number, os.getpid()))
            pause("finished", number)
        journal.put(status="completed")

    with opened(address) as store:
        try:
            journal = store.create(run_id)
            journal.put(**FACTS)
        except RunRecordError:
            journal = store.open(run_id)
        with contextlib.closing(journal):
            journal.on_stop(lambda: say("stop"))
            say("holds")
            try:
                asyncio.run(work())
            except RunRecordError as error:
                say("refused", error)
                sys.exit(17)
    say("completed")


if __name__ == "__main__":
    main(*sys.argv[1:])
