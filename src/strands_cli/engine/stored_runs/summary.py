"""A stored run in summary: its answer, files, models, costs, decisions and effects, from its journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar, cast

from strands_cli.engine.effects.budget import REUSED, Budget
from strands_cli.engine.journal.journal_rows import Row, in_order_of_request, keeps_texts, row_of_artifacts, written_of
from strands_cli.engine.journal.recording_writer import turn_of
from strands_cli.engine.ports import SystemClock
from strands_cli.engine.step_results import (
    CallFailure,
    FailedCalls,
    failed_calls_of,
    failure_of,
    json_of,
    may_have_failed,
    text_of,
)
from strands_cli.engine.store_port import StoredJournal, StoredRun
from strands_cli.engine.stored_runs.described import damaged_facts, run_of
from strands_cli.engine.stored_runs.last_place import WorkedOn, worked_on
from strands_cli.engine.stored_runs.opened import stored_redactor
from strands_cli.events import UNKNOWN_END_OF_ROW, Denials, RunStatus, Verdict
from strands_cli.workflow.sections import Budgets

# One effect of a stored run with its answer, as far as its row can be read.


EffectKind = Literal["step", "model", "tool", "gate", "question", "notes", "attachment", "artifacts", "row", "group"]
EffectStatus = Literal["done", "reused", "failed", "running", "waiting", "stopped"]

Value = TypeVar("Value")
# The status of an unfinished effect, by that of its run; in other runs no process works on it.
_UNFINISHED: Mapping[RunStatus, EffectStatus] = {"running": "running", "waiting": "waiting"}


@dataclass(frozen=True)
class EffectSummary:
    """One effect of a run; its answer is decoded when it is first asked for, since a run may have thousands.

    Parts of a damaged row in an odd form are left out.

    Attributes:
        row: Its row in the journal.
    """

    row: Row

    @property
    def kind(self) -> EffectKind:
        """The kind of its row; a `human` row is a `gate`, which is a step, or a `question`."""
        if self.row.kind == "human":
            return "gate" if self.row.is_step else "question"
        return self.row.kind

    @property
    def who(self) -> str:
        """The agent of a step or a model turn, the name of a tool, or `person`; empty for others."""
        row = self.row
        if row.kind == "human":
            return "person"
        if row.kind == "tool":
            return row.key.rpartition("/tool.")[2].partition(".")[2] or row.key.rpartition("/")[2]
        agent = row.detail.get("agent") or self.agent
        return agent if isinstance(agent, str) else ""

    def status_in(self, run: RunStatus) -> EffectStatus:
        """Return the status of the effect in a run of this status."""
        if self.status == "started" or (self.status == "waiting" and run not in ("running", "waiting")):
            return _UNFINISHED.get(run, "stopped")
        if self.tool_error is not None or self.damage:
            return "failed"
        return cast(EffectStatus, self.status)

    @property
    def damage(self) -> str | None:
        """The parts of its row that cannot be read, as far as they were asked for; None where nothing is wrong."""
        damage: str | None = getattr(self.row, "damage", None) or self.__dict__.get("_odd_output")
        return damage

    @property
    def status(self) -> str:
        """The status; `reused` is done in the run that this one continues from, and counted there."""
        return "reused" if self.row.detail.get(REUSED) else self.row.status

    @property
    def error(self) -> str | None:
        """Why it failed, or why its row cannot be read."""
        if self.damage:
            return f"its row in the journal is damaged: {self.damage}"
        return self.row.detail.get("error") if self.row.status == "failed" else None

    @cached_property
    def tool_error(self) -> CallFailure | None:
        """Why a tool call failed; the result of one that succeeded is not decoded for it."""
        if not (may_have_failed(self.row) and self._output):
            return None
        return self._read(lambda: failure_of(self._output))

    @property
    def asked(self) -> str | None:
        """The end of a model's request."""
        return self.row.detail.get("request") if self.row.kind == "model" else None

    @cached_property
    def text(self) -> str | None:
        """Its text: the response of a step, the text of a model or a tool, the answer of a person."""
        if self.row.kind == "model":
            return self._turn.text if self._turn else None
        if self.row.kind == "tool":
            return self._read(lambda: text_of(self._output)) if self._output else None
        return self._read(lambda: _text(self._output.get("response", self._output.get("text"))))

    @cached_property
    def value(self) -> Any:
        """Its value as JSON: the output of a step, the JSON of a tool."""
        if self.row.kind == "tool":
            return self._read(lambda: json_of(self._output)) if self._output else None
        return None if self.row.kind == "model" else self._output.get("output")

    @property
    def whole(self) -> Any:
        """Its whole output; of artifacts and attachments their paths and digests, without their content."""
        if self.row.kind == "attachment":
            return {name: self.row.detail.get(name) for name in ("path", "type", "size", "sha256")}
        return written_of(self.row) if keeps_texts(self.row) else self.row.output

    @property
    def agent(self) -> str | None:
        """The agent of a finished step."""
        agent = self._output.get("agent") if self.row.kind == "step" else None
        return agent if isinstance(agent, str) else None

    @property
    def calls(self) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        """The tools that a model called, each with its arguments."""
        return tuple((str(call.tool), call.input) for call in self._turn.calls) if self._turn else ()

    @cached_property
    def _turn(self) -> Any:
        if self.row.kind != "model" or not self._output:
            return None
        return self._read(lambda: turn_of(self._output.get("events", ()), ""))

    def _read(self, read: Callable[[], Value]) -> Value | None:
        """Return a part of its output; note where the output has a form that nothing here writes."""
        try:
            return read()
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            self.__dict__["_odd_output"] = f"output: {type(error).__name__}: {error}"
            return None

    @property
    def _output(self) -> Mapping[str, Any]:
        """Its output; empty where it is not done."""
        return self.row.output if self.row.status == "done" and isinstance(self.row.output, Mapping) else {}


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"a text is {type(value).__name__}")


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A stored run as one value; its text and its JSON derive from it.

    Attributes:
        run: Its entry in the list of runs.
        response: The answer of a complete run.
        artifacts: The files that it wrote: `path`, `digest`, `size`.
        models: The models that answered.
        spent: The calls, tokens and costs of the run; effects from another run are not counted.
        failed_calls: The calls that failed or were denied.
        effects: All effects, the calls of a turn in the order of its request.
        answers: The last answer of a model in each step, by the step's key.
        inputs: The inputs, without secrets.
        origin: The run that it reruns, and the key from which on.
        corrections: For each `resume --spec`, the changes of the corrected workflow.
        python_tools: The tools that only a program can provide, each with its file.
        workflow_text: The text of the workflow file, without secrets.
        refusals: Why workers have refused a queued run, by their names.
        worked_on: Where the run was worked on; None before that.
        verdict: That of the evaluator on its last draft; None without one.
    """

    run: StoredRun
    response: str | None
    artifacts: Sequence[Mapping[str, Any]]
    models: Sequence[str]
    spent: Budget
    failed_calls: FailedCalls
    effects: Sequence[EffectSummary]
    answers: Mapping[str, EffectSummary]
    inputs: Any
    origin: Mapping[str, str] | None
    corrections: Sequence[Sequence[str]]
    python_tools: Mapping[str, str]
    workflow_text: str = ""
    refusals: Mapping[str, str] = field(default_factory=dict)
    worked_on: WorkedOn | None = None
    verdict: Verdict | None = None

    @property
    def denials(self) -> Sequence[Denials]:
        """The calls that were denied."""
        return self.failed_calls.denials

    @property
    def unknown_ends(self) -> Mapping[str, int]:
        """How many answers of models ended with an unknown reason, by the reason."""
        unknown_reasons = (
            effect.row.detail.get(UNKNOWN_END_OF_ROW) for effect in self.effects if effect.row.kind == "model"
        )
        return Counter(str(reason) for reason in unknown_reasons if reason)

    @property
    def cut_off(self) -> int:
        """How many requests to models had begun when the run ended; their providers may count them."""
        if self.run.status in ("running", "waiting"):
            return 0
        return sum(effect.row.kind == "model" and effect.status == "started" for effect in self.effects)


def summary_of(journal: StoredJournal) -> RunSummary:
    """Return the summary of a run; a damaged row of it has its readable parts.

    Raises:
        RunRecordError: The facts of the run, or all of its rows, cannot be read.
    """
    journal = journal.tolerant()
    run = run_of(journal)
    effects = [EffectSummary(row) for row in in_order_of_request(journal.rows())]
    rows = [effect.row for effect in effects]
    written = row_of_artifacts(rows)
    return RunSummary(
        run=run,
        response=journal.get("response"),
        artifacts=written_of(written) if written is not None else (),
        models=list(dict.fromkeys(row.detail["model"] for row in rows if row.detail.get("model"))),
        spent=Budget.counted(Budgets(), SystemClock(), journal, rows),
        failed_calls=failed_calls_of(row for row in rows if row.kind == "tool"),
        effects=effects,
        answers=_last_answers(effects),
        **_later_facts(journal),
    )


def _later_facts(journal: StoredJournal) -> dict[str, Any]:
    """Return the facts of a run that are shown as given."""
    origin, corrections, python_tools = (journal.get(name) for name in ("rerun_of", "corrections", "given"))
    refusals = (journal.get("refusals") or {}) if journal.get("status") == "queued" else {}
    try:
        redactor = stored_redactor(journal)
        return {
            "inputs": redactor.json(journal.get("inputs")),
            "origin": {name: str(origin[name]) for name in ("run", "from")} if origin else None,
            "corrections": [[str(name) for name in changed] for changed in corrections or ()],
            "python_tools": {name: str(location) for name, location in (python_tools or {}).items()},
            "workflow_text": str(redactor.json(journal.get("text") or "")),
            "worked_on": worked_on(journal),
            "refusals": {name: str(redactor.json(refusal["reason"])) for name, refusal in refusals.items()},
            "verdict": Verdict(**verdict) if (verdict := journal.get("verdict")) else None,
        }
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise damaged_facts(journal, error) from error


def _last_answers(effects: Iterable[EffectSummary]) -> dict[str, EffectSummary]:
    """Return the last answer of a model below each key, with one pass over the effects."""
    answers: dict[str, EffectSummary] = {}
    for effect in effects:
        above = effect.row.key
        while effect.row.kind == "model" and effect.row.status == "done" and (above := above.rpartition("/")[0]):
            answers[above] = effect
    return answers
