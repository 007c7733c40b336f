"""The command `run`: options to a plan, the plan to a run, its events to the terminal, its result to stdout."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from strands_cli.cli.commands.command_options import (
    ALLOW,
    FORCE,
    MODEL,
    OUT,
    PROVIDER,
    VAR,
    VARS_FILE,
    YES,
    RunFlags,
    with_manner,
)
from strands_cli.cli.commands.run_execution import execute, json_on_failure, print_outcome
from strands_cli.cli.terminal.output import say
from strands_cli.errors import ExitCode, UsageError
from strands_cli.planning.run_options import RunOptions


def register(program: typer.Typer) -> None:
    """Add `run` to the program."""
    program.command(name="run")(run)


@with_manner(without=("out", "force"))
def run(
    *,
    spec: Annotated[str | None, typer.Argument(metavar="SPEC", help="Workflow file; `-` reads standard input.")] = None,
    var: VAR = [],  # noqa: B006 - Typer reads the default
    vars_file: VARS_FILE = [],  # noqa: B006
    ask: Annotated[bool, typer.Option("--ask", help="Ask for missing inputs.")] = False,
    out: OUT = Path("artifacts"),
    force: FORCE = False,
    provider: PROVIDER = None,
    model: MODEL = None,
    allow: ALLOW = [],  # noqa: B006
    yes: YES = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Stay, and run again whenever the workflow or a tool of it has changed.")
    ] = False,
    manner: RunFlags,
    resume: Annotated[str | None, typer.Option(metavar="RUN", help="Older word for `strands resume RUN`.")] = None,
    hitl_response: Annotated[
        str | None, typer.Option(metavar="TEXT", help="With --resume: answer the waiting question first.")
    ] = None,
) -> int:
    """Run a workflow.

    Example: strands run report.yaml --var topic=bees --allow file_write
    """
    from strands_cli import app
    from strands_cli.cli.commands.input_options import ask_for_missing, read_given, read_values
    from strands_cli.cli.commands.watch import is_to_watch, watch_run

    if resume is not None and not watch:
        from strands_cli.cli.commands.resume_command import resume_as_before

        return resume_as_before(spec, resume, hitl_response, dataclasses.replace(manner, force=force))
    known: dict[str, Any] = {"run": None, "status": "failed"}
    with json_on_failure(known if manner.as_json else None):
        manner.require_one_result()
        if spec is None:
            raise UsageError("Missing argument 'SPEC'", fix="name a workflow file, or `-` for standard input")
        if ask and manner.log == "json":
            raise UsageError("--ask asks on stderr, where --log json writes the log", fix="give them: --var NAME=VALUE")
        if hitl_response is not None:
            raise UsageError("--hitl-response answers a stored run", fix="name it: --resume RUN")
        watches = watch and is_to_watch(as_json=manner.as_json, source=spec, resumed=resume)
        options = RunOptions(
            given=read_given(var), values=read_values(vars_file), provider=provider, model=model, allow=tuple(allow),
            yes=yes, detach=manner.detach, out_dir=out, force=force, record=manner.record, runs_dir=manner.runs_dir,
            locked=manner.locked, policy=manner.policy, no_plugins=manner.no_plugins, trace_hooks=manner.trace_hooks,
            tell=say, reload=watch,
        )  # fmt: skip
        if watches:
            return watch_run(spec, options, vars_file)
        planned = app.plan(spec, options)
        if ask:
            options = ask_for_missing(planned, options)
            planned = app.plan(spec, options, text=planned.text, hooks=planned.hooks)
        result = execute(planned, options, known, manner, lambda human, emit: app.run(planned, options, human, emit))
        print_outcome(planned, result, manner)
    return ExitCode.OK
