"""The command `runs report`: a stored run, or two compared, as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.command_options import RUN, with_run_options
from strands_cli.cli.commands.opened_stores import DEFAULT_STORE, StoreOptions
from strands_cli.cli.output.messages import say
from strands_cli.cli.output.results import print_json, print_response
from strands_cli.cli.text_layout import one_line
from strands_cli.errors import UsageError


@with_run_options()
def report_run(
    run: RUN,
    other: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN2", help="Another run, to be compared with the first.", autocompletion=completions.runs
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="Where to write; `-`: stdout. Default: RUN.html here."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite also a file that is not a report.")] = False,
    where: StoreOptions = DEFAULT_STORE,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Write one run, or two compared, as an HTML page that loads nothing, to be opened or sent.

    Example: strands runs report last -o run.html
    """
    from strands_cli.cli.commands.running.report_file import report_of, require_report_place, write_report

    if as_json and out == "-":
        raise UsageError("--json and -o - both want stdout", fix="write the report to a file")
    with where.opened() as runs:
        names = [runs.find(name) for name in (run, other) if name is not None]
        if out == "-":
            print_response(report_of(runs, *names).rstrip("\n"))
            return
        place = Path(out or f"{'-'.join(names)}.html")
        require_report_place(place, force=force)
        size = write_report(place, report_of(runs, *names), force=force)
    if as_json:
        print_json({"report": str(place), "runs": names, "bytes": size})
    else:
        say(one_line(f"report {place} ({size} bytes)"))
