"""The command `run`: options to a plan, the plan to a run, its events to the terminal, its result to stdout."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from strands_cli.cli.carry import execute, json_on_failure, print_outcome
from strands_cli.errors import ExitCode, UsageError
from strands_cli.planning.options import RunOptions

SPEC = Annotated[str, typer.Argument(metavar="SPEC", help="Workflow file; `-` reads standard input.")]
VAR = Annotated[list[str], typer.Option("--var", metavar="NAME=VALUE", help="Give an input; may be repeated.")]
VARS_FILE = Annotated[list[Path], typer.Option("--vars-file", metavar="FILE", help="Inputs from a YAML or JSON file.")]
PROVIDER = Annotated[str | None, typer.Option("--provider", help="Model provider for all agents, e.g. openai.")]
MODEL = Annotated[str | None, typer.Option("--model", help="Model for all agents.")]
ALLOW = Annotated[list[str], typer.Option("--allow", metavar="TOOL", help="Allow a tool without asking (name, glob).")]
YES = Annotated[bool, typer.Option("--yes", "-y", help="Allow every tool call that would ask.")]
OUT = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where artifacts go.")]
FORCE = Annotated[bool, typer.Option("--force", help="Overwrite artifacts and recordings that exist.")]


def register(program: typer.Typer) -> None:
    """Add `run` to the program."""
    program.command(name="run")(run)


def run(
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
    detach: Annotated[bool, typer.Option("--detach", help="Never prompt: questions wait, exit code 19.")] = False,
    record: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the model's turns to a recording.")] = None,
    events: Annotated[str | None, typer.Option(metavar="FILE", help="Write events as JSON Lines; `-`: stdout.")] = None,
    runs_dir: Annotated[Path | None, typer.Option(metavar="DIR", help="Where records of runs are kept.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show what models say and what the SDK logs.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show errors only.")] = False,
    resume: Annotated[str | None, typer.Option(metavar="RUN", help="Older word for `strands resume RUN`.")] = None,
    hitl_response: Annotated[
        str | None, typer.Option(metavar="TEXT", help="With --resume: answer the waiting question first.")
    ] = None,
) -> int:
    """Run a workflow.

    Example: strands run report.yaml --var topic=bees --allow file_write
    """
    from strands_cli import app
    from strands_cli.cli.inputs import ask_for_missing, read_given, read_values

    if resume is not None:
        from strands_cli.cli.resume import Manner, resume_as_before

        manner = Manner(None, force, detach, record, events, runs_dir, as_json, verbose, quiet)
        return resume_as_before(spec, resume, hitl_response, manner)
    known: dict[str, Any] = {"run": None, "status": "failed"}
    with json_on_failure(known if as_json else None):
        if as_json and events == "-":
            raise UsageError("--json and --events - both want stdout", fix="write the events to a file")
        if spec is None:
            raise UsageError("Missing argument 'SPEC'", fix="name a workflow file, or `-` for standard input")
        if hitl_response is not None:
            raise UsageError("--hitl-response answers a stored run", fix="name it: --resume RUN")
        options = RunOptions(
            given=read_given(var), values=read_values(vars_file), provider=provider, model=model, allow=tuple(allow),
            yes=yes, detach=detach, out_dir=out, force=force, record=record, runs_dir=runs_dir,
        )  # fmt: skip
        planned = app.plan(spec, options)
        if ask:
            options = ask_for_missing(planned, options)
            planned = app.plan(spec, options, text=planned.text)
        result = execute(planned, options, known, events=events, verbose=verbose, quiet=quiet)
        print_outcome(planned, result, as_json=as_json, quiet=quiet, events=events)
    return ExitCode.OK
