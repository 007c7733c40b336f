"""Tells how the run of a row ended: from its result, from the error that ended it, or from its journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from strands_cli.batch.rows.row_outcome import RowOutcome, Spent
from strands_cli.engine.journal.answers import stored_question
from strands_cli.engine.stored_runs.summary import summary_of
from strands_cli.engine.waiting.questions import open_questions
from strands_cli.errors import BudgetExceeded, CallDenied, ExitCode, RunFailed, StrandsCliError, exit_code_of
from strands_cli.events import Event, Failures, RunFinished, RunStarted, RunWarning, StepFinished, Verdict
from strands_cli.texts.phrases import shortened

if TYPE_CHECKING:
    from strands_cli.engine.effects.budget import Budget
    from strands_cli.engine.plan_execution import RunResult
    from strands_cli.engine.ports.store_port import StoredJournal
    from strands_cli.events import RunStatus

_MOST_MESSAGE = 2000
# The name of the batch in the messages of its budget, and how these begin: they are no end of a row.
THE_BATCH = "the batch"
_OF_BATCH = (f"budget: {THE_BATCH} ", f"budget: the limit of {THE_BATCH} ")


class RowWatch:
    """Listens to the events of one row's run.

    Attributes:
        has_begun: Whether the run has a journal.
        finished: The event of its end, once it has come.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._steps = 0
        self.has_begun = False
        self.finished: RunFinished | None = None

    def __call__(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, StepFinished):
            self._steps += 1
        elif isinstance(event, RunStarted):
            self.has_begun = True
        elif isinstance(event, RunFinished):
            self.finished = event
        elif isinstance(event, RunWarning):
            self._tell(event.message)

    @property
    def spent(self) -> Spent:
        """What the run has spent, with its earlier processes."""
        end = self.finished
        if end is None:
            return Spent()
        calls = {"steps": self._steps, "model_calls": end.model_calls, "tool_calls": end.tool_calls}
        return Spent(end.usage, end.cost_usd or 0.0, int(end.cost_usd is None), **calls, seconds=end.seconds)

    def completed(self, result: RunResult, output: Any) -> RowOutcome:
        """Return the outcome of a run that has completed."""
        return RowOutcome(
            "completed",
            spent=self.spent,
            response=result.response,
            output=output,
            artifacts=result.artifacts,
            **_at_end(result),
        )

    def stopped(self, error: BaseException) -> RowOutcome:
        """Return the outcome of a run that an error has ended, whatever it is."""
        if isinstance(error, BudgetExceeded) and error.message.startswith(_OF_BATCH):
            return self.interrupted()
        status: RunStatus = self.finished.status if self.finished is not None else "failed"
        denials = self.finished.denials if self.finished is not None and isinstance(error, CallDenied) else ()
        denied = list(dict.fromkeys(one.tool for one in denials))
        further = {} if self.finished is None else _at_end(self.finished)
        return RowOutcome(status, exit_code_of(error), self.spent, error=error_of(error), denied=denied, **further)

    def interrupted(self) -> RowOutcome:
        """Return the outcome of a run that was asked to stop."""
        return RowOutcome("interrupted", ExitCode.INTERRUPTED, self.spent)


def _at_end(ended: RunResult | RunFinished) -> dict[str, Any]:
    """Return what an outcome has of the calls that failed, and of the last draft."""
    return _further(ended.failed_calls, ended.failures, ended.verdict)


def _further(failed_calls: int, failures: Iterable[Failures], verdict: Verdict | None) -> dict[str, Any]:
    judged = None if verdict is None else verdict.as_dict()
    return {"failed_calls": failed_calls, "failures": [asdict(one) for one in failures], "verdict": judged}


def error_of(error: BaseException) -> dict[str, Any]:
    """Return an error as the part `error` of a line."""
    code = int(exit_code_of(error))
    if not isinstance(error, StrandsCliError):
        return {"message": shortened(f"{type(error).__name__}: {error}", _MOST_MESSAGE), "exit_code": code}
    document: dict[str, Any] = {"message": shortened(error.message, _MOST_MESSAGE), "exit_code": code}
    document |= {"fix": error.fix} if error.fix else {}
    return document | ({"findings": [finding.as_dict() for finding in error.findings]} if error.findings else {})


def outcome_in(journal: StoredJournal) -> RowOutcome | None:
    """Return how a stored run of a row ended; None if it goes on when it is resumed.

    That is so for a run that was interrupted, that has answers to all of its questions, or that the budget of its batch
    has ended.
    """
    status, reason = journal.get("status"), str(journal.get("reason") or "")
    if status not in ("completed", "failed", "cancelled", "waiting", "needs-decision"):
        return None
    if status == "failed" and reason.startswith(_OF_BATCH):
        return None
    if status in ("waiting", "needs-decision"):
        questions = questions_in(journal)
        error = {"message": reason, "exit_code": int(ExitCode.WAITING)}
        if not questions:
            return None
        return RowOutcome(status, ExitCode.WAITING, spent_in(journal), error=error, questions=questions)
    summary = summary_of(journal)
    further = _further(summary.failed_calls.number, summary.failed_calls.failures, summary.verdict)
    if status != "completed":
        code = int(journal.get("exit_code") or RunFailed.exit_code)
        error = {"message": reason or status, "exit_code": code}
        denied = list(dict.fromkeys(one.tool for one in summary.denials)) if code == ExitCode.DENIED else []
        return RowOutcome(status, code, _spent(summary.spent), error=error, denied=denied, **further)
    return RowOutcome(
        "completed",
        spent=_spent(summary.spent),
        response=summary.response,
        output=structured_output(journal),
        artifacts=summary.artifacts,
        **further,
    )


def goes_on_alone(journal: StoredJournal, *, is_widened: bool, now: float) -> bool:
    """Return whether a run that waits may go on without a person's answer.

    Args:
        is_widened: Whether other calls are allowed, or denied, than when it began to wait.
        now: The time, by which a default may be due.
    """
    for row in open_questions(journal):
        question = stored_question(row)
        if is_widened and question.kind == "approval":
            return True
        limit_s = question.timeout_s if question.default is not None else None
        if limit_s is not None and now - row.started_at >= limit_s:
            return True
    return False


def spent_in(journal: StoredJournal) -> Spent:
    """Return what a stored run has spent."""
    return _spent(summary_of(journal).spent)


def _spent(budget: Budget) -> Spent:
    calls = {"steps": budget.steps, "model_calls": budget.model_calls, "tool_calls": budget.tool_calls}
    return Spent(budget.usage, budget.cost or 0.0, int(budget.cost is None), **calls, seconds=budget.earlier_s)


def structured_output(journal: StoredJournal) -> Any:
    """Return the structured output of the last step of a stored run; None if it has none."""
    steps = [row for row in journal.rows("step") if row.status == "done" and "/" not in row.key]
    return steps[-1].output.get("output") if steps else None


def questions_in(journal: StoredJournal) -> list[dict[str, Any]]:
    """Return what a stored run asks a person, each with the commands that answer it."""
    from strands_cli.run_views.open_questions import answer_commands, questions_of

    commands = answer_commands(journal)
    questions = questions_of(journal)
    return [{**one, "commands": [way for way in commands if one["key"] in way.split()]} for one in questions]
