"""Measures what a process costs, CPU time and peak memory, in pairs so that a shared machine cancels out."""

from __future__ import annotations

import contextlib
import gc
import os
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# macOS counts ru_maxrss in bytes, Linux in kilobytes (getrusage(2) of each).
MAXRSS_PER_MB = 1024 * 1024 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Cost:
    """What one process took: user and system CPU milliseconds, and its peak resident memory in MB."""

    ms: float
    mb: float


@dataclass(frozen=True)
class Command:
    """A command line with its surroundings.

    The program is an absolute path; `environment` is complete, nothing is inherited beside it.
    """

    arguments: Sequence[str]
    folder: Path
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Figure:
    """A measured row: median milliseconds, the median of the paired ratios with its quartiles, and peak MB.

    A figure without a reference has no ratio.
    """

    ms: float
    mb: float | None = None
    ratio: float | None = None
    spread: tuple[float, float] | None = None


def collect_as_the_command_does() -> None:
    """Look for garbage as rarely as the program does (`cli/__init__.py`); in one process it counts for both sides."""
    gc.set_threshold(200_000, 20, 20)


def clean_environment(**more: str) -> dict[str, str]:
    """Return this process's environment without its Python, project and provider settings.

    Byte code is written and read as in daily use: a machine that forbids it would measure the compiler.
    """
    ours = ("PYTHON", "STRANDS_", "OPENAI_", "AWS_", "OTEL_")
    return {**{key: value for key, value in os.environ.items() if not key.startswith(ours)}, **more}


def spend(command: Command) -> Cost:
    """Run a command to its end and return what it cost.

    The parent must stay small: what a child's memory peak reports begins with a copy of the parent's.

    Raises:
        RuntimeError: It did not exit with 0; the message holds the end of what it printed.
    """
    log = command.folder / "bench-child.log"
    with log.open("wb+") as output, contextlib.chdir(command.folder):
        pid = os.posix_spawn(
            command.arguments[0],
            list(command.arguments),
            dict(command.environment),
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, output.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, output.fileno(), 2),
            ],
        )
        _, status, usage = os.wait4(pid, 0)
    if (code := os.waitstatus_to_exitcode(status)) != 0:
        printed = log.read_text(encoding="utf-8", errors="replace").strip()[-600:]
        raise RuntimeError(f"exit {code} of {' '.join(command.arguments)}\n{printed}")
    return Cost((usage.ru_utime + usage.ru_stime) * 1000, usage.ru_maxrss / MAXRSS_PER_MB)


def measure_pair(subject: Command, reference: Command, pairs: int) -> Figure:
    """Run subject and reference in turn and return the median of their ratios.

    Args:
        subject: What has the budget.
        reference: What it is measured against.
        pairs: How many pairs count; one more pair goes before them to fill caches and to write byte code.
    """
    spend(subject), spend(reference)
    ratios, costs = [], []
    for turn in range(pairs):
        # The first of a pair may find the machine busier, so they take turns.
        first, second = (subject, reference) if turn % 2 == 0 else (reference, subject)
        spent = {id(first): spend(first), id(second): spend(second)}
        costs.append(spent[id(subject)])
        ratios.append(spent[id(subject)].ms / spent[id(reference)].ms)
    return Figure(
        ms=statistics.median(cost.ms for cost in costs),
        mb=max(cost.mb for cost in costs),
        ratio=statistics.median(ratios),
        spread=spread_of(ratios),
    )


def spread_of(ratios: Sequence[float]) -> tuple[float, float]:
    """Return the lower and the upper quartile."""
    low, _, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else (ratios[0],) * 3
    return low, high
