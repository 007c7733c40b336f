"""The command `run`: options to a plan, the plan to a run, its events to the terminal, its result to stdout."""

from __future__ import annotations

import contextlib
import fnmatch
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.output import error_document, print_json, print_response, say, say_findings
from strands_cli.errors import ExitCode, StrandsCliError, UsageError, did_you_mean
from strands_cli.planning.options import RunOptions

if TYPE_CHECKING:
    from strands_cli.cli.human import TerminalHuman
    from strands_cli.cli.live import View
    from strands_cli.engine.execute import RunResult
    from strands_cli.planning.plan import Plan, PlannedTool

# Takes who answers and who listens.
Go = Callable[["TerminalHuman", Callable[[Any], None]], Coroutine[Any, Any, "RunResult"]]
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


@contextlib.contextmanager
def json_on_failure(known: dict[str, Any] | None) -> Iterator[None]:
    """Print one JSON document also where the work ends in an error: what is `known` by then, and the error."""
    try:
        yield
    except BaseException as error:
        if known is not None:
            print_json({**known, "error": error_document(error)})
        raise


def execute(
    planned: Plan,
    options: RunOptions,
    known: dict[str, Any],
    *,
    events: str | None,
    verbose: bool,
    quiet: bool,
    go: Go | None = None,
) -> RunResult:
    """Run a plan under signal handling and with stdin and stdout kept from its tools.

    Args:
        planned: What to run.
        options: How.
        known: Gets the run's id and status as soon as they are known.
        events: Where events go.
        verbose: Whether to show what models say.
        quiet: Whether to show errors only.
        go: What carries the plan out; a new run if not given.

    Raises:
        StrandsCliError: why it did not complete.
    """
    from strands_cli import app
    from strands_cli.cli.human import choose_human
    from strands_cli.cli.keyboard import Keyboard
    from strands_cli.cli.live import event_writer, open_view
    from strands_cli.cli.process import own_streams, run_to_end
    from strands_cli.planning.build import require_runnable

    require_runnable(planned)
    human = choose_human(detach=options.detach)
    if not quiet:
        say_findings(planned.findings)
        warn_of_useless_grants(planned, options.allow)
        if human.mode == "nobody":
            warn_of_questions(planned)
    with open_view(quiet=quiet, verbose=verbose) as view, own_streams(view.hear) as streams:
        human.view, human.keyboard = view, Keyboard(streams.stdin)
        listeners: list[Callable[[Any], None]] = [view, *event_writer(events, streams.stdout)]

        def emit(event: Any) -> None:
            for listener in listeners:
                listener(event)

        try:
            if go is not None:
                return run_to_end(lambda: go(human, emit), verbose=verbose)
            return run_to_end(lambda: app.run(planned, options, human, emit), verbose=verbose)
        except StrandsCliError as error:
            known |= explain_stop(error, view, options)
            raise
        finally:
            known |= {"run": view.run_id or known["run"], "status": view.ended or "failed"}
            view.pause()
            repeat_denials(view)


def explain_stop(error: StrandsCliError, view: View, options: RunOptions) -> dict[str, Any]:
    """Say where the record of a run is that did not complete, and how it goes on; return its open questions."""
    if view.run_id is None:
        return {}
    from strands_cli.cli.onward import command, explain_ending
    from strands_cli.config import load_settings

    runs_dir = load_settings(runs_dir=options.runs_dir).runs_dir
    view.line(f"record {runs_dir / view.run_id}")
    if view.ended in ("failed", "interrupted"):
        view.line(f"goes on with: {command('resume', view.run_id, runs_dir=runs_dir)}")
    questions = explain_ending(error, runs_dir, view.run_id)
    return {"questions": questions} if questions else {}


def tools_of(planned: Plan) -> list[PlannedTool]:
    """Return every tool that an agent or a step of the plan may call."""
    agents = [tool for agent in planned.agents.values() for tool in agent.tools]
    overrides = [tool for group in planned.override_tools.values() for tool in group]
    return [*agents, *overrides, *planned.call_tools.values()]


def warn_of_useless_grants(planned: Plan, allow: Sequence[str]) -> None:
    """Say which `--allow` speaks of no tool of this workflow: most likely it is misspelt."""
    names = [name for tool in tools_of(planned) for name in tool.names]
    for pattern in allow:
        if not fnmatch.filter(names, pattern):
            guess = did_you_mean(pattern, names)
            hint = f"; did you mean '{guess}'?" if guess else ""
            say(f"warning: --allow {pattern} speaks of no tool of this workflow{hint}")


def warn_of_questions(planned: Plan) -> None:
    """Say before the first call which tools would ask, where nobody can be asked."""
    asking = {tool.name: tool.decision.rule for tool in tools_of(planned) if tool.decision.effect == "ask"}
    for name, rule in asking.items():
        say(f"warning: calls of '{name}' will be denied: {rule}, and nobody is there to ask (allow: --allow {name})")


def repeat_denials(view: View) -> None:
    """Say once more at the end which calls were denied; also with `--quiet`, since something was not done."""
    for tool, rule in view.denied.items():
        say(f"denied: {tool}: {rule}")


def print_outcome(planned: Plan, result: RunResult, *, as_json: bool, quiet: bool, events: str | None) -> None:
    """Print the result: files on stderr, the last response on stdout; or all of it as one JSON document."""
    if as_json:
        print_json(result_document(planned, result))
        return
    if not quiet:
        for artifact in result.artifacts:
            say(f"wrote {artifact['path']} ({artifact['size']} bytes)")
    if events != "-":
        print_response(result.response)


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
        "cost_usd": result.cost_usd,
        "seconds": round(result.seconds, 3),
    }
