"""The command `run`: plan a workflow, run the plan, show its events on the terminal, print its result."""

from __future__ import annotations

import contextlib
import dataclasses
import shlex
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol, TextIO

import typer

from strands_cli.cli.commands.command_options import SPEC_ARGUMENT, Chosen, RunFlags, with_run_options
from strands_cli.cli.commands.next_commands import EndNotice
from strands_cli.cli.commands.running.trust_command import require_trust
from strands_cli.cli.commands.watch_option import WATCH
from strands_cli.cli.output.messages import error_document, say, say_findings
from strands_cli.cli.output.results import ExportFile, print_json, print_response
from strands_cli.cli.terminal_text import one_line
from strands_cli.errors import BudgetExceeded, CallDenied, ExitCode, HoldLost, StrandsCliError, UsageError, suggest
from strands_cli.texts.phrases import counted, with_fix

if TYPE_CHECKING:
    from strands_cli.cli.answer_stream import AnswerStream
    from strands_cli.cli.commands.command_options import Chosen, RunFlags
    from strands_cli.cli.terminal.live_view import View
    from strands_cli.cli.terminal.terminal_human import TerminalHuman
    from strands_cli.engine.plan_execution import RunResult
    from strands_cli.engine.run_facts import Rerun
    from strands_cli.events import RunFinished, RunStarted, RunWarning
    from strands_cli.outputs.trace import RunTrace
    from strands_cli.parts.named_parts import Part
    from strands_cli.planning.plan_values import Plan, PlannedTool
    from strands_cli.planning.run_request import RunRequest
    from strands_cli.run_views.opened_runs import OpenedRun
    from strands_cli.store_place import StorePlace


# The files of `--export NAME=FILE`: each is made by an exporter of a distribution when a run ends.


class Exporter(Protocol):
    """The object behind an entry point of the group `strands_cli.exporters`: it makes one file of an ended run.

    Its attribute `mark`, which it need not have, is the text that each of its files begins with: a file that begins so
    is overwritten without `--force`.
    """

    def export(self, run: OpenedRun) -> str | bytes:
        """Return the content of the file; a text is written in UTF-8.

        Args:
            run: The run, which is completed, failed or waiting. It is closed when the method returns.
        """


class Export(NamedTuple):
    """One file to make at the end of a run."""

    part: Part
    exporter: Exporter
    file: ExportFile


def planned_exports(plan: Plan, request: RunRequest, flags: RunFlags) -> list[Export]:
    """Return the exports of a run about to begin, imported, and checked as far as they can be before it.

    Raises:
        UsageError: No exporter has this name.
        NotEquipped: Its distribution is not installed, or it cannot be imported.
        Denied: Policy denies its distribution, or it is not as it was locked.
        ArtifactError: A file cannot be written.
    """
    exports = [_export(name, path, request) for name, path in flags.exported()]
    if not exports:
        return []
    folder = request.beside / request.out_dir
    others = [folder / artifact.path for artifact in plan.spec.outputs.artifacts]
    others += [plan.base_dir / name for name in (plan.file, *plan.files)]
    others += [agent.recording for agent in plan.agents.values() if agent.recording is not None]
    others += [Path(flags.events)] if flags.events not in (None, "-") else []
    for export in exports:
        export.file.require_writable(others)
        others.append(export.file.path)
    return exports


def _export(name: str, path: Path, request: RunRequest) -> Export:
    from strands_cli.default_parts import EXPORTERS, OURS
    from strands_cli.parts.named_parts import imported_with_methods, names_in, not_installed, part_named

    part = part_named(EXPORTERS, name)
    if part is None and (owner := OURS[EXPORTERS].get(name)):
        raise not_installed(f"--{name}", owner)
    if part is None:
        names = sorted({*names_in(EXPORTERS), *OURS[EXPORTERS]})
        raise UsageError(f"there is no exporter '{name}'", fix=suggest(name, names, f"there are: {', '.join(names)}"))
    exporter = imported_with_methods(part, Exporter)
    mark = getattr(exporter, "mark", "")
    return Export(part, exporter, ExportFile(path, name, mark if isinstance(mark, str) else "", request.force))


def leave_exports(exports: Sequence[Export], run_id: str | None, place: StorePlace, *, quiet: bool) -> None:
    """Write the exports of a run, also of a failed one; a failure to write one does not fail the run."""
    if not exports or run_id is None:
        return
    from strands_cli.run_views.opened_runs import Runs

    for export in exports:
        file = export.file
        try:
            with Runs(place) as runs, runs.open(run_id) as run:
                size = file.write(_content(export, run))
        except StrandsCliError as error:
            say(one_line(f"warning: the {file.noun} is not written: {error.message}"))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - of the exporter; the run has ended, and its result counts
            reason = f"{export.part} of {export.part.distribution} failed: {type(error).__name__}: {error}"
            say(one_line(f"warning: the {file.noun} is not written: {reason}"))
        else:
            if not quiet:
                say(one_line(f"{file.noun} {file.path} ({size} bytes)"))


def _content(export: Export, run: OpenedRun) -> str | bytes:
    content: object = export.exporter.export(run)
    if isinstance(content, (str, bytes)):
        return content
    raise TypeError(f"it returns {type(content).__name__}, not text or bytes")


# Execute a planned run in the terminal: signals, streams, the view, the person, and the exports at its end.


# Done before a run begins, when its plan and its files are checked.
Before = Callable[[], None]

# Takes the person, the listener, and the id of a new run.
Go = Callable[["TerminalHuman", Callable[[Any], None], str], Coroutine[Any, Any, "RunResult"]]


@dataclasses.dataclass(frozen=True, slots=True)
class CompletedRun:
    """A complete run, whether its answer is on the terminal already, and the warnings with a code."""

    result: RunResult
    is_shown: bool
    warnings: tuple[RunWarning, ...] = ()


class EventFanOut:
    """Passes the events of a run on to all who listen.

    Attributes:
        warnings: The warnings with a code.
    """

    def __init__(self, listeners: Sequence[Callable[[Any], None]]) -> None:
        self._listeners = listeners
        self.warnings: list[RunWarning] = []

    def __call__(self, event: Any) -> None:
        """Take an event."""
        if getattr(event, "code", ""):
            self.warnings.append(event)
        for listener in self._listeners:
            listener(event)


def answer_stream(plan: Plan, flags: RunFlags, view: View, stdout: TextIO) -> AnswerStream:
    """Return the writer of the answer while it is made: on a terminal, if nothing else goes to stdout."""
    from strands_cli.cli.answer_stream import AnswerStream, answering_steps

    streams = stdout.isatty() and not flags.as_json and flags.events != "-"
    return AnswerStream(answering_steps(plan) if streams else (), view, stdout)


@contextlib.contextmanager
def json_on_failure(document: dict[str, Any] | None) -> Iterator[None]:
    """Print one JSON document also if the work fails: the `document` facts and the error."""
    try:
        yield
    except BaseException as error:
        if document is not None:
            print_json({**document, "error": error_document(error)})
        raise


def run_on_terminal(
    plan: Plan, request: RunRequest, document: dict[str, Any], flags: RunFlags, go: Go, *, first: Before | None = None
) -> CompletedRun:
    """Execute a plan with signal handlers, and with stdin and stdout reserved from its tools.

    Args:
        document: Gets the run's id and status as soon as they are known.
        flags: The options for shown lines, and the place of events.
        first: Done before the run begins, when its plan and its files are checked.

    Raises:
        StrandsCliError: The run did not complete.
    """
    from strands_cli.cli.foreign_output import reserved_streams
    from strands_cli.cli.terminal.event_lines import event_writer
    from strands_cli.cli.terminal.run_progress import open_view
    from strands_cli.cli.terminal.terminal_human import Keyboard
    from strands_cli.outputs.trace import RunTrace

    is_new = document["run"] is None
    exports = _checked_before(plan, request, flags, first, is_new=is_new)
    human = _human_for(plan, request, flags)
    notice = EndNotice(watched=(is_watched := human.mode == "terminal"))
    with (
        open_view(quiet=flags.quiet, verbose=flags.verbose, limits=plan.spec.runtime.budgets) as view,
        reserved_streams(view.tool_line, view.error_line, verbose=flags.verbose) as streams,
    ):
        human.view, human.keyboard = view, Keyboard(streams.stdin)
        if plan.hooks is not None:
            plan.hooks.tell, plan.hooks.watched = view.line, is_watched  # lines beside the block of progress
        trace = [RunTrace()] if flags.trace else []
        answer = answer_stream(plan, flags, view, streams.stdout)
        emit = EventFanOut([answer, *trace, *event_writer(flags.events, streams.stdout)])
        begins = first_event(plan, document["run"])
        view.loading(begins)
        try:
            result = end_of(lambda: go(human, emit, begins.run_id), view)
            return CompletedRun(result, is_shown=answer.has_shown(result.response), warnings=tuple(emit.warnings))
        except StrandsCliError as error:
            document |= say_how_it_continues(error, answer.end(), plan.store, begins.run_id, is_resumed=not is_new)
            raise
        finally:
            document |= _end_document(plan, view, emit.warnings, document["run"])
            if view.run_id is not None:
                notice.send_later(plan.store, view.run_id)
            answer.end().pause()
            repeat_failed_calls(view, quiet=flags.quiet)
            for trace_file in trace:
                leave_trace(trace_file, request, flags)
            leave_exports(exports, view.run_id, plan.store, quiet=flags.quiet)
            view.unpause()  # unread output of tools arrives when their streams are closed


def _human_for(plan: Plan, request: RunRequest, flags: RunFlags) -> TerminalHuman:
    """Return the answerer of questions, after the findings of the plan and a warning of calls without an answer."""
    from strands_cli.cli.terminal.terminal_human import choose_human

    human = choose_human(detach=request.detach, deny=request.deny)
    say_findings(plan.findings)
    # The end repeats which calls were denied.
    if not flags.quiet and (human.denies or human.mode != "terminal"):
        warn_of_questions(plan, request)
    return human


def _end_document(plan: Plan, view: View, warnings: Sequence[RunWarning], run_id: str | None) -> dict[str, Any]:
    """Return the id, the status, the failed calls and the findings of a run that has ended, for its JSON."""
    calls = at_end(view.finished) if view.finished else {}
    return {"run": view.run_id or run_id, "status": view.ended or "failed", **calls, **findings_of(plan, warnings)}


def _checked_before(
    planned: Plan, request: RunRequest, flags: RunFlags, first: Callable[[], None] | None, *, is_new: bool
) -> list[Export]:
    """Check that a plan can run, its files can be written, and a person trusts it; return its exports."""
    from strands_cli.cli.terminal.event_lines import require_events_file
    from strands_cli.planning.plan_builder import require_runnable

    require_runnable(planned)
    exports = planned_exports(planned, request, flags)
    if first is not None:
        require_events_file(flags.events)
        first()
    if is_new:  # the programs and places of a stored run were allowed when it began
        require_trust(planned, may_ask=not request.detach)
    return exports


def run_in_terminal(
    plan: Callable[[RunRequest], Plan | Rerun],
    chosen: Chosen,
    flags: RunFlags,
    more: Callable[[Plan, RunResult], Mapping[str, Any]] | None = None,
    *,
    goes_on: bool = False,
) -> int:
    """Plan a run, run it as `strands run` does, print its result, and return the exit code.

    Args:
        plan: Makes the plan from the options that were typed; that of `plan_turn` may begin with another run's steps.
        more: Returns further fields of the JSON of a run that completed.
        goes_on: Whether the process lives on after Ctrl-C, which ends this run alone.

    Raises:
        StrandsCliError: The run did not complete.
    """
    from strands_cli import app
    from strands_cli.cli.foreign_output import go_on_after_stop
    from strands_cli.engine.run_facts import Rerun

    document: dict[str, Any] = {"run": None, "status": "failed"}
    with json_on_failure(document if flags.as_json else None):
        flags.require_one_result()
        request = chosen.request()
        made = plan(request)
        planned = made.planned if isinstance(made, Rerun) else made

        def go(human: TerminalHuman, emit: Callable[[Any], None], run_id: str) -> Coroutine[Any, Any, RunResult]:
            if isinstance(made, Rerun):
                return app.rerun(made, human, emit, run_id)
            return app.run(planned, request, human, emit, run_id=run_id)

        try:
            ended = run_on_terminal(planned, request, document, flags, go)
        finally:
            if goes_on:
                go_on_after_stop()
        print_outcome(planned, ended, flags, {} if more is None else more(planned, ended.result))
    return ExitCode.OK


def end_of(start: Callable[[], Coroutine[Any, Any, RunResult]], view: View) -> RunResult:
    """Run a run to its end; the later messages of the view are lines only."""
    from strands_cli.cli.foreign_output import run_to_end

    try:
        return run_to_end(start, view.before_notice)
    finally:
        view.settle()


def first_event(plan: Plan, run_id: str | None) -> RunStarted:
    """Return the first event of a run; a new run gets its id here, before anything is loaded."""
    from strands_cli.engine.ports import SystemClock
    from strands_cli.engine.run_facts import new_run_id
    from strands_cli.events import RunStarted

    clock, spec = SystemClock(), plan.spec
    return RunStarted(clock.now(), run_id or new_run_id(clock), spec.name, spec.pattern.type, len(plan.steps))


def leave_trace(trace: RunTrace, request: RunRequest, flags: RunFlags) -> None:
    """Write the trace of a run, also of a failed one; a failure to write it does not fail the run."""
    from strands_cli.outputs.output_folder import require_own_folder
    from strands_cli.outputs.trace import write_trace

    try:
        path = write_trace(trace, require_own_folder(request.out_dir, request.beside))
    except StrandsCliError as error:
        say(one_line(f"warning: the trace is not written: {error.message}"))
        return
    if path is not None and not flags.quiet:
        say(one_line(f"trace {request.out_dir / path.name}"))


def say_how_it_continues(
    error: StrandsCliError, view: View, place: StorePlace, begun: str, *, is_resumed: bool
) -> dict[str, Any]:
    """Say where the journal of an unfinished run is and how the run continues; return its open questions."""
    from strands_cli.cli.commands.next_commands import (
        explain_ending,
        how_to_continue,
        is_stored,
        waiting_lines,
    )
    from strands_cli.run_views.open_questions import with_run

    if view.run_id is None and is_stored(begun, place):  # it was stopped before its first event
        view.run_id = begun
    if view.run_id is None:
        if view.is_announced and not is_resumed:
            view.line("the run has not begun: nothing of it is stored")
        return {}
    view.line(f"journal {place.record(view.run_id)}")
    # The fix of a spent budget, or of denied calls, is the one command that works. A cancelled run is not continued.
    has_own_fix = isinstance(error, (BudgetExceeded, CallDenied)) or (isinstance(error, HoldLost) and error.is_asked)
    if view.ended in ("failed", "interrupted", None) and not has_own_fix:
        ways = how_to_continue(error, view.run_id, place, is_resumed=is_resumed)
        if error.fix is None:  # the JSON of the error has it too
            error.fix, ways = "\n       ".join(ways), []
        for way in ways:
            view.line(way)
    error.brief = view.brief(error.message) or error.brief
    error.fix = with_run(error.fix, view.run_id, place)
    questions = explain_ending(error, place, view.run_id)
    for question in questions:
        view.line("\n".join(waiting_lines(question)))
    if not questions:
        return {}
    error.brief = f"the run waits for {counted(len(questions), 'answer')}"
    return {"questions": questions}


def warn_of_questions(plan: Plan, request: RunRequest) -> None:
    """Warn before the first call of the tools that would ask when no person can be asked: calls wait, or are denied."""
    from strands_cli.planning.planned_tool import McpTool, PythonTool
    from strands_cli.planning.resolve.mcp_servers import tools_in_lock
    from strands_cli.policy.decision import is_managed

    asking: dict[str, PlannedTool] = {}
    for tool in plan.called():
        locked = plan.pinned.get(tool.server.id) if isinstance(tool, McpTool) else None
        its = tools_in_lock(tool, locked, plan.rules) if isinstance(tool, McpTool) and locked else [tool]
        asking |= {listed_tool.name: listed_tool for listed_tool in its if listed_tool.decision.effect == "ask"}
    for name, tool in asking.items():
        # For example, GET and HEAD of the HTTP tools.
        only_reads = tool.when_reading is not None
        ends = "will be denied" if request.deny else "will wait for a person"
        which = f"that change something {ends}" if only_reads else ends
        is_server = isinstance(tool, McpTool) and tool.member is None  # rules may cover some of its tools
        if is_server or any(rule.effect == "allow" for rule in tool.conditional):
            which = f"that no rule allows {ends}"
        if isinstance(tool, PythonTool) and tool.decision.asks_for_the_tool:  # its declaration counts once imported
            which = f"{ends} unless its code declares that they only read"
        rule = tool.decision.rule
        only_a_person = is_managed(tool.decision) or tool.decision.plugin is not None
        fix = "" if only_a_person else f" (allow: --allow {shlex.quote(tool.own_name)})"
        why = "--deny was chosen" if request.deny else "no person is asked here"
        message = f"warning: calls of '{name}' {which}: {rule}, and {why}{fix}"
        say(one_line(message))


def repeat_failed_calls(view: View, *, quiet: bool) -> None:
    """Repeat at the end which calls were denied; also with `--quiet`, since something was not done.

    A refusal by the tool itself, and any other failure, has its reason under the call, which a person who reads the
    lines has seen.
    """
    for denial in view.denials:
        if quiet or not denial.by_tool:
            times = f" ({counted(denial.denied, 'call')})" if denial.denied > 1 else ""
            say(one_line(f"denied: {denial.tool}{times}: {with_fix(denial.rule, denial.fix)}"))
    refused = {(denial.tool, denial.rule) for denial in view.denials}
    for call in view.finished.failures if quiet and view.finished else ():
        if call.code != "denied" and (call.tool, call.reason) not in refused:
            times = f" ({call.failed} of {counted(call.calls, 'call')})" if call.calls > 1 else ""
            say(one_line(f"failed: {call.tool}{times}: {with_fix(call.reason, call.fix)}"))


def print_outcome(
    plan: Plan, ended: CompletedRun, flags: RunFlags, more: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Print the result: files on stderr, the last response on stdout; or all of it and `more` as JSON."""
    if flags.as_json:
        print_json({**result_document(plan, ended.result, ended.warnings), **more})
        return
    if not flags.quiet:
        for artifact in ended.result.artifacts:
            say(one_line(f"wrote {artifact['path']} ({artifact['size']} bytes)"))
    if flags.events != "-" and not ended.is_shown:
        print_response(ended.result.response)


def at_end(ended: RunResult | RunFinished) -> dict[str, Any]:
    """Return the part of a run's JSON about failed and denied calls, and about its last draft."""
    return {
        "denials": [dataclasses.asdict(denial) for denial in ended.denials],
        "failed_calls": ended.failed_calls,
        "failures": [dataclasses.asdict(failure) for failure in ended.failures],
        **({} if ended.verdict is None else ended.verdict.as_dict()),
    }


def findings_of(plan: Plan, warnings: Sequence[RunWarning] = ()) -> dict[str, Any]:
    """Return the findings in the JSON of a run: those of its plan, and the warnings that stderr has as lines."""
    places = dict.fromkeys(("file", "line", "column", "pointer"))
    warning_documents = [
        {"code": warning.code, "severity": "warning", "message": warning.message, **places, "fix": warning.fix}
        for warning in warnings
    ]
    return {"findings": [*(finding.as_dict() for finding in plan.findings), *warning_documents]}


def result_document(plan: Plan, result: RunResult, warnings: Sequence[RunWarning] = ()) -> dict[str, Any]:
    """Return the JSON of a completed run."""
    return {
        "run": result.run_id,
        "workflow": plan.spec.name,
        "status": result.status,
        "response": result.response,
        "artifacts": [dict(artifact) for artifact in result.artifacts],
        "usage": result.usage.counts(),
        "model_calls": result.model_calls,
        "tool_calls": result.tool_calls,
        "cost_usd": result.cost_usd,
        "seconds": round(result.seconds, 3),
        **at_end(result),
        **findings_of(plan, warnings),
    }


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

    document: dict[str, Any] = {"run": None, "status": "failed"}
    with json_on_failure(document if flags.as_json else None):
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
            document,
            flags,
            lambda human, emit, run_id: app.run(planned, request, human, emit, run_id=run_id),
        )
        print_outcome(planned, result, flags)
    return ExitCode.OK
