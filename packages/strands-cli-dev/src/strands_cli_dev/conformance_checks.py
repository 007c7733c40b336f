"""The shared parts of the contracts of journals and stores: how a check fails, and how all run without pytest."""

from __future__ import annotations

import asyncio
from pathlib import Path
from unittest import SkipTest

from strands_cli.api import Journal, Row


def expect(holds: bool, otherwise: str) -> None:
    """Raise `AssertionError` with the text unless it holds."""
    # Not `assert`: the checks must also work in a program that runs with -O.
    if not holds:
        raise AssertionError(otherwise)


def write_rows(journal: Journal, *rows: Row) -> None:
    """Write rows at the same time, and return when all are committed."""

    async def all_of_them() -> None:
        await asyncio.gather(*(journal.write(row) for row in rows))

    asyncio.run(all_of_them())


def problems_of(contract: object, directory: Path) -> dict[str, str]:
    """Run the checks of a contract, each with a directory of its own, and return the problems by the checks' names."""
    problems: dict[str, str] = {}
    for name in sorted(name for name in dir(contract) if name.startswith("test_")):
        path = directory / name
        path.mkdir(parents=True)
        try:
            getattr(contract, name)(path)
        except SkipTest:
            continue
        except Exception as error:  # noqa: BLE001 - the tested code may raise anything
            problems[name] = f"{type(error).__name__}: {error}"
    return problems
