"""The command `trigger run`: the only run of one occurrence, its answer and its exit code."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.api import Chosen, ExitCode, RunEnd, StrandsCliError, print_json, print_result, say, with_run_options
from strands_cli_trigger.trigger_file import DEFAULT_FILE

if TYPE_CHECKING:
    from strands_cli.api import PlannedRows, RunRequest, RunStore
    from strands_cli_trigger.occurrences import Occurrence

FILE = Annotated[Path, typer.Option("--file", metavar="FILE", help="File of triggers.")]
NAME = Annotated[str, typer.Argument(metavar="NAME", help="The trigger.")]
JSON = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@with_run_options(without=("record", "detach"))
def run_trigger(
    *,
    name: NAME,
    occurrence: Annotated[
        str, typer.Option("--occurrence", metavar="TIME", help="The time that it is for, or `latest` of its schedule.")
    ],
    file: FILE = Path(DEFAULT_FILE),
    chosen: Chosen,
    as_json: JSON = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show errors only.")] = False,
) -> int:
    """Run a trigger's workflow for one occurrence, or return the run that it has already.

    Example: strands trigger run nightly --occurrence 2026-11-27T09:00Z
    """
    from strands_cli.api import Runs, StoreOptions, json_on_failure
    from strands_cli_trigger.occurrences import parsed
    from strands_cli_trigger.only_run import ENDED, end_of, stored_run
    from strands_cli_trigger.trigger_file import trigger_named

    document: dict[str, Any] = {"trigger": name, "occurrence": None, "run": None, "status": "failed", "new": False}
    with json_on_failure(document if as_json else None):
        now = datetime.datetime.now(datetime.UTC)
        time = parsed(trigger_named(name, file), occurrence, now)
        request = chosen.request()
        document |= {"occurrence": time.text, "run": time.run_id}
        with Runs(StoreOptions(request.runs_dir, request.store).place) as runs:
            run = stored_run(runs.store, time.run_id)
            end: RunEnd | str
            if run is not None and run.status in ENDED:
                end = end_of(runs.store, time.run_id)
                if not quiet:
                    say(f"{time.run_id} has run already")
            else:
                document["new"] = run is None
                if run is None:
                    time.require_due(now)
                end = _worked_on(time, request, runs.store, quiet=quiet)
        if isinstance(end, str):
            document |= {"status": "skipped", "because": end}
            say(f"skipped: {end} of this trigger is unfinished")
        else:
            document |= end.as_dict()
            if end.status != "completed":
                raise _error_of(end, time.run_id)
    if as_json:
        print_json(document)
    elif (answer := document.get("response")) is not None:
        print_result(answer)
    return ExitCode.OK


def _worked_on(time: Occurrence, request: RunRequest, store: RunStore, *, quiet: bool) -> RunEnd | str:
    """Return the end of the run of an occurrence, or the run for which it is skipped."""
    from strands_cli.api import ManyRunsView, PlannedRows, require_trust
    from strands_cli_trigger.only_run import not_overlapping, only_end

    trigger = time.trigger
    rows = PlannedRows.of(trigger.source, request)
    inputs = _inputs(time, rows)
    require_trust(rows.plan, may_ask=False)

    async def work() -> RunEnd | str:
        because = await not_overlapping(store, trigger, time.run_id, view.line)
        return because or await only_end(rows, store, time.run_id, inputs, view.line)

    with ManyRunsView.opened(rows, lambda: "", quiet=quiet, verbose=False, draws=False) as view:
        if not quiet:
            view.line(f"run {time.run_id}")
        try:
            return view.run_to_end(work, "the trigger was stopped")
        finally:
            view.notify_later(store.place, time.run_id)


def _inputs(time: Occurrence, rows: PlannedRows) -> Any:
    """Return the inputs of the run in their types; those that are typed win over those of the trigger.

    Raises:
        StrandsCliError: The workflow cannot run, or an input does not fit.
    """
    typed = {**rows.request.values, **rows.request.variables}
    written = {name: time.rendered(value) for name, value in time.trigger.inputs.items() if name not in typed}
    texts = {name: value for name, value in written.items() if isinstance(value, str)}
    inputs, findings = rows.check(texts, {name: value for name, value in written.items() if name not in texts})
    rows.require_runnable(findings)
    return inputs


def _error_of(end: RunEnd, run_id: str) -> StrandsCliError:
    """Return why a run did not complete, with its exit code and the commands that continue it."""
    error = end.error or {}
    ways = [way for question in end.questions for way in question.get("commands", ())]
    if not ways:
        ways = [*([str(error["fix"])] if error.get("fix") else []), f"to continue it: strands resume {run_id}"]
    fix = "\n       ".join(ways).replace("RUN", run_id)
    raised = StrandsCliError(str(error.get("message") or f"the run is {end.status}"), fix=fix)
    raised.exit_code = ExitCode(end.exit_code or ExitCode.RUN_FAILED)
    raised.run_id = run_id
    return raised
