"""The command `run`: plan a workflow, run the plan, show its events on the terminal, print its result."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from strands_cli.cli.commands.command_options import SPEC_ARGUMENT, Chosen, RunFlags, with_run_options
from strands_cli.cli.commands.running.execution import (
    json_on_failure,
    print_outcome,
    run_on_terminal,
)
from strands_cli.cli.commands.watch_option import WATCH
from strands_cli.errors import ExitCode, UsageError


@with_run_options()
def run(
    *,
    spec: Annotated[str | None, SPEC_ARGUMENT] = None,
    ask: Annotated[bool, typer.Option("--ask", help="Ask for missing inputs.")] = False,
    chosen: Chosen,
    _watch: WATCH = False,
    flags: RunFlags,
) -> int:
    """Run a workflow.

    Example: strands run report.yaml --var topic=bees --allow file_write
    """
    from strands_cli import app
    from strands_cli.cli.commands.input_options import ask_for_missing

    known: dict[str, Any] = {"run": None, "status": "failed"}
    with json_on_failure(known if flags.as_json else None):
        flags.require_one_result()
        if spec is None:
            raise UsageError("Missing argument 'SPEC'", fix="name a workflow file, or `-` for standard input")
        if ask and flags.log == "json":
            raise UsageError("--ask asks on stderr, where --log json writes the log", fix="give them: --var NAME=VALUE")
        request = chosen.request()
        loaded = app.load(spec)
        if ask:
            request = ask_for_missing(loaded, request)
        planned = app.plan(loaded, request)
        result = run_on_terminal(
            planned,
            request,
            known,
            flags,
            lambda human, emit, run_id: app.run(planned, request, human, emit, run_id=run_id),
        )
        print_outcome(planned, result, flags)
    return ExitCode.OK
