"""Executes a plan from its first effect to its artifacts, and records how it ended."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strands_cli.engine.effects.effect import EffectSpec, NeedsDecision
from strands_cli.engine.journal.journal_rows import (
    WRITTEN,
    Answer,
    Human,
    Question,
    Row,
    in_order_of_request,
    written_of,
)
from strands_cli.engine.patterns.pattern_functions import function_of
from strands_cli.engine.ports import Ports, TraceSpan
from strands_cli.engine.run import Run
from strands_cli.engine.step_results import FailedCalls, failed_calls_of, require_done
from strands_cli.engine.waiting.questions import open_questions
from strands_cli.errors import (
    BudgetExceeded,
    CannotStore,
    RunRecordError,
    StrandsCliError,
    WaitingForPerson,
    exit_code_of,
)
from strands_cli.events import (
    ArtifactWritten,
    Denials,
    Event,
    Failures,
    ModelText,
    RunFinished,
    RunStarted,
    RunStatus,
    Usage,
    Verdict,
)
from strands_cli.secrets.redactor import Redactor
from strands_cli.workflow.pattern_model import ANSWER

if TYPE_CHECKING:
    from strands_cli.engine.run import Run
    from strands_cli.planning.plan_values import Plan


# The names of a run's end, which artifacts may use besides those of its pattern.


def end_names(run: Run, names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names of the end of a run; they follow from its journal, so that each process has the same ones.

    Args:
        names: Those of its pattern.
    """
    budget, spec = run.budget, run.plan.spec
    rows = list(run.ports.journal.rows())
    done = [row for row in rows if row.is_step and row.status == "done" and "/" not in row.key]
    usage = {
        "input_tokens": budget.usage.input_tokens,
        "output_tokens": budget.usage.output_tokens,
        "total_tokens": budget.usage.total_tokens,
        "model_calls": budget.model_calls,
        "tool_calls": budget.tool_calls,
    }
    past = _past(run, done)
    answer = {name: names.get(name, "") for name in ANSWER}
    last = max((row.ended_at or 0.0 for row in done), default=run.clock.now())
    return {
        **run.unless_inputs(name=spec.name, total_steps=len(done), timestamp=_in_words(last)),
        **answer,
        "runtime": spec.runtime.model_dump(),
        "run": {"id": run.id, "duration_s": round(budget.seconds, 3), "usage": usage, "cost_usd": budget.cost},
        "execution_context": {**past, **answer, **names},
        "TRACE": json.dumps([_traced(row) for row in in_order_of_request(rows)], ensure_ascii=False, indent=2),
    }


def _past(run: Run, rows: list[Row]) -> dict[str, Any]:
    """Return which steps have run, in the order in which they began."""
    pattern = run.plan.spec.pattern
    history = list(_history(rows, pattern.step_name))
    counts = Counter(visit["step"] for visit in history)
    names = map(pattern.step_name, (placed.key for placed in pattern.placed))
    unvisited = {name: 0 for name in names if not name.endswith(".N")}  # workers have numbers
    return {
        "history": history,
        "execution_path": [visit["step"] for visit in history],
        "iterations": {**unvisited, **counts},
        "total_steps": len(history),
    }


def _history(rows: list[Row], step_name: Callable[[str], str]) -> Iterator[dict[str, Any]]:
    visits: Counter[str] = Counter()
    for row in rows:
        name = step_name(row.key)
        visits[name] += 1
        result = row.output if row.kind == "step" else {"agent": "person", "response": row.output["text"]}
        yield {"step": name, "agent": result["agent"], "response": result["response"], "iteration": visits[name]}


def _in_words(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _traced(row: Row) -> dict[str, Any]:
    """Return one entry of the trace: an effect and its duration, without its content."""
    seconds = round(row.ended_at - row.started_at, 3) if row.ended_at is not None else None
    facts = {name: getattr(row, name) for name in ("key", "kind", "status", "attempt")}
    return {**facts, "seconds": seconds, "tokens": row.usage.total_tokens}


# Takes (path, text) pairs, returns the written files: `path`, `digest`, `size`.
WriteArtifacts = Callable[[Sequence[tuple[str, str]]], list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended: its last response, its artifacts (`path`, `digest`, `size`), its time and cost."""

    run_id: str
    status: RunStatus
    response: str
    artifacts: tuple[Mapping[str, Any], ...]
    usage: Usage
    model_calls: int
    tool_calls: int
    seconds: float
    cost_usd: float | None = None
    denials: tuple[Denials, ...] = ()
    failed_calls: int = 0
    failures: tuple[Failures, ...] = ()
    verdict: Verdict | None = None


async def execute(
    plan: Plan, ports: Ports, run_id: str, emit: Callable[[Event], None], write_artifacts: WriteArtifacts
) -> RunResult:
    """Run a plan over its ports; effects that the journal has are not repeated.

    Raises:
        StrandsCliError: Why it stopped, as the journal says too.
    """
    with ports.tracing.run(run_id, plan.spec.name, plan.spec.pattern.type) as span:
        return await _run_to_end(Run(plan, ports, run_id, emit), write_artifacts, span)


async def _run_to_end(run: Run, write_artifacts: WriteArtifacts, span: TraceSpan) -> RunResult:
    pattern, ports = run.plan.spec.pattern, run.ports
    resumed = next(ports.journal.rows(), None) is not None
    run.emit(_started(run, resumed=resumed))
    if ports.journal.get("status") == "completed":  # a visit repeats the result, and changes nothing
        run.budget.is_frozen = True
    _store_start(run)
    try:
        names = await function_of(pattern)(run, pattern.config)
        failed = failed_calls_of(ports.journal.rows("tool"))
        require_done(failed.denials, fail_on_denied=ports.fail_on_denied)
        artifacts = await _finish_artifacts(run, names, write_artifacts)
    except BaseException as error:
        if isinstance(error, StrandsCliError):
            error.run_id = run.id
        status, reason = _ending(error)
        try:
            if not run.budget.is_frozen:
                ports.journal.put(**_end_facts(run, status, reason), exit_code=int(exit_code_of(error)))
        except RunRecordError as record_error:
            # The raised error says it; but one of cancelled work does not.
            reason = record_error.message if isinstance(error, asyncio.CancelledError) else reason
        _report_end(run, span, status, reason, _failed_in(run))
        raise
    if not run.budget.is_frozen:
        facts = {**_end_facts(run, "completed", None), "exit_code": 0}
        await ports.journal.store(**facts, response=names["last_response"])
    _report_end(run, span, "completed", None, failed)
    return RunResult(
        run_id=run.id,
        status="completed",
        response=names["last_response"],
        artifacts=tuple(artifacts),
        usage=run.budget.usage,
        model_calls=run.budget.model_calls,
        tool_calls=run.budget.tool_calls,
        seconds=run.budget.seconds,
        cost_usd=run.budget.cost,
        denials=failed.denials,
        failed_calls=failed.number,
        failures=failed.failures,
        verdict=run.verdict,
    )


async def _finish_artifacts(
    run: Run, names: Mapping[str, Any], write_artifacts: WriteArtifacts
) -> Sequence[Mapping[str, Any]]:
    """Write the artifacts as the last journaled effect.

    The texts are journaled before the first file is written: a process that resumes after a crash writes the same texts
    again, and recognizes a file that exists as the run's own. A journal that keeps them has the same output at the end,
    so that nothing of it is stored twice.
    """
    artifacts = run.plan.spec.outputs.artifacts
    if not artifacts:
        return []
    sources = [{"path": artifact.path, "from": artifact.from_} for artifact in artifacts]
    effect = run.effect(EffectSpec("artifacts", "artifacts", sources))
    if effect.recorded is not None:
        return written_of(effect.recorded)
    names = {**names, **end_names(run, names)}
    texts = effect.begun_with or [
        (
            run.plan.spec.artifact_path(
                run.step_inputs.render(a.path, names, where=f"outputs.artifacts[{n}].path"),
            ),
            run.step_inputs.render(a.from_, names, where=f"outputs.artifacts[{n}].from"),
        )
        for n, a in enumerate(artifacts)
    ]
    await effect.start(texts)
    try:
        written = write_artifacts([(path, text) for path, text in texts])
    except StrandsCliError as error:
        await effect.fail(error.whole_message)
        raise
    if run.ports.keeps_texts:
        await effect.finish(texts, detail={WRITTEN: written})
    else:
        await effect.finish(written)
    for artifact in written:
        run.emit(ArtifactWritten(run.clock.now(), **artifact))
    return written


def _ending(error: BaseException) -> tuple[RunStatus, str]:
    """Return the status and the reason of a run that did not complete."""
    if isinstance(error, NeedsDecision):
        return "needs-decision", error.message
    if isinstance(error, WaitingForPerson):
        return "waiting", error.message
    if isinstance(error, (asyncio.CancelledError, KeyboardInterrupt)):
        return "interrupted", "the process was asked to stop"
    if isinstance(error, CannotStore) or (isinstance(error, BudgetExceeded) and error.is_of_many):
        return "interrupted", error.message
    if isinstance(error, StrandsCliError):
        return "failed", error.whole_message
    return "failed", f"{type(error).__name__}: {error}"


def _started(run: Run, *, resumed: bool) -> RunStarted:
    spec, budget = run.plan.spec, run.budget
    spent = (budget.earlier_s, budget.usage, budget.model_calls, budget.tool_calls, budget.cost)
    return RunStarted(run.clock.now(), run.id, spec.name, spec.pattern.type, len(run.plan.steps), resumed, *spent)


def _store_start(run: Run) -> None:
    if run.budget.is_frozen:
        return
    # Where the clock has been set back, rows of earlier processes must not look like work of this one.
    began = {"worked_s": run.budget.earlier_s, "session_started_at": max(run.clock.now(), run.budget.latest)}
    run.ports.journal.put(status="running", reason=None, ended_at=None, **began)


def _end_facts(run: Run, status: RunStatus, reason: str | None) -> dict[str, Any]:
    """Return the facts of the end of a run for the journal."""
    ended = {"ended_at": run.clock.now(), "worked_s": run.budget.seconds, "session_started_at": None}
    return {"status": status, "reason": reason, "spent": run.ports.spending.expenses.stored(), **ended}


def _failed_in(run: Run) -> FailedCalls:
    """Return the failed calls of a run that did not complete; those that wait now are none."""
    try:
        waiting = {row.key.removesuffix("/approval") for row in open_questions(run.ports.journal)}
        return failed_calls_of(row for row in run.ports.journal.rows("tool") if row.key not in waiting)
    except RunRecordError:  # the raised error says it
        return FailedCalls()


def _report_end(run: Run, span: TraceSpan, status: RunStatus, reason: str | None, failed: FailedCalls) -> None:
    """Send the event that a run has ended."""
    budget = run.budget
    calls = {"model_calls": budget.model_calls, "tool_calls": budget.tool_calls}
    span.ended(status, budget.usage, reason, cost_usd=budget.cost, **calls)
    spent = (budget.usage, budget.model_calls, budget.tool_calls)
    ended = RunFinished(run.clock.now(), run.id, status, budget.seconds, *spent, reason, budget.cost)
    run.emit(
        dataclasses.replace(
            ended,
            denials=failed.denials,
            failed_calls=failed.number,
            failures=failed.failures,
            verdict=run.verdict,
        )
    )


# Redaction of everything that leaves a run: events, answers of people, artifacts, results, and its error.


class RedactedHuman:
    """Asks a person, and passes on the answer without the secrets it may contain."""

    def __init__(self, human: Human, redactor: Redactor) -> None:
        self._human = human
        self._redactor = redactor

    async def ask(self, question: Question) -> Answer:
        """Return the answer."""
        return self._redactor.record(await self._human.ask(question))


def redacted_emit(emit: Callable[[Event], None], redactor: Redactor) -> Callable[[Event], None]:
    """Return the function that tells listeners of events without secrets.

    The pieces of a model's text come without them: one that the model sends in two pieces is seen only there.
    """
    return lambda event: emit(event if type(event) is ModelText else redactor.record(event))


def redacted_writer(write: WriteArtifacts, redactor: Redactor) -> WriteArtifacts:
    """Return the function that writes artifacts without secrets; paths too, which events and the record repeat."""
    return lambda artifacts: write([(redactor.text(path), redactor.text(text)) for path, text in artifacts])


@contextlib.contextmanager
def redacted_errors(redactor: Redactor) -> Iterator[None]:
    """Remove the secrets from the error that ends the work, of any kind."""
    try:
        yield
    except StrandsCliError as error:
        error.message = redactor.text(error.message)
        error.fix = redactor.text(error.fix) if error.fix else error.fix
        error.findings = tuple(redactor.record(finding) for finding in error.findings)
        error.args = (error.message,)
        raise
    except Exception as error:
        error.args = tuple(redactor.json(list(error.args)))
        raise
