"""What a stored run did: its answer, files, models, costs, decisions and effects, from its journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from strands_cli.engine.denials import denials_of
from strands_cli.engine.effects import REUSED, Budget
from strands_cli.engine.journal import Row, SqliteJournal, in_order_of_request
from strands_cli.engine.ports import SystemClock
from strands_cli.engine.step_results import json_of, text_of
from strands_cli.engine.stored_runs.run_store import StoredRun, run_in
from strands_cli.engine.stored_runs.stored_secrets import stored_redactor
from strands_cli.events import Denials
from strands_cli.outputs import turn_of
from strands_cli.workflow.sections import Budgets


@dataclass(frozen=True)
class EffectSummary:
    """One effect of a run; what it answered is decoded when it is first asked for, since a run may have thousands.

    Attributes:
        row: Its row in the journal.
    """

    row: Row

    @property
    def status(self) -> str:
        """The status; `reused` is done in the run that this one continues from, and counted there."""
        return "reused" if self.row.detail.get(REUSED) else self.row.status

    @property
    def error(self) -> str | None:
        """Why it failed."""
        return self.row.detail.get("error") if self.row.status == "failed" else None

    @cached_property
    def tool_error(self) -> tuple[str, str] | None:
        """The code and the message of the error that a tool call answered; what succeeded is not decoded for it."""
        row = self.row
        # Rows of older versions have neither the code nor the arguments.
        if row.kind != "tool" or ("arguments" in row.detail and "error_code" not in row.detail):
            return None
        if not self._output or self._output.get("status") == "success":
            return None
        found = (block["json"] for block in self._output["content"] if "json" in block)
        errors = (one["error"] for one in found if isinstance(one, Mapping) and isinstance(one.get("error"), Mapping))
        error: Mapping[str, Any] = next(errors, {})
        return str(error.get("code", "tool_failed")), str(error.get("message", self.text))

    @property
    def asked(self) -> str | None:
        """The end of a model's request."""
        return self.row.detail.get("request") if self.row.kind == "model" and self.row.status == "done" else None

    @cached_property
    def text(self) -> str | None:
        """Its text: the response of a step, the text of a model or a tool, the answer of a person."""
        if self.row.kind == "model":
            return self._turn.text if self._turn else None
        if self.row.kind == "tool":
            return text_of(self._output) if self._output else None
        text: str | None = self._output.get("response", self._output.get("text"))
        return text

    @cached_property
    def value(self) -> Any:
        """Its value as JSON: the output of a step, the JSON of a tool."""
        if self.row.kind == "tool":
            return json_of(self._output) if self._output else None
        return None if self.row.kind == "model" else self._output.get("output")

    @property
    def agent(self) -> str | None:
        """The agent of a step that is done."""
        found = self._output.get("agent") if self.row.kind == "step" else None
        return found if isinstance(found, str) else None

    @property
    def calls(self) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        """The tools that a model called, each with its arguments."""
        return tuple((call.tool, call.input) for call in self._turn.calls) if self._turn else ()

    @cached_property
    def _turn(self) -> Any:
        return turn_of(self._output.get("events", ()), "") if self.row.kind == "model" and self._output else None

    @property
    def _output(self) -> Mapping[str, Any]:
        """Its output; empty where it is not done."""
        return self.row.output if self.row.status == "done" and isinstance(self.row.output, Mapping) else {}


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A stored run as one value; its text and its JSON derive from it.

    Attributes:
        run: What the list of runs has.
        response: The answer of a complete run.
        artifacts: The files that it wrote: `path`, `digest`, `size`.
        models: The models that answered.
        spent: The calls, tokens and costs of the run; what it took over from another run is not counted.
        denials: The calls that were denied.
        effects: All effects, the calls of a turn in the order of its request.
        answers: The last answer of a model in each step, by the step's key.
        inputs: The inputs, without secrets.
        origin: The run that it reruns, and the key from which on.
        corrections: For each `resume --spec`, what the corrected workflow changed.
        python_tools: The tools that only a program can provide, each with its file.
        workflow_text: The text of the workflow file, without secrets.
    """

    run: StoredRun
    response: str | None
    artifacts: Sequence[Mapping[str, Any]]
    models: Sequence[str]
    spent: Budget
    denials: Sequence[Denials]
    effects: Sequence[EffectSummary]
    answers: Mapping[str, EffectSummary]
    inputs: Any
    origin: Mapping[str, str] | None
    corrections: Sequence[Sequence[str]]
    python_tools: Mapping[str, str]
    workflow_text: str = ""


def summary_of(directory: Path, journal: SqliteJournal) -> RunSummary:
    """Return what a run did."""
    run = run_in(directory, journal)
    effects = [EffectSummary(row) for row in in_order_of_request(journal.rows())]
    rows = [one.row for one in effects]
    redactor = stored_redactor(journal)
    written = next((row.output for row in rows if row.kind == "artifacts" and row.status == "done"), None)
    return RunSummary(
        run=run,
        response=_response_of(run, journal, rows),
        artifacts=written or (),
        models=list(dict.fromkeys(row.detail["model"] for row in rows if "model" in row.detail)),
        spent=Budget.resumed(Budgets(), SystemClock(), journal),
        denials=denials_of(row for row in rows if row.kind == "tool"),
        effects=effects,
        answers=_last_answers(effects),
        inputs=redactor.json(journal.get("inputs")),
        origin=journal.get("rerun_of"),
        corrections=journal.get("corrections") or [],
        python_tools=journal.get("given") or {},
        workflow_text=redactor.json(journal.get("text") or ""),
    )


def _last_answers(effects: Iterable[EffectSummary]) -> dict[str, EffectSummary]:
    """Return the last answer of a model below each key, with one pass over the effects."""
    answers: dict[str, EffectSummary] = {}
    for effect in effects:
        above = effect.row.key
        while effect.row.kind == "model" and effect.row.status == "done" and (above := above.rpartition("/")[0]):
            answers[above] = effect
    return answers


def _response_of(run: StoredRun, journal: SqliteJournal, rows: Iterable[Row]) -> str | None:
    """Return the answer of a complete run; in journals of older versions it is the response of the last step."""
    stored = journal.get("response")
    if stored is not None or run.status != "completed":
        return None if stored is None else str(stored)
    steps = [row for row in rows if row.is_step and row.status == "done" and "/" not in row.key]
    return EffectSummary(steps[-1]).text if steps else None
