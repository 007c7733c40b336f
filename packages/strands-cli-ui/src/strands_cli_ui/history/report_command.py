"""The command `runs report`, and the exporter of `--report`: a stored run, or two compared, as one HTML file."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from strands_cli.api import (
    DEFAULT_STORE,
    Exporter,
    ExportFile,
    OpenedRun,
    Runs,
    StoreOptions,
    UsageError,
    print_json,
    print_result,
    run_argument,
    say,
    with_run_options,
)
from strands_cli_ui.history.command_parts import one_line
from strands_cli_ui.pages.page_frame import MARK


class ReportExporter:
    """The exporter `report`: a run as one HTML file, which loads nothing and needs no JavaScript."""

    mark = MARK

    def export(self, run: OpenedRun) -> str:
        """Return the file that shows a run.

        Raises:
            RunRecordError: Its journal cannot be read.
        """
        from strands_cli_ui.pages.run_page import run_page_of
        from strands_cli_ui.pages.run_parts import run_html

        with _no_collection():
            return run_html(run_page_of(run))


exporter: Exporter = ReportExporter()


@with_run_options()
def report_run(
    run: Annotated[str, run_argument("RUN")],
    other: Annotated[str | None, run_argument("RUN2", "Another run, to be compared with the first.")] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="Where to write; `-`: stdout. Default: RUN.html here."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite also a file that is not a report.")] = False,
    where: StoreOptions = DEFAULT_STORE,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write one run, or two compared, as an HTML page that loads nothing.

    Example: strands runs report last -o run.html
    """
    if as_json and out == "-":
        raise UsageError("--json and -o - both want stdout", fix="write the report to a file")
    with Runs(where.place) as runs:
        names = [runs.find(name) for name in (run, other) if name is not None]
        if out == "-":
            print_result(_report(runs, names))
            return
        file = ExportFile(Path(out or f"{'-'.join(names)}.html"), "report", MARK, force)
        file.require_writable()
        size = file.write(_report(runs, names))
    if as_json:
        print_json({"report": str(file.path), "runs": names, "bytes": size})
    else:
        say(one_line(f"report {file.path} ({size} bytes)"))


def _report(runs: Runs, names: list[str]) -> str:
    """Return the report of one run, or the comparison of two."""
    from strands_cli_ui.pages.comparison import comparison_html

    with runs.open(names[0]) as first:
        if len(names) == 1:
            return ReportExporter().export(first)
        with runs.open(names[1]) as second:
            return comparison_html(first, second)


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Collect no circles of objects: a long page makes none, and the search for them took a third of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
