"""The end of a run, or its open questions, as one value: from its journal, or from its events and its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from strands_cli.engine.effects.asked_questions import default_if_late
from strands_cli.engine.journal.answers import stored_question
from strands_cli.engine.stored_runs.summary import summary_of
from strands_cli.engine.waiting.questions import open_questions
from strands_cli.errors import ExitCode, RunFailed, StrandsCliError, exit_code_of
from strands_cli.events import Failures, RunStatus, Usage, Verdict
from strands_cli.run_views.open_questions import answer_commands, questions_of
from strands_cli.texts.phrases import shortened

if TYPE_CHECKING:
    from strands_cli.engine.effects.budget import Budget
    from strands_cli.engine.store_port import StoredJournal

_MOST_MESSAGE = 2000
_ASKING: tuple[RunStatus, ...] = ("waiting", "needs-decision")


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended, or how far it is.

    Attributes:
        exit_code: That of `strands run` for such an end.
        usage: The tokens of all its model calls.
        cost_usd: Its costs; None if that of a call is unknown.
        seconds: How long processes have worked on it.
        response: The answer of a completed run.
        output: The structured output of its last step, where that has a schema.
        artifacts: The files that it wrote: `path`, `digest`, `size`.
        error: Why it did not complete: `message`, `exit_code`, `fix`, `findings`.
        questions: Its open questions, each with the `commands` that answer it.
        denied: The tools of which no call was made, for want of a person.
        failed_calls: How many of its tool calls failed or were denied.
        failures: Their tools and reasons, as `strands run --json` has them.
        verdict: That on the last draft of a workflow with an evaluator: `accepted`, `score`, `min_score`, `drafts`.
    """

    status: RunStatus
    exit_code: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    steps: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    seconds: float = 0.0
    response: str | None = None
    output: Any = None
    artifacts: Sequence[Mapping[str, Any]] = ()
    error: Mapping[str, Any] | None = None
    questions: Sequence[Mapping[str, Any]] = ()
    denied: Sequence[str] = ()
    failed_calls: int = 0
    failures: Sequence[Mapping[str, Any]] = ()
    verdict: Mapping[str, Any] | None = None

    @property
    def goes_on(self) -> bool:
        """Whether it goes on when it is resumed, or goes on already, without the answer of a person."""
        return self.status not in ("completed", "failed", "cancelled", *_ASKING)

    @classmethod
    def of(cls, journal: StoredJournal) -> RunEnd:
        """Return how a stored run ended; one with answers to all of its questions is `interrupted`.

        Raises:
            RunRecordError: The journal cannot be read.
        """
        summary = summary_of(journal)
        spent, status = summary.spent, summary.run.status
        questions = answerable_questions(journal) if status in _ASKING else []
        end = cls(
            "interrupted" if status in _ASKING and not questions else status,
            usage=spent.usage,
            cost_usd=spent.cost,
            steps=spent.steps,
            model_calls=spent.model_calls,
            tool_calls=spent.tool_calls,
            seconds=spent.earlier_s,
            questions=questions,
        )
        if end.goes_on:
            return end
        reason = str(journal.get("reason") or "")
        if questions:
            code = int(ExitCode.WAITING)
            return replace(end, exit_code=code, error={"message": reason, "exit_code": code})
        end = end.with_failures(summary.failed_calls.number, summary.failed_calls.failures, summary.verdict)
        if status == "completed":
            output = structured_output(journal)
            return replace(end, response=summary.response, output=output, artifacts=summary.artifacts)
        code = int(journal.get("exit_code") or RunFailed.exit_code)
        denied = list(dict.fromkeys(denial.tool for denial in summary.denials)) if code == ExitCode.DENIED else []
        return replace(end, exit_code=code, error={"message": reason or status, "exit_code": code}, denied=denied)

    @classmethod
    def of_error(cls, error: BaseException) -> RunEnd:
        """Return the end of a run that an error has kept from beginning."""
        document = error_document(error)
        return cls("failed", document["exit_code"], error=document)

    def with_failures(self, failed_calls: int, failures: Iterable[Failures], verdict: Verdict | None) -> RunEnd:
        """Return the end with the calls that failed, and the verdict on the last draft."""
        judged = None if verdict is None else verdict.as_dict()
        listed = [asdict(failure) for failure in failures]
        return replace(self, failed_calls=failed_calls, failures=listed, verdict=judged)

    def count_in(self, budget: Budget, run_id: str) -> None:
        """Count the usage of the run in the budget of many runs; each run is counted once."""
        calls = {"steps": self.steps, "model_calls": self.model_calls, "tool_calls": self.tool_calls}
        budget.count_run(run_id, self.usage, self.cost_usd, **calls)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON, without empty fields."""
        values = {field_of_end.name: getattr(self, field_of_end.name) for field_of_end in fields(self)}
        present = {name: value for name, value in values.items() if value is not None and value not in ([], ())}
        return {**present, "usage": asdict(self.usage), "cost_usd": self.cost_usd}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> RunEnd:
        """Return the end that `as_dict` has made JSON of; fields of a newer version are left out."""
        names = {field_of_end.name for field_of_end in fields(cls)}
        values = {name: value for name, value in stored.items() if name in names}
        return cls(**{**values, "usage": Usage.from_mapping(stored.get("usage") or {})})


def error_document(error: BaseException) -> dict[str, Any]:
    """Return an error as the `error` of a run's end."""
    code = int(exit_code_of(error))
    if not isinstance(error, StrandsCliError):
        return {"message": shortened(f"{type(error).__name__}: {error}", _MOST_MESSAGE), "exit_code": code}
    document: dict[str, Any] = {"message": shortened(error.message, _MOST_MESSAGE), "exit_code": code}
    document |= {"fix": error.fix} if error.fix else {}
    return document | ({"findings": [finding.as_dict() for finding in error.findings]} if error.findings else {})


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
        if default_if_late(question, row.started_at, now) is not None:
            return True
    return False


def structured_output(journal: StoredJournal) -> Any:
    """Return the structured output of the last step of a stored run; None if it has none."""
    steps = [row for row in journal.rows("step") if row.status == "done" and "/" not in row.key]
    return steps[-1].output.get("output") if steps else None


def answerable_questions(journal: StoredJournal) -> list[dict[str, Any]]:
    """Return the open questions of a stored run, each with the commands that answer it."""
    commands = answer_commands(journal)
    return [
        {**question, "commands": [way for way in commands if question["key"] in way.split()]}
        for question in questions_of(journal)
    ]
