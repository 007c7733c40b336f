"""Prints each row's figure beside its budget, and exits with 1 when one is over."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from pathlib import Path

from bench.history import History
from bench.measure import Figure
from bench.rows import ROWS, Row
from bench.scale_rows import SCALE_ROWS

HEADER = (
    f"{'row':<17}{'what':<50}{'CPU ms':>8}{'ratio':>8}{'quartiles':>13}{'budget':>8}{'MB':>6}{'budget':>8}  verdict"
)


def main(arguments: list[str]) -> int:
    """Measure the chosen rows; return 1 if one is over its budget or cannot be measured."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--scale", action="store_true", help="the rows beyond one process, which need a Postgres")
    parser.add_argument("--only", action="append", metavar="ROW", choices=[row.name for row in (*ROWS, *SCALE_ROWS)])
    parser.add_argument("--pairs", type=int, default=9, help="pairs of runs a row; 7 at least say something (9)")
    parser.add_argument("--no-history", action="store_true", help="do not append the figures to bench/results.jsonl")
    chosen = parser.parse_args(arguments)
    if not hasattr(os, "wait4"):
        print("bench: this system does not tell what a child process cost", file=sys.stderr)
        return 2
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores")
    print(
        f"ratios are of CPU time, median of {chosen.pairs} pairs; without other words to `python -c 'import strands'`"
    )
    print(HEADER, flush=True)
    history = None if chosen.no_history else History.of_clone()
    of_session = SCALE_ROWS if chosen.scale else ROWS
    rows = [row for row in of_session if not chosen.only or row.name in chosen.only]
    kept = [print_row(row, chosen.pairs, history) for row in rows]
    print(f"{kept.count(True)} of {len(kept)} rows within budget")
    return 0 if all(kept) else 1


def print_row(row: Row, pairs: int, history: History | None = None) -> bool:
    """Measure one row in a folder of its own, print and keep it, and return whether it is within its budget."""
    with tempfile.TemporaryDirectory(prefix="strands-bench-") as folder:
        try:
            figure = row.measure(Path(folder), pairs)
        except RuntimeError as error:
            print(f"{row.name:<17}{row.what:<50}cannot be measured: {error}", flush=True)
            return False
    if history is not None:
        history.keep(row.name, figure, (row.ratio, row.mb), pairs)
    over = overruns(row, figure)
    ratio, mb = number(figure.ratio, 2), number(figure.mb, 0)
    spread = "-".join(f"{bound:.2f}" for bound in figure.spread) if figure.spread else ""
    budget = number(row.ratio, 2)
    verdict = "over: " + ", ".join(over) if over else "ok" if budget or row.mb else "no budget"
    line = (
        f"{row.name:<17}{row.what:<50}{figure.ms:>8.2f}{ratio:>8}{spread:>13}{budget:>8}{mb:>6}{number(row.mb, 0):>8}"
    )
    print(f"{line}  {verdict}", flush=True)
    return not over


def overruns(row: Row, figure: Figure) -> list[str]:
    """Return which bounds of the row the figure breaks."""
    bounds = {"ratio": (figure.ratio, row.ratio), "memory": (figure.mb, row.mb)}
    return [name for name, (found, bound) in bounds.items() if bound is not None and (found is None or found > bound)]


def number(value: float | None, digits: int) -> str:
    """Return a number for the table, empty where there is none."""
    return "" if value is None else f"{value:.{digits}f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
