"""The command `runs search`: finds a text in stored runs."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from strands_cli.api import (
    DEFAULT_STORE,
    ExitCode,
    Runs,
    StoreOptions,
    UsageError,
    print_json,
    print_result,
    say,
    with_run_options,
)
from strands_cli_ui.history.command_parts import SINCE, one_line, runs_since

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strands_cli.api import StoredRun
    from strands_cli_ui.history.search import Hit


@with_run_options()
def search_runs(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to find; upper and lower case are the same.")],
    since: SINCE = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Stop after N places.")] = 100,
    where: StoreOptions = DEFAULT_STORE,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Find a text in the inputs, requests, calls, answers, errors and names of stored runs; without one, exit 1.

    Example: strands runs search "quarterly report" --since 7d
    """
    if not text.strip():
        raise UsageError("there is nothing to find in an empty text", fix="strands runs search TEXT")
    with Runs(where.place) as runs:
        chosen, problems = runs_since(runs, since)
        hits, is_cut = _hits(runs, chosen, text, limit, problems, None if as_json else print_result)
    if as_json:
        print_json({"hits": [dataclasses.asdict(hit) for hit in hits], "more": is_cut, "problems": problems})
    else:
        for problem in problems:
            say(f"warning: {problem}")
        if is_cut:
            say(f"there is more: --limit {limit * 10}")
        elif not hits:
            say("no runs" if not chosen else "nothing found")
    return ExitCode.OK if hits else ExitCode.NO


def _hits(
    runs: Runs,
    chosen: Sequence[StoredRun],
    text: str,
    limit: int,
    problems: list[str],
    show: Callable[[str], None] | None,
) -> tuple[list[Hit], bool]:
    """Return the first places with the text, and whether there are more; show each when it is found."""
    from strands_cli_ui.history.search import UnreadRun, search

    hits: list[Hit] = []
    lines: dict[str, list[str]] = {}  # by run, the shown ones: an answer is in a request, a step and a result too
    for hit in search(runs, chosen, text):
        if isinstance(hit, UnreadRun):
            problems.append(hit.problem)
            continue
        if show is not None and any(_bare(hit) in line for line in lines.get(hit.run, ())):
            continue
        if len(hits) == limit:
            return hits, True
        lines.setdefault(hit.run, []).append(_bare(hit))
        hits.append(hit)
        if show is not None:
            show(_line(hit))
    return hits, False


def _bare(hit: Hit) -> str:
    """Return the line of a hit without the marks of a cut."""
    return hit.line.removeprefix("...").removesuffix("...")


def _line(hit: Hit) -> str:
    return one_line("  ".join(filter(None, (hit.run, hit.key, f"{hit.where}: {hit.line}"))))
