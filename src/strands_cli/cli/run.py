"""The command `run`: options to a plan, the plan to a run, its events to the terminal, its result to stdout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.output import print_json, print_result, say, say_findings
from strands_cli.errors import ExitCode, StrandsCliError, UsageError
from strands_cli.planning.options import RunOptions

if TYPE_CHECKING:
    from strands_cli.cli.live import View
    from strands_cli.engine.execute import RunResult
    from strands_cli.planning.plan import Plan

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
    spec: SPEC,
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
) -> int:
    """Run a workflow.

    Example: strands run report.yaml --var topic=bees --allow file_write
    """
    if as_json and events == "-":
        raise UsageError("--json and --events - both want stdout", fix="write the events to a file")
    from strands_cli import app
    from strands_cli.cli.inputs import ask_for_missing, read_given, read_values

    options = RunOptions(
        given=read_given(var), values=read_values(vars_file), provider=provider, model=model, allow=tuple(allow),
        yes=yes, detach=detach, out_dir=out, force=force, record=record, runs_dir=runs_dir,
    )  # fmt: skip
    planned = app.plan(spec, options)
    if ask:
        options = ask_for_missing(planned, options)
        planned = app.plan(spec, options, text=planned.text)
    return execute(planned, options, as_json=as_json, events=events, verbose=verbose, quiet=quiet)


def execute(
    planned: Plan, options: RunOptions, *, as_json: bool, events: str | None, verbose: bool, quiet: bool
) -> int:
    """Run a plan under signal handling and with a clean stdout; print its result."""
    from strands_cli.cli.human import choose_human
    from strands_cli.cli.live import event_writer, open_view
    from strands_cli.cli.process import clean_stdout, run_to_end
    from strands_cli.planning.build import require_runnable

    require_runnable(planned)
    human = choose_human(detach=options.detach)
    if not quiet:
        say_findings(planned.findings)
    if human.mode == "nobody" and not quiet:
        warn_of_questions(planned)
    with clean_stdout() as stdout, open_view(quiet=quiet, verbose=verbose) as view:
        human.view = view
        listeners: list[Callable[[Any], None]] = [view, *event_writer(events, stdout)]

        def emit(event: Any) -> None:
            for listener in listeners:
                listener(event)

        from strands_cli import app

        try:
            result = run_to_end(lambda: app.run(planned, options, human, emit), verbose=verbose)
        except StrandsCliError as error:
            failed: StrandsCliError | None = error
        else:
            failed = None
    if not quiet:
        repeat_denials(view)
    if failed is not None:
        if as_json:
            print_json(error_document(view.run_id, failed))
        raise failed
    print_outcome(planned, result, as_json=as_json, quiet=quiet, events=events)
    return ExitCode.OK


def warn_of_questions(planned: Plan) -> None:
    """Say before the first call which tools would ask, where nobody can be asked."""
    asking = [tool for agent in planned.agents.values() for tool in agent.tools if tool.decision.effect == "ask"]
    for name, rule in {tool.name: tool.decision.rule for tool in asking}.items():
        say(f"warning: calls of '{name}' will be denied: {rule}, and nobody is there to ask (allow: --allow {name})")


def repeat_denials(view: View) -> None:
    """Say once more at the end which calls were denied."""
    for tool, rule in view.denied.items():
        say(f"denied: {tool}: {rule}")


def print_outcome(planned: Plan, result: RunResult, *, as_json: bool, quiet: bool, events: str | None) -> None:
    """Print the result: the last response on stdout, files on stderr; or all of it as one JSON document."""
    if as_json:
        print_json(result_document(planned, result))
        return
    if events != "-":
        print_result(result.response)
    if not quiet:
        for artifact in result.artifacts:
            say(f"wrote {artifact['path']} ({artifact['size']} bytes)")


def result_document(planned: Plan, result: RunResult) -> dict[str, Any]:
    """Return the JSON of a completed run."""
    usage = result.usage
    return {
        "run": result.run_id,
        "workflow": planned.spec.name,
        "status": result.status,
        "response": result.response,
        "artifacts": [dict(artifact) for artifact in result.artifacts],
        "usage": {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens},
        "model_calls": result.model_calls,
        "tool_calls": result.tool_calls,
        "seconds": round(result.seconds, 3),
    }


def error_document(run_id: str | None, error: StrandsCliError) -> dict[str, Any]:
    """Return the JSON of a run that did not complete."""
    return {
        "run": run_id,
        "status": "waiting" if error.exit_code == ExitCode.WAITING else "failed",
        "error": {
            "message": error.message,
            "exit_code": int(error.exit_code),
            "fix": error.fix,
            "findings": [finding.as_dict() for finding in error.findings],
        },
    }
